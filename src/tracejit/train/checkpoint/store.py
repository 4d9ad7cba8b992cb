"""Arrays in one file, by name: written so that whoever reads finds all of it or what was there before.

The format is that of safetensors: the length of a JSON header, the header, the bytes of the arrays one after the
other. Its metadata holds a checksum of everything. Nothing in a file is ever executed. Knows NumPy and files only.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

import tracejit as tf

_BFLOAT16 = "BF16"
#: dtype by its name in the format, of which bfloat16 is another one; the last one is an addition of ours.
_DTYPES = {
    "BOOL": "?",
    **{f"{kind}{8 * n}": f"<{kind.lower()}{n}" for kind in "IU" for n in (1, 2, 4, 8)},
    **{f"F{8 * n}": f"<f{n}" for n in (2, 4, 8)},
    **{f"C{8 * n}": f"<c{n}" for n in (8, 16)},
}
_NAMES = {np.dtype(text): name for name, text in _DTYPES.items()}
_METADATA, _DIGEST = "__metadata__", "sha256"


class DamagedCheckpoint(tf.TracejitError, ValueError):
    """A file is not what was once written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import tracejit as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     prefix = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(f"{folder}/checkpoint")
    ...     (file,) = Path(folder).iterdir()
    ...     size = file.write_bytes(file.read_bytes()[:-1])  # the disk was full
    ...     try:
    ...         tf.train.load_checkpoint(prefix)
    ...     except tf.train.DamagedCheckpoint as error:
    ...         print("is damaged" in str(error))
    True
    """


def write(path: Path, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> None:
    """Put arrays into a file, replacing what is there in one step once all of it is on the disk."""
    chunks = {name: _bytes(array) for name, array in arrays.items()}
    header = _header(arrays, chunks, metadata)
    digest = _digest(header, chunks.values())
    header[_METADATA][_DIGEST] = digest
    text = _json(header)
    text += b" " * (-len(text) % 8)
    with replacing(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for chunk in chunks.values():
            file.write(chunk)


def _bytes(array: np.ndarray) -> bytes:
    if array.dtype.kind == "V":
        array = array.view(np.uint16)
    return array.astype(array.dtype.newbyteorder("<"), order="C", copy=False).tobytes()


def _header(
    arrays: Mapping[str, np.ndarray], chunks: Mapping[str, bytes], metadata: Mapping[str, str]
) -> dict[str, Any]:
    header: dict[str, Any] = {_METADATA: dict(metadata)}
    end = 0
    for name, array in arrays.items():
        start, end = end, end + len(chunks[name])
        kind = _BFLOAT16 if array.dtype.kind == "V" else _NAMES[array.dtype.newbyteorder("<")]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [start, end]}
    return header


def _json(header: Any) -> bytes:
    return json.dumps(header, sort_keys=True, separators=(",", ":")).encode()


def _digest(header: Any, chunks: Any) -> str:
    """The checksum of a header that does not hold it yet, and of the data."""
    digest = hashlib.sha256(_json(header))
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def content(path: Path) -> bytes:
    """The bytes of a file; OSError for what is no file, such as a pipe, which would be waited for."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path} is not a file")
    with open(handle, "rb") as file:
        return file.read()


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays and the metadata of a file; DamagedCheckpoint when anything in it has changed.

    A checksum finds damage, not malice: nothing in the file is trusted to have been written by :func:`write`.
    """
    image = content(path)
    length = int.from_bytes(image[:8], "little")
    try:
        header = json.loads(image[8 : 8 + length])
        data = memoryview(image)[8 + length :]
        metadata = header.pop(_METADATA)
        digest = metadata.pop(_DIGEST)
        if len(image) < 8 + length or _digest({**header, _METADATA: metadata}, [data]) != digest:
            raise ValueError
        if not all(isinstance(text, str) for text in metadata.values()):
            raise ValueError
        arrays = {name: _array(entry, data) for name, entry in header.items()}
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        OverflowError,
        RecursionError,
    ) as error:
        raise DamagedCheckpoint(f"{path} is damaged, or no checkpoint: its checksum does not fit") from error
    return arrays, metadata


def _array(entry: Mapping[str, Any], data: memoryview) -> np.ndarray:
    (start, end), shape = entry["data_offsets"], entry["shape"]
    kind = entry["dtype"]
    dtype = np.dtype("<u2" if kind == _BFLOAT16 else _DTYPES[kind])
    if not all(type(n) is int and n >= 0 for n in (start, end, *shape)) or end > len(data):
        raise ValueError
    if end - start != math.prod(shape) * dtype.itemsize:
        raise ValueError
    flat = np.frombuffer(data[start:end], dtype)
    if dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1:  # a bool is one of two bytes
        raise ValueError
    array = flat.reshape(shape).astype(dtype.newbyteorder("="))
    return array.view(tf.as_dtype("bfloat16").dtype) if kind == _BFLOAT16 else array


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` when the block ends, with its content safely on the disk.

    When the block fails, or the process dies in it, what was there before stays.
    """
    aside = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")  # same folder: the rename is atomic
    try:
        with open(aside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename last: without it the old name may be back after a loss of power."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
