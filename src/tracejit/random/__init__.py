"""Random numbers: ``tracejit.random``. Names only."""

from .generators import (
    Generator,
    categorical,
    fold_in,
    get_global_generator,
    normal,
    set_global_generator,
    set_seed,
    shuffle,
    split,
    stateless_categorical,
    stateless_normal,
    stateless_uniform,
    truncated_normal,
    uniform,
)

__all__ = [
    "Generator",
    "categorical",
    "fold_in",
    "get_global_generator",
    "normal",
    "set_global_generator",
    "set_seed",
    "shuffle",
    "split",
    "stateless_categorical",
    "stateless_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
]
