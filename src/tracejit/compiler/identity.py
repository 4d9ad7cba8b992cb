"""What compiled code depends on besides what is compiled: this package's own code and the LLVM in use.

Both are found without loading either.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from functools import lru_cache
from typing import TYPE_CHECKING

from ..core.lazy import Later

if TYPE_CHECKING:
    from .codegen import llvm
else:
    llvm = Later(".codegen.llvm", __package__)


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Identifies this version of the package's own code, by the size and time of its files."""
    root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    parts: list[str] = []
    for folder in ("core", "ops", "compiler", "runtime"):
        parts += _files(os.path.join(root, folder))
    return hashlib.sha256(";".join(parts).encode()).hexdigest()


def _files(folder: str) -> list[str]:
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    parts: list[str] = []
    for entry in found:
        if entry.name.endswith(".py"):
            stat = entry.stat()
            parts.append(f"{entry.name}:{stat.st_size}:{stat.st_mtime_ns}")
    for entry in found:
        if entry.name != "__pycache__" and entry.is_dir():
            parts += _files(entry.path)
    return parts


@lru_cache(maxsize=1)
def llvm_version() -> str:
    """Text that changes with the LLVM in use: its library's size and time."""
    found = importlib.util.find_spec("llvmlite")
    folders = found.submodule_search_locations if found is not None else None
    parts = []
    for folder in folders or ():
        binding = os.path.join(folder, "binding")
        for name in sorted(n for n in os.listdir(binding) if "llvmlite" in n):
            stat = os.stat(os.path.join(binding, name))
            parts.append(f"{name}:{stat.st_size}:{stat.st_mtime_ns}")
    return ";".join(parts) or llvm.loaded_version()
