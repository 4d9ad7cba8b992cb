"""Arrays written piece by piece are done box by box: the values stay to the bit, at every level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks.levels import assert_levels_agree, complete, derived
from tracejit.compiler import pipeline
from tracejit.compiler.loopir.ir import Nest, While, walk
from tracejit.core.ir.graph import Graph
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.0, 1e308]


def torus(x):
    around = tf.roll(x, 1, 0) + tf.roll(x, -1, 0) + tf.roll(x, 2, 1) + tf.roll(x, -1, 1)
    return [x + 0.1 * (around - 4.0 * x) - 0.01 * x * x * x]


def torus_in_a_loop(x):
    return list(tf.while_loop(lambda k, x: k < 3, lambda k, x: (k + 1, torus(x)[0]), (0, x)))[1:]


def swept(x):
    """The transposed roll reads what the loop is changing."""

    def body(k, x, y):
        return k + 1, x + tf.roll(y, 1, 0), tf.roll(x, 1, 1) * y

    return list(tf.while_loop(lambda k, x, y: k < 3, body, (0, x, x * 2.0)))[1:]


def padded(x):
    p = tf.pad(x, [[1, 1], [2, 0]])
    return [p[1:, 2:] - p[:-1, 2:] * p[1:, :-2], p * 2.0]


def side_by_side(x):
    halves = tf.concat([x[:, ::2] * 2.0, x[:, 1::2] + 1.0], 1)
    return [halves * x, tf.concat([halves, x], 0)[5:-5]]


def differences(x):
    return [100.0 * (x[1:] - x[:-1] * x[:-1]) ** 2 + (1.0 - x[:-1]) ** 2]


def flipped(x):
    return [tf.roll(x[::-1], 1, 0) * x, tf.roll(x, 3, 1)[:, ::-1] - x]


def replaced(x):
    y = tf.tensor_scatter_nd_update(x, [[2], [5]], x[:2] * 3.0)
    return [y + tf.roll(y, 1, 0)]


def rows_of_rows(x):
    return [tf.reduce_sum(torus(x)[0] * tf.roll(x, 1, 0)), tf.reduce_max(tf.roll(x, 1, 1) + x, 1)]


def stencil(x):
    p = tf.pad(x, [[1, 1], [1, 1]], constant_values=3.0)
    return [p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4.0 * x]


def ring(x):
    p = tf.concat([x[-1:], x, x[:1]], 0)
    return [p[2:] * p[:-2] - x, tf.sqrt(p[1:-1] * p[1:-1])]


def stencils_in_a_loop(x):
    return list(tf.while_loop(lambda k, x: k < 3, lambda k, x: (k + 1, 0.1 * stencil(x)[0]), (0, x)))[1:]


def changed_behind(x):
    """What is padded is updated before the padded array is read."""
    p = tf.pad(x * 2.0, [[1, 1], [0, 0]])
    y = tf.tensor_scatter_nd_update(x * 2.0, [[1]], x[:1])
    return [p[1:-1] + y, p[2:] - p[:-2]]


PROGRAMS = (
    stencil, ring, stencils_in_a_loop, changed_behind,
    torus, torus_in_a_loop, swept, padded, side_by_side, differences, flipped, replaced, rows_of_rows,
)  # fmt: skip


def traced(f: Callable[..., Sequence[Any]], shape: tuple, order: str) -> tuple[Graph, Graph | None]:
    source = trace(f, [TensorSpec(shape, "float64")], f.__name__).graph
    return source, derived(source, order)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", [(24, 30), (40, 16)], ids=str)
@pytest.mark.parametrize("order", ["value", "gradient", "second", "jvp"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_levels_agree(f: Callable[..., Sequence[Any]], order: str, shape: tuple):
    source, graph = traced(f, shape, order)
    if graph is not None:
        x = np.random.default_rng(0).standard_normal(shape)
        assert_levels_agree(graph, complete(graph, [x], source, order))


@pytest.mark.parametrize("f", [torus, padded, stencil, side_by_side, differences], ids=lambda f: f.__name__)
def test_levels_agree_on_special_values(f: Callable[..., Sequence[Any]]):
    source, graph = traced(f, (24, 30), "gradient")
    x = np.random.default_rng(1).choice(SPECIAL, (24, 30))
    for order, one in (("value", source), ("gradient", graph)):
        assert one is not None
        with np.errstate(all="ignore"):
            assert_levels_agree(one, complete(one, [x], source, order))


def stored(f: Callable[..., Sequence[Any]], shape: tuple, order: str) -> int:
    """The elements of all temporaries."""
    graph = traced(f, shape, order)[1]
    assert graph is not None
    return sum(b.size for b in pipeline.lower_graph(graph).buffers if b.kind == "temp")


def test_rolled_and_padded_arrays_need_no_memory():
    assert stored(torus, (20, 30), "value") == 0
    assert stored(torus, (20, 30), "gradient") == 0
    assert stored(stencil, (20, 30), "value") == 0
    assert stored(ring, (20, 30), "value") == 0
    assert stored(padded, (20, 30), "value") == 0


def test_a_step_on_a_torus_reads_its_neighbours_where_they_are():
    graph = traced(torus_in_a_loop, (20, 30), "value")[1]
    assert graph is not None
    (loop,) = (s for s in walk(pipeline.lower_graph(graph).body) if isinstance(s, While))
    rows = [s for s in loop.body if isinstance(s, Nest) and len(list(walk([s]))) > 30]
    assert rows, "the inside with the columns beside it is one loop over rows"


def test_large_temporaries_are_worked_out_where_they_are_read():
    def shifted(x):
        y = x * x * 3.0 - x
        return [y[1:] * y[:-1]]

    assert stored(shifted, (5000,), "value") == 0
    assert stored(lambda x: [tf.exp(x)[1:] * tf.exp(x)[:-1]], (5000,), "value") == 5000
    for size in (5000, 40):
        source, graph = traced(shifted, (size,), "gradient")
        assert graph is not None
        x = np.random.default_rng(2).standard_normal(size)
        assert_levels_agree(graph, complete(graph, [x], source, "gradient"))
