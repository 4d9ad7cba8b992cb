"""Matrix times vector, both ways round: the shapes with one row or one column, where a tile would idle.

Such a product reads the matrix once, so it runs at the speed of memory if it reads whole vectors.  Strides are in
bytes.
"""

from __future__ import annotations

from .geometry import Geometry
from .packing import COPY_SCALARS
from .text import Signature, Writer
from .vectors import broadcast, load, load_scalar, multiply_add, prefix_mask, store, store_scalar

_ROWS = 4
_STRIP_VECTORS = 4
# Rows combined before the result is touched again: few enough that each is a stream the prefetcher follows.
_BLOCK_ROWS = 8


VECTOR_CASE = Signature(
    "vector_case",
    "i64 %n, i64 %k, ptr %matrix, i64 %across, i64 %along, ptr %vector, i64 %vector_step, "
    "ptr %out, i64 %out_step, i64 %accumulate, ptr %work",
    result="i1",
)
_DOT_ROWS = Signature(
    "dot_rows",
    "i64 %rows, i64 %depth, ptr %matrix, i64 %row, ptr %vector, ptr %out, i64 %out_step, i64 %accumulate",
)
_COMBINE_ROWS = Signature(
    "combine_rows",
    "i64 %columns, i64 %depth, ptr %matrix, i64 %row, ptr %vector, i64 %vector_step, ptr %out, i64 %accumulate",
)
_COMBINE_BLOCK = Signature("combine_block", _COMBINE_ROWS.parameters)


def vector_product_functions(g: Geometry) -> str:
    """Functions for products with a vector: rows dotted with it, or rows combined by it."""
    return _dot_rows(g) + _combine_block(g) + _combine_rows(g) + _vector_case(g)


def _dot_rows(g: Geometry) -> str:
    """``out[i] (+)= sum_k matrix[i, k] * vector[k]``, both with adjacent `k`."""
    w = Writer(_DOT_ROWS)
    step = g.lanes * g.size
    with w.loop("%rows", _ROWS) as loop:
        last = w.subtract("%rows", 1)
        numbers = [w.minimum(w.add(loop.index, row), last) for row in range(_ROWS)]
        starts = [("ptr", w.offset("%matrix", w.multiply("%row", number))) for number in numbers]
        zeros = [(g.vector, "zeroinitializer")] * _ROWS
        with w.loop("%depth", g.lanes, ("ptr", "%vector"), *starts, *zeros) as along:
            mask = prefix_mask(w, w.subtract("%depth", along.index), g.lanes)
            pointers, sums = along.carried[: _ROWS + 1], along.carried[_ROWS + 1 :]
            factor, *rows = [load(w, g, pointer, g.lanes, mask) for pointer in pointers]
            along.following += [w.offset(pointer, step) for pointer in pointers]
            along.following += [
                multiply_add(w, g, row, factor, total, g.lanes) for row, total in zip(rows, sums, strict=True)
            ]
        reduce = f"call reassoc {g.scalar} @llvm.vector.reduce.fadd.{g.suffix(g.lanes)}({g.scalar} -0.0, {g.vector} "
        totals = [w.let(f"{reduce}{total})") for total in sums]
        targets = [w.offset("%out", w.multiply("%out_step", number)) for number in numbers]
        with w.replacing(w.compare("ne", "%accumulate", 0), [g.scalar] * _ROWS, totals) as results:
            old = [load_scalar(w, g, target) for target in targets]
            results += [w.let(f"fadd {g.scalar} {x}, {y}") for x, y in zip(old, totals, strict=True)]
        for value, target in zip(results, targets, strict=True):
            store_scalar(w, g, value, target)
    return w.text()


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
    """Choose between the two by the strides; return false if they fit neither.

    `across` is the matrix's stride along the result, `along` the one along the sum.
    """
    w = Writer(VECTOR_CASE)
    with w.returning(w.compare("eq", "%along", g.size), "i1 true"):
        _dot_in_parts(w, g)
    adjacent = w.both(w.compare("eq", "%across", g.size), w.compare("eq", "%out_step", g.size))
    with w.returning(adjacent, "i1 true"):
        w.call(_COMBINE_ROWS, "%n", "%k", "%matrix", "%along", "%vector", "%vector_step", "%out", "%accumulate")
    return w.text("i1 false")


def _dot_in_parts(w: Writer, g: Geometry) -> None:
    """Write the dot products; a vector that is not dense is first copied, as much as the workspace holds."""
    dense = w.compare("eq", "%vector_step", g.size)
    step = w.select(dense, "%k", g.workspace // g.size)
    with w.loop("%k", step) as inward:
        depth = w.minimum(w.subtract("%k", inward.index), step)
        part = w.offset("%vector", w.multiply("%vector_step", inward.index))
        with w.when(w.let(f"xor i1 {dense}, true")):
            w.call(COPY_SCALARS, 1, depth, part, 0, "%vector_step", "%work", 0)
        vector = w.select(dense, part, "%work", "ptr")
        again = w.let(f"or i64 {inward.index}, %accumulate")
        matrix = w.offset("%matrix", w.multiply(inward.index, g.size))
        w.call(_DOT_ROWS, "%n", depth, matrix, "%across", vector, "%out", "%out_step", again)
