"""Metrics: ``tracejit.metrics``. Names only."""

from .library.losses.distances import (
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
)
from .library.losses.entropies import (
    binary_crossentropy,
    categorical_crossentropy,
    kl_divergence,
    sparse_categorical_crossentropy,
)
from .library.metrics.accuracies import (
    Accuracy,
    BinaryAccuracy,
    CategoricalAccuracy,
    SparseCategoricalAccuracy,
    SparseTopKCategoricalAccuracy,
    TopKCategoricalAccuracy,
    binary_accuracy,
    categorical_accuracy,
    sparse_categorical_accuracy,
    sparse_top_k_categorical_accuracy,
    top_k_categorical_accuracy,
)
from .library.metrics.confusion import (
    AUC,
    FalseNegatives,
    FalsePositives,
    Precision,
    Recall,
    TrueNegatives,
    TruePositives,
)
from .library.metrics.identify import get
from .library.metrics.means import (
    BinaryCrossentropy,
    CategoricalCrossentropy,
    CosineSimilarity,
    KLDivergence,
    Mean,
    MeanAbsoluteError,
    MeanAbsolutePercentageError,
    MeanMetricWrapper,
    MeanSquaredError,
    MeanSquaredLogarithmicError,
    RootMeanSquaredError,
    SparseCategoricalCrossentropy,
    Sum,
)
from .library.metrics.metric import Metric
