"""Numbers and texts as WebAssembly spells them: writers, and a reader that never leaves its bytes."""

from __future__ import annotations

from collections.abc import Iterable

from tracejit.runtime.elf import ObjectError


def unsigned(value: int) -> bytes:
    """A number that is not negative, seven bits to a byte, the lowest first (LEB128)."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def signed(value: int) -> bytes:
    """As `unsigned`, and the last byte's second bit is the sign."""
    found = bytearray()
    while not -0x40 <= value < 0x40:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value & 0x7F)
    return bytes(found)


def sized(content: bytes) -> bytes:
    """Bytes behind their number."""
    return unsigned(len(content)) + content


def name(text: str) -> bytes:
    return sized(text.encode())


def vector(items: Iterable[bytes]) -> bytes:
    """Items behind their number."""
    found = list(items)
    return unsigned(len(found)) + b"".join(found)


class Reader:
    """Bytes of an object, read from front to back.

    Every method raises ObjectError where they end too soon or do not spell what is asked for.

    Parameters
    ----------
    data : bytes
    start, end : int
        Which of them; `end` by default the end of all.

    Attributes
    ----------
    at : int
        The place of what is read next.
    """

    at: int

    def __init__(self, data: bytes, start: int = 0, end: int | None = None):
        self.data = data
        self.at = start
        self.end: int = len(data) if end is None else end

    def __bool__(self) -> bool:
        """Is there more?"""
        return self.at < self.end

    def byte(self) -> int:
        if self.at >= self.end:
            raise ObjectError(f"the object ends within something, at byte {self.at}")
        self.at += 1
        return self.data[self.at - 1]

    def unsigned(self, bits: int = 32) -> int:
        value, _ = self._digits(bits)
        return self._checked(value, 0 <= value < 1 << bits, bits)

    def signed(self, bits: int = 32) -> int:
        value, places = self._digits(bits)
        if value >> places - 1:
            value -= 1 << places
        return self._checked(value, -(1 << bits - 1) <= value < 1 << bits - 1, bits)

    def _digits(self, bits: int) -> tuple[int, int]:
        """The bits of a number, and how many places they take."""
        value = places = 0
        more = True
        while more:
            byte = self.byte()
            value |= (byte & 0x7F) << places
            places += 7
            more = byte > 0x7F
            self._checked(value, not more or places < bits, bits)
        return value, places

    def _checked(self, value: int, fits: bool, bits: int) -> int:
        if not fits:
            raise ObjectError(f"a number of more than {bits} bits before byte {self.at}")
        return value

    def count(self) -> int:
        """How many items follow, each of one byte at least."""
        found = self.unsigned()
        if found > self.end - self.at:
            raise ObjectError(f"{found} items where {self.end - self.at} bytes are left, at byte {self.at}")
        return found

    def inside(self) -> Reader:
        """What follows with its size in front, for a reader of its own; this one goes on behind it."""
        size = self.count()
        start, self.at = self.at, self.at + size
        return Reader(self.data, start, self.at)

    def rest(self) -> bytes:
        """All that is left."""
        start, self.at = self.at, self.end
        return self.data[start : self.end]

    def name(self) -> str:
        try:
            return self.inside().rest().decode()
        except UnicodeDecodeError:
            raise ObjectError(f"a name that is no UTF-8 before byte {self.at}") from None

    def done(self) -> None:
        """ObjectError when something is left."""
        if self:
            raise ObjectError(f"{self.end - self.at} bytes too many at byte {self.at}")
