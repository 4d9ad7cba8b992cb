"""Exceptions by the names that programs for TensorFlow catch: ``tracejit.errors``. Names only."""

from .core.errors import DtypeError, LeakedTensor, ShapeError, SymbolicValue, TracejitError
from .core.errors import OutOfRange as OutOfRangeError
from .core.failures import FailedAssertion, FailedComputation

OpError = InvalidArgumentError = FailedPreconditionError = TracejitError
