"""Exported code stays within the arrays that it is given: nothing beside them is read or written."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks.guarded import WAYS, Library

EMPTY, ONE = np.zeros(0), np.ones(1)
FIRST = np.array([0])

#: What looks up or writes places that data name, and arguments for which there is no such place.
PLACES: dict[str, tuple[Callable[..., Any], list[str], list[np.ndarray]]] = {
    "gather": (lambda x, i: tf.gather(x, i), ["f64[n]", "i64[k]"], [EMPTY, FIRST]),
    "gather of computed places": (lambda x, i: tf.gather(x, i * 2 + 1), ["f64[n]", "i64[k]"], [EMPTY, FIRST]),
    "one place": (lambda x, i: x[i] * 2.0, ["f64[n]", "i64"], [EMPTY, np.int64(0)]),
    "behind a slice": (lambda x, i: tf.gather(x[1:], i), ["f64[n]", "i64[k]"], [ONE, FIRST]),
    "rows": (lambda x, i: tf.gather(x, i), ["f64[n,m]", "i64[k]"], [np.zeros((0, 3)), FIRST]),
    "columns": (lambda x, i: tf.gather(x, i, axis=1), ["f64[n,m]", "i64[k]"], [np.zeros((3, 0)), FIRST]),
    "set": (lambda x, i, v: x.at[i].set(v), ["f64[n]", "i64[k]", "f64[k]"], [EMPTY, FIRST, ONE]),
    "add": (lambda x, i, v: x.at[i].add(v), ["f64[n]", "i64[k]", "f64[k]"], [EMPTY, FIRST, ONE]),
    "sums of places": (
        lambda x, i: tf.math.unsorted_segment_sum(x, i, 0), ["f64[k]", "i64[k]"], [ONE, FIRST]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_places_of_arrays_without_elements_are_refused(name: str, tmp_path: Path) -> None:
    f, specs, arrays = PLACES[name]
    library = Library(tf.export(f, specs, name="f", outputs="value"), tmp_path)
    arrays = [np.asarray(a) for a in arrays]
    for way in WAYS:
        status, found = library.call(arrays, way)
        assert "out of range" in status or (name == "sums of places" and found[0].size == 0), status


def test_gradients_at_places_stay_inside(tmp_path: Path) -> None:
    art = tf.export(lambda x, i: tf.reduce_sum(tf.gather(x, i) ** 2), ["f64[n]", "i64[k]"], name="f")
    library = Library(art, tmp_path)
    for way in WAYS:
        status, (value, gx) = library.call([np.arange(3.0), np.array([2, -1, 0])], way)
        assert status == "" and value == 8.0 and gx.tolist() == [0.0, 0.0, 8.0]
        assert "out of range" in library.call([EMPTY, FIRST], way)[0]
        assert library.call([EMPTY, FIRST[:0]], way)[0] == ""


def test_a_caller_that_writes_outside_is_found(tmp_path: Path) -> None:
    """What the tests here rely on: a byte beside a result is noticed."""
    library = Library(tf.export(lambda x: x + 1.0, ["f64[n]"], name="f", outputs="value"), tmp_path)
    called = library._called

    def and_one_more(x: Any, y: Any, n: Any) -> Any:
        ctypes.memset(y.value - 1, 7, 1)
        return called(x, y, n)

    library._called = and_one_more
    with pytest.raises(AssertionError, match="beside a result"):
        library.call([np.arange(3.0)], WAYS[0])
