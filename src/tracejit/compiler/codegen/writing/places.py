"""The place in the user's program that each instruction stands for, noted behind it by the list that lines go to.

A note is a number in a table of places; ``debug_info`` makes metadata of it when the module is complete. Nothing of
this exists while no debug information is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ....core.errors import Location

#: What stands for no place.
NOWHERE = ", !dbg @0"


class Places:
    """The places that a module mentions, numbered from 1 in order of first use."""

    def __init__(self) -> None:
        self.numbers: dict[Location, int] = {}

    def note(self, place: Location) -> str:
        """What stands behind an instruction for `place`."""
        return f", !dbg @{self.numbers.setdefault(place, len(self.numbers) + 1)}"


class Cursor:
    """Where the writer of a function is in the user's program."""

    def __init__(self, places: Places):
        self.places = places
        self.note: str = NOWHERE

    @contextmanager
    def at(self, place: Location | None) -> Iterator[None]:
        """Let what is written in the block stand for `place`, if there is one."""
        before = self.note
        if place is not None:
            self.note = self.places.note(place)
        try:
            yield
        finally:
            self.note = before

    def lines(self) -> list[Any]:
        """A list of lines that notes behind each instruction where it comes from."""
        return _Lines(self)


class _Lines(list[Any]):
    def __init__(self, cursor: Cursor):
        super().__init__()
        self.cursor = cursor

    def append(self, line: str | list[str]) -> None:
        if isinstance(line, str) and line.startswith("  "):  # an instruction
            line += self.cursor.note
        super().append(line)
