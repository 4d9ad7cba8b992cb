"""Exported code stays within the arrays that it is given: nothing beside them is read or written."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from itertools import pairwise
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


def matrices(*sizes: int, dtype: str = "f8") -> list[np.ndarray]:
    """Matrices of these numbers of rows, each as long as the next one has rows."""
    random = np.random.default_rng(0)
    return [random.standard_normal(shape).astype(dtype) for shape in pairwise(sizes)]


def definite(n: int, columns: int) -> list[np.ndarray]:
    (a,), (b,) = matrices(n, n), matrices(n, columns)
    return [a @ a.T + n * np.eye(n), b]


#: Kernels whose vectors are wider than what is left at an edge, and arguments for a size.
EDGES: dict[str, tuple[Callable[..., Any], list[str], Callable[[int], list[np.ndarray]]]] = {
    "products": (
        lambda a, b: tf.reduce_sum(tf.tanh(a @ b)), ["f64[n,k]", "f64[k,m]"], lambda n: matrices(n, 11, n)
    ),
    "products in float32": (
        lambda a, b: tf.reduce_sum((a @ b) ** 2), ["f32[n,k]", "f32[k,m]"], lambda n: matrices(n, n, 7, dtype="f4")
    ),
    "rows": (
        lambda x: tf.reduce_sum(tf.nn.log_softmax(x)[:, 0]), ["f64[n,m]"], lambda n: matrices(3, n)
    ),
    "columns": (
        lambda x: tf.reduce_sum(tf.reduce_max(x, 0) * tf.cumsum(x, 0)), ["f32[n,m]"],
        lambda n: matrices(5, n, dtype="f4"),
    ),
    "factors": (
        lambda a, b: tf.reduce_sum(tf.linalg.solve(tf.linalg.cholesky(a), b)), ["f64[n,n]", "f64[n,m]"],
        lambda n: definite(n, 3),
    ),
    "orthogonal": (
        lambda a: tf.reduce_sum(tf.linalg.qr(a)[0]), ["f64[n,m]"], lambda n: matrices(n + 2, max(n // 2, 1))
    ),
    "windows": (
        lambda x, w: tf.reduce_sum(tf.nn.conv2d(x, w, 1, "SAME") ** 2), ["f32[n,5,7,3]", "f32[3,3,3,5]"],
        lambda n: [np.ones((n, 5, 7, 3), "f4"), np.ones((3, 3, 3, 5), "f4")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_kernels_stay_inside_at_every_edge(name: str, tmp_path: Path) -> None:
    """And give the same bits wherever the arrays stand."""
    f, specs, arguments = EDGES[name]
    library = Library(tf.export(f, specs, name="f", targets=["host"]), tmp_path)
    for n in (1, 2, 3, 5, 8, 13, 17, 31, 33, 67):
        found = [library.call(arguments(n), way) for way in WAYS]
        assert [status for status, _ in found] == [""] * len(WAYS)
        bits = [[y.tobytes() for y in results] for _, results in found]
        assert all(b == bits[0] for b in bits)


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
