"""Optimizers: ``tracejit.optimizers``. Names only."""

from .library.optimizers import schedules
from .library.optimizers.adadelta import Adadelta
from .library.optimizers.adagrad import Adagrad
from .library.optimizers.adam import Adam, AdamW
from .library.optimizers.adam_like import Adamax, Lion, Nadam
from .library.optimizers.base import Optimizer
from .library.optimizers.identify import get
from .library.optimizers.rmsprop import RMSprop
from .library.optimizers.sgd import SGD
