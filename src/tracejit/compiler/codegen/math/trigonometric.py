"""sin, cos and tan. Ordinary arguments lose their multiple of pi by a few multiply-adds with pi split in
parts. Float arguments beyond 2**15, and all without fused multiply-add, are reduced in double; a vector that
holds a really large one takes the cold route of `reduction`. Each lane's result depends on that lane alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from ...ir_text import Value
from . import coefficients as table
from .definition import COLD, MathFunction, define, vector_function
from .reduction import replace_large
from .writer import Builder

FLOAT_LIMIT = 2.0**15
"""Up to here float angles are reduced in float."""


@vector_function
def sin(b: Builder, x: Value) -> Value:
    return _function(b, "sin", x)


@vector_function
def cos(b: Builder, x: Value) -> Value:
    return _function(b, "cos", x)


@vector_function
def tan(b: Builder, x: Value) -> Value:
    return _function(b, "tan", x)


def _function(b: Builder, name: str, x: Value) -> Value:
    if b.is_double:
        return _of_angle(b, name, x, _double)
    if not b.has_fma:
        return _of_angle(b, name, x, _narrowed)
    through_double = _through_double(name, b.width)
    b.needs.append(through_double)
    y = _of_angle(b, name, x, _single)
    return b.if_any(
        b.compare("ogt", b.abs(x), FLOAT_LIMIT),
        [y],
        lambda: [b.w.call(b.element, b.width, through_double.symbol, x)],
    )[0]


@cache
def _through_double(name: str, width: int) -> MathFunction:
    """The float function, reduced in double."""
    b = Builder("float", width)
    x = Value("%x", "float", width)
    y = _of_angle(b, name, x, _narrowed)
    return define(b, f"@tj_{name}_through_double_{b.suffix}", [x], y, COLD)


def _of_angle(b: Builder, name: str, x: Value, reduction: Reduction) -> Value:
    """The function by one of the reductions, computed on ``|x|``; its sign comes last, so -0.0 survives."""
    a, highest = b.abs(x), b.bits_count - 1
    if name == "cos":
        r, t, n = reduction(b, a, 1, True)
        y = b.flip(half_period(b, r, t), b.op("shl", b.op("add", n, 1), highest))
        # below this the cosine rounds to 1, which the polynomial around pi/2 may miss by its last bit
        return b.select(b.compare("olt", a, 2.0**-27 if b.is_double else 2.0**-12), 1.0, y)
    r, t, n = reduction(b, a, 1 if name == "sin" else 2, False)
    y = half_period(b, r, t) if name == "sin" else _tan(b, r, t, n)
    return b.flip(b.flip(y, b.op("shl", n, highest)), b.sign_of(x))


# ---- reduction ------------------------------------------------------------------------------------------

Reduction = Callable[[Builder, Value, int, bool], tuple[Value, Value | None, Value]]
"""``(r, t, n)`` with ``x = n pi/k + r + t`` from (builder, x, k, half): t is an error or None, and with
`half` ``n + 1/2`` takes the place of n. x is not negative."""


def _double(b: Builder, x: Value, period: int, half: bool) -> tuple[Value, Value, Value]:
    """In double."""
    n, n_int = _nearest(b, x, period, half)
    first, second, third = (p / period for p in (table.PI_PARTS if b.has_fma else table.PI_PARTS_SHORT))
    r = b.fma(n, -first, x)
    if b.has_fma:
        product, error = b.two_product(n, second)
        s = b.sub(r, product)
        t = b.fma(n, -third, b.sub(b.sub(b.sub(r, s), product), error))
    else:
        product = b.mul(n, second)
        s = b.sub(r, product)
        low = b.sub(b.mul(n, third), b.sub(b.sub(r, s), product))
        r, s = s, b.sub(s, low)
        t = b.sub(b.sub(r, s), low)
    limit = 2.0**38 if b.has_fma else 2.0**20
    r, t, n_int = replace_large(b, x, (s, t, n_int), limit, period, half)
    return r, t, n_int


def _single(b: Builder, x: Value, period: int, half: bool) -> tuple[Value, None, Value]:
    """In float with fused multiply-add, for arguments to 2**15: the first product is cancelled exactly."""
    n, n_int = _nearest(b, x, period, half)
    for part in table.PI_PARTS_FLOAT:
        x = b.fma(n, -part / period, x)
    return x, None, n_int


def _narrowed(b: Builder, x: Value, period: int, half: bool) -> tuple[Value, Value | None, Value]:
    """In double for a float argument; the remainder is rounded to float, and tan alone needs the error."""
    d, wide = b.widen(x)
    r, t, n = _double(d, wide, period, half)
    r = d.add(r, t)
    short = b.narrow(r)
    error = b.narrow(d.sub(r, b.widen(short)[1])) if period == 2 else None
    return short, error, b.narrow_int(n)


def _nearest(b: Builder, x: Value, period: int, half: bool) -> tuple[Value, Value]:
    """The multiple as a float, with its half, and as an integer."""
    turns = b.mul(x, period / math.pi)
    n, n_int = b.round(b.sub(turns, 0.5) if half else turns)
    return (b.add(n, 0.5) if half else n), n_int


# ---- polynomials ----------------------------------------------------------------------------------------


def half_period(b: Builder, r: Value, t: Value | None) -> Value:
    """``sin(r + t)`` for ``|r| <= pi/2``; the sum is rounded first, which near pi/2 does no harm at all."""
    r = r if t is None else b.add(r, t)
    z = b.mul(r, r)
    return b.fma(b.mul(z, r), b.polynomial(z, table.SIN_DOUBLE if b.is_double else table.SIN_FLOAT), r)


def _tan(b: Builder, r: Value, t: Value | None, n: Value) -> Value:
    """tan(r + t), or -1/tan(r + t) for odd n but for its sign, for ``|r| <= pi/4``."""
    if b.is_double and t is not None:
        s, c = _quarter_sin(b, r, t), _quarter_cos(b, r, t)
    else:
        s, c = _quarter_tan(b, r, t), b.value(1.0)
    odd = b.compare("ne", b.op("and", n, 1), 0)
    return b.div(b.select(odd, c, s), b.select(odd, s, c))


def _quarter_tan(b: Builder, r: Value, t: Value | None) -> Value:
    """``tan(r + t)`` for ``|r| <= pi/4``, in float."""
    z = b.mul(r, r)
    cube, p = b.mul(z, r), b.polynomial(z, table.TAN_QUARTER_FLOAT)
    if t is None:
        return b.fma(cube, p, r)
    return b.add(r, b.fma(cube, p, b.fma(t, z, t)))


def _quarter_sin(b: Builder, r: Value, t: Value) -> Value:
    """``sin(r + t)`` for ``|r| <= pi/4``, in double."""
    z = b.mul(r, r)
    tail = b.fma(z, b.mul(t, -0.5), t)
    return b.add(r, b.fma(b.mul(z, r), b.polynomial(z, table.SIN_QUARTER_DOUBLE), tail))


def _quarter_cos(b: Builder, r: Value, t: Value) -> Value:
    """``cos(r + t)`` for ``|r| <= pi/4``, in double; the rounding of ``1 - r*r/2`` is added back."""
    z = b.mul(r, r)
    half = b.mul(z, 0.5)
    w = b.sub(1.0, half)
    error = b.fma(b.neg(r), t, b.sub(b.sub(1.0, w), half))
    return b.add(w, b.fma(b.mul(z, z), b.polynomial(z, table.COS_QUARTER_DOUBLE), error))
