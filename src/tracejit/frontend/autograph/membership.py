"""``x in y`` where either is known only when the compiled function runs: an item equal to `x`, as Python compares."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...core.lazy import Later
from ...core.tensor_shape import TensorShape
from ...core.tracing.dispatch import as_tensor
from ...ops.arrays.reduce import reduce_max
from ...ops.elementwise.compare import equal, logical_or
from .values.kinds import traced
from .values.stacked import Stacked

if TYPE_CHECKING:
    from .flow import branches
else:
    branches = Later(".flow.branches", __package__)

#: Sizes that are compared here are compared by the program.
COMPARES_FOR_PROGRAMS = True


def contains(x: Any, items: Any) -> Any:
    """``x in items``; a scalar bool tensor where the answer is known only at run time."""
    if traced(items) or items.__class__ is Stacked:
        matches = equal(as_tensor(items), x)
        return reduce_max(matches, axis=tuple(range(len(matches.shape))))
    if items.__class__ in (list, tuple, TensorShape) and (traced(x) or any(map(traced, items))):
        return _among(x, items)
    return x in items


def _among(x: Any, items: Iterable[Any]) -> Any:
    answers = [True if item is x else item == x for item in items]
    if any(not traced(a) and a for a in answers):
        return True
    open_ = [branches.truth(a) for a in answers if traced(a)]
    return functools.reduce(logical_or, open_) if open_ else False
