"""Matrix times vector, both ways round: the shapes with one row or one column, where a tile would idle.

Such a product reads the matrix once, so it runs at the speed of memory if it reads whole vectors. Strides
are in bytes.
"""

from __future__ import annotations

from ...ir_text import Value
from .counted_loops import Operand, Signature, Writer
from .geometry import Geometry
from .narrow import DOT_CASE
from .vectors import PAGE, distance, load, multiply_add, prefetch, prefix_mask

_STRIP_VECTORS = 4
# Rows combined before the result is touched again: few enough that each is a stream the prefetcher follows.
_BLOCK_ROWS = 8


VECTOR_CASE = Signature(
    "vector_case",
    "i64 %n, i64 %k, ptr %matrix, i64 %across, i64 %along, ptr %vector, i64 %vector_step, "
    "ptr %out, i64 %out_step, i64 %accumulate, ptr %work",
    result="i1",
    directs=True,
)
_COMBINE_ROWS = Signature(
    "combine_rows",
    "i64 %columns, i64 %depth, ptr %matrix, i64 %row, ptr %vector, i64 %vector_step, "
    "ptr %out, i64 %accumulate",
    directs=True,
)
_COMBINE_BLOCK = Signature("combine_block", f"{_COMBINE_ROWS.parameters}, i64 %ahead")


def vector_product_functions(g: Geometry) -> str:
    """Functions for products with a vector."""
    return _combine_block(g) + _combine_rows(g) + _vector_case(g)


def _combine_rows(g: Geometry) -> str:
    """``out[j] (+)= sum_k vector[k] * matrix[k, j]``, a block of rows at a time; `j` is adjacent."""
    w = Writer(_COMBINE_ROWS)
    ahead = distance(w, w.arg.row, _BLOCK_ROWS, PAGE)
    with w.loop(w.arg.depth, _BLOCK_ROWS) as loop:
        count = w.minimum(w.subtract(w.arg.depth, loop.index), _BLOCK_ROWS)
        again = w.op("or", loop.index, w.arg.accumulate)
        matrix = w.offset(w.arg.matrix, w.multiply(w.arg.row, loop.index))
        vector = w.offset(w.arg.vector, w.multiply(w.arg.vector_step, loop.index))
        operands = w.arg.columns, count, matrix, w.arg.row, vector, *w.args("vector_step out"), again, ahead
        w.invoke(_COMBINE_BLOCK, *operands)
    return w.text()


def _combine_block(g: Geometry) -> str:
    w = Writer(_COMBINE_BLOCK, g.settled)
    whole = w.op("and", w.arg.columns, -g.lanes * _STRIP_VECTORS)
    fetched = w.select(w.compare("ne", w.arg.ahead, 0), whole, 0)
    _strips(w, g, 0, fetched, fetches=True)
    if not g.masks:
        _strips(w, g, fetched, w.subtract(whole, fetched), filled=True)
        fetched = whole
    _strips(w, g, fetched, w.subtract(w.arg.columns, fetched))
    return w.text()


def _strips(
    w: Writer, g: Geometry, first: Operand, count: Value, filled: bool = False, fetches: bool = False
) -> None:
    """So many columns from `first` on, strip by strip; whole if `filled`, as those are that fetch what comes later."""
    lanes, step = g.lanes, g.lanes * g.size
    vectors, filled = range(_STRIP_VECTORS), filled or fetches
    starts = [w.offset(pointer, w.multiply(first, g.size)) for pointer in (w.arg.matrix, w.arg.out)]
    with w.loop(count, lanes * _STRIP_VECTORS, *starts) as strip:
        left = w.subtract(count, strip.index)
        masks = [None if filled else prefix_mask(w, w.subtract(left, lanes * p), lanes) for p in vectors]
        zeros = [g.zeros(lanes)] * _STRIP_VECTORS
        ahead = w.add(w.arg.ahead, w.multiply(strip.index, g.size * _BLOCK_ROWS))
        carried = strip.carried[0], w.arg.vector, w.offset(w.arg.matrix, ahead), *zeros
        with w.loop(w.arg.depth, 1, *carried) as down:
            matrix, vector, later, *sums = down.carried
            factor = w.splat(w.load(g.scalar, vector, g.size), lanes)
            w.advance(down, *w.args("row vector_step"), step * _STRIP_VECTORS)
            if fetches:  # in the order of memory, which machines see through
                prefetch(w, later, step * _STRIP_VECTORS)
            for piece, mask in enumerate(masks):
                row = load(w, g, w.offset(matrix, piece * step), lanes, mask)
                down.following.append(multiply_add(w, g, factor, row, sums[piece]))
        targets = [w.offset(strip.carried[1], piece * step) for piece in vectors]
        with w.replacing(w.compare("ne", w.arg.accumulate, 0), sums) as results:
            old = [load(w, g, target, lanes, mask) for target, mask in zip(targets, masks, strict=True)]
            results += [w.op("fadd", x, y) for x, y in zip(old, sums, strict=True)]
        for value, target, mask in zip(results, targets, masks, strict=True):
            w.store(value, target, g.size, mask)
        w.advance(strip, *[step * _STRIP_VECTORS] * 2)


def _vector_case(g: Geometry) -> str:
    """Choose between dot products and weighted rows by the strides; return false if they fit neither.

    `across` is the matrix's stride along the result, `along` the one along the sum.
    """
    w = Writer(VECTOR_CASE)
    with w.returning(w.compare("eq", w.arg.along, g.size), "i1 true"):
        vector = w.arg.vector, w.arg.vector_step, g.size
        w.invoke(
            DOT_CASE, w.arg.n, 1, *w.args("k matrix across"), *vector, *w.args("out out_step accumulate work")
        )
    adjacent = w.both(w.compare("eq", w.arg.across, g.size), w.compare("eq", w.arg.out_step, g.size))
    with w.returning(adjacent, "i1 true"):
        w.invoke(_COMBINE_ROWS, *w.args("n k matrix along vector vector_step out accumulate"))
    return w.text("i1 false")
