"""Library kernels that come with the package: no machine has to make matrix products, factorizations and solvers.

Beside this file lie the objects of these kernels for the levels of x86-64, packed: what ``kernels`` makes for these
levels, bit for bit, which ``python -m prebuilt``, run in `tests`, writes. They hold as long as the files do that the
kernels are written by; whoever changes these gets kernels that are made anew. Knows nothing of LLVM.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from functools import cache
from pathlib import Path

from ...runtime import cpu
from ...runtime.compiled import CompiledObject
from ...runtime.threads.state import NAME as THREADS
from ..loopir.called_kernels import KERNELS

HERE = Path(__file__).parent
#: Levels whose kernels are here, the widest registers first; machines without fused multiply-adds make their own.
LEVELS = ("x86-64-v4", "x86-64-v3")
#: What these kernels are called; of products there are those that know the thread pool, and those that do not.
NAMES = tuple(
    f"{function}_{dtype}{end}"
    for function, end in (("gemm", ""), ("gemm", "_shared"), *((name, "") for name in KERNELS if name != "matmul"))
    for dtype in ("f32", "f64")
)
#: What the code of the thread pool is made for.
POOL_LEVEL = "x86-64"
#: What writes the text of these kernels, below ``compiler``.
SOURCES = ("ir_text.py", "codegen/linalg", "codegen/matmul", "codegen/threads")
#: What tells for which text the objects were made, by which LLVM.
MANIFEST = HERE / "manifest.json"


def kept() -> list[tuple[str, str]]:
    """What is here: names of kernels, each with a level."""
    return [(name, level) for name in NAMES for level in LEVELS] + [(THREADS, POOL_LEVEL)]


def place(name: str, level: str) -> Path:
    """The file of a kernel."""
    return HERE / level / f"{name}.z"


def level_for(name: str, target: cpu.CpuTarget) -> str | None:
    """The level whose code does on a machine what code made for it alone would, as fast; None if there is none."""
    levels = {cpu.baseline(level): level for level in ((POOL_LEVEL,) if name == THREADS else LEVELS)}
    for made, level in levels.items():
        alike = (made.vector_bytes, made.has_fma) == (target.vector_bytes, target.has_fma)
        if made.runs_on(target) and (alike or name == THREADS):
            return level
    return None


def found(name: str, target: cpu.CpuTarget) -> CompiledObject | None:
    """The object of a kernel for a machine; None where there is none, or it was made of another text."""
    level = level_for(name, target) if name in (*NAMES, THREADS) else None
    if level is None or not _is_current():
        return None
    try:
        return CompiledObject.from_payload(zlib.decompress(place(name, level).read_bytes()))
    except (OSError, ValueError, zlib.error):
        return None


@cache
def digest() -> str:
    """Identifies the text that kernels are made of, by the files that write it."""
    whole = hashlib.sha256()
    for source in SOURCES:
        path = HERE.parent / source
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            whole.update(file.read_bytes())
    return whole.hexdigest()


@cache
def _is_current() -> bool:
    try:
        return bool(json.loads(MANIFEST.read_bytes())["sources"] == digest())
    except (OSError, ValueError, LookupError):
        return False
