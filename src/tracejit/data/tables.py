"""Files of comma-separated values with named columns, as batches of them."""

from __future__ import annotations

import csv
import glob
import math
from collections import OrderedDict
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

import tracejit as tf

from ..errors import at_user_line
from .dataset import Dataset
from .text_files import CsvDataset, opened, paths_of


def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10_000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
) -> Dataset:
    """Batches of the lines of files of comma-separated values: a dict of columns by name, and the label's apart.

    Parameters
    ----------
    file_pattern : path, pattern, or sequence of them
    batch_size : int
        A last batch that is not full is left out where there is no end.
    column_names : sequence of str, optional
        By default the first line of the first file.
    column_defaults : sequence, optional
        As for :class:`CsvDataset`; by default the narrowest of int32, int64, float32, float64 and text that holds what
        the first lines have, and numbers must be there.
    label_name : str, optional
        The column that is given apart; elements are pairs then.
    select_columns : sequence of str or int, optional
        Those that are read.
    field_delim, use_quote_delim, na_value, header, compression_type
        As for :class:`CsvDataset`.
    num_epochs : int, optional
        How often all lines come; by default without end.
    shuffle : bool
        In another order each time, within `shuffle_buffer_size` lines, by `shuffle_seed`.
    num_rows_for_inference : int, optional
        How many lines are looked at for dtypes; None means all.
    prefetch_buffer_size, num_parallel_reads, sloppy
        Ignored.
    ignore_errors : bool
        Not supported: lines that do not fit raise.

    Raises
    ------
    ValueError
        For columns that are not there, no files, and lines that do not fit.

    Examples
    --------
    >>> import tempfile, tracejit as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tf.io.write_file(folder + "/a.csv", "x,y" + chr(10) + "1,2.5" + chr(10) + "3,4.5" + chr(10))
    ...     table = tf.data.experimental.make_csv_dataset(
    ...         folder + "/*.csv", 2, label_name="y", num_epochs=1, shuffle=False
    ...     )
    ...     print([(rows["x"].numpy().tolist(), label.numpy().tolist()) for rows, label in table])
    [([1, 3], [2.5, 4.5])]
    """
    if ignore_errors:
        raise ValueError(f"lines that do not fit are not left out: ignore_errors is False{at_user_line()}")
    files = _files(file_pattern)
    style = {"delimiter": field_delim, "quoting": csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE}
    look = num_rows_for_inference if column_defaults is None else 0
    first, rows = _beginning(files[0], header, look, style, compression_type)
    names = list(first if column_names is None else column_names)
    chosen = (
        list(range(len(names))) if select_columns is None else [_number(c, names) for c in select_columns]
    )
    if label_name is not None and label_name not in [names[i] for i in chosen]:
        raise ValueError(f"no column is called {label_name!r}, there are {names}{at_user_line()}")
    if column_defaults is None:
        defaults = [_kind([row[i] for row in rows], na_value) for i in chosen]
    else:
        given = list(column_defaults)
        defaults = given if len(given) == len(chosen) else [given[i] for i in chosen]
    lines: Any = CsvDataset(
        files, defaults, compression_type, None, header, field_delim, use_quote_delim, na_value, chosen
    )
    if shuffle:
        lines = lines.shuffle(shuffle_buffer_size, shuffle_seed)
    batches = lines.repeat(num_epochs).batch(batch_size, drop_remainder=num_epochs is None)
    return batches.map(lambda *columns: _named([names[i] for i in chosen], columns, label_name))


def _files(pattern: Any) -> list[str]:
    found = [path for p in paths_of(pattern) for path in (sorted(glob.glob(p)) or [p])]
    if not found:
        raise ValueError(f"there are no files to read{at_user_line()}")
    return found


def _beginning(
    path: str, header: bool, count: int | None, style: dict[str, Any], compression: str | None
) -> tuple[list[str], list[list[str]]]:
    """The first line of a file, and `count` of the others (None: all of them)."""
    with opened(path, compression) as file:
        reader = csv.reader(file, **style)
        first = next(reader, [])
        return first, [*([] if header else [first]), *islice((row for row in reader if row), count)]


def _number(column: Any, names: list[str]) -> int:
    if isinstance(column, int) and 0 <= column < len(names):
        return column
    if column not in names:
        raise ValueError(f"no column is called {column!r}, there are {names}{at_user_line()}")
    return names.index(column)


def _kind(fields: list[str], absent: str) -> Any:
    """The dtype of a column; of text what stands for an empty field."""
    present = [field for field in fields if field not in ("", absent)]
    for dtype, read in ((tf.int32, int), (tf.int64, int), (tf.float32, float), (tf.float64, float)):
        if all(_fits(field, dtype, read) for field in present):
            return dtype
    return ""


def _fits(field: str, dtype: tf.DType, read: Any) -> bool:
    try:
        number = read(field)
    except ValueError:
        return False
    limit: Any = np.iinfo(dtype) if dtype.kind == "i" else np.finfo(dtype)
    low, high = (np.asarray(end).item() for end in (limit.min, limit.max))
    return low <= number <= high or not math.isfinite(number)


def _named(names: list[str], columns: Sequence[Any], label: str | None) -> Any:
    table = OrderedDict(zip(names, columns, strict=True))
    return table if label is None else (table, table.pop(label))
