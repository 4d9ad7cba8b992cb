"""Many small matrices at once, one in each lane: interleaved in the scratch memory, so that every step is a vector's.

An element of all the matrices of a group is one vector, and the vectors of a matrix lie row by row. Where a group is
not full, the other lanes begin as zeros, and nothing of them is written. Strides are in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir_text import Value, zeros
from ..matmul.counted_loops import Operand, Signature, Writer
from ..matmul.packing import PACK
from ..matmul.vectors import load, transposed
from .fill import NAN
from .module import Module, at, subtract_product

INTERLEAVE = Signature(
    "interleave",
    "i64 %live, i64 %rows, i64 %columns, ptr %source, i64 %many, i64 %row, i64 %col, ptr %target",
)
SPREAD = Signature(
    "spread", "i64 %live, i64 %rows, i64 %columns, ptr %source, ptr %target, i64 %many, i64 %row"
)
COPY_NUMBERS = Signature(
    "copy_numbers",
    "i64 %live, i64 %n, ptr %source, i64 %source_lane, i64 %source_step, "
    "ptr %target, i64 %target_lane, i64 %target_step",
)
SOLVE_MANY = Signature(
    "solve_many",
    "i64 %n, i64 %columns, ptr %t, i64 %t_row, i64 %t_col, i64 %upper, i64 %unit, ptr %x, i64 %x_row",
)
EXCHANGE_MANY = Signature(
    "exchange_many", "i64 %n, i64 %columns, ptr %x, i64 %x_row, ptr %pivots, i64 %backwards"
)
AT_ONCE = 4
"""Elements in a round of a loop: most are done in one or two."""
WRITTEN_OUT = (4, 8)
"""Rows for which LU, and what one right side takes, have no loops: short ones end where processors do not expect it."""
LOSE_MANY = Signature("lose_many", "i64 %count, ptr %x, ptr %lost")


def add_lanes(m: Module) -> None:
    """Copies into lanes and out of them."""
    _add_interleave(m)
    _add_spread(m)
    _add_copy_numbers(m)
    _add_lose_many(m)


def add_solve_many(m: Module) -> None:
    """Substitution, and exchange of rows."""
    _add_solve_many(m)
    _add_exchange_many(m)


# ---- what every function here is written with -----------------------------------------------------------


def get(w: Writer, m: Module, place: Value) -> Value:
    """An element of every matrix."""
    return load(w, m.s.g, place, m.s.g.lanes)


def numbers(w: Writer, m: Module, number: Operand) -> Value:
    """The same integer in every lane."""
    value = number if isinstance(number, Value) else Value(str(number), "i64")
    return w.splat(value, m.s.g.lanes)


def spread_to(w: Writer, m: Module, number: str) -> Value:
    """The same number in every lane."""
    return w.splat(Value(number, m.s.g.scalar), m.s.g.lanes)


def each_element(
    w: Writer, m: Module, count: Value, starts: Sequence[Value], body: Callable[..., None]
) -> None:
    """Call `body` with the places of one element after the other, from `starts` on, a few of them in a round."""
    whole, step = w.op("and", count, -AT_ONCE), m.s.vector
    with w.loop(whole, AT_ONCE, *starts) as along:
        for number in range(AT_ONCE):
            body(*[w.offset(place, number * step) for place in along.carried])
        w.advance(along, *[AT_ONCE * step] * len(starts))
    with w.loop(w.subtract(count, whole), 1, *along.carried) as rest:
        body(*rest.carried)
        w.advance(rest, *[step] * len(starts))


def first_bad(w: Writer, m: Module, refused: Value, bad: Value, number: Value) -> Value:
    """The number, from 1, of the first element that was refused in each lane."""
    new = w.both(refused, w.compare("eq", bad, zeros("i64", m.s.g.lanes)))
    return w.select(new, numbers(w, m, w.add(number, 1)), bad)


def _add_lose_many(m: Module) -> None:
    """NaN in the lanes that are `lost`, a vector of integers, of so many elements."""
    w, s = Writer(LOSE_MANY), m.s
    lost = w.compare("ne", w.load("i64", w.arg.lost, 8, s.g.lanes), zeros("i64", s.g.lanes))
    with w.returning(w.op("xor", w.any_lane(lost), Value("true", "i1"))):
        pass
    nan = spread_to(w, m, NAN)
    with w.loop(w.arg.count, 1, w.arg.x) as loop:
        w.store(w.select(lost, nan, get(w, m, loop.carried[0])), loop.carried[0], s.g.size)
        w.advance(loop, s.vector)
    m.add(w)


# ---- copies ---------------------------------------------------------------------------------------------


def _add_interleave(m: Module) -> None:
    """A group of matrices, `many` bytes apart, as one of vectors."""
    w, s = Writer(INTERLEAVE), m.s
    a = w.arg
    is_full = w.compare("eq", a.live, s.g.lanes)
    with w.when(is_full, unless=True):
        with w.loop(w.multiply(a.rows, a.columns), 1, a.target) as loop:
            w.store(zeros(s.g.scalar, s.g.lanes), loop.carried[0], s.g.size)
            w.advance(loop, s.vector)
    is_dense = w.compare("eq", a.row, w.multiply(a.columns, a.col))
    rows, columns = _rows(w, is_dense)
    by_squares = w.both(is_full, w.compare("eq", a.col, s.g.size))
    whole = w.select(by_squares, w.op("and", columns, -s.g.square), 0)
    with w.loop(rows, 1, a.source, a.target) as down:
        with w.loop(whole, s.g.square, *down.carried) as across:
            _interleave_square(w, m, *across.carried)
            w.advance(across, s.g.square * s.g.size, s.g.square * s.vector)
        source, target = across.carried
        with w.when(w.compare("ne", whole, columns)):
            w.invoke(PACK, w.subtract(columns, whole), a.live, source, a.col, a.many, target, s.vector)
        w.advance(down, a.row, w.multiply(a.columns, s.vector))
    m.add(w)


def _rows(w: Writer, is_dense: Value) -> tuple[Value, Value]:
    """How a matrix is read: row by row, or all at once where its rows are adjacent."""
    a = w.arg
    whole = w.multiply(a.rows, a.columns)
    return w.select(is_dense, w.minimum(a.rows, 1), a.rows), w.select(is_dense, whole, a.columns)


def _interleave_square(w: Writer, m: Module, source: Value, target: Value) -> None:
    """A few adjacent elements of all matrices."""
    s, g = m.s, m.s.g
    parts = []
    for first in range(0, g.lanes, g.square):
        places = [at(w, source, first + lane, w.arg.many) for lane in range(g.square)]
        parts.append(transposed(w, [load(w, g, place, g.square) for place in places]))
    for number, halves in enumerate(zip(*parts, strict=True)):
        value = halves[0] if len(halves) == 1 else w.shuffle(range(g.lanes), *halves)
        w.store(value, w.offset(target, number * s.vector), g.size)


def _add_spread(m: Module) -> None:
    """The other way; columns of the matrices are adjacent."""
    w, s = Writer(SPREAD), m.s
    a, size = w.arg, s.g.size
    rows, columns = _rows(w, w.compare("eq", a.row, w.multiply(a.columns, size)))
    is_full = w.compare("eq", a.live, s.g.lanes)
    whole = w.select(is_full, w.op("and", columns, -s.g.square), 0)
    with w.loop(rows, 1, a.source, a.target) as down:
        with w.loop(whole, s.g.square, *down.carried) as across:
            _spread_square(w, m, *across.carried)
            w.advance(across, s.g.square * s.vector, s.g.square * size)
        source, target = across.carried
        with w.when(w.compare("ne", whole, columns)):
            w.invoke(PACK, a.live, w.subtract(columns, whole), source, size, s.vector, target, a.many)
        w.advance(down, w.multiply(a.columns, s.vector), a.row)
    m.add(w)


def _spread_square(w: Writer, m: Module, source: Value, target: Value) -> None:
    s, g = m.s, m.s.g
    values = [get(w, m, w.offset(source, number * s.vector)) for number in range(g.square)]
    for first in range(0, g.lanes, g.square):
        parts = [w.lanes_of(v, first, g.square) if g.square < g.lanes else v for v in values]
        for lane, row in enumerate(transposed(w, parts)):
            w.store(row, at(w, target, first + lane, w.arg.many), g.size)


def _add_copy_numbers(m: Module) -> None:
    """Integers, `n` of each lane."""
    w = Writer(COPY_NUMBERS)
    a = w.arg
    with w.loop(a.live, 1, a.source, a.target) as down:
        with w.loop(a.n, 1, *down.carried) as across:
            w.store(w.load("i64", across.carried[0]), across.carried[1])
            w.advance(across, a.source_step, a.target_step)
        w.advance(down, a.source_lane, a.target_lane)
    m.add(w)


# ---- solving --------------------------------------------------------------------------------------------


def _add_solve_many(m: Module) -> None:
    """``T X = B`` in place; an upper triangle is a lower one read from its last row and column."""
    w, s = Writer(SOLVE_MANY), m.s
    a = w.arg
    is_upper, has_diagonal = w.compare("ne", a.upper, 0), w.compare("eq", a.unit, 0)
    last = w.subtract(a.n, 1)
    corner, bottom = at(w, a.t, last, w.add(a.t_row, a.t_col)), at(w, a.x, last, a.x_row)
    t, x = w.select(is_upper, corner, a.t), w.select(is_upper, bottom, a.x)
    t_row, t_col, x_row = (
        w.select(is_upper, w.subtract(0, step), step) for step in (a.t_row, a.t_col, a.x_row)
    )
    one = spread_to(w, m, "1.0")
    with w.loop(a.n, 1, t, x) as down:
        row, here = down.carried
        with w.replacing(has_diagonal, [one]) as factor:
            factor.append(w.op("fdiv", one, get(w, m, at(w, row, down.index, t_col))))
        place, known, left = here, x, a.columns
        for columns in (AT_ONCE, 1):
            whole = w.op("and", left, -columns)
            with w.loop(whole, columns, place, known) as across:
                _solve_elements(w, m, down.index, row, factor[0], across.carried, (t_col, x_row), columns)
                w.advance(across, columns * s.vector, columns * s.vector)
            (place, known), left = across.carried, w.subtract(left, whole)
        w.advance(down, t_row, x_row)
    m.add(w)


def _solve_elements(
    w: Writer,
    m: Module,
    count: Value,
    row: Value,
    factor: Value,
    places: list[Value],
    steps: tuple[Value, Value],
    columns: int,
) -> None:
    """Some elements of a row of X, in registers until they are known: `count` rows before it are."""
    s, (here, known) = m.s, places
    values = [get(w, m, w.offset(here, number * s.vector)) for number in range(columns)]
    with w.loop(count, 1, row, known, *values) as along:
        of_row, above, *left = along.carried
        by = get(w, m, of_row)
        along.following += [w.offset(of_row, steps[0]), w.offset(above, steps[1])]
        for number, value in enumerate(left):
            solved = get(w, m, w.offset(above, number * s.vector))
            along.following.append(subtract_product(w, s.g, by, solved, value))
    for number, value in enumerate(along.carried[2:]):
        w.store(w.op("fmul", value, factor), w.offset(here, number * s.vector), s.g.size)


def _add_exchange_many(m: Module) -> None:
    """Exchange rows as the pivots of each lane say, in their order or backwards."""
    w, s = Writer(EXCHANGE_MANY), m.s
    a, size = w.arg, s.g.size
    is_backwards = w.compare("ne", a.backwards, 0)
    with w.loop(a.n) as loop:
        last = w.subtract(w.subtract(a.n, 1), loop.index)
        number = w.select(is_backwards, last, loop.index)
        here = at(w, a.x, number, a.x_row)
        chosen = w.load("i64", at(w, a.pivots, number, s.numbers), 8, s.g.lanes)
        moves = w.any_lane(w.compare("ne", chosen, numbers(w, m, number)))
        rest = w.select(moves, w.subtract(w.subtract(a.n, number), 1), 0)
        with w.loop(rest, 1, w.offset(here, a.x_row)) as down:
            other = w.add(w.add(down.index, number), 1)
            taken = w.compare("eq", chosen, numbers(w, m, other))

            def exchange(first: Value, second: Value, taken: Value = taken) -> None:
                one, two = get(w, m, first), get(w, m, second)
                w.store(w.select(taken, two, one), first, size)
                w.store(w.select(taken, one, two), second, size)

            each_element(w, m, a.columns, [here, down.carried[0]], exchange)
            w.advance(down, a.x_row)
    m.add(w)
