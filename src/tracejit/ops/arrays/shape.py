"""Shapes: views of the same elements, joining, and making tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ...core.autodiff.batching import aligned
from ...core.autodiff.scattered import dense
from ...core.dim import Dim, Size, broadcast_size, product, same
from ...core.errors import ShapeError, at, require, user_location
from ...core.op import Attrs, Joint, defop, ops, sample
from ...core.seams import stacked
from ...core.spec import TensorSpec, equal_in_shape, shape_text
from ...core.tracing.dispatch import as_tensor
from ..batch import batch_concat, batch_fill, batch_transpose
from ..elementwise.arithmetic import matched
from ..lowering import Nests, Reindex
from ..symbolic_values import checked_size_of, same_sizes, sizes_in
from .reduce import axes_of, one_axis, whole

VIEW, _NUMPY_VIEW = ("view",), ("view", "numpy_view")


def sizes_of(shape: Any) -> tuple[Size, ...]:
    """`shape`, given as an int, a sequence of sizes and integers, or an integer tensor, as a tuple of sizes.

    DtypeError for what is no integer; a size that is known only at run time stands for itself.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.as_shape(3), tf.as_shape([2, 3]), tf.as_shape(tf.constant([2, 3]))
    ((3,), (2, 3), (2, 3))
    """
    if isinstance(shape, tuple):
        return tuple([s if s.__class__ is int else _size(s) for s in shape])
    if isinstance(shape, (int, np.integer, Dim)):
        return (_size(shape),)
    if getattr(shape, "is_symbolic", False) and (held := sizes_in(as_tensor(shape))) is not None:
        return held if shape.shape else (_size(shape),)
    shape = shape.numpy() if hasattr(shape, "numpy") else shape
    if isinstance(shape, (np.ndarray, np.generic)):
        shape = np.atleast_1d(shape).tolist()
    return tuple([_size(s) for s in (shape if isinstance(shape, Iterable) else (shape,))])


def sizes_not_negative(shape: Any) -> tuple[Size, ...]:
    """`shape` as a tuple of sizes, as :func:`sizes_of`; ShapeError where one that is known is less than 0."""
    sizes = sizes_of(shape)
    if any(s.__class__ is int and s < 0 for s in sizes):
        raise ShapeError(f"sizes are not negative, got the shape {sizes}{at(user_location())}")
    return sizes


def _size(s: Any) -> Size:
    if s.__class__ is int or isinstance(s, Dim):
        return s
    return checked_size_of(as_tensor(s)) if getattr(s, "is_symbolic", False) else whole(s, "a size")


def _canonical_reshape(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    x = as_tensor(inputs[0])
    shape = sizes_of(inputs[1] if len(inputs) > 1 else attrs["shape"])
    if -1 in [s for s in shape if s.__class__ is int]:
        shape = _fill_in(x.spec, shape)
    return (x,), {"shape": shape}


def _fill_in(x: TensorSpec, shape: tuple[Size, ...]) -> tuple[Size, ...]:
    if shape.count(-1) > 1:
        raise ShapeError(
            f"cannot reshape {shape_text(x.shape)} to {shape_text(shape)}: one size at most may be -1"
        )
    place = shape.index(-1)
    known: Any = product(s for i, s in enumerate(shape) if i != place)
    total: Any = x.size
    if known == total == 0 and all(s.__class__ is int for s in (*x.shape, *shape)):
        known, total = (product(s for s in sizes if s > 0) for sizes in (shape, x.shape))
    numbers = isinstance(known, int) and isinstance(total, int)
    fits = known != 0 and total % known == 0 if numbers else same(total // known * known, total)
    if not fits:
        raise ShapeError(
            f"cannot reshape {shape_text(x.shape)} to {shape_text(shape)}: {known} times the size that -1 stands for "
            f"must be {total}"
        )
    missing = total // known
    return tuple(missing if i == place else s for i, s in enumerate(shape))


@defop(
    vjp=(lambda g, y, x, *, shape: ops.reshape(g, shape=x.shape),),
    linear=True,
    kernel=lambda x, *, shape: np.reshape(x, shape),
    lower=Reindex(lambda v, out, *, shape: v.reshaped(out.shape)),
    canonicalize=_canonical_reshape,
    batch=lambda batch, x, *, shape: ops.reshape(x, shape=(batch.size, *shape)),
    over_rows=lambda rows, attrs: {"shape": (rows, *attrs["shape"])},
    size_rule=same_sizes,
    traits=_NUMPY_VIEW,
    samples=(
        sample((2, 3), shape=(3, 2), complex=True),
        sample((4,), shape=(2, 1, 2)),
        sample((), shape=(1,)),
    ),
)
def reshape(tensor: TensorSpec, *, shape: tuple[Size, ...]) -> TensorSpec:
    """The same elements in another shape; one size may be -1.

    Parameters
    ----------
    tensor : tensor-like
    shape : int, sequence of int, or integer tensor

    Returns
    -------
    Tensor
        Of that shape and the same dtype.

    Raises
    ------
    ShapeError
        Where the number of elements differs.
    DtypeError
        For sizes that are no integers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.reshape([1, 2, 3, 4], (2, -1)))
    tf.Tensor(
    [[1 2]
     [3 4]], shape=(2, 2), dtype=int32)
    """
    require(
        same(tensor.size, product(shape)),
        f"cannot reshape {shape_text(tensor.shape)} to {shape_text(shape)}: "
        f"{tensor.size} elements against {product(shape)}",
    )
    return tensor.with_shape(shape)


def _agrees(shape: Sequence[Size], other: Sequence[Size]) -> bool:
    """Have the shapes one rank, and no two known sizes that differ?"""
    pairs = list(zip(shape, other, strict=False))
    return len(shape) == len(other) and all(
        isinstance(a, Dim) or isinstance(b, Dim) or a == b for a, b in pairs
    )


def _with_sizes_kernel(x: np.ndarray, *, shape: tuple[int, ...]) -> np.ndarray:
    if x.shape != tuple(shape):
        raise ValueError(f"an array of {shape_text(x.shape)} where {shape_text(shape)} belongs")
    return x


@defop(
    vjp=(lambda g, y, x, *, shape: ops.with_sizes(g, shape=x.shape),),
    linear=True,
    kernel=_with_sizes_kernel,
    lower=Reindex(lambda v, out, *, shape: v.reshaped(out.shape)),
    batch=lambda batch, x, *, shape: ops.with_sizes(x, shape=(batch.size, *shape)),
    traits=_NUMPY_VIEW,
    samples=(sample((2, 3), shape=(2, 3), complex=True),),
)
def with_sizes(x: TensorSpec, *, shape: tuple[Size, ...]) -> TensorSpec:
    """The same tensor where its sizes go by the names in `shape`.

    For what comes of two runs of one loop, a value and its derivative: each run names its trip count anew, and
    the counts are equal by construction. Nothing checks that in compiled code.
    """
    require(_agrees(x.shape, shape), f"an array of {shape_text(x.shape)} where {shape_text(shape)} belongs")
    return x.with_shape(shape)


def _canonical_transpose(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    x = as_tensor(inputs[0])
    rank = len(x.shape)
    perm = inputs[1] if len(inputs) > 1 else attrs.get("perm")
    if perm is None:
        return (x,), {"perm": tuple(range(rank - 1, -1, -1))}
    perm = tuple([one_axis(p, rank) for p in perm])
    if sorted(perm) != list(range(rank)):
        raise ShapeError(f"perm {perm} is not an order of the {rank} axes")
    return (x,), {"perm": perm}


@defop(
    vjp=(lambda g, y, x, *, perm: ops.transpose(g, perm=tuple(perm.index(i) for i in range(len(perm)))),),
    linear=True,
    kernel=lambda x, *, perm: np.transpose(x, perm),
    lower=Reindex(lambda v, out, *, perm: v.transposed(perm)),
    canonicalize=_canonical_transpose,
    batch=batch_transpose,
    over_rows=lambda rows, attrs: {"perm": (0, *(p + 1 for p in attrs["perm"]))},
    size_rule=same_sizes,
    traits=_NUMPY_VIEW,
    samples=(sample((2, 3), perm=(1, 0), complex=True), sample((2, 3, 4), perm=(1, 2, 0))),
)
def transpose(a: TensorSpec, *, perm: tuple[int, ...]) -> TensorSpec:
    """Axes in another order; by default reversed.

    Parameters
    ----------
    a : tensor-like
    perm : sequence of int, optional
        Which axis comes first, second and so on.

    Returns
    -------
    Tensor
        The sizes in that order, the same dtype.

    Raises
    ------
    ShapeError
        Where `perm` does not name every axis once.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.transpose([[1, 2, 3]]).shape, tf.transpose(tf.ones((2, 3, 4)), (1, 0, 2)).shape)
    (3, 1) (3, 2, 4)
    """
    return a.with_shape(a.shape[p] for p in perm)


def _to_shape(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    return inputs[:1], {"shape": sizes_of(inputs[1] if len(inputs) > 1 else attrs["shape"])}


@defop(
    vjp=(lambda g, y, x, *, shape: g,),
    linear=True,
    kernel=lambda x, *, shape: np.broadcast_to(x, shape),
    lower=Reindex(lambda v, out, *, shape: v.broadcast(out.shape)),
    canonicalize=_to_shape,
    batch=lambda batch, x, *, shape: ops.broadcast_to(aligned(x, len(shape)), shape=(batch.size, *shape)),
    traits=_NUMPY_VIEW,
    samples=(sample((3,), shape=(2, 3), complex=True), sample((2, 1), shape=(2, 4)), sample((), shape=(2,))),
)
def broadcast_to(input: TensorSpec, *, shape: tuple[Size, ...]) -> TensorSpec:
    """Repeat axes of size 1, and add outer axes, up to `shape`.

    Parameters
    ----------
    input : tensor-like
    shape : int, sequence of int, or integer tensor

    Returns
    -------
    Tensor
        Of that shape and the same dtype.

    Raises
    ------
    ShapeError
        Where a size of `input` is neither 1 nor that of `shape`, or `shape` has fewer axes.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.broadcast_to([1, 2], (2, 2)).numpy().tolist())
    [[1, 2], [1, 2]]
    """
    lead = len(shape) - len(input.shape)
    fits = lead >= 0 and all(
        broadcast_size(a, b) is not None and (a == b or isinstance(a, Dim) or a == 1)
        for a, b in zip(input.shape, shape[lead:], strict=True)
    )
    pair = f"{shape_text(input.shape)} to {shape_text(shape)}"
    require(lead >= 0, f"Cannot broadcast to shape with fewer dimensions: {pair}")
    require(fits, f"Incompatible shapes for broadcasting: {pair}")
    return input.with_shape(shape)


def expand_dims(input: Any, axis: int, name: str | None = None) -> Any:
    """`input` with an axis of size 1 before position `axis`; the same dtype, ShapeError for no such position.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.expand_dims([1, 2], 0).shape)
    (1, 2)
    """
    x = as_tensor(input)
    place = one_axis(axis[0] if isinstance(axis, list) and len(axis) == 1 else axis, len(x.shape) + 1)
    return reshape(x, shape=(*x.shape[:place], 1, *x.shape[place:]))


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """`input` without its axes of size 1, or those in `axis`, which is an int or several; the same dtype.

    ShapeError where one that is named is not of size 1, or not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.squeeze(tf.ones((1, 3, 1))).shape, tf.squeeze(tf.ones((1, 3, 1)), axis=0).shape)
    (3,) (3, 1)
    """
    x = as_tensor(input)
    rank = len(x.shape)
    axes = axes_of(axis, rank) if axis is not None else [i for i, d in enumerate(x.shape) if same(d, 1)]
    if not all(same(x.shape[a], 1) for a in axes):
        raise ShapeError(f"cannot squeeze axes {list(axes)} of {shape_text(x.shape)}{at(user_location())}")
    return reshape(x, shape=tuple(d for i, d in enumerate(x.shape) if i not in axes))


# ---- joining --------------------------------------------------------------------------------------------


def _canonical_concat(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    if len(inputs) <= 2 and isinstance(inputs[0], (list, tuple)):
        axis = inputs[1] if len(inputs) > 1 else attrs.get("axis", 0)
        inputs = inputs[0]
    else:
        axis = attrs.get("axis", 0)
    require(len(inputs) > 0, "needs at least one tensor")
    tensors, _ = matched(tuple(inputs), {})
    return tensors, {"axis": one_axis(axis, len(tensors[0].shape))}


def _concat_vjp(record: Any, gs: list[Any], needs: list[bool]) -> list[Any]:
    axis, cotangents, start = record.attrs["axis"], [], 0
    g = dense(gs[0])
    for x, need in zip(record.inputs, needs, strict=True):
        size = x.shape[axis]
        window = tuple((start, size, 1) if i == axis else (0, d, 1) for i, d in enumerate(x.shape))
        cotangents.append(ops.slice(g, slices=window) if need else None)
        start = start + size
    return cotangents


def _concat_jvp(record: Any, ts: list[Any]) -> list[Any]:
    zeros = (
        fill(shape=x.shape, value=0.0, dtype=x.dtype) if t is None else t
        for x, t in zip(record.inputs, ts, strict=True)
    )
    return [concat(*zeros, axis=record.attrs["axis"])]


def _concat_nests(b: Any, out: TensorSpec, *xs: Any, axis: int) -> Any:
    result, start = b.empty(out), 0
    for x in xs:
        window = tuple((start, x.shape[axis], 1) if i == axis else (0, d, 1) for i, d in enumerate(x.shape))
        b.copy(x, result.sliced(window))
        start = start + x.shape[axis]
    return result


@defop(
    vjp=Joint(_concat_vjp),
    jvp=_concat_jvp,
    kernel=lambda *xs, axis: np.concatenate(xs, axis=axis),
    lower=Nests(_concat_nests),
    canonicalize=_canonical_concat,
    batch=batch_concat,
    size_rule=lambda node, inputs: tuple(chain(*inputs)),
    samples=(sample((2, 3), (1, 3), axis=0, complex=True), sample((2,), (2,), (1,), axis=0)),
)
def concat(*values: TensorSpec, axis: int) -> TensorSpec:
    """Join tensors along an existing axis; takes a list or several arguments.

    Parameters
    ----------
    values : sequence of tensor-like
        Their shapes differ along `axis` at most.
    axis : int

    Returns
    -------
    Tensor
        The sizes along `axis` added up; the dtype to which they are promoted.

    Raises
    ------
    ShapeError
        Where other sizes differ, there is no such axis, or no tensor.
    DtypeError
        For strings beside numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.concat([[1, 2], [3]], axis=0))
    tf.Tensor([1 2 3], shape=(3,), dtype=int32)
    """
    first = values[0]
    for x in values[1:]:
        fits = len(x.shape) == len(first.shape) and all(
            i == axis or same(a, b) for i, (a, b) in enumerate(zip(x.shape, first.shape, strict=False))
        )
        require(fits, f"cannot join {shape_text(first.shape)} and {shape_text(x.shape)} along axis {axis}")
    total: Size = 0
    for x in values:
        total = total + x.shape[axis]
    return first.with_shape(total if i == axis else d for i, d in enumerate(first.shape))


def stack(values: Sequence[Any], axis: int = 0, name: str | None = None) -> Any:
    """The tensors in `values` joined along a new axis at `axis`; their dtypes are promoted.

    ShapeError where their shapes differ, or there is none; DtypeError for strings beside numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.stack([[1, 2], [3, 4]], axis=1).numpy().tolist())
    [[1, 3], [2, 4]]
    """
    if len(values) == 0:
        raise ShapeError(f"stack needs at least one tensor{at(user_location())}")
    tensors = equal_in_shape("stack", matched(tuple(values), {})[0])
    return concat(*(expand_dims(t, axis) for t in tensors), axis=axis)


stacked.provide(stack)


# ---- making ---------------------------------------------------------------------------------------------


def _fill_kernel(*, shape: tuple[int, ...], value: Any, dtype: np.dtype) -> np.ndarray:
    return np.full(shape, value, dtype)


def _fill_nests(b: Any, out: TensorSpec, *, shape: Any, value: Any, dtype: np.dtype) -> Any:
    return b.scalar_constant(value, dtype).broadcast(out.shape)


@defop(
    vjp=(),
    kernel=_fill_kernel,
    lower=Nests(_fill_nests),
    batch=batch_fill,
    traits=VIEW,
    samples=(sample(shape=(2, 3), value=1.5, dtype=np.dtype("float64")),),
)
def fill(*, shape: tuple[Size, ...], value: Any, dtype: np.dtype) -> TensorSpec:
    """A tensor with every element `value`.

    Returns
    -------
    Tensor
        Of that shape and dtype.

    Raises
    ------
    ShapeError
        For negative sizes.
    """
    require(dtype.kind != "O" or not value or isinstance(value, bytes), f"no string is {value!r}")
    return TensorSpec(shape, dtype)


def zeros(shape: Any, dtype: Any = "float32") -> Any:
    """A tensor of zeros."""
    return fill(shape=sizes_of(shape), value=0, dtype=np.dtype(dtype))


def ones(shape: Any, dtype: Any = "float32") -> Any:
    """A tensor of ones."""
    return fill(shape=sizes_of(shape), value=1, dtype=np.dtype(dtype))


def _iota_nests(b: Any, out: TensorSpec, *, size: Size, dtype: np.dtype) -> Any:
    return b.map(out, lambda ix: b.position(ix[0], dtype))


@defop(
    vjp=(),
    kernel=lambda *, size, dtype: np.arange(size, dtype=dtype),
    lower=Nests(_iota_nests),
    samples=(sample(size=4, dtype=np.dtype("int64")), sample(size=4, dtype=np.dtype("float64"))),
)
def iota(*, size: Size, dtype: np.dtype) -> TensorSpec:
    """``0, 1, ... size - 1``."""
    return TensorSpec((size,), dtype)


# ---- limits -------------------------------------------------------------------------------------------


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """`t` limited to `clip_value_min` and `clip_value_max`; the gradient is 1 inside and on the limits, 0 outside.

    The three broadcast to the shape of the result, and are promoted to its dtype. ShapeError where they do not
    broadcast, DtypeError for complex numbers and strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.clip_by_value([-2.0, 0.5, 3.0], 0.0, 1.0))
    tf.Tensor([0.  0.5 1. ], shape=(3,), dtype=float32)
    """
    return ops.minimum(ops.maximum(t, clip_value_min), clip_value_max)
