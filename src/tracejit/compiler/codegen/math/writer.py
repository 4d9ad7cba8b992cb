"""The instruction writer of the vector math library: one method, one line of LLVM IR text, for one element
type and one vector width. It knows types, constants and the few exact-arithmetic idioms (error-free products
and sums, rounding by a magic number); it knows no elementary function, no coefficient and no LLVM binding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...ir_text import IRWriter, float_literal, phi, shuffle_mask, suffix, vector_type

Operand = str | float | int
"""An SSA name or constant text (`str`), or a Python number that becomes a splat constant."""


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
        self.element, self.width, self.has_fma, self.has_avx512 = element, width, fma, avx512
        self.is_double = element == "double"
        self.bits_count, self.mantissa, self.bias = (64, 52, 1023) if self.is_double else (32, 23, 127)
        self.integer = f"i{self.bits_count}"
        self.suffix = suffix(element, width)
        self.type = self.vector_of(element)
        self.integer_type = self.vector_of(self.integer)
        self.bool_type = self.vector_of("i1")
        self.magic = 6755399441055744.0 if self.is_double else 12582912.0
        self.magic_bits = 0x4338000000000000 if self.is_double else 0x4B400000
        self.sign_bit = -(1 << (self.bits_count - 1))
        self.variant = "" if fma else "_nofma"
        self.variant += "_avx512" if avx512 else ""
        self.w = IRWriter()
        self.globals: list[str] = []
        self.needs: list[Any] = []

    def vector_of(self, scalar: str) -> str:
        """Type of `width` lanes of `scalar`."""
        return vector_type(scalar, self.width)

    def view(self, element: str) -> Builder:
        """A builder of the same width for another element type, writing to the same function."""
        other = Builder(element, self.width, self.has_fma, self.has_avx512)
        other.w, other.globals, other.needs = self.w, self.globals, self.needs
        return other

    # Operands and raw instructions

    def emit(self, instruction: str) -> str:
        """Append one instruction and name its result."""
        return self.w.let(instruction)

    def value(self, x: Operand) -> str:
        """Text of a floating operand."""
        if isinstance(x, str):
            return x
        text = float_literal(float(x), self.element)
        return f"splat ({self.element} {text})" if self.width > 1 else text

    def int_value(self, x: Operand) -> str:
        """Text of an integer operand."""
        if isinstance(x, str):
            return x
        return f"splat ({self.integer} {x})" if self.width > 1 else str(x)

    # Floating point

    def add(self, a: Operand, b: Operand) -> str:
        return self.emit(f"fadd {self.type} {self.value(a)}, {self.value(b)}")

    def sub(self, a: Operand, b: Operand) -> str:
        return self.emit(f"fsub {self.type} {self.value(a)}, {self.value(b)}")

    def mul(self, a: Operand, b: Operand) -> str:
        return self.emit(f"fmul {self.type} {self.value(a)}, {self.value(b)}")

    def div(self, a: Operand, b: Operand) -> str:
        return self.emit(f"fdiv {self.type} {self.value(a)}, {self.value(b)}")

    def neg(self, a: Operand) -> str:
        return self.emit(f"fneg {self.type} {self.value(a)}")

    def intrinsic(self, name: str, *operands: Operand) -> str:
        """Call ``llvm.<name>`` on floating operands; only for those that lower to instructions."""
        symbol = f"@llvm.{name}.{self.suffix}"
        self.w.declare(self.type, symbol, *[self.type] * len(operands))
        arguments = ", ".join(f"{self.type} {self.value(x)}" for x in operands)
        return self.emit(f"call {self.type} {symbol}({arguments})")

    def fma(self, a: Operand, b: Operand, c: Operand) -> str:
        """``a * b + c``, rounded once where the target can; never relied on to be exact."""
        if self.has_fma:
            return self.intrinsic("fma", a, b, c)
        return self.add(self.mul(a, b), c)

    def abs(self, a: Operand) -> str:
        return self.intrinsic("fabs", a)

    def copysign(self, magnitude: Operand, sign: Operand) -> str:
        return self.intrinsic("copysign", magnitude, sign)

    def sqrt(self, a: Operand) -> str:
        return self.intrinsic("sqrt", a)

    def compare(self, predicate: str, a: Operand, b: Operand) -> str:
        return self.emit(f"fcmp {predicate} {self.type} {self.value(a)}, {self.value(b)}")

    def select(self, condition: str, a: Operand, b: Operand) -> str:
        first, second = self.value(a), self.value(b)
        return self.emit(f"select {self.bool_type} {condition}, {self.type} {first}, {self.type} {second}")

    def minimum(self, x: Operand, bound: Operand) -> str:
        """The smaller of `x` and `bound`; NaN in `x` stays."""
        return self.select(self.compare("ogt", x, bound), bound, x)

    def clamp(self, x: Operand, low: float, high: float) -> str:
        """`x` limited to ``[low, high]``; NaN stays."""
        x = self.minimum(x, high)
        return self.select(self.compare("olt", x, low), low, x)

    def polynomial(self, x: Operand, coefficients: Sequence[Operand]) -> str:
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

    def int_op(self, operation: str, a: Operand, b: Operand) -> str:
        return self.emit(f"{operation} {self.integer_type} {self.int_value(a)}, {self.int_value(b)}")

    def int_compare(self, predicate: str, a: Operand, b: Operand) -> str:
        return self.emit(f"icmp {predicate} {self.integer_type} {self.int_value(a)}, {self.int_value(b)}")

    def logical(self, operation: str, a: str, b: str) -> str:
        """Combine two conditions with ``and``, ``or`` or ``xor``."""
        return self.emit(f"{operation} {self.bool_type} {a}, {b}")

    def bits(self, a: Operand) -> str:
        return self.emit(f"bitcast {self.type} {self.value(a)} to {self.integer_type}")

    def from_bits(self, a: Operand) -> str:
        return self.emit(f"bitcast {self.integer_type} {self.int_value(a)} to {self.type}")

    def sign_of(self, a: Operand) -> str:
        """The sign bit of `a` alone, as an integer."""
        return self.int_op("and", self.bits(a), self.sign_bit)

    def flip(self, a: Operand, sign: str) -> str:
        """`a` with its bits xor-ed with the integer `sign`."""
        return self.from_bits(self.int_op("xor", self.bits(a), sign))

    def power_of_two(self, n: str) -> str:
        """2**n for integers in the normal exponent range."""
        return self.from_bits(self.int_op("shl", self.int_op("add", n, self.bias), self.mantissa))

    def scale(self, x: str, n: str) -> str:
        """``x * 2**n`` in two exact-until-the-last steps, so that overflow and denormals come out right."""
        if self.is_double:  # no arithmetic 64-bit shift before AVX-512
            half = self.int_op("sub", self.int_op("lshr", self.int_op("add", n, 4096), 1), 2048)
        else:
            half = self.int_op("ashr", n, 1)
        x = self.mul(x, self.power_of_two(half))
        return self.mul(x, self.power_of_two(self.int_op("sub", n, half)))

    def round(self, x: Operand) -> tuple[str, str]:
        """Nearest integer of `x` as a float and as an integer, for ``|x| < 2**51`` (float: ``2**22``)."""
        shifted = self.add(x, self.magic)
        return self.sub(shifted, self.magic), self.int_op("sub", self.bits(shifted), self.magic_bits)

    # Control flow

    def if_any(
        self, condition: str, usual: Sequence[tuple[str, str]], rare: Callable[[], Sequence[str]]
    ) -> list[str]:
        """The values of `usual`, (type, name) each, replaced by those of `rare` where `condition` holds.

        What `rare` writes is a block beside the straight line, entered if any lane needs it; the other lanes
        keep their usual values, so that no lane depends on its neighbours.
        """
        lane = condition
        if self.width > 1:
            symbol = f"@llvm.vector.reduce.or.v{self.width}i1"
            self.w.declare("i1", symbol, self.bool_type)
            condition = self.emit(f"call i1 {symbol}({self.bool_type} {condition})")
        label, start = self.w.fresh("rare"), self.w.block
        done = f"after.{label}"
        self.w.fork(condition, label, done, ', !prof !{!"branch_weights", i32 1, i32 4000}')
        self.w.label(label)
        merged = [
            self.emit(f"select {self.bool_type} {lane}, {kind} {new}, {kind} {old}")
            for (kind, old), new in zip(usual, rare(), strict=True)
        ]
        end = self.w.block
        self.w.branch(done)
        self.w.label(done)
        return [
            self.emit(phi(kind, (old, start), (new, end)))
            for (kind, old), new in zip(usual, merged, strict=True)
        ]

    # Exact arithmetic

    def split(self, a: Operand) -> tuple[str, str]:
        """Veltkamp's split in two half-length parts."""
        c = self.mul(a, 134217729.0 if self.is_double else 4097.0)
        high = self.sub(c, self.sub(c, a))
        return high, self.sub(a, high)

    def two_product(self, a: Operand, b: Operand) -> tuple[str, str]:
        """``(p, e)`` with ``a * b == p + e`` exactly."""
        p = self.mul(a, b)
        if self.has_fma:
            return p, self.fma(a, b, self.neg(p))
        ah, al = self.split(a)
        bh, bl = (ah, al) if a is b else self.split(b)
        e = self.sub(self.mul(ah, bh), p)
        e = self.add(self.add(e, self.mul(ah, bl)), self.mul(al, bh))
        return p, self.add(e, self.mul(al, bl))

    def two_sum(self, a: Operand, b: Operand) -> tuple[str, str]:
        """``(s, e)`` with ``a + b == s + e`` exactly."""
        s = self.add(a, b)
        v = self.sub(s, a)
        return s, self.add(self.sub(a, self.sub(s, v)), self.sub(b, v))

    def fast_two_sum(self, a: Operand, b: Operand) -> tuple[str, str]:
        """`two_sum` for ``|a| >= |b|``."""
        s = self.add(a, b)
        return s, self.sub(b, self.sub(s, a))

    # Conversions

    def widen(self, x: str) -> tuple[Builder, str]:
        """`x` in double precision, with the builder for it."""
        double = self.view("double")
        return double, self.emit(f"fpext {self.type} {x} to {double.type}")

    def narrow(self, x: str) -> str:
        """A double vector rounded to this builder's ``float``."""
        return self.emit(f"fptrunc {self.vector_of('double')} {x} to {self.type}")

    def narrow_int(self, n: str) -> str:
        """A 64-bit integer vector truncated to this builder's 32 bits."""
        return self.emit(f"trunc {self.vector_of('i64')} {n} to {self.integer_type}")

    def to_float(self, n: str) -> str:
        """Signed integers converted; double precision only for ``|n| < 2**51``."""
        if self.is_double:
            return self.sub(self.from_bits(self.int_op("add", n, self.magic_bits)), self.magic)
        return self.emit(f"sitofp {self.integer_type} {n} to {self.type}")

    # Tables

    def load_pairs(self, table: str, index: str) -> tuple[str, str]:
        """Both halves of ``table[index]``, a table of pairs, lane by lane.

        One load of a pair for each lane and shuffles: measured faster than two gathers, slow on no target.
        """
        pair = f"<2 x {self.element}>"
        if self.width == 1:
            joined = self._load_pair(table, pair, index)
            return (
                self.emit(f"extractelement {pair} {joined}, i32 0"),
                self.emit(f"extractelement {pair} {joined}, i32 1"),
            )
        lanes = [self.emit(f"extractelement {self.integer_type} {index}, i32 {i}") for i in range(self.width)]
        parts = [self._load_pair(table, pair, lane) for lane in lanes]
        size, joined = 2 * self.width, self.join(parts, 2)
        kind = f"<{size} x {self.element}>"
        even, odd = (shuffle_mask(range(half, size, 2)) for half in (0, 1))
        return (
            self.emit(f"shufflevector {kind} {joined}, {kind} poison, {even}"),
            self.emit(f"shufflevector {kind} {joined}, {kind} poison, {odd}"),
        )

    def join(self, parts: Sequence[str], size: int) -> str:
        """One vector of all `parts`, vectors of `size` lanes, a power of two of them."""
        while len(parts) > 1:
            kind, mask = f"<{size} x {self.element}>", shuffle_mask(range(2 * size))
            parts = [
                self.emit(f"shufflevector {kind} {first}, {kind} {second}, {mask}")
                for first, second in zip(parts[::2], parts[1::2], strict=True)
            ]
            size *= 2
        return parts[0]

    def _load_pair(self, table: str, pair: str, index: str) -> str:
        pointer = self.emit(f"getelementptr inbounds {pair}, ptr {table}, {self.integer} {index}")
        return self.emit(f"load {pair}, ptr {pointer}, align {self.bits_count // 4}")
