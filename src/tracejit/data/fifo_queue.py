"""First in, first out: tensors kept by a queue come out without history."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import tracejit as tf

from ..autodiff import detached
from ..errors import at_user_line
from .elements import as_tensors, row, stacked


class QueueError(tf.TracejitError):
    """A queue that is full, empty or closed was asked for more.

    Examples
    --------
    >>> import tracejit as tf
    >>> queue = tf.queue.FIFOQueue(1, tf.float32)
    >>> try:
    ...     queue.dequeue()
    ... except tf.queue.QueueError as error:
    ...     print(type(error).__name__)
    QueueError
    """


class FIFOQueue:
    """A queue of tensors, or of tuples of them.

    Parameters
    ----------
    capacity : int
        How many elements it holds at most. Nothing waits: one more is an error.
    dtypes : dtype-like or sequence of them
        Of the parts of an element.
    shapes : shape or sequence of shapes, optional
        Of the parts; any, where it is left out.
    names : sequence of str, optional
        Elements are then dicts.
    shared_name, name : str, optional
        Accepted and ignored.

    Notes
    -----
    Inside of a traced function a queue is a Python object: it gives what the same trace has put in, and refuses
    what was put in elsewhere, since that would be the same in every call.

    Examples
    --------
    >>> import tracejit as tf
    >>> queue = tf.queue.FIFOQueue(2, tf.float32)
    >>> queue.enqueue(3.0)
    >>> print(queue.dequeue(), int(queue.size()))
    tf.Tensor(3.0, shape=(), dtype=float32) 0
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ):
        if capacity < 1:
            raise ValueError(f"capacity is positive, got {capacity}{at_user_line()}")
        several = isinstance(dtypes, (list, tuple))
        self.capacity = capacity
        self.name = name
        self.dtypes: list[tf.DType] = [tf.as_dtype(d) for d in (dtypes if several else [dtypes])]
        self.names: list[str] | None = None if isinstance(names, str) or names is None else list(names)
        self.shapes: list[Any] = _shapes(shapes, len(self.dtypes), several)
        self._elements: deque[tuple[Any, Any]] = deque()
        self._closed = False

    def enqueue(self, vals: Any, name: str | None = None) -> None:
        """Put one element in, `vals`, a tensor or a tuple with one per dtype.

        Raises
        ------
        QueueError
            When the queue is full or closed.
        """
        self._put(self._parts(vals, self.shapes))

    def enqueue_many(self, vals: Any, name: str | None = None) -> None:
        """Put in the rows of the tensors `vals`, one element each."""
        rows = self._parts(vals, [None] * len(self.dtypes))
        for i in range(int(rows[0].shape[0])):
            self._put(tuple(row(rows, i)))

    def dequeue(self, name: str | None = None) -> Any:
        """Take the oldest element out.

        Raises
        ------
        QueueError
            When the queue is empty.
        """
        return self._given(self._take())

    def dequeue_many(self, n: int, name: str | None = None) -> Any:
        """Take `n` elements out, stacked; QueueError where there are fewer."""
        if n > len(self._elements):
            raise QueueError(f"{n} elements are asked of {self._state()}{at_user_line()}")
        return self._given(stacked([self._take() for _ in range(n)]))

    def size(self, name: str | None = None) -> tf.Tensor:
        """How many elements there are, an int32 scalar."""
        return tf.constant(len(self._elements))

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> None:
        """Take nothing in any more; the rest can be taken out. `cancel_pending_enqueues` is accepted: none waits."""
        self._closed = True

    def is_closed(self, name: str | None = None) -> bool:
        """Has it been closed?"""
        return self._closed

    # ---- inside -----------------------------------------------------------------------------------------

    def _put(self, element: tuple[Any, ...]) -> None:
        if self._closed or len(self._elements) >= self.capacity:
            raise QueueError(f"nothing can be put into {self._state()}{at_user_line()}")
        self._elements.append((element, tf.autograph.current_trace()))

    def _take(self) -> tuple[Any, ...]:
        if not self._elements:
            raise QueueError(f"nothing can be taken from {self._state()}{at_user_line()}")
        if self._elements[0][1] is not tf.autograph.current_trace():
            raise QueueError(
                "an element is taken from a queue by a trace that did not put it in: it would be the same in every "
                f"call. Take it outside, and pass it to the function{at_user_line()}"
            )
        return self._elements.popleft()[0]

    def _given(self, element: tuple[Any, ...]) -> Any:
        tensors = as_tensors(element)
        if self.names is not None:
            return dict(zip(self.names, tensors, strict=True))
        return tensors[0] if len(tensors) == 1 else list(tensors)

    def _parts(self, vals: Any, shapes: Sequence[Any]) -> tuple[Any, ...]:
        if self.names is not None:
            vals = [vals[name] for name in self.names]
        parts = vals if isinstance(vals, (list, tuple)) and len(self.dtypes) > 1 else (vals,)
        parts = parts[0] if len(self.dtypes) == 1 and _is_components(parts[0]) else parts
        if len(parts) != len(self.dtypes):
            raise ValueError(
                f"{self.name} holds {len(self.dtypes)} tensors per element, got {len(parts)}{at_user_line()}"
            )
        return tuple(self._part(*p) for p in zip(parts, self.dtypes, shapes, strict=True))

    def _part(self, value: Any, dtype: tf.DType, shape: Any) -> Any:
        x = detached(value if hasattr(value, "dtype") else tf.constant(value, dtype))
        if x.dtype != dtype:
            raise tf.DtypeError(
                f"{self.name} holds {dtype.name}, got {x.dtype.name}: cast it first{at_user_line()}"
            )
        if shape is not None and tuple(x.shape) != shape:
            raise tf.ShapeError(f"{self.name} holds shape {shape}, got {tuple(x.shape)}{at_user_line()}")
        return x

    def _state(self) -> str:
        count = f"{len(self._elements)} of {self.capacity} elements"
        return f"the queue {self.name!r}, which {'is closed and ' if self._closed else ''}holds {count}"


def _is_components(vals: Any) -> bool:
    """Is it a sequence with the one component in it, and not the component?"""
    return isinstance(vals, tuple) or (
        isinstance(vals, list) and len(vals) == 1 and not isinstance(vals[0], (bool, int, float, complex))
    )


def _shapes(shapes: Any, count: int, several: bool) -> list[Any]:
    if shapes is None:
        return [None] * count
    listed = list(shapes) if several or (shapes and isinstance(shapes[0], (list, tuple))) else [shapes]
    return [None if s is None else tuple(s) for s in listed]
