"""NumPy's ways to make arrays: filled, counted, spaced, on diagonals and grids."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import cutting
from ..core.dim import known
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend import creation
from ..ops.arrays import shape as shapes
from ..ops.arrays.reduce import one_axis
from ..ops.elementwise.arithmetic import matched
from ..ops.tensor.indexing import get
from .conversion import array, arrays, is_number, on_cpu, require, two_floats, values_of, wide_floats
from .elementwise import nonzero
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
    return ops.broadcast_to(array(fill_value, dtype), shape=shapes.sizes_of(shape))


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
    return full(sizes, fill_value, x.dtype if dtype is None else dtype, device=device)


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
    bounds = [np.asarray(x)[()] if is_number(x) else x for x in (start, stop, step) if x is not None]
    first, last = (np.int64(0), bounds[0]) if stop is None else bounds[:2]
    if dtype is None and not any(hasattr(b, "spec") for b in bounds):
        dtype = np.result_type(*map(np.asarray, (first, last, bounds[-1])))
    return creation.range_(first, last, bounds[-1], None if dtype is None else np.dtype(dtype))


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
    count = int(num)
    gaps = count - 1 if endpoint else count
    whole_step = ops.subtract(last, first)
    step = ops.divide(whole_step, gaps) if gaps > 0 else array(np.nan)
    if count == 0:
        place = one_axis(axis, len(whole_step.shape) + 1)
        shape = (*whole_step.shape[:place], 0, *whole_step.shape[place:])
        numbers = ops.fill(shape=shape, value=0.0, dtype=first.dtype)
    else:
        spaced = creation.linspace(first, last, gaps + 1, axis=axis)
        whole = (slice(None),) * (axis % len(spaced.shape))
        numbers = get(spaced, (*whole, slice(0, count)))
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

    `endpoint`, `dtype`, `axis` and errors (ValueError, ShapeError) are those of :func:`linspace`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.logspace(0.0, 2.0, 3))
    tf.Tensor([  1.  10. 100.], shape=(3,), dtype=float64)
    """
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    return _as_dtype(ops.pow(*two_floats(base, exponents)), dtype)


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
        spaced = linspace(ops.log(ops.abs(first)), ops.log(ops.abs(last)), num, endpoint)
        numbers = ops.multiply(sign, ops.exp(spaced))
    ends = [shapes.expand_dims(v, 0) for v in (first, last)]
    if num > 0:  # as they are given, without the rounding of the logarithm
        inner = get(numbers, slice(1, -1 if endpoint and num > 1 else None))
        numbers = ops.concat(ends[0], inner, *(ends[1:] if endpoint and num > 1 else ()), axis=0)
    return _as_dtype(moveaxis(numbers, 0, axis), dtype)


def meshgrid(*xi: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> list[Tensor]:
    """Coordinates `xi` spread over a grid: one tensor per vector, of its dtype, all of the grid's shape.

    `sparse` ones keep size 1 along the others' axes. `indexing` is "xy", columns first, or "ij"; ValueError for
    others. `copy` is accepted.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print([x.shape for x in tnp.meshgrid([1.0, 2.0], [3.0, 4.0, 5.0])])
    [(3, 2), (3, 2)]
    """
    if not xi:
        return []
    if not sparse:
        return cutting.meshgrid(*map(array, xi), indexing=indexing)
    axes = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        axes[:2] = 1, 0
    return [
        ops.reshape(x, shape=tuple([x.spec.size if k == a else 1 for k in range(len(xi))]))
        for x, a in zip(map(array, xi), axes, strict=True)
    ]


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """The positions of an array of the shape `dimensions`: one such array of `dtype` per axis, along a new first axis.

    `sparse` ones are a tuple of tensors, each with size 1 along the others' axes. ValueError for negative sizes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.indices((2, 2)).shape)
    (2, 2, 2)
    """
    if sparse:
        return tuple([as_tensor(x) for x in np.indices(dimensions, dtype=dtype, sparse=True)])
    return as_tensor(np.indices(dimensions, dtype=dtype))


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
    return as_tensor(np.tri(N, M, k, dtype=dtype))


def ix_(*args: Any) -> tuple[Any, ...]:
    """Vectors of positions as indices of the grid of their combinations: each along an axis of its own.

    NumPy's arrays for `args` that are known, else tensors; bools are masks. ValueError for what is no vector.
    """
    if not any(isinstance(x, Tensor) and x.is_symbolic for x in args):
        return np.ix_(*map(values_of, args))
    vectors = [array(x) for x in args]
    if any(len(x.shape) != 1 for x in vectors):
        raise ShapeError(f"takes vectors, got {[str(x.spec) for x in vectors]}{at(user_location())}")
    numbers = [nonzero(x)[0] if x.dtype.kind == "b" else x for x in vectors]
    return tuple(
        [
            ops.reshape(x, shape=tuple([-1 if i == k else 1 for i in range(len(numbers))]))
            for k, x in enumerate(numbers)
        ]
    )


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    """The numbers, among all elements of an array of the shape `dims`, of those at the positions `multi_index`.

    `mode`, one or one for each axis, says what positions beyond the end mean, as in :func:`take`; with the `order` "F"
    columns come first. NumPy's array for positions that are known, else an int64 tensor. ValueError for positions that
    are not there, now or when a compiled function runs.
    """
    parts = list(multi_index)
    if not any(isinstance(x, Tensor) and x.is_symbolic for x in parts):
        return np.ravel_multi_index(tuple(map(values_of, parts)), dims, mode, order)
    modes = [mode] * len(parts) if isinstance(mode, str) else list(mode)
    axes = list(zip(map(array, parts), dims, modes, strict=True))
    number: Any = 0
    for x, size, how in axes if order == "C" else reversed(axes):
        if how == "raise":
            inside = ops.logical_and(ops.less_equal(0, x), ops.less(x, size))
            require(inside, f"a position is outside of an axis of {size}")
        x = ops.mod(x, size) if how == "wrap" else ops.minimum(ops.maximum(x, 0), size - 1)
        number = ops.add(ops.multiply(number, size), ops.cast(x, dtype=np.dtype(np.int64)))
    return number


def unravel_index(indices: Any, shape: Any, order: Any = "C") -> tuple[Any, ...]:
    """The positions, in an array of that `shape`, of the elements of the numbers `indices` among all.

    A tuple with one for each axis, NumPy's arrays for numbers that are known, else tensors; with the `order` "F"
    columns come first. ValueError for numbers that are not there, now or when a compiled function runs.
    """
    if not (isinstance(indices, Tensor) and indices.is_symbolic):
        return np.unravel_index(values_of(indices), shape, order)
    sizes = [int(d) for d in np.atleast_1d(shape)]
    total = math.prod(sizes)
    rest: Any = indices
    require(ops.logical_and(ops.less_equal(0, rest), ops.less(rest, total)), f"a number is not below {total}")
    positions = []
    for size in reversed(sizes) if order == "C" else sizes:
        positions.append(ops.mod(rest, size))
        rest = ops.floordiv(rest, size)
    return tuple(reversed(positions) if order == "C" else positions)


def diag_indices_from(arr: Any) -> tuple[np.ndarray, ...]:
    """The positions of the diagonal of `arr`, all of whose axes are of one size, as int64 vectors, one per axis.

    ShapeError where they are not.
    """
    sizes = [known(size) for size in array(arr).shape]
    if len(sizes) < 2 or len(set(sizes)) > 1:
        raise ShapeError(f"{array(arr).spec} has no diagonal of all axes{at(user_location())}")
    return np.diag_indices(sizes[0], len(sizes))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[np.ndarray, ...]:
    """The positions on and below the `k`-th diagonal of the matrix `arr`, two int64 vectors; ShapeError for others."""
    return np.tril_indices(*_rows_and_columns(arr, k))


def triu_indices_from(arr: Any, k: int = 0) -> tuple[np.ndarray, ...]:
    """The positions on and above the `k`-th diagonal of the matrix `arr`, two int64 vectors; ShapeError for others."""
    return np.triu_indices(*_rows_and_columns(arr, k))


def _rows_and_columns(arr: Any, k: int) -> tuple[int, int, int]:
    x = array(arr)
    if len(x.shape) != 2:
        raise ShapeError(f"takes a matrix, got {x.spec}{at(user_location())}")
    rows, columns = map(known, x.shape)
    return rows, k, columns


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
    return ops.identity(array(a))


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
        """The parts, promoted and joined; see `numpy.r_` for the text that may stand in front of them."""
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, least, first = self._directive
        if parts and isinstance(parts[0], str):
            axis, least, first = _directive(parts.pop(0))
        tensors = [_raised(_part(part), least, first) for part in parts]
        dtypes = [p if is_number(p) else x.dtype for p, x in zip(parts, tensors, strict=True)]
        dtype = np.result_type(*dtypes)
        return ops.concat(*(ops.cast(x, dtype=dtype) for x in tensors), axis=axis)

    def __len__(self) -> int:
        return 0


def _directive(text: str) -> tuple[int, int, int]:
    """Along which axis parts are joined, how many axes they have at least, and where their own begin."""
    try:
        given = [int(part) for part in text.split(",")]
    except ValueError:
        given = []
    if not 1 <= len(given) <= 3:
        raise ValueError(
            f"up to three integers as in '0,2,1' say how to join, got {text!r}{at(user_location())}"
        )
    axis, least, first = (*given, *(0, 1, -1)[len(given) :])
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
