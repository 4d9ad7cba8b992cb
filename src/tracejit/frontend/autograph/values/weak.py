"""Weak: a Python number that is known only when the compiled function runs, such as a loop's counter.

It takes the dtype of the tensors it meets, as Python numbers do, and is as wide as they are until then. What
is computed from weak and Python numbers alone is weak again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from ....core.arrays import default_dtype
from ....core.dim import Size
from ....core.dtype import DTYPES, DType
from ....core.errors import Untraceable
from ....core.op import ops
from ....core.spec import TensorSpec
from ....core.tensor import Tensor, Unhashable
from ....core.tracing.dispatch import as_tensor
from ....ops.tensor import operators
from ....ops.tensor.numpy_protocol import array_ufunc

#: How wide a Python number of each type is.
WIDE: dict[type, np.dtype[Any]] = {
    bool: np.dtype(bool),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}
KINDS: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


#: Is a function being traced with its Python floats as inputs? Then whatever looks at what they are ends that.
floats_are_inputs: ContextVar[bool] = ContextVar("floats_are_inputs", default=False)


def needs_value(what: str) -> None:
    """Refuse to go on with floats as inputs where `what` Python does depends on the number, or on its type."""
    if floats_are_inputs.get():
        raise Untraceable(f"{what} needs the value of a Python float")


class Weak(Unhashable):
    """A scalar tensor of the widest dtype of its kind that stands for a Python number."""

    __slots__ = ("wide", "weak_kind")
    __array_priority__ = 1000

    def __init__(self, wide: Tensor):
        self.weak_kind: type = KINDS[wide.np_dtype.kind]
        self.wide: Tensor = (
            wide if wide.np_dtype == WIDE[self.weak_kind] else ops.cast(wide, dtype=WIDE[self.weak_kind])
        )

    def in_dtype(self, dtype: np.dtype) -> Tensor:
        """As a tensor of `dtype`, with all the digits that it has room for."""
        if self.weak_kind is float and dtype.kind in "biu":
            needs_value("an integer made of it")
        return self.wide if self.wide.np_dtype == dtype else ops.cast(self.wide, dtype=dtype)

    def __tensor__(self) -> Tensor:
        return self.in_dtype(default_dtype(self.weak_kind(0)) or WIDE[bool])

    def __repr__(self) -> str:
        needs_value("text of it")
        return repr(self.__tensor__())

    def __str__(self) -> str:
        needs_value("text of it")
        return str(self.__tensor__())

    def __format__(self, spec: str) -> str:
        needs_value("text of it")
        return format(self.__tensor__(), spec)

    def __round__(self, digits: int | None = None) -> Any:
        needs_value("round")  # Python rounds the decimal number
        return round(self.__tensor__(), digits)

    @property
    def spec(self) -> TensorSpec:
        """Shape and dtype as a tensor."""
        return self.__tensor__().spec

    @property
    def shape(self) -> tuple[Any, ...]:
        """Always ``()``."""
        return ()

    @property
    def dtype(self) -> DType:
        """The dtype it has where it meets no other tensor."""
        return DTYPES[self.np_dtype]

    @property
    def np_dtype(self) -> np.dtype:
        """NumPy's dtype that it has where it meets no other tensor."""
        return default_dtype(self.weak_kind(0)) or WIDE[bool]

    @property
    def ndim(self) -> int:
        """Always 0."""
        return 0

    @property
    def is_symbolic(self) -> bool:
        """It has no value while tracing."""
        return self.wide.is_symbolic

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """NumPy makes a number of full width of Python's numbers; with arrays they take the dtype of those."""
        numbers = [wide(x) for x in inputs]
        if any(x is None for x in numbers):
            return array_ufunc(self.__tensor__(), ufunc, method, *inputs, **kwargs)
        return array_ufunc(numbers[0], ufunc, method, *numbers, **kwargs)


def of_size(size: Size) -> Weak:
    """The int that a size stands for."""
    return Weak(ops.size_value(size=size))


def wide(x: Any) -> Tensor | None:
    """A Python number or Weak as a tensor of the widest dtype of its kind; None for anything else."""
    if x.__class__ is Weak:
        return x.wide
    return as_tensor(x, WIDE[x.__class__]) if x.__class__ in WIDE else None


def _arithmetic(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def forward(self: Weak, *others: Any) -> Any:
        given = [wide(x) for x in others]
        if any(x is None for x in given):
            return method(self, *others)
        numbers = [self.wide, *(x for x in given if x is not None)]
        if name not in _LOGIC:
            numbers = [_not_bool(x) for x in numbers]
        if name in _TRUE_DIVISION:
            numbers = [x if x.np_dtype.kind == "c" else ops.cast(x, dtype=WIDE[float]) for x in numbers]
        y = method(*numbers)
        return tuple(Weak(part) for part in y) if y.__class__ is tuple else Weak(y)

    return forward


_LOGIC = {"__and__", "__or__", "__xor__", "__rand__", "__ror__", "__rxor__", "__invert__"}
_TRUE_DIVISION = {"__truediv__", "__rtruediv__"}


def _not_bool(x: Tensor) -> Tensor:
    return ops.cast(x, dtype=WIDE[int]) if x.np_dtype.kind == "b" else x


def _reading(method: Callable[..., Any]) -> Callable[..., Any]:
    def forward(self: Weak, *args: Any, **kwargs: Any) -> Any:
        return method(self.__tensor__(), *args, **kwargs)

    return forward


def _complete() -> None:
    """Give Weak the operators and protocols of tensors."""
    for name in operators.OPERATORS:
        setattr(Weak, name, _arithmetic(name, getattr(Tensor, name)))
    for name in operators.PROTOCOLS:
        if name in ("__array__", "__hash__") or name in vars(Weak):
            continue  # without __array__ a Weak is not taken for an array, which has a dtype of its own
        method = getattr(Tensor, name)
        is_property = isinstance(method, property)
        made = _reading(method.fget if is_property else method)
        setattr(Weak, name, property(made) if is_property else made)


_complete()
