"""What each relocation of x86-64, aarch64 and riscv64 code means: arithmetic on bytes and addresses, nothing else.

A rule is (bytes patched, function(old word, target address, patched address) -> new word). Values that do not
fit raise ObjectError, because a truncated address is a jump into nowhere.
"""

from __future__ import annotations

from collections.abc import Callable

from tracejit.runtime.elf import ObjectError

Rule = tuple[int, Callable[[int, int, int], int]]


def _signed(value: int, bits: int) -> int:
    """`value` as a two's complement field; ObjectError when it does not fit."""
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ObjectError(f"relocation value {value:#x} does not fit in {bits} bits")
    return value & ((1 << bits) - 1)


def _unsigned(value: int, bits: int) -> int:
    if not 0 <= value < 1 << bits:
        raise ObjectError(f"relocation value {value:#x} does not fit in {bits} bits")
    return value


def _page_delta(word: int, target: int, place: int) -> int:
    """adrp: the distance in 4 KB pages, split into the instruction's low and high fields."""
    pages = _signed((target >> 12) - (place >> 12), 21)
    return (word & ~0x60FFFFE0) | ((pages & 3) << 29) | ((pages >> 2) << 5)


def _low_bits(scale: int) -> Callable[[int, int, int], int]:
    """The low 12 bits of an address, in units of ``2**scale`` bytes."""

    def patch(word: int, target: int, place: int) -> int:
        low = target & 0xFFF
        if low & ((1 << scale) - 1):
            raise ObjectError(f"address {target:#x} is not aligned to {1 << scale} bytes")
        return (word & ~(0xFFF << 10)) | ((low >> scale) << 10)

    return patch


def _branch(word: int, target: int, place: int) -> int:
    if (target - place) & 3:
        raise ObjectError("branch to an unaligned address")
    return (word & 0xFC000000) | _signed((target - place) >> 2, 26)


_X86: dict[int, Rule] = {
    1: (8, lambda word, target, place: target & (2**64 - 1)),  # R_X86_64_64
    2: (4, lambda word, target, place: _signed(target - place, 32)),  # R_X86_64_PC32
    4: (4, lambda word, target, place: _signed(target - place, 32)),  # R_X86_64_PLT32
    10: (4, lambda word, target, place: _unsigned(target, 32)),  # R_X86_64_32
    11: (4, lambda word, target, place: _signed(target, 32)),  # R_X86_64_32S
    24: (8, lambda word, target, place: (target - place) & (2**64 - 1)),  # R_X86_64_PC64
}
for _kind in (9, 41, 42):  # GOTPCREL, GOTPCRELX, REX_GOTPCRELX: the target is the symbol's table slot
    _X86[_kind] = _X86[2]

_ARM: dict[int, Rule] = {
    257: (8, lambda word, target, place: target & (2**64 - 1)),  # R_AARCH64_ABS64
    258: (4, lambda word, target, place: _unsigned(target, 32)),  # R_AARCH64_ABS32
    260: (8, lambda word, target, place: (target - place) & (2**64 - 1)),  # R_AARCH64_PREL64
    261: (4, lambda word, target, place: _signed(target - place, 32)),  # R_AARCH64_PREL32
    275: (4, _page_delta),  # ADR_PREL_PG_HI21
    277: (4, _low_bits(0)),  # ADD_ABS_LO12_NC
    278: (4, _low_bits(0)),  # LDST8_ABS_LO12_NC
    282: (4, _branch),  # JUMP26
    283: (4, _branch),  # CALL26
    284: (4, _low_bits(1)),  # LDST16_ABS_LO12_NC
    285: (4, _low_bits(2)),  # LDST32_ABS_LO12_NC
    286: (4, _low_bits(3)),  # LDST64_ABS_LO12_NC
    299: (4, _low_bits(4)),  # LDST128_ABS_LO12_NC
    311: (4, _page_delta),  # ADR_GOT_PAGE
    312: (4, _low_bits(3)),  # LD64_GOT_LO12_NC
}


def _upper(word: int, target: int, place: int) -> int:
    """auipc: the upper 20 bits of a distance, so that the lower 12 are a signed rest."""
    return (word & 0xFFF) | _signed((target - place + 0x800) >> 12, 20) << 12


def _rest(word: int, target: int, place: int) -> int:
    """What an instruction that loads or adds takes of the distance."""
    return (word & 0xFFFFF) | (target - place & 0xFFF) << 20


def _rest_of_store(word: int, target: int, place: int) -> int:
    low = target - place & 0xFFF
    return (word & 0x01FFF07F) | (low >> 5) << 25 | (low & 31) << 7


def _call(word: int, target: int, place: int) -> int:
    """auipc, and the jump behind it."""
    first, second = word & 0xFFFFFFFF, word >> 32
    return _upper(first, target, place) | _rest(second, target, place) << 32


_RISCV: dict[int, Rule] = {
    1: (4, lambda word, target, place: _unsigned(target, 32)),  # R_RISCV_32
    2: (8, lambda word, target, place: target & (2**64 - 1)),  # R_RISCV_64
    18: (8, _call),  # CALL
    19: (8, _call),  # CALL_PLT
    20: (4, _upper),  # GOT_HI20
    23: (4, _upper),  # PCREL_HI20
    24: (4, _rest),  # PCREL_LO12_I
    25: (4, _rest_of_store),  # PCREL_LO12_S
    35: (
        4,
        lambda word, target, place: (word + target) & (2**32 - 1),
    ),  # ADD32, which SUB32 at the same place follows
    36: (8, lambda word, target, place: (word + target) & (2**64 - 1)),  # ADD64
    39: (4, lambda word, target, place: (word - target) & (2**32 - 1)),  # SUB32
    40: (8, lambda word, target, place: (word - target) & (2**64 - 1)),  # SUB64
}

RULES: dict[str, dict[int, Rule]] = {"x86_64": _X86, "aarch64": _ARM, "riscv64": _RISCV}
THROUGH_TABLE: dict[str, frozenset[int]] = {
    "x86_64": frozenset({9, 41, 42}),
    "aarch64": frozenset({311, 312}),
    "riscv64": frozenset({20}),
}
"""Relocations that go through a table of addresses (GOT) instead of to the symbol itself."""
PAIRED: dict[str, frozenset[int]] = {"riscv64": frozenset({24, 25})}
"""Relocations whose symbol is the place of another one, with which they share a distance: they patch its rest."""
POINTERS: dict[str, int] = {"x86_64": 1, "aarch64": 257, "riscv64": 2}
"""The relocation that stores a whole address: what a dynamic linker can do, too, when it knows where the code is."""
NOT_SHARED: dict[str, frozenset[int]] = {
    "x86_64": frozenset({10, 11}),
    "aarch64": frozenset({258}),
    "riscv64": frozenset({1}),
}
"""Relocations that store a part of an address, so that the code runs at one place only."""


def apply(machine: str, kind: int, code: bytearray, offset: int, target: int, place: int) -> None:
    """Patch `code` at `offset`, which will live at address `place`, to refer to `target`."""
    rule = RULES[machine].get(kind)
    if rule is None:
        raise ObjectError(f"{machine} relocation {kind} is not supported")
    width, patch = rule
    if offset + width > len(code):
        raise ObjectError("relocation outside its section")
    word = int.from_bytes(code[offset : offset + width], "little")
    code[offset : offset + width] = patch(word, target, place).to_bytes(width, "little")
