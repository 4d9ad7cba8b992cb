"""Passes over a whole matrix: fill it, clear a triangle, look for what is not finite or not a number.

Columns are adjacent; strides are in bytes.
"""

from __future__ import annotations

from ...ir_text import Value, zeros
from ..matmul.counted_loops import Operand, Signature, Writer
from ..matmul.vectors import load, multiply_add, prefix_mask
from .module import Module

NAN = "0x7FF8000000000000"
FILL_NAN = Signature("fill_nan", "i64 %rows, i64 %columns, ptr %target, i64 %row")
FILL_ZERO = Signature("fill_zero", "i64 %rows, i64 %columns, ptr %target, i64 %row")
CLEAR_ABOVE = Signature("clear_above", "i64 %n, ptr %target, i64 %row")
HAS_NAN = Signature("has_nan", "i64 %rows, i64 %columns, ptr %source, i64 %row", result="i1")
IDENTITY = Signature("identity", "i64 %n, ptr %target, i64 %row")
UPPER_IS_FINITE = Signature("upper_is_finite", "i64 %n, ptr %source, i64 %row", result="i1")


def row_is_finite(m: Module) -> Signature:
    """Zero if all elements of a row are finite, else NaN."""
    return Signature("row_is_finite", "i64 %columns, ptr %source", result=m.s.g.scalar)


def add_filling(m: Module) -> None:
    """Fill with NaN, and clear what is above the diagonal."""
    w = Writer(FILL_NAN)
    with w.loop(w.arg.rows, 1, w.arg.target) as down:
        _store_row(w, m, w.arg.columns, down.carried[0], Value(NAN, m.s.g.scalar))
        w.advance(down, w.arg.row)
    m.add(w)
    w = Writer(CLEAR_ABOVE)
    with w.loop(w.arg.n, 1, w.offset(w.arg.target, m.s.g.size)) as down:
        columns = w.subtract(w.subtract(w.arg.n, down.index), 1)
        _store_row(w, m, columns, down.carried[0], Value("0.0", m.s.g.scalar))
        w.advance(down, w.add(w.arg.row, m.s.g.size))
    m.add(w)


def add_zeros(m: Module) -> None:
    """Fill with zeros."""
    w = Writer(FILL_ZERO)
    with w.loop(w.arg.rows, 1, w.arg.target) as down:
        _store_row(w, m, w.arg.columns, down.carried[0], Value("0.0", m.s.g.scalar))
        w.advance(down, w.arg.row)
    m.add(w)


def _store_row(w: Writer, m: Module, columns: Operand, target: Value, value: Value) -> None:
    g = m.s.g
    spread = w.splat(value, g.lanes)
    whole = w.op("and", columns, -g.lanes)
    rest = w.subtract(columns, whole)
    with w.loop(whole, g.lanes, target) as across:
        w.store(spread, across.carried[0], g.size)
        w.advance(across, g.lanes * g.size)
    with w.when(w.compare("ne", rest, 0)):
        w.store(spread, across.carried[0], g.size, prefix_mask(w, rest, g.lanes))


def add_finite(m: Module) -> None:
    """Whether the upper triangle is finite: products with 0 are 0 then, and NaN for all else."""
    w, g = Writer(row_is_finite(m)), m.s.g
    nothing = zeros(g.scalar, g.lanes)
    whole = w.op("and", w.arg.columns, -g.lanes)
    rest = w.subtract(w.arg.columns, whole)
    with w.loop(whole, g.lanes, w.arg.source, nothing) as across:
        place, total = across.carried
        across.following += [
            w.offset(place, g.lanes * g.size),
            multiply_add(w, g, load(w, g, place, g.lanes), nothing, total),
        ]
    place, total = across.carried
    last = load(w, g, place, g.lanes, prefix_mask(w, rest, g.lanes))
    total = multiply_add(w, g, last, nothing, total)
    start = Value("-0.0", g.scalar)
    symbol = w.declare(g.scalar, f"@llvm.vector.reduce.fadd.{g.suffix(g.lanes)}", start, total)
    m.add(
        w,
        f"{g.scalar} {w.effect(g.scalar, 1, f'call reassoc {g.scalar} {symbol}({start.typed}, {total.typed})')}",
    )
    w = Writer(UPPER_IS_FINITE)
    with w.loop(w.arg.n, 1, w.arg.source, Value("0.0", g.scalar)) as down:
        place, total = down.carried
        added = w.op("fadd", total, w.invoke(row_is_finite(m), w.subtract(w.arg.n, down.index), place))
        down.following += [w.offset(place, w.add(w.arg.row, g.size)), added]
    m.add(w, f"i1 {w.compare('oeq', down.carried[1], Value('0.0', g.scalar))}")


def add_has_nan(m: Module) -> None:
    """Whether there is a NaN."""
    w, g = Writer(HAS_NAN), m.s.g
    none = Value("zeroinitializer", "i1", g.lanes)
    whole = w.op("and", w.arg.columns, -g.lanes)
    mask = prefix_mask(w, w.subtract(w.arg.columns, whole), g.lanes)
    with w.loop(w.arg.rows, 1, w.arg.source, none) as down:
        with w.loop(whole, g.lanes, *down.carried) as across:
            place, found = across.carried
            value = load(w, g, place, g.lanes)
            across.following += [
                w.offset(place, g.lanes * g.size),
                w.either(found, w.compare("uno", value, value)),
            ]
        place, found = across.carried
        last = load(w, g, place, g.lanes, mask)
        down.following += [
            w.offset(down.carried[0], w.arg.row),
            w.either(found, w.compare("uno", last, last)),
        ]
    m.add(w, f"i1 {w.any_lane(down.carried[1])}")


def add_identity(m: Module) -> None:
    """Ones on the diagonal, zeros elsewhere."""
    w, g = Writer(IDENTITY), m.s.g
    with w.loop(w.arg.n, 1, w.arg.target) as down:
        _store_row(w, m, w.arg.n, down.carried[0], Value("0.0", g.scalar))
        w.store(Value("1.0", g.scalar), w.offset(down.carried[0], w.multiply(down.index, g.size)), g.size)
        w.advance(down, w.arg.row)
    m.add(w)
