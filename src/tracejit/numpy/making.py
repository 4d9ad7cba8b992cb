"""NumPy's ways to make arrays: filled, counted, spaced, on diagonals and grids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.dim import Dim
from ..core.errors import at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend import creation
from ..ops.arrays import shape as shapes
from ..ops.arrays.reduce import one_axis
from ..ops.arrays.shape import sizes_of
from ..ops.elementwise.arithmetic import matched
from ..ops.tensor.indexing import get
from ..ops.tensor.memory.overlaps import anew, copied
from .conversion import array, arrays, is_number, on_cpu, require, two_floats, wide_floats
from .shapes import moveaxis


def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Tensor:
    """Zeros of that `shape`, float64 unless `dtype` says otherwise; ShapeError for negative sizes.

    `device` is "cpu"; ValueError for others.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.zeros((2,)))
    tf.Tensor([0. 0.], shape=(2,), dtype=float64)
    """
    on_cpu(device)
    return creation.zeros(shape, np.dtype(dtype or float))


def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Tensor:
    """Ones of that `shape`, float64 unless `dtype` says otherwise; ShapeError for negative sizes.

    `device` is "cpu"; ValueError for others.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.ones((2,)))
    tf.Tensor([1. 1.], shape=(2,), dtype=float64)
    """
    on_cpu(device)
    return creation.ones(shape, np.dtype(dtype or float))


empty = zeros


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Tensor:
    """`fill_value` broadcast to the `shape`, of its own dtype unless `dtype` is given; ShapeError if it is larger.

    `device` is "cpu"; ValueError for others.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.full((2,), 3.0))
    tf.Tensor([3. 3.], shape=(2,), dtype=float64)
    """
    on_cpu(device)
    value = array(fill_value, dtype)
    if isinstance(fill_value, Tensor):
        value = copied(value)  # the result is a new array in NumPy, no view of this
    return ops.broadcast_to(value, shape=shapes.sizes_of(shape))


def zeros_like(a: Any, dtype: Any = None, *, shape: Any = None, device: Any = None) -> Tensor:
    """Zeros of the shape and dtype of `a`, unless `shape` and `dtype` are given; ShapeError for negative sizes.

    `device` is "cpu"; ValueError for others.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.zeros_like([3, 4]))
    tf.Tensor([0 0], shape=(2,), dtype=int64)
    """
    return full_like(a, 0, dtype, shape=shape, device=device)


def ones_like(a: Any, dtype: Any = None, *, shape: Any = None, device: Any = None) -> Tensor:
    """Ones of the shape and dtype of `a`, unless `shape` and `dtype` are given; ShapeError for negative sizes.

    `device` is "cpu"; ValueError for others.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.ones_like([3, 4]))
    tf.Tensor([1 1], shape=(2,), dtype=int64)
    """
    return full_like(a, 1, dtype, shape=shape, device=device)


def full_like(a: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None, device: Any = None) -> Tensor:
    """`fill_value` everywhere, in the shape and dtype of `a`, unless `shape` and `dtype` are given.

    ShapeError where it does not broadcast. `device` is "cpu"; ValueError for others.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.full_like([1.0, 2.0], 3.0))
    tf.Tensor([3. 3.], shape=(2,), dtype=float64)
    """
    x = array(a)
    sizes = x.shape if shape is None else shape
    return full(sizes, fill_value, x.np_dtype if dtype is None else dtype, device=device)


empty_like = zeros_like


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, *, device: Any = None) -> Tensor:
    """Ones on a diagonal, the `k`-th above the main one, of `N` rows and `M` columns, else as many, of `dtype`.

    `device` is "cpu". ValueError for negative sizes and other devices.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.eye(2))
    tf.Tensor(
    [[1. 0.]
     [0. 1.]], shape=(2, 2), dtype=float64)
    """
    on_cpu(device)
    columns = N if M is None else M
    if creation.size_is_open(N) or creation.size_is_open(columns):
        return creation.diagonal_ones(N, columns, k, np.dtype(dtype or float))
    return as_tensor(np.eye(N, M, k, dtype=dtype or float))


def identity(n: int, dtype: Any = float) -> Tensor:
    """The identity matrix of `n` rows, of `dtype`; ValueError for a negative size.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.identity(2))
    tf.Tensor(
    [[1. 0.]
     [0. 1.]], shape=(2, 2), dtype=float64)
    """
    return eye(n, dtype=dtype)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None) -> Tensor:
    """``start, start + step, ...`` up to but not including `stop`; with one argument from 0. A vector.

    Its `dtype` is that of the bounds together unless told; `device` is "cpu". ValueError for a step of 0, and for
    other devices.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.arange(1.0, 2.0, 0.25))
    tf.Tensor([1.   1.25 1.5  1.75], shape=(4,), dtype=float64)
    """
    on_cpu(device)
    if any(isinstance(x, Dim) for x in (start, stop)):
        return creation.range(start, stop, step, np.dtype(dtype or np.int64))
    bounds = [np.asarray(x)[()] if is_number(x) else x for x in (start, stop, step) if x is not None]
    first, last = (np.int64(0), bounds[0]) if stop is None else bounds[:2]
    if dtype is None and not any(hasattr(b, "spec") for b in bounds):
        dtype = np.result_type(*map(np.asarray, (first, last, bounds[-1])))
    return creation.range(first, last, bounds[-1], None if dtype is None else np.dtype(dtype))


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` numbers evenly spaced from `start` to `stop`, which is left out unless `endpoint`.

    They lie along a new axis, `axis`, behind which is the shape of the ends; float64 or what the ends are, or `dtype`,
    rounded down if that is an integer. With `retstep` also the distance between them; `device` is "cpu". ShapeError
    where the ends do not broadcast, ValueError for a negative number and other devices.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.linspace(0, 1, 3))
    tf.Tensor([0.  0.5 1. ], shape=(3,), dtype=float64)
    """
    on_cpu(device)
    first, last = (wide_floats(x) for x in matched(arrays(start, stop), {})[0])
    (count,) = sizes_of((num,))
    gaps = count - 1 if endpoint else count
    whole_step = ops.subtract(last, first)
    step = ops.divide(whole_step, gaps) if gaps > 0 else array(np.nan)
    if count == 0:
        place = one_axis(axis, len(whole_step.shape) + 1)
        shape = (*whole_step.shape[:place], 0, *whole_step.shape[place:])
        numbers = ops.fill(shape=shape, value=0.0, dtype=first.np_dtype)
    else:
        spaced = creation.linspace(first, last, gaps + 1, axis=axis)
        whole = (slice(None),) * (axis % len(spaced.shape))
        numbers = anew(get(spaced, (*whole, slice(0, count))))
    numbers = _as_dtype(numbers, dtype)
    return (numbers, step) if retstep else numbers


def _as_dtype(x: Any, dtype: Any) -> Tensor:
    """Converted, and rounded down where that gives integers."""
    if dtype is None or np.dtype(dtype) == x.dtype:
        return x
    return ops.cast(ops.floor(x) if np.dtype(dtype).kind in "iu" else x, dtype=np.dtype(dtype))


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Tensor:
    """`num` numbers from ``base**start`` to ``base**stop``, each the same multiple of the one before.

    Where `base` is an array it broadcasts with the ends. `endpoint`, `dtype`, `axis` and errors (ValueError,
    ShapeError) are those of :func:`linspace`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.logspace(0.0, 2.0, 3))
    tf.Tensor([  1.  10. 100.], shape=(3,), dtype=float64)
    """
    if is_number(base):
        exponents = linspace(start, stop, num, endpoint, axis=axis)
        return _as_dtype(ops.pow(*two_floats(base, exponents)), dtype)
    factor = array(base)
    shape = np.broadcast_shapes(factor.shape, array(start).shape, array(stop).shape)
    first, last, factor = (ops.broadcast_to(array(v), shape=shape) for v in (start, stop, factor))
    exponents = linspace(first, last, num, endpoint, axis=axis)
    factor = shapes.expand_dims(factor, one_axis(axis, len(shape) + 1))
    return _as_dtype(ops.pow(*two_floats(factor, exponents)), dtype)


def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Tensor:
    """`num` numbers from `start` to `stop`, each the same multiple of the one before.

    What lies between numbers of different signs is NaN. ValueError where one is 0, now or when the program runs.
    `endpoint`, `dtype` and `axis` are those of :func:`linspace`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.geomspace(1.0, 8.0, 4))
    tf.Tensor([1. 2. 4. 8.], shape=(4,), dtype=float64)
    """
    first, last = matched(two_floats(start, stop), {})[0]
    shape = np.broadcast_shapes(first.shape, last.shape)
    first, last = (ops.broadcast_to(v, shape=shape) for v in (first, last))
    for v in (first, last):
        require(ops.not_equal(v, 0), "a geometric sequence does not reach 0")
    if first.dtype.kind == "c":  # along a spiral around 0
        ratio = ops.divide(last, first)
        numbers = ops.multiply(
            first, ops.exp(linspace(ops.multiply(ratio, 0), ops.log(ratio), num, endpoint))
        )
    else:
        sign = ops.where(ops.equal(ops.sign(first), ops.sign(last)), ops.sign(first), np.nan)
        spaced = linspace(ops.log10(ops.abs(first)), ops.log10(ops.abs(last)), num, endpoint)
        numbers = ops.multiply(sign, ops.pow(10.0, spaced))
    ends = [shapes.expand_dims(v, 0) for v in (first, last)]
    if num > 0:  # as they are given, without the rounding of the logarithm
        inner = get(numbers, slice(1, -1 if endpoint and num > 1 else None))
        numbers = ops.concat(ends[0], inner, *(ends[1:] if endpoint and num > 1 else ()), axis=0)
    return _as_dtype(moveaxis(numbers, 0, axis), dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> Tensor:
    """Ones on and below the `k`-th diagonal of a matrix of `N` rows and `M` columns, else as many, of `dtype`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.tri(2))
    tf.Tensor(
    [[1. 0.]
     [1. 1.]], shape=(2, 2), dtype=float64)
    """
    rows, columns = sizes_of((N, N if M is None else M))
    if isinstance(rows, int) and isinstance(columns, int):
        return as_tensor(np.tri(rows, columns, k, dtype=dtype))
    number = ops.reshape(creation.range(rows), shape=(rows, 1))
    return ops.cast(ops.greater_equal(ops.add(number, k), creation.range(columns)), dtype=np.dtype(dtype))


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector `x` as `N` columns, the highest first unless `increasing`; DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.vander([2.0, 3.0], 3))
    tf.Tensor(
    [[4. 2. 1.]
     [9. 3. 1.]], shape=(2, 3), dtype=float64)
    """
    base = array(x)
    exponents = np.arange(base.shape[0] if N is None else N)
    return ops.pow(shapes.expand_dims(base, 1), array(exponents if increasing else exponents[::-1]))


def copy(a: Any) -> Tensor:
    """`a` as a tensor of its own, of the same shape and dtype; DtypeError for what is no array of numbers.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.copy([1.0, 2.0]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64)
    """
    return copied(array(a))


def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any) -> Tensor:
    """What `function` makes of the positions of an array of that `shape`, one array of `dtype` per axis, and `kwargs`.

    ValueError for negative sizes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fromfunction(lambda i, j: i + j, (2, 2)))
    tf.Tensor(
    [[0. 1.]
     [1. 2.]], shape=(2, 2), dtype=float64)
    """
    return array(function(*(array(k, dtype) for k in np.indices(shape)), **kwargs))


# ---- by indices: r_[1:4, x] -----------------------------------------------------------------------------


class _Joining:
    """What an index in brackets tells to join: ``r_[0:3, x, 7.0]`` along the first axis, ``c_[x, y]`` as columns."""

    def __init__(self, axis: int, least: int, first: int):
        self._directive = (axis, least, first)

    def __getitem__(self, key: Any) -> Tensor:
        """The parts, promoted and joined; see `numpy.r_` for the text that may stand in front of them.

        A vector is made a matrix of one row for the text "r" and of one column for "c".
        """
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, least, first = self._directive
        shown = parts.pop(0) if parts and isinstance(parts[0], str) else ""
        if shown not in ("", "r", "c"):
            axis, least, first = _directive(shown, self._directive)
        tensors = [_raised(_part(part), least, first) for part in parts]
        dtypes = [p if is_number(p) else x.np_dtype for p, x in zip(parts, tensors, strict=True)]
        dtype = np.result_type(*dtypes)
        joined = ops.concat(*(ops.cast(x, dtype=dtype) for x in tensors), axis=axis)
        if shown not in ("r", "c") or len(joined.shape) > 1:
            return joined
        return ops.reshape(joined, shape=(1, -1) if shown == "r" else (-1, 1))

    def __len__(self) -> int:
        return 0


def _directive(text: str, otherwise: tuple[int, int, int]) -> tuple[int, int, int]:
    """Along which axis parts are joined, how many axes they have at least, and where their own begin.

    What a shorter text leaves out is as `otherwise` says.
    """
    try:
        given = [int(part) for part in text.split(",")]
    except ValueError:
        given = []
    if not 1 <= len(given) <= 3:
        raise ValueError(
            f"could not understand directive {text!r}: 'r', 'c' or up to three integers as in '0,2,1' say how to join"
            f"{at(user_location())}"
        )
    axis, least, first = (*given, *otherwise[len(given) :])
    return axis, least, first


def _part(part: Any) -> Tensor:
    if not isinstance(part, slice):
        return array(part)
    start = 0 if part.start is None else part.start
    if isinstance(part.step, complex):
        return linspace(start, part.stop, int(abs(part.step)))
    return arange(start, part.stop, 1 if part.step is None else part.step)


def _raised(x: Any, least: int, first: int) -> Tensor:
    """With axes of size 1 until there are enough, its own from the position `first` on."""
    more = least - len(x.shape)
    if more <= 0:
        return x
    place = first if first >= 0 else first + more + 1
    return ops.reshape(x, shape=(*(1,) * place, *x.shape, *(1,) * (more - place)))


r_: _Joining = _Joining(0, 1, -1)
c_: _Joining = _Joining(-1, 2, 0)
