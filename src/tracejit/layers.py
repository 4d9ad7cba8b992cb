"""Layers: ``tracejit.layers``. Names only."""

from .library.layers.base import Layer
from .library.layers.core import (
    ELU,
    Activation,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    Lambda,
    LeakyReLU,
    ReLU,
    Reshape,
    Softmax,
)
from .library.layers.inputs import InputLayer, Normalization, Rescaling
from .library.layers.joining import Add, Concatenate, GlobalAveragePooling1D, GlobalMaxPooling1D, Multiply
from .library.layers.normalization import BatchNormalization, LayerNormalization
from .library.layers.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell
from .library.layers.sequential import Sequential

Input = InputLayer
