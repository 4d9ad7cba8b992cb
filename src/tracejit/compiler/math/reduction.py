"""Reduction of huge trigonometric arguments by Payne and Hanek's method, in scalar integer arithmetic. Vector
functions reach it through one branch that is almost never taken; nothing here is meant to be fast.
"""

from __future__ import annotations

from functools import cache

from . import coefficients as table
from .builder import Builder
from .definition import COLD, MathFunction, define

_BITS = 1280
_BYTES = 176
_TABLE = "@tj_two_over_pi"


def _table_text() -> str:
    """The bits of 2/pi as one little-endian integer, zeros above: a window is an unaligned load."""
    data = table.TWO_OVER_PI.to_bytes(_BITS // 8, "little").ljust(_BYTES, b"\0")
    text = "".join(f"\\{byte:02X}" for byte in data)
    return f'{_TABLE} = internal constant [{_BYTES} x i8] c"{text}", align 16'


_FRACTION = f"""
  %bits = bitcast double %x to i64
  %field = lshr i64 %bits, 52
  %biased = and i64 %field, 2047
  %fraction = and i64 %bits, 4503599627370495
  %m = or i64 %fraction, 4503599627370496
  %needed = sub i64 {1090 + 1075}, %biased
  %padded = add i64 %needed, 7
  %position = and i64 %padded, -8
  %shift = sub i64 %position, %needed
  %shifted = shl i64 %m, %shift
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
  %product2.wide = zext i64 %product2 to i128
  %top = shl i128 %product2.wide, 64
  %turns = add i128 %top, %middle
  %rest = shl i128 %turns, 2
  %below = icmp slt i128 %rest, 0
  %floor = lshr i128 %turns, 126
  %floor.low = trunc i128 %floor to i64
  %up = zext i1 %below to i64
  %quadrant = add i64 %floor.low, %up
  %negated = sub i128 0, %rest
  %distance = select i1 %below, i128 %negated, i128 %rest
  %zeros = call i128 @llvm.ctlz.i128(i128 %distance, i1 false)
  %normal = shl i128 %distance, %zeros
  %high = lshr i128 %normal, 75
  %high.int = trunc i128 %high to i64
  %low = lshr i128 %normal, 22
  %low.wide = trunc i128 %low to i64
  %low.int = and i64 %low.wide, 9007199254740991
  %high.double = sitofp i64 %high.int to double
  %low.double = sitofp i64 %low.int to double
  %zeros.int = trunc i128 %zeros to i64
  %exponent = sub i64 {1023 - 53}, %zeros.int
  %exponent.bits = shl i64 %exponent, 52
  %sign.wide = select i1 %below, i64 -9223372036854775808, i64 0
  %unit.bits = or i64 %exponent.bits, %sign.wide
  %unit = bitcast i64 %unit.bits to double"""


@cache
def reduce_huge(fma: bool) -> MathFunction:
    """``{double, double, i64} f(double x)``: a remainder of ``|x|`` by pi/2, its error and the quadrant.

    Valid for finite ``|x| >= 2**19``. Of ``|x| 2/pi`` modulo 4 it forms 128 bits: 53 bits of mantissa times
    the 192 bits of 2/pi that start where whole multiples of four end.
    """
    b = Builder("double", 1, fma)
    b.lines.extend(_FRACTION.strip("\n").split("\n"))
    b.declares.add("declare i128 @llvm.ctlz.i128(i128, i1)")
    b.globals.append(_table_text())
    high = b.mul("%high.double", "%unit")
    low = b.mul(b.mul("%low.double", 2.0**-53), "%unit")
    product, error = b.two_product(high, table.HALF_PI[0])
    error = b.fma(high, table.HALF_PI[1], error)
    error = b.fma(low, table.HALF_PI[0], error)
    r, t = b.fast_two_sum(product, error)
    pair = "{ double, double, i64 }"
    first = b.emit(f"insertvalue {pair} poison, double {r}, 0")
    second = b.emit(f"insertvalue {pair} {first}, double {t}, 1")
    third = b.emit(f"insertvalue {pair} {second}, i64 %quadrant, 2")
    name = f"@tj_reduce_huge_f64{b.variant}"
    return define(b, name, ("%x",), third, COLD, pair)


def call_reduce_huge(b: Builder, x: str) -> tuple[str, str, str]:
    """Call `reduce_huge` from a scalar double function: remainder, its error, quadrant."""
    function = reduce_huge(b.has_fma)
    b.needs.append(function)
    pair = "{ double, double, i64 }"
    result = b.emit(f"call {pair} {function.symbol}(double {x})")
    return (
        b.emit(f"extractvalue {pair} {result}, 0"),
        b.emit(f"extractvalue {pair} {result}, 1"),
        b.emit(f"extractvalue {pair} {result}, 2"),
    )


def replace_large_lanes(b: Builder, name: str, x: str, y: str, limit: float, huge: MathFunction) -> str:
    """`y`, with ``huge(x)`` in every lane where ``|x| > limit``: a branch around a cold call."""
    cold = _cold_lanes(name, b.element, b.width, b.has_fma, limit, huge)
    b.needs.append(cold)
    large = b.compare("ogt", b.abs(x), limit)
    return b.if_any(large, y, lambda: b.emit(f"call {b.type} {cold.symbol}({b.type} {x}, {b.type} {y})"))


@cache
def _cold_lanes(
    name: str, element: str, width: int, fma: bool, limit: float, huge: MathFunction
) -> MathFunction:
    """A loop over lanes that calls `huge` for the large ones."""
    b = Builder(element, width, fma)
    scalar = Builder(element, 1, fma)
    scalar.lines = b.lines
    symbol = f"@tj_{name}_large_{b.suffix}{b.variant}"
    b.needs.append(huge)
    if width == 1:
        return define(b, symbol, ("%x", "%y"), _call_huge(scalar, "%x", huge), COLD)
    b.lines += [
        "  br label %lane",
        "lane:",
        "  %i = phi i32 [ 0, %entry ], [ %next, %join ]",
        f"  %result = phi {b.type} [ %y, %entry ], [ %merged, %join ]",
        f"  %element = extractelement {b.type} %x, i32 %i",
    ]
    large = scalar.compare("ogt", scalar.abs("%element"), limit)
    b.declares |= scalar.declares
    b.lines += [f"  br i1 {large}, label %huge, label %join", "huge:"]
    value = _call_huge(scalar, "%element", huge)
    inserted = b.emit(f"insertelement {b.type} %result, {element} {value}, i32 %i")
    b.lines += [
        "  br label %join",
        "join:",
        f"  %merged = phi {b.type} [ %result, %lane ], [ {inserted}, %huge ]",
        "  %next = add nuw nsw i32 %i, 1",
        f"  %end = icmp eq i32 %next, {width}",
        "  br i1 %end, label %done, label %lane",
        "done:",
    ]
    return define(b, symbol, ("%x", "%y"), "%merged", COLD)


def _call_huge(b: Builder, x: str, huge: MathFunction) -> str:
    """Call the scalar double function `huge` on one element."""
    if b.is_double:
        return b.emit(f"call double {huge.symbol}(double {x})")
    d, wide = b.widen(x)
    return b.narrow(d.emit(f"call double {huge.symbol}(double {wide})"))
