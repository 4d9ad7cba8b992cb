"""Merge sort as loop IR: rows of keys and the positions they came from. Knows views and scalars, no op.

Runs of 1, 2, 4, ... keys are merged in pairs from one buffer into another, which then swap. Equal keys keep their
order, and NaN comes last.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.spec import TensorSpec
from ..loopir.complexes import Val
from ..loopir.ir import If, While
from ..loopir.operands import Const
from ..loopir.statement import Statement
from .views import View

_INT64 = np.dtype(np.int64)
_BOOL = np.dtype(bool)


def merge_sorted(b: Any, keys: View, order: View) -> View:
    """`order` with each row rearranged so that the row of `keys` ascends; both are written to."""
    count, n = keys.shape
    kinds = [
        None if v.memory.kind == "heap" else v.memory.kind for v in (keys, order)
    ]  # what is late is allocated
    spare = [
        b.empty(TensorSpec(v.shape, v.dtype), kind) for v, kind in zip((keys, order), kinds, strict=True)
    ]
    heads = [View.whole(b.buffer(_INT64, 1, "local"), (), _INT64) for _ in range(2)]
    run, row, column = b.fresh("n"), b.fresh("n"), b.fresh("n")
    with b.writing([]) as cond:
        width = b.compute("shl", b.constant(1, _INT64), b.position(run, _INT64))
        more = b.compute("lt", width, b.size(n))
    with b.writing([]) as columns:
        _merge_step(b, (keys, order), spare, heads, n, (run, row, column))
    rows: list[Statement] = [While(column, n, columns)]
    swaps = [(v.memory, s.memory) for v, s in zip((keys, order), spare, strict=True)]
    passes = While(run, None, [While(row, count, rows)], cond, more.operand, swaps=swaps)
    b.block.append(If(Const(True, _BOOL), [passes], []))  # locals live in one function
    return order


def _merge_step(b: Any, source: Any, target: Any, heads: Any, n: Any, symbols: tuple[str, str, str]) -> None:
    """Element `column` of a merged run: the smaller head of two runs, the left one of equals."""
    run, row, column = symbols
    c = b.compute
    one, size = b.constant(1, _INT64), b.size(n)
    shift, here = b.position(run, _INT64), b.position(column, _INT64)
    double = c("add", shift, one)
    start = c("shl", c("shr", here, double), double)
    middle = c("min", c("add", start, c("shl", one, shift)), size)
    end = c("min", c("add", start, c("shl", one, double)), size)
    fresh = c("eq", here, start)
    left = c("select", fresh, start, b.load(heads[0], ()))
    right = c("select", fresh, middle, b.load(heads[1], ()))
    last = c("sub", size, one)
    at = [c("min", p, last) for p in (left, right)]
    keys = [b.load(source[0], (row, p)) for p in at]
    smaller = c("or", c("ge", left, middle), _before(b, keys[1], keys[0]))
    taken = c("and", c("lt", right, end), smaller)
    position = c("select", taken, at[1], at[0])
    b.store(target[0], (row, column), c("select", taken, keys[1], keys[0]))
    b.store(target[1], (row, column), b.load(source[1], (row, position)))
    b.store(heads[0], (), c("select", taken, left, c("add", left, one)))
    b.store(heads[1], (), c("select", taken, c("add", right, one), right))


def _before(b: Any, x: Val, y: Val) -> Val:
    """Is x smaller than y, or a number where y is not?"""
    c = b.compute
    less = c("lt", x, y)
    return c("or", less, c("gt", c("isnan", y), c("isnan", x))) if x.dtype.kind == "f" else less
