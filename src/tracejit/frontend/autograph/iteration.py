"""What compiled loops can go over, besides tensors: ranges, enumerations and zips of what is known at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.dispatch import as_tensor, is_tracing
from ...core.errors import ShapeError, at, user_location
from ...core.op import ops
from ...core.tensor import Tensor
from ...ops.indexing import get
from ..variable import Variable
from .values import traced
from .weak import WIDE, Weak

_INT = WIDE[int]


def _int64(x: Any) -> Tensor:
    if x.__class__ is Weak:
        return x.as_dtype(_INT)
    t = as_tensor(x, _INT) if isinstance(x, int) else as_tensor(x)
    if t.dtype.kind not in "iu":
        raise TypeError(f"range() takes integers, not {t.spec}{at(user_location())}")
    return t if t.dtype == _INT else ops.cast(t, dtype=_INT)


class Range:
    """``range(start, stop, step)`` of integers some of which are known only at run time.

    Its items are weak numbers, as those of Python's range are Python numbers; with `dtype` tensors of it.
    """

    def __init__(self, start: Any, stop: Any, step: Any, dtype: np.dtype | None = None):
        self.plain = start.__class__ is int and start == 0 and step.__class__ is int and step == 1
        self.start, self.step = start, step
        self.dtype = dtype
        if step.__class__ is int and step == 0:
            raise ValueError("range() arg 3 must not be zero")
        if all(x.__class__ is int for x in (start, stop, step)):
            self.length: Any = len(range(start, stop, step))
            self.count: Tensor | None = None
        else:
            self.length, self.count = None, self._count(stop)

    def _count(self, stop: Any) -> Tensor:
        span = _int64(stop) if self.plain else ops.subtract(_int64(stop), _int64(self.start))
        if not (self.step.__class__ is int and self.step == 1):
            step = _int64(self.step)
            span = ops.negative(ops.floordiv(ops.negative(span), step))  # rounded up
        return ops.maximum(span, as_tensor(0, _INT))

    rows: tuple = ()

    def item(self, i: Tensor, rows: Sequence[Tensor]) -> Any:
        """What the body is given in iteration `i`."""
        at_i = i if self.plain else ops.add(_int64(self.start), ops.multiply(i, _int64(self.step)))
        return Weak(at_i) if self.dtype is None else ops.cast(at_i, dtype=self.dtype)


class Rows:
    """A tensor, row by row."""

    count: Tensor | None = None

    def __init__(self, tensor: Tensor):
        if not tensor.shape:
            raise TypeError(f"cannot iterate over a tensor of rank 0{at(user_location())}")
        self.length: Any = tensor.shape[0]
        self.rows: tuple[Tensor, ...] = (tensor,)

    def item(self, i: Tensor, rows: Sequence[Tensor]) -> Any:
        """What the body is given in iteration `i`."""
        return rows[0]


class Enumerated:
    """``enumerate(x, start)`` of something a compiled loop goes over."""

    def __init__(self, inner: Any, start: Any = 0):
        self.inner, self.start = inner, start
        self.count, self.length, self.rows = inner.count, inner.length, inner.rows

    def item(self, i: Tensor, rows: Sequence[Tensor]) -> Any:
        """What the body is given in iteration `i`."""
        number = Weak(i)
        return (
            number if self.start.__class__ is int and self.start == 0 else number + self.start
        ), self.inner.item(i, rows)


class Zipped:
    """``zip(…)`` of things a compiled loop goes over; they must be equally long."""

    def __init__(self, inner: list[Any]):
        self.inner = inner
        lengths = [x.length for x in inner]
        if any(n != lengths[0] for n in lengths) or lengths[0] is None:
            raise ShapeError(
                f"zip() in a compiled loop takes equally long tensors, not {lengths}{at(user_location())}"
            )
        self.count, self.length = None, lengths[0]
        self.rows = tuple(r for x in inner for r in x.rows)

    def item(self, i: Tensor, rows: Sequence[Tensor]) -> Any:
        """What the body is given in iteration `i`."""
        take = iter(rows)
        return tuple([x.item(i, [next(take) for _ in x.rows]) for x in self.inner])


LOOPS = (Range, Rows, Enumerated, Zipped)


def looped(x: Any) -> Any:
    """`x` as something a compiled loop goes over; None for what Python iterates."""
    if isinstance(x, LOOPS):
        return x
    if x.__class__ is Tensor or isinstance(x, Variable) or (hasattr(x, "__tensor__") and traced(x)):
        return Rows(as_tensor(x)) if is_tracing() else None
    return None


def row_at(rows: Sequence[Tensor], i: Tensor) -> list[Tensor]:
    """The rows of iteration `i`, where they are not scanned."""
    return [get(r, i) for r in rows]


def range_of(*bounds: Any) -> Any:
    """Python's ``range``, also of traced integers."""
    if not any(traced(b) for b in bounds):
        return range(*bounds)
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return Range(start, stop, step)


def enumerate_of(iterable: Any, start: Any = 0) -> Any:
    """Python's ``enumerate``, also of traced tensors and ranges."""
    found = looped(iterable)
    return enumerate(iterable, start) if found is None else Enumerated(found, start)


def zip_of(*iterables: Any, strict: bool = False) -> Any:
    """Python's ``zip``, also of traced tensors and ranges."""
    found = [looped(x) for x in iterables]
    if not found or any(x is None for x in found):
        return zip(*iterables, strict=strict)
    return Zipped(found)


def tensor_range(original: Callable[..., Any]) -> Callable[..., Any]:
    """``tracejit.range`` of traced integers, for ``for`` loops to go over."""

    def range_in_a_loop(
        start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: Any = None
    ) -> Any:
        if not any(traced(x) for x in (start, limit, delta)):
            return original(start, limit, delta, dtype, name)
        first, stop = (0, start) if limit is None else (start, limit)
        found = dtype or next(as_tensor(x).dtype for x in (start, limit, delta) if traced(x))
        return Range(first, stop, delta, np.dtype(found))

    return range_in_a_loop
