"""A name that a branch binds to one of several Variables, known only when the compiled function runs.

Eagerly the name stands for the Variable, and what happens to that later is seen through it. So it is read when it is
used, by its condition, and assigned by it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.dtype import DTYPES, DType
from ...core.errors import Untraceable, at, user_location
from ...core.op import ops
from ...core.spec import TensorSpec
from ...core.tensor import Tensor, Unhashable
from ...core.tensor_shape import TensorShape, shape_of
from ...core.tracing.dispatch import as_tensor, pausing
from ...ops.tensor import operators
from .variable import Variable


def is_alias(x: Any) -> bool:
    """Does a name that is bound to it stand for a Variable?"""
    return isinstance(x, (Variable, Either))


class UnknownVariable(Untraceable, AttributeError):
    """Something was asked of one of several Variables that only one of them can answer."""


class Either(Unhashable):
    """One of several Variables, or a number, all of one shape and dtype.

    Attributes
    ----------
    which : Tensor
        Its position among the Variables, the number behind them; of rank 0, int32.
    among : tuple of Variable
        Those it may stand for, each once.
    number : Tensor, optional
        What it is where it is no Variable.
    """

    __slots__ = ("which", "among", "number", "spec")
    __array_priority__ = 1000
    is_symbolic = True

    def __init__(self, which: Tensor, among: tuple[Variable, ...], number: Any = None):
        self.which: Tensor = which
        self.among: tuple[Variable, ...] = among
        self.number: Any = number
        self.spec: TensorSpec = among[0].spec

    def __tensor__(self) -> Tensor:
        """Read: the value now of the one that is chosen."""
        values = [v.__tensor__() for v in self.among]
        if self.number is not None:
            values.append(as_tensor(self.number))
        chosen = values.pop()
        for k, value in reversed(list(enumerate(values))):
            chosen = ops.where(ops.equal(self.which, k), value, chosen)
        return chosen

    def read_value(self) -> Tensor:
        """The value as a Tensor."""
        return self.__tensor__()

    value = read_value

    @property
    def shape(self) -> TensorShape:
        """The sizes, outermost axis first."""
        return shape_of(self.spec.shape, self.spec.symbolic)

    @property
    def dtype(self) -> DType:
        """The element type, which is taken wherever NumPy takes a dtype."""
        return DTYPES[self.spec.dtype]

    @property
    def np_dtype(self) -> np.dtype:
        """The element type, NumPy's."""
        return self.spec.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.spec.shape)

    def assign(self, value: Any, *args: Any, **kwargs: Any) -> Either:
        """Replace the value of the one that is chosen."""
        return self._changed(lambda v: v.assign(value))

    def assign_add(self, delta: Any, *args: Any, **kwargs: Any) -> Either:
        """Add to the value of the one that is chosen."""
        return self._changed(lambda v: v.assign_add(delta))

    def assign_sub(self, delta: Any, *args: Any, **kwargs: Any) -> Either:
        """Subtract from the value of the one that is chosen."""
        return self._changed(lambda v: v.assign_sub(delta))

    def __setitem__(self, index: Any, value: Any) -> None:
        """``x[index] = value``: assign this part of the one that is chosen."""

        def change(v: Any) -> None:
            v[index] = value

        self._changed(change)

    def _changed(self, change: Callable[[Variable], Any]) -> Either:
        for k, v in enumerate(self.variables()):
            before = v.current()
            change(v)
            with pausing():
                v.store(ops.where(ops.equal(self.which, k), v.current(), before))
        return self

    def variables(self) -> tuple[Variable, ...]:
        """Those it may stand for, each once; Untraceable where it may stand for a number."""
        if self.number is not None:
            raise Untraceable(
                f"a Variable in one branch and a tensor of {self.spec} in the other is assigned, and which it is, is "
                f"known only when the compiled function runs: assign in the branch{at(user_location())}"
            )
        return self.among

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(Variable, name):
            raise AttributeError(f"'Variable' object has no attribute {name!r}")
        raise UnknownVariable(
            f"{name!r} is asked of one of several Variables, and which it is, is known only when the compiled function "
            f"runs: ask in the branch that chooses it{at(user_location())}"
        )


def _reading(method: Callable[..., Any]) -> Callable[..., Any]:
    def forward(self: Either, *args: Any, **kwargs: Any) -> Any:
        return method(self.__tensor__(), *args, **kwargs)

    return forward


def _delegate_to_tensor() -> None:
    """Operators and protocols read it and go on with the tensor."""
    for name in (*operators.OPERATORS, *operators.PROTOCOLS):
        if name in vars(Either) or name in (
            "__hash__",
            "__copy__",
            "__deepcopy__",
            "__reduce__",
            "__getattr__",
        ):
            continue
        method = getattr(Tensor, name)
        is_property = isinstance(method, property)
        made = _reading(method.fget if is_property else method)
        setattr(Either, name, property(made) if is_property else made)


_delegate_to_tensor()
