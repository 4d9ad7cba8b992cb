"""Compiled objects kept on disk: one file per entry, safe for any number of processes.

A file is a fixed header (magic, SHA-256 and length of the payload) and the payload, written aside and
renamed, so a reader sees all of it or none. Whatever goes wrong with the disk, the cache only misses. The
checksum finds damage, not malice, and what is found is run: so only folders and files count that are the user's
own and that nobody else may write to. Knows nothing of what is stored.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from tracejit.core.errors import stack_level
from tracejit.core.lazy import Later
from tracejit.core.settings import current

if TYPE_CHECKING:
    import pathlib
    import tempfile
    from pathlib import Path
else:  # whoever finds an entry needs neither
    pathlib, tempfile = Later("pathlib", __package__), Later("tempfile", __package__)

MAGIC = b"TJOBJ002"
_HEADER_BYTES = len(MAGIC) + 32 + 8
_SUFFIX = ".tjo"
_ASIDE = ".put"  # begins the names of files that are being written
_TRIM_EVERY = 64  # puts between two looks at the total size
_TRIM_TO = 0.8
_TOUCH_SECONDS = 3600  # an entry's time of last use is refreshed at most this often
_STALE_SECONDS = 3600  # a temporary file this old belongs to a process that died


class UntrustedCache(RuntimeWarning):
    """A folder for compiled code is not used, as others could put theirs into it."""


def _is_safe(status: os.stat_result) -> bool:
    """Does it belong to this user, and may nobody else write to it? Where there are no such users, yes."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_safe_folder(path: str | Path) -> bool:
    """Is it a folder of this user's own, no link?"""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and _is_safe(status)


class DiskCache:
    """A directory of entries.

    Parameters
    ----------
    root : path
        Made on the first `put`, readable by the user only. One that is there is not used, and a warning says so,
        unless it belongs to the user and nobody else may write to it.
    limit : int
        Bytes the entries may take; the least recently used ones are removed above it. Other processes may
        overshoot it between their own checks.
    """

    def __init__(self, root: str | os.PathLike[str], limit: int = 256 << 20):
        self._root = os.fspath(root).rstrip(os.sep) or os.sep  # behind a separator, a link would be followed
        self.limit = limit
        self._puts = 0
        self._warned = False

    @property
    def root(self) -> Path:
        """The directory."""
        return pathlib.Path(self._root)

    def is_safe(self) -> bool:
        """May what is in the directory be run? Where it is not there yet, it will be."""
        try:
            safe = _is_safe(os.stat(self._root)) and (
                not os.path.islink(self._root) or _is_safe_link(self._root)
            )
        except FileNotFoundError:
            return True
        except OSError:
            return False
        if not safe and not self._warned:
            self._warned = True
            warnings.warn(
                f"compiled code is not kept in {self.root}: the folder must belong to you, and nobody else may write "
                f"there. Run chmod go-w {self.root} if it is yours, or set TRACEJIT_CACHE_DIR to a folder that is",
                UntrustedCache,
                stacklevel=stack_level(),
            )
        return safe

    def path(self, key: str) -> Path:
        """Where the entry of `key`, a hexadecimal digest, is or would be."""
        return pathlib.Path(self._file(key))

    def _file(self, key: str) -> str:
        if len(key) < 8 or not set(key) <= set("0123456789abcdef"):
            raise ValueError(f"a cache key is a lower-case hexadecimal digest, got {key!r}")
        return os.path.join(self._root, key[:2], key[2:] + _SUFFIX)

    def get(self, key: str) -> bytes | None:
        """The payload stored under `key`, or None; a damaged entry is removed and None."""
        path = self._file(key)
        if not self.is_safe() or not _is_safe_folder(os.path.dirname(path)):
            return None
        image = own_bytes(path)
        if image is None:
            return None
        payload = _unwrap(key, image)
        if payload is None:
            remove(path)
            return None
        _touch(path)
        return payload

    def put(self, key: str, payload: bytes) -> bool:
        """Store `payload`; False when the disk does not cooperate."""
        path = self.path(key)
        header = MAGIC + _digest(key, payload) + len(payload).to_bytes(8, "little")
        if not self.is_safe():
            return False
        try:
            for folder in (*reversed(self.root.parents), self.root, path.parent):
                folder.mkdir(mode=0o700, exist_ok=True)
            if not self.is_safe() or not _is_safe_folder(path.parent):
                return False
            replace(path, header + payload)
        except OSError:
            return False
        self._puts += 1
        if self._puts % _TRIM_EVERY == 0:
            self.trim()
        return True

    def trim(self) -> int:
        """Remove old entries until the limit is respected with room to spare; how many were removed."""
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        removed = 0
        if total > self.limit:
            for _, size, path in entries:
                if total <= self.limit * _TRIM_TO:
                    break
                remove(path)
                total -= size
                removed += 1
        return removed

    def clear(self) -> None:
        """Remove every entry."""
        for _, _, path in self._entries():
            remove(path)

    def size(self) -> int:
        """Bytes the entries take."""
        return self.usage()[1]

    def usage(self) -> tuple[int, int]:
        """How many entries there are, and the bytes they take."""
        sizes = [size for _, size, _ in self._entries()]
        return len(sizes), sum(sizes)

    def _entries(self) -> Iterator[tuple[float, int, Path]]:
        """(time of last use, size, path) of each entry; what dead writers left behind is removed."""
        folders = [f for f in self.root.glob("??") if _is_safe_folder(f)] if self.is_safe() else []
        for path in (path for folder in folders for path in folder.iterdir()):
            try:
                status = path.lstat()
            except OSError:
                continue
            if path.suffix == _SUFFIX:
                yield status.st_mtime, status.st_size, path
            elif path.name.startswith(_ASIDE) and time.time() - status.st_mtime > _STALE_SECONDS:
                remove(path)


def _is_safe_link(path: str) -> bool:
    """Is a link to the directory the user's, or the system's?"""
    return not hasattr(os, "geteuid") or os.lstat(path).st_uid in (0, os.geteuid())


def own_bytes(path: str | Path) -> bytes | None:
    """The bytes of a file that is the user's own; None where there is none, and it is removed if it is another's."""
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    try:
        handle = os.open(path, flags)
    except FileNotFoundError:
        return None
    except OSError:
        remove(path)  # a link
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or not _is_safe(status):
            remove(path)
            return None
        with open(handle, "rb", closefd=False) as file:
            return file.read()
    except OSError:
        return None
    finally:
        os.close(handle)


def _digest(key: str, payload: bytes) -> bytes:
    """Of both: an entry under the name of another is none."""
    found = hashlib.sha256(key.encode())
    found.update(payload)
    return found.digest()


def _unwrap(key: str, image: bytes) -> bytes | None:
    if len(image) < _HEADER_BYTES or image[: len(MAGIC)] != MAGIC:
        return None
    payload = image[_HEADER_BYTES:]
    digest, length = image[len(MAGIC) : len(MAGIC) + 32], image[len(MAGIC) + 32 : _HEADER_BYTES]
    if len(payload) != int.from_bytes(length, "little") or _digest(key, payload) != digest:
        return None
    return payload


def replace(path: Path, image: bytes) -> None:
    """Write aside, in the same directory so that the rename is atomic, under a name no other host makes."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=_ASIDE)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(image)
        os.replace(temporary, path)
    except BaseException:
        remove(temporary)
        raise


def remove(path: str | Path) -> None:
    """Remove a file, if the disk lets us."""
    try:
        os.unlink(path)
    except OSError:
        pass


def _touch(path: str) -> None:
    try:
        if time.time() - os.stat(path).st_mtime > _TOUCH_SECONDS:
            os.utime(path)
    except OSError:
        pass


def own_folder(path: Path) -> Path:
    """The folder, made where it is not there; OSError unless it is this user's and nobody else may write to it."""
    for folder in (*reversed(path.parents), path):
        folder.mkdir(mode=0o700, exist_ok=True)
    if not _is_safe_folder(path):
        raise PermissionError(f"the folder {path} must belong to you, and nobody else may write there")
    return path


# ---- the cache of this process --------------------------------------------------------------------------


def directory() -> Path:
    """``TRACEJIT_CACHE_DIR``, or the platform's place for caches; RuntimeError where there is no home directory."""
    return pathlib.Path(_directory())


def folder() -> Path:
    """The folder of entries in :func:`directory`; RuntimeError as there."""
    return pathlib.Path(_folder())


def _folder() -> str:
    return os.path.join(_directory(), "v1")


def _directory() -> str:
    chosen = os.environ.get("TRACEJIT_CACHE_DIR")
    if chosen:
        return _expanded(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~\\AppData\\Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return os.path.join(_expanded(base), "tracejit")


def _expanded(path: str) -> str:
    expanded = os.path.expanduser(path)
    if expanded.startswith("~"):
        raise RuntimeError(f"there is no home directory for {path}")
    return expanded


@lru_cache(maxsize=8)
def _at(root: str) -> DiskCache:
    return DiskCache(root)


def _cache() -> DiskCache | None:
    if not current().cache:
        return None
    try:
        return _at(_folder())
    except RuntimeError:  # no home directory
        return None


def get(key: str) -> bytes | None:
    """The payload stored under `key`, or None; always None while the setting ``cache`` is off."""
    cache = _cache()
    return cache.get(key) if cache else None


def put(key: str, payload: bytes) -> bool:
    """Store `payload` under `key`; False when it could not be stored or the setting ``cache`` is off."""
    cache = _cache()
    return cache.put(key, payload) if cache else False
