"""Metrics: ``tracejit.metrics``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from ..losses.distances import (
        mean_absolute_error,
        mean_absolute_percentage_error,
        mean_squared_error,
        mean_squared_logarithmic_error,
    )
    from ..losses.entropies import (
        binary_crossentropy,
        categorical_crossentropy,
        kl_divergence,
        sparse_categorical_crossentropy,
    )
    from ..models.configuration import deserialize_keras_object as deserialize
    from ..models.configuration import serialize_keras_object as serialize
    from .accuracies import *
    from .confusion import *
    from .find_metric import get
    from .means import *
    from .metric import Metric

    mse = MSE = mean_squared_error
    mae = MAE = mean_absolute_error
    mape = MAPE = mean_absolute_percentage_error
    msle = MSLE = mean_squared_logarithmic_error
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
