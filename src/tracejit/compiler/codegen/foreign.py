"""Machine code for other machines: one process for all of an export's modules, which may end without harm.

LLVM aborts where it has no code for a type or an operation on a machine, and knowing all machines takes memory; the
user's process gets an exception and pays nothing. The other process reads ``llvm`` and what that imports, and nothing
else of the package.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .machines import Machine, Unit

#: How many lines of what LLVM says before it ends become a part of the message.
_LAST_WORDS = 3
_SIZE = struct.Struct("<Q")
#: The packages that this module is in stand for themselves without what they import.
_PROGRAM = """
import importlib, json, sys, types
request = json.load(sys.stdin.buffer)
sys.path[:] = request["path"]
for name, folder in request["packages"].items():
    sys.modules[name] = package = types.ModuleType(name)
    package.__path__ = [folder]
importlib.import_module(".llvm", name).answer(request)
"""
_FOLDER = Path(__file__).parent
_PARTS = __package__.split(".")
_PACKAGES = {".".join(_PARTS[: len(_PARTS) - up]): str((_FOLDER / "_").parents[up]) for up in (2, 1, 0)}


class Failed(Exception):
    """The other process ended without an object, and why."""


def compiled(work: Sequence[tuple[Unit, Machine]], **linked: Any) -> list[bytes]:
    """Compile modules for machines of any architecture, each to an object; Failed with LLVM's last words.

    With ``exported`` and ``library``, they are for one machine, and become one object.
    """
    request = {"path": sys.path, "packages": _PACKAGES, "work": work, "linked": linked or None}
    name = work[0][1].triple.split("-")[0]
    if not sys.executable:
        raise Failed(
            f"code for {name} is made by another Python process, and this program does not say where Python is"
        )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _PROGRAM],
        input=json.dumps(request).encode(),
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONFAULTHANDLER": ""},
    )
    if done.returncode == 0:
        return _objects(done.stdout)
    raise Failed(f"no code for {name}: {_last_words(done)}")


def _last_words(done: subprocess.CompletedProcess[bytes]) -> str:
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode < 0:
        said = "\n".join(said.splitlines()[:_LAST_WORDS])
        return said or f"the process that makes it was ended by {signal.Signals(-done.returncode).name}"
    return said or f"the process that makes it ended with {done.returncode}"


def _objects(stream: bytes) -> list[bytes]:
    found, place = [], 0
    while place < len(stream):
        (size,) = _SIZE.unpack_from(stream, place)
        place += _SIZE.size
        found.append(stream[place : place + size])
        place += size
    return found


def spelled(images: Sequence[bytes]) -> bytes:
    """Objects as the other process answers with them."""
    return b"".join(_SIZE.pack(len(image)) + image for image in images)
