"""What AVX-512 has in hardware and other targets spell out: exponents, mantissas and scaling of whole
registers, and tables of two registers looked up by permutation. Operands wider than a register are cut and
joined here. Knows no elementary function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir_text import Value, float_literal, integer
from .writer import Builder


def available(b: Builder) -> bool:
    """Whether `b` writes for AVX-512 and fills whole registers."""
    return b.has_avx512 and b.width * b.bits_count >= 512


def _by_register(b: Builder, operation: Callable[..., Value], *operands: Value) -> Value:
    """Apply `operation` to every 512-bit part of `operands`."""
    lanes = 512 // b.bits_count
    starts = range(0, b.width, lanes)
    if len(starts) == 1:
        return operation(*operands)
    return b.join([operation(*(b.w.lanes_of(x, start, lanes) for x in operands)) for start in starts])


class _Register:
    """A 512-bit register of floats: its lanes, the mask and rounding that operations end with, their names."""

    def __init__(self, b: Builder):
        self.element = b.element
        self.lanes = 512 // b.bits_count
        self.letter = "d" if b.is_double else "s"
        self.nothing = Value("poison", self.element, self.lanes)
        self.always = (self.nothing, integer(-1, f"i{self.lanes}"), integer(4, "i32"))

    def call(self, b: Builder, name: str, *operands: Value) -> Value:
        """An intrinsic that gives a register."""
        symbol = f"@llvm.x86.avx512.{name}.p{self.letter}.512"
        b.w.declare(self.nothing.type, symbol, *operands)
        return b.w.call(self.element, self.lanes, symbol, *operands)


def exponent(b: Builder, x: Value) -> Value:
    """``floor(log2(|x|))`` as a float, denormals included; -inf for 0, inf for inf."""
    r = _Register(b)
    return _by_register(b, lambda v: r.call(b, "mask.getexp", v, *r.always), x)


def mantissa(b: Builder, x: Value) -> Value:
    """`x` scaled into [1, 2); 1 for inf, NaN for negative numbers."""
    r = _Register(b)
    return _by_register(b, lambda v: r.call(b, "mask.getmant", v, integer(8, "i32"), *r.always), x)


def scale(b: Builder, x: Value, n: Value) -> Value:
    """``x * 2**n`` for integral floating n, rounded once, overflow and denormals included."""
    r = _Register(b)
    return _by_register(b, lambda v, w: r.call(b, "mask.scalef", v, w, *r.always), x, n)


def reciprocal_root(b: Builder, x: Value) -> Value:
    """``1 / sqrt(x)`` up to a factor of ``1 + 2**-14``, exact for 0, infinity and NaN."""
    r = _Register(b)
    return _by_register(b, lambda v: r.call(b, "rsqrt14", v, *r.always[:2]), x)


def look_up(b: Builder, table: Sequence[float], index: Value) -> Value:
    """``table[index]`` for two registers, 16 doubles or 32 floats; higher bits of the index do not count."""
    r = _Register(b)
    entries = [f"{b.element} {float_literal(v, b.element)}" for v in table]
    low, high = (
        Value(f"<{', '.join(half)}>", b.element, r.lanes) for half in (entries[: r.lanes], entries[r.lanes :])
    )
    return _by_register(b, lambda i: r.call(b, "vpermi2var", low, i, high), index)
