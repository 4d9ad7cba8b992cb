"""What goes wrong on the command line, as users want to read it: the message and their line, no traceback of ours."""

from __future__ import annotations

import linecache
import os
import re
import sys
import traceback
from typing import Any

from ..core.errors import AT, PACKAGE, TracejitError

#: A place at the end of a message: file, line and perhaps its text.
_PLACE = re.compile(rf"{AT}(?P<file>[^\n]+):(?P<line>\d+)(?P<text>\n {{6}}[^\n]*)?$")
_OTHERS = (PACKAGE, os.path.dirname(os.__file__) + os.sep, "<frozen ")
_INSTALLED = f"{os.sep}site-packages{os.sep}"


class WrongUsage(Exception):
    """A command line that makes no sense."""


class Failed(Exception):
    """What was asked for could not be done; the message says it all."""


def described(error: BaseException) -> dict[str, Any]:
    """The error as JSON data: ``type``, ``message`` and, where they are known, ``file``, ``line`` and ``text``."""
    if isinstance(error, (WrongUsage, Failed)):
        return {"type": "usage" if isinstance(error, WrongUsage) else "failure", "message": str(error)}
    message = _message(error)
    found = _PLACE.search(message)
    place: dict[str, Any] = {}
    if found is not None:
        message = message[: found.start()]
        if not _is_launcher(found["file"]):
            text = (found["text"] or "").strip()
            place = {"file": found["file"], "line": int(found["line"]), "text": text}
    elif isinstance(error, SyntaxError) and error.filename:
        place = {"file": error.filename, "line": error.lineno or 0, "text": (error.text or "").strip()}
    return {"type": type(error).__name__, "message": message, **(place or _raised_at(error))}


def worded(error: BaseException) -> str:
    """The error for people."""
    told = described(error)
    kind = "" if isinstance(error, (WrongUsage, Failed)) else f"{told['type']}: "
    where = f"{AT}{told['file']}:{told['line']}" if "file" in told else ""
    if told.get("text"):
        where += f"\n      {told['text']}"
    expected = (WrongUsage, Failed, TracejitError, OSError, ValueError, TypeError)
    hint = "" if where or isinstance(error, expected) else "\n  a defect of tracejit: --traceback shows where"
    return f"{kind}{told['message']}{where}{hint}"


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return error.msg or "syntax error"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    if isinstance(error, KeyError) and len(error.args) == 1:
        return f"{error.args[0]!r} is not there"
    return str(error)


def _raised_at(error: BaseException) -> dict[str, Any]:
    """The innermost line of the user's own program that the error went through."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file, line = frame.filename, frame.lineno or 0
        if not (file.startswith(_OTHERS) or _INSTALLED in file or _is_launcher(file)):
            return {"file": file, "line": line, "text": linecache.getline(file, line).strip()}
    return {}


def _is_launcher(file: str) -> bool:
    """Is it what started the command line, of which no user knows?"""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return main is not None and os.path.realpath(file) == os.path.realpath(main)
