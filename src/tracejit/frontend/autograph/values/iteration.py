"""What compiled loops can go over, besides tensors: ranges, enumerations and zips of what is known at run time."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ....core.dim import Dim, Size, unknown
from ....core.errors import Untraceable, at, user_location
from ....core.op import ops
from ....core.spec import as_dtype
from ....core.tensor import Tensor
from ....core.tracing.dispatch import as_tensor, is_tracing
from ....ops.symbolic_values import counting
from ....ops.tensor import operators
from ....ops.tensor.indexing import get
from ....ops.tensor.memory.storage import named, seen_as
from ...creation import STEP_OF_ZERO, check_step
from ...state.variable import Variable
from ...structure import flatten_values as flatten
from ...structure import unflatten
from .kinds import traced
from .stacked import Stacked
from .weak import WIDE, Weak, of_size

_INT = WIDE[int]


def _int64(x: Any) -> Tensor:
    if x.__class__ is Weak:
        return x.in_dtype(_INT)
    t = as_tensor(x, _INT) if isinstance(x, int) else as_tensor(x)
    if t.np_dtype.kind not in "iu":
        raise TypeError(f"range() takes integers, not {t.spec}{at(user_location())}")
    return t if t.np_dtype == _INT else ops.cast(t, dtype=_INT)


class Looped(ABC):
    """What a compiled loop goes over.

    Attributes
    ----------
    length : size or None
        Number of items, where it is a size.
    count : Tensor or None
        Number of items, where it is known only at run time.
    rows : tuple of Tensor
        What is scanned along its first axis.
    """

    length: Any = None
    count: Tensor | None = None
    rows: tuple[Tensor, ...] = ()

    @abstractmethod
    def item(self, i: Tensor, rows: Sequence[Tensor]) -> Any:
        """What the body is given in iteration `i`."""

    @abstractmethod
    def rest(self) -> Looped:
        """All but the first item."""

    def size(self) -> Tensor:
        """Number of items, as an int64 scalar."""
        if self.count is not None:
            return self.count
        return as_tensor(self.length, _INT) if is_size(self.length) else ops.size_value(size=self.length)

    @abstractmethod
    def __iter__(self) -> Iterator[Any]:
        """For Python to go over: the items one by one, where it is known how many there are."""


def is_size(length: Any) -> bool:
    """Is a length known while tracing?"""
    return length.__class__ is int


class Range(Looped):
    """``range(start, stop, step)`` of integers some of which are known only at run time.

    Its items are weak numbers, as those of Python's range are Python numbers; with `dtype` tensors of it.
    """

    def __init__(self, start: Any, stop: Any, step: Any, dtype: np.dtype | None = None):
        self.plain = start.__class__ is int and start == 0 and step.__class__ is int and step == 1
        self.start = start
        self.step = step
        self.stop = stop
        self.dtype = dtype
        if step.__class__ is int and step == 0:
            raise ValueError(f"{STEP_OF_ZERO}{at(user_location())}")
        if all(x.__class__ is int for x in (start, stop, step)):
            self.length: Any = len(range(start, stop, step))
        else:
            self.count: Tensor | None = self._count(stop)

    def _count(self, stop: Any) -> Tensor:
        span = _int64(stop) if self.plain else ops.subtract(_int64(stop), _int64(self.start))
        if not (self.step.__class__ is int and self.step == 1):
            step = _int64(self.step)
            if self.step.__class__ is not int:
                check_step(step)
            span = ops.negative(ops.floordiv(ops.negative(span), step))  # rounded up
        return ops.maximum(span, as_tensor(0, _INT))

    def item(self, i: Tensor, rows: Sequence[Tensor]) -> Any:
        at_i = i if self.plain else ops.add(_int64(self.start), ops.multiply(i, _int64(self.step)))
        return Weak(at_i) if self.dtype is None else ops.cast(at_i, dtype=self.dtype)

    def rest(self) -> Range:
        return Range(self.start + self.step, self.stop, self.step, self.dtype)

    def __iter__(self) -> Iterator[Any]:
        if not is_size(self.length):
            raise Untraceable(
                "how many items a range has is known only when the compiled function runs: only `for` loops and "
                f"list comprehensions go over it{at(user_location())}"
            )
        return iter(range(self.start, self.stop, self.step))

    def backwards(self) -> Range:
        """The same items, the last one first."""
        start, step, last = (
            _weak(self.start),
            _weak(self.step),
            _weak(ops.subtract(self.size(), as_tensor(1, _INT))),
        )
        return Range(start + last * step, start - step, -step, self.dtype)


class TensorRange(Range):
    """``tracejit.range`` of integers some of which are known only at run time.

    A loop over it counts; wherever else a tensor is wanted, it is the tensor of its items.
    """

    def __tensor__(self) -> Tensor:
        places = counting(self.size())
        items = places if self.plain else ops.add(_int64(self.start), ops.multiply(places, _int64(self.step)))
        return ops.cast(items, dtype=self.dtype)

    def rest(self) -> TensorRange:
        return TensorRange(self.start + self.step, self.stop, self.step, self.dtype)

    @property
    def is_symbolic(self) -> bool:
        """It has no value while tracing."""
        return True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__tensor__(), name)


def _of_items(name: str) -> Callable[..., Any]:
    return lambda self, *args: getattr(self.__tensor__(), name)(*args)


for _name in (*operators.OPERATORS, "__getitem__"):
    setattr(TensorRange, _name, _of_items(_name))


def _weak(x: Any) -> Any:
    return x if x.__class__ in (int, Weak) else Weak(_int64(x))


class Rows(Looped):
    """A tensor, row by row."""

    def __init__(self, tensor: Tensor):
        if not tensor.shape:
            raise TypeError(f"cannot iterate over a tensor of rank 0{at(user_location())}")
        self.length: Any = tensor.shape[0]
        self.rows: tuple[Tensor, ...] = (tensor,)

    def item(self, i: Tensor, rows: Sequence[Tensor]) -> Any:
        return rows[0]

    def rest(self) -> Rows:
        return Rows(get(self.rows[0], slice(1, None)))

    def __iter__(self) -> Iterator[Any]:
        rows: Any = self.rows[0]
        return iter(rows)  # which warns of many


class Enumerated(Looped):
    """``enumerate(x, start)`` of something a compiled loop goes over."""

    def __init__(self, inner: Looped, start: Any = 0):
        self.inner = inner
        self.start = start
        self.count: Tensor | None = inner.count
        self.length: Any = inner.length
        self.rows: tuple[Tensor, ...] = inner.rows

    def item(self, i: Tensor, rows: Sequence[Tensor]) -> Any:
        plain = self.start.__class__ is int and self.start == 0
        return Weak(i) if plain else Weak(i) + self.start, self.inner.item(i, rows)

    def rest(self) -> Enumerated:
        return Enumerated(self.inner.rest(), self.start + 1)

    def __iter__(self) -> Iterator[Any]:
        return enumerate(self.inner, self.start)


class Zipped(Looped):
    """``zip(…)`` of things a compiled loop goes over, as far as the shortest goes."""

    def __init__(self, inner: Sequence[Looped]):
        self.inner = inner
        lengths = [x.length for x in inner]
        self.scanned: bool = lengths[0] is not None and all(n == lengths[0] for n in lengths)
        if self.scanned:
            self.length: Any = lengths[0]
            self.rows: tuple[Tensor, ...] = tuple(r for x in inner for r in x.rows)
        elif all(map(is_size, lengths)):
            self.length = min(lengths)
        else:
            self.count: Tensor | None = functools.reduce(ops.minimum, [x.size() for x in inner])

    def item(self, i: Tensor, rows: Sequence[Tensor]) -> Any:
        if not self.scanned:
            return tuple([x.item(i, row_at(x.rows, i)) for x in self.inner])
        take = iter(rows)
        return tuple([x.item(i, [next(take) for _ in x.rows]) for x in self.inner])

    def rest(self) -> Zipped:
        return Zipped([x.rest() for x in self.inner])

    def __iter__(self) -> Iterator[Any]:
        return zip(*self.inner, strict=False)

    def check_equal(self) -> None:
        """For ``zip(strict=True)``: ValueError where the lengths differ."""
        for x in self.inner[1:]:
            first = self.inner[0]
            if is_size(x.length) and is_size(first.length) and x.length != first.length:
                raise ValueError(
                    f"zip(strict=True) of {first.length} and {x.length} items{at(user_location())}"
                )
            if not self.scanned:
                equal = ops.cast(ops.equal(first.size(), x.size()), dtype=np.dtype(np.float32))
                ops.check(equal, message="zip(strict=True) of different lengths", error="ValueError")


def looped(x: Any) -> Looped | None:
    """`x` as something a compiled loop goes over; None for what Python iterates."""
    if isinstance(x, Looped):
        return x
    if x.__class__ is Tensor or isinstance(x, Variable) or (hasattr(x, "__tensor__") and traced(x)):
        return Rows(named(x)) if is_tracing() else None
    return None


def as_range(x: range) -> Range:
    """Python's range, to be looped over when the compiled function runs."""
    return Range(x.start, x.stop, x.step)


def row_at(rows: Sequence[Tensor], i: Tensor) -> list[Tensor]:
    """The rows of iteration `i`, where they are not scanned."""
    return [get(r, i) for r in rows]


class OpenRange(Sequence[int]):
    """``range(start, stop, step)`` of open sizes, as of ``x.shape[0]`` under a signature that leaves it open.

    A ``for`` loop over it is compiled, for any size; where that is refused, and for whatever else Python does with a
    range, it is one of numbers, and what is traced holds for this size alone.
    """

    def __init__(self, *bounds: Size):
        self.bounds: tuple[Size, ...] = bounds

    def counted(self) -> Range:
        """What a compiled loop goes over."""
        return _range(*(of_size(b) if isinstance(b, Dim) else b for b in self.bounds))

    def plain(self) -> range:
        """Python's range, for this size alone."""
        return range(*map(int, self.bounds))

    def __len__(self) -> int:
        return len(self.plain())

    def __getitem__(self, place: Any) -> Any:
        return self.plain()[place]

    def __iter__(self) -> Iterator[int]:
        return iter(self.plain())

    def __repr__(self) -> str:
        return f"range({', '.join(map(str, self.bounds))})"


def range_of(*bounds: Any) -> Any:
    """Python's ``range``, also of traced integers and open sizes."""
    if not any(traced(b) for b in bounds):
        return OpenRange(*bounds) if any(isinstance(b, Dim) for b in bounds) else range(*bounds)
    return _range(*bounds)


def _range(*bounds: Any) -> Range:
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return Range(start, stop, step)


def enumerate_of(iterable: Any, start: Any = 0) -> Any:
    """Python's ``enumerate``, also of traced tensors and ranges."""
    items = looped(iterable)
    return enumerate(iterable, start) if items is None else Enumerated(items, start)


def zip_of(*iterables: Any, strict: bool = False) -> Any:
    """Python's ``zip``, also of traced tensors and ranges."""
    parts = [x for x in map(looped, iterables) if x is not None]
    if not parts or len(parts) < len(iterables):
        return zip(*iterables, strict=strict)
    zipped = Zipped(parts)
    if strict:
        zipped.check_equal()
    return zipped


def reversed_of(iterable: Any) -> Any:
    """Python's ``reversed``, also of traced tensors and ranges."""
    if isinstance(iterable, Range):
        return iterable.backwards()
    items = looped(iterable)
    if not isinstance(items, Rows):
        return reversed(iterable)
    backwards = get(items.rows[0], slice(None, None, -1))
    seen_as(backwards, items.rows[0], lambda whole: get(whole, slice(None, None, -1)))
    return Rows(backwards)


def length_of(x: Any) -> Any:
    """Python's ``len``, also of what has a length only at run time."""
    if isinstance(x, Looped):
        return x.length if is_size(x.length) else Weak(x.size())
    if x.__class__ is Stacked:
        return length_of(Rows(x.__tensor__()))
    if x.__class__ is Tensor and x.shape and isinstance(size := x.shape[0], Dim):
        return of_size(size) if unknown(size) else size
    return len(x)


def tensor_range(original: Callable[..., Any]) -> Callable[..., Any]:
    """``tracejit.range`` of traced integers, for ``for`` loops to go over, or as a tensor."""

    def range_in_a_loop(
        start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: Any = None
    ) -> Any:
        if not any(traced(x) for x in (start, limit, delta)):
            return original(start, limit, delta, dtype, name)
        first, stop = (0, start) if limit is None else (start, limit)
        chosen = dtype or next(as_tensor(x).np_dtype for x in (start, limit, delta) if traced(x))
        if as_dtype(chosen).kind not in "iu":  # floats may still be constants of the trace
            return original(start, limit, delta, dtype, name)
        return TensorRange(first, stop, delta, as_dtype(chosen))

    return range_in_a_loop


def reading(value: Any) -> Any:
    """The value, with tensors for ranges."""
    leaves, structure = flatten(value)
    if not any(x.__class__ is TensorRange for x in leaves):
        return value
    return unflatten(structure, [x.__tensor__() if x.__class__ is TensorRange else x for x in leaves])
