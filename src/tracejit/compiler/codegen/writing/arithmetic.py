"""Operations of more than a few instructions, as functions of any width: Python's division and remainder of
integers and floats, integer powers, and two exact conversions. All are free of traps and of libm.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ... import ir_text
from ...ir_text import TRUE, Value, constant, kind_of, suffix
from ..math import MathFunction
from .scopes import HoistingWriter

INLINED = "alwaysinline nounwind willreturn memory(none)"
CALLED = "noinline nounwind memory(none)"


class FunctionWriter(HoistingWriter):
    """Writes a function of vectors of one type."""

    def __init__(self, dtype: np.dtype, lanes: int):
        super().__init__()
        self.dtype = dtype
        self.lanes = lanes
        self.kind: str = kind_of(dtype)

    def number(self, value: float, dtype: np.dtype | None = None) -> Value:
        return self.splat(constant(value, dtype or self.dtype), self.lanes)


# ---- integers -------------------------------------------------------------------------------------------


def _quotient(x: FunctionWriter, a: Value, b: Value) -> tuple[Value, Value]:
    """Rounded down, and the remainder with the sign of `b`; both 0 for b = 0."""
    zero, one = x.number(0), x.number(1)
    none = x.compare("eq", b, zero)
    if x.dtype.kind == "u":
        divisor = x.select(none, one, b)
        q, r = x.binary("udiv", a, divisor), x.binary("urem", a, divisor)
        return x.select(none, zero, q), r
    negated = x.binary("sub", zero, a)
    minus = x.compare("eq", b, x.number(-1))
    divisor = x.select(x.binary("or", none, minus), one, b)
    q, r = x.binary("sdiv", a, divisor), x.binary("srem", a, divisor)
    differ = x.compare("slt", x.binary("xor", r, divisor), zero)
    down = x.binary("and", differ, x.compare("ne", r, zero))
    q = x.select(down, x.binary("sub", q, one), q)
    r = x.select(down, x.binary("add", r, divisor), r)
    return x.select(none, zero, x.select(minus, negated, q)), r


def _integer_power(x: FunctionWriter, a: Value, b: Value) -> Value:
    """By squaring; a negative exponent leaves 1/a truncated, 0 for a = 0."""
    zero, one = x.number(0), x.number(1)
    base, exponent = a, b
    if x.dtype.kind == "i":
        negative = x.compare("slt", b, zero)
        unit = x.binary("or", x.compare("eq", a, one), x.compare("eq", a, x.number(-1)))
        other = x.binary("xor", unit, x.splat(TRUE, x.lanes))
        base = x.select(x.binary("and", negative, other), zero, a)
        exponent = x.select(negative, x.binary("or", x.binary("and", b, one), x.number(2)), b)
    loop = x.open_repeat([base, exponent, one])
    square, rest, product = loop.values
    odd = x.compare("ne", x.binary("and", rest, one), zero)
    product = x.select(odd, x.binary("mul", product, square), product)
    square, rest = x.binary("mul", square, square), x.binary("lshr", rest, one)
    return x.close_repeat(loop, [square, rest, product], x.any_lane(x.compare("ne", rest, zero)))[2]


# ---- floats ---------------------------------------------------------------------------------------------


def _remainder(x: FunctionWriter, a: Value, b: Value) -> Value:
    """C's fmod, exactly: subtract the divisor times falling powers of two. Every step is without rounding."""
    top, bottom = x.intrinsic("fabs", a), x.intrinsic("fabs", b)
    infinity, zero = x.number(float("inf")), x.number(0.0)
    usable = x.binary("and", x.compare("olt", top, infinity), x.compare("ogt", bottom, zero))
    divisor = x.select(usable, bottom, infinity)
    half = x.select(usable, x.binary("fmul", top, x.number(0.5)), zero)
    up = x.open_repeat([divisor])
    (scale,) = up.values
    scale = x.select(x.compare("ole", scale, half), x.binary("fadd", scale, scale), scale)
    (scale,) = x.close_repeat(up, [scale], x.any_lane(x.compare("ole", scale, half)))
    down = x.open_repeat([top, scale])
    left, scale = down.values
    fits = x.binary("and", x.compare("oge", left, scale), x.compare("oge", scale, divisor))
    left, scale = x.select(fits, x.binary("fsub", left, scale), left), x.binary("fmul", scale, x.number(0.5))
    more = x.binary("and", x.compare("oge", left, divisor), x.compare("oge", scale, divisor))
    left, _ = x.close_repeat(down, [left, scale], x.any_lane(more))
    whole = x.binary("or", x.compare("ogt", bottom, zero), x.compare("uno", b, b))
    finite = x.binary("and", whole, x.compare("olt", top, infinity))
    result = x.select(finite, left, x.number(float("nan")))
    result = x.select(x.compare("uno", b, b), b, x.select(x.compare("uno", a, a), a, result))
    return x.intrinsic("copysign", result, a)


def _float_quotient(x: FunctionWriter, a: Value, b: Value) -> tuple[Value, Value]:
    """NumPy's floor_divide and remainder: the remainder has the sign of `b`, and both agree."""
    zero, one = x.number(0.0), x.number(1.0)
    r = _remainder(x, a, b)
    raw = x.binary("fdiv", x.binary("fsub", a, r), b)
    exact = x.compare("oeq", r, zero)
    differ = x.binary("xor", x.compare("olt", r, zero), x.compare("olt", b, zero))
    down = x.binary("and", differ, x.compare("one", r, zero))
    q = x.select(down, x.binary("fsub", raw, one), raw)
    rest = x.select(exact, x.intrinsic("copysign", zero, b), x.select(down, x.binary("fadd", r, b), r))
    low = x.intrinsic("floor", q)
    low = x.select(x.compare("ogt", x.binary("fsub", q, low), x.number(0.5)), x.binary("fadd", low, one), low)
    plain = x.binary("fdiv", a, b)
    q = x.select(x.compare("oeq", q, zero), x.intrinsic("copysign", zero, plain), low)
    q = x.select(x.compare("oeq", b, zero), plain, q)
    return q, rest


# ---- conversions ----------------------------------------------------------------------------------------


def _narrow_to_odd(x: FunctionWriter, a: Value) -> Value:
    """float64 to float32, rounded to odd and given back widened: a further rounding to half is then right."""
    near = x.convert("fptrunc", a, "float")
    back = x.convert("fpext", near, "double")
    word = x.convert("bitcast", near, "i32")
    zero, one, minus = (x.number(n, np.dtype(np.int32)) for n in (0, 1, -1))
    even = x.compare("eq", x.binary("and", word, one), zero)
    wrong = x.binary("and", x.compare("one", a, back), even)
    up = x.compare("olt", x.intrinsic("fabs", back), x.intrinsic("fabs", a))
    step = x.select(up, one, minus)
    moved = x.select(wrong, x.binary("add", word, step), word)
    return x.convert("fpext", x.convert("bitcast", moved, "float"), "double")


def _to_uint64(x: FunctionWriter, a: Value) -> Value:
    """Truncated; negative numbers wrap around. The bits come back as those of an i64."""
    limit = x.number(2.0**63)
    large = x.compare("oge", a, limit)
    reduced = x.select(large, x.binary("fsub", a, limit), a)
    whole = x.convert("fptosi", reduced, "i64")
    whole = x.unary("freeze", whole)
    return x.select(large, x.binary("xor", whole, x.number(-(2**63), np.dtype(np.int64))), whole)


_BODIES: dict[str, dict[str, Callable[..., Value]]] = {
    "floordiv": {
        "i": lambda x, a, b: _quotient(x, a, b)[0], "u": lambda x, a, b: _quotient(x, a, b)[0],
        "f": lambda x, a, b: _float_quotient(x, a, b)[0],
    },
    "mod": {
        "i": lambda x, a, b: _quotient(x, a, b)[1], "u": lambda x, a, b: _quotient(x, a, b)[1],
        "f": lambda x, a, b: _float_quotient(x, a, b)[1],
    },
    "pow": {"i": _integer_power, "u": _integer_power},
    "narrow_to_odd": {"f": _narrow_to_odd},
    "to_uint64": {"f": _to_uint64},
}  # fmt: skip

NAMES = ("floordiv", "mod", "pow")


@cache
def function(name: str, dtype: np.dtype, lanes: int) -> MathFunction:
    """The function for vectors of `lanes`; its result has the type of its arguments unless it converts.

    Raises
    ------
    KeyError
        If there is none for this dtype.
    """
    x = FunctionWriter(dtype, lanes)
    count = 2 if name in NAMES else 1
    arguments = [Value(f"%a{p}", x.kind, lanes) for p in range(count)]
    result = _BODIES[name][dtype.kind](x, *arguments)
    symbol = f"@tj_{name}_{dtype.kind if dtype.kind == 'u' else ''}{suffix(x.kind, lanes)}"
    loops = name == "pow" or (dtype.kind == "f" and name in NAMES)
    spelled = ", ".join(a.typed for a in arguments)
    head = f"internal {result.type} {symbol}({spelled}) {CALLED if loops else INLINED}"
    return MathFunction(
        symbol, ir_text.function(head, x, result.typed), frozenset(x.declares.values()), (), ()
    )
