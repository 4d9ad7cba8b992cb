"""Which metric a name means."""

from __future__ import annotations

from typing import Any

import tracejit as tf

from ..errors import at_user_line
from ..losses.by_name import FUNCTIONS
from ..models.configuration import deserialize_keras_object
from . import accuracies, confusion, means, overlaps, scores
from .metric import Metric

_CLASSES: tuple[type[Metric], ...] = (
    *(accuracies.Accuracy, accuracies.BinaryAccuracy, accuracies.CategoricalAccuracy),
    *(accuracies.SparseCategoricalAccuracy, accuracies.TopKCategoricalAccuracy),
    *(accuracies.SparseTopKCategoricalAccuracy, means.Mean, means.Sum, means.MeanSquaredError),
    *(means.MeanAbsoluteError, means.MeanAbsolutePercentageError, means.MeanSquaredLogarithmicError),
    *(means.RootMeanSquaredError, means.CosineSimilarity, means.KLDivergence, means.BinaryCrossentropy),
    *(means.CategoricalCrossentropy, means.SparseCategoricalCrossentropy),
    *(confusion.TruePositives, confusion.FalsePositives, confusion.TrueNegatives, confusion.FalseNegatives),
    *(confusion.Precision, confusion.Recall, confusion.AUC, overlaps.BinaryIoU),
    *(means.Hinge, means.SquaredHinge, means.CategoricalHinge, means.Poisson, means.LogCoshError),
    *(scores.FBetaScore, scores.F1Score, scores.R2Score),
)


def get(identifier: Any) -> Metric:
    """The metric meant by a name, a class or a function of labels and predictions.

    Parameters
    ----------
    identifier : Metric, class, callable, dict or str
        A name is that of a class (``"AUC"``, ``"auc"``) or of a loss (``"mse"``); the metric bears it. A dict is
        what :func:`serialize` gives.

    Raises
    ------
    ValueError
        When nothing is called so.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.metrics.get("mse")([0.0, 1.0], [1.0, 3.0]))
    2.5
    """
    if isinstance(identifier, Metric):
        return identifier
    if isinstance(identifier, dict):
        return deserialize_keras_object({"module": "tracejit.metrics", **identifier})
    if isinstance(identifier, type):
        return identifier()
    if callable(identifier):
        return means.MeanMetricWrapper(identifier)
    classes = {name: c for c in _CLASSES for name in (c.__name__, tf.Module.snake_case(c.__name__))}
    if identifier in classes:
        return classes[identifier](name=identifier)
    function = FUNCTIONS.get(str(identifier)) or FUNCTIONS.get(str(identifier).lower())
    if function is None:
        known = ", ".join(sorted({*classes, *FUNCTIONS}))
        raise ValueError(f"no metric is called {identifier!r}; there are {known}{at_user_line()}")
    return means.MeanMetricWrapper(function, name=identifier)


def accuracy_for(name: str, y_true: Any, y_pred: Any) -> Metric:
    """The accuracy that fits labels and predictions: of yes or no, of class numbers, or of one-hot rows."""
    if len(y_pred.shape) < 2 or y_pred.shape[-1] == 1:
        return accuracies.BinaryAccuracy(name)
    if len(y_true.shape) < len(y_pred.shape) or y_true.shape[-1] == 1:
        return accuracies.SparseCategoricalAccuracy(name)
    return accuracies.CategoricalAccuracy(name)
