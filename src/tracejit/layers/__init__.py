"""Layers: ``tracejit.layers``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from ..models.configuration import deserialize_keras_object as deserialize
    from ..models.configuration import serialize_keras_object as serialize
    from .attention import AdditiveAttention, Attention, MultiHeadAttention
    from .convolutional import (
        Conv1D,
        Conv1DTranspose,
        Conv2D,
        Conv2DTranspose,
        Conv3D,
        DepthwiseConv2D,
        SeparableConv2D,
    )
    from .core import *
    from .inputs import InputLayer, Normalization, Rescaling
    from .joining import *
    from .layer import Layer
    from .noise import (
        ActivityRegularization,
        AlphaDropout,
        GaussianDropout,
        GaussianNoise,
        Identity,
        PReLU,
        SpatialDropout1D,
        SpatialDropout2D,
        SpatialDropout3D,
    )
    from .normalization import BatchNormalization, LayerNormalization
    from .pooling import (
        AveragePooling1D,
        AveragePooling2D,
        GlobalAveragePooling1D,
        GlobalAveragePooling2D,
        GlobalMaxPooling1D,
        GlobalMaxPooling2D,
        MaxPooling1D,
        MaxPooling2D,
    )
    from .recurrent.cells import GRUCell, LSTMCell, SimpleRNNCell, StackedRNNCells
    from .recurrent.rnn import GRU, LSTM, RNN, SimpleRNN
    from .resizing import *
    from .sequences import Bidirectional, Masking, TimeDistributed
    from .sequential import Sequential

    Input = InputLayer
    Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
    Convolution1DTranspose, Convolution2DTranspose = Conv1DTranspose, Conv2DTranspose
    MaxPool1D, MaxPool2D = MaxPooling1D, MaxPooling2D
    AvgPool1D, AvgPool2D = AveragePooling1D, AveragePooling2D
    GlobalAvgPool1D, GlobalAvgPool2D = GlobalAveragePooling1D, GlobalAveragePooling2D
    GlobalMaxPool1D, GlobalMaxPool2D = GlobalMaxPooling1D, GlobalMaxPooling2D
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
