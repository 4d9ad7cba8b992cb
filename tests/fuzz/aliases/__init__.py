"""Random programs written for NumPy that have several names for one array, and write to it under any of them.

``check(seed)`` writes a program, runs it as it is on an array, and says whether any way of running it on tensors gives
something else than that, or than its slope. A refusal for a stated reason is no fault.
"""

from __future__ import annotations

from ..outcome import Outcome
from .running import check_text
from .writer import program


def check(seed: int) -> Outcome:
    """The verdict on the program of a seed."""
    return check_text(program(seed), f"<program for NumPy {seed}>")
