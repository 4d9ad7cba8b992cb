"""Layers: ``tracejit.layers``. Names only."""

from .base import Layer
from .core import (
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
from .inputs import InputLayer, Normalization, Rescaling
from .joining import Add, Concatenate, GlobalAveragePooling1D, GlobalMaxPooling1D, Multiply
from .normalization import BatchNormalization, LayerNormalization
from .recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell
from .sequential import Sequential

Input = InputLayer
