"""Conversion of Python values to tensors: `constant`, `convert_to_tensor` and their like."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.arrays import to_array
from ..core.dtype import DTYPES, DType
from ..core.op import ops
from ..core.spec import as_dtype as numpy_dtype
from ..core.tensor import Tensor, apart_from
from ..core.tracing.dispatch import as_tensor, state
from ..ops.arrays.shape import sizes_of


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor with a copy of `value`.

    Parameters
    ----------
    value : number, nested list, ndarray or Tensor
        Python floats become float32 and integers int32 (see ``set_default_dtype``); arrays keep their dtype.
    dtype : dtype-like, optional
    shape : sequence of int, optional
        The shape to give it: as many elements, or one element that is repeated.
    name : str, optional
        Accepted and ignored.

    Raises
    ------
    ShapeError
        For lists that are not rectangular, and where the elements do not fill `shape`.
    DtypeError
        For strings beside other values.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.constant([1.0, 2.0]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float32)
    """
    x = apart_from(convert_to_tensor(value, dtype), value)
    if shape is None:
        return x
    shape = sizes_of(shape)
    if x.spec.size == 1:
        return ops.broadcast_to(ops.reshape(x, shape=()), shape=shape)
    return ops.reshape(x, shape=shape)


def convert_to_tensor(value: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """`value` as a tensor of its shape: tensors as they are, Variables read, lists of tensors stacked, others copied.

    With `dtype`, numbers and arrays are made of that dtype and tensors are cast to it. ShapeError for lists that are
    not rectangular, DtypeError for strings beside other values.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.convert_to_tensor([1.0, 2.0]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float32)
    """
    wanted = None if dtype is None else numpy_dtype(dtype)
    x = as_tensor(value, wanted)
    return x if wanted is None or x.np_dtype == wanted else ops.cast(x, dtype=wanted)


def asarray(value: Any, dtype: Any = None, copy: bool | None = None) -> Tensor:
    """`value` in `dtype` like :func:`convert_to_tensor`; ``copy=False`` lets the tensor share the memory of an array.

    The array, of whatever shape, must then not be changed as long as the tensor is used. DtypeError for elements that
    no tensor holds.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.asarray([1.0, 2.0], dtype=tf.float64))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64)
    """
    fits = isinstance(value, np.ndarray) and (dtype is None or value.dtype == dtype) and value.dtype.isnative
    if copy is not False or not fits or state.interpreter is not None:
        return convert_to_tensor(value, dtype)
    if value.dtype.kind not in "biufcV":
        to_array(value)  # raises the error that says what is wrong
    return Tensor(value.view())


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """`value` as `dtype`, in its shape, numbers that it does not hold taken as its nearest; DtypeError for strings.

    Floats stay finite: infinities become the extreme numbers that both dtypes hold.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.saturate_cast([300.0, -5.0, 7.5], tf.uint8))
    tf.Tensor([255   0   7], shape=(3,), dtype=uint8)
    """
    x, wanted = as_tensor(value), numpy_dtype(dtype)
    if wanted.kind not in "iufV" or x.np_dtype.kind not in "iufV":
        return ops.cast(x, dtype=wanted)
    if x.np_dtype.kind == "V":
        x = ops.cast(x, dtype=np.dtype(np.float32))
    if np.can_cast(x.np_dtype, wanted) and x.np_dtype.kind != "f":
        return ops.cast(x, dtype=wanted)
    low, high = _bounds(x.np_dtype, wanted)
    return ops.cast(ops.minimum(ops.maximum(x, low), high), dtype=wanted)


def _bounds(given: np.dtype, wanted: np.dtype) -> tuple[Any, Any]:
    """The extreme numbers of one dtype that both hold."""
    low, high = (int(end) if wanted.kind in "iu" else float(end) for end in (DTYPES[wanted].min, DTYPES[wanted].max))
    if given.kind in "iu":
        own = np.iinfo(given)
        return max(int(own.min), int(low)), min(int(own.max), int(high))
    most = float(np.finfo(given).max)
    ends = [np.asarray(min(max(end, -most), most), given) for end in (low, high)]
    outside = [abs(int(end)) > abs(int(v)) for end, v in zip(ends, (low, high), strict=True)]
    first, last = (np.nextafter(e, given.type(0)) if o else e for e, o in zip(ends, outside, strict=True))
    return float(first), float(last)


def as_dtype(type_value: Any) -> DType:
    """The dtype meant by `type_value`, a dtype, its name or a Python type: ``"int32"``, ``bool``, ``"string"``.

    ``float``, as a type or a name, is the dtype of Python floats, float32 unless ``set_default_dtype`` said otherwise.
    DtypeError for what names none.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.as_dtype("int32"), tf.as_dtype(float), tf.as_dtype(np.float64).is_floating
    (tf.int32, tf.float32, True)
    """
    return DTYPES[numpy_dtype(type_value)]
