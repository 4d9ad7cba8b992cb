"""QR by Householder's reflections, a panel of columns at a time: what a panel does to the rest is matrix products.

The reflections of a panel together are ``1 - V S^T V^T``, with a unit lower trapezoid V, kept below the diagonal, and a
lower triangle S, which both the factor R and the product Q need: it is an output, `s`, in rows of `WIDTH` numbers.
Signs are those of LAPACK, and a column that is zero below the diagonal is left alone. Strides are in bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from ....ir_text import Value, float_literal, iota
from ...matmul.counted_loops import Operand, Signature, Writer
from ...matmul.packing import COPY_ROWS, PACK
from ...matmul.vectors import load, multiply_add, prefix_mask
from ..fill import FILL_ZERO
from ..module import PRODUCTS, Module, at, entry, multiply, products_of, subtract_product
from ..substitution import SUBTRACT
from .panel_groups import JOIN, LEAST_ROWS, REFLECT_GROUP, add_groups

WIDTH = 32
"""Numbers in a row of `s`: the most columns of a panel."""

COLUMN_NORM = "i64 %n, ptr %x, i64 %step"
_PANEL = "i64 %m, i64 %b, ptr %a, i64 %row, ptr %s, ptr %work"
REFLECT = Signature(
    "reflect",
    "i64 %m, i64 %b, i64 %n, ptr %v, i64 %v_row, ptr %s, i64 %s_row, i64 %s_col, ptr %c, i64 %c_row, "
    f"{PRODUCTS}",
)
FACTOR_QR = Signature(
    "factor_qr",
    f"i64 %m, i64 %n, i64 %p, ptr %a, i64 %row, ptr %s, {PRODUCTS}",
)
FORM_Q = Signature("form_q", f"i64 %m, i64 %k, i64 %p, ptr %a, i64 %row, ptr %s, {PRODUCTS}")
UNIT_LOWER = Signature("unit_lower", "i64 %n, ptr %v, i64 %row, ptr %target, i64 %target_row")
CLEAR_BELOW = Signature("clear_below", "i64 %m, i64 %n, ptr %a, i64 %row")


def column_norm(m: Module) -> Signature:
    """The length of a column."""
    return Signature("column_norm", COLUMN_NORM, result=m.s.g.scalar)


def panel(vectors: int) -> Signature:
    """Factor a panel whose rows are so many vectors, the last of which may be less, and write its rows of `s`."""
    return Signature(f"panel_{vectors}", _PANEL)


def form_panel(vectors: int) -> Signature:
    """The columns of Q in the place of the vectors of such a panel."""
    return Signature(f"form_panel_{vectors}", _PANEL)


def add_qr(m: Module, symbol: str) -> None:
    """The external function and its parts."""
    _add_column_norm(m)
    for vectors in _vectors(m):
        _add_panel(m, vectors)
        _add_form_panel(m, vectors)
    _add_unit_lower(m)
    _add_clear_below(m)
    _add_reflect(m)
    add_groups(m, UNIT_LOWER, _width(m), _s_row(m))
    _add_factor_qr(m)
    _add_form_q(m)
    _add_entry(m, symbol)


def _width(m: Module) -> int:
    """Columns of a panel: as many as fit into a few registers."""
    return min(WIDTH, 4 * m.s.g.lanes)


def _vectors(m: Module) -> range:
    """Of how many vectors the rows of a panel may be."""
    return range(1, _width(m) // m.s.g.lanes + 1)


def _s_row(m: Module) -> int:
    return WIDTH * m.s.g.size


# ---- a panel --------------------------------------------------------------------------------------------


def _add_column_norm(m: Module) -> None:
    """Sums of squares that overflow, or lose digits where numbers are tiny, are summed up again to scale."""
    w, g = Writer(column_norm(m)), m.s.g
    a, zero = w.arg, Value("0.0", g.scalar)

    def number(value: float) -> Value:
        return Value(float_literal(value, g.scalar), g.scalar)

    least, most = (1e-270, 1e300) if g.size == 8 else (1e-28, 1e36)
    with w.loop(a.n, 1, a.x, zero) as loop:
        value = w.load(g.scalar, loop.carried[0], g.size)
        loop.following += [
            w.offset(loop.carried[0], a.step),
            multiply_add(w, g, value, value, loop.carried[1]),
        ]
    total = loop.carried[1]
    good = w.both(w.compare("ogt", total, number(least)), w.compare("olt", total, number(most)))
    with w.leaving(good):
        w.stmt(f"ret {g.scalar} {w.intrinsic('sqrt', total)}")
    with w.loop(a.n, 1, a.x, zero) as loop:
        size = w.intrinsic("fabs", w.load(g.scalar, loop.carried[0], g.size))
        larger = w.compare("ogt", size, loop.carried[1])
        loop.following += [w.offset(loop.carried[0], a.step), w.select(larger, size, loop.carried[1])]
    largest = loop.carried[1]
    with w.leaving(w.compare("oeq", largest, zero)):
        w.stmt(f"ret {g.scalar} {total}")  # 0, or NaN
    with w.loop(a.n, 1, a.x, zero) as loop:
        value = w.op("fdiv", w.load(g.scalar, loop.carried[0], g.size), largest)
        loop.following += [
            w.offset(loop.carried[0], a.step),
            multiply_add(w, g, value, value, loop.carried[1]),
        ]
    m.add(w, f"{g.scalar} {w.op('fmul', largest, w.intrinsic('sqrt', loop.carried[1]))}")


class _Rows:
    """Rows of a panel in registers, of which the last columns may not be its own."""

    def __init__(self, w: Writer, m: Module, vectors: int):
        self.w, self.g, self.count = w, m.s.g, vectors
        left = w.subtract(w.arg.b, (vectors - 1) * self.g.lanes)
        self.masks: list[Value | None] = [*[None] * (vectors - 1), prefix_mask(w, left, self.g.lanes)]

    def load(self, place: Value) -> list[Value]:
        return [
            load(self.w, self.g, self.place(place, p), self.g.lanes, mask)
            for p, mask in enumerate(self.masks)
        ]

    def store(self, values: list[Value], place: Value, masked: bool = True) -> None:
        for p, (value, mask) in enumerate(zip(values, self.masks, strict=True)):
            self.w.store(value, self.place(place, p), self.g.size, mask if masked else None)

    def place(self, place: Value, p: int) -> Value:
        return self.w.offset(place, p * self.g.lanes * self.g.size)

    def lanes(self, relation: str, column: Operand) -> list[Value]:
        """Where the number of the column is in that relation to `column`."""
        w, lanes = self.w, self.g.lanes
        number = column if isinstance(column, Value) else Value(str(column), "i64")
        firsts = [w.subtract(number, p * lanes) for p in range(self.count)]
        return [w.compare(relation, iota("i64", lanes), w.splat(first, lanes)) for first in firsts]

    def zeros(self) -> list[Value]:
        return [self.g.zeros(self.g.lanes)] * self.count

    def spread(self, value: Value) -> Value:
        return self.w.splat(value, self.g.lanes)

    def add(self, factor: Value, values: list[Value], totals: list[Value]) -> list[Value]:
        spread = self.spread(factor)
        return [multiply_add(self.w, self.g, spread, v, t) for v, t in zip(values, totals, strict=True)]

    def subtract(self, factor: Value, values: list[Value], totals: list[Value]) -> list[Value]:
        spread = self.spread(factor)
        return [subtract_product(self.w, self.g, spread, v, t) for v, t in zip(values, totals, strict=True)]

    def choose(self, tests: list[Value], value: Value | list[Value], others: list[Value]) -> list[Value]:
        values = [self.spread(value)] * self.count if isinstance(value, Value) else value
        return [self.w.select(t, v, o) for t, v, o in zip(tests, values, others, strict=True)]


def _add_panel(m: Module, vectors: int) -> None:
    w, g = Writer(panel(vectors)), m.s.g
    a, rows = w.arg, _Rows(w, m, vectors)
    with w.loop(a.b, 1, a.a, a.s) as loop:
        here, s = loop.carried
        column = w.multiply(loop.index, g.size)
        below = w.subtract(w.subtract(a.m, loop.index), 1)
        under = w.offset(here, a.row)
        diagonal = w.load(g.scalar, w.offset(here, column), g.size)
        length = w.invoke(column_norm(m), below, w.offset(under, column), a.row)
        beta, tau, divisor = _reflection(w, m, diagonal, length)
        with w.loop(below, 1, under, *rows.load(here)) as down:
            place, totals = down.carried[0], down.carried[1:]
            factor = w.op("fdiv", w.load(g.scalar, w.offset(place, column), g.size), divisor)
            down.following += [w.offset(place, a.row), *rows.add(factor, rows.load(place), totals)]
        products = down.carried[1:]
        own, right = rows.lanes("eq", loop.index), rows.lanes("sgt", loop.index)
        scaled = [w.op("fmul", rows.spread(tau), v) for v in products]
        taken = rows.choose(right, scaled, rows.zeros())
        first = [w.op("fsub", v, t) for v, t in zip(rows.load(here), taken, strict=True)]
        rows.store(rows.choose(own, beta, first), here)
        with w.loop(below, 1, under) as down:
            place = down.carried[0]
            factor = w.op("fdiv", w.load(g.scalar, w.offset(place, column), g.size), divisor)
            left = rows.subtract(factor, taken, rows.load(place))
            rows.store(rows.choose(own, factor, left), place)
            w.advance(down, a.row)
        # Products with the vectors before: of these and their rows of S is this one's.
        rows.store([w.unary("fneg", v) for v in scaled], a.work, masked=False)
        with w.loop(loop.index, 1, a.work, a.s, *rows.zeros()) as before:
            factor = w.load(g.scalar, before.carried[0], g.size)
            w.advance(before, g.size, _s_row(m))
            before.following += rows.add(factor, _whole(rows, before.carried[1]), before.carried[2:])
        rows.store(rows.choose(own, tau, before.carried[2:]), s, masked=False)
        w.advance(loop, a.row, _s_row(m))
    m.add(w)


def _whole(rows: _Rows, place: Value) -> list[Value]:
    return [load(rows.w, rows.g, rows.place(place, p), rows.g.lanes) for p in range(rows.count)]


def _reflection(w: Writer, m: Module, x: Value, length: Value) -> tuple[Value, Value, Value]:
    """What comes to the diagonal; the factor of the reflection; and by what the rest is divided to be its vector."""
    g = m.s.g
    zero, one = Value("0.0", g.scalar), Value("1.0", g.scalar)
    size = w.intrinsic("fabs", x)
    is_longer = w.compare("ogt", length, size)
    large, small = w.select(is_longer, length, size), w.select(is_longer, size, length)
    none = w.compare("oeq", length, zero)
    ratio = w.op("fdiv", small, w.select(none, one, large))
    whole = w.op("fmul", large, w.intrinsic("sqrt", multiply_add(w, g, ratio, ratio, one)))
    beta = w.unary("fneg", w.intrinsic("copysign", whole, x))
    tau = w.op("fdiv", w.op("fsub", beta, x), w.select(none, one, beta))
    return w.select(none, x, beta), w.select(none, zero, tau), w.select(none, one, w.op("fsub", x, beta))


# ---- the rest -------------------------------------------------------------------------------------------


def _square(w: Writer, m: Module, number: int) -> tuple[Value, int]:
    """One of three places for a few rows, and the bytes between these."""
    s = m.s
    return w.offset(w.arg.work, s.square_at + number * WIDTH * s.square_stride), s.square_stride


def _add_unit_lower(m: Module) -> None:
    """A lower triangle with ones on its diagonal and zeros above it."""
    w, g = Writer(UNIT_LOWER), m.s.g
    a = w.arg
    with w.loop(a.n, 1, a.v, a.target) as down:
        source, target = down.carried
        w.invoke(COPY_ROWS, 1, down.index, source, 0, target, 0)
        place = w.offset(target, w.multiply(down.index, g.size))
        w.invoke(FILL_ZERO, 1, w.subtract(a.n, down.index), place, 0)
        w.store(Value("1.0", g.scalar), place, g.size)
        w.advance(down, a.row, a.target_row)
    m.add(w)


def _add_clear_below(m: Module) -> None:
    """Zeros below the diagonal."""
    w = Writer(CLEAR_BELOW)
    a = w.arg
    with w.loop(a.m, 1, a.a) as down:
        w.invoke(FILL_ZERO, 1, w.minimum(down.index, a.n), down.carried[0], 0)
        w.advance(down, a.row)
    m.add(w)


def _add_reflect(m: Module) -> None:
    """``C -= V S (V^T C)``, for S or, by its strides, its transpose, some columns at a time."""
    w, s = Writer(REFLECT), m.s
    a, size = w.arg, s.g.size
    (inner, inner_row), (outer, outer_row), (top, top_row) = (_square(w, m, k) for k in range(3))
    w.invoke(UNIT_LOWER, a.b, a.v, a.v_row, top, top_row)
    rest, below = w.subtract(a.m, a.b), at(w, a.v, a.b, a.v_row)
    with w.loop(a.n, s.block, a.c) as across:
        c = across.carried[0]
        under = at(w, c, a.b, a.c_row)
        n = w.minimum(w.subtract(a.n, across.index), s.block)
        for target, row in ((inner, inner_row), (outer, outer_row)):
            w.invoke(FILL_ZERO, a.b, n, target, row)
        products = inner, inner_row
        multiply(w, s, (a.b, n, a.b), (top, size, top_row), (c, a.c_row, size), products)
        multiply(w, s, (a.b, n, rest), (below, size, a.v_row), (under, a.c_row, size), products)
        multiply(w, s, (a.b, n, a.b), (a.s, a.s_row, a.s_col), (inner, inner_row, size), (outer, outer_row))
        scaled = outer, outer_row
        w.invoke(SUBTRACT, a.b, n, a.b, top, top_row, size, *scaled, c, a.c_row, *products_of(w))
        w.invoke(SUBTRACT, rest, n, a.b, below, a.v_row, size, *scaled, under, a.c_row, *products_of(w))
        w.advance(across, s.block * size)
    m.add(w)


def _panels(w: Writer, m: Module, number: Value) -> tuple[Value, Value, Value, Value]:
    """Where the panel of a number begins: its first column, its width, its corner, and its rows of S.

    The last columns are a panel of whole vectors and one of less than a vector: where rows are short, what a mask
    leaves alone is the next row, and that would wait.
    """
    a, width = w.arg, _width(m)
    full, whole, rest = _tail(w, m)
    behind = w.add(w.multiply(full, width), whole)
    first = w.select(w.compare("sle", number, full), w.multiply(number, width), behind)
    of_whole = w.both(w.compare("eq", number, full), w.compare("sgt", whole, 0))
    columns = w.select(w.compare("slt", number, full), width, w.select(of_whole, whole, rest))
    corner = at(w, a.a, first, w.add(a.row, m.s.g.size))
    return first, columns, corner, at(w, a.s, first, _s_row(m))


def _tail(w: Writer, m: Module) -> tuple[Value, Value, Value]:
    """Panels of the full width; behind them columns in whole vectors, and the rest."""
    rest = w.op("and", w.arg.p, _width(m) - 1)
    whole = w.op("and", rest, -m.s.g.lanes)
    return w.op("udiv", w.arg.p, _width(m)), whole, w.subtract(rest, whole)


def _count(w: Writer, m: Module) -> Value:
    full, *tail = _tail(w, m)
    for columns in tail:
        full = w.add(full, w.convert("zext", w.compare("sgt", columns, 0), "i64"))
    return full


def _invoke_panel(
    w: Writer,
    m: Module,
    of_vectors: Callable[[int], Signature],
    rows: Value,
    columns: Operand,
    corner: Value,
    s: Value,
) -> None:
    """The function for panels of that width."""
    needed = w.op("udiv", w.add(columns, m.s.g.lanes - 1), m.s.g.lanes)
    for vectors in _vectors(m):
        with w.when(w.compare("eq", needed, vectors)):
            w.invoke(of_vectors(vectors), rows, columns, corner, w.arg.row, s, w.arg.work)


def _groups(w: Writer, m: Module) -> Value:
    """How many groups of whole panels come first."""
    return w.select(w.compare("sge", w.arg.m, LEAST_ROWS), w.op("udiv", w.arg.p, m.s.group), 0)


def _in_group(w: Writer, m: Module, group: Value, number: Value) -> tuple[Value, Value, Value]:
    """Of a panel in a group: its first column, its corner, and how many columns of the group come behind it."""
    before = w.multiply(number, _width(m))
    first = w.add(w.multiply(group, m.s.group), before)
    rest = w.subtract(m.s.group - _width(m), before)
    return first, at(w, w.arg.a, first, w.add(w.arg.row, m.s.g.size)), rest


def _reflect_beside(w: Writer, m: Module, group: Value, columns: Operand, transposed: bool) -> None:
    """Apply a group to what is beside it, so many columns in all."""
    a, size = w.arg, m.s.g.size
    first = w.multiply(group, m.s.group)
    corner = at(w, a.a, first, w.add(a.row, size))
    rest = w.subtract(w.subtract(columns, first), m.s.group)
    beside = w.offset(corner, m.s.group * size)
    if transposed:
        w.invoke(FILL_ZERO, m.s.group, rest, beside, a.row)
    with w.when(w.compare("sgt", rest, 0)):
        rows, s = w.subtract(a.m, first), at(w, a.s, first, _s_row(m))
        w.invoke(JOIN, rows, corner, a.row, s, *products_of(w))
        strides = (size, m.s.square_stride) if transposed else (m.s.square_stride, size)
        w.invoke(REFLECT_GROUP, rows, rest, corner, a.row, *strides, beside, a.row, *products_of(w))


def _add_factor_qr(m: Module) -> None:
    w = Writer(FACTOR_QR)
    a, each, groups = w.arg, m.s.group // _width(m), _groups(w, m)

    def step(first: Value, columns: Operand, corner: Value, s: Value, rest: Value) -> None:
        rows = w.subtract(a.m, first)
        _invoke_panel(w, m, panel, rows, columns, corner, s)
        beside = w.offset(corner, w.multiply(columns, m.s.g.size))
        turned = s, _s_row(m), m.s.g.size
        w.invoke(REFLECT, rows, columns, rest, corner, a.row, *turned, beside, a.row, *products_of(w))

    with w.loop(groups) as loop:
        with w.loop(each) as inner:
            first, corner, rest = _in_group(w, m, loop.index, inner.index)
            step(first, _width(m), corner, at(w, a.s, first, _s_row(m)), rest)
        _reflect_beside(w, m, loop.index, a.n, transposed=False)
    done = w.multiply(groups, each)
    with w.loop(w.subtract(_count(w, m), done)) as loop:
        first, columns, corner, s = _panels(w, m, w.add(done, loop.index))
        step(first, columns, corner, s, w.subtract(w.subtract(a.n, first), columns))
    m.add(w)


# ---- Q --------------------------------------------------------------------------------------------------


def _add_form_panel(m: Module, vectors: int) -> None:
    """The columns of Q in the place of the vectors: those of 1, less V M with ``M = S^T V1^T``, row by row."""
    w, g = Writer(form_panel(vectors)), m.s.g
    a, rows = w.arg, _Rows(w, m, vectors)
    (turned, turned_row), (inner, inner_row), (top, top_row) = (_square(w, m, k) for k in range(3))
    w.invoke(UNIT_LOWER, a.b, a.a, a.row, top, top_row)
    with w.loop(a.b, 1, top, turned) as down:
        source, target = down.carried
        with w.loop(w.add(down.index, 1), 1, source, a.s, *rows.zeros()) as across:
            factor = w.load(g.scalar, across.carried[0], g.size)
            w.advance(across, g.size, _s_row(m))
            across.following += rows.add(factor, _whole(rows, across.carried[1]), across.carried[2:])
        rows.store(across.carried[2:], target, masked=False)
        w.advance(down, top_row, turned_row)
    w.invoke(PACK, a.b, a.b, turned, g.size, turned_row, inner, inner_row)
    last = at(w, a.a, w.subtract(a.m, 1), a.row)
    with w.loop(a.m, 1, last) as up:
        place = up.carried[0]
        number = w.subtract(w.subtract(a.m, 1), up.index)
        with w.loop(w.minimum(number, a.b), 1, place, inner, *rows.zeros()) as across:
            factor = w.load(g.scalar, across.carried[0], g.size)
            w.advance(across, g.size, inner_row)
            across.following += rows.subtract(factor, rows.load(across.carried[1]), across.carried[2:])
        rows.store(across.carried[2:], place)
        with w.when(w.compare("slt", number, a.b)):
            own = rows.load(at(w, inner, number, inner_row))
            left = [w.op("fsub", v, x) for v, x in zip(across.carried[2:], own, strict=True)]
            one = rows.choose(rows.lanes("eq", number), Value("1.0", g.scalar), rows.zeros())
            rows.store([w.op("fadd", v, x) for v, x in zip(left, one, strict=True)], place)
        w.advance(up, w.subtract(0, a.row))
    m.add(w)


def _add_form_q(m: Module) -> None:
    """Q in the place of the vectors, from the last panel on; the columns behind them are those of 1."""
    w, size = Writer(FORM_Q), m.s.g.size
    a, each, groups = w.arg, m.s.group // _width(m), _groups(w, m)

    def step(first: Value, columns: Operand, corner: Value, s: Value, rest: Value) -> None:
        rows, beside = w.subtract(a.m, first), w.offset(corner, w.multiply(columns, size))
        w.invoke(FILL_ZERO, columns, rest, beside, a.row)
        turned = s, size, _s_row(m)
        w.invoke(REFLECT, rows, columns, rest, corner, a.row, *turned, beside, a.row, *products_of(w))
        _invoke_panel(w, m, form_panel, rows, columns, corner, s)
        w.invoke(FILL_ZERO, first, columns, w.offset(a.a, w.multiply(first, size)), a.row)

    done, count = w.multiply(groups, each), _count(w, m)
    with w.loop(w.subtract(count, done)) as loop:
        first, columns, corner, s = _panels(w, m, w.subtract(w.subtract(count, 1), loop.index))
        step(first, columns, corner, s, w.subtract(w.subtract(a.k, first), columns))
    with w.loop(groups) as loop:
        group = w.subtract(w.subtract(groups, 1), loop.index)
        _reflect_beside(w, m, group, a.k, transposed=True)
        with w.loop(each) as inner:
            number = w.subtract(each - 1, inner.index)
            first, corner, rest = _in_group(w, m, group, number)
            step(first, _width(m), corner, at(w, a.s, first, _s_row(m)), rest)
    m.add(w)


def _add_entry(m: Module, symbol: str) -> None:
    g, size = m.s.g, m.s.g.size
    w = Writer(
        entry(
            symbol,
            "i64 %m, i64 %n, i64 %p, i64 %k, i64 %width, ptr %a, i64 %a_row_elements, i64 %a_col_elements, "
            "ptr %q, i64 %q_row_elements, ptr %r, i64 %r_row_elements, ptr %s, i64 %s_row_elements, "
            f"{PRODUCTS}",
        )
    )
    a = w.arg
    a_row, a_col, q_row, r_row = (
        w.multiply(x, size) for x in w.args("a_row_elements a_col_elements q_row_elements r_row_elements")
    )
    # Where it is factored: R has as many rows as the matrix, or Q as many columns.
    in_r = w.compare("eq", a.k, a.m)
    place, row = w.select(in_r, a.r, a.q), w.select(in_r, r_row, q_row)
    w.invoke(PACK, a.m, a.n, a.a, a_row, a_col, place, row)
    w.invoke(FACTOR_QR, a.m, a.n, a.p, place, row, a.s, *products_of(w))
    with w.when(in_r):
        w.invoke(COPY_ROWS, a.m, a.p, a.r, r_row, a.q, q_row)
        behind = w.offset(a.q, w.multiply(a.p, size))
        w.invoke(FILL_ZERO, a.m, w.subtract(a.k, a.p), behind, q_row)
        with w.loop(w.subtract(a.k, a.p), 1, at(w, behind, a.p, q_row)) as loop:
            w.store(Value("1.0", g.scalar), loop.carried[0], size)
            w.advance(loop, w.add(q_row, size))
    with w.when(in_r, unless=True):
        w.invoke(COPY_ROWS, a.k, a.n, a.q, q_row, a.r, r_row)
    w.invoke(CLEAR_BELOW, a.k, a.n, a.r, r_row)
    w.invoke(FORM_Q, a.m, a.k, a.p, a.q, q_row, a.s, *products_of(w))
    m.add(w)
