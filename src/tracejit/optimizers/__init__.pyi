from tracejit.models.configuration import deserialize_keras_object as _deserialize
from tracejit.models.configuration import serialize_keras_object as _serialize
from tracejit.optimizers import schedules as schedules
from tracejit.optimizers.adadelta import Adadelta as Adadelta
from tracejit.optimizers.adagrad import Adagrad as Adagrad
from tracejit.optimizers.adam import Adam as Adam
from tracejit.optimizers.adam import AdamW as AdamW
from tracejit.optimizers.adam_like import Adamax as Adamax
from tracejit.optimizers.adam_like import Lion as Lion
from tracejit.optimizers.adam_like import Nadam as Nadam
from tracejit.optimizers.find_optimizer import get as get
from tracejit.optimizers.ftrl import Ftrl as Ftrl
from tracejit.optimizers.loss_scale import LossScaleOptimizer as LossScaleOptimizer
from tracejit.optimizers.optimizer import Optimizer as Optimizer
from tracejit.optimizers.rmsprop import RMSprop as RMSprop
from tracejit.optimizers.sgd import SGD as SGD

deserialize = _deserialize
serialize = _serialize
