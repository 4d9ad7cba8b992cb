"""Optimizers: ``tracejit.optimizers``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from ..models.configuration import deserialize_keras_object as deserialize
    from ..models.configuration import serialize_keras_object as serialize
    from . import schedules
    from .adadelta import Adadelta
    from .adagrad import Adagrad
    from .adam import Adam, AdamW
    from .adam_like import Adamax, Lion, Nadam
    from .find_optimizer import get
    from .loss_scale import LossScaleOptimizer
    from .optimizer import Optimizer
    from .rmsprop import RMSprop
    from .sgd import SGD
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
