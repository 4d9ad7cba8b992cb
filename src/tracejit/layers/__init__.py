"""Layers: ``tracejit.layers``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from .core import *
    from .inputs import InputLayer, Normalization, Rescaling
    from .joining import Add, Concatenate, GlobalAveragePooling1D, GlobalMaxPooling1D, Multiply
    from .layer import Layer
    from .normalization import BatchNormalization, LayerNormalization
    from .recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell
    from .sequential import Sequential

    Input = InputLayer
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
