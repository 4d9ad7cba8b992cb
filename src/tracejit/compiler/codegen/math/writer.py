"""Arithmetic of the vector math library on the writer of LLVM text: for one element type and one vector width, with
Python numbers as operands. It knows types, constants and the few exact-arithmetic idioms (error-free products and sums,
rounding by a magic number); it knows no elementary function, no coefficient and no LLVM binding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir_text import Value, Writer, float_literal, integer, suffix, vector_type

Operand = Value | float | int
"""A value, or a Python number that becomes a constant of the other operand's type, else of the element type."""


class Builder:
    """Writes straight-line IR for values of one element type and width.

    Parameters
    ----------
    element : str
        ``"float"`` or ``"double"``.
    width : int
        Lanes; 1 means plain scalars.
    fma : bool
        Whether the target fuses multiply-add.  Without it `fma` is a product and a sum, and exact products
        use Dekker's splitting.
    avx512 : bool
        Whether the target has AVX-512, which does in one instruction some of what is spelt out otherwise.
    """

    def __init__(self, element: str, width: int, fma: bool = True, avx512: bool = False):
        self.element = element
        self.width = width
        self.has_fma = fma
        self.has_avx512 = avx512
        self.is_double: bool = element == "double"
        self.bits_count, self.mantissa, self.bias = (64, 52, 1023) if self.is_double else (32, 23, 127)
        self.integer: str = f"i{self.bits_count}"
        self.suffix: str = suffix(element, width)
        self.type: str = vector_type(element, width)
        self.magic: float = 6755399441055744.0 if self.is_double else 12582912.0
        self.magic_bits = 0x4338000000000000 if self.is_double else 0x4B400000
        self.sign_bit = -(1 << (self.bits_count - 1))
        self.variant = "" if fma else "_nofma"
        self.variant += "_avx512" if avx512 else ""
        self.w: Writer = Writer()
        self.globals: list[str] = []
        self.needs: list[Any] = []

    def view(self, element: str) -> Builder:
        """A builder of the same width for another element type, writing to the same function."""
        other = Builder(element, self.width, self.has_fma, self.has_avx512)
        other.w, other.globals, other.needs = self.w, self.globals, self.needs
        return other

    # Operands and instructions

    def value(self, x: Operand, like: Operand = 0.0) -> Value:
        """An operand as a value: a number becomes a constant of the type that `like` has."""
        if isinstance(x, Value):
            return x
        kind = like.kind if isinstance(like, Value) else self.element
        number = integer(int(x), kind) if kind[0] == "i" else Value(float_literal(float(x), kind), kind)
        return self.w.splat(number, self.width)

    def op(self, operation: str, a: Operand, b: Operand) -> Value:
        """An instruction of two operands, such as ``fadd``, ``lshr`` or, for conditions too, ``and``."""
        return self.w.binary(operation, self.value(a, b), self.value(b, a))

    def compare(self, relation: str, a: Operand, b: Operand) -> Value:
        return self.w.compare(relation, self.value(a, b), self.value(b, a))

    def select(self, condition: Value, a: Operand, b: Operand) -> Value:
        return self.w.select(condition, self.value(a, b), self.value(b, a))

    # Floating point

    def add(self, a: Operand, b: Operand) -> Value:
        return self.op("fadd", a, b)

    def sub(self, a: Operand, b: Operand) -> Value:
        return self.op("fsub", a, b)

    def mul(self, a: Operand, b: Operand) -> Value:
        return self.op("fmul", a, b)

    def div(self, a: Operand, b: Operand) -> Value:
        return self.op("fdiv", a, b)

    def neg(self, a: Value) -> Value:
        return self.w.unary("fneg", a)

    def fma(self, a: Operand, b: Operand, c: Operand) -> Value:
        """``a * b + c``, rounded once where the target can; never relied on to be exact."""
        if self.has_fma:
            return self.w.intrinsic("fma", *map(self.value, (a, b, c)))
        return self.add(self.mul(a, b), c)

    def abs(self, a: Value) -> Value:
        return self.w.intrinsic("fabs", a)

    def copysign(self, magnitude: Value, sign: Value) -> Value:
        return self.w.intrinsic("copysign", magnitude, sign)

    def sqrt(self, a: Value) -> Value:
        return self.w.intrinsic("sqrt", a)

    def minimum(self, x: Operand, bound: Operand) -> Value:
        """The smaller of `x` and `bound`; NaN in `x` stays."""
        return self.select(self.compare("ogt", x, bound), bound, x)

    def clamp(self, x: Operand, low: float, high: float) -> Value:
        """`x` limited to ``[low, high]``; NaN stays."""
        x = self.minimum(x, high)
        return self.select(self.compare("olt", x, low), low, x)

    def polynomial(self, x: Operand, coefficients: Sequence[Operand]) -> Value:
        """Coefficients from the constant term up, by Horner's scheme.

        Long ones are two chains in x*x below the constant term, which halves the wait and costs no accuracy.
        """
        if len(coefficients) >= 8:
            square, (first, *rest) = self.mul(x, x), coefficients
            even = self.polynomial(square, rest[::2])
            return self.fma(self.fma(self.polynomial(square, rest[1::2]), x, even), x, first)
        result = self.value(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            result = self.fma(result, x, c)
        return result

    # Integers and bit patterns

    def bits(self, a: Value) -> Value:
        return self.w.convert("bitcast", a, self.integer)

    def from_bits(self, a: Value) -> Value:
        return self.w.convert("bitcast", a, self.element)

    def sign_of(self, a: Value) -> Value:
        """The sign bit of `a` alone, as an integer."""
        return self.op("and", self.bits(a), self.sign_bit)

    def flip(self, a: Value, sign: Value) -> Value:
        """`a` with its bits xor-ed with the integer `sign`."""
        return self.from_bits(self.op("xor", self.bits(a), sign))

    def power_of_two(self, n: Value) -> Value:
        """2**n for integers in the normal exponent range."""
        return self.from_bits(self.op("shl", self.op("add", n, self.bias), self.mantissa))

    def scale(self, x: Value, n: Value) -> Value:
        """``x * 2**n`` in two exact-until-the-last steps, so that overflow and denormals come out right."""
        if self.is_double:  # no arithmetic 64-bit shift before AVX-512
            half = self.op("sub", self.op("lshr", self.op("add", n, 4096), 1), 2048)
        else:
            half = self.op("ashr", n, 1)
        x = self.mul(x, self.power_of_two(half))
        return self.mul(x, self.power_of_two(self.op("sub", n, half)))

    def round(self, x: Operand) -> tuple[Value, Value]:
        """Nearest integer of `x` as a float and as an integer, for ``|x| < 2**51`` (float: ``2**22``)."""
        shifted = self.add(x, self.magic)
        return self.sub(shifted, self.magic), self.op("sub", self.bits(shifted), self.magic_bits)

    # Control flow

    def if_any(
        self, condition: Value, usual: Sequence[Value], rare: Callable[[], Sequence[Value]]
    ) -> list[Value]:
        """The values of `usual`, replaced by those of `rare` where `condition` holds.

        What `rare` writes is a block beside the straight line, entered if any lane needs it; the other lanes
        keep their usual values, so that no lane depends on its neighbours.
        """
        any_lane = self.w.any_lane(condition)
        with self.w.replacing(
            any_lane, usual, "rare", ', !prof !{!"branch_weights", i32 1, i32 4000}'
        ) as merged:
            made = zip(usual, rare(), strict=True)
            merged += [self.w.select(condition, new, old) for old, new in made]
        return merged

    # Exact arithmetic

    def split(self, a: Operand) -> tuple[Value, Value]:
        """Veltkamp's split in two half-length parts."""
        c = self.mul(a, 134217729.0 if self.is_double else 4097.0)
        high = self.sub(c, self.sub(c, a))
        return high, self.sub(a, high)

    def two_product(self, a: Operand, b: Operand) -> tuple[Value, Value]:
        """``(p, e)`` with ``a * b == p + e`` exactly."""
        p = self.mul(a, b)
        if self.has_fma:
            return p, self.fma(a, b, self.neg(p))
        ah, al = self.split(a)
        bh, bl = (ah, al) if a is b else self.split(b)
        e = self.sub(self.mul(ah, bh), p)
        e = self.add(self.add(e, self.mul(ah, bl)), self.mul(al, bh))
        return p, self.add(e, self.mul(al, bl))

    def two_sum(self, a: Operand, b: Operand) -> tuple[Value, Value]:
        """``(s, e)`` with ``a + b == s + e`` exactly."""
        s = self.add(a, b)
        v = self.sub(s, a)
        return s, self.add(self.sub(a, self.sub(s, v)), self.sub(b, v))

    def fast_two_sum(self, a: Operand, b: Operand) -> tuple[Value, Value]:
        """`two_sum` for ``|a| >= |b|``."""
        s = self.add(a, b)
        return s, self.sub(b, self.sub(s, a))

    # Conversions

    def widen(self, x: Value) -> tuple[Builder, Value]:
        """`x` in double precision, with the builder for it."""
        return self.view("double"), self.w.convert("fpext", x, "double")

    def narrow(self, x: Value) -> Value:
        """A double vector rounded to this builder's ``float``."""
        return self.w.convert("fptrunc", x, self.element)

    def narrow_int(self, n: Value) -> Value:
        """A 64-bit integer vector truncated to this builder's 32 bits."""
        return self.w.convert("trunc", n, self.integer)

    def to_float(self, n: Value) -> Value:
        """Signed integers converted; double precision only for ``|n| < 2**51``."""
        if self.is_double:
            return self.sub(self.from_bits(self.op("add", n, self.magic_bits)), self.magic)
        return self.w.convert("sitofp", n, self.element)

    # Tables

    def load_pairs(self, table: str, index: Value) -> tuple[Value, Value]:
        """Both halves of ``table[index]``, a table of pairs, lane by lane.

        One load of a pair for each lane and shuffles: measured faster than two gathers, slow on no target.
        """
        if self.width == 1:
            joined = self._load_pair(table, index)
            return self.w.lane(joined, 0), self.w.lane(joined, 1)
        lanes = [self.w.lane(index, lane) for lane in range(self.width)]
        joined = self.join([self._load_pair(table, lane) for lane in lanes])
        return self.w.shuffle(range(0, 2 * self.width, 2), joined), self.w.shuffle(
            range(1, 2 * self.width, 2), joined
        )

    def join(self, parts: Sequence[Value]) -> Value:
        """One vector of all `parts`, a power of two of them."""
        while len(parts) > 1:
            both = range(2 * parts[0].lanes)
            parts = [self.w.shuffle(both, a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]

    def _load_pair(self, table: str, index: Value) -> Value:
        pair = vector_type(self.element, 2)
        pointer = self.w.pure("ptr", 1, f"getelementptr inbounds {pair}, ptr {table}, {index.typed}", index)
        return self.w.load(self.element, pointer, self.bits_count // 4, 2)
