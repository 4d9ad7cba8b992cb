"""Who compares two sizes: a program, which needs the answer for its call, or the compiler."""

from __future__ import annotations

import sys
from types import FrameType

_PACKAGE = __name__.partition(".")[0]
#: The rooms where sizes are compared by structure; the others are written as programs are.
_STRUCTURAL = frozenset(("core", "ops", "frontend", "compiler", "runtime", "aot", "inspect"))
#: A name in modules of these rooms that compare for programs.
_ASKING = "COMPARES_FOR_PROGRAMS"
#: A name in modules that compare for who calls them.
_PASSING_ON = "COMPARES_FOR_CALLERS"


def asked_by_program() -> bool:
    """Does a program call our caller? The standard library asks for who calls it, and so do a few modules."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        package, _, rest = frame.f_globals.get("__name__", "").partition(".")
        if package not in sys.stdlib_module_names and _PASSING_ON not in frame.f_globals:
            structural = package == _PACKAGE and rest.partition(".")[0] in _STRUCTURAL
            return not structural or _ASKING in frame.f_globals
        frame = frame.f_back
    return False
