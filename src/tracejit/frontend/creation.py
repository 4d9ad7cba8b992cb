"""Functions that create tensors: fills, ranges, identity matrices."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from ..core import settings
from ..core.arrays import to_array
from ..core.dim import Dim, Size, maximum
from ..core.errors import ShapeError, at, user_location
from ..core.ir.graph import literal
from ..core.op import ops
from ..core.spec import DIFFERENTIABLE, as_dtype
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor, notify
from ..ops.arrays.reduce import one_axis
from ..ops.arrays.shape import expand_dims, sizes_not_negative, sizes_of
from ..ops.elementwise.arithmetic import matched, quotient_dtype
from ..ops.symbolic_values import counting
from .conversion import constant

_INDEX = np.dtype(np.int64)
STEP_OF_ZERO = "the step of a range must not be zero"


def default_float() -> np.dtype:
    """The dtype of Python floats, see ``set_default_dtype``."""
    return np.dtype(settings.current().default_dtype)


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Zeros of that `shape`, float32 unless `dtype` is given; of strings, empty ones. ShapeError for negative sizes.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.zeros([2]))
    tf.Tensor([0. 0.], shape=(2,), dtype=float32)
    """
    wanted = as_dtype(dtype or default_float())
    return ops.fill(shape=sizes_of(shape), value=b"" if wanted.kind == "O" else 0, dtype=wanted)


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Ones of that `shape`, float32 unless `dtype` says otherwise; ShapeError for negative sizes.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.ones([2]))
    tf.Tensor([1. 1.], shape=(2,), dtype=float32)
    """
    return ops.fill(shape=sizes_of(shape), value=1, dtype=as_dtype(dtype or default_float()))


def zeros_like(input: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Zeros of the shape of `input`, and of its dtype unless `dtype` is given; TypeError for what names no dtype.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.zeros_like([3, 4]))
    tf.Tensor([0 0], shape=(2,), dtype=int32)
    """
    x = as_tensor(input)
    return zeros(x.shape, dtype or x.np_dtype)


def ones_like(input: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Ones of the shape of `input`, and of its dtype unless `dtype` is given; TypeError for what names no dtype.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.ones_like([3, 4]))
    tf.Tensor([1 1], shape=(2,), dtype=int32)
    """
    x = as_tensor(input)
    return ones(x.shape, dtype or x.np_dtype)


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A tensor of shape `dims` with every element the scalar `value`, of its dtype; ShapeError for negative sizes.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.fill([2], 3.0))
    tf.Tensor([3. 3.], shape=(2,), dtype=float32)
    """
    return ops.broadcast_to(as_tensor(value), sizes_of(dims))


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """The identity matrix of `num_rows`, and `num_columns` if they are not as many, float32 unless `dtype` is given.

    With `batch_shape`, so many of them in leading axes. Sizes may be those of tensors that are known later. ValueError
    for negative sizes.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.eye(2, batch_shape=[1]))
    tf.Tensor(
    [[[1. 0.]
      [0. 1.]]], shape=(1, 2, 2), dtype=float32)
    """
    wanted, columns = as_dtype(dtype or default_float()), num_rows if num_columns is None else num_columns
    if size_is_open(num_rows) or size_is_open(columns):
        one = diagonal_ones(num_rows, columns, 0, wanted)
    else:
        size = (int(known(num_rows)), int(known(columns)))
        sizes_not_negative(size)
        one = constant(np.eye(*size, dtype=wanted))
    return one if batch_shape is None else ops.broadcast_to(one, shape=(*sizes_of(batch_shape), *one.shape))


def size_is_open(size: Any) -> bool:
    """Is it known only when the compiled function is called, or runs?"""
    return isinstance(size, Dim) or _is_later(size)


def diagonal_ones(rows: Any, columns: Any, k: int, dtype: np.dtype[Any]) -> Tensor:
    """A matrix of open sizes with ones on its `k`-th diagonal above the main one, else zeros."""
    height, width = sizes_of((rows, columns))
    number = ops.reshape(ops.iota(size=height, dtype=_INDEX), shape=(height, 1))
    return ops.cast(
        ops.equal(ops.add(number, as_tensor(k, _INDEX)), ops.iota(size=width, dtype=_INDEX)), dtype=dtype
    )


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = None
) -> Tensor:
    """``start, start + delta, ...`` up to but not including `limit`; with one argument from 0. A vector.

    Its `dtype` is that of the floats among the numbers, or of all together, unless told. ValueError for a `delta` of
    0, now or when the compiled function runs.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.range(3))
    tf.Tensor([0 1 2], shape=(3,), dtype=int32)
    """
    if limit is None:
        start, limit = 0, start
    if any(isinstance(b, Dim) for b in (start, limit)) and _are_sizes(start, limit, delta):
        return _open_range(start, limit, delta, as_dtype(dtype or as_tensor(0).np_dtype))
    later = [as_tensor(b) for b in (start, limit, delta) if _is_later(b)]
    if later and all(b.np_dtype.kind in "iu" for b in later):
        return _counted_range(start, limit, delta, as_dtype(dtype or later[0].np_dtype))
    bounds: list[Any] = [known(b) for b in (start, limit, delta)]
    if any(b.shape for b in bounds):
        raise ShapeError(
            f"a range is of numbers, got {', '.join(str(b.tolist()) for b in bounds)}{at(user_location())}"
        )
    wanted = _joint(bounds) if dtype is None else as_dtype(dtype)
    if not bounds[2][()]:
        raise ValueError(f"{STEP_OF_ZERO}{at(user_location())}")
    if wanted.kind != "f":
        numbers = [int(b) if b.dtype.kind in "iu" else b[()] for b in bounds]  # Python's do not overflow
        return constant(np.arange(*numbers, dtype=wanted))
    exact = [known(b, wanted) if isinstance(b, float) else known(b) for b in (start, limit, delta)]
    first, last, step = (np.asarray(b, wanted)[()] for b in exact)
    count = max(int(np.ceil((last - first) / step)), 0)
    return constant(first + np.arange(count, dtype=wanted) * step)  # each place rounded by itself


def _are_sizes(start: Any, limit: Any, delta: Any) -> bool:
    """Are these the bounds and the step of a range whose length is a size?"""
    return all(b.__class__ in (int, Dim) for b in (start, limit)) and delta.__class__ is int and delta != 0


def _open_range(start: Size, limit: Size, step: int, dtype: np.dtype) -> Tensor:
    """A range between open sizes, as long as they say: for any of them in one trace."""
    length = maximum(-((start - limit) // step), 0)  # rounded up
    places = ops.iota(size=length, dtype=_INDEX)
    return ops.cast(
        ops.add(ops.size_value(size=start), ops.multiply(places, as_tensor(step, _INDEX))), dtype=dtype
    )


def _is_later(x: Any) -> bool:
    return bool(getattr(x, "is_symbolic", False)) and literal(as_tensor(x).value) is None


def _counted_range(start: Any, limit: Any, delta: Any, dtype: np.dtype) -> Tensor:
    """A range of integers some of which are known only when the compiled function runs."""
    wide = np.dtype(np.int64)
    first, last, step = (ops.cast(as_tensor(b), dtype=wide) for b in (start, limit, delta))
    check_step(step)
    count = ops.negative(ops.floordiv(ops.subtract(first, last), step))  # rounded up
    return ops.cast(ops.add(first, ops.multiply(counting(count), step)), dtype=dtype)


def check_step(step: Tensor) -> None:
    """Let the program fail where the step of a range, an integer, is 0."""
    moves = ops.cast(ops.not_equal(step, as_tensor(0, step.np_dtype)), dtype=np.dtype(np.float32))
    ops.check(moves, message=STEP_OF_ZERO, error="ValueError")


def _joint(bounds: list[np.ndarray]) -> np.dtype:
    floating = [b.dtype for b in bounds if b.dtype.kind in "fV"]
    return max(floating, key=lambda dtype: dtype.itemsize) if floating else np.result_type(*bounds)


def known(x: Any, dtype: Any = None) -> np.ndarray:
    """Numbers that decide a shape, of the dtype a tensor of them has; a tensor without a value raises.

    A constant that was written in a function has its value while the function is traced.
    """
    if not isinstance(x, Tensor) and not hasattr(x, "__tensor__"):
        return to_array(x, dtype)
    tensor = as_tensor(x)
    held = literal(tensor.value) if tensor.is_symbolic else None
    if tensor.np_dtype.kind in DIFFERENTIABLE:
        notify("value", tensor)
    return tensor.array if held is None else held


def is_known(x: Any) -> bool:
    """Has :func:`known` the numbers of `x`? Not of what a traced function computes."""
    if not isinstance(x, Tensor) and not hasattr(x, "__tensor__"):
        return True
    tensor = as_tensor(x)
    return not tensor.is_symbolic or literal(tensor.value) is not None


def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Tensor:
    """`num` numbers evenly spaced from `start` to `stop`, both included.

    Parameters
    ----------
    start, stop : tensor-like
        Of one shape. Integers give float64, those of 8 and 16 bits float32.
    num : int
    axis : int
        Where the axis of the numbers goes.

    Returns
    -------
    Tensor
        Of the shape to which the ends broadcast, and the new axis.

    Raises
    ------
    ValueError
        For less than one number; ShapeError for an axis that is not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linspace(0.0, 1.0, 5))
    tf.Tensor([0.   0.25 0.5  0.75 1.  ], shape=(5,), dtype=float32)
    """
    ends, (count,) = matched((start, stop), {})[0], sizes_of((num,))
    first, last = (e if e.dtype.kind in "fc" else ops.cast(e, dtype=quotient_dtype(e.dtype)) for e in ends)
    if count < 1:
        raise ValueError(f"linspace takes one number at least, got {count}{at(user_location())}")
    shape = np.broadcast_shapes(first.shape, last.shape)
    place = one_axis(axis, len(shape) + 1)
    low, high = (expand_dims(ops.broadcast_to(e, shape=shape), place) for e in (first, last))
    if isinstance(count, Dim):
        return _open_linspace(low, high, count, place)
    if count == 1:
        return low
    steps = np.arange(1, count - 1, dtype=first.dtype)
    step = ops.divide(ops.subtract(high, low), first.dtype.type(count - 1))
    wide = steps.reshape([-1 if a == place else 1 for a in builtins.range(len(shape) + 1)])
    return ops.concat(low, ops.add(low, ops.multiply(step, wide)), high, axis=place)


def size(input: Any, out_type: Any = np.int32, name: str | None = None) -> Tensor:
    """The number of elements of `input`, an int32 scalar unless `out_type` is given; TypeError if that is no dtype.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.size([[1.0, 2.0]]))
    tf.Tensor(2, shape=(), dtype=int32)
    """
    total = as_tensor(input).spec.size
    return ops.cast(ops.size_value(size=total), dtype=as_dtype(out_type))


def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of axes of `input`, an int32 scalar.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.rank([[1.0, 2.0]]))
    tf.Tensor(2, shape=(), dtype=int32)
    """
    return constant(len(as_tensor(input).shape))


def shape(input: Any, out_type: Any = np.int32, name: str | None = None) -> Tensor:
    """The sizes of `input`, an int32 vector unless `out_type` says otherwise; TypeError if that is no dtype.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.shape([[1.0, 2.0]]))
    tf.Tensor([1 2], shape=(2,), dtype=int32)
    """
    sizes = as_tensor(input).shape
    if not sizes:
        return constant([], dtype=out_type)
    parts = [ops.reshape(ops.size_value(size=s), shape=(1,)) for s in sizes]
    return ops.cast(ops.concat(*parts, axis=0), dtype=as_dtype(out_type))


def _open_linspace(low: Tensor, high: Tensor, count: Dim, place: int) -> Tensor:
    """As many numbers as an open size says along the axis `place`, from `low` to `high`."""
    shape = [count if a == place else 1 for a in builtins.range(len(low.shape))]
    number = ops.reshape(ops.iota(size=count, dtype=_INDEX), shape=tuple(shape))
    last = ops.subtract(ops.size_value(size=count), as_tensor(1, _INDEX))
    gaps = ops.maximum(last, as_tensor(1, _INDEX))  # one number is `low`, whose step must not be infinite
    step = ops.divide(ops.subtract(high, low), ops.cast(gaps, dtype=low.np_dtype))
    between = ops.add(low, ops.multiply(step, ops.cast(number, dtype=low.np_dtype)))
    upwards = ops.where(ops.equal(number, last), high, between)
    return ops.where(ops.equal(number, as_tensor(0, _INDEX)), low, upwards)
