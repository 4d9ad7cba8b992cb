"""Panels of QR in groups: what all panels of a group do to the columns beside it is done at once.

A panel is as narrow as registers allow. If each went over the whole rest of a large matrix, that would pass through
memory once for every few columns. The reflections of two panels, ``1 - V1 S1^T V1^T`` and ``1 - V2 S2^T V2^T``, are
together ``1 - V S^T V^T`` with ``V = [V1, V2]`` and ``S = [[S1, 0], [-S2 V2^T V1 S1, S2]]``. Here it is ``-S`` that is
kept, so that products are only ever added. Strides are in bytes.
"""

from __future__ import annotations

from ....ir_text import Value
from ...matmul.counted_loops import Signature, Writer
from ...matmul.vectors import load
from ..fill import FILL_ZERO
from ..module import PRODUCTS, Module, at, multiply

LEAST_ROWS = 768
"""Rows from which a matrix has groups: smaller ones stay in the second cache, or nearly."""
JOIN = Signature("join", f"i64 %m, ptr %v, i64 %v_row, ptr %s, {PRODUCTS}")
REFLECT_GROUP = Signature(
    "reflect_group",
    "i64 %m, i64 %n, ptr %v, i64 %v_row, i64 %s_row, i64 %s_col, ptr %c, i64 %c_row, "
    f"{PRODUCTS}",
)


def place(w: Writer, m: Module, number: int) -> tuple[Value, int]:
    """One of the places for a square of a group, or rows of a block, and the bytes between its rows."""
    s = m.s
    return w.offset(w.arg.work, s.groups_at + number * s.group * s.square_stride), s.square_stride


def add_groups(m: Module, unit_lower: Signature, width: int, s_row: int) -> None:
    """The functions that join the panels of a group, and apply them."""
    _add_join(m, unit_lower, width, s_row)
    _add_reflect_group(m)


def _add_join(m: Module, unit_lower: Signature, width: int, s_row: int) -> None:
    """The first rows of V, without R; and the negative of S from those of the panels."""
    w, s = Writer(JOIN), m.s
    a, g, size = w.arg, s.g, s.g.size
    group = s.group
    (top, row), (joined, _), (gram, _), (inner, _) = (place(w, m, k) for k in range(4))
    below = at(w, a.v, group, a.v_row)
    w.invoke(unit_lower, group, a.v, a.v_row, top, row)
    for target in (gram, joined):
        w.invoke(FILL_ZERO, group, group, target, row)
    multiply(w, s, (group, group, group), (top, size, row), (top, row, size), (gram, row))
    rest = w.subtract(a.m, group)
    multiply(w, s, (group, group, rest), (below, size, a.v_row), (below, a.v_row, size), (gram, row))
    for first in range(0, group, width):
        beside = at(w, joined, first, row)
        own = w.offset(beside, first * size)
        with w.loop(width, 1, at(w, a.s, first, s_row), own) as down:
            source, target = down.carried
            for column in range(0, width, g.lanes):
                value = load(w, g, w.offset(source, column * size), g.lanes)
                w.store(w.unary("fneg", value), w.offset(target, column * size), size)
            w.advance(down, s_row, row)
        if first:
            w.invoke(FILL_ZERO, width, first, inner, row)
            products = at(w, gram, first, row), row, size
            multiply(w, s, (width, first, first), products, (joined, row, size), (inner, row))
            multiply(w, s, (width, first, width), (own, row, size), (inner, row, size), (beside, row))
    m.add(w)


def _add_reflect_group(m: Module) -> None:
    """``C -= V S (V^T C)`` for a group that was joined, for S or, by its strides, its transpose."""
    w, s = Writer(REFLECT_GROUP), m.s
    a, size, group = w.arg, s.g.size, s.group
    (top, row), (joined, _), (inner, _), (outer, _) = (place(w, m, k) for k in range(4))
    rest, below = w.subtract(a.m, group), at(w, a.v, group, a.v_row)
    with w.loop(a.n, s.block, a.c) as across:
        c = across.carried[0]
        under = at(w, c, group, a.c_row)
        n = w.minimum(w.subtract(a.n, across.index), s.block)
        for target in (inner, outer):
            w.invoke(FILL_ZERO, group, n, target, row)
        multiply(w, s, (group, n, group), (top, size, row), (c, a.c_row, size), (inner, row))
        multiply(w, s, (group, n, rest), (below, size, a.v_row), (under, a.c_row, size), (inner, row))
        multiply(w, s, (group, n, group), (joined, a.s_row, a.s_col), (inner, row, size), (outer, row))
        multiply(w, s, (group, n, group), (top, row, size), (outer, row, size), (c, a.c_row))
        multiply(w, s, (rest, n, group), (below, a.v_row, size), (outer, row, size), (under, a.c_row))
        w.advance(across, s.block * size)
    m.add(w)
