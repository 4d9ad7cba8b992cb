"""What compiled code depends on besides its source: this package's own code and the version of LLVM.

Both are found without loading either.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import time
from functools import lru_cache
from typing import TYPE_CHECKING

from ..core.lazy import LOADED_AT, Later

if TYPE_CHECKING:
    from .codegen import llvm
else:
    llvm = Later(".codegen.llvm", __package__)


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Identifies this version of the package's own code, by the size and time of its files.

    Where one was written since this process loaded the package, what runs is not what the files say: then it is this
    process alone that it identifies.
    """
    root, now = os.path.dirname(os.path.dirname(os.path.realpath(__file__))), time.time_ns()
    files: list[tuple[str, int]] = []
    if os.path.isdir(root):
        for folder in ("core", "ops", "compiler", "runtime"):
            files += _files(os.path.join(root, folder))
    else:
        files.append(_archive(root))
    parts = [f"{name}:{written}" for name, written in files]
    if any(LOADED_AT < written <= now for _, written in files):
        parts.append(f"{os.getpid()}:{now}")
    return hashlib.sha256(";".join(parts).encode()).hexdigest()


def _files(folder: str) -> list[tuple[str, int]]:
    """The name and size of each file, and when it was written."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    files: list[tuple[str, int]] = []
    for entry in found:
        if entry.name.endswith(".py"):
            stat = entry.stat()
            files.append((f"{entry.name}:{stat.st_size}", stat.st_mtime_ns))
    for entry in found:
        if entry.name != "__pycache__" and entry.is_dir():
            files += _files(entry.path)
    return files


def _archive(path: str) -> tuple[str, int]:
    """The same of the archive that the package was imported from."""
    while not os.path.exists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    stat = os.stat(path)
    return f"{os.path.basename(path)}:{stat.st_size}", stat.st_mtime_ns


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
