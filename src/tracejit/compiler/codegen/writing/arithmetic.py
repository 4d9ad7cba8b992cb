"""Operations of more than a few instructions, as functions of any width: Python's division and remainder of
integers and floats, integer powers, and two exact conversions. All are free of traps and of libm.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ... import ir_text
from ...ir_text import kind_of, suffix, vector_type
from ..math import MathFunction
from .scopes import TRUE, Value, Writer, constant

INLINED = "alwaysinline nounwind willreturn memory(none)"
CALLED = "noinline nounwind memory(none)"


class Lines:
    """Straight-line arithmetic over one type, one instruction a method."""

    def __init__(self, w: Writer, dtype: np.dtype, lanes: int):
        self.w, self.dtype, self.lanes, self.kind = w, dtype, lanes, kind_of(dtype)

    def number(self, value: float) -> Value:
        return self.w.splat(constant(value, self.dtype), self.lanes)

    def do(self, op: str, a: Value, b: Value) -> Value:
        return self.w.put(a.kind, self.lanes, f"{op} {a.typed}, {b.text}", a, b)

    def test(self, relation: str, a: Value, b: Value) -> Value:
        return self.w.put("i1", self.lanes, f"{relation} {a.typed}, {b.text}", a, b)

    def select(self, test: Value, a: Value, b: Value) -> Value:
        return self.w.put(a.kind, self.lanes, f"select {test.typed}, {a.typed}, {b.typed}", test, a, b)

    def unary(self, name: str, a: Value) -> Value:
        return self.w.intrinsic(name, self.kind, self.lanes, a)

    def copy_sign(self, a: Value, b: Value) -> Value:
        return self.w.intrinsic("copysign", self.kind, self.lanes, a, b)

    def convert(self, op: str, a: Value, kind: str) -> Value:
        return self.w.put(kind, self.lanes, f"{op} {a.typed} to {vector_type(kind, self.lanes)}", a)

    def any(self, test: Value) -> Value:
        if self.lanes == 1:
            return test
        name = f"@llvm.vector.reduce.or.{suffix('i1', self.lanes)}"
        self.w.declares.add(f"declare i1 {name}({vector_type('i1', self.lanes)})")
        return self.w.put("i1", 1, f"call i1 {name}({test.typed})", test)


# ---- integers -------------------------------------------------------------------------------------------


def _quotient(x: Lines, a: Value, b: Value) -> tuple[Value, Value]:
    """Rounded down, and the remainder with the sign of `b`; both 0 for b = 0."""
    zero, one = x.number(0), x.number(1)
    none = x.test("icmp eq", b, zero)
    if x.dtype.kind == "u":
        divisor = x.select(none, one, b)
        q, r = x.do("udiv", a, divisor), x.do("urem", a, divisor)
        return x.select(none, zero, q), r
    negated = x.do("sub", zero, a)
    minus = x.test("icmp eq", b, x.number(-1))
    divisor = x.select(x.do("or", none, minus), one, b)
    q, r = x.do("sdiv", a, divisor), x.do("srem", a, divisor)
    differ = x.test("icmp slt", x.do("xor", r, divisor), zero)
    down = x.do("and", differ, x.test("icmp ne", r, zero))
    q = x.select(down, x.do("sub", q, one), q)
    r = x.select(down, x.do("add", r, divisor), r)
    return x.select(none, zero, x.select(minus, negated, q)), r


def _integer_power(x: Lines, a: Value, b: Value) -> Value:
    """By squaring; a negative exponent leaves 1/a truncated, 0 for a = 0."""
    w, zero, one = x.w, x.number(0), x.number(1)
    base, exponent = a, b
    if x.dtype.kind == "i":
        negative = x.test("icmp slt", b, zero)
        unit = x.do("or", x.test("icmp eq", a, one), x.test("icmp eq", a, x.number(-1)))
        other = x.do("xor", unit, x.w.splat(TRUE, x.lanes))
        base = x.select(x.do("and", negative, other), zero, a)
        exponent = x.select(negative, x.do("or", x.do("and", b, one), x.number(2)), b)
    loop = w.open_repeat([base, exponent, one])
    square, rest, product = loop.values
    odd = x.test("icmp ne", x.do("and", rest, one), zero)
    product = x.select(odd, x.do("mul", product, square), product)
    square, rest = x.do("mul", square, square), x.do("lshr", rest, one)
    return w.close_repeat(loop, [square, rest, product], x.any(x.test("icmp ne", rest, zero)))[2]


# ---- floats ---------------------------------------------------------------------------------------------


def _remainder(x: Lines, a: Value, b: Value) -> Value:
    """C's fmod, exactly: subtract the divisor times falling powers of two. Every step is without rounding."""
    w = x.w
    top, bottom = x.unary("fabs", a), x.unary("fabs", b)
    infinity, zero = x.number(float("inf")), x.number(0.0)
    usable = x.do("and", x.test("fcmp olt", top, infinity), x.test("fcmp ogt", bottom, zero))
    divisor = x.select(usable, bottom, infinity)
    half = x.select(usable, x.do("fmul", top, x.number(0.5)), zero)
    up = w.open_repeat([divisor])
    (scale,) = up.values
    scale = x.select(x.test("fcmp ole", scale, half), x.do("fadd", scale, scale), scale)
    (scale,) = w.close_repeat(up, [scale], x.any(x.test("fcmp ole", scale, half)))
    down = w.open_repeat([top, scale])
    left, scale = down.values
    fits = x.do("and", x.test("fcmp oge", left, scale), x.test("fcmp oge", scale, divisor))
    left, scale = x.select(fits, x.do("fsub", left, scale), left), x.do("fmul", scale, x.number(0.5))
    more = x.do("and", x.test("fcmp oge", left, divisor), x.test("fcmp oge", scale, divisor))
    left, _ = w.close_repeat(down, [left, scale], x.any(more))
    whole = x.do("or", x.test("fcmp ogt", bottom, zero), x.test("fcmp uno", b, b))
    finite = x.do("and", whole, x.test("fcmp olt", top, infinity))
    result = x.select(finite, left, x.number(float("nan")))
    result = x.select(x.test("fcmp uno", b, b), b, x.select(x.test("fcmp uno", a, a), a, result))
    return x.copy_sign(result, a)


def _float_quotient(x: Lines, a: Value, b: Value) -> tuple[Value, Value]:
    """NumPy's floor_divide and remainder: the remainder has the sign of `b`, and both agree."""
    zero, one = x.number(0.0), x.number(1.0)
    r = _remainder(x, a, b)
    raw = x.do("fdiv", x.do("fsub", a, r), b)
    exact = x.test("fcmp oeq", r, zero)
    differ = x.do("xor", x.test("fcmp olt", r, zero), x.test("fcmp olt", b, zero))
    down = x.do("and", differ, x.test("fcmp one", r, zero))
    q = x.select(down, x.do("fsub", raw, one), raw)
    rest = x.select(exact, x.copy_sign(zero, b), x.select(down, x.do("fadd", r, b), r))
    low = x.unary("floor", q)
    low = x.select(x.test("fcmp ogt", x.do("fsub", q, low), x.number(0.5)), x.do("fadd", low, one), low)
    plain = x.do("fdiv", a, b)
    q = x.select(x.test("fcmp oeq", q, zero), x.copy_sign(zero, plain), low)
    q = x.select(x.test("fcmp oeq", b, zero), plain, q)
    return q, rest


# ---- conversions ----------------------------------------------------------------------------------------


def _narrow_to_odd(x: Lines, a: Value) -> Value:
    """float64 to float32, rounded to odd and given back widened: a further rounding to half is then right."""
    near = x.convert("fptrunc", a, "float")
    back = x.convert("fpext", near, "double")
    word = x.convert("bitcast", near, "i32")
    i32 = Lines(x.w, np.dtype(np.int32), x.lanes)
    even = x.test("icmp eq", i32.do("and", word, i32.number(1)), i32.number(0))
    wrong = x.do("and", x.test("fcmp one", a, back), even)
    up = x.test("fcmp olt", x.unary("fabs", back), x.unary("fabs", a))
    step = x.select(up, i32.number(1), i32.number(-1))
    moved = x.select(wrong, i32.do("add", word, step), word)
    return x.convert("fpext", x.convert("bitcast", moved, "float"), "double")


def _to_uint64(x: Lines, a: Value) -> Value:
    """Truncated; negative numbers wrap around. The bits come back as those of an i64."""
    limit = x.number(2.0**63)
    i64 = Lines(x.w, np.dtype(np.int64), x.lanes)
    large = x.test("fcmp oge", a, limit)
    reduced = x.select(large, x.do("fsub", a, limit), a)
    whole = x.convert("fptosi", reduced, "i64")
    whole = x.w.put("i64", x.lanes, f"freeze {whole.typed}", whole)
    return x.select(large, i64.do("xor", whole, i64.number(-(2**63))), whole)


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
    w = Writer()
    x = Lines(w, dtype, lanes)
    count = 2 if name in NAMES else 1
    arguments = [Value(f"%a{p}", x.kind, lanes) for p in range(count)]
    result = _BODIES[name][dtype.kind](x, *arguments)
    symbol = f"@tj_{name}_{dtype.kind if dtype.kind == 'u' else ''}{suffix(x.kind, lanes)}"
    loops = name == "pow" or (dtype.kind == "f" and name in NAMES)
    spelled = ", ".join(a.typed for a in arguments)
    head = f"internal {vector_type(result.kind, lanes)} {symbol}({spelled}) {CALLED if loops else INLINED}"
    return MathFunction(symbol, ir_text.function(head, w, result.typed), frozenset(w.declares), (), ())
