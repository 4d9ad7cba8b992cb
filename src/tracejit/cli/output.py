"""Files that are written whole or not at all, and a line on stderr while something takes long."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..inspect.progress import drawer
from .failures import Failed, WrongUsage

#: Seconds until progress is shown, and between two looks at it.
_SHOWN_AFTER, _EVERY = 1.0, 0.25


def writable(paths: list[str]) -> list[Path]:
    """The places to write, before anything slow is done; Failed where nothing can be written."""
    found = [Path(path) for path in paths]
    for place in found:
        if place.is_dir() or not place.name:
            raise Failed(f"cannot write {place}: it is a folder")
        if place.exists() and not place.is_file():
            raise Failed(f"cannot write {place}: it is a device")
        if not place.parent.is_dir():
            raise Failed(f"cannot write {place}: there is no folder {place.parent}")
        if not os.access(place.parent, os.W_OK):
            raise Failed(f"cannot write {place}: nothing may be written to {place.parent}")
    if len({place.resolve() for place in found}) < len(found):
        raise WrongUsage("one file cannot be written twice")
    return found


def write_all(places: list[Path], write: Callable[[Path], Any]) -> list[dict[str, Any]]:
    """Write files under their names in folders beside their places, then move all of them there.

    Returns
    -------
    list of dict
        Of each file ``path``, ``bytes`` and ``sha256``.
    """
    with contextlib.ExitStack() as stack:
        moves = []
        for place in places:
            aside = tempfile.mkdtemp(prefix=".tracejit-", dir=place.parent)
            stack.callback(shutil.rmtree, aside, ignore_errors=True)
            write(Path(aside, place.name))
            moves.append((Path(aside, place.name), place))
        told = [described(made, place) for made, place in moves]
        for made, place in moves:
            os.replace(made, place)
    return told


def described(path: Path, shown: Path | None = None) -> dict[str, Any]:
    """A file's ``path``, ``bytes`` and ``sha256``."""
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return {"path": str(shown or path), "bytes": len(content), "sha256": digest}


@contextlib.contextmanager
def steps(count: int, what: str) -> Iterator[Callable[[], None]]:
    """Show on a terminal how many of some steps are done, once they have taken a second; yields what ends a step."""
    done, over = [0], threading.Event()
    if not sys.stderr.isatty():
        over.set()

    def watch() -> None:
        if over.wait(_SHOWN_AFTER):
            return
        bar = drawer()(total=count, desc=f"tracejit {what}", leave=False)
        while True:
            bar.update(done[0] - bar.n)
            if over.wait(_EVERY):
                break
        bar.close()

    def step() -> None:
        done[0] += 1

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield step
    finally:
        over.set()
        watcher.join()
        sys.stderr.flush()
