"""Reading and writing parts of tensors: static slices, and windows at run-time positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.autodiff.scattered import Scattered, dense
from ...core.dim import Size, UnknownSize, same
from ...core.errors import require, take
from ...core.op import Attrs, Joint, defop, numeric, ops, sample
from ...core.spec import TensorSpec, broadcast_shapes, shape_text
from ...core.tracing.dispatch import as_tensor
from ..batch import (
    batch_dynamic_slice,
    batch_dynamic_update_slice,
    batch_place,
    batch_slice_add,
    batch_slice_set,
    batch_window_add,
    every,
)
from ..elementwise.arithmetic import converted
from ..lowering import Nests, Reindex

INT64 = np.dtype(np.int64)

Slices = tuple[tuple[Size, Size, int], ...]  # (start, size, step) per axis


def python_slices(slices: Slices) -> tuple[slice, ...]:
    """Canonical slices as Python's, for kernels."""
    indices = []
    for start, size, step in slices:
        stop = start + size * step
        indices.append(slice(start, None if step < 0 and stop < 0 else stop, step) if size else slice(0, 0))
    return tuple(indices)


def sliced(x: TensorSpec, slices: Slices) -> TensorSpec:
    """Shape rule: `x` read at `slices`, which must lie inside."""
    require(len(slices) == len(x.shape), f"{len(slices)} slices for rank {len(x.shape)}")
    for d, (start, size, step) in zip(x.shape, slices, strict=True):
        if all(isinstance(s, int) for s in (d, start, size)) and size:
            last = start + (size - 1) * step
            require(
                0 <= start < d and 0 <= last < d, f"the slice {start}:{last} (step {step}) leaves size {d}"
            )
    return x.with_shape(size for _, size, _ in slices)


_INSIDE = ((1, 2, 1), (2, 3, -1))


def _sizes_taken(node: Any, inputs: Sequence[tuple[Size, ...]]) -> tuple[Size, ...] | None:
    ((start, count, step),) = node.attrs["slices"]
    if not all(isinstance(k, int) for k in (start, count, step)):
        return None
    return tuple(inputs[0][start + k * step] for k in range(count))


@defop(
    vjp=(lambda g, y, x, *, slices: Scattered(x.spec, (("slice", slices, g),)),),
    linear=True,
    vanishes_where="the elements taken do not depend on the source, in: {this}",
    kernel=lambda x, *, slices: x[python_slices(slices)],
    lower=Reindex(lambda v, out, *, slices: v.sliced(slices)),
    batch=lambda batch, x, *, slices: ops.slice(x, slices=every(batch, slices)),
    over_rows=lambda rows, attrs: {"slices": ((0, rows, 1), *attrs["slices"])},
    size_rule=_sizes_taken,
    traits=("view", "numpy_view"),
    samples=(
        sample((4, 5), slices=_INSIDE, complex=True),
        sample((4,), slices=((0, 2, 2),)),
        sample((4,), slices=((1, 0, 1),)),
    ),
)
def slice_(x: TensorSpec, *, slices: Slices) -> TensorSpec:
    """Static slices: ``(start, size, step)`` per axis, steps may be negative."""
    return sliced(x, slices)


def _place_kernel(*values: np.ndarray, shape: tuple[int, ...], slices: tuple[Slices, ...]) -> np.ndarray:
    out = np.zeros(shape, values[0].dtype)
    for v, s in zip(values, slices, strict=True):
        out[python_slices(s)] += v
    return out


def _place_vjp(record: Any, gs: list[Any], needs: list[bool]) -> list[Any]:
    g = dense(gs[0])
    return [
        ops.slice(g, slices=s) if need else None
        for s, need in zip(record.attrs["slices"], needs, strict=True)
    ]


def _place_jvp(record: Any, ts: list[Any]) -> list[Any]:
    some = [(t, s) for t, s in zip(ts, record.attrs["slices"], strict=True) if t is not None]
    return [ops.place(*(t for t, _ in some), shape=record.attrs["shape"], slices=tuple(s for _, s in some))]


def _place_nests(b: Any, out: TensorSpec, *values: Any, shape: Any, slices: tuple[Slices, ...]) -> Any:
    return b.placed(values, out, slices)


@defop(
    vjp=Joint(_place_vjp),
    jvp=_place_jvp,
    kernel=_place_kernel,
    lower=Nests(_place_nests),
    batch=batch_place,
    samples=(sample((2, 3), (1, 1), shape=(4, 5), slices=(_INSIDE, ((0, 1, 1), (4, 1, 1))), complex=True),),
)
def place(*values: TensorSpec, shape: tuple[Size, ...], slices: tuple[Slices, ...]) -> TensorSpec:
    """Zeros of `shape` with each value added at its slices."""
    out = TensorSpec(shape, numeric(values[0]).dtype)
    for v, s in zip(values, slices, strict=True):
        part = sliced(out, s)
        require(
            len(part.shape) == len(v.shape)
            and all(same(a, b) for a, b in zip(part.shape, v.shape, strict=True)),
            f"a value of {shape_text(v.shape)} for a part of {shape_text(part.shape)}",
        )
    return out


def _written(x: np.ndarray, where: Any, value: np.ndarray, add: bool) -> np.ndarray:
    out = np.array(x)
    if add:
        out[where] += value
    else:
        out[where] = value
    return out


def _fits(x: TensorSpec, v: TensorSpec, slices: Slices) -> TensorSpec:
    part = sliced(x, slices)
    require(
        broadcast_shapes(part.shape, v.shape) == part.shape,
        f"cannot write {shape_text(v.shape)} into a part of {shape_text(part.shape)}",
    )
    return x


def _slice_add_kernel(x: np.ndarray, *values: np.ndarray, slices: tuple[Slices, ...]) -> np.ndarray:
    out = np.array(x)
    for v, s in zip(values, slices, strict=True):
        out[python_slices(s)] += v
    return out


def _slice_add_vjp(record: Any, gs: list[Any], needs: list[bool]) -> list[Any]:
    g = dense(gs[0])
    parts = (
        ops.slice(g, slices=s) if need else None
        for s, need in zip(record.attrs["slices"], needs[1:], strict=True)
    )
    return [g if needs[0] else None, *parts]


def _slice_add_jvp(record: Any, ts: list[Any]) -> list[Any]:
    some = [(t, s) for t, s in zip(ts[1:], record.attrs["slices"], strict=True) if t is not None]
    values, where = [t for t, _ in some], tuple(s for _, s in some)
    if ts[0] is None:
        parts = (ops.broadcast_to(v, shape=tuple(n for _, n, _ in s)) for v, s in some)
        return [ops.place(*parts, shape=record.inputs[0].shape, slices=where)]
    return [ops.slice_add(ts[0], *values, slices=where) if some else ts[0]]


def _slice_add_nests(b: Any, out: TensorSpec, x: Any, *parts: Any, slices: tuple[Slices, ...]) -> Any:
    values = [v.broadcast(tuple(n for _, n, _ in s)) for v, s in zip(parts, slices, strict=True)]
    if len(slices) == 1:
        before = x.sliced(slices[0])
        return b.replaced(
            x, slices[0], lambda ix: b.compute("add", b.load(before, ix), b.load(values[0], ix))
        )
    return b.added(x, values, slices)


@defop(
    vjp=Joint(_slice_add_vjp),
    jvp=_slice_add_jvp,
    kernel=_slice_add_kernel,
    lower=Nests(_slice_add_nests, updates=0, parts=lambda *, slices: slices),
    batch=batch_slice_add,
    traits=("partial_access",),
    samples=(
        sample((4, 5), (2, 3), slices=(_INSIDE,), complex=True),
        sample((4,), (), slices=(((0, 2, 2),),)),
        sample((5, 4), (3, 3), (3, 3), slices=(((0, 3, 1), (1, 3, 1)), ((1, 3, 1), (0, 3, 1)))),
    ),
)
def slice_add(x: TensorSpec, *values: TensorSpec, slices: tuple[Slices, ...]) -> TensorSpec:
    """`x` with each value added at its static slices, which may overlap."""
    require(len(values) == len(slices), f"{len(values)} values for {len(slices)} slices")
    for v, s in zip(values, slices, strict=True):
        _fits(x, v, s)
    return x


def _update_tangent(record: Any, ts: list[Any], op: Any) -> Any:
    x, v = record.inputs[:2]
    tx = ops.fill(shape=x.shape, value=0.0, dtype=x.dtype) if ts[0] is None else ts[0]
    tv = ops.fill(shape=v.shape, value=0.0, dtype=v.dtype) if ts[1] is None else ts[1]
    return op(tx, tv, *record.inputs[2:], **record.attrs)


def _slice_set_nests(b: Any, out: TensorSpec, x: Any, v: Any, *, slices: Slices) -> Any:
    stretched = v.broadcast(tuple(n for _, n, _ in slices))
    return b.replaced(x, slices, lambda ix: b.load(stretched, ix))


@defop(
    vjp=(
        lambda g, y, x, v, *, slices: ops.slice_set(g, ops.cast(0.0, dtype=g.np_dtype), slices=slices),
        lambda g, y, x, v, *, slices: ops.slice(g, slices=slices),
    ),
    jvp=lambda record, ts: [_update_tangent(record, ts, ops.slice_set)],
    vanishes_where="every element that depends on the source is overwritten, in: {this}",
    kernel=lambda x, v, *, slices: _written(x, python_slices(slices), v, False),
    lower=Nests(_slice_set_nests, updates=0, parts=lambda *, slices: (slices,)),
    batch=batch_slice_set,
    traits=("partial_access",),
    samples=(sample((4, 5), (2, 3), slices=_INSIDE, complex=True), sample((4,), (), slices=((0, 2, 2),))),
)
def slice_set(x: TensorSpec, v: TensorSpec, *, slices: Slices) -> TensorSpec:
    """`x` with static slices replaced by `v`."""
    return _fits(x, v, slices)


# ---- windows at run-time positions ----------------------------------------------------------------------


def _starts(inputs: Sequence[Any]) -> Any:
    starts = inputs if not isinstance(inputs, (list, tuple)) else stacked_positions(inputs)
    return converted(starts, INT64)


def stacked_positions(values: Sequence[Any]) -> Any:
    """Scalar positions as one rank-1 int64 tensor."""
    parts = [ops.reshape(converted(v, INT64), shape=(1,)) for v in values]
    return parts[0] if len(parts) == 1 else ops.concat(*parts, axis=0)


def clamped(starts: np.ndarray, shape: Sequence[int], sizes: Sequence[int]) -> tuple[slice, ...]:
    """Windows moved inside the array, as kernels index them."""
    if any(n > d for n, d in zip(sizes, shape, strict=True)):
        raise ValueError(f"a window of {shape_text(sizes)} in an array of {shape_text(shape)}")
    at = [int(min(max(s, 0), d - n)) for s, d, n in zip(starts, shape, sizes, strict=True)]
    return tuple(slice(a, a + n) for a, n in zip(at, sizes, strict=True))


def _inside(x: TensorSpec, window: TensorSpec) -> TensorSpec:
    """Require that a window is nowhere larger than the array; the compiled code checks sizes unknown until then."""
    for n, d in zip(window.shape, x.shape, strict=True):
        try:
            fits = n == d or n <= d
        except UnknownSize as error:
            take(error)
            continue
        require(fits, f"a window of {shape_text(window.shape)} in an array of {shape_text(x.shape)}")
    return window


def _canonical_window(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    sizes = inputs[2] if len(inputs) > 2 else attrs["sizes"]
    return (as_tensor(inputs[0]), _starts(inputs[1])), {"sizes": tuple(sizes)}


def _window_nests(b: Any, out: TensorSpec, x: Any, starts: Any, *, sizes: tuple[Size, ...]) -> Any:
    window = x.window(b.positions(starts, x.shape, sizes), sizes)
    return b.map(out, lambda ix: b.load(window, ix))


@defop(
    vjp=(lambda g, y, x, starts, *, sizes: Scattered(x.spec, (("window", starts, g),)), None),
    linear=True,
    vanishes_where="the elements taken do not depend on the source, in: {this}",
    kernel=lambda x, starts, *, sizes: x[clamped(starts, x.shape, sizes)],
    lower=Nests(_window_nests),
    canonicalize=_canonical_window,
    batch=batch_dynamic_slice,
    traits=("partial_access", "may_fail", "numpy_view"),
    samples=(
        sample((4, 5), (2,), sizes=(2, 3), dtypes=("float", "index:3"), complex=True),
        sample((4,), (1,), sizes=(1,), dtypes=("float", "index:4")),
    ),
)
def dynamic_slice(x: TensorSpec, starts: TensorSpec, *, sizes: tuple[Size, ...]) -> TensorSpec:
    """The window of `sizes` at `starts` (rank 1, int64, one per axis); moved inside when it sticks out.

    Returns
    -------
    Tensor
        Of the shape `sizes` and the dtype of `x`.

    Raises
    ------
    ShapeError
        Where `starts` or `sizes` are not one per axis, or a size is larger than that of `x`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.dynamic_slice([1.0, 2.0, 3.0], [1], sizes=(2,)))
    tf.Tensor([2. 3.], shape=(2,), dtype=float32)
    """
    require(starts.shape == (len(x.shape),), f"one start per axis: got {starts} for rank {len(x.shape)}")
    return _inside(x, x.with_shape(sizes))


def _canonical_update(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    x = as_tensor(inputs[0])
    return (x, converted(inputs[1], x.np_dtype), _starts(inputs[2])), attrs


def _window_write(add: bool) -> Nests:
    def rule(b: Any, out: TensorSpec, x: Any, v: Any, starts: Any) -> Any:
        positions = b.positions(starts, x.shape, v.shape)
        result = b.updated(x)
        target = result.window(positions, v.shape)
        (b.add_into if add else b.copy)(v, target)
        return result

    return Nests(rule, updates=0)


_WINDOWS = (
    sample((4, 5), (2, 3), (2,), dtypes=("float", "float", "index:3"), complex=True),
    sample((4,), (1,), (1,), dtypes=("float", "float", "index:4")),
)


def _window_spec(x: TensorSpec, v: TensorSpec, starts: TensorSpec) -> TensorSpec:
    require(
        len(v.shape) == len(x.shape) and starts.shape == (len(x.shape),),
        f"the update has rank {len(v.shape)} and starts {starts}, for rank {len(x.shape)}",
    )
    _inside(x, v)
    return x


def _no_longer_read(g: Any, y: Any, x: Any, v: Any, starts: Any) -> Any:
    zero = ops.fill(shape=v.shape, value=0.0, dtype=g.np_dtype)
    return ops.dynamic_update_slice(g, zero, starts)


@defop(
    vjp=(_no_longer_read, lambda g, y, x, v, starts: ops.dynamic_slice(g, starts, sizes=v.shape), None),
    jvp=lambda record, ts: [_update_tangent(record, ts, ops.dynamic_update_slice)],
    kernel=lambda x, v, starts: _written(x, clamped(starts, x.shape, v.shape), v, False),
    lower=_window_write(False),
    canonicalize=_canonical_update,
    batch=batch_dynamic_update_slice,
    traits=("partial_access", "may_fail"),
    samples=_WINDOWS,
)
def dynamic_update_slice(x: TensorSpec, v: TensorSpec, starts: TensorSpec) -> TensorSpec:
    """`x` with the window at `starts` replaced by `v`; moved inside when it sticks out.

    Parameters
    ----------
    x : tensor-like
    v : tensor-like
        Of the rank of `x`, no size larger; converted to its dtype.
    starts : tensor-like of integers, rank 1
        One per axis.

    Returns
    -------
    Tensor
        The shape and dtype of `x`.

    Raises
    ------
    ShapeError
        Where they do not fit.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.dynamic_update_slice([1.0, 2.0, 3.0], [9.0], [1]))
    tf.Tensor([1. 9. 3.], shape=(3,), dtype=float32)
    """
    return _window_spec(x, v, starts)


@defop(
    vjp=(
        lambda g, y, x, v, starts: g,
        lambda g, y, x, v, starts: ops.dynamic_slice(g, starts, sizes=v.shape),
        None,
    ),
    jvp=lambda record, ts: [_update_tangent(record, ts, ops.window_add)],
    kernel=lambda x, v, starts: _written(x, clamped(starts, x.shape, v.shape), v, True),
    lower=_window_write(True),
    canonicalize=_canonical_update,
    batch=batch_window_add,
    traits=("partial_access", "may_fail"),
    samples=_WINDOWS,
)
def window_add(x: TensorSpec, v: TensorSpec, starts: TensorSpec) -> TensorSpec:
    """`x` with `v` added to the window at `starts`; moved inside when it sticks out."""
    return _window_spec(numeric(x), v, starts)
