"""``array``: a tensor of its own, also where a tensor is given."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor, apart_from
from . import conversion


def array(object: Any, dtype: Any = None, *, copy: bool = True, order: Any = None, ndmin: int = 0) -> Tensor:
    """`object`, a number, nested sequence, array or tensor, as a tensor of its shape, with NumPy's dtype or `dtype`.

    The shape gets axes of size 1 in front up to `ndmin`; `copy` and `order` are accepted.
    ValueError for lists that are not rectangular, DtypeError for strings where `dtype` is one of numbers.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> tnp.array([1.0, 2.0]).dtype, tnp.array([1, 2]).dtype
    (tf.float64, tf.int64)
    """
    return apart_from(conversion.array(object, dtype, ndmin=ndmin), object)
