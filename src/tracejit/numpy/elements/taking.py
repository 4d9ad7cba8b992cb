"""NumPy's ways to take elements by their number or by a condition."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import cutting
from ...core.errors import DtypeError, at, user_location
from ...core.op import ops
from ...core.spec import dtype_name
from ...core.tensor import Tensor
from ...math import sorting
from ...ops.arrays.reduce import size_tensor
from ...ops.tensor.beyond import clipped, missing, spared, with_spare
from ..conversion import array, lined_up, numbered
from .elementwise import flatnonzero
from .lengths import of_size


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    mode: str | None = "raise",
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Tensor:
    """Elements of `a` by number along `axis`, or of all elements: `indices` replace the axis, the dtype stays.

    What numbers beyond the end mean is the `mode`: "raise" (None too), "wrap", by which they begin again, "clip" to the
    ends, or "fill", of which they are the `fill_value`: by default NaN, the least integer, or the largest where none is
    negative. "promise_in_bounds" is "raise"; `unique_indices` and `indices_are_sorted` are accepted. IndexError for
    such numbers, ValueError for another mode, DtypeError for indices that are no integers.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.take([10, 20, 30], [0, 2]), tnp.take([10, 20, 30], [5], mode="clip").numpy())
    tf.Tensor([10 30], shape=(2,), dtype=int64) [30]
    """
    x, along = lined_up(a, axis)
    number = array(indices, np.int64 if np.size(indices) == 0 else None)
    if number.dtype.kind == "b":
        number = array(number, np.int64)
    if mode == "fill" or fill_value is not None:
        x, number = _filled(x, number, along, fill_value)
    else:
        number = numbered(number, x.shape[along], mode)
    return ops.gather(x, number, axis=along)


def _filled(x: Any, number: Any, axis: int, value: Any) -> tuple[Any, Any]:
    """With an element of that value at the end of the axis, whose number those beyond the end become."""
    longer = with_spare(x, axis, missing(x.dtype) if value is None else value)
    return longer, spared(number, x.shape[axis])


def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: str | None = "raise",
    *,
    fill_value: Any = None,
    wrap_negative_indices: bool = True,
) -> Tensor:
    """Elements of `arr` along `axis` by `indices` that differ from row to row; other axes broadcast, the dtype stays.

    `mode` and `fill_value` are those of :func:`take`, "one_hot" is "raise", but negative numbers count from the end in
    any mode; without `wrap_negative_indices` they are beyond the end. IndexError for numbers beyond the end, DtypeError
    for indices that are no integers, ShapeError where axes do not fit.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.take_along_axis([[3, 1], [2, 4]], [[1, 0], [0, 1]], axis=1))
    tf.Tensor(
    [[1 3]
     [2 4]], shape=(2, 2), dtype=int64)
    """
    x, along = lined_up(arr, axis)
    numbers = array(indices)
    if numbers.dtype.kind not in "iu":
        raise DtypeError(
            f"take_along_axis indices must be of integer type, got {dtype_name(numbers.np_dtype)}: cast them"
            f"{at(user_location())}"
        )
    if len(numbers.shape) == len(x.shape):
        together = cutting.common_shape(*(_without(v.shape, along) for v in (x, numbers)))
        x, numbers = (
            ops.broadcast_to(v, shape=(*together[:along], v.shape[along], *together[along:]))
            for v in (x, numbers)
        )
    if not wrap_negative_indices and mode != "wrap":
        numbers = _not_from_the_end(numbers, x.shape[along], mode)
    if mode == "fill" or fill_value is not None:
        x, numbers = _filled(x, numbers, along, fill_value)
    elif mode == "clip":
        numbers = clipped(numbers, x.shape[along])
    else:
        numbers = numbered(numbers, x.shape[along], "raise" if mode == "one_hot" else mode)
    return sorting.take_along(x, numbers, along)


def _not_from_the_end(numbers: Any, size: Any, mode: str | None) -> Any:
    """Negative numbers as one beyond the other end, or as 0 where that is the nearest."""
    numbers = ops.cast(numbers, dtype=np.dtype(np.int64))
    return ops.where(ops.less(numbers, 0), 0 if mode == "clip" else size_tensor(size), numbers)


def _without(shape: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def compress(
    condition: Any, a: Any, axis: int | None = None, *, size: int | None = None, fill_value: Any = 0
) -> Tensor:
    """The positions of `a` along `axis` for which `condition`, a vector, is not 0; same dtype.

    How many there are may show only when a compiled function runs; a `size` says how many are wanted: the first ones,
    and `fill_value` behind the last. ValueError for a condition that is no vector, IndexError where it holds beyond the
    end.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.compress([True, False, True], [1.0, 2.0, 3.0]))
    tf.Tensor([1. 3.], shape=(2,), dtype=float64)
    """
    x, along = lined_up(a, axis)
    holds = array(condition)
    if len(holds.shape) != 1:
        raise ValueError(
            f"compress takes a vector that says what stays, not {holds.spec}{at(user_location())}"
        )
    found = ops.gather(x, flatnonzero(holds), axis=along)
    return found if size is None else of_size(found, size, fill_value, along)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Tensor:
    """The elements of `arr` for which `condition` is not 0, as a vector of its dtype.

    `size` and `fill_value` are those of :func:`compress`. IndexError where the condition holds beyond the end.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.extract([True, False, True], [1.0, 2.0, 3.0]))
    tf.Tensor([1. 3.], shape=(2,), dtype=float64)
    """
    row = ops.reshape(holds := array(condition), shape=(holds.spec.size,))
    return compress(row, arr, size=size, fill_value=fill_value)
