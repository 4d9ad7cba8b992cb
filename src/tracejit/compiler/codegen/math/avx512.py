"""What AVX-512 has in hardware and other targets spell out: exponents, mantissas and scaling of whole
registers, and tables of two registers looked up by permutation. Operands wider than a register are cut and
joined here. Knows no elementary function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir_text import float_literal, shuffle_mask
from .writer import Builder


def available(b: Builder) -> bool:
    """Whether `b` writes for AVX-512 and fills whole registers."""
    return b.has_avx512 and b.width * b.bits_count >= 512


def _by_register(b: Builder, operation: Callable[..., str], *operands: tuple[str, str]) -> str:
    """Apply `operation` to every 512-bit part of `operands`, each given as (element type, name)."""
    lanes = 512 // b.bits_count
    if b.width == lanes:
        return operation(*(name for _, name in operands))
    parts = []
    for start in range(0, b.width, lanes):
        mask = shuffle_mask(range(start, start + lanes))
        pieces = []
        for element, name in operands:
            kind = f"<{b.width} x {element}>"
            pieces.append(b.emit(f"shufflevector {kind} {name}, {kind} poison, {mask}"))
        parts.append(operation(*pieces))
    return b.join(parts, lanes)


def _register(b: Builder) -> tuple[str, str, str]:
    """Register type, mask type and the letter of the packed format."""
    return ("<8 x double>", "i8", "d") if b.is_double else ("<16 x float>", "i16", "s")


def exponent(b: Builder, x: str) -> str:
    """``floor(log2(|x|))`` as a float, denormals included; -inf for 0, inf for inf."""
    kind, mask, letter = _register(b)
    symbol = f"@llvm.x86.avx512.mask.getexp.p{letter}.512"
    b.w.declare(kind, symbol, kind, kind, mask, "i32")
    return _by_register(
        b,
        lambda v: b.emit(f"call {kind} {symbol}({kind} {v}, {kind} poison, {mask} -1, i32 4)"),
        (b.element, x),
    )


def mantissa(b: Builder, x: str) -> str:
    """`x` scaled into [1, 2); 1 for inf, NaN for negative numbers."""
    kind, mask, letter = _register(b)
    symbol = f"@llvm.x86.avx512.mask.getmant.p{letter}.512"
    b.w.declare(kind, symbol, kind, "i32", kind, mask, "i32")
    return _by_register(
        b,
        lambda v: b.emit(f"call {kind} {symbol}({kind} {v}, i32 8, {kind} poison, {mask} -1, i32 4)"),
        (b.element, x),
    )


def scale(b: Builder, x: str, n: str) -> str:
    """``x * 2**n`` for integral floating n, rounded once, overflow and denormals included."""
    kind, mask, letter = _register(b)
    symbol = f"@llvm.x86.avx512.mask.scalef.p{letter}.512"
    b.w.declare(kind, symbol, kind, kind, kind, mask, "i32")
    return _by_register(
        b,
        lambda v, w: b.emit(f"call {kind} {symbol}({kind} {v}, {kind} {w}, {kind} poison, {mask} -1, i32 4)"),
        (b.element, x),
        (b.element, n),
    )


def look_up(b: Builder, table: Sequence[float], index: str) -> str:
    """``table[index]`` for two registers, 16 doubles or 32 floats; higher bits of the index do not count."""
    kind, _, letter = _register(b)
    lanes = 512 // b.bits_count
    whole = f"<{lanes} x {b.integer}>"
    symbol = f"@llvm.x86.avx512.vpermi2var.p{letter}.512"
    b.w.declare(kind, symbol, kind, whole, kind)
    low, high = (
        "<" + ", ".join(f"{b.element} {float_literal(v, b.element)}" for v in half) + ">"
        for half in (table[:lanes], table[lanes:])
    )
    return _by_register(
        b,
        lambda i: b.emit(f"call {kind} {symbol}({kind} {low}, {whole} {i}, {kind} {high})"),
        (b.integer, index),
    )
