"""NumPy's orders of elements: sorted, in parts, by several keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import ShapeError, at, user_location
from ...core.op import ops
from ...core.tensor import Tensor
from ...math import sorting
from ...ops.arrays.reduce import one_axis
from ..conversion import array, lined_up
from ..elements import complex_order


def sort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Tensor:
    """Elements of `a` along `axis` (None: all) in order, of one dtype, the largest first if `descending`, NaN last.

    `kind` and `stable` are accepted, the sort is stable. DtypeError for strings, ShapeError for an
    axis that is not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.sort([3.0, 1.0, 2.0]))
    tf.Tensor([1. 2. 3.], shape=(3,), dtype=float64)
    """
    x, place = lined_up(a, axis)
    return sorting.take_along(x, _order(x, place, descending), place)


def argsort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
    dtype: Any = None,
) -> Tensor:
    """Positions (int64) that sort `a` along `axis` (None: all), as :func:`sort`, `descending` or not; stable.

    They are cast to `dtype` if that is given. `kind` and `stable` are accepted. DtypeError for strings, ShapeError for
    an axis that is not there.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.argsort([3.0, 1.0, 2.0]))
    tf.Tensor([1 2 0], shape=(3,), dtype=int64)
    """
    x, place = lined_up(a, axis)
    return array(_order(x, place, descending), dtype)


def _order(x: Tensor, axis: int, descends: bool) -> Tensor:
    return (complex_order if x.dtype.kind == "c" else sorting).order(x, axis, descends)


def partition(a: Any, kth: Any, axis: int | None = -1) -> Tensor:
    """`a` along `axis` (None: all elements) with the smallest elements up to the position `kth` in front of the others.

    They are sorted altogether, which is one such order; the dtype stays. ShapeError for an axis, ValueError for a `kth`
    that is not there, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.partition([3.0, 1.0, 2.0], 0)[0])
    tf.Tensor(1.0, shape=(), dtype=float64)
    """
    _require_places(a, kth, axis)
    return sort(a, axis)


def argpartition(a: Any, kth: Any, axis: int | None = -1) -> Tensor:
    """Positions (int64) that bring `a` along `axis` (None: all elements) into the order of :func:`partition`.

    ShapeError for an axis, ValueError for a `kth` that is not there, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.argpartition([3.0, 1.0, 2.0], 0)[0])
    tf.Tensor(1, shape=(), dtype=int64)
    """
    _require_places(a, kth, axis)
    return argsort(a, axis)


def _require_places(a: Any, kth: Any, axis: int | None) -> None:
    x, along = lined_up(a, axis)
    size = x.shape[along]
    beyond = [k for k in np.ravel(kth).tolist() if isinstance(size, int) and not -size <= k < size]
    if beyond:
        raise ValueError(f"{x.spec} has no position {beyond[0]} along axis {axis}{at(user_location())}")


def lexsort(keys: Any, axis: int = -1) -> Tensor:
    """Positions (int64) that sort along `axis` by the last of `keys`, where that is equal by the one before, and so on.

    Complex numbers by real and then by imaginary parts. ShapeError for no keys, DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.lexsort([[2, 1, 3], [1, 1, 0]]))
    tf.Tensor([2 1 0], shape=(3,), dtype=int64)
    """
    if not len(keys):
        raise ShapeError(f"lexsort takes at least one key{at(user_location())}")
    first, *others = [array(key) for key in keys]
    along = one_axis(axis, len(first.shape))
    positions = _order(first, along, False)
    for key in others:
        by_key = _order(sorting.take_along(key, positions, along), along, False)
        positions = sorting.take_along(positions, by_key, along)
    return positions


def sort_complex(a: Any) -> Tensor:
    """`a` along its last axis by real and then by imaginary parts, as complex numbers; ShapeError for scalars.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.sort_complex([2.0, 1.0]))
    tf.Tensor([1.+0.j 2.+0.j], shape=(2,), dtype=complex128)
    """
    x = array(a)
    x = x if x.dtype.kind == "c" else ops.cast(x, dtype=np.result_type(x.np_dtype, np.complex64))
    return sorting.take_along(x, lexsort([ops.imag(x), ops.real(x)]), -1)
