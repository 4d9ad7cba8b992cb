"""Points as ``[n, 3]`` and their like: short axes are written out, and the values stay, at every level and size."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks.levels import assert_levels_agree, complete, derived
from tracejit.compiler import pipeline
from tracejit.compiler.loopir.ir import Nest, walk
from tracejit.core.dim import Assumptions, Dim
from tracejit.core.ir.graph import Graph
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

n = Dim.of("n")
SIZES = (0, 1, 2, 17, 40)
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.0, 5e-324]


def lengths(x):
    return [tf.sqrt(tf.reduce_sum(x * x, -1) + 1.0)]


def directions(x):
    return [x / tf.sqrt(tf.reduce_sum(x * x, -1, keepdims=True) + 1.0)]


def extremes(x):
    return [tf.reduce_max(x, -1), tf.reduce_min(x, -1), tf.reduce_prod(x, -1)]


def comparisons(x):
    return [tf.reduce_any(x > 0.0, -1), tf.reduce_all(x > 0.0, -1), tf.argmax(x, -1)]


def centred(x):
    return [x - tf.reduce_mean(x, -1, keepdims=True), tf.reduce_sum(x, 0) * 2.0]


def distances(x):
    d = x[:, None, :] - x[None, :, :]
    return [tf.sqrt(tf.reduce_sum(d * d, -1) + 1.0)]


def planes(x):
    return [tf.stack([x[:, 1] * x[:, 2], x[:, 0] + 1.0], -1) * x[:, :2], x[:, ::-1] - x]


def products(x):
    return [x @ tf.reshape(tf.range(9, dtype=tf.float64), [3, 3]), x[:, :, None] * x[:, None, :]]


def positions(x):
    return [x * tf.cast(tf.range(3), tf.float64), tf.cumsum(x, -1)]


def as_complex(x):
    return [tf.reduce_sum(tf.complex(x, 2.0 * x) * tf.complex(x[:, :1], x[:, :1]), -1)]


def in_a_loop(x):
    return list(tf.while_loop(lambda k, x: k < 3, lambda k, x: (k + 1, directions(x)[0]), (0, x)))[1:]


PROGRAMS = (
    lengths, directions, extremes, comparisons, centred, distances, planes, products, positions, as_complex, in_a_loop,
)  # fmt: skip
ORDERS = ("value", "gradient", "second", "jvp")


def traced(f: Callable[..., Sequence[Any]], shape: tuple, order: str) -> tuple[Graph, Graph | None]:
    source = trace(f, [TensorSpec(shape, "float64")], f.__name__, Assumptions({"n": 17})).graph
    return source, derived(source, order)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_levels_agree_at_every_size(f: Callable[..., Sequence[Any]], order: str):
    source, graph = traced(f, (n, 3), order)
    random = np.random.default_rng(0)
    for size in SIZES if graph is not None else ():
        assert_levels_agree(graph, complete(graph, [random.standard_normal((size, 3))], source, order))


@pytest.mark.parametrize("axis", [2, 3, 5, 8, 9])
@pytest.mark.parametrize("f", [lengths, directions, extremes, comparisons, centred], ids=lambda f: f.__name__)
def test_levels_agree_on_special_values(f: Callable[..., Sequence[Any]], axis: int):
    source, graph = traced(f, (40, axis), "gradient")
    x = np.random.default_rng(axis).choice(SPECIAL, (40, axis))
    for order, one in (("value", source), ("gradient", graph)):
        if one is not None:
            with np.errstate(all="ignore"):
                assert_levels_agree(one, complete(one, [x], source, order))


def axes(f: Callable[..., Sequence[Any]], shape: tuple, order: str = "value") -> list[list[Any]]:
    """The sizes of the axes of every nest that is left, in order."""
    graph = traced(f, shape, order)[1]
    assert graph is not None
    return [[a.size for a in s.axes] for s in walk(pipeline.lower_graph(graph).body) if isinstance(s, Nest)]


def test_points_are_one_nest_over_the_points():
    assert axes(directions, (n, 3)) == [[n]]
    assert axes(directions, (n, 3), "gradient") == [[n]]
    assert axes(distances, (100, 3)) == [[100, 100]]


def test_long_rows_and_few_points_stay():
    assert axes(lambda x: [x * 2.0 + tf.sin(x)], (n, 3)) == [[n, 3]]  # one row of 3 n numbers
    assert axes(lengths, (n, 9)) == [[n, 9]]
    assert axes(lengths, (2, 3)) == [[2, 3]]


# ---- whole groups are read ------------------------------------------------------------------------------


def at_the_end_of_a_page(shape: tuple[int, ...], dtype: type) -> tuple[np.ndarray, mmap.mmap]:
    """An array behind which nothing may be read."""
    memory = mmap.mmap(-1, 3 * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None).mprotect
    assert protect(ctypes.c_void_p(start + 2 * mmap.PAGESIZE), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    array = np.frombuffer(memory, dtype, int(np.prod(shape)), 2 * mmap.PAGESIZE - size).reshape(shape)
    array[...] = np.random.default_rng(0).normal(size=shape)
    return array, memory


@pytest.mark.skipif(not hasattr(mmap, "MAP_PRIVATE"), reason="needs mprotect")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("short", [2, 3, 4])
@pytest.mark.parametrize("points", [1, 7, 16, 37])
def test_points_are_read_in_groups_and_nothing_behind_them(points, short, dtype):
    x, _memory = at_the_end_of_a_page((points, short), dtype)
    ways = [
        lambda x: x[:, 0] * 2 + x[:, short - 1],
        lambda x: x[:, short - 1] + 1,
        lambda x: x[1:, 0] - x[:-1, 1],
        lambda x: x[::-1, 0] + x[:, 1],
        lambda x: (x * x).sum(-1),
        lambda x: x[::2, 0] * x[::2, 1],
    ]
    for f in ways:
        found = tf.function(lambda x, f=f: f(x) if f is not ways[4] else tf.reduce_sum(x * x, -1))(x)
        np.testing.assert_allclose(found, f(x), rtol=4 * np.finfo(dtype).eps)


@pytest.mark.skipif(not pipeline.machine().has_masks, reason="needs masked loads at the price of plain ones")
def test_coordinates_of_points_are_one_load():
    text = tf.function(lambda x: tf.reduce_sum(x * x, -1)).llvm(np.ones((64, 3)))
    assert text.count("= load <") == 1 and "masked.load" not in text
