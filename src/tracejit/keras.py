"""The names that programs written for Keras use: ``tracejit.keras``. Names only."""

import sys

from . import activations, initializers, layers, losses, metrics, models, optimizers, regularizers
from .library.layers.model import Model
from .library.layers.sequential import Sequential

__path__: list[str] = []  # so that ``from tracejit.keras.layers import Dense`` finds what is registered here
sys.modules.update(
    {
        f"{__name__}.{m.__name__.split('.')[-1]}": m
        for m in (activations, initializers, layers, losses, metrics, models, optimizers, regularizers)
    }
)
