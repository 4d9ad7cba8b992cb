"""NumPy's functions that write to an array, as ones that return the changed array: tensors do not change."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dim import known, same
from ...core.errors import ShapeError, at, user_location
from ...core.op import ops
from ...core.tensor import Tensor
from ...ops.tensor.at import At
from ...ops.tensor.beyond import clipped
from ..conversion import array, lined_up, numbered


def put(a: Any, ind: Any, v: Any, mode: str | None = "raise", *, inplace: bool = True) -> Tensor:
    """`a` with `v`, from the beginning again where they are too few, at the numbers `ind` among all elements.

    What is written is cast to the dtype of `a`; of equal numbers the last counts. `mode` is that of :func:`take`:
    "raise", "wrap" or "clip". `a` stays as it is: ValueError without ``inplace=False``, and for other modes.
    IndexError for numbers beyond the end.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.put([1.0, 2.0, 3.0], [0, 2], 7.0, inplace=False))
    tf.Tensor([7. 2. 7.], shape=(3,), dtype=float64)
    """
    _admit_copy("put", inplace)
    x, values = array(a), array(v)
    numbers = array(ind, np.int64)
    count, given = numbers.spec.size, values.spec.size
    if any(n.__class__ is int and n == 0 for n in (count, given)):
        return x
    flat = numbered(ops.reshape(numbers, shape=(count,)), x.spec.size, mode)
    values = _repeated(values, ops.iota(size=count, dtype=np.dtype(np.int64)))
    row = ops.reshape(x, shape=(x.spec.size,))
    return ops.reshape(ops.scatter_set(row, flat, ops.cast(values, dtype=x.np_dtype), axis=0), shape=x.shape)


def _admit_copy(name: str, inplace: bool) -> None:
    if inplace:
        raise ValueError(
            f"tensors do not change: x = {name}(x, …, inplace=False) is the changed one{at(user_location())}"
        )


def _repeated(values: Any, number: Any) -> Any:
    """The elements of these numbers among all values, which begin again behind the last."""
    row = ops.reshape(values, shape=(values.spec.size,))
    return ops.gather(row, ops.mod(number, values.spec.size), axis=0)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Tensor:
    """`arr` with `vals`, one after the other and from the beginning again, where `mask` is not 0.

    What is written is cast to the dtype of `arr`, which stays as it is: ValueError without ``inplace=False``, and for
    no values. ShapeError for a mask of another size.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.place([1, 2, 3, 4], [True, False, True, True], [7, 8], inplace=False))
    tf.Tensor([7 2 8 7], shape=(4,), dtype=int64)
    """
    _admit_copy("place", inplace)
    x, values, chosen = array(arr), array(vals), ops.not_equal(array(mask), 0)
    if not same(chosen.spec.size, x.spec.size):
        raise ShapeError(f"a mask {chosen.spec} for {x.spec}{at(user_location())}")
    if values.spec.size.__class__ is int and values.spec.size == 0:
        raise ValueError(f"place needs values to write, got none{at(user_location())}")
    row = ops.reshape(ops.cast(chosen, dtype=np.dtype(np.int64)), shape=(x.spec.size,))
    written = _repeated(values, ops.maximum(ops.cumsum(row, axis=0) - 1, 0))
    written = ops.reshape(ops.cast(written, dtype=x.np_dtype), shape=x.shape)
    return ops.where(ops.reshape(chosen, shape=x.shape), written, x)


def put_along_axis(
    arr: Any, indices: Any, values: Any, axis: int | None, mode: str | None = "raise", *, inplace: bool = True
) -> Tensor:
    """`arr` with `values`, which broadcast, along `axis` at `indices` that differ from row to row; dtype of `arr`.

    None is the axis of all elements in a row. `mode` is "raise", "wrap" or "clip"; negative numbers count from the end.
    `arr` stays as it is: ValueError without ``inplace=False``, and for other modes. IndexError for numbers beyond the
    end.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.put_along_axis([[1, 2], [3, 4]], [[1], [0]], 9, axis=1, inplace=False))
    tf.Tensor(
    [[1 9]
     [9 4]], shape=(2, 2), dtype=int64)
    """
    _admit_copy("put_along_axis", inplace)
    x, along = lined_up(arr, axis)
    numbers = array(indices)
    rank = len(x.shape)
    if len(numbers.shape) != rank:
        raise ShapeError(
            f"positions {numbers.spec} for {x.spec}: as many axes are needed{at(user_location())}"
        )
    places = [
        np.arange(known(size)).reshape([-1 if i == k else 1 for i in range(rank)])
        for k, size in enumerate(x.shape)
    ]
    placed = clipped(numbers, x.shape[along]) if mode == "clip" else numbered(numbers, x.shape[along], mode)
    where = tuple([placed if k == along else places[k] for k in range(rank)])
    return ops.reshape(At(x)[where].set(ops.cast(array(values), dtype=x.np_dtype)), shape=array(arr).shape)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Tensor:
    """`a` with `val`, from the beginning again where they are too few, on its diagonal; same dtype.

    It has two axes, and with `wrap` another diagonal begins below the first, or more of one size. `a` stays as it is:
    ValueError without ``inplace=False``. ShapeError for other axes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fill_diagonal(tnp.zeros((2, 2)), [1.0, 2.0], inplace=False))
    tf.Tensor(
    [[1. 0.]
     [0. 2.]], shape=(2, 2), dtype=float64)
    """
    _admit_copy("fill_diagonal", inplace)
    x = array(a)
    sizes = [known(size) for size in x.shape]
    if len(sizes) < 2 or (len(sizes) > 2 and len(set(sizes)) > 1):
        raise ShapeError(f"{x.spec} has no diagonal of all axes{at(user_location())}")
    numbers = np.arange(int(np.prod(sizes)))
    if len(sizes) == 2:
        end = None if wrap else sizes[1] * sizes[1]
        return put(x, numbers[: end : sizes[1] + 1], val, inplace=False)
    step = 1 + int(np.cumprod([1, *sizes])[1:-1].sum())
    return put(x, numbers[::step], val, inplace=False)
