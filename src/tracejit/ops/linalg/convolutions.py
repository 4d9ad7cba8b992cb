"""Convolutions: products of what windows see with filters, and the two products that are their derivatives.

All three are linear in each operand, and the derivatives of each are the other two, whatever the order. Axes are
``(batch, ..., channels)``, of filters ``(..., channels, outputs)``; what lies between are the axes along which windows
move, of known sizes. Nothing is added at the ends of axes: `pad` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as every
from typing import Any

import numpy as np

from ...core.autodiff.batching import Batch, by_rows
from ...core.dim import product, same
from ...core.errors import require
from ...core.op import OPS, defop, numeric, ops, sample
from ...core.spec import TensorSpec, shape_text
from ..batch import moved
from ..elementwise.arithmetic import matched, one_factor_is_zero
from ..lowering import Compose, Structure

MOST_PLACES = 64
"""Places of a window up to which what each gives is added by itself."""


def counts(
    sizes: Sequence[Any], window: Sequence[Any], strides: tuple[int, ...], dilations: tuple[int, ...]
) -> tuple[int, ...]:
    """How many windows there are along each axis."""
    reaches = ((w - 1) * d + 1 for w, d in zip(window, dilations, strict=True))
    return tuple(
        max((size - reach) // s + 1, 0) for size, reach, s in zip(sizes, reaches, strides, strict=True)
    )


def _as_conj(x: Any) -> Any:
    """The other factor of a product, as derivatives of the product need it."""
    return ops.conj(x) if x.dtype.kind == "c" else x


# ---- with arrays ----------------------------------------------------------------------------------------


def _windows(
    x: np.ndarray, window: Sequence[int], strides: tuple[int, ...], dilations: tuple[int, ...]
) -> np.ndarray:
    """What windows see, a row each, in memory of its own."""
    many = counts(x.shape[1:-1], window, strides, dilations)
    along = x.strides[1:-1]
    moves = (step * s for step, s in zip(along, strides, strict=True))
    spread = (step * d for step, d in zip(along, dilations, strict=True))
    shape = (x.shape[0], *many, *window, x.shape[-1])
    places = (x.strides[0], *moves, *spread, x.strides[-1])
    seen = np.lib.stride_tricks.as_strided(x, shape, places, writeable=False)
    return seen.reshape(product(shape[: 1 + len(many)]), product(shape[1 + len(many) :]))


def _rows(x: np.ndarray) -> np.ndarray:
    return x.reshape(product(x.shape[:-1]), x.shape[-1])


def _kernel(
    x: np.ndarray, w: np.ndarray, *, strides: tuple[int, ...], dilations: tuple[int, ...]
) -> np.ndarray:
    many = counts(x.shape[1:-1], w.shape[:-2], strides, dilations)
    seen = _windows(x, w.shape[:-2], strides, dilations)
    return np.matmul(seen, _rows(w)).reshape(x.shape[0], *many, w.shape[-1])


def _filters_kernel(
    x: np.ndarray,
    g: np.ndarray,
    *,
    window: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
) -> np.ndarray:
    seen = _windows(x, window, strides, dilations)
    return np.matmul(seen.T, _rows(g)).reshape(*window, x.shape[-1], g.shape[-1])


def _inputs_kernel(
    g: np.ndarray,
    w: np.ndarray,
    *,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
) -> np.ndarray:
    window, channels = w.shape[:-2], w.shape[-2]
    back = np.matmul(_rows(g), _rows(w).T).reshape(*g.shape[:-1], *window, channels)
    out = np.zeros((g.shape[0], *sizes, channels), g.dtype)
    for place in every(*map(range, window)):
        seen = tuple(
            slice(p * d, p * d + n * s, s)
            for p, d, n, s in zip(place, dilations, g.shape[1:-1], strides, strict=True)
        )
        out[(slice(None), *seen)] += back[(..., *place, slice(None))]
    return out


# ---- many at once ---------------------------------------------------------------------------------------


def _merged(x: Any) -> Any:
    """The lanes among the batch."""
    return ops.reshape(x, shape=(x.shape[0] * x.shape[1], *x.shape[2:]))


def _apart(batch: Batch, y: Any) -> Any:
    """The lanes in front of the batch."""
    return ops.reshape(y, shape=(batch.size, y.shape[0] // batch.size, *y.shape[1:]))


def _with_more_outputs(x: Any) -> Any:
    """The lanes among the last axis."""
    y = moved(x, 0, len(x.shape) - 2)
    return ops.reshape(y, shape=(*y.shape[:-2], y.shape[-2] * y.shape[-1]))


def _outputs_apart(batch: Batch, y: Any) -> Any:
    """The lanes, which are among the last axis, in front."""
    apart = ops.reshape(y, shape=(*y.shape[:-1], batch.size, y.shape[-1] // batch.size))
    return moved(apart, len(apart.shape) - 2, 0)


def _batch(batch: Batch, x: Any, w: Any, **attrs: Any) -> Any:
    """More images where filters are shared, more outputs where images are; else lane by lane."""
    if batch.flags == (True, False):
        return _apart(batch, ops.convolution(_merged(x), w, **attrs))
    if batch.flags == (False, True):
        return _outputs_apart(batch, ops.convolution(x, _with_more_outputs(w), **attrs))
    return by_rows(OPS["convolution"], batch, (x, w), attrs)


def _filters_batch(batch: Batch, x: Any, g: Any, **attrs: Any) -> Any:
    if batch.flags == (False, True):
        return _outputs_apart(batch, ops.convolution_filters(x, _with_more_outputs(g), **attrs))
    return by_rows(OPS["convolution_filters"], batch, (x, g), attrs)


def _inputs_batch(batch: Batch, g: Any, w: Any, **attrs: Any) -> Any:
    if batch.flags == (True, False):
        return _apart(batch, ops.convolution_inputs(_merged(g), w, **attrs))
    return by_rows(OPS["convolution_inputs"], batch, (g, w), attrs)


# ---- the ops --------------------------------------------------------------------------------------------


def _work(inputs: Any, outputs: Any) -> int:
    """Products of elements: a window's for each element of the other operand."""
    sizes = sorted(t.array.size for t in (*inputs, *outputs))
    return sizes[-1] * max(sizes[0], 1)


def _fits(
    x: TensorSpec, w: TensorSpec, window: Sequence[Any], moves: Sequence[tuple[int, ...]], what: str
) -> None:
    numeric(x)
    steps = f"strides and dilations are positive, one for each axis, got {moves}"
    require(all(len(m) == len(window) and all(n >= 1 for n in m) for m in moves), steps)
    require(0 not in window, f"windows see something, those of {shape_text(tuple(window))} nothing")
    shapes = f"{shape_text(x.shape)} and {shape_text(w.shape)}"
    require(len(x.shape) == len(w.shape) >= 3, f"{what} have as many axes, three or more; got {shapes}")


@defop(
    vjp=(
        lambda g, y, x, w, **how: ops.convolution_inputs(g, _as_conj(w), sizes=x.shape[1:-1], **how),
        lambda g, y, x, w, **how: ops.convolution_filters(_as_conj(x), g, window=w.shape[:-2], **how),
    ),
    linear=True,
    vanishes_where=one_factor_is_zero,
    kernel=_kernel,
    lower=Structure("convolution"),
    canonicalize=matched,
    batch=_batch,
    work=_work,
    traits=("expensive", "internal"),
    samples=(
        sample((2, 5, 4, 3), (3, 2, 3, 2), strides=(1, 1), dilations=(1, 1)),
        sample((1, 9, 2), (2, 2, 3), strides=(2,), dilations=(3,), complex=True),
        sample((2, 6, 7, 1), (2, 3, 1, 2), strides=(2, 3), dilations=(1, 2)),
        sample((1, 4, 3, 5, 1), (2, 1, 3, 1, 1), strides=(1, 1, 2), dilations=(2, 1, 1)),
    ),
)
def convolution(
    x: TensorSpec, w: TensorSpec, *, strides: tuple[int, ...], dilations: tuple[int, ...]
) -> TensorSpec:
    """Products of what windows of `x` see with filters `w`, ``(batch, ..., outputs)``; the filters are not turned.

    Windows are `strides` apart, the places that one sees `dilations`. ShapeError where channels differ.
    """
    _fits(x, w, w.shape[:-2], (strides, dilations), "images and filters")
    require(same(x.shape[-1], w.shape[-2]), f"{x.shape[-1]} channels, and filters for {w.shape[-2]}")
    many = counts(x.shape[1:-1], w.shape[:-2], strides, dilations)
    return TensorSpec((x.shape[0], *many, w.shape[-1]), x.dtype)


@defop(
    vjp=(
        lambda v, y, x, g, *, window, **how: ops.convolution_inputs(
            _as_conj(g), v, sizes=x.shape[1:-1], **how
        ),
        lambda v, y, x, g, *, window, **how: ops.convolution(_as_conj(x), v, **how),
    ),
    linear=True,
    vanishes_where=one_factor_is_zero,
    kernel=_filters_kernel,
    lower=Structure("convolution_filters"),
    canonicalize=matched,
    batch=_filters_batch,
    work=_work,
    traits=("expensive", "internal"),
    samples=(
        sample((2, 5, 4, 3), (2, 3, 3, 2), window=(3, 2), strides=(1, 1), dilations=(1, 1)),
        sample((1, 9, 2), (1, 3, 3), window=(2,), strides=(2,), dilations=(3,), complex=True),
        sample((2, 6, 7, 1), (2, 3, 1, 2), window=(2, 3), strides=(2, 3), dilations=(1, 2)),
    ),
)
def convolution_filters(
    x: TensorSpec,
    g: TensorSpec,
    *,
    window: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
) -> TensorSpec:
    """The cotangent of the filters of a `convolution` of `x`, from that of its result: sums over all windows."""
    _fits(x, g, window, (strides, dilations), "images and what became of them")
    many = counts(x.shape[1:-1], window, strides, dilations)
    wanted = (x.shape[0], *many)
    require(
        all(same(a, b) for a, b in zip(wanted, g.shape[:-1], strict=True)),
        f"there are {shape_text(wanted)} windows, and {shape_text(g.shape)} is for others",
    )
    return TensorSpec((*window, x.shape[-1], g.shape[-1]), x.dtype)


def _inputs_parts(
    g: Any, w: Any, *, sizes: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]
) -> Any:
    """By windows that move over the cotangent, zeros in between; or place by place of a window, where that is less."""
    rank, window, (channels, outputs) = len(sizes), w.shape[:-2], w.shape[-2:]
    if 0 in g.shape[1:-1]:
        return ops.fill(shape=(g.shape[0], *sizes, channels), value=0, dtype=g.dtype)
    known = isinstance(channels, int) and isinstance(outputs, int)
    fewer = any(s != 1 for s in strides) or (known and 2 * channels <= outputs)
    if fewer and product(window) <= MOST_PLACES:
        return _scattered(g, w, sizes, strides, dilations)
    reaches = [(k - 1) * d for k, d in zip(window, dilations, strict=True)]
    shape = (g.shape[0], *(n + r for n, r in zip(sizes, reaches, strict=True)), outputs)
    inside = zip(reaches, g.shape[1:-1], strides, strict=True)
    if shape != g.shape:
        g = ops.place(g, shape=shape, slices=(((0, g.shape[0], 1), *inside, (0, outputs, 1)),))
    ends = (*((k - 1, k, -1) for k in window), (0, channels, 1), (0, outputs, 1))
    turned = ops.transpose(ops.slice(w, slices=ends), perm=(*range(rank), rank + 1, rank))
    return ops.convolution(g, turned, strides=(1,) * rank, dilations=dilations)


def _scattered(
    g: Any, w: Any, sizes: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]
) -> Any:
    """What each place of a window gives, added where windows saw it."""
    many, window, channels = g.shape[1:-1], w.shape[:-2], w.shape[-2]
    rows, filters = (ops.reshape(v, shape=(product(v.shape[:-1]), v.shape[-1])) for v in (g, w))
    back = ops.matmul(rows, ops.transpose(filters, perm=(1, 0)))
    back = ops.reshape(back, shape=(*g.shape[:-1], product(window), channels))
    whole = tuple((0, n, 1) for n in g.shape[:-1])
    parts, where = [], []
    for number, place in enumerate(every(*map(range, window))):
        part = ops.slice(back, slices=(*whole, (number, 1, 1), (0, channels, 1)))
        parts.append(ops.reshape(part, shape=(*g.shape[:-1], channels)))
        seen = ((p * d, n, s) for p, d, n, s in zip(place, dilations, many, strides, strict=True))
        where.append(((0, g.shape[0], 1), *seen, (0, channels, 1)))
    return ops.place(*parts, shape=(g.shape[0], *sizes, channels), slices=tuple(where))


@defop(
    vjp=(
        lambda u, y, g, w, *, sizes, **how: ops.convolution(u, _as_conj(w), **how),
        lambda u, y, g, w, *, sizes, **how: ops.convolution_filters(
            u, _as_conj(g), window=w.shape[:-2], **how
        ),
    ),
    linear=True,
    vanishes_where=one_factor_is_zero,
    kernel=_inputs_kernel,
    lower=Compose(_inputs_parts),
    canonicalize=matched,
    batch=_inputs_batch,
    work=_work,
    traits=("expensive", "internal"),
    samples=(
        sample((2, 3, 3, 2), (3, 2, 3, 2), sizes=(5, 4), strides=(1, 1), dilations=(1, 1)),
        sample((1, 3, 3), (2, 2, 3), sizes=(9,), strides=(2,), dilations=(3,), complex=True),
        sample((2, 3, 1, 2), (2, 3, 1, 2), sizes=(6, 7), strides=(2, 3), dilations=(1, 2)),
    ),
)
def convolution_inputs(
    g: TensorSpec,
    w: TensorSpec,
    *,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
) -> TensorSpec:
    """The cotangent of what a `convolution` with filters `w` was given, of `sizes`, from that of its result."""
    _fits(g, w, w.shape[:-2], (strides, dilations), "what became of images and filters")
    require(same(g.shape[-1], w.shape[-1]), f"{g.shape[-1]} outputs, and filters for {w.shape[-1]}")
    many = counts(sizes, w.shape[:-2], strides, dilations)
    require(
        many == tuple(g.shape[1:-1]),
        f"sizes {sizes} have {shape_text(many)} windows, and {shape_text(g.shape)} is for others",
    )
    return TensorSpec((g.shape[0], *sizes, w.shape[-2]), g.dtype)
