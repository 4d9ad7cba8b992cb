from tracejit.losses.distances import categorical_hinge as categorical_hinge
from tracejit.losses.distances import hinge as hinge
from tracejit.losses.distances import huber as huber
from tracejit.losses.distances import log_cosh as log_cosh
from tracejit.losses.distances import mean_absolute_error as mean_absolute_error
from tracejit.losses.distances import mean_absolute_percentage_error as mean_absolute_percentage_error
from tracejit.losses.distances import mean_squared_error as mean_squared_error
from tracejit.losses.distances import mean_squared_logarithmic_error as mean_squared_logarithmic_error
from tracejit.losses.distances import poisson as poisson
from tracejit.losses.distances import squared_hinge as squared_hinge
from tracejit.losses.entropies import binary_crossentropy as binary_crossentropy
from tracejit.losses.entropies import categorical_crossentropy as categorical_crossentropy
from tracejit.losses.entropies import kl_divergence as kl_divergence
from tracejit.losses.entropies import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from tracejit.losses.focal import binary_focal_crossentropy as binary_focal_crossentropy
from tracejit.losses.focal import categorical_focal_crossentropy as categorical_focal_crossentropy
from tracejit.metrics.accuracies import Accuracy as Accuracy
from tracejit.metrics.accuracies import BinaryAccuracy as BinaryAccuracy
from tracejit.metrics.accuracies import CategoricalAccuracy as CategoricalAccuracy
from tracejit.metrics.accuracies import SparseCategoricalAccuracy as SparseCategoricalAccuracy
from tracejit.metrics.accuracies import SparseTopKCategoricalAccuracy as SparseTopKCategoricalAccuracy
from tracejit.metrics.accuracies import TopKCategoricalAccuracy as TopKCategoricalAccuracy
from tracejit.metrics.accuracies import binary_accuracy as binary_accuracy
from tracejit.metrics.accuracies import categorical_accuracy as categorical_accuracy
from tracejit.metrics.accuracies import sparse_categorical_accuracy as sparse_categorical_accuracy
from tracejit.metrics.accuracies import sparse_top_k_categorical_accuracy as sparse_top_k_categorical_accuracy
from tracejit.metrics.accuracies import top_k_categorical_accuracy as top_k_categorical_accuracy
from tracejit.metrics.confusion import AUC as AUC
from tracejit.metrics.confusion import FalseNegatives as FalseNegatives
from tracejit.metrics.confusion import FalsePositives as FalsePositives
from tracejit.metrics.confusion import Precision as Precision
from tracejit.metrics.confusion import Recall as Recall
from tracejit.metrics.confusion import TrueNegatives as TrueNegatives
from tracejit.metrics.confusion import TruePositives as TruePositives
from tracejit.metrics.find_metric import get as get
from tracejit.metrics.means import BinaryCrossentropy as BinaryCrossentropy
from tracejit.metrics.means import CategoricalCrossentropy as CategoricalCrossentropy
from tracejit.metrics.means import CategoricalHinge as CategoricalHinge
from tracejit.metrics.means import CosineSimilarity as CosineSimilarity
from tracejit.metrics.means import Hinge as Hinge
from tracejit.metrics.means import KLDivergence as KLDivergence
from tracejit.metrics.means import LogCoshError as LogCoshError
from tracejit.metrics.means import Mean as Mean
from tracejit.metrics.means import MeanAbsoluteError as MeanAbsoluteError
from tracejit.metrics.means import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from tracejit.metrics.means import MeanMetricWrapper as MeanMetricWrapper
from tracejit.metrics.means import MeanSquaredError as MeanSquaredError
from tracejit.metrics.means import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from tracejit.metrics.means import Poisson as Poisson
from tracejit.metrics.means import RootMeanSquaredError as RootMeanSquaredError
from tracejit.metrics.means import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from tracejit.metrics.means import SquaredHinge as SquaredHinge
from tracejit.metrics.means import Sum as Sum
from tracejit.metrics.metric import Metric as Metric
from tracejit.metrics.operating_points import PrecisionAtRecall as PrecisionAtRecall
from tracejit.metrics.operating_points import RecallAtPrecision as RecallAtPrecision
from tracejit.metrics.operating_points import SensitivityAtSpecificity as SensitivityAtSpecificity
from tracejit.metrics.operating_points import SpecificityAtSensitivity as SpecificityAtSensitivity
from tracejit.metrics.overlaps import BinaryIoU as BinaryIoU
from tracejit.metrics.overlaps import IoU as IoU
from tracejit.metrics.overlaps import MeanIoU as MeanIoU
from tracejit.metrics.overlaps import OneHotIoU as OneHotIoU
from tracejit.metrics.overlaps import OneHotMeanIoU as OneHotMeanIoU
from tracejit.metrics.scores import F1Score as F1Score
from tracejit.metrics.scores import FBetaScore as FBetaScore
from tracejit.metrics.scores import R2Score as R2Score
from tracejit.models.configuration import deserialize_keras_object as _deserialize
from tracejit.models.configuration import serialize_keras_object as _serialize

deserialize = _deserialize
serialize = _serialize
MAE = mean_absolute_error
MAPE = mean_absolute_percentage_error
MSE = mean_squared_error
MSLE = mean_squared_logarithmic_error
mae = mean_absolute_error
mape = mean_absolute_percentage_error
mse = mean_squared_error
msle = mean_squared_logarithmic_error
