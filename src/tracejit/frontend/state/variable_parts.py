"""Parts of Variables that are assigned by a call, ``v[1:].assign(x)``: the same as ``v[1:] = x``.

What was read off a Variable is a tensor as any other; from which Variable the latest came, and from where in it, is
remembered here.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections import deque
from collections.abc import Callable
from typing import Any
from weakref import ref

from ...core.seams import give_methods
from ...core.tensor import Tensor
from ...ops.tensor.at import At
from ...ops.tensor.indexing import get
from .variable import Variable

_read: Callable[[Variable, Any], Tensor] = vars(Variable)["__getitem__"]


class _Latest(threading.local):
    """The last parts that a thread has read: their serial numbers, Variables and indices."""

    def __init__(self) -> None:
        self.parts: deque[tuple[int, ref[Any], Any]] = deque(maxlen=8)


_latest = _Latest()


@functools.wraps(_read)
def _part(self: Variable, index: Any) -> Tensor:
    part = _read(self, index)
    _latest.parts.append((part.serial, ref(self), index))
    return part


def _assigning(name: str, how: Callable[[Any, Any], Any] | None) -> property:
    """The method of a part of a Variable that assigns `how` it changes; other tensors have none."""

    def method(self: Tensor) -> Callable[..., Variable]:
        part = next((p for p in reversed(_latest.parts) if p[0] == self.serial), None)
        variable = None if part is None else part[1]()
        if part is None or variable is None:
            raise AttributeError(
                f"a Tensor has no {name!r}, for it cannot change: only Variables and parts just read off one, "
                f"v[index].{name}(x), have it"
            )
        return functools.partial(_assign, variable, part[2], how)

    return property(method)


def _assign(
    variable: Variable, index: Any, how: Any, value: Any, use_locking: bool = False, name: str | None = None
) -> Variable:
    variable.change(lambda now: At(now)[index].set(value if how is None else how(get(now, index), value)))
    return variable


give_methods(Variable, {"__getitem__": _part})
give_methods(
    Tensor,
    {
        "assign": _assigning("assign", None),
        "assign_add": _assigning("assign_add", operator.add),
        "assign_sub": _assigning("assign_sub", operator.sub),
    },
)
