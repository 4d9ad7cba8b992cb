"""One pass feeds sums along rows, down columns and over both: the values stay, at every level and size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
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
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.0, 1e150]


def energy(x):
    d = x[:, None, :] - x[None, :, :]
    return [tf.reduce_sum(1.0 / tf.sqrt(tf.reduce_sum(d * d, -1) + 0.1))]


def both_ways(x):
    p = tf.exp(x[:, None, 0] * x[None, :, 1] * 0.1)
    return [tf.reduce_sum(p, 0), tf.reduce_sum(p, 1), tf.reduce_sum(p)]


def extremes(x):
    p = x[:, None, 0] - x[None, :, 1] * x[:, None, 2]
    return [tf.reduce_max(p, 0), tf.reduce_min(p, 1), tf.reduce_sum(p, 0), tf.reduce_any(p > 1.0, 1)]


def in_batches(x):
    p = tf.sin(x[:, :, None] * x[:, None, :])
    return [tf.reduce_sum(p, 1), tf.reduce_sum(p, 2) * 2.0, tf.reduce_sum(p, (1, 2))]


def of_three_axes(x):
    p = tf.cos(x[:, None, None, 0] * x[None, :, None, 1] * x[None, None, :, 2])
    return [tf.reduce_sum(p, (0, 1)), tf.reduce_sum(p, 2), tf.reduce_sum(p), tf.reduce_sum(p, (1, 2))]


def of_whole_numbers(x):
    p = tf.cast(x[:, None, 0] * x[None, :, 1] * 10.0, tf.int32)
    return [tf.reduce_sum(p, 0), tf.reduce_sum(p, 1), tf.reduce_prod(p % 3 + 1, 0)]


def one_before_the_other(x):
    p = tf.exp(x[:, None, 0] * x[None, :, 1] * 0.1)
    rows = tf.reduce_sum(p, 1)
    return [tf.reduce_sum(p / rows[:, None], 0), rows]


def squares_of_softmax(x):
    p = tf.nn.softmax(x)
    return [tf.reduce_sum(p * p)]


PROGRAMS = (
    squares_of_softmax,
    energy,
    both_ways,
    extremes,
    in_batches,
    of_three_axes,
    of_whole_numbers,
    one_before_the_other,
)


def traced(f: Callable[..., Sequence[Any]], shape: tuple, order: str) -> tuple[Graph, Graph | None]:
    source = trace(f, [TensorSpec(shape, "float64")], f.__name__, Assumptions({"n": 40})).graph
    return source, derived(source, order)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", ["value", "gradient", "second", "jvp"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_levels_agree_at_every_size(f: Callable[..., Sequence[Any]], order: str):
    source, graph = traced(f, (n, 3), order)
    random = np.random.default_rng(0)
    for size in (0, 1, 2, 15, 16, 17, 33) if graph is not None else ():
        assert_levels_agree(graph, complete(graph, [random.standard_normal((size, 3))], source, order))


@pytest.mark.parametrize("f", [energy, both_ways, extremes], ids=lambda f: f.__name__)
def test_levels_agree_on_special_values(f: Callable[..., Sequence[Any]]):
    source, graph = traced(f, (40, 3), "gradient")
    random = np.random.default_rng(1)
    for _ in range(4):
        x = np.where(
            random.random((40, 3)) < 0.9, random.standard_normal((40, 3)), random.choice(SPECIAL, (40, 3))
        )
        for order, one in (("value", source), ("gradient", graph)):
            if one is not None:
                with np.errstate(all="ignore"):
                    assert_levels_agree(one, complete(one, [x], source, order))


def loops(f: Callable[..., Sequence[Any]], shape: tuple, order: str = "value") -> list[list[str]]:
    """The kinds of the axes of all nests, in order."""
    graph = traced(f, shape, order)[1]
    assert graph is not None
    return [[a.kind for a in s.axes] for s in walk(pipeline.lower_graph(graph).body) if isinstance(s, Nest)]


def test_forces_take_one_pass_and_no_matrix():
    graph = traced(energy, (100, 3), "gradient")[1]
    assert graph is not None
    program = pipeline.lower_graph(graph)
    assert max(b.size for b in program.buffers) < 400
    assert loops(energy, (100, 3), "gradient").count(["scan"]) == 1


def test_few_points_and_sums_that_need_another_stay():
    assert ["scan"] not in loops(both_ways, (16, 3))
    assert ["scan"] not in loops(one_before_the_other, (100, 3))


def test_sums_down_columns_are_as_careful_as_others():
    @tf.function
    def sums(x, y):
        p = x[:, None] * y[None, :]
        return tf.reduce_sum(p, 0), tf.reduce_sum(p, 1)

    random = np.random.default_rng(2)
    x = random.standard_normal(5000) * 10.0 ** random.integers(-8, 8, 5000)
    down, along = sums(x, np.array([1.0, 2.0] * 20))
    exact = float(sum(map(Fraction, x)))
    np.testing.assert_allclose(
        down, exact * np.array([1.0, 2.0] * 20), rtol=1e-15, atol=1e-16 * np.abs(x).sum()
    )
    np.testing.assert_allclose(along, 60.0 * x, rtol=1e-14)


def test_what_all_rows_read_apart_is_read_side_by_side():
    graph = traced(energy, (100, 3), "gradient")[1]
    assert graph is not None
    (loop,) = (
        s for s in walk(pipeline.lower_graph(graph).body) if isinstance(s, Nest) and s.axes[0].kind == "scan"
    )
    columns = next(s for s in loop.body if isinstance(s, Nest)).axes[0].name
    steps = {c for s in walk([loop]) for i in s.indices() for name, c in i.terms if name == columns}
    assert steps == {1}


def test_sums_along_rows_and_of_everything_leave_rows_in_any_order():
    found = loops(squares_of_softmax, (40, 64), "gradient")
    assert ["scan"] not in found and found.count(["parallel"]) == 2  # all rows, and the last loop over one
