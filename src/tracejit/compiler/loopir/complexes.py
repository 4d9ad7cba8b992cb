"""Complex arithmetic on pairs of reals, for the builder: the loop IR itself knows real scalars only.

Formulas: division by Smith's scaling; functions by their real and imaginary parts (Abramowitz and Stegun 4.2,
4.3, 4.5); square root by the half-angle form that never subtracts close numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Val(NamedTuple):
    """A scalar of the loop IR with its dtype."""

    operand: Any
    dtype: np.dtype


class Pair(NamedTuple):
    """A complex scalar: two real ones."""

    re: Val
    im: Val

    @property
    def dtype(self) -> np.dtype:
        return np.dtype("complex64" if self.re.dtype.itemsize == 4 else "complex128")


def lifted(b: Any, x: Any) -> Pair:
    """A real scalar as a complex one."""
    return x if isinstance(x, Pair) else Pair(x, b.constant(0.0, x.dtype))


def add(b: Any, x: Pair, y: Pair) -> Pair:
    return Pair(b.compute("add", x.re, y.re), b.compute("add", x.im, y.im))


def sub(b: Any, x: Pair, y: Pair) -> Pair:
    return Pair(b.compute("sub", x.re, y.re), b.compute("sub", x.im, y.im))


def mul(b: Any, x: Pair, y: Pair) -> Pair:
    c = b.compute
    return Pair(
        c("sub", c("mul", x.re, y.re), c("mul", x.im, y.im)),
        c("add", c("mul", x.re, y.im), c("mul", x.im, y.re)),
    )


def div(b: Any, x: Pair, y: Pair) -> Pair:
    """Smith: divide by the larger part of the denominator first; operation by operation as NumPy's kernel does."""
    c = b.compute
    wide = c("ge", c("abs", y.re), c("abs", y.im))
    big, small = c("select", wide, y.re, y.im), c("select", wide, y.im, y.re)
    zero, one = b.constant(0.0, big.dtype), b.constant(1.0, big.dtype)
    none = c("and", c("eq", big, zero), c("eq", small, zero))
    big = c("select", none, zero, big)  # the sign of a zero does not count
    ratio = c("div", small, big)
    scale = c("div", one, c("select", none, zero, c("add", big, c("mul", small, ratio))))
    p, q = c("select", wide, x.re, x.im), c("select", wide, x.im, x.re)
    along, across = (c("select", none, zero, c("mul", v, ratio)) for v in (q, p))
    turned = c("select", wide, c("sub", q, across), c("sub", across, q))
    return Pair(c("mul", c("add", p, along), scale), c("mul", turned, scale))


def neg(b: Any, x: Pair) -> Pair:
    return Pair(b.compute("neg", x.re), b.compute("neg", x.im))


def hypot(b: Any, x: Pair) -> Val:
    c = b.compute
    a, d = c("abs", x.re), c("abs", x.im)
    big, small = c("max", a, d), c("min", a, d)
    zero, one, inf = (b.constant(v, big.dtype) for v in (0.0, 1.0, np.inf))
    special = c("or", c("eq", big, zero), c("eq", big, inf))
    ratio = c("div", small, c("select", special, one, big))
    size = c("mul", big, c("sqrt", c("add", one, c("mul", ratio, ratio))))
    endless = c("or", c("eq", a, inf), c("eq", d, inf))
    return c("select", endless, inf, c("select", special, big, size))


def exp(b: Any, x: Pair) -> Pair:
    """Of an infinite real part the size is known without an angle: inf or 0, as C has it."""
    c = b.compute
    size, cosine = c("exp", x.re), c("cos", x.im)
    zero, inf = b.constant(0.0, x.im.dtype), b.constant(np.inf, x.im.dtype)
    flat = c("eq", x.im, zero)
    lost = c("and", c("isnan", cosine), c("eq", c("abs", x.re), inf))
    none = c("and", lost, c("lt", x.re, zero))
    signed = c("select", c("lt", x.im, zero), b.constant(-0.0, x.im.dtype), zero)
    turned = c("select", none, signed, c("mul", size, c("sin", x.im)))
    return Pair(c("select", lost, size, c("mul", size, cosine)), c("select", flat, x.im, turned))


def log(b: Any, x: Pair) -> Pair:
    """log |x| = log m + log1p((n / m)^2) / 2 with parts m >= n; for m near 1 log1p((m - 1)(m + 1) + n^2) / 2."""
    c = b.compute
    a, d = c("abs", x.re), c("abs", x.im)
    big, small = c("max", a, d), c("min", a, d)
    zero, half, one, inf = (b.constant(v, big.dtype) for v in (0.0, 0.5, 1.0, np.inf))
    near = c("and", c("le", half, big), c("le", big, b.constant(1.5, big.dtype)))
    special = c("or", c("eq", big, zero), c("eq", big, inf))
    ratio = c("select", special, zero, c("div", small, c("select", special, one, big)))
    past = c("add", c("mul", c("sub", big, one), c("add", big, one)), c("mul", small, small))
    part = c("mul", half, c("log1p", c("select", near, past, c("mul", ratio, ratio))))
    size = c("select", near, part, c("add", c("log", big), part))
    endless = c("or", c("eq", a, inf), c("eq", d, inf))
    return Pair(c("select", endless, inf, size), c("atan2", x.im, x.re))


def _below_zero(b: Any, x: Val) -> Val:
    """Negative, or the negative zero."""
    zero, one = b.constant(0.0, x.dtype), b.constant(1.0, x.dtype)
    return b.compute("or", b.compute("lt", x, zero), b.compute("lt", b.compute("div", one, x), zero))


def sqrt(b: Any, x: Pair) -> Pair:
    """Parts are scaled by powers of 4 first where their sum would overflow or their halves vanish."""
    c, limits = b.compute, np.finfo(x.re.dtype)
    half, zero, one, inf = (b.constant(v, x.re.dtype) for v in (0.5, 0.0, 1.0, np.inf))
    big = c("max", c("abs", x.re), c("abs", x.im))
    huge = c("lt", b.constant(float(limits.max) / 4, big.dtype), big)
    tiny = c("lt", big, b.constant(float(limits.tiny) * 4, big.dtype))
    by, back = (
        c(
            "select",
            huge,
            b.constant(4.0**-k, big.dtype),
            c("select", tiny, b.constant(4.0**n, big.dtype), one),
        )
        for k, n in ((1, 30), (-0.5, -15))
    )
    x = Pair(c("mul", x.re, by), c("mul", x.im, by))
    size, along = hypot(b, x), c("abs", x.re)
    large = c("lt", one, size)  # where the sum may overflow; elsewhere the halves may vanish
    halves = c("add", c("mul", half, size), c("mul", half, along))
    main = c("sqrt", c("select", large, halves, c("mul", half, c("add", size, along))))
    still = c("eq", main, zero)
    other = c("select", still, zero, c("div", c("mul", half, c("abs", x.im)), c("select", still, half, main)))
    right = c("ge", x.re, zero)
    endless = c("eq", c("abs", x.im), inf)
    re = c("select", endless, inf, c("mul", back, c("select", right, main, other)))
    im = c("select", endless, inf, c("mul", back, c("select", right, other, main)))
    return Pair(re, c("select", _below_zero(b, x.im), c("neg", im), im))


def _times(b: Any, part: Val, size: Val) -> Val:
    """A sine or cosine times a hyperbolic function: 0 where either is 0, whatever the other."""
    c = b.compute
    zero, one = b.constant(0.0, part.dtype), b.constant(1.0, part.dtype)

    def sign(v: Val) -> Val:
        return c("select", c("isnan", v), one, c("max", c("min", v, one), c("neg", one)))

    product = c("select", c("eq", size, zero), c("mul", size, sign(part)), c("mul", part, size))
    return c("select", c("eq", part, zero), c("mul", part, sign(size)), product)


def _with_cosine(b: Any, angle: Val, function: str, x: Val) -> Val:
    """A cosine times a hyperbolic function; as C has it infinite for an infinite `x`, whatever the angle."""
    c = b.compute
    cosine, inf = c("cos", angle), b.constant(np.inf, x.dtype)
    lost = c("and", c("isnan", cosine), c("eq", c("abs", x), inf))
    return c("select", lost, inf, _times(b, cosine, c(function, x)))


def sin(b: Any, x: Pair) -> Pair:
    c = b.compute
    return Pair(_times(b, c("sin", x.re), c("cosh", x.im)), _with_cosine(b, x.re, "sinh", x.im))


def cos(b: Any, x: Pair) -> Pair:
    c = b.compute
    turned = _times(b, c("sin", x.re), c("sinh", x.im))
    return Pair(_with_cosine(b, x.re, "cosh", x.im), c("neg", turned))


def sinh(b: Any, x: Pair) -> Pair:
    c = b.compute
    return Pair(_with_cosine(b, x.im, "sinh", x.re), _times(b, c("sin", x.im), c("cosh", x.re)))


def cosh(b: Any, x: Pair) -> Pair:
    """``cos(ix)``"""
    return cos(b, Pair(b.compute("neg", x.im), x.re))


def tan(b: Any, x: Pair) -> Pair:
    """``-i tanh(ix)``"""
    turned = tanh(b, Pair(b.compute("neg", x.im), x.re))
    return Pair(turned.im, b.compute("neg", turned.re))


def tanh(b: Any, x: Pair) -> Pair:
    """tanh(x + iy) = (t (1 + u^2) + i u (1 - t^2)) / (1 + t^2 u^2), t = tanh x, u = tan y."""
    c = b.compute
    one = b.constant(1.0, x.re.dtype)
    t, u = c("tanh", x.re), c("tan", x.im)
    tt, uu = c("mul", t, t), c("mul", u, u)
    scale = c("add", one, c("mul", tt, uu))
    zero, inf = b.constant(0.0, one.dtype), b.constant(np.inf, one.dtype)
    known = c("or", c("eq", c("abs", x.re), inf), c("eq", t, zero))  # whatever the angle
    endless = c("and", c("eq", c("abs", x.re), inf), c("isnan", u))
    re = c("select", known, t, c("div", c("mul", t, c("add", one, uu)), scale))
    im = c("select", endless, zero, c("div", c("mul", u, c("sub", one, tt)), scale))
    return Pair(re, c("select", c("eq", u, zero), u, im))


def sigmoid(b: Any, x: Pair) -> Pair:
    one = lifted(b, b.constant(1.0, x.re.dtype))
    return div(b, one, add(b, one, exp(b, neg(b, x))))


def power(b: Any, x: Pair, y: Pair) -> Pair:
    """exp(y log x); as NumPy has it products for y = 1, 2, -1, and 0 ** y is 0 for Re y > 0, 1 for y = 0, else NaN."""
    c = b.compute
    general = exp(b, mul(b, y, log(b, x)))
    zero, one = b.constant(0.0, x.re.dtype), b.constant(1.0, x.re.dtype)
    none = c("and", c("eq", x.re, zero), c("eq", x.im, zero))
    flat = c("and", c("eq", y.re, zero), c("eq", y.im, zero))
    of_none = c("select", c("lt", zero, y.re), zero, b.constant(np.nan, x.re.dtype))
    re = c("select", flat, one, c("select", none, of_none, general.re))
    raised = Pair(re, c("select", flat, zero, c("select", none, of_none, general.im)))
    for exponent, product in ((1.0, x), (2.0, mul(b, x, x)), (-1.0, div(b, lifted(b, one), x))):
        exact = c("and", c("eq", y.re, b.constant(exponent, one.dtype)), c("eq", y.im, zero))
        if exponent < 0:
            exact = c("and", exact, c("not", none))
        raised = Pair(*(c("select", exact, p, f) for p, f in zip(product, raised, strict=True)))
    return raised


def eq(b: Any, x: Pair, y: Pair) -> Val:
    return b.compute("and", b.compute("eq", x.re, y.re), b.compute("eq", x.im, y.im))


def ne(b: Any, x: Pair, y: Pair) -> Val:
    return b.compute("or", b.compute("ne", x.re, y.re), b.compute("ne", x.im, y.im))


def isnan(b: Any, x: Pair) -> Val:
    return b.compute("or", b.compute("isnan", x.re), b.compute("isnan", x.im))


#: What takes a pair apart.
PARTS: dict[str, Callable[..., Any]] = {
    "conj": lambda b, x: Pair(x.re, b.compute("neg", x.im)),
    "real": lambda b, x: x.re,
    "imag": lambda b, x: x.im,
}
