"""The names that programs written for Keras use: ``tracejit.keras``. Names only."""

import sys

from . import activations, callbacks, initializers, layers, losses, metrics, models, optimizers, regularizers
from .arrays.labels import to_categorical
from .core.lazy import Namespace
from .layers.inputs import InputLayer as Input
from .layers.model import Model
from .layers.sequential import Sequential
from .random.generators import set_seed

__all__ = [
    "activations",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "models",
    "optimizers",
    "regularizers",
    "to_categorical",
    "Input",
    "Model",
    "Sequential",
    "set_seed",
    "utils",
]

utils: Namespace = Namespace("tracejit.keras.utils", set_random_seed=set_seed, to_categorical=to_categorical)

__path__: list[str] = []  # so that ``from tracejit.keras.layers import Dense`` finds what is registered here
sys.modules.update(
    {
        f"{__name__}.{m.__name__.split('.')[-1]}": m
        for m in (
            activations,
            callbacks,
            initializers,
            layers,
            losses,
            metrics,
            models,
            optimizers,
            regularizers,
        )
    }
)
