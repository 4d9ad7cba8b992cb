"""sin, cos and tan. Ordinary arguments lose their multiple of pi by a few multiply-adds with pi split in
parts. Float arguments beyond 2**15, and all without fused multiply-add, are reduced in double; a vector that
holds a really large one takes the cold route of `reduction`. Each lane's result depends on that lane alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from . import coefficients as table
from .builder import Builder
from .definition import COLD, MathFunction, define
from .reduction import call_reduce_huge, replace_large_lanes


def sin(b: Builder, x: str) -> str:
    return _guarded(b, "sin", x)


def cos(b: Builder, x: str) -> str:
    return _guarded(b, "cos", x)


def tan(b: Builder, x: str) -> str:
    return _guarded(b, "tan", x)


def _guarded(b: Builder, name: str, x: str) -> str:
    """The function with its routes for large arguments."""
    if not b.is_double and b.has_fma:
        large = b.compare("ogt", b.abs(x), 2.0**15)
        through_double = _through_double(name, b.width)
        b.needs.append(through_double)
        y = _signed(b, name, x, _single)
        call = f"call {b.type} {through_double.symbol}({b.type} {x})"
        return b.if_any(large, y, lambda: b.select(large, b.emit(call), y))
    y = _signed(b, name, x, _double if b.is_double else _narrowed)
    return replace_large_lanes(b, name, x, y, 2.0**38 if b.has_fma else 2.0**20, _huge(name, b.has_fma))


@cache
def _through_double(name: str, width: int) -> MathFunction:
    """The float function, reduced in double."""
    b = Builder("float", width)
    y = _signed(b, name, "%x", _narrowed)
    y = replace_large_lanes(b, name, "%x", y, 2.0**38, _huge(name, True))
    return define(b, f"@tj_{name}_through_double_{b.suffix}", ("%x",), y, COLD)


# ---- reduction: (r, t, n) with x = (n + offset) * period + r + t, t a rounding error or None -------------

Reduction = Callable[[Builder, str, float, float], tuple[str, str | None, str]]


def _double(b: Builder, x: str, periods: float, offset: float) -> tuple[str, str, str]:
    """In double; `periods` is the number of periods in pi, 1 or 2."""
    n, n_int = _nearest(b, x, periods, offset)
    first, second, third = (p / periods for p in (table.PI_PARTS if b.has_fma else table.PI_PARTS_SHORT))
    r = b.fma(n, -first, x)
    if b.has_fma:
        product, error = b.two_product(n, second)
        s = b.sub(r, product)
        return s, b.fma(n, -third, b.sub(b.sub(b.sub(r, s), product), error)), n_int
    product = b.mul(n, second)
    s = b.sub(r, product)
    low = b.sub(b.mul(n, third), b.sub(b.sub(r, s), product))
    total = b.sub(s, low)
    return total, b.sub(b.sub(s, total), low), n_int


def _single(b: Builder, x: str, periods: float, offset: float) -> tuple[str, None, str]:
    """In float with fused multiply-add, for arguments to 2**15: the first product is cancelled exactly."""
    n, n_int = _nearest(b, x, periods, offset)
    first, second, third = (p / periods for p in table.PI_PARTS_FLOAT)
    return b.fma(n, -third, b.fma(n, -second, b.fma(n, -first, x))), None, n_int


def _narrowed(b: Builder, x: str, periods: float, offset: float) -> tuple[str, None, str]:
    """In double for a float argument; the remainder is rounded to float."""
    d, wide = b.widen(x)
    n, n_int = _nearest(d, wide, periods, offset)
    for part in table.PI_PARTS[:2] if b.has_fma else table.PI_PARTS_SHORT:
        wide = d.fma(n, -part / periods, wide)
    return b.narrow(wide), None, b.narrow_int(n_int)


def _nearest(b: Builder, x: str, periods: float, offset: float) -> tuple[str, str]:
    turns = b.mul(x, periods / math.pi)
    n, n_int = b.round(b.sub(turns, offset) if offset else turns)
    return (b.add(n, offset) if offset else n), n_int


# ---- polynomials ----------------------------------------------------------------------------------------


def _signed(b: Builder, name: str, x: str, reduction: Reduction) -> str:
    """The function of arguments the `reduction` is good for."""
    if name == "tan":
        y = _tan(b, *reduction(b, x, 2.0, 0.0))
        return b.select(b.compare("olt", b.abs(x), 2.0**-27 if b.is_double else 2.0**-13), x, y)
    if name == "cos":
        r, t, n = reduction(b, x, 1.0, 0.5)
        return b.flip(_half_period(b, r, t), b.int_op("shl", b.int_op("add", n, 1), b.bits_count - 1))
    r, t, n = reduction(b, b.abs(x), 1.0, 0.0)  # by |x| and its sign: -0.0 survives
    y = b.flip(_half_period(b, r, t), b.int_op("shl", n, b.bits_count - 1))
    return b.flip(y, b.sign_of(x))


def _half_period(b: Builder, r: str, t: str | None) -> str:
    """``sin(r + t)`` for ``|r| <= pi/2``; the sum is rounded first, which near pi/2 does no harm at all."""
    r = r if t is None else b.add(r, t)
    z = b.mul(r, r)
    return b.fma(b.mul(z, r), b.polynomial(z, table.SIN_DOUBLE if b.is_double else table.SIN_FLOAT), r)


def _tan(b: Builder, r: str, t: str | None, n: str) -> str:
    """tan(r + t), or -1/tan(r + t) for odd n, for ``|r| <= pi/4``."""
    if t is not None:
        s, c = _quarter_sin(b, r, t), _quarter_cos(b, r, t)
    else:
        z = b.mul(r, r)
        s, c = b.fma(b.mul(z, r), b.polynomial(z, table.TAN_QUARTER_FLOAT), r), b.value(1.0)
    odd = b.int_compare("ne", b.int_op("and", n, 1), 0)
    y = b.div(b.select(odd, c, s), b.select(odd, s, c))
    return b.flip(y, b.int_op("shl", n, b.bits_count - 1))


def _quarter_sin(b: Builder, r: str, t: str) -> str:
    """``sin(r + t)`` for ``|r| <= pi/4``, in double."""
    z = b.mul(r, r)
    tail = b.fma(z, b.mul(t, -0.5), t)
    return b.add(r, b.fma(b.mul(z, r), b.polynomial(z, table.SIN_QUARTER_DOUBLE), tail))


def _quarter_cos(b: Builder, r: str, t: str) -> str:
    """``cos(r + t)`` for ``|r| <= pi/4``, in double; the rounding of ``1 - r*r/2`` is added back."""
    z = b.mul(r, r)
    half = b.mul(z, 0.5)
    w = b.sub(1.0, half)
    error = b.fma(b.neg(r), t, b.sub(b.sub(1.0, w), half))
    return b.add(w, b.fma(b.mul(z, z), b.polynomial(z, table.COS_QUARTER_DOUBLE), error))


@cache
def _huge(name: str, fma: bool) -> MathFunction:
    """``double f(double)``: sin, cos or tan of any argument of at least 2**19; NaN for an infinite one."""
    b = Builder("double", 1, fma)
    r, t, quadrant = call_reduce_huge(b, "%x")
    s, c = _quarter_sin(b, r, t), _quarter_cos(b, r, t)
    odd = b.int_compare("ne", b.int_op("and", quadrant, 1), 0)
    half = b.int_op("shl", b.int_op("and", quadrant, 2), 62)  # quadrants 2 and 3 change the sign of both
    if name == "tan":
        y = b.div(b.select(odd, c, s), b.select(odd, s, c))
        y = b.flip(b.flip(y, b.int_op("shl", quadrant, 63)), b.sign_of("%x"))
    elif name == "sin":
        y = b.flip(b.flip(b.select(odd, c, s), half), b.sign_of("%x"))
    else:
        y = b.flip(b.flip(b.select(odd, s, c), half), b.int_op("shl", quadrant, 63))
    y = b.select(b.compare("oeq", b.abs("%x"), math.inf), math.nan, y)
    return define(b, f"@tj_{name}_huge_f64{b.variant}", ("%x",), y, COLD)
