"""What one generated program showed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Outcome:
    """The verdict on one generated program.

    Attributes
    ----------
    kind : {"agree", "edge", "refused", "wrong"}
        ``refused``: a documented error of ours with the user's line where the eager program runs; ``wrong``:
        anything else that differs, errors from inside of the package included; ``edge``: differs where the last digits
        of the arguments make as much of a difference, or numbers overflow.
    reason : str
        For what is refused the message without names and numbers, so that reasons can be counted; for what is
        wrong both results.
    program : str
        Source that shows it when it is run by hand.
    """

    kind: Literal["agree", "edge", "refused", "wrong"]
    reason: str = ""
    program: str = ""
