"""Machine code with debug information as a file, which gdb, perf and valgrind can open.

The files are in a folder beside the cache, by the same rules: it must be the user's own, and nobody else may write
there. Where a file cannot be written or opened the code is loaded as any other, and a warning says so.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import warnings
from pathlib import Path

from tracejit.core.errors import stack_level
from tracejit.runtime import diskcache, objects
from tracejit.runtime.linking.shared import shared_object

_LIMIT = 64 << 20
_opened: list[ctypes.CDLL] = []  # code is immortal: callers may keep bare addresses


class NotDebuggable(RuntimeWarning):
    """Compiled code with debug information is loaded where debuggers do not see it, and why."""


def load(image: bytes, entry: str) -> int:
    """The address of an entry of an object, loaded from a file ``debug/<entry>-<hash>.so`` in the cache's folder."""
    try:
        path = _written(image, entry)
        library = ctypes.CDLL(str(path))
        _opened.append(library)
        return ctypes.cast(getattr(library, entry), ctypes.c_void_p).value or 0
    except (OSError, RuntimeError, ValueError, AttributeError) as error:
        warnings.warn(
            f"{entry} is compiled with debug information that no debugger sees: {error}",
            NotDebuggable,
            stacklevel=stack_level(),
        )
        return objects.load(image).function(entry)


def _written(image: bytes, entry: str) -> Path:
    """The library's file; OSError where it cannot be there, or would not be this user's alone."""
    name = re.sub(r"\W", "_", entry)[:64]
    name = f"{name}-{hashlib.sha256(image).hexdigest()[:16]}.so"
    folder = diskcache.own_folder(diskcache.directory() / "debug")
    path, library = folder / name, shared_object(image, name)
    if diskcache.own_bytes(path) != library:
        diskcache.replace(path, library)
    _trim(folder, path)
    return path


def _trim(folder: Path, newest: Path) -> None:
    """Remove the oldest files while all together are too large; what a process has opened stays open for it."""
    found = []
    for path in folder.glob("*.so"):
        try:
            status = os.lstat(path)
        except OSError:
            continue
        found.append((path == newest, status.st_mtime, status.st_size, path))
    total = sum(size for _, _, size, _ in found)
    for is_newest, _, size, path in sorted(found):
        if total <= _LIMIT or is_newest:
            return
        diskcache.remove(path)
        total -= size
