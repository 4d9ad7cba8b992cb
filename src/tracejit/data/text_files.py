"""Datasets of text files: line by line, or as columns of numbers and text."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import tracejit as tf

from ..errors import at_user_line
from .dataset import Dataset
from .regrouping import UNKNOWN


def paths_of(filenames: Any) -> list[str]:
    given = filenames.numpy() if isinstance(filenames, tf.Tensor) else filenames
    several = [given] if isinstance(given, (str, bytes)) or hasattr(given, "__fspath__") else list(given)
    plain = [path.numpy() if isinstance(path, tf.Tensor) else path for path in several]
    return [path.decode() if isinstance(path, bytes) else str(path) for path in plain]


def opened(path: str, compression_type: str | None) -> Any:
    if compression_type not in (None, "", "GZIP"):
        raise ValueError(f"compression_type is '' or 'GZIP', got {compression_type!r}{at_user_line()}")
    return (
        gzip.open(path, "rt", encoding="utf-8", newline="")
        if compression_type
        else open(path, encoding="utf-8", newline="")
    )


def _text(line: str) -> np.ndarray:
    array = np.empty((), object)
    array[()] = line.encode()
    return array


class TextLineDataset(Dataset):
    """The lines of text files as scalar strings, without their ends.

    Parameters
    ----------
    filenames : path or sequence of paths
        Read one after the other, each time anew.
    compression_type : {"", "GZIP"}, optional
    buffer_size, num_parallel_reads
        Accepted for programs written for other libraries, and ignored.

    Raises
    ------
    FileNotFoundError
        When a file is reached that is not there.

    Examples
    --------
    >>> import tempfile, tracejit as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tf.io.write_file(folder + "/a.txt", "one" + chr(10) + "two")
    ...     print([line.numpy() for line in tf.data.TextLineDataset(folder + "/a.txt")])
    [b'one', b'two']
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
    ):
        paths = paths_of(filenames)

        def lines() -> Iterator[Any]:
            for path in paths:
                with opened(path, compression_type) as file:
                    for line in file:
                        yield _text(line.removesuffix("\n").removesuffix("\r"))

        super().__init__(lines, UNKNOWN, spec=lambda: tf.TensorSpec((), tf.string))


class CsvDataset(Dataset):
    """The lines of files of comma-separated values as tuples of scalars.

    Parameters
    ----------
    filenames : path or sequence of paths
    record_defaults : sequence
        For each column a dtype, where there must be a value, or the value in place of an empty field.
    compression_type : {"", "GZIP"}, optional
    buffer_size : int, optional
        Ignored.
    header : bool
        Leave out the first line of each file.
    field_delim : str
        Between the values of a line.
    use_quote_delim : bool
        Double quotes stand around values that hold the delimiter.
    na_value : str
        A field that counts as empty.
    select_cols : sequence of int, optional
        The numbers of the columns that are read, in order.

    Raises
    ------
    ValueError
        When a line is reached with another number of fields, a field that must not be empty is, or one is no number.

    Examples
    --------
    >>> import tempfile, tracejit as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tf.io.write_file(folder + "/a.csv", "x,name" + chr(10) + "1.5,ann" + chr(10) + ",bob" + chr(10))
    ...     rows = tf.data.experimental.CsvDataset(folder + "/a.csv", [0.0, tf.string], header=True)
    ...     print([(x.numpy().tolist(), name.numpy()) for x, name in rows])
    [(1.5, b'ann'), (0.0, b'bob')]
    """

    __slots__ = ()

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: str | None = None,
        buffer_size: int | None = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
    ):
        paths, columns = paths_of(filenames), [column_of(default) for default in record_defaults]
        quoting: Any = csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE

        def rows() -> Iterator[Any]:
            for path in paths:
                with opened(path, compression_type) as file:
                    reader = csv.reader(file, delimiter=field_delim, quoting=quoting)
                    for fields in reader:
                        if (header and reader.line_num == 1) or not fields:
                            continue
                        yield row_of(fields, columns, select_cols, na_value, f"{path}:{reader.line_num}")

        super().__init__(rows, UNKNOWN, spec=lambda: tuple(tf.TensorSpec((), dtype) for dtype, _ in columns))


def column_of(default: Any) -> tuple[Any, Any]:
    """The dtype of a column, and what stands for an empty field, None where none may be empty."""
    if isinstance(default, (str, bytes)):
        return tf.string, default.encode() if isinstance(default, str) else default
    if isinstance(default, (np.dtype, tf.DType, type)):
        return tf.as_dtype(default), None
    value = tf.convert_to_tensor(default).array
    return value.dtype, value.ravel()[0] if value.size else None


def row_of(
    fields: list[str],
    columns: Sequence[tuple[Any, Any]],
    chosen: Sequence[int] | None,
    empty: str,
    at: str,
) -> tuple[Any, ...]:
    if chosen is not None:
        fields = [fields[i] for i in chosen if i < len(fields)]
    if len(fields) != len(columns):
        raise ValueError(
            f"{at} has {len(fields)} fields, there are defaults for {len(columns)}{at_user_line()}"
        )
    return tuple(
        _value(field, *column, empty, f"{at}, field {i}")
        for i, (field, column) in enumerate(zip(fields, columns, strict=True))
    )


def _value(field: str, dtype: np.dtype, default: Any, empty: str, at: str) -> np.ndarray:
    if field in ("", empty):
        if default is None:
            raise ValueError(f"{at} is empty, and has no default{at_user_line()}")
        if dtype != tf.string:
            return np.asarray(default, dtype)
        field = default.decode()
    if dtype == tf.string:
        return _text(field)
    try:
        return np.asarray(float(field) if dtype.kind == "f" else int(field), dtype)
    except ValueError:
        raise ValueError(f"{at} is {field!r}, no {dtype.name}{at_user_line()}") from None
