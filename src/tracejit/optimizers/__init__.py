"""Optimizers: ``tracejit.optimizers``. Names only."""

from . import schedules
from .adadelta import Adadelta
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .adam_like import Adamax, Lion, Nadam
from .base import Optimizer
from .identify import get
from .rmsprop import RMSprop
from .sgd import SGD
