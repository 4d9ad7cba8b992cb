"""Sequences of different lengths as one array, in the form that Keras gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.errors import at, user_location

_SIDES = ("pre", "post")


def pad_sequences(
    sequences: Sequence[Sequence[Any]],
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> np.ndarray:
    """Sequences as rows of one array, filled up and cut to one length.

    Parameters
    ----------
    sequences : sequence of sequences
        Of numbers, or of arrays of one shape.
    maxlen : int, optional
        The length; by default that of the longest.
    dtype : dtype-like
    padding, truncating : {"pre", "post"}
        Where values are added, and taken away.
    value : number
        What is added.

    Returns
    -------
    ndarray
        ``(number of sequences, maxlen, ...)``.

    Raises
    ------
    ValueError
        For other sides, and where elements have different shapes.

    Examples
    --------
    >>> pad_sequences([[1, 2], [3]], padding="post").tolist()
    [[1, 2], [3, 0]]
    """
    for what, side in (("padding", padding), ("truncating", truncating)):
        if side not in _SIDES:
            raise ValueError(f"{what} is 'pre' or 'post', got {side!r}{at(user_location())}")
    rows = [np.asarray(row) for row in sequences]
    length = max((len(row) for row in rows), default=0) if maxlen is None else maxlen
    shapes = {row.shape[1:] for row in rows if len(row)}
    if len(shapes) > 1:
        raise ValueError(
            f"elements of sequences have different shapes, {sorted(shapes)}{at(user_location())}"
        )
    whole = np.full((len(rows), length, *next(iter(shapes), ())), value, dtype)
    for target, row in zip(whole, rows, strict=True):
        kept = row[max(len(row) - length, 0) :] if truncating == "pre" else row[:length]
        start = length - len(kept) if padding == "pre" else 0
        target[start : start + len(kept)] = kept
    return whole
