"""Files: ``tracejit.io``. Read and written eagerly, whole."""

from __future__ import annotations

import csv
import glob
import io
import os
import shutil
from collections.abc import Sequence
from typing import Any

import numpy as np

import tracejit as tf

from .core.lazy import Namespace
from .data import text_files
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

    Examples
    --------
    >>> import tracejit as tf
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> tf.io.write_file(folder + "/a.txt", "text")
    >>> print(tf.io.read_file(folder + "/a.txt").numpy())
    b'text'
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
    """The paths that `pattern`, or one of several, fits, as a vector of strings, sorted; TypeError for other values.

    Examples
    --------
    >>> import tracejit as tf
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> tf.io.write_file(folder + "/a.txt", "text")
    >>> print(tf.io.matching_files(folder + "/*.txt").shape)
    (1,)
    """
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
    dtype = tf.as_dtype(out_type).dtype
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


def serialize_tensor(tensor: Any, name: str | None = None) -> tf.Tensor:
    """`tensor`, of any shape, as a scalar string in NumPy's file format, of which :func:`parse_tensor` is the inverse.

    TypeError for strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.io.parse_tensor(tf.io.serialize_tensor([1, 2]), tf.int32))
    tf.Tensor([1 2], shape=(2,), dtype=int32)
    """
    array = tf.convert_to_tensor(tensor).numpy()
    if np.asarray(array).dtype.hasobject:
        raise TypeError(f"tensors of numbers are serialised, not of strings{at_user_line()}")
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    whole = np.empty((), object)
    whole[()] = file.getvalue()
    return tf.constant(whole)


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> tf.Tensor:
    """The tensor that `serialized`, a scalar string by :func:`serialize_tensor`, holds; its shape is there, too.

    ValueError where it has another dtype than `out_type`, or is no such string.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.io.parse_tensor(tf.io.serialize_tensor([1.0, 2.0]), tf.float32))
    tf.Tensor([1. 2.], shape=(2,), dtype=float32)
    """
    data = serialized.numpy() if isinstance(serialized, tf.Tensor) else serialized
    array = np.load(io.BytesIO(data), allow_pickle=False)
    if array.dtype != tf.as_dtype(out_type):
        raise ValueError(
            f"there is a tensor of {array.dtype}, not of {tf.as_dtype(out_type).name}{at_user_line()}"
        )
    return tf.constant(array)


def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Any = None,
    name: str | None = None,
) -> list[tf.Tensor]:
    """The columns of lines of text with separators, as tensors of the shape of `records`.

    Parameters
    ----------
    records : tensor-like of strings
        A line each.
    record_defaults : list
        One value per column, whose dtype the column has; for a field that is empty, or `na_value`. A dtype in its
        place, or an empty list, says that there must be something.
    field_delim : str
    use_quote_delim : bool
        Fields may be in quotes.
    na_value : str
    select_cols : list of int, optional
        The columns wanted, to which the defaults belong.

    Raises
    ------
    ValueError
        Where a line has another number of fields, or none where there must be one, or one that is no number.

    Examples
    --------
    >>> import tracejit as tf
    >>> [column.numpy().tolist() for column in tf.io.decode_csv(["1,2.5", "3,"], [0, 0.5])]
    [[1, 3], [2.5, 0.5]]
    """
    lines = np.asarray(tf.convert_to_tensor(records).numpy(), object)
    texts = [line.decode() for line in lines.ravel()]
    style: Any = csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE
    columns = [text_files.column_of(default) for default in record_defaults]
    rows = [
        text_files.row_of(fields, columns, select_cols, na_value, f"record {number}")
        for number, fields in enumerate(csv.reader(texts, delimiter=field_delim, quoting=style))
    ]
    return [tf.constant(_stacked(column, lines.shape)) for column in zip(*rows, strict=True)]


def _stacked(values: Sequence[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    array = np.empty(len(values), values[0].dtype)
    for i, value in enumerate(values):
        array[i] = value[()]
    return array.reshape(shape)
