"""CPU targets: which instructions generated code may use, found without LLVM.

A target is data: an architecture, a tuning name and a feature string in LLVM's spelling. The same data picks
the vector width, guards loading of stored code and goes into cache keys. Knows nothing of compilers.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from functools import lru_cache

from tracejit.core.dataclass import dataclass

# LLVM's feature name -> the flag /proc/cpuinfo shows, for instructions a compiler may choose by itself.
_X86_FLAGS = {
    "adx": "adx", "avx": "avx", "avx2": "avx2", "avx512bf16": "avx512_bf16",
    "avx512bitalg": "avx512_bitalg", "avx512bw": "avx512bw", "avx512cd": "avx512cd",
    "avx512dq": "avx512dq", "avx512f": "avx512f", "avx512fp16": "avx512_fp16",
    "avx512ifma": "avx512ifma", "avx512vbmi": "avx512vbmi", "avx512vbmi2": "avx512_vbmi2",
    "avx512vl": "avx512vl", "avx512vnni": "avx512_vnni", "avx512vpopcntdq": "avx512_vpopcntdq",
    "avxifma": "avx_ifma", "avxneconvert": "avx_ne_convert", "avxvnni": "avx_vnni", "bmi": "bmi1",
    "bmi2": "bmi2", "cmov": "cmov", "crc32": "sse4_2", "cx16": "cx16", "cx8": "cx8", "f16c": "f16c",
    "fma": "fma", "fma4": "fma4", "fxsr": "fxsr", "gfni": "gfni", "lzcnt": "abm", "mmx": "mmx",
    "movbe": "movbe", "pclmul": "pclmulqdq", "popcnt": "popcnt", "prfchw": "3dnowprefetch",
    "sahf": "lahf_lm", "sse": "sse", "sse2": "sse2", "sse3": "pni", "sse4.1": "sse4_1",
    "sse4.2": "sse4_2", "sse4a": "sse4a", "ssse3": "ssse3", "tbm": "tbm", "vaes": "vaes",
    "vpclmulqdq": "vpclmulqdq", "xop": "xop",
}  # fmt: skip
_ARM_FLAGS = {
    "neon": "asimd", "fullfp16": "asimdhp", "dotprod": "asimddp", "lse": "atomics", "bf16": "bf16",
    "i8mm": "i8mm",
}  # fmt: skip
_FLAGS = {"x86_64": _X86_FLAGS, "aarch64": _ARM_FLAGS}

_V1 = {"cmov", "cx8", "fxsr", "mmx", "sse", "sse2"}
_V2 = _V1 | {"cx16", "crc32", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}
_V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
LEVELS: Mapping[str, tuple[str, frozenset[str]]] = {
    "x86-64": ("x86_64", frozenset(_V1)),
    "x86-64-v2": ("x86_64", frozenset(_V2)),
    "x86-64-v3": ("x86_64", frozenset(_V3)),
    "x86-64-v4": ("x86_64", frozenset(_V4)),
    "aarch64": ("aarch64", frozenset({"neon"})),
    "riscv64": ("riscv64", frozenset({"m", "a", "f", "d", "c"})),
    "wasm32": ("wasm32", frozenset()),
    "wasm32+simd128": ("wasm32", frozenset({"simd128"})),
    "thumbv7em": ("thumbv7em", frozenset({"vfp4d16sp"})),
    "thumbv7em+fp64": ("thumbv7em", frozenset({"vfp4d16sp", "fp-armv8d16sp", "fp-armv8d16", "fp64"})),
}
"""Names of targets: an architecture, and what it has to have."""
#: Architectures whose addresses have 4 bytes.
_NARROW = frozenset({"wasm32", "thumbv7em"})

# numpy's names, used where there is no /proc/cpuinfo; all that matters there is the widest level they prove.
_NUMPY_LEVELS = (("AVX512_SKX", "x86-64-v4"), ("AVX2", "x86-64-v3"), ("SSE42", "x86-64-v2"))


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """What machine code is made for.

    Attributes
    ----------
    arch : str
        ``"x86_64"``, ``"aarch64"``, ``"riscv64"``, ``"wasm32"`` or ``"thumbv7em"``.
    name : str
        Tuning model: ``"host"``, or one of ``LEVELS``.
    features : str
        ``"+avx2,-avx512f,..."`` in LLVM's spelling, sorted; every feature this module knows is present.
    model : str
        Text that tells processor models apart; tuning depends on it, correctness does not.
    """

    arch: str
    name: str
    features: str
    model: str = ""

    @property
    def enabled(self) -> frozenset[str]:
        """The features this target has."""
        return frozenset(f[1:] for f in self.features.split(",") if f.startswith("+"))

    @property
    def vector_bytes(self) -> int:
        """Bytes of the widest vector register: 64 with AVX-512, 32 with AVX2, else 16."""
        enabled = self.enabled
        if self.arch != "x86_64":
            return 16
        return 64 if _V4 <= enabled else 32 if "avx2" in enabled else 16

    @property
    def has_fma(self) -> bool:
        """Is a fused multiply-add one instruction?"""
        return self.arch in ("aarch64", "riscv64") or "fma" in self.enabled or "fp64" in self.enabled

    @property
    def pointer_bytes(self) -> int:
        """Bytes of an address."""
        return 4 if self.arch in _NARROW else 8

    @property
    def key(self) -> str:
        """Text for cache keys: two targets with equal keys get equal code."""
        return f"{self.arch};{self.name};{self.model};{self.features}"

    def runs_on(self, machine: CpuTarget) -> bool:
        """Can `machine` execute code made for this target?"""
        return self.arch == machine.arch and self.enabled <= machine.enabled


def baseline(level: str) -> CpuTarget:
    """The target of a named level, one of ``LEVELS``; KeyError for other names."""
    arch, enabled = LEVELS[level]
    return CpuTarget(arch, level, _feature_text(arch, enabled))


@lru_cache(maxsize=1)
def host() -> CpuTarget:
    """The machine this process runs on."""
    arch = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    if arch not in _FLAGS:
        raise RuntimeError(f"tracejit generates code for x86_64 and aarch64, this machine is {arch!r}")
    fields = _cpuinfo()
    flags = set((fields.get("flags") or fields.get("Features") or "").split())
    if not flags:
        return _from_numpy(arch)
    enabled = {name for name, flag in _FLAGS[arch].items() if flag in flags}
    names = ("vendor_id", "cpu family", "model", "CPU implementer", "CPU part")
    return CpuTarget(
        arch, "host", _feature_text(arch, enabled), "/".join(fields[n] for n in names if n in fields)
    )


def _feature_text(arch: str, enabled: set[str] | frozenset[str]) -> str:
    known = _FLAGS.get(arch, enabled)
    return ",".join(("+" if name in enabled else "-") + name for name in sorted(known))


def _cpuinfo() -> dict[str, str]:
    """The first processor's fields; the kernel builds this file as it is read, so only its start is."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            block = file.read(8192).split("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in block.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def model_name() -> str:
    """The processor as its maker calls it; empty where nothing tells."""
    return _cpuinfo().get("model name", "")


def _from_numpy(arch: str) -> CpuTarget:
    """A conservative level from what numpy found out for itself."""
    if arch == "aarch64":
        return baseline("aarch64")
    # private to numpy, and a fallback only; numpy is loaded wherever code is made or run
    features = getattr(sys.modules.get("numpy._core._multiarray_umath"), "__cpu_features__", {})
    levels = (level for feature, level in _NUMPY_LEVELS if features.get(feature))
    return baseline(next(levels, "x86-64"))
