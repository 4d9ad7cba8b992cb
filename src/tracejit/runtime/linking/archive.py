"""A static library: objects in an archive, with the list of symbols by which linkers find them. Needs no ``ar``."""

from __future__ import annotations

from collections.abc import Sequence

_MAGIC = b"!<arch>\n"
_HEADER = 60


def archive(name: str, image: bytes, symbols: Sequence[str]) -> bytes:
    """The static library of one object.

    Parameters
    ----------
    name : str
        Of the object in the library: ``"model.o"``; long ones stand in a table of their own.
    image : bytes
    symbols : sequence of str
        What the object defines for others.
    """
    listed = b"".join(symbol.encode() + b"\0" for symbol in symbols)
    short = len(name.encode()) < 16
    table = b"" if short else _member("//", name.encode() + b"/\n")
    size = 4 + 4 * len(symbols) + len(listed)
    start = len(_MAGIC) + _HEADER + size + size % 2 + len(table)  # where the object's header is
    words = b"".join(n.to_bytes(4, "big") for n in (len(symbols), *[start] * len(symbols)))
    object_ = _member(f"{name}/" if short else "/0", image)
    return _MAGIC + _member("/", words + listed) + table + object_


def _member(name: str, content: bytes) -> bytes:
    """A member with its header; dates and owners are left out, so that equal objects give equal libraries."""
    fields = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n"
    return fields.encode() + content + b"\n" * (len(content) % 2)
