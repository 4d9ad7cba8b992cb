"""Matrix times vector, both ways round: the shapes with one row or one column, where a tile would idle.

Such a product reads the matrix once, so it runs at the speed of memory if it reads whole vectors. Strides
are in bytes.
"""

from __future__ import annotations

from .counted_loops import Signature, Writer
from .geometry import Geometry
from .narrow import DOT_CASE
from .vectors import broadcast, load, load_scalar, multiply_add, prefix_mask, store

_STRIP_VECTORS = 4
# Rows combined before the result is touched again: few enough that each is a stream the prefetcher follows.
_BLOCK_ROWS = 8


VECTOR_CASE = Signature(
    "vector_case",
    "i64 %n, i64 %k, ptr %matrix, i64 %across, i64 %along, ptr %vector, i64 %vector_step, "
    "ptr %out, i64 %out_step, i64 %accumulate, ptr %work",
    result="i1",
)
_COMBINE_ROWS = Signature(
    "combine_rows",
    "i64 %columns, i64 %depth, ptr %matrix, i64 %row, ptr %vector, i64 %vector_step, "
    "ptr %out, i64 %accumulate",
)
_COMBINE_BLOCK = Signature("combine_block", _COMBINE_ROWS.parameters)


def vector_product_functions(g: Geometry) -> str:
    """Functions for products with a vector."""
    return _combine_block(g) + _combine_rows(g) + _vector_case(g)


def _combine_rows(g: Geometry) -> str:
    """``out[j] (+)= sum_k vector[k] * matrix[k, j]``, a block of rows at a time; `j` is adjacent."""
    w = Writer(_COMBINE_ROWS)
    with w.loop("%depth", _BLOCK_ROWS) as loop:
        count = w.minimum(w.subtract("%depth", loop.index), _BLOCK_ROWS)
        again = w.let(f"or i64 {loop.index}, %accumulate")
        matrix = w.offset("%matrix", w.multiply("%row", loop.index))
        vector = w.offset("%vector", w.multiply("%vector_step", loop.index))
        w.call(_COMBINE_BLOCK, "%columns", count, matrix, "%row", vector, "%vector_step", "%out", again)
    return w.text()


def _combine_block(g: Geometry) -> str:
    w = Writer(_COMBINE_BLOCK)
    lanes, step = g.lanes, g.lanes * g.size
    with w.loop("%columns", lanes * _STRIP_VECTORS, ("ptr", "%matrix"), ("ptr", "%out")) as strip:
        left = w.subtract("%columns", strip.index)
        masks = [prefix_mask(w, w.subtract(left, lanes * piece), lanes) for piece in range(_STRIP_VECTORS)]
        zeros = [(g.vector, "zeroinitializer")] * _STRIP_VECTORS
        with w.loop("%depth", 1, ("ptr", strip.carried[0]), ("ptr", "%vector"), *zeros) as down:
            matrix, vector, *sums = down.carried
            factor = broadcast(w, g, load_scalar(w, g, vector), lanes)
            down.following += [w.offset(matrix, "%row"), w.offset(vector, "%vector_step")]
            for piece, mask in enumerate(masks):
                row = load(w, g, w.offset(matrix, piece * step), lanes, mask)
                down.following.append(multiply_add(w, g, factor, row, sums[piece], lanes))
        targets = [w.offset(strip.carried[1], piece * step) for piece in range(_STRIP_VECTORS)]
        with w.replacing(w.compare("ne", "%accumulate", 0), [g.vector] * _STRIP_VECTORS, sums) as results:
            old = [load(w, g, target, lanes, mask) for target, mask in zip(targets, masks, strict=True)]
            results += [w.let(f"fadd {g.vector} {x}, {y}") for x, y in zip(old, sums, strict=True)]
        for value, target, mask in zip(results, targets, masks, strict=True):
            store(w, g, value, target, lanes, mask)
        strip.following += [w.offset(pointer, step * _STRIP_VECTORS) for pointer in strip.carried]
    return w.text()


def _vector_case(g: Geometry) -> str:
    """Choose between dot products and weighted rows by the strides; return false if they fit neither.

    `across` is the matrix's stride along the result, `along` the one along the sum.
    """
    w = Writer(VECTOR_CASE)
    with w.returning(w.compare("eq", "%along", g.size), "i1 true"):
        vector = "%vector", "%vector_step", g.size
        w.call(
            DOT_CASE,
            "%n",
            1,
            "%k",
            "%matrix",
            "%across",
            *vector,
            "%out",
            "%out_step",
            "%accumulate",
            "%work",
        )
    adjacent = w.both(w.compare("eq", "%across", g.size), w.compare("eq", "%out_step", g.size))
    with w.returning(adjacent, "i1 true"):
        w.call(
            _COMBINE_ROWS, "%n", "%k", "%matrix", "%along", "%vector", "%vector_step", "%out", "%accumulate"
        )
    return w.text("i1 false")
