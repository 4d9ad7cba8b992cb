"""Which checkpoints a folder holds: a small file beside them that names them, the latest one last.

The index is written after the checkpoint it names. Where it is missing or names what is gone, the files themselves
are looked at. Folders may come from anywhere: whatever an index says, only files of its own folder are named.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from ...errors import warn
from . import store

_SUFFIX = ".safetensors"
_INDEX = "checkpoint"
_STALE_SECONDS = 3600.0  # a file aside that is older was left by a process that died
_ASIDE = re.compile(
    rf"\.(?:{_INDEX}|.+{re.escape(_SUFFIX)})\.[0-9a-f]{{12}}\.tmp"
)  # as `store.replacing` names them


def file_of(path: str | os.PathLike[str]) -> Path:
    """The file of a checkpoint, with or without the extension."""
    text = os.fspath(path)
    return Path(text if text.endswith(_SUFFIX) else text + _SUFFIX)


def is_name(name: object) -> bool:
    """Is it the name of one file of a folder, on every system: no path, no drive, nothing that leads elsewhere?"""
    if not isinstance(name, str) or name in ("", ".", "..") or "\0" in name:
        return False
    return PurePosixPath(name).name == name == PureWindowsPath(name).name


def note(folder: Path, names: Sequence[str]) -> None:
    """Write the index: names of checkpoints, oldest first."""
    text = json.dumps({"latest": names[-1], "all": list(names)}, indent=1)
    with store.replacing(folder / _INDEX) as file:
        file.write(text.encode())


def noted(folder: Path) -> list[str]:
    """The names in the index that are there, oldest first; by number where there is no index."""
    try:
        names = json.loads(store.content(folder / _INDEX))["all"]
        names = list(dict.fromkeys(names))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        names = []
    strange = [n for n in names if not is_name(n)]
    if strange:
        warn(
            f"{folder / _INDEX} names {strange[0]!r}, which is no file of its folder: it is left alone. If you trust "
            "what is in the folder, delete the index; it is made again from the files",
            RuntimeWarning,
        )
    return [n for n in names if is_name(n) and _is_there(folder, n)] or _numbered(folder)


def _is_there(folder: Path, name: str) -> bool:
    try:
        return file_of(folder / name).is_file()
    except (OSError, ValueError):  # a name that is too long, or no text for this system
        return False


def _numbered(folder: Path) -> list[str]:
    names = [p.name.removesuffix(_SUFFIX) for p in folder.glob(f"*{_SUFFIX}")] if folder.is_dir() else []
    numbers = {n: int(m[1]) for n in names if (m := re.search(r"-(\d+)$", n))}
    return sorted(numbers, key=lambda n: (numbers[n], n))


def latest_checkpoint(checkpoint_dir: str | os.PathLike[str]) -> str | None:
    """The path of the latest checkpoint in the folder `checkpoint_dir`; None when there is none.

    Examples
    --------
    >>> import tempfile, tracejit as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nothing = tf.train.latest_checkpoint(folder)
    ...     path = tf.train.Checkpoint(v=tf.Variable(1.0)).save(folder + "/ckpt")
    ...     print(nothing, tf.train.latest_checkpoint(folder) == path)
    None True
    """
    folder = Path(checkpoint_dir)
    names = noted(folder)
    return os.path.join(os.fspath(checkpoint_dir), names[-1]) if names else None


def remove(folder: Path, name: str) -> None:
    """Delete a checkpoint of this folder, if it is there; a link, not what it leads to."""
    if not is_name(name):
        raise ValueError(f"{name!r} is not the name of a file in {folder}")
    file_of(folder / name).unlink(missing_ok=True)


def clean(folder: Path) -> None:
    """Delete what processes that died while writing have left."""
    for path in folder.glob(".*.tmp"):
        if not _ASIDE.fullmatch(path.name):
            continue
        try:
            if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                path.unlink()
        except OSError:
            pass
