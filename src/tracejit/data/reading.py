"""One reading of a dataset: an iterator that knows where it is, so that a checkpoint can take it there again."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tracejit as tf

from ..errors import at_user_line
from .elements import as_array, as_tensors


class DatasetIterator:
    """One reading of a dataset, as tensors; `source` makes the elements of a new one.

    In a checkpoint it is the number of elements read. After that was restored, the next element is the one with this
    number of a new reading; a shuffled dataset gives its order again only with a seed.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(next(iter(tf.data.Dataset.range(3))))
    tf.Tensor(0, shape=(), dtype=int64)
    """

    __slots__ = ("_source", "_elements", "_ahead", "_trace", "_count", "_position", "__weakref__")

    def __init__(self, source: Callable[[], Iterator[Any]]):
        self._source = source
        self._elements = source()
        self._ahead: deque[Any] = deque()  # what traces have looked at
        self._trace = tf.autograph.current_trace()
        self._count = 0
        self._position: tf.Variable | None = None

    def __iter__(self) -> DatasetIterator:
        if tf.autograph.current_trace() is not self._trace:
            raise tf.TracejitError(
                "a compiled function loops over an iterator that was made outside of it: how many elements it has left "
                "differs from call to call. Loop over the dataset, or outside of the function, or take elements by "
                f"next(iterator){at_user_line()}"
            )
        return self

    def __next__(self) -> Any:
        """The next element; StopIteration behind the last.

        In a compiled function each call takes the next one of an iterator that was made outside of it, before it runs;
        TracejitError in its branches and loops.
        """
        if tf.autograph.current_trace() is not self._trace:
            return self._in_each_call()
        return as_tensors(self._taken())

    def _taken(self) -> Any:
        self._go_where_restored()
        element = self._ahead.popleft() if self._ahead else next(self._elements)
        self._count += 1
        if self._position is not None:
            self._note()
        return element

    get_next = __next__

    def _in_each_call(self) -> Any:
        if self._trace is not None:
            raise tf.TracejitError(
                "an iterator that a function made while it was traced is advanced by another trace, or by none: make "
                f"it outside of the functions{at_user_line()}"
            )
        before = tf.autograph.taken_from(self)
        with tf.init_scope():
            self._go_where_restored()
            while len(self._ahead) <= before:
                self._ahead.append(next(self._elements))
        like = tf.nest.map_structure(
            lambda x: tf.TensorSpec.from_tensor(tf.Tensor(as_array(x))), self._ahead[before]
        )
        return tf.autograph.taken_by_each_call(self._next_arrays, like, self)

    def _next_arrays(self) -> Any:
        with tf.init_scope():
            return self._taken()

    def _checkpointed(self) -> dict[str, tf.Variable]:
        """What a checkpoint holds of it."""
        if self._position is None:
            with tf.init_scope():
                self._position = tf.Variable(np.int64(self._count), trainable=False, name="position")
        return {"position": self._position}

    def _note(self) -> None:
        assert self._position is not None
        with tf.init_scope():
            self._position.assign(self._count)

    def _go_where_restored(self) -> None:
        """Begin again where a checkpoint has set the position to another number."""
        if self._position is not None and int(self._position.array) != self._count:
            self._count = int(self._position.array)
            self._ahead.clear()
            self._elements = itertools.islice(self._source(), self._count, None)


#: Elements that a call of a compiled function reads of a dataset, before it runs.
_MOST = 1 << 14


def readings(source: Callable[[], Iterator[Any]]) -> DatasetIterator:
    """An iterator whose elements are whole readings, as lists, for the calls of compiled functions: one for each."""

    def whole() -> list[Any]:
        elements = list(itertools.islice(source(), _MOST + 1))
        if len(elements) > _MOST:
            raise tf.TracejitError(
                f"a compiled function loops over a dataset of more than {_MOST} elements, which are read before each "
                f"call: take some first, or pass each element to the function{at_user_line()}"
            )
        return elements

    with tf.init_scope():
        return DatasetIterator(lambda: (whole() for _ in itertools.count()))


class NumpyIterator:
    """One reading of a dataset, the tensors in `elements`, as arrays and NumPy's scalars.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(list(tf.data.Dataset.range(3).as_numpy_iterator()))
    [np.int64(0), np.int64(1), np.int64(2)]
    """

    __slots__ = ("_elements",)

    def __init__(self, elements: Iterator[Any]):
        self._elements = elements

    def __iter__(self) -> NumpyIterator:
        return self

    def __next__(self) -> Any:
        """The next element; StopIteration behind the last."""
        return tf.nest.map_structure(lambda x: np.array(x)[()], next(self._elements))

    next = __next__
