"""Elements of a dataset put together and taken apart: batches, windows, datasets of datasets.

Part of what `Dataset` is; knows how many elements there are where that can be told.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import tracejit as tf

from ..errors import at_user_line
from .elements import as_array, as_tensors, row, stacked

#: The length of a dataset that is known only after reading it.
UNKNOWN = -1.0


def counted(length: float, count: Callable[[float], float]) -> float:
    """A length by a formula, unless it is unknown or infinite."""
    return length if length in (UNKNOWN, math.inf) else count(length)


def positive(what: str, value: Any) -> int:
    """A number of elements, as an int; ValueError unless it is positive."""
    if int(value) < 1:
        raise ValueError(f"{what} is positive, got {value}{at_user_line()}")
    return int(value)


class Regrouping:
    """The methods of a dataset that change what an element is made of."""

    __slots__ = ()

    _source: Callable[[], Iterator[Any]]
    _length: float
    _like: Callable[..., Any]
    element_spec: Any

    def batch(self, batch_size: int, drop_remainder: bool = False, **options: Any) -> Any:
        """Elements stacked, `batch_size` at a time; the last may be smaller, or be left out.

        Examples
        --------
        >>> import tracejit as tf
        >>> [b.numpy().tolist() for b in tf.data.Dataset.range(5).batch(2, drop_remainder=True)]
        [[0, 1], [2, 3]]
        """
        size = positive("batch_size", batch_size)

        def spec() -> Any:
            first = size if drop_remainder else None
            return tf.nest.map_structure(
                lambda s: tf.TensorSpec([first, *s.shape], s.dtype), self.element_spec
            )

        return self._batched(stacked, size, drop_remainder, spec)

    def _batched(
        self, join: Callable[[list[Any]], Any], size: int, drop_remainder: bool, spec: Any = None
    ) -> Any:
        """Elements joined, `size` at a time."""

        def source() -> Iterator[Any]:
            elements = self._source()
            while taken := list(itertools.islice(elements, size)):
                if len(taken) == size or not drop_remainder:
                    yield join(taken)

        count = counted(self._length, lambda n: n // size if drop_remainder else -(-n // size))
        return self._like(source, count, spec)

    def unbatch(self) -> Any:
        """The rows of each element, one by one."""

        def source() -> Iterator[Any]:
            for element in self._source():
                for i in range(int(tf.nest.flatten(element)[0].shape[0])):
                    yield row(element, i)

        return self._like(source, UNKNOWN)

    def rebatch(self, batch_size: int, drop_remainder: bool = False, name: str | None = None) -> Any:
        """The rows of each element, in batches of another size."""
        return self.unbatch().batch(batch_size, drop_remainder)

    def padded_batch(
        self,
        batch_size: int,
        padded_shapes: Any = None,
        padding_values: Any = 0,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Any:
        """Elements stacked, each filled up at its ends to the largest of its batch.

        Parameters
        ----------
        batch_size : int
        padded_shapes : shape, or nest of them, optional
            Sizes to fill up to, of elements with parts those of each; None and -1 stand for the largest of the batch.
        padding_values : number or string, or nest of them
            What to fill up with; 0 is empty text among strings.
        drop_remainder : bool

        Examples
        --------
        >>> import tracejit as tf
        >>> rows = tf.data.Dataset.range(1, 4).map(lambda n: tf.fill([int(n)], n))
        >>> [batch.numpy().tolist() for batch in rows.padded_batch(2)]
        [[[1, 0], [2, 2]], [[3, 3, 3]]]
        """
        return self._batched(
            lambda taken: padded(taken, padded_shapes, padding_values),
            positive("batch_size", batch_size),
            drop_remainder,
        )

    def window(
        self,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Any:
        """Datasets of up to `size` elements each, `stride` apart, that begin `shift` elements after one another.

        Parameters
        ----------
        size : int
        shift : int, optional
            By default `size`, so that windows do not overlap.
        stride : int
        drop_remainder : bool
            Leave out windows that are not full.

        Examples
        --------
        >>> import tracejit as tf
        >>> windows = tf.data.Dataset.range(4).window(3, shift=1, drop_remainder=True)
        >>> [[int(i) for i in window] for window in windows]
        [[0, 1, 2], [1, 2, 3]]
        """
        size = positive("size", size)
        step, stride = positive("shift", size if shift is None else shift), positive("stride", stride)
        span = (size - 1) * stride + 1

        def source() -> Iterator[Any]:
            for taken in _spans(self._source(), span, step):
                chosen = list(taken)[::stride]
                if len(chosen) == size or not drop_remainder:
                    yield _windowed(self, chosen)

        return self._like(source, UNKNOWN)

    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Any:
        """The elements of the datasets that `map_func` makes of each element, one dataset after the other.

        Examples
        --------
        >>> import tracejit as tf
        >>> rows = tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]])
        >>> [int(x) for x in rows.flat_map(lambda row: tf.data.Dataset.from_tensor_slices(row))]
        [1, 2, 3, 4]
        """
        return self._like(lambda: (x for e in self._source() for x in _inner(map_func, e)._source()), UNKNOWN)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: int | None = None,
        block_length: int = 1,
        **options: Any,
    ) -> Any:
        """As :meth:`flat_map`, but reading `cycle_length` of the datasets in turn, `block_length` elements at a time.

        Examples
        --------
        >>> import tracejit as tf
        >>> repeated = tf.data.Dataset.range(3).interleave(
        ...     lambda x: tf.data.Dataset.from_tensors(x).repeat(2), cycle_length=2)
        >>> [int(x) for x in repeated]
        [0, 1, 0, 1, 2, 2]
        """
        block = positive("block_length", block_length)
        cycle = 2 if cycle_length in (None, -1) else positive("cycle_length", cycle_length)
        return self._like(
            lambda: _interleaved((_inner(map_func, e)._source() for e in self._source()), cycle, block),
            UNKNOWN,
        )


def _windowed(dataset: Any, elements: Sequence[Any]) -> Any:
    """A window: a dataset, or of elements with parts a nest of datasets."""
    columns = zip(*map(tf.nest.flatten, elements), strict=True)
    return tf.nest.pack_sequence_as(
        elements[0], [dataset._like(lambda c=column: iter(c), len(column)) for column in map(list, columns)]
    )


def _inner(map_func: Callable[..., Any], element: Any) -> Any:
    """The dataset made of an element, whose parts may be datasets themselves."""
    tensors = as_tensors(element)
    dataset = map_func(*tensors) if element.__class__ is tuple else map_func(tensors)
    if not isinstance(dataset, Regrouping):
        raise TypeError(
            f"map_func makes a dataset of each element, got {type(dataset).__name__}{at_user_line()}"
        )
    return dataset


def _spans(elements: Iterator[Any], span: int, step: int) -> Iterator[deque[Any]]:
    """Up to `span` elements at a time, each `step` after the last."""
    now: deque[Any] = deque(itertools.islice(elements, span))
    while now:
        yield now
        for _ in range(min(step, len(now))):
            now.popleft()
        skipped = deque(itertools.islice(elements, max(step - span, 0)), maxlen=0)
        assert not skipped
        now.extend(itertools.islice(elements, span - len(now)))


def _interleaved(sources: Iterator[Iterator[Any]], cycle: int, block: int) -> Iterator[Any]:
    open_now: list[Any] = list(itertools.islice(sources, cycle))
    while open_now:
        for place, source in enumerate(list(open_now)):
            taken = list(itertools.islice(source, block))
            yield from taken
            if len(taken) < block:
                open_now[place] = next(sources, None)
        open_now = [s for s in open_now if s is not None]


def padded(elements: Sequence[Any], shapes: Any, values: Any, size: int | None = None) -> Any:
    """Elements stacked, part by part; `shapes` and `values` are given once, or for each part.

    Axes whose size is not said are filled up to `size`, or to the largest.
    """
    first = elements[0]
    if isinstance(first, dict):
        return type(first)(
            (key, padded([e[key] for e in elements], _part(shapes, key), _part(values, key), size))
            for key in first
        )
    if isinstance(first, tuple):
        columns = enumerate(zip(*elements, strict=True))
        parts = [padded(column, _part(shapes, i), _part(values, i), size) for i, column in columns]
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    return np.stack(_padded([as_array(e) for e in elements], shapes, values, size))


def _part(of: Any, key: Any) -> Any:
    return of[key] if isinstance(of, (tuple, list, dict)) else of


def _padded(arrays: Sequence[np.ndarray], shape: Any, value: Any, size: int | None) -> list[np.ndarray]:
    ranks = list(dict.fromkeys(a.ndim for a in arrays))
    if len(ranks) > 1:
        raise tf.ShapeError(f"cannot batch elements of ranks {ranks[0]} and {ranks[1]}{at_user_line()}")
    if ranks == [0]:
        return list(arrays)
    largest = np.max([a.shape for a in arrays], axis=0) if size is None else [size] * ranks[0]
    wanted = [None] * len(largest) if shape is None else list(np.atleast_1d(shape))
    sizes = [int(n) if w in (None, -1) else int(w) for n, w in zip(largest, wanted, strict=True)]
    if any(n > most for a in arrays for n, most in zip(a.shape, sizes, strict=True)):
        raise ValueError(f"an element is larger than padded_shapes={shape}{at_user_line()}")
    if arrays[0].dtype == object and (value is None or value == 0):
        value = b""
    value = 0 if value is None else value.encode() if isinstance(value, str) else value
    filled = [np.full(sizes, value, a.dtype) for a in arrays]
    for whole, a in zip(filled, arrays, strict=True):
        whole[tuple(map(slice, a.shape))] = a
    return filled
