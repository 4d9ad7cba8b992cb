"""TensorArray: tensors of one shape at positions 0, 1, ..., written one by one.

Where all numbers are known the tensors are kept as they are; in what is compiled they are the rows of one tensor,
which a loop takes round as any other. Writing announces itself, so that branches and loops hand the array on.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from ....core.dim import Dim, Size, same
from ....core.errors import DtypeError, ShapeError, Untraceable, at, user_location
from ....core.op import ops
from ....core.spec import TensorSpec, as_dtype
from ....core.tensor import Tensor
from ....core.tracing.dispatch import as_tensor
from ....core.tracing.trace import Trace
from ....ops.arrays.shape import sizes_of, stack
from ....ops.symbolic_values import size_of, symbolic_values
from ....ops.tensor.indexing import get
from ...state.variable import tracer
from ..places.mutations import changing
from ..values.kinds import (
    DynamicListNeeded,
    Kind,
    Undefined,
    coerced,
    is_number,
    number_kind,
    traced,
)
from .filling import Filled, zeros
from .surroundings import Begun


class TensorArray:
    """Tensors of one dtype and shape under the numbers 0, 1, ..., to be written one by one, also in loops.

    Parameters
    ----------
    dtype : dtype-like
        Of the elements.
    size : int or integer scalar, optional
        How many. Default 0.
    dynamic_size : bool
        Writing beyond the end makes the array longer.
    element_shape : shape, optional
        Of each element; by default that of the first one written.

    Notes
    -----
    `write`, `scatter`, `unstack` and `split` return the array, as changed: go on with what they return. What nobody
    wrote is zero. The other arguments are accepted for programs written for other libraries, and ignored; reading an
    element does not clear it.

    Examples
    --------
    >>> import tracejit as tf
    >>> @tf.function
    ... def squares(n):
    ...     array = tf.TensorArray(tf.int32, size=n)
    ...     for i in tf.range(n):
    ...         array = array.write(i, i * i)
    ...     return array.stack()
    >>> print(squares(tf.constant(4)))
    tf.Tensor([0 1 4 9], shape=(4,), dtype=int32)
    """

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ):
        self.dtype: np.dtype[Any] = as_dtype(dtype)
        self.dynamic_size: bool = bool(dynamic_size)
        self.home: Trace | None = tracer()
        shape = None if element_shape is None else getattr(element_shape, "dims", element_shape)
        self._shape: tuple[Any, ...] | None = None if shape is None else tuple(shape)
        length: Size = 0 if size is None else _size(size)
        if isinstance(length, int) and length < 0:
            raise ShapeError(f"the size of a TensorArray is not negative, got {length}{at(user_location())}")
        self.state: Any = [None] * length if isinstance(length, int) else length

    # ---- what it is -------------------------------------------------------------------------------------

    @property
    def element_shape(self) -> tuple[Any, ...] | None:
        """The shape of each element; None while it is not known."""
        if isinstance(self.state, Tensor):
            return self.state.shape[1:]
        known = [x.shape for x in self.state if x is not None] if isinstance(self.state, list) else []
        return known[0] if known else self._shape

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, an int32 scalar."""
        return ops.cast(ops.size_value(size=self._length()), dtype=np.dtype(np.int32))

    def _length(self) -> Size:
        if isinstance(self.state, Tensor):
            return self.state.shape[0]
        return len(self.state) if isinstance(self.state, list) else self.state

    def counted(self) -> Any:
        """What stands for the array in a loop that counts how long it gets."""
        return GrowingArray(self)

    def identity(self) -> TensorArray:
        """The array itself."""
        return self

    def close(self, name: str | None = None) -> None:
        """Nothing: memory is freed when nobody holds the array any more."""

    def _holding(self, state: Any) -> TensorArray:
        changing(self, "state")
        self.state = state
        return self

    # ---- one by one -------------------------------------------------------------------------------------

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with `value` under the number `index`."""
        element = self._element(value)
        place = _place(index)
        changing(self, "state")
        if tracer() is not self.home:
            self._check_room(place, element.spec)
        elif not (isinstance(place, int) and isinstance(self.state, list)):
            self.begin(element.spec)
        if isinstance(self.state, list):
            self._reach(place)
            self.state[place] = element
        else:
            self.state = self._updated(place, element)
        return self

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The element under the number `index`, a tensor of its own; IndexError where there is none."""
        place = _place(index)
        if isinstance(self.state, list) and isinstance(place, int):
            if not 0 <= place < len(self.state):
                raise IndexError(
                    f"element {place} of a TensorArray of {len(self.state)}: the first is 0{at(user_location())}"
                )
            return ops.identity(self._items()[place])
        return get(self.stack(), place)

    def _element(self, value: Any) -> Tensor:
        if not is_number(value):
            value = as_tensor(value)
        if isinstance(value, Tensor) and value.np_dtype != self.dtype:
            raise DtypeError(
                f"a TensorArray of {self.dtype} is given {value.spec}: cast it, or choose the dtype of the array"
                f"{at(user_location())}"
            )
        kind = number_kind(value)
        element = coerced(value, Kind(kind.spec.with_dtype(self.dtype), False))
        shape = self.element_shape
        if shape is not None and not _fits(element.shape, shape):
            raise ShapeError(
                f"a TensorArray of elements of shape {shape} is given {element.spec}{at(user_location())}"
            )
        return element

    def _check_room(self, place: Any, spec: TensorSpec) -> None:
        """In a branch or loop: the array must have its rows, and a row for this element."""
        if self.dynamic_size and not isinstance(place, int):
            raise DynamicListNeeded(
                self,
                "a TensorArray grows in a branch, or in a loop that does not know it: give it its size, or write to it "
                "in a loop of the function that it is a variable of, and assign what write returns"
                f"{at(user_location())}",
            )
        if isinstance(place, int) and isinstance(self.state, list) and self.dynamic_size:
            self._reach(place)  # outside, too, the array is as long
        if not isinstance(self.state, Tensor):
            raise Begun(self, spec)

    def _reach(self, place: int) -> None:
        """Let there be such an element."""
        if self.dynamic_size and place >= len(self.state):
            self.state += [None] * (place + 1 - len(self.state))
        if not 0 <= place < len(self.state):
            raise IndexError(
                f"element {place} of a TensorArray of {len(self.state)}: give it another size, or dynamic_size=True"
                f"{at(user_location())}"
            )

    def _updated(self, place: Any, element: Tensor) -> Tensor:
        rows, count = self.state, self.state.shape[0]
        held = symbolic_values(place) if isinstance(place, Tensor) else None
        if self.dynamic_size and held == (count,):
            return ops.concat(rows, ops.reshape(element, shape=(1, *element.shape)), axis=0)
        if self.dynamic_size and isinstance(place, int) and isinstance(count, int) and place >= count:
            rows = ops.concat(rows, zeros(place + 1 - count, element.spec), axis=0)
        return rows.at[place].set(element)

    def begin(self, spec: TensorSpec) -> None:
        """Make the rows of one tensor of what is kept one by one, elements being like `spec`."""
        if isinstance(self.state, Tensor):
            return
        if isinstance(self.state, list):
            self._holding(self._rows(spec) if self.state else zeros(0, spec))
        else:
            self._holding(zeros(self.state, spec))

    def _rows(self, spec: TensorSpec | None = None) -> Tensor:
        """What is kept one by one as the rows of one tensor, zeros where there is nothing."""
        parts = [
            stack(list(run)) if written else zeros(len(list(run)), self._spec() if spec is None else spec)
            for written, run in groupby(self.state, lambda x: x is not None)
        ]
        return parts[0] if len(parts) == 1 else ops.concat(*parts, axis=0)

    def _items(self) -> list[Tensor]:
        """The elements, zeros where there are none."""
        if all(x is not None for x in self.state):
            return list(self.state)
        spec = self._spec()
        zero = ops.fill(shape=spec.shape, value=0, dtype=spec.dtype)
        return [zero if x is None else x for x in self.state]

    def _spec(self) -> TensorSpec:
        """What the elements are like."""
        shape = self.element_shape
        if shape is None or any(d is None for d in shape):
            raise ValueError(
                f"nothing was written to a TensorArray, and its element_shape is not given{at(user_location())}"
            )
        return TensorSpec(shape, self.dtype)

    # ---- all at once ------------------------------------------------------------------------------------

    def stack(self, name: str | None = None) -> Tensor:
        """All elements as the rows of one tensor."""
        if isinstance(self.state, Tensor):
            return self.state
        if isinstance(self.state, list) and self.state:
            return self._rows()
        return zeros(self._length(), self._spec())

    def concat(self, name: str | None = None) -> Tensor:
        """All elements joined along their first axis."""
        if isinstance(self.state, list) and self.state:
            return ops.concat(*self._items(), axis=0)
        rows = self.stack()
        return ops.reshape(rows, shape=(rows.shape[0] * rows.shape[1], *rows.shape[2:]))

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements of the numbers `indices`, stacked."""
        return get(self.stack(), as_tensor(indices))

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The array that holds the rows of `value`; ShapeError where there are more of them than elements."""
        rows = as_tensor(value)
        if rows.np_dtype != self.dtype:
            rows = as_tensor(value, self.dtype) if not isinstance(value, Tensor) else self._element(rows)
        length = self._length()
        if not rows.shape or (not self.dynamic_size and not same(rows.shape[0], length)):
            raise ShapeError(f"a TensorArray of {length} elements is given {rows.spec}{at(user_location())}")
        return self._holding(rows)

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with the rows of `value` under the numbers `indices`."""
        places, rows = as_tensor(indices), as_tensor(value)
        for k in range(_known(places)):
            self.write(get(places, k), get(rows, k))
        return self

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """The array that holds parts of `value`, of the `lengths` along its first axis."""
        rows = as_tensor(value)
        start: Size = 0
        for k, n in enumerate(sizes_of(lengths)):
            part = get(rows, slice(start, start + n))
            self._reach(k)
            changing(self, "state")
            self.state[k] = part
            start += n
        return self

    def __repr__(self) -> str:
        return f"<TensorArray of {self._length()} elements, dtype={self.dtype}, shape={self.element_shape}>"


class GrowingArray(Filled):
    """A TensorArray that a loop makes longer: first it counts, then it is filled; ``state[0]`` is its length."""

    __slots__ = ("array",)

    def __init__(self, array: TensorArray, rows: tuple[Tensor, ...] = (), model: GrowingArray | None = None):
        super().__init__(rows, model)
        self.array: TensorArray = array
        length = ops.size_value(size=array._length())
        self.state: tuple[Any, ...] = (length, *rows)
        if self.structure is None and isinstance(array.state, Tensor):
            self._learn(get(array.state, 0))

    def with_room(self) -> GrowingArray:
        """The array with as many rows as this one has counted."""
        if self.structure is None:
            return self
        (kind,) = self.stored
        if not isinstance(self.array.state, Tensor):
            self.array.begin(kind.spec)
        before = self.array.state
        more = ops.subtract(self.state[0], ops.size_value(size=before.shape[0]))
        rows = ops.concat(before, zeros(size_of(more), kind.spec), axis=0)
        return GrowingArray(self.array, (rows,), self)

    def built(self, before: Any, name: str) -> Any:
        """The array after the loop."""
        if self.structure is None:
            return before
        made = TensorArray(before.dtype, dynamic_size=True)
        made.state = self.state[1]
        before.state = Undefined(
            name, "grew in a compiled loop: use it under the name that write was assigned to"
        )
        return made

    def write(self, index: Any, value: Any, name: str | None = None) -> GrowingArray:
        """The array with `value` under the number `index`."""
        changing(self, "state")
        element = self.array._element(value)
        self._learn(element)
        count, *rows = self.state
        place = ops.cast(as_tensor(_place(index)), dtype=count.dtype)
        count = ops.maximum(count, ops.add(place, as_tensor(1, count.dtype)))
        self.state = (count, *(r.at[place].set(element) for r in rows))
        return self

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements so far, an int32 scalar."""
        return ops.cast(self.state[0], dtype=np.dtype(np.int32))

    def _whole(self, *args: Any, **kwargs: Any) -> Any:
        raise Untraceable(
            "how long this TensorArray gets is known only when the compiled function runs: inside of the loop it can "
            "only be written to; give its size, or keep what the next iteration reads in a variable"
            f"{at(user_location())}"
        )

    read = _whole
    stack = _whole
    concat = _whole
    gather = _whole
    unstack = _whole
    scatter = _whole
    split = _whole


_NEGATIVE = "the numbers of the elements of a TensorArray start at 0"


def _size(size: Any) -> Size:
    if isinstance(size, (int, Dim)):
        return size
    return size_of(as_tensor(size)) if traced(size) else int(size)


def _place(index: Any) -> Any:
    """A position as a Python number where it is known, else as a tensor; IndexError for a negative one."""
    if not traced(index):
        if int(index) < 0:
            raise IndexError(f"{_NEGATIVE}, got {int(index)}{at(user_location())}")
        return int(index)
    place = as_tensor(index)
    if not place.shape:
        there = ops.greater_equal(place, as_tensor(0, place.np_dtype))
        ops.check(ops.cast(there, dtype=np.dtype(np.float32)), message=_NEGATIVE, error="IndexError")
    return place


def _known(places: Tensor) -> int:
    (count,) = places.shape
    if not isinstance(count, int):
        raise ShapeError(f"scatter takes a known number of positions, not {places.spec}{at(user_location())}")
    return count


def _fits(shape: Sequence[Any], wanted: Sequence[Any]) -> bool:
    return len(shape) == len(wanted) and all(
        b is None or same(a, b) for a, b in zip(shape, wanted, strict=True)
    )
