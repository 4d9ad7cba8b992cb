"""From the words on the command line to an exit code: 0 done, 1 it failed, 2 wrong usage, 130 interrupted.

Knows which module does a command, and nothing of how.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from ..core.errors import PACKAGE
from .failures import WrongUsage, described, worded
from .options import STAGES, parser

#: What a command gives back: JSON data, and the same for people.
Result = tuple[dict[str, Any], str]


#: The module that does a command.
_HOMES = {
    "compile": "compiling",
    "inspect": "artifacts",
    "verify": "artifacts",
    **dict.fromkeys(STAGES, "stages"),
    "cache": "machine",
    "info": "machine",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.

    Returns
    -------
    int
        The exit code.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    as_json, with_traceback = "--json" in words, "--traceback" in words
    try:
        code = _run(words, as_json)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("tracejit: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if with_traceback:
            traceback.print_exc()
        if as_json:
            _print_json({"error": described(error)})
        elif not with_traceback:
            print(f"tracejit: {worded(error)}", file=sys.stderr)
        return 2 if isinstance(error, WrongUsage) else 1


def _run(words: list[str], as_json: bool) -> int:
    try:
        options = parser(version).parse_args(words)
    except SystemExit as end:  # help was shown
        return int(end.code or 0)
    command = importlib.import_module(f"{__package__}.{_HOMES[options.command]}")
    data, text = _called(command, options)
    if as_json:
        _print_json(data)
    elif text:
        print(text)
    return 0


def _called(command: Any, options: argparse.Namespace) -> Result:
    found: Result = getattr(command, f"{options.command}_")(options)
    return found


def _print_json(data: dict[str, Any]) -> None:
    import json  # slow to load

    print(json.dumps(data))


def version() -> str:
    """The version, read off the package's face without running it."""
    with open(os.path.join(PACKAGE, "__init__.py"), encoding="utf-8") as file:
        found = re.search(r'^__version__ = "(.*)"$', file.read(), re.M)
    return found[1] if found else "unknown"
