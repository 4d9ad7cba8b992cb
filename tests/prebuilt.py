"""Library kernels that come with the package: ``python -m prebuilt``, run in `tests`, writes them.

A test asserts that they are what this would write, where LLVM is the one that made them.
"""

from __future__ import annotations

import json
import zlib

from tracejit.compiler import kernels, prebuilt
from tracejit.compiler.codegen import llvm
from tracejit.runtime import cpu


def packed(name: str, level: str) -> bytes:
    """What the file of a kernel should hold."""
    return zlib.compress(kernels.made_kernel(name, cpu.baseline(level)).to_payload(), 9)


if __name__ == "__main__":
    for kernel, level in prebuilt.kept():
        prebuilt.place(kernel, level).write_bytes(packed(kernel, level))
    manifest = {"llvm": llvm.loaded_version(), "sources": prebuilt.digest()}
    prebuilt.MANIFEST.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
