"""Losses: ``tracejit.losses``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from ..models.configuration import deserialize_keras_object as deserialize
    from ..models.configuration import serialize_keras_object as serialize
    from .classes import *
    from .distances import (
        categorical_hinge,
        cosine_similarity,
        hinge,
        huber,
        log_cosh,
        mean_absolute_error,
        mean_absolute_percentage_error,
        mean_squared_error,
        mean_squared_logarithmic_error,
        poisson,
        squared_hinge,
    )
    from .entropies import (
        binary_crossentropy,
        categorical_crossentropy,
        kl_divergence,
        sparse_categorical_crossentropy,
    )
    from .loss import Loss, Reduction

    mse = MSE = mean_squared_error
    mae = MAE = mean_absolute_error
    mape = MAPE = mean_absolute_percentage_error
    msle = MSLE = mean_squared_logarithmic_error
    kld = KLD = kullback_leibler_divergence = kl_divergence
    logcosh = log_cosh
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
