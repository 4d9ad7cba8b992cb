"""Container: a file with a JSON header and blobs of bytes, in which any damage is found before anything is used.

The file begins with a magic word, the format's version, and the length and SHA-256 of the header; blobs follow, each
aligned to 64 bytes, with offset, size and SHA-256 in the header. Digests find damage, not malice: code in a file is to
be trusted as much as a library from the same place. Knows nothing of what the blobs are.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import struct
from collections.abc import Mapping
from typing import Any

from tracejit.core.errors import TracejitError

MAGIC = b"TJARTFCT"
VERSION = 1
_PREFIX = struct.Struct("<8sIIQ32s")  # magic, version, nothing, length of the header, its digest
_ALIGN = 64


class BadArtifact(TracejitError, ValueError):
    """A file that is no artifact, is damaged, or is of a version that this one cannot read.

    Examples
    --------
    >>> import tempfile
    >>> import tracejit as tf
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     try:
    ...         tf.aot.load(file.name)
    ...     except tf.aot.BadArtifact as error:
    ...         print(isinstance(error, ValueError))
    True

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import tracejit as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "f.tja")
    ...     _ = path.write_bytes(b"something else")
    ...     try:
    ...         tf.load(path)
    ...     except tf.errors.BadArtifact as error:
    ...         print(type(error).__name__)
    BadArtifact
    """

    __module__ = "tracejit.errors"


def write(path: str | os.PathLike[str], header: Mapping[str, Any], blobs: Mapping[str, bytes]) -> None:
    """Write a file."""
    put(path, packed(header, blobs))


def put(path: str | os.PathLike[str], contents: bytes) -> None:
    """Write a file whole or not at all: programs that run with what was there before keep it.

    What cannot be exchanged for another file (a device, a pipe, a file in a folder that nobody may write to) is
    written in place.
    """
    place = os.path.realpath(os.fsdecode(path))  # a link stays one
    folder, there = os.path.dirname(place), os.path.lexists(place)
    if not os.access(folder, os.W_OK) or (
        there and not (os.path.isfile(place) and os.access(place, os.W_OK))
    ):
        with open(path, "wb") as file:
            file.write(contents)
        return
    aside = os.path.join(folder, f".{os.urandom(6).hex()}.tmp")  # same folder: the rename is atomic
    try:
        with open(aside, "xb") as file:
            file.write(contents)
        if there:
            os.chmod(aside, stat.S_IMODE(os.stat(place).st_mode))
        os.replace(aside, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise


def packed(header: Mapping[str, Any], blobs: Mapping[str, bytes]) -> bytes:
    """The contents of a file; one that is only half there will be refused."""
    places, end = {}, 0
    for name, blob in blobs.items():
        start = end + -end % _ALIGN
        end = start + len(blob)
        places[name] = [start, len(blob), hashlib.sha256(blob).hexdigest()]
    text = json.dumps({**header, "blobs": places}, sort_keys=True).encode()
    text += b" " * (-(_PREFIX.size + len(text)) % _ALIGN)
    prefix = _PREFIX.pack(MAGIC, VERSION, 0, len(text), hashlib.sha256(text).digest())
    file = bytearray(prefix + text)
    for blob in blobs.values():
        file += bytes(-len(file) % _ALIGN) + blob
    return bytes(file)


def read(path: str | os.PathLike[str], sha256: str | None = None) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header and the blobs of a file, as :func:`unpacked`; OSError where it cannot be read."""
    with open(path, "rb") as file:
        return unpacked(file.read(), path, sha256)


def unpacked(
    data: bytes, path: str | os.PathLike[str], sha256: str | None = None
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header and the blobs in the contents of the file at `path`, whose SHA-256 must be as given, if it is given.

    Raises
    ------
    BadArtifact
        Says what is wrong with the file.
    """
    if sha256 is not None and (found := hashlib.sha256(data).hexdigest()) != sha256.lower():
        raise BadArtifact(f"{path} is another file than what was asked for: its SHA-256 is {found}")
    if len(data) < _PREFIX.size or not data.startswith(MAGIC):
        library = data.startswith((b"\x7fELF", b"!<arch>", b"\0asm"))
        hint = ", but is a library: load what `Artifact.save` wrote" if library else ""
        raise BadArtifact(f"{path} is not an artifact: it does not begin as one{hint}")
    _, version, _, length, digest = _PREFIX.unpack_from(data)
    if version != VERSION:
        newer = ": it was made by a newer one" if version > VERSION else ""
        raise BadArtifact(f"{path} has format {version}, this version of tracejit reads {VERSION}{newer}")
    text = data[_PREFIX.size : _PREFIX.size + length]
    if len(text) < length:
        raise BadArtifact(f"{path} is cut off: its header has {length} bytes, {len(text)} are there")
    if hashlib.sha256(text).digest() != digest:
        raise BadArtifact(f"{path} is damaged: its header is not what was written")
    try:
        header = json.loads(text, object_pairs_hook=_unique)
        places = {str(n): (int(o), int(size), str(d)) for n, (o, size, d) in header["blobs"].items()}
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise BadArtifact(f"{path} is damaged: {error!r} in its header") from None
    body = memoryview(data)[_PREFIX.size + length :]
    if sum(size for _, size, _ in places.values()) > len(body):
        raise BadArtifact(f"{path} is cut off or damaged: its blobs are larger than the file")
    return header, {name: _blob(path, name, body, *place) for name, place in places.items()}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _blob(
    path: str | os.PathLike[str], name: str, body: memoryview, start: int, size: int, digest: str
) -> bytes:
    if start < 0 or size < 0 or start + size > len(body):
        raise BadArtifact(f"{path} is cut off: {name} should end at {start + size}, the file at {len(body)}")
    blob = bytes(body[start : start + size])
    if hashlib.sha256(blob).hexdigest() != digest:
        raise BadArtifact(f"{path} is damaged: {name} is not what was written")
    return blob
