"""What compilation prints to standard error: a ladder of levels, each of which adds one thing.

1 what is compiled, and how long it took · 2 each pass's time · 3 each rewrite that fired: its rule, the rule's line in
this package, the user's line · 4 the program after each pass · 5 the LLVM text · 6 the assembly. From 2 on, nothing is
taken from the cache on disk, as there would be nothing to see. Level 0 costs one look at the settings.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..core import settings
from ..core.lazy import Later

if TYPE_CHECKING:
    import pathlib
else:
    pathlib = Later("pathlib", __package__)

COMPILED, PASSES, REWRITES, PROGRAMS, LLVM, ASSEMBLY = range(1, 7)


def wants(level: int) -> bool:
    """Is this level of the ladder, or a higher one, asked for?"""
    return settings.current().debug >= level


def say(text: str) -> None:
    """Print one thing, in one call: other threads compile too."""
    sys.stderr.write(f"tracejit: {text}\n")


def done(level: int, what: str, start: float) -> None:
    """Print what was done since `start`, with its time."""
    if wants(level):
        say(f"{'  ' * (level - 1)}{what}: {1e3 * (time.perf_counter() - start):.1f} ms")


def show(level: int, content: Callable[[], str]) -> None:
    """Print a text that only this level needs."""
    if wants(level):
        sys.stderr.write(f"{content()}\n")


def fired(rule: Callable[..., Any], location: Any, name: str = "", what: str = "") -> None:
    """Print that a rewrite fired, for whoever has asked ``wants(REWRITES)``.

    Parameters
    ----------
    rule : callable
        What did it: a replacement of ``rules``, or the function of a pass.
    location : Location or None
        The user's line of what was rewritten.
    name : str
        The rule's name, where it is not that of the function.
    what : str
        What became what.
    """
    here = re.sub(r"\n\s*", ": ", str(location)) if location is not None else "no line"
    say(f"    {name or rule.__name__.lstrip('_')} ({line_of(rule, name)}){what and ' ' + what} at {here}")


@lru_cache(maxsize=256)
def line_of(rule: Callable[..., Any], name: str) -> str:
    """The line that declares a rule by its name, else the one its function starts at."""
    code = rule.__code__
    file, root = pathlib.Path(code.co_filename), pathlib.Path(__file__).resolve().parents[2]
    text = file.read_text(encoding="utf-8").splitlines() if name else ()
    line = next((n for n, declared in enumerate(text, 1) if f'"{name}"' in declared), code.co_firstlineno)
    return f"{file.relative_to(root)}:{line}"
