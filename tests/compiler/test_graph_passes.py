"""Each pass on graphs alone: the graph before and after it, and that its values stay.

What a pass makes of each graph is in ``tests/graphs``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks import modes
from checks.levels import derived
from tracejit.compiler.graph.batch_matmuls import multiply_results, multiply_rows, sum_products
from tracejit.compiler.graph.loop_cse import Matcher
from tracejit.compiler.graph.partition import partition
from tracejit.compiler.graph.save_residuals import save_residuals
from tracejit.compiler.graph.simplify import simplify
from tracejit.compiler.loopir.text import to_text as program_text
from tracejit.compiler.lowering.liveness import Liveness
from tracejit.compiler.lowering.lower import lower
from tracejit.compiler.lowering.topological_order import topological_order
from tracejit.core.ir.graph import Graph, verify
from tracejit.core.ir.text import constants, parse, to_text
from tracejit.core.settings import settings
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.prune import prune
from tracejit.core.tracing.trace import trace

Show = Callable[[Callable[[Graph], Graph], Graph], Graph]


@pytest.fixture
def show(golden: Callable[..., None]) -> Show:
    """Return ``show(run, graph)``: run a pass and compare both texts and both graphs' values."""

    def show(run: Callable[[Graph], Graph], graph: Graph) -> Graph:
        verify(graph)
        text = to_text(graph)
        after = run(graph)
        verify(after)
        assert to_text(after) != text, "the pass did nothing"
        golden(f"{text}\n\n---- {run.__name__} ----\n\n{to_text(after)}")
        for a, b in zip(*(modes.eager(g, arguments(graph)) for g in (graph, after)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
        return after

    return show


def arguments(graph: Graph) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [np.asarray(random.uniform(0.5, 2.0, v.spec.shape), v.spec.dtype) for v in graph.inputs]


def traced(f: Callable[..., Any], *shapes: Sequence[int]) -> Graph:
    return trace(lambda *xs: [f(*xs)], [TensorSpec(s, "float64") for s in shapes], "f").graph


def gradient(f: Callable[..., Any], *shapes: Sequence[int]) -> Graph:
    """The simplified gradient of a sum."""
    found = derived(traced(lambda *xs: tf.reduce_sum(f(*xs)), *shapes), "gradient")
    assert found is not None
    return simplify(found)


def recurrent(rows, w, u):
    """A scan whose step multiplies a row and the carry with matrices from outside."""
    return tf.scan(lambda h, x: (tf.tanh(x @ w + h @ u), h), tf.zeros((4, 12), dtype=tf.float64), rows)[0]


RECURRENT = ((3, 4, 12), (12, 12), (12, 12))


def test_simplify_applies_rules_and_computes_each_value_once(show: Show):
    def f(x):
        y = tf.negative(-x) * 1.0
        return (tf.sin(y) + tf.sin(x)) ** 2.0 + (tf.constant(2.0, "float64") + 3.0)

    show(simplify, traced(f, (3,)))


def test_simplify_moves_what_does_not_change_in_front_of_a_loop(show: Show):
    show(simplify, traced(lambda x: tf.fori_loop(0, 3, lambda i, c: c * tf.exp(x), x), (3,)))


def test_prune_drops_what_nothing_needs(show: Show):
    def f(x):
        tf.sin(x)
        return tf.fori_loop(0, 3, lambda i, c: (c[0] * c[1], c[1] + x), (x, x))[1]

    show(prune, traced(f, (3,)))


def test_save_residuals_keeps_what_the_backward_would_compute_again(show: Show):
    show(save_residuals, gradient(lambda x: tf.fori_loop(0, 3, lambda i, c: tf.sin(tf.exp(c) * c), x), (50,)))


def test_multiply_rows_multiplies_all_rows_at_once(show: Show):
    show(multiply_rows, simplify(traced(recurrent, *RECURRENT)))


def test_sum_products_multiplies_once_behind_the_loop(show: Show):
    show(sum_products, save_residuals(gradient(recurrent, *RECURRENT)))


def test_multiply_results_multiplies_once_behind_the_loop(show: Show):
    show(multiply_results, save_residuals(gradient(recurrent, *RECURRENT)))


def layer(x, w):
    return tf.reduce_sum(tf.tanh(tf.exp(x @ w) * 2.0))


def test_partition_keeps_what_is_cheapest(golden: Callable[..., None]):
    graph = simplify(traced(layer, (8, 4), (4, 8)), final=False)
    parts = partition(graph)
    golden("\n\n".join(map(to_text, (graph, parts.forward, parts.backward))))
    arrays = arguments(graph)
    y, *kept = modes.eager(parts.forward, arrays)
    np.testing.assert_array_equal(y, modes.eager(graph, arrays)[0])
    with tf.GradientTape() as tape:
        x, w = map(tf.constant, arrays)
        tape.watch([x, w])
        wanted = tape.gradient(layer(x, w), [x, w])
    for a, b in zip(modes.eager(parts.backward, [*kept, np.ones(())]), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_parts_of_other_settings_are_never_found():
    graph = traced(lambda x: tf.reduce_sum(x * x * 0.0), (3,))
    nan = [np.full(3, np.nan)]
    for fast in (True, False, True):
        with settings(fastmath=fast):
            found = modes.eager(partition(graph).forward, nan)[0]
        assert np.isnan(found) == (not fast)


# ---- what decides ---------------------------------------------------------------------------------------


def updated(x):
    """An update of a tensor that something else reads afterwards."""
    y = tf.exp(x)
    z = tf.tensor_scatter_nd_update(y, [[0]], tf.zeros((1,), dtype=tf.float64))
    return z + tf.sin(y)


def test_topological_order_brings_readers_in_front_of_an_update(golden: Callable[..., None]):
    graph = simplify(traced(updated, (300,)))
    names = [n.op.name for n in graph.nodes], [n.op.name for n in topological_order(graph)]
    assert names[0] != names[1] and sorted(names[0]) == sorted(names[1])
    golden("\n".join([to_text(graph), "", "---- topological_order ----", "", *names[1]]))


def test_liveness_ends_where_the_last_view_is_read(golden: Callable[..., None]):
    graph = simplify(traced(lambda x: tf.exp(tf.transpose(tf.sin(x))) + 1.0, (3, 4)))
    life = Liveness(graph, set(), graph.outputs)
    lines = [
        f"{n.op.name}: {', '.join('last' if life.ends(v, p) else 'read again' for v in n.inputs)}"
        for p, n in enumerate(graph.nodes)
    ]
    golden("\n".join([to_text(graph), "", "---- Liveness ----", "", *lines]))


def test_matcher_makes_two_loops_that_carry_the_same_one(golden: Callable[..., None]):
    def summed(g):
        return lambda x: tf.scan(lambda c, i: (tf.sin(c), g(c)), x, tf.zeros((4, 1), dtype=tf.float64))[1]

    target, other = (simplify(traced(summed(g), (3,))) for g in (tf.exp, tf.square))
    before = to_text(target)
    matcher = Matcher(target, dict(zip(other.inputs, target.inputs, strict=True)))
    assert all(matcher.finds(n) for n in other.nodes)
    target.outputs.append(matcher.image[other.outputs[0]])
    verify(target)
    golden("\n\n".join([before, to_text(other), "---- Matcher ----", to_text(target)]))
    (array,) = arguments(target)
    found = modes.eager(target, [array])
    for a, graph in zip(found, (parse(before, constants(target)), other), strict=True):
        np.testing.assert_array_equal(a, modes.eager(graph, [array])[0])


def test_lower_writes_a_nest_for_each_node(golden: Callable[..., None]):
    graph = simplify(traced(lambda x: tf.reduce_sum(tf.exp(tf.transpose(x)), axis=0), (3, 4)))
    program, constants_ = lower(graph)
    assert not constants_
    golden(f"{to_text(graph)}\n\n---- lower ----\n\n{program_text(program)}")


def test_what_follows_a_loop_that_is_anothers_equal_knows_its_trips():
    """Hessian, tangent and function share values: the loop of one is that of the others, its trips have one name."""

    def f(x):
        body = lambda k, z: (k + 1.0, z * 1.7 + 0.1 * tf.reduce_mean(tf.cos(z)))
        k, z = tf.while_loop(lambda k, z: tf.reduce_sum(z * z) + k < 9.0, body, (tf.zeros([], x.dtype), x))
        return tf.reduce_sum(z * k)

    def together(x, t):
        return tf.jvp(f, (x,), (t,)), tf.hessian(f)(x), f(x)

    x, t = tf.constant([0.3, 0.2], tf.float64), tf.constant([1.0, -2.0], tf.float64)
    art = tf.export(f, ["f64[2]"], name="f", outputs=["jvp", "hessian", "value"], targets=["host"])
    (value, tangent), hessian, _ = together(x, t)
    for y, expected in zip(art(x.numpy(), t.numpy()), (value, tangent, hessian), strict=True):
        np.testing.assert_allclose(y, np.asarray(expected), rtol=1e-11)
