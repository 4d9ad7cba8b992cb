"""Dataset: a sequence of examples made of other sequences, read as often as one likes.

Everything runs when an element is asked for, in this thread, eagerly; elements come without history, so no gradient
passes through. Inside of a traced function a dataset is a Python sequence: a loop over it is written out. Where one
reading differs from another, by a random order or what a function of the program makes, each call takes one of its own,
before it runs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

import tracejit as tf

from ..errors import at_user_line
from .choosing import Choosing, drawn_seed
from .elements import applied, as_array, as_element, holds, like, paths_like, row
from .reading import DatasetIterator, NumpyIterator, readings
from .regrouping import UNKNOWN, Regrouping, counted, positive

Source = Callable[[], Iterator[Any]]


class Options:
    """Options of a dataset, accepted for programs written for other libraries: any attribute may be set.

    Examples
    --------
    >>> import tracejit as tf
    >>> options = tf.data.Options()
    >>> options.deterministic = True
    >>> dataset = tf.data.Dataset.range(3).with_options(options)
    """

    def __init__(self) -> None:
        self.experimental_optimization: SimpleNamespace = SimpleNamespace()
        self.threading: SimpleNamespace = SimpleNamespace()


class Dataset(Choosing, Regrouping):
    """A sequence of elements; made by its class methods and from other datasets.

    These give it the `source` of elements, its `length` if it is known, whether one reading `varies` from another, and
    the `spec` of elements.

    Examples
    --------
    >>> import tracejit as tf
    >>> dataset = tf.data.Dataset.from_tensor_slices(([1.0, 2.0, 3.0], [0, 1, 1])).batch(2)
    >>> for x, y in dataset:
    ...     print(x.numpy(), y.numpy())
    [1. 2.] [0 1]
    [3.] [1]
    """

    __slots__ = ("_source", "_length", "_varies", "_spec", "_readings")

    def __init__(
        self,
        source: Source,
        length: float,
        varies: bool = False,
        spec: Callable[[], Any] | None = None,
    ):
        self._source = source
        self._length = length
        self._varies = varies
        self._spec = spec
        self._readings: DatasetIterator | None = None

    # ---- sources ----------------------------------------------------------------------------------------

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """One element per row.

        Parameters
        ----------
        tensors : array-like, or tuple or dict of them
            All with the same number of rows.

        Examples
        --------
        >>> import tracejit as tf
        >>> rows = tf.data.Dataset.from_tensor_slices({"a": [1, 2], "b": [[1.0], [2.0]]})
        >>> [sorted(element) for element in rows]
        [['a', 'b'], ['a', 'b']]
        """
        element = as_element(tensors)
        leaves = tf.nest.flatten(element)
        if not leaves or any(len(x.shape) == 0 for x in leaves):
            raise tf.ShapeError(f"slices are taken of tensors with at least one axis{at_user_line()}")
        counts = list(dict.fromkeys(int(x.shape[0]) for x in leaves))
        if len(counts) > 1:
            raise tf.ShapeError(
                f"tensors of {counts[0]} and {counts[1]} rows do not go together{at_user_line()}"
            )
        return Dataset(
            lambda: (row(element, i) for i in range(counts[0])),
            counts[0],
            spec=lambda: tf.nest.map_structure(lambda x: tf.TensorSpec(x.shape[1:], x.dtype), element),
        )

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """A single element."""
        element = as_element(tensors)
        return Dataset(lambda: iter((element,)), 1)

    @staticmethod
    def list_files(file_pattern: Any, shuffle: bool | None = None, seed: int | None = None) -> Dataset:
        """The paths of files that match `file_pattern`, which has ``*``, ``?`` and ``[]``, or one of a list of these.

        They are shuffled, by `seed`, unless `shuffle` is False: they are in order then. ValueError if there is none.

        Examples
        --------
        >>> import pathlib, tempfile, tracejit as tf
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> written = [(folder / name).write_text("") for name in ("b.txt", "a.txt", "c.csv")]
        >>> files = tf.data.Dataset.list_files(f"{folder}/*.txt", shuffle=False)
        >>> [path.numpy().decode().removeprefix(f"{folder}/") for path in files]
        ['a.txt', 'b.txt']
        """
        paths = paths_like(file_pattern)
        found = Dataset.from_tensor_slices(np.array(paths, object))
        return found if shuffle is False else found.shuffle(len(paths), seed)

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of a Python iterable, which `generator` makes anew for each reading.

        Parameters
        ----------
        generator : callable
        output_types : dtype-like, or nest of them, optional
            What numbers of elements become; NumPy's choice by default.
        output_shapes : shape, or nest of them, optional
            Accepted for programs written for other libraries, and ignored.
        args : sequence, optional
            Arguments of `generator`, as tensors.
        output_signature : TensorSpec, or nest of them, optional
            What elements are like; those that are not raise.

        Examples
        --------
        >>> import tracejit as tf
        >>> rows = tf.data.Dataset.from_generator(
        ...     lambda: ([1.0] * n for n in range(1, 3)), output_signature=tf.TensorSpec([None]))
        >>> [row.numpy().tolist() for row in rows]
        [[1.0], [1.0, 1.0]]
        """
        given = [tf.convert_to_tensor(x) for x in args or ()]
        wanted = output_types if output_signature is None else output_signature

        def source() -> Iterator[Any]:
            return (as_element(e) if wanted is None else like(wanted, e) for e in generator(*given))

        signature = output_signature
        return Dataset(source, UNKNOWN, True, None if signature is None else lambda: signature)

    @staticmethod
    def range(*args: int, output_type: Any = "int64", name: str | None = None) -> Dataset:
        """The numbers of Python's `range`.

        Examples
        --------
        >>> import tracejit as tf
        >>> [int(i) for i in tf.data.Dataset.range(2, 8, 3)]
        [2, 5]
        """
        return Dataset.from_tensor_slices(np.arange(*args, dtype=output_type))

    @staticmethod
    def counter(start: Any = 0, step: Any = 1, dtype: Any = "int64", name: str | None = None) -> Dataset:
        """The numbers from `start` by `step`, without end, as scalars of `dtype`."""
        kind = tf.as_dtype(dtype).dtype
        return Dataset(
            lambda: (np.asarray(n, kind) for n in itertools.count(start, step)),
            math.inf,
            spec=lambda: tf.TensorSpec([], dtype),
        )

    @staticmethod
    def zip(*datasets: Any, name: str | None = None) -> Dataset:
        """Elements side by side, until one dataset ends: of several datasets, or of a tuple or dict of them.

        Examples
        --------
        >>> import tracejit as tf
        >>> a, b = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 12)
        >>> [(int(x), int(y)) for x, y in tf.data.Dataset.zip((a, b))]
        [(0, 10), (1, 11)]
        """
        nest = datasets[0] if len(datasets) == 1 else datasets
        parts = tf.nest.flatten(nest)
        known = [p._length for p in parts]

        def source() -> Iterator[Any]:
            for rows in zip(*(p._source() for p in parts)):
                yield tf.nest.pack_sequence_as(nest, rows)

        return Dataset(
            source,
            UNKNOWN if UNKNOWN in known else min(known),
            any(p._varies for p in parts),
            lambda: tf.nest.pack_sequence_as(nest, [p.element_spec for p in parts]),
        )

    # ---- from one dataset to another --------------------------------------------------------------------

    def _like(self, source: Source, length: float, spec: Callable[[], Any] | None = None) -> Dataset:
        return Dataset(source, length, self._varies, spec)

    def _same(self, source: Source, length: float) -> Dataset:
        """With elements like these."""
        return self._like(source, length, lambda: self.element_spec)

    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None, **options: Any) -> Dataset:
        """`map_func` of each element; a tuple is passed as several arguments. `num_parallel_calls` is accepted.

        Examples
        --------
        >>> import tracejit as tf
        >>> [float(y) for y in tf.data.Dataset.range(3).map(lambda i: i * 0.5)]
        [0.0, 0.5, 1.0]
        """
        return self._like(lambda: (applied(map_func, e) for e in self._source()), self._length)

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements for which `predicate` holds; while a function is traced, it must be known for each."""
        return self._same(lambda: (e for e in self._source() if holds(predicate, e)), UNKNOWN)

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements before the first one for which `predicate` does not hold."""
        return self._same(
            lambda: itertools.takewhile(lambda e: holds(predicate, e), self._source()),
            UNKNOWN,
        )

    def scan(self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """``state, new = scan_func(state, element)`` gives `new` for each element, from `initial_state` on.

        Examples
        --------
        >>> import tracejit as tf
        >>> sums = tf.data.Dataset.range(1, 4).scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s + x))
        >>> [int(s) for s in sums]
        [1, 3, 6]
        """

        def source() -> Iterator[Any]:
            state = as_element(initial_state)
            for element in self._source():
                state, new = applied(scan_func, (state, element))
                yield new

        return self._like(source, self._length)

    def apply(self, transformation_func: Callable[[Dataset], Any], name: str | None = None) -> Any:
        """``transformation_func(self)``."""
        return transformation_func(self)

    def shard(self, num_shards: int, index: int, name: str | None = None) -> Dataset:
        """Every `num_shards`-th element, from number `index` on; ValueError unless it is one of as many."""
        if not 0 <= index < num_shards:
            raise ValueError(f"index is in [0, {num_shards}), got {index}{at_user_line()}")
        return self._same(
            lambda: itertools.islice(self._source(), index, None, num_shards),
            counted(self._length, lambda n: max(-(-(n - index) // num_shards), 0)),
        )

    def unique(self, name: str | None = None) -> Dataset:
        """Each different element once; elements are single tensors."""

        def source() -> Iterator[Any]:
            seen = set()
            for element in self._source():
                array = as_array(element)
                key = tuple(array.ravel().tolist()) if array.dtype.hasobject else array.tobytes()
                if key not in seen:
                    seen.add(key)
                    yield element

        return self._same(source, UNKNOWN)

    def shuffle(
        self,
        buffer_size: int,
        seed: int | None = None,
        reshuffle_each_iteration: bool = True,
        name: str | None = None,
    ) -> Dataset:
        """The elements in random order: each is drawn from the next `buffer_size` that are left.

        Parameters
        ----------
        buffer_size : int
            At least the number of elements for a perfect shuffle.
        seed : int, optional
            Repeats the orders; without it they follow :func:`tracejit.random.set_seed`.
        reshuffle_each_iteration : bool
            Another order each time the dataset is read.

        Examples
        --------
        >>> import tracejit as tf
        >>> sorted(int(i) for i in tf.data.Dataset.range(4).shuffle(4, seed=1))
        [0, 1, 2, 3]
        """
        size = positive("buffer_size", buffer_size)
        readings = itertools.count()
        first = drawn_seed() if seed is None and not reshuffle_each_iteration else seed

        def source() -> Iterator[Any]:
            now = next(readings) if reshuffle_each_iteration else 0
            key = drawn_seed() if first is None else first
            return _shuffled(self._source(), size, np.random.default_rng([key % 2**64, now]))

        return Dataset(
            source, self._length, self._varies or reshuffle_each_iteration, lambda: self.element_spec
        )

    def repeat(self, count: int | None = None, name: str | None = None) -> Dataset:
        """The elements `count` times over; without end for None and -1."""
        endless = count is None or count == -1
        times = math.inf if endless else int(count or 0)

        def source() -> Iterator[Any]:
            for _ in itertools.count() if endless else range(int(times)):
                some = False
                for element in self._source():
                    some = True
                    yield element
                if not some:
                    return

        return self._same(source, counted(self._length, lambda n: n * times if n else 0))

    def take(self, count: int, name: str | None = None) -> Dataset:
        """The first `count` elements; all for -1."""
        if count < 0:
            return self
        length = count if self._length == math.inf else counted(self._length, lambda n: min(n, count))
        return self._same(lambda: itertools.islice(self._source(), count), length)

    def skip(self, count: int, name: str | None = None) -> Dataset:
        """All but the first `count` elements; none for -1."""
        if count < 0:
            return self.take(0)
        return self._same(
            lambda: itertools.islice(self._source(), count, None),
            counted(self._length, lambda n: max(n - count, 0)),
        )

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """These elements, then those of `dataset`."""
        known = (self._length, dataset._length)
        return Dataset(
            lambda: itertools.chain(self._source(), dataset._source()),
            UNKNOWN if UNKNOWN in known else sum(known),
            self._varies or dataset._varies,
        )

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """Pairs of a number, counted from `start`, and the element."""
        return self._like(
            lambda: ((np.asarray(np.int64(i)), e) for i, e in enumerate(self._source(), start)), self._length
        )

    def prefetch(self, buffer_size: Any = None, name: str | None = None) -> Dataset:
        """The dataset itself: elements are made when they are asked for, whatever `buffer_size`."""
        return self

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """Keep the elements of the first complete reading in memory for all others; a `filename` is accepted."""
        kept: list[Any] = []

        def source() -> Iterator[Any]:
            if kept:
                yield from kept[0]
                return
            read = []
            for element in self._source():
                read.append(element)
                yield element
            kept.append(read)

        return self._same(source, self._length)

    def with_options(self, options: Any, name: str | None = None) -> Dataset:
        """The dataset itself; options are accepted for programs written for other libraries."""
        return self

    # ---- reading ----------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        if self._varies and tf.autograph.current_trace() is not None:
            if self._readings is None:
                self._readings = readings(self._source)
            return iter(next(self._readings))
        return DatasetIterator(self._source)

    def as_numpy_iterator(self) -> NumpyIterator:
        """The elements as nests of arrays, scalars as NumPy's scalars."""
        return NumpyIterator(self._source())

    @property
    def element_spec(self) -> Any:
        """The nest of TensorSpecs that elements are like: sizes that differ between elements are None.

        Where functions make the elements, the first one is looked at; sizes that come from a batch may differ.

        Examples
        --------
        >>> import tracejit as tf
        >>> tf.data.Dataset.range(5).batch(2).element_spec.shape
        (None,)
        """
        if self._spec is not None:
            return self._spec()
        for element in self._source():
            return tf.nest.map_structure(lambda x: tf.TensorSpec(x.shape, x.dtype), element)
        raise ValueError(f"a dataset without elements: what they are like is not known{at_user_line()}")

    def get_single_element(self, name: str | None = None) -> Any:
        """The one element there is; ValueError where there are none or more."""
        elements = list(itertools.islice(iter(self), 2))
        if len(elements) != 1:
            raise ValueError(
                f"a single element is asked for, there are {'none' if not elements else 'more'}{at_user_line()}"
            )
        return elements[0]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} element_spec={self.element_spec}>"

    def reduce(
        self, initial_state: Any, reduce_func: Callable[[Any, Any], Any], name: str | None = None
    ) -> Any:
        """Fold: ``state = reduce_func(state, element)`` over all elements, from `initial_state`.

        Examples
        --------
        >>> import tracejit as tf
        >>> int(tf.data.Dataset.range(4).reduce(tf.constant(0, tf.int64), lambda total, i: total + i))
        6
        """
        state = tf.nest.map_structure(tf.convert_to_tensor, initial_state, none_is_leaf=False)
        for element in self:
            state = reduce_func(state, element)
        return state

    def __len__(self) -> int:
        if self._length == math.inf:
            raise TypeError(f"the dataset has no end: take some first{at_user_line()}")
        if self._length == UNKNOWN:
            raise TypeError(f"how long the dataset is is known after reading it{at_user_line()}")
        return int(self._length)

    def __bool__(self) -> bool:
        return True

    def cardinality(self) -> tf.Tensor:
        """The number of elements as an int64 scalar; -1 without end, -2 when unknown."""
        codes = {math.inf: -1, UNKNOWN: -2}
        return tf.constant(np.int64(codes.get(self._length, self._length)))


def _shuffled(elements: Iterator[Any], size: int, random: np.random.Generator) -> Iterator[Any]:
    buffer = list(itertools.islice(elements, size))
    for element in elements:
        i = int(random.integers(len(buffer)))
        buffer[i], out = element, buffer[i]
        yield out
    for i in random.permutation(len(buffer)):
        yield buffer[i]
