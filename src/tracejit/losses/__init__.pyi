from tracejit.losses.classes import BinaryCrossentropy as BinaryCrossentropy
from tracejit.losses.classes import BinaryFocalCrossentropy as BinaryFocalCrossentropy
from tracejit.losses.classes import CategoricalCrossentropy as CategoricalCrossentropy
from tracejit.losses.classes import CategoricalFocalCrossentropy as CategoricalFocalCrossentropy
from tracejit.losses.classes import CategoricalHinge as CategoricalHinge
from tracejit.losses.classes import CosineSimilarity as CosineSimilarity
from tracejit.losses.classes import Dice as Dice
from tracejit.losses.classes import Hinge as Hinge
from tracejit.losses.classes import Huber as Huber
from tracejit.losses.classes import KLDivergence as KLDivergence
from tracejit.losses.classes import LogCosh as LogCosh
from tracejit.losses.classes import MeanAbsoluteError as MeanAbsoluteError
from tracejit.losses.classes import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from tracejit.losses.classes import MeanSquaredError as MeanSquaredError
from tracejit.losses.classes import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from tracejit.losses.classes import Poisson as Poisson
from tracejit.losses.classes import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from tracejit.losses.classes import SquaredHinge as SquaredHinge
from tracejit.losses.classes import Tversky as Tversky
from tracejit.losses.classes import get as get
from tracejit.losses.distances import categorical_hinge as categorical_hinge
from tracejit.losses.distances import cosine_similarity as cosine_similarity
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
from tracejit.losses.focal import dice as dice
from tracejit.losses.focal import tversky as tversky
from tracejit.losses.loss import Loss as Loss
from tracejit.losses.loss import Reduction as Reduction
from tracejit.models.configuration import deserialize_keras_object as _deserialize
from tracejit.models.configuration import serialize_keras_object as _serialize

deserialize = _deserialize
serialize = _serialize
KLD = kl_divergence
MAE = mean_absolute_error
MAPE = mean_absolute_percentage_error
MSE = mean_squared_error
MSLE = mean_squared_logarithmic_error
kld = kl_divergence
kullback_leibler_divergence = kl_divergence
logcosh = log_cosh
mae = mean_absolute_error
mape = mean_absolute_percentage_error
mse = mean_squared_error
msle = mean_squared_logarithmic_error
