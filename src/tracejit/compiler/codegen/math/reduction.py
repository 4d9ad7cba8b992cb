"""Remainders of huge angles by Payne and Hanek's method, in scalar integer arithmetic. Vector functions reach
it through a branch that is almost never taken, so it is written to be small, not fast. It knows nothing of
what is computed from the remainder.
"""

from __future__ import annotations

import math
from functools import cache

from ...ir_text import FALSE, Value, integer, vector_type
from . import coefficients as table
from .definition import SMALL, MathFunction, byte_table, define
from .writer import Builder

_BYTES = 176
_TABLE = "@tj_two_over_pi"
_REDUCTION = (Value("%offset", "i64"), Value("%shift", "i64"), Value("%period", "double"))


def _table_text() -> str:
    """The bits of 2/pi as one little-endian integer, zeros above: a window is an unaligned load."""
    return byte_table(_TABLE, table.TWO_OVER_PI.to_bytes(_BYTES, "little"), 16)


_REMAINDER = f"""
  %bits = bitcast double %x to i64
  %field = lshr i64 %bits, 52
  %biased = and i64 %field, 2047
  %fraction = and i64 %bits, 4503599627370495
  %m = or i64 %fraction, 4503599627370496
  %needed = sub i64 {1090 + 1075}, %biased
  %padded = add i64 %needed, 7
  %position = and i64 %padded, -8
  %spare = sub i64 %position, %needed
  %shifted = shl i64 %m, %spare
  %byte = lshr i64 %position, 3
  %p0 = getelementptr inbounds i8, ptr {_TABLE}, i64 %byte
  %p1 = getelementptr inbounds i8, ptr %p0, i64 8
  %p2 = getelementptr inbounds i8, ptr %p0, i64 16
  %w0 = load i64, ptr %p0, align 1
  %w1 = load i64, ptr %p1, align 1
  %w2 = load i64, ptr %p2, align 1
  %m.wide = zext i64 %shifted to i128
  %w0.wide = zext i64 %w0 to i128
  %w1.wide = zext i64 %w1 to i128
  %product0 = mul i128 %w0.wide, %m.wide
  %product1 = mul i128 %w1.wide, %m.wide
  %product2 = mul i64 %w2, %shifted
  %carry = lshr i128 %product0, 64
  %middle = add i128 %carry, %product1
  %turns.low = trunc i128 %middle to i64
  %middle.up = lshr i128 %middle, 64
  %middle.high = trunc i128 %middle.up to i64
  %turns.all = add i64 %middle.high, %product2
  %turns = sub i64 %turns.all, %offset
  %rest = call i64 @llvm.fshl.i64(i64 %turns, i64 %turns.low, i64 %shift)
  %rest.low = shl i64 %turns.low, %shift
  %sign = ashr i64 %rest, 63
  %keep = sub i64 64, %shift
  %floor = lshr i64 %turns, %keep
  %multiple = sub i64 %floor, %sign
  %distance = xor i64 %rest, %sign
  %distance.low = xor i64 %rest.low, %sign
  %zeros = call i64 @llvm.ctlz.i64(i64 %distance, i1 false)
  %normal = call i64 @llvm.fshl.i64(i64 %distance, i64 %distance.low, i64 %zeros)
  %normal.low = shl i64 %distance.low, %zeros
  %first.int = lshr i64 %normal, 11
  %join = call i64 @llvm.fshl.i64(i64 %normal, i64 %normal.low, i64 42)
  %second.int = and i64 %join, 9007199254740991
  %first = sitofp i64 %first.int to double
  %second = sitofp i64 %second.int to double
  %exponent = sub i64 {1023 - 53}, %zeros
  %exponent.bits = shl i64 %exponent, 52
  %sign.bit = and i64 %sign, -9223372036854775808
  %unit.bits = or i64 %exponent.bits, %sign.bit
  %unit = bitcast i64 %unit.bits to double"""


def _triple(b: Builder) -> str:
    """Type of (remainder, its rounding error, multiple)."""
    return f"{{ {b.type}, {b.type}, {vector_type(b.integer, b.width)} }}"


def _parameters(width: int) -> list[Value]:
    return [Value("%x", "double", width), *_REDUCTION]


@cache
def _remainder(fma: bool) -> MathFunction:
    """Remainder, error and multiple of a huge positive finite angle, of (x, offset, shift, period).

    Of ``x 2/pi`` modulo 4 it forms 128 bits: 53 bits of mantissa times the 192 bits of 2/pi that start where
    whole multiples of four end. `offset` is subtracted from the upper 64; the period in them is
    ``pi / 2**(shift - 1)``, and `period` is that over pi. Good for any x of at least 2**-60.
    """
    b = Builder("double", 1, fma)
    first, second, unit = (Value(f"%{name}", "double") for name in ("first", "second", "unit"))
    b.w.lines.extend(_REMAINDER.strip("\n").split("\n"))
    word = integer(0)
    b.w.declare("i64", "@llvm.ctlz.i64", word, FALSE)
    b.w.declare("i64", "@llvm.fshl.i64", word, word, word)
    b.globals.append(_table_text())
    pi_high, pi_low = table.PI_PARTS[:2]
    product, error = b.two_product(first, pi_high)
    error = b.fma(first, pi_low, b.fma(b.mul(second, 2.0**-53), pi_high, error))
    unit = b.mul(unit, _REDUCTION[-1])
    r, t = (b.mul(part, unit) for part in b.fast_two_sum(product, error))
    result = _packed(b, r, t, Value("%multiple", "i64"))
    return define(b, f"@tj_remainder_f64{b.variant}", _parameters(1), result, SMALL)


def _packed(b: Builder, *parts: Value) -> Value:
    """Remainder, error and multiple as one value."""
    kind = _triple(b)
    result = Value("poison", kind)
    for k, part in enumerate(parts):
        result = b.w.pure(kind, 1, f"insertvalue {result.typed}, {part.typed}, {k}", result, part)
    return result


@cache
def _remainders(width: int, fma: bool) -> MathFunction:
    """`_remainder` of every lane: a loop, for vectors."""
    b = Builder("double", width, fma)
    one = _remainder(fma)
    b.needs.append(one)
    single = _triple(Builder("double", 1))
    kinds = (("r", b.element), ("t", b.element), ("n", b.integer))
    following = {f: Value(f"%{f}.next", kind, width) for f, kind in kinds}
    b.w.lines += ["  br label %lane", "lane:", "  %i = phi i32 [ 0, %entry ], [ %i.next, %lane ]"]
    b.w.lines += [f"  %{f} = phi {v.type} [ poison, %entry ], [ {v}, %lane ]" for f, v in following.items()]
    b.w.lines += [
        f"  %element = extractelement {b.type} %x, i32 %i",
        f"  %all = call {single} {one.symbol}(double %element, i64 %offset, i64 %shift, double %period)",
    ]
    for k, (f, v) in enumerate(following.items()):
        b.w.lines.append(f"  %{f}.one = extractvalue {single} %all, {k}")
        b.w.lines.append(f"  {v} = insertelement {v.type} %{f}, {v.kind} %{f}.one, i32 %i")
    b.w.lines += [
        "  %i.next = add nuw nsw i32 %i, 1",
        f"  %end = icmp eq i32 %i.next, {width}",
        "  br i1 %end, label %done, label %lane",
        "done:",
    ]
    result = _packed(b, *following.values())
    return define(b, f"@tj_remainders_{b.suffix}{b.variant}", _parameters(width), result, SMALL)


def replace_large(
    b: Builder, x: Value, values: tuple[Value, Value, Value], limit: float, period: int, half: bool
) -> list[Value]:
    """Remainder, its error and multiple, `values`, made anew in lanes where the double x is beyond `limit`.

    The period is ``pi / period``; with `half`, multiples count from half a period on. x is not negative.
    """
    r, t, n = values
    large = b.compare("ogt", x, limit)

    def anew() -> tuple[Value, Value, Value]:
        function = _remainders(b.width, b.has_fma) if b.width > 1 else _remainder(b.has_fma)
        b.needs.append(function)
        angle, kind = b.select(large, x, limit), _triple(b)
        offset, shift = integer(1 << 62 if half else 0), integer(1 if period == 1 else 2)
        operands = angle, offset, shift, Value(str(1 / period), "double")
        result = b.w.call(kind, 1, function.symbol, *operands)
        remainder, error, multiple = (
            b.w.pure(part.kind, part.lanes, f"extractvalue {result.typed}, {k}", result)
            for k, part in enumerate(values)
        )
        return b.select(b.compare("oeq", x, math.inf), math.nan, remainder), error, multiple

    return b.if_any(large, [r, t, n], anew)
