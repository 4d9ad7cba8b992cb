"""Exceptions by the names that programs for TensorFlow catch, and what messages are made with. Names only."""

from .core.errors import (
    DtypeError,
    FailedAssertion,
    FailedComputation,
    LeakedTensor,
    ShapeError,
    SymbolicValue,
    TracejitError,
    at_user_line,
)
from .core.errors import OutOfRange as OutOfRangeError
from .core.tracing.transaction import warn

__all__ = [
    "DtypeError",
    "LeakedTensor",
    "ShapeError",
    "SymbolicValue",
    "TracejitError",
    "at_user_line",
    "OutOfRangeError",
    "FailedAssertion",
    "FailedComputation",
    "warn",
    "OpError",
    "InvalidArgumentError",
    "FailedPreconditionError",
]

OpError = InvalidArgumentError = FailedPreconditionError = TracejitError
