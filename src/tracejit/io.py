"""Files: ``tracejit.io``. Read and written eagerly, whole."""

from __future__ import annotations

import glob
import os
import shutil
from typing import Any

import numpy as np

import tracejit as tf

from .core.lazy import Namespace
from .errors import at_user_line


def _path(given: Any) -> str:
    """A path, given as text or as a tensor of it."""
    path = given.numpy() if isinstance(given, tf.Tensor) else os.fspath(given)
    return path.decode() if isinstance(path, bytes) else path


def read_file(filename: Any, name: str | None = None) -> tf.Tensor:
    """All that the file `filename` holds, as a scalar string; FileNotFoundError where there is none.

    Examples
    --------
    >>> import tempfile, tracejit as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tf.io.write_file(folder + "/new/a.txt", "text")
    ...     print(tf.io.read_file(folder + "/new/a.txt").numpy())
    b'text'
    """
    with open(_path(filename), "rb") as file:
        whole = np.empty((), object)  # NumPy's own strings lose zeros at their end
        whole[()] = file.read()
        return tf.constant(whole)


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Make the file `filename` hold `contents`, a string; folders that are not there are made.

    TypeError for contents that are no string.
    """
    data = contents.numpy() if isinstance(contents, tf.Tensor) else contents
    data = data.encode() if isinstance(data, str) else data
    if not isinstance(data, bytes):
        raise TypeError(f"a file holds a string, got {type(data).__name__}{at_user_line()}")
    path = _path(filename)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def matching_files(pattern: Any, name: str | None = None) -> tf.Tensor:
    """The paths that `pattern`, or one of several, fits, as a vector of strings, sorted; TypeError for other values."""
    patterns = [pattern] if isinstance(pattern, (str, bytes, tf.Tensor)) else list(pattern)
    found = sorted({path for p in patterns for path in glob.glob(_path(p))})
    array = np.empty(len(found), object)
    array[:] = [path.encode() for path in found]
    return tf.constant(array)


def decode_raw(
    input_bytes: Any, out_type: Any, little_endian: bool = True, name: str | None = None
) -> tf.Tensor:
    """The numbers of dtype `out_type` that `input_bytes`, a scalar string, holds byte by byte, as a vector.

    With `little_endian` the lowest byte of a number stands first. ValueError where the length does not fit.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.io.decode_raw(b"Duck", tf.uint8))
    tf.Tensor([ 68 117  99 107], shape=(4,), dtype=uint8)
    """
    data = input_bytes.numpy() if isinstance(input_bytes, tf.Tensor) else input_bytes
    dtype = tf.as_dtype(out_type)
    if isinstance(data, np.ndarray):
        rows = [np.frombuffer(row, dtype.newbyteorder("<" if little_endian else ">")) for row in data.ravel()]
        return tf.constant(np.stack(rows).reshape(*data.shape, -1).astype(dtype))
    data = data.encode() if isinstance(data, str) else data
    return tf.constant(np.frombuffer(data, dtype.newbyteorder("<" if little_endian else ">")).astype(dtype))


gfile = Namespace(
    "tracejit.io.gfile",
    GFile=open,
    copy=lambda src, dst, overwrite=False: shutil.copyfile(src, dst),
    exists=os.path.exists,
    glob=glob.glob,
    isdir=os.path.isdir,
    listdir=os.listdir,
    makedirs=lambda path: os.makedirs(path, exist_ok=True),
    mkdir=os.mkdir,
    remove=os.remove,
    rmtree=shutil.rmtree,
)
