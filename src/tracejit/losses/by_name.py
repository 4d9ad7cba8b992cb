"""Which function a name means, in losses and in metrics."""

from __future__ import annotations

from collections.abc import Callable

import tracejit as tf

from . import distances, entropies, focal

_ALL: tuple[Callable[..., tf.Tensor], ...] = (
    distances.mean_squared_error,
    distances.mean_absolute_error,
    distances.mean_absolute_percentage_error,
    distances.mean_squared_logarithmic_error,
    distances.log_cosh,
    distances.poisson,
    distances.hinge,
    distances.squared_hinge,
    distances.categorical_hinge,
    entropies.kl_divergence,
    distances.cosine_similarity,
    distances.huber,
    entropies.binary_crossentropy,
    entropies.categorical_crossentropy,
    entropies.sparse_categorical_crossentropy,
    focal.binary_focal_crossentropy,
    focal.categorical_focal_crossentropy,
    focal.dice,
    focal.tversky,
)
FUNCTIONS: dict[str, Callable[..., tf.Tensor]] = {
    **{f.__name__: f for f in _ALL},
    "mse": distances.mean_squared_error,
    "mae": distances.mean_absolute_error,
    "mape": distances.mean_absolute_percentage_error,
    "msle": distances.mean_squared_logarithmic_error,
    "bce": entropies.binary_crossentropy,
    "kld": entropies.kl_divergence,
}
