"""Which code of several an x86-64 processor runs, found by the exported function itself, once.

``cpuid`` and ``xgetbv`` are machine code written by hand: nothing has to read assembly, and no library is asked.
What was found is kept in one word, written and read whole: threads that come at once find the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..runtime import abi
from ..runtime.cpu import LEVELS, CpuTarget
from .codegen.writing import context

#: Where ``cpuid`` tells of a feature: in which of the words that `_WORDS` finds, and by which bit.
_BITS: dict[str, tuple[int, int]] = {
    **{n: (0, b) for n, b in {
        "sse3": 0, "pclmul": 1, "ssse3": 9, "fma": 12, "cx16": 13, "sse4.1": 19, "sse4.2": 20, "crc32": 20, "movbe": 22,
        "popcnt": 23, "avx": 28, "f16c": 29,
    }.items()},
    **{n: (1, b) for n, b in {"cx8": 8, "cmov": 15, "mmx": 23, "fxsr": 24, "sse": 25, "sse2": 26}.items()},
    **{n: (2, b) for n, b in {
        "bmi": 3, "avx2": 5, "bmi2": 8, "avx512f": 16, "avx512dq": 17, "adx": 19, "avx512ifma": 21, "avx512cd": 28,
        "avx512bw": 30, "avx512vl": 31,
    }.items()},
    **{n: (3, b) for n, b in {
        "avx512vbmi": 1, "avx512vbmi2": 6, "gfni": 8, "vaes": 9, "vpclmulqdq": 10, "avx512vnni": 11, "avx512bitalg": 12,
        "avx512vpopcntdq": 14,
    }.items()},
    "avx512fp16": (4, 23),
    **{n: (5, b) for n, b in {"avxvnni": 4, "avx512bf16": 5, "avxifma": 23}.items()},
    "avxneconvert": (6, 5),
    **{n: (7, b) for n, b in {
        "sahf": 0, "lzcnt": 5, "sse4a": 6, "prfchw": 8, "xop": 11, "fma4": 16, "tbm": 21,
    }.items()},
}  # fmt: skip
_SYSTEM = 8  # the word that says which registers the system keeps: bit 0 those of AVX, bit 1 those of AVX-512
_COUNT = 9
#: Features that need registers that the system must keep.
_NEEDS_AVX = frozenset({"avx", "f16c", "fma", "fma4", "xop", "avx2", "vaes", "vpclmulqdq"})

_CODE = {
    # rbx is the caller's: mov r8, rbx; mov r9, rdx; mov eax, edi; mov ecx, esi; cpuid; mov [r9], eax;
    # mov [r9+4], ebx; mov [r9+8], ecx; mov [r9+12], edx; mov rbx, r8; ret
    "cpuid": bytes.fromhex("4989d8 4989d1 89f8 89f1 0fa2 418901 41895904 41894908 4189510c 4c89c3 c3"),
    "xgetbv": bytes.fromhex("31c9 0f01d0 c3"),  # xor ecx, ecx; xgetbv; ret
}

#: Fills the words: each is what cpuid gives in a register for a leaf, and 0 where there is no such leaf.
_WORDS = """declare hidden void @"{name}.cpuid"(i32, i32, ptr)
declare hidden i32 @"{name}.xgetbv"()
define internal void @"{name}.ask"(i32 %leaf, i32 %subleaf, i32 %last, ptr %answer) #2 {{
  store <4 x i32> zeroinitializer, ptr %answer, align 16
  %there = icmp ule i32 %leaf, %last
  br i1 %there, label %ask, label %done
ask:
  call void @"{name}.cpuid"(i32 %leaf, i32 %subleaf, ptr %answer)
  br label %done
done:
  ret void
}}
define internal void @"{name}.processor"(ptr %words) #2 {{
  %a = alloca [4 x i32], align 16
  %a.b = getelementptr i32, ptr %a, i64 1
  %a.c = getelementptr i32, ptr %a, i64 2
  %a.d = getelementptr i32, ptr %a, i64 3
  call void @"{name}.cpuid"(i32 0, i32 0, ptr %a)
  %last = load i32, ptr %a, align 4
  call void @"{name}.ask"(i32 1, i32 0, i32 %last, ptr %a)
{w0}{w1}  call void @"{name}.ask"(i32 7, i32 0, i32 %last, ptr %a)
  %more = load i32, ptr %a, align 4
  %has.more = icmp ne i32 %more, 0
  %last.more = select i1 %has.more, i32 %last, i32 0
{w2}{w3}{w4}  call void @"{name}.ask"(i32 7, i32 1, i32 %last.more, ptr %a)
{w5}{w6}  call void @"{name}.cpuid"(i32 -2147483648, i32 0, ptr %a)
  %last.extended = load i32, ptr %a, align 4
  call void @"{name}.ask"(i32 -2147483647, i32 0, i32 %last.extended, ptr %a)
{w7}  %keeps = and i32 %word0, 134217728
  %kept = icmp ne i32 %keeps, 0
  br i1 %kept, label %saved, label %done
saved:
  %state = call i32 @"{name}.xgetbv"()
  %ymm.state = and i32 %state, 6
  %ymm = icmp eq i32 %ymm.state, 6
  %zmm.state = and i32 %state, 230
  %zmm = icmp eq i32 %zmm.state, 230
  %bit0 = zext i1 %ymm to i32
  %zmm.bit = zext i1 %zmm to i32
  %bit1 = shl i32 %zmm.bit, 1
  %system = or i32 %bit0, %bit1
  br label %done
done:
  %word8 = phi i32 [ 0, %0 ], [ %system, %saved ]
  %place8 = getelementptr i32, ptr %words, i64 8
  store i32 %word8, ptr %place8, align 4
  ret void
}}
"""
_REGISTERS = (".c", ".d", ".b", ".c", ".d", "", ".d", ".c")  # of each word but the last


class Variant(NamedTuple):
    """Code for one processor: a function with the entry's convention, and what it was made for."""

    symbol: str
    target: CpuTarget


def code(name: str, arch: str) -> dict[str, bytes]:
    """Machine code that `entry` refers to, by symbol."""
    return {f"{name}.{key}": content for key, content in _CODE.items()} if arch == "x86_64" else {}


def refusals(lowest: CpuTarget) -> tuple[str, ...]:
    """What is said of a processor that lacks what the least of the codes needs: a text for each level of x86-64."""
    return tuple(
        f"this processor lacks some of {', '.join(features)}, which the code needs{f' ({level})' if level else ''}"
        for level, features in _wanted(lowest).items()
    )


def _wanted(target: CpuTarget) -> dict[str, list[str]]:
    """The features that are asked for, by the first level that has them; by "" where no level has."""
    left, found = target.enabled & _BITS.keys(), {}
    for level, (arch, features) in LEVELS.items():
        if arch == "x86_64":
            found[level] = sorted(left & features)
            left -= features
    found[""] = sorted(left)
    return {level: features for level, features in found.items() if features}


def _mask(features: Sequence[str]) -> list[int]:
    """The bits that all these features set."""
    words = [0] * _COUNT
    for feature in features:
        word, bit = _BITS[feature]
        words[word] |= 1 << bit
        wide = feature.startswith("avx512")
        words[_SYSTEM] |= 2 if wide else feature in _NEEDS_AVX or feature.startswith("avx")
    return words


def entry(name: str, symbol: str, variants: Sequence[Variant], first_refusal: int) -> str:
    """The entry that calls the first variant that the processor has everything for.

    Parameters
    ----------
    name : str
        What the names of helpers begin with.
    symbol : str
        Of the entry.
    variants : sequence of Variant
        The best first.
    first_refusal : int
        The place in the message table of the first of `refusals` of the last variant.
    """
    parameters = ", ".join(v.typed for v in (context.BUFFERS, context.DIMS, context.CTX))
    count = len(variants)
    cases = " ".join(f"i32 {k}, label %variant{k}" for k in range(1, count + 1))
    lines = [
        f'@"{name}.chosen" = internal global i32 0, align 4',
        _processor(name),
        _choice(name, variants, first_refusal),
        f"define hidden {context.entry_head(symbol)} #2 {{",
        f'  %known = load atomic i32, ptr @"{name}.chosen" monotonic, align 4',
        "  %unknown = icmp eq i32 %known, 0",
        "  br i1 %unknown, label %choose, label %go",
        "choose:",
        f'  %found = call i32 @"{name}.choose"()',
        f'  store atomic i32 %found, ptr @"{name}.chosen" monotonic, align 4',
        "  br label %go",
        "go:",
        "  %which = phi i32 [ %known, %0 ], [ %found, %choose ]",
        f"  switch i32 %which, label %none [ {cases} ]",
    ]
    for k, variant in enumerate(variants, 1):
        lines += [
            f"variant{k}:",
            f'  %status{k} = call i32 @"{variant.symbol}"({parameters})',
            f"  ret i32 %status{k}",
        ]
    lines += ["none:", f"  %status = sub i32 %which, {count}", "  ret i32 %status", "}"]
    return "\n".join([*lines, 'attributes #2 = { nounwind "no-builtins" }', ""])


def _processor(name: str) -> str:
    stored = {
        f"w{k}": f"  %word{k} = load i32, ptr %a{register}, align 4\n"
        f"  %place{k} = getelementptr i32, ptr %words, i64 {k}\n"
        f"  store i32 %word{k}, ptr %place{k}, align 4\n"
        for k, register in enumerate(_REGISTERS)
    }
    return _WORDS.format(name=name, **stored)


def _choice(name: str, variants: Sequence[Variant], first_refusal: int) -> str:
    """The function that says which: the number of a variant, from 1, or their number and a status."""
    lines = [
        f'define internal i32 @"{name}.choose"() #2 {{',
        f"  %words = alloca [{_COUNT} x i32], align 16",
        f'  call void @"{name}.processor"(ptr %words)',
    ]
    for k in range(_COUNT):
        lines.append(f"  %p{k} = getelementptr i32, ptr %words, i64 {k}")
        lines.append(f"  %w{k} = load i32, ptr %p{k}, align 4")
    for k, variant in enumerate(variants, 1):
        features = [f for some in _wanted(variant.target).values() for f in some]
        lines += _tested(_mask(features), f"v{k}", f"no.v{k}", k)
    for k, features in enumerate(_wanted(variants[-1].target).values()):
        status = len(variants) + abi.status_of(first_refusal + k)
        lines += _lacking(_mask(features), f"f{k}", status)
    return "\n".join([*lines, f"  ret i32 {len(variants)}", "}"])


def _bits(mask: Sequence[int], label: str) -> tuple[list[str], str]:
    """Whether all bits of a mask are set, and the name of the value that says so."""
    lines, found = [], "true"
    for k, bits in enumerate(mask):
        if bits:
            lines.append(f"  %{label}.and{k} = and i32 %w{k}, {bits}")
            lines.append(f"  %{label}.is{k} = icmp eq i32 %{label}.and{k}, {bits}")
            lines.append(f"  %{label}.all{k} = and i1 {found}, %{label}.is{k}")
            found = f"%{label}.all{k}"
    return lines, found


def _tested(mask: Sequence[int], label: str, otherwise: str, number: int) -> list[str]:
    lines, found = _bits(mask, label)
    return [*lines, f"  br i1 {found}, label %{label}, label %{otherwise}",
            f"{label}:", f"  ret i32 {number}", f"{otherwise}:"]  # fmt: skip


def _lacking(mask: Sequence[int], label: str, status: int) -> list[str]:
    lines, found = _bits(mask, label)
    return [*lines, f"  br i1 {found}, label %has.{label}, label %{label}",
            f"{label}:", f"  ret i32 {status}", f"has.{label}:"]  # fmt: skip
