"""Specs as they are written on the command line: ``f64[n,3], {w: f32[3], rates: (f64, 0.5)}``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from ..aot.specs import parse
from ..core.errors import AT, DtypeError, ShapeError
from .failures import WrongUsage

T = TypeVar("T")

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)(?![\w.])")
_ARRAY = re.compile(r"[A-Za-z_]\w*\s*(?:\[[^][(){}]*\])?")
_KEY = re.compile(r"\s*(?:([A-Za-z_]\w*)|'([^'\n]*)'|\"([^\"\n]*)\")\s*:")
_WORDS = {"True": True, "False": False, "None": None}
_DEEPEST, _LONGEST = 50, 400


def parsed(text: str) -> list[Any]:
    """The specs, one for each argument: text for arrays, Python's numbers, and nests of them.

    Raises
    ------
    WrongUsage
        With a caret under what is not understood.

    Examples
    --------
    >>> parsed("f64[n,3], {w: f32[3], rate: 0.5}")
    ['f64[n,3]', {'w': 'f32[3]', 'rate': 0.5}]
    """
    reader = _Reader(text)
    return reader.several("", reader.spec)


class _Reader:
    """A text, and how far it is read."""

    def __init__(self, text: str):
        self.text = text
        self.place = 0
        self.depth = 0

    def wrong(self, what: str, place: int | None = None) -> WrongUsage:
        """The error: the text, a caret, what is wrong there."""
        column = self.place if place is None else place
        shown = re.sub(r"\s", " ", self.text)
        start = max(0, column - 60)
        return WrongUsage(f"--spec: {what}\n  {shown[start : column + 60]}\n  {' ' * (column - start)}^")

    def next(self) -> str:
        """The next character that is no space, empty at the end."""
        while self.text[self.place : self.place + 1].isspace():
            self.place += 1
        return self.text[self.place : self.place + 1]

    def several(self, end: str, one: Callable[[], T]) -> list[T]:
        """What stands between commas up to `end`, which is read too; a comma may stand behind the last."""
        found: list[T] = []
        while self.next() != end:
            found.append(one())
            if self.next() == ",":
                self.place += 1
            elif self.next() != end:
                raise self.wrong(f"a comma{f' or {end}' if end else ''} is missing here")
        self.place += len(end)
        return found

    def spec(self) -> Any:
        """One array, number or nest."""
        first = self.next()
        if first in ("(", "[", "{"):
            self.depth += 1
            if self.depth > _DEEPEST:
                raise self.wrong(f"nests are at most {_DEEPEST} deep")
            self.place += 1
            found = self.nest(first)
            self.depth -= 1
            return found
        number = _NUMBER.match(self.text, self.place)
        if number is not None:
            digits = number[0]
            if len(digits) > _LONGEST:
                raise self.wrong(f"numbers have at most {_LONGEST} digits")
            self.place = number.end()
            return int(digits) if digits.lstrip("+-").isdigit() else float(digits)
        return self.array()

    def nest(self, first: str) -> Any:
        """What a bracket holds."""
        if first == "{":
            return dict(self.several("}", self.item))
        found = self.several(")" if first == "(" else "]", self.spec)
        if first == "(" and len(found) == 1 and not self.text[: self.place - 1].rstrip().endswith(","):
            return found[0]  # as in Python, the comma makes the tuple
        return tuple(found) if first == "(" else found

    def item(self) -> tuple[str, Any]:
        """A key and its spec."""
        key = _KEY.match(self.text, self.place)
        if key is None:
            raise self.wrong("a key and a colon should stand here, as in {w: f64[3]}")
        self.place = key.end()
        return next(name for name in key.groups() if name is not None), self.spec()

    def array(self) -> Any:
        """An array as `export` reads it: dtype and sizes."""
        start, found = self.place, _ARRAY.match(self.text, self.place)
        if found is None:
            raise self.wrong("a spec should stand here, such as f64[n,3]")
        self.place = found.end()
        if found[0] in _WORDS:
            return _WORDS[found[0]]
        if self.next() == "[":
            raise self.wrong("this bracket is not closed")
        try:
            parse(found[0])
        except (ShapeError, DtypeError) as error:
            raise self.wrong(str(error).partition(AT)[0], start) from None
        return found[0]
