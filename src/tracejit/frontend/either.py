"""A name that a branch binds to a Variable: which one, is known only when the compiled function runs.

Eagerly the name stands for the Variable, and what happens to that later is seen through it. So it is read when it is
used, by its condition, and assigned by it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.dispatch import as_tensor, pausing
from ..core.errors import TracejitError, at, user_location
from ..core.op import ops
from ..core.spec import TensorSpec
from ..core.tensor import Tensor
from ..ops import operators
from .variable import Variable


class UnknownVariable(TracejitError, AttributeError):
    """Something was asked of one of several Variables that only one of them can answer."""


class Either:
    """The Variable or tensor `left` where `chooses` holds, else `right`; both of one shape and dtype.

    Attributes
    ----------
    chooses : Tensor
        A bool.
    left, right : Variable, Either or Tensor
    """

    __slots__ = ("chooses", "left", "right", "spec")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]  # == is element-wise
    is_symbolic = True

    def __init__(self, chooses: Tensor, left: Any, right: Any):
        self.chooses, self.left, self.right = chooses, left, right
        self.spec: TensorSpec = left.spec

    def __tensor__(self) -> Tensor:
        """Read: the value now of the one that is chosen."""
        a, b = (x if isinstance(x, Tensor) else x.__tensor__() for x in (self.left, self.right))
        return ops.where(self.chooses, a, b)

    def read_value(self) -> Tensor:
        """The value as a Tensor."""
        return self.__tensor__()

    value = read_value

    @property
    def shape(self) -> tuple:
        """The sizes, outermost axis first."""
        return self.spec.shape

    @property
    def dtype(self) -> Any:
        """The element type."""
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
        for v in self.variables():
            before = v.current()
            change(v)
            with pausing():
                v.store(ops.where(self.stands_for(v), v.current(), before))
        return self

    def variables(self) -> list[Variable]:
        """Those it may stand for, each once; TracejitError where it may stand for a tensor."""
        found: list[Variable] = []
        for x in (self.left, self.right):
            if isinstance(x, Tensor):
                raise TracejitError(
                    f"a Variable in one branch and a tensor of {x.spec} in the other is assigned, and which it is, is "
                    f"known only when the compiled function runs: assign in the branch{at(user_location())}"
                )
            more = x.variables() if isinstance(x, Either) else [x]
            found += [v for v in more if not any(v is w for w in found)]
        return found

    def stands_for(self, v: Variable) -> Tensor:
        """Is it this Variable? A bool."""
        left, right = (
            x.stands_for(v) if isinstance(x, Either) else as_tensor(x is v) for x in (self.left, self.right)
        )
        return ops.where(self.chooses, left, right)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
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
