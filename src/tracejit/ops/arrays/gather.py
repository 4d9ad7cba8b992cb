"""Elements along an axis at integer positions: read (gather), and added to (scatter_add).

Both take `batch_dims`: so many leading axes belong together in tensor and indices, each example has its own positions.
An attribute that is zero is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...core.autodiff.batching import Batch
from ...core.autodiff.scattered import Scattered
from ...core.dim import Size, same
from ...core.errors import DtypeError, require
from ...core.op import Attrs, defop, numeric, ops, sample
from ...core.spec import TensorSpec, dtype_name, shape_text
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ..elementwise.arithmetic import converted
from ..lowering import Nests
from .reduce import one_axis

INT64 = np.dtype(np.int64)


def at_positions(x: TensorSpec, indices: TensorSpec, axis: int, batch_dims: int) -> tuple[Size, ...]:
    """The shape of what `indices` choose along `axis`: indices replace the axis, behind the axes of the batch."""
    require(
        0 <= batch_dims <= axis, f"the first {batch_dims} axes are the batch's, and axis {axis} is among them"
    )
    lead = indices.shape[:batch_dims]
    require(
        len(lead) == batch_dims and all(same(a, b) for a, b in zip(lead, x.shape[:batch_dims], strict=True)),
        f"leading sizes differ: {shape_text(x.shape)} and {shape_text(indices.shape)}, with batch_dims={batch_dims}",
    )
    return (*x.shape[:axis], *indices.shape[batch_dims:], *x.shape[axis + 1 :])


def fits(x: TensorSpec, indices: TensorSpec, values: TensorSpec, axis: int, batch_dims: int) -> None:
    """Require that `values` have the shape of what `indices` choose."""
    expected = at_positions(x, indices, axis, batch_dims)
    require(
        len(expected) == len(values.shape)
        and all(same(a, b) for a, b in zip(expected, values.shape, strict=True)),
        f"values of {shape_text(values.shape)} where {shape_text(expected)} belong",
    )


def chosen(b: Any, x: Any, indices: Any, ix: Sequence[Any], axis: int, batch_dims: int) -> tuple[Any, ...]:
    """Where in `x` the element is that has the indices `ix` in what is chosen; `indices` were checked before."""
    last = axis + len(indices.shape) - batch_dims
    row = b.wrapped(b.load(indices, (*ix[:batch_dims], *ix[axis:last])), x.shape[axis])
    return (*ix[:axis], row, *ix[last:])


def own_positions(op: Any, batch: Batch, tensors: Sequence[Tensor], axis: int, batch_dims: int = 0) -> Tensor:
    """The batching rule of ops whose second input has positions: where they differ, the lanes are one batch more."""
    tensors = batch.all_spread(tensors)
    return op(*tensors, axis=axis + 1, batch_dims=batch_dims + 1)


def canonical(x: Any, indices: Any, given: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Tensor, indices and attributes as the ops take them."""
    x, indices = as_tensor(x), as_tensor(indices)
    if indices.dtype.kind not in "iu":  # to ask for the name of a dtype takes longer than to gather
        raise DtypeError(
            f"indices are integers, got {dtype_name(indices.dtype)}: cast them, or take a bool as a mask"
        )
    attrs = {"axis": one_axis(given.get("axis", 0), len(x.shape))}
    if given.get("batch_dims"):
        attrs["batch_dims"] = int(given["batch_dims"])
    return x, converted(indices, INT64), attrs


# ---- read -----------------------------------------------------------------------------------------------


def _canonical_gather(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    x, indices, attrs = canonical(
        inputs[0], inputs[1], {"axis": inputs[2], **attrs} if len(inputs) > 2 else attrs
    )
    return (x, indices), attrs


def _gather_kernel(x: np.ndarray, indices: np.ndarray, *, axis: int, batch_dims: int = 0) -> np.ndarray:
    if not batch_dims:
        return np.take(x, indices, axis=axis)
    return x[_places(x.shape, indices, axis, batch_dims)]


def _places(
    shape: tuple[int, ...], indices: np.ndarray, axis: int, batch_dims: int
) -> tuple[np.ndarray, ...]:
    """Index arrays for all axes up to `axis`, which NumPy broadcasts to the leading axes of what is chosen."""
    lead, own = indices.shape[:batch_dims], indices.shape[batch_dims:]
    if lead != shape[:batch_dims]:  # NumPy would broadcast
        raise ValueError(
            f"leading sizes differ: {shape_text(shape)} and {shape_text(indices.shape)}, with batch_dims={batch_dims}"
        )
    rank = axis + len(own)
    before = [np.arange(n).reshape(n, *(1,) * (rank - 1 - a)) for a, n in enumerate(shape[:axis])]
    return (*before, indices.reshape(*lead, *(1,) * (axis - batch_dims), *own))


def _gather_vjp(g: Any, y: Any, x: Any, indices: Any, **attrs: Any) -> Any:
    return Scattered(x.spec, (("gather", attrs, indices, g),))


def _gather_nests(b: Any, out: TensorSpec, x: Any, indices: Any, *, axis: int, batch_dims: int = 0) -> Any:
    b.check_indices(indices, x.shape[axis])
    return b.map(out, lambda ix: b.load(x, chosen(b, x, indices, ix, axis, batch_dims)))


def _batch_gather(batch: Batch, x: Tensor, indices: Tensor, *, axis: int, batch_dims: int = 0) -> Tensor:
    if batch.flags[1] or batch_dims:
        return own_positions(ops.gather, batch, (x, indices), axis, batch_dims)
    return ops.gather(x, indices, axis=axis + 1)


@defop(
    vjp=(_gather_vjp, None),
    linear=True,
    vanishes_where="the indices name no element that depends on the source, in: {this}",
    kernel=_gather_kernel,
    lower=Nests(_gather_nests),
    canonicalize=_canonical_gather,
    batch=_batch_gather,
    traits=("partial_access", "may_fail"),
    samples=(
        sample((4, 3), (5,), axis=0, dtypes=("float", "index:4"), complex=True),
        sample((2, 4), (2, 2), axis=1, dtypes=("float", "index:4")),
        sample((4,), (), axis=0, dtypes=("float", "index:4")),
        sample((2, 4, 3), (2, 5), axis=1, batch_dims=1, dtypes=("float", "index:4"), complex=True),
        sample((2, 3, 4), (2,), axis=2, batch_dims=1, dtypes=("float", "index:4")),
    ),
)
def gather(x: TensorSpec, indices: TensorSpec, *, axis: int, batch_dims: int = 0) -> TensorSpec:
    """Elements of `x` along `axis` at integer `indices` (negative ones count from the end)."""
    return x.with_shape(at_positions(x, indices, axis, batch_dims))


# ---- added to -------------------------------------------------------------------------------------------


def _scatter_kernel(
    x: np.ndarray, indices: np.ndarray, values: np.ndarray, *, axis: int, batch_dims: int = 0
) -> np.ndarray:
    expected = (*x.shape[:axis], *indices.shape[batch_dims:], *x.shape[axis + 1 :])
    if values.shape != expected:  # NumPy would broadcast
        raise ValueError(f"values of {shape_text(values.shape)} where {shape_text(expected)} belong")
    return add_at(np.array(x), indices, values, axis, batch_dims)


def add_at(
    x: np.ndarray, indices: np.ndarray, values: np.ndarray, axis: int = 0, batch_dims: int = 0
) -> np.ndarray:
    """`x`, to which `values` were added along `axis` at `indices`, in its own memory."""
    if not batch_dims and values.size >= _WIDE * indices.size and _within(indices, x.shape[axis]):
        rows = np.moveaxis(x, axis, 0)
        several = values.reshape(*x.shape[:axis], indices.size, *x.shape[axis + 1 :])
        for i, more in zip(indices.ravel().tolist(), np.moveaxis(several, axis, 0), strict=True):
            rows[i] += more
        return x
    where: Any = (slice(None),) * axis + (indices,)
    np.add.at(x, _places(x.shape, indices, axis, batch_dims) if batch_dims else where, values)
    return x


#: So many values to an index are added at once sooner than ``np.add.at`` adds them one by one, in the same order.
_WIDE = 128


def _within(indices: np.ndarray, size: int) -> bool:
    return bool(indices.size and -size <= indices.min() and indices.max() < size)


def _scatter_nests(
    b: Any, out: TensorSpec, x: Any, indices: Any, values: Any, *, axis: int, batch_dims: int = 0
) -> Any:
    b.check_indices(indices, x.shape[axis])
    result = b.updated(x)

    def element(ix: Sequence[Any]) -> None:
        b.store(result, chosen(b, x, indices, ix, axis, batch_dims), b.load(values, ix), add=True)

    b.each(values.shape, element)
    return result


def canonical_scatter(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    """Canonicalize: tensor, indices, and values of the tensor's dtype."""
    x, indices, attrs = canonical(inputs[0], inputs[1], attrs)
    return (x, indices, converted(inputs[2], x.dtype)), attrs


def batch_scatter(op: Any, batch: Batch, tensors: Sequence[Tensor], axis: int, batch_dims: int = 0) -> Tensor:
    """The batching rule of ops that write values at positions."""
    if batch.flags[1] or batch_dims:
        return own_positions(op, batch, tensors, axis, batch_dims)
    x, indices, values = tensors
    x = x if batch.flags[0] else batch.spread(x)
    values = values if batch.flags[2] else batch.spread(values)
    return op(x, indices, values, axis=axis + 1)


def scatter_tangent(record: Any, ts: list[Any], op: Any) -> list[Any]:
    """The jvp of ops that write values at positions."""
    x, indices, values = record.inputs
    tx = ops.fill(shape=x.shape, value=0.0, dtype=x.dtype) if ts[0] is None else ts[0]
    tv = ops.fill(shape=values.shape, value=0.0, dtype=values.dtype) if ts[2] is None else ts[2]
    return [op(tx, indices, tv, **record.attrs)]


#: Shapes of a tensor, of indices below 4, and of values.
scatter_sample: Callable[..., Any] = partial(sample, dtypes=("float", "index:4", "float"))


@defop(
    vjp=(lambda g, y, x, i, v, **attrs: g, None, lambda g, y, x, i, v, **attrs: ops.gather(g, i, **attrs)),
    jvp=lambda record, ts: scatter_tangent(record, ts, ops.scatter_add),
    kernel=_scatter_kernel,
    lower=Nests(_scatter_nests, updates=0),
    canonicalize=canonical_scatter,
    batch=lambda batch, *tensors, **attrs: batch_scatter(ops.scatter_add, batch, tensors, **attrs),
    traits=("partial_access", "may_fail", "adds_rows"),
    samples=(
        scatter_sample((4, 3), (5,), (5, 3), axis=0, complex=True),
        scatter_sample((2, 4), (3,), (2, 3), axis=1),
        scatter_sample((2, 4, 3), (2, 5), (2, 5, 3), axis=1, batch_dims=1, complex=True),
        scatter_sample((2, 3, 4), (2, 2), (2, 3, 2), axis=2, batch_dims=1),
    ),
)
def scatter_add(
    x: TensorSpec, indices: TensorSpec, values: TensorSpec, *, axis: int, batch_dims: int = 0
) -> TensorSpec:
    """`x` with `values` added along `axis` at `indices`; repeated indices add up.

    Parameters
    ----------
    x : tensor-like of numbers
    indices : tensor-like of integers
    values : tensor-like
        ``x.shape[:axis] + indices.shape[batch_dims:] + x.shape[axis + 1:]``; converted to the dtype of `x`.
    axis : int
    batch_dims : int
        So many leading axes belong together in `x` and `indices`.

    Returns
    -------
    Tensor
        The shape and dtype of `x`.

    Raises
    ------
    ShapeError
        Where the shapes do not fit.
    DtypeError
        For bools, and for indices that are no integers.
    IndexError
        For an index outside of the axis.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.scatter_add([0.0, 0.0, 0.0], [0, 2], [1.0, 5.0], axis=0))
    tf.Tensor([1. 0. 5.], shape=(3,), dtype=float32)
    """
    fits(numeric(x), indices, values, axis, batch_dims)
    return x
