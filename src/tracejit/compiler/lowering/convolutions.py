"""Convolutions as matrix products of what windows see, which is laid out for so many windows as a cache holds.

For some images, or for some rows of one, windows are written side by side, and the product with the filters follows
before they leave the cache. Small products, and those of dtypes that the kernel has not, are plain nests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.dim import Size, product
from ...core.ir.graph import Node
from ...core.spec import TensorSpec
from ..loopir.ir import Call, While
from ..loopir.operands import View as Operand
from .builder import FLOAT16, FLOAT32, Builder
from .liveness import Liveness
from .nodes import SMALL_MATMUL, Lowering
from .views import View, row_major

ROOM = 1 << 19
"""Bytes of windows that are laid out at a time, which a second cache holds beside the filters."""
LEAST, DEEP = 192, 1024
"""Windows of a product at least, as each reads all filters; and of a sum over windows, as each reads all sums."""
TABLE, MOST_TABLES = 1 << 16, 64
"""Bytes of sums over windows up to which each block of images has a table of its own, so that threads take blocks; and
so many tables at the most."""


def lower_convolution(
    low: Lowering, node: Node, views: list[View], life: Liveness, position: int
) -> Sequence[View]:
    """The products of windows with filters: a row of the result for each."""
    b, out = low.b, low.spec(node.outputs[0].spec)
    x, w = (b.copied(v) if v.buffer is None or v.moving else v for v in views)
    seen = _seen(x, out.shape[1:-1], w.shape[:-2], node.attrs)
    inner, n = product(w.shape[:-1]), w.shape[-1]
    if not _by_kernel(out, (product(out.shape[:-1]), inner, n)):
        return [_sums(b, out, seen, w)]
    filters = _matrix(b, w, inner, n)
    result = b.empty(out)
    images, rows, *rest = out.shape[:-1]
    together = _fitting(images, rows, product(rest), inner * out.dtype.itemsize, LEAST)
    with _blocks(b, (seen, result), together) as (windows, made):
        _product(b, _matrix(b, _laid(b, windows), -1, inner), filters, _matrix(b, made, -1, n))
    return [result]


def lower_filters(
    low: Lowering, node: Node, views: list[View], life: Liveness, position: int
) -> Sequence[View]:
    """The sums over windows of what they see times cotangents: a row of the result for each place and channel."""
    b, out = low.b, low.spec(node.outputs[0].spec)
    x, g = (b.copied(v) if v.buffer is None or v.moving else v for v in views)
    seen = _seen(x, g.shape[1:-1], out.shape[:-2], node.attrs)
    inner, n = product(out.shape[:-1]), out.shape[-1]
    if not _by_kernel(out, (product(g.shape[:-1]), inner, n)):
        return [_sums_over_windows(b, out, seen, g)]
    g = g if g.is_contiguous else b.copied(g)
    whole = g.shape[0], g.shape[1], product(g.shape[2:-1]), inner * out.dtype.itemsize
    images, rows = _fitting(*whole, LEAST)
    blocks = g.shape[0] // images if isinstance(g.shape[0], int) else 0
    if rows == g.shape[1] and 1 < blocks <= MOST_TABLES and _is_small(inner, n, out.dtype):
        table = b.empty(TensorSpec((blocks, inner, n), out.dtype))
        with _blocks(b, (seen, g, table), (images, rows)) as (windows, given, sums):
            laid = _laid(b, windows)
            left, right = _matrix(b, laid, -1, inner).transposed((1, 0)), _matrix(b, given, -1, n)
            _product(b, left, right, _matrix(b, sums, inner, n))
        summed = TensorSpec((inner, n), out.dtype)
        total = b.fold(summed, table.shape, (0,), "add", 0, lambda ix: b.load(table, ix))
        return [replace(total, shape=out.shape, strides=row_major(out.shape))]
    result = b.empty(out)
    b.copy(View.literal(0, out.dtype).broadcast(out.shape), result)
    with _blocks(b, (seen, g), _fitting(*whole, DEEP)) as (windows, given):
        laid = _laid(b, windows)
        left, right = _matrix(b, laid, -1, inner).transposed((1, 0)), _matrix(b, given, -1, n)
        _product(b, left, right, _matrix(b, result, inner, n), accumulate=True)
    return [result]


def _laid(b: Builder, windows: View) -> View:
    """What windows see in memory of its own."""
    laid = b.empty(TensorSpec(windows.shape, windows.dtype), "temp")
    b.copy(windows, laid)
    return laid


def _is_small(inner: Size, n: Size, dtype: np.dtype) -> bool:
    size = inner * n * dtype.itemsize
    return isinstance(size, int) and size <= TABLE


def _by_kernel(out: TensorSpec, sizes: tuple[Size, ...]) -> bool:
    work = product(sizes)
    return out.dtype in (np.float32, np.float64) and not (isinstance(work, int) and work <= SMALL_MATMUL)


def _seen(x: View, counts: Sequence[Size], window: Sequence[Size], attrs: Any) -> View:
    """What windows see, ``(batch, *counts, *window, channels)``: the same elements many times, and no memory."""
    first, *along, last = x.strides
    moves = (step * s for step, s in zip(along, attrs["strides"], strict=True))
    spread = (step * d for step, d in zip(along, attrs["dilations"], strict=True))
    return replace(
        x, shape=(x.shape[0], *counts, *window, x.shape[-1]), strides=(first, *moves, *spread, last)
    )


# ---- written out ----------------------------------------------------------------------------------------


def _sums(b: Builder, out: TensorSpec, seen: View, w: View) -> View:
    """A result's element by element: a sum over the places of a window and its channels."""
    lead, places = len(out.shape) - 1, len(w.shape) - 1
    left = seen.with_axis(lead, out.shape[-1])
    right = w.transposed((places, *range(places)))
    for size in reversed(out.shape[:-1]):
        right = right.with_axis(0, size)
    return _folded(b, out, left, right, tuple(range(lead + 1, lead + 1 + places)))


def _sums_over_windows(b: Builder, out: TensorSpec, seen: View, g: View) -> View:
    lead, places = len(g.shape) - 1, len(out.shape) - 1
    order = (*range(lead, lead + places), *range(lead))
    left = seen.transposed(order).with_axis(places, out.shape[-1])
    right = g.transposed((lead, *range(lead)))
    for size in reversed(out.shape[:-1]):
        right = right.with_axis(0, size)
    return _folded(b, out, left, right, tuple(range(places + 1, places + 1 + lead)))


def _folded(b: Builder, out: TensorSpec, left: View, right: View, axes: tuple[int, ...]) -> View:
    def product_at(ix: Sequence[Any]) -> Any:
        x, y = b.load(left, ix), b.load(right, ix)
        if out.dtype == FLOAT16:  # as for matrix products
            x, y = (b.compute("cast", v, dtype=FLOAT32) for v in (x, y))
        return b.compute("mul", x, y)

    return b.fold(out, left.shape, axes, "add", 0, product_at)


# ---- by the kernel --------------------------------------------------------------------------------------


def _matrix(b: Builder, view: View, rows: Size, columns: Size) -> View:
    """A view as a matrix; with -1 for the rows, all there are."""
    if isinstance(rows, int) and rows < 0:
        rows = product(view.shape[:-1]) * view.shape[-1] // columns
    shape = (rows, columns)
    made = view.reshaped(shape)
    if made is None:
        made = b.copied(view).reshaped(shape)
    assert made is not None
    return made


def _product(b: Builder, left: View, right: View, result: View, accumulate: bool = False) -> None:
    operands = tuple(Operand(v.memory, v.index((0, 0)), v.strides) for v in (left, right, result))
    b.block.append(Call("matmul", operands, (*left.shape, right.shape[1]), accumulate=accumulate))


@contextmanager
def _blocks(b: Builder, views: Sequence[View], together: tuple[Size, Size]) -> Iterator[list[View]]:
    """Loops over blocks of so many images, and rows of each; of the views the parts that belong to a block."""
    parts, block = list(views), b.block
    loops: list[While] = []
    for axis, many in enumerate(together if together[1] != parts[0].shape[1] else together[:1]):
        size = parts[0].shape[axis]
        count = size // many if isinstance(size, int) else size
        if count == 1:
            continue
        index = b.fresh("n")
        parts = [_part(v, axis, v.shape[axis] // count if isinstance(size, int) else 1, index) for v in parts]
        loops.append(While(index, count, []))
    for loop in loops:
        b.block.append(loop)
        b.block = loop.body
    b.depth += len(loops)
    try:
        yield parts
    finally:
        b.depth -= len(loops)
        b.block = block


def _part(view: View, axis: int, many: Size, index: str) -> View:
    """So many rows of an axis from `many` times `index` on."""
    step = view.strides[axis] * many
    shape = (*view.shape[:axis], many, *view.shape[axis + 1 :])
    return replace(view, shape=shape, terms=(*view.terms, (index, step)))


def _fitting(images: Any, rows: Any, across: Any, bytes_: Any, least: int) -> tuple[Size, Size]:
    """How many images, and of each how many rows, are laid out together; a row has `across` windows of `bytes_`."""
    if not all(isinstance(n, int) for n in (rows, across, bytes_)):
        return 1, rows
    most = max(ROOM // max(bytes_, 1), least)
    if rows * across > most:
        return 1, max(d for d in _divisors(rows) if d == 1 or d * across <= most)
    if not isinstance(images, int):
        return 1, rows
    return next((d for d in _divisors(images) if d * rows * across >= least), images), rows


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0] or [1]
