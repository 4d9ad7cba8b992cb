"""Random programs with effects: what they do eagerly, and in which order, they do compiled.

``check(seed)`` writes a program, runs it in both modes on several calls, and says whether anything differs.
"""

from __future__ import annotations

from ..outcome import Outcome
from .running import check_text
from .shrinking import shrunk
from .writer import program


def check(seed: int, shrink: bool = True) -> Outcome:
    """The verdict on the program of a seed; a wrong one is made as small as a few seconds allow."""
    name = f"<program {seed}>"
    found = check_text(program(seed).text, name)
    if found.kind != "wrong" or not shrink:
        return found
    return shrunk(found, lambda text: check_text(text, name))
