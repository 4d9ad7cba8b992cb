"""Loops and the loops over their rows: what is saved, what is moved out, and that no value changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tracejit as tf
from checks import modes
from checks.levels import assert_levels_agree, complete, derived
from tracejit.compiler import pipeline
from tracejit.compiler.graph import batch_matmuls as products
from tracejit.compiler.graph import save_residuals as residuals
from tracejit.compiler.graph.batch_matmuls import multiply_rows, sum_products
from tracejit.compiler.graph.partition import partition
from tracejit.compiler.graph.passes import GRAPH_PASSES, LOOP_PASSES
from tracejit.compiler.graph.save_residuals import save_residuals
from tracejit.compiler.graph.simplify import simplify
from tracejit.core.autodiff.backprop import gradient_graph
from tracejit.core.ir.graph import Graph, verify, walk
from tracejit.core.ir.text import to_text
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

STEPS, BATCH, HIDDEN = 4, 3, 12


def lstm(xs, w, u, b):
    def step(state, x):
        h, c = state
        z = x @ w + h @ u + b
        i, f, g, o = (z[:, k * HIDDEN : (k + 1) * HIDDEN] for k in range(4))
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        return (h, c), tf.reduce_sum(h * h)

    zeros = tf.zeros((BATCH, HIDDEN), dtype=tf.float64)
    return [tf.reduce_sum(tf.scan(step, (zeros, zeros), xs)[1])]


def columns(xs, w, u):
    """The same kind of product from the left, on vectors."""
    return [tf.reduce_sum(tf.scan(lambda h, x: (tf.tanh(w @ x + u @ h), h), u[0], xs)[1])]


def nested(x, a):
    def outer(i, c):
        return c * tf.fori_loop(0, 3, lambda j, d: tf.tanh(d @ a) + c, c)

    return [tf.reduce_sum(tf.fori_loop(0, 4, outer, x))]


def until_small(x, a):
    return [tf.while_loop(lambda c: tf.reduce_sum(c * c) > 1e-3, lambda c: tf.tanh(c @ a) * 0.5, x)]


def reversed_scan(x, xs):
    last, ys = tf.scan(lambda c, r: (tf.sin(c) * tf.exp(r), tf.cos(c) * r), x, xs, reverse=True)
    return [last, ys]


def counted_by_data(x, a):
    n = tf.cast(tf.reduce_sum(x * 0.0) + 3.0, tf.int64)
    return [tf.fori_loop(0, n, lambda i, c: tf.tanh(c @ a), x)]


def inner_while(x, a):
    def outer(i, c):
        return c + tf.while_loop(lambda d: tf.reduce_sum(d * d) > 0.5, lambda d: tf.tanh(d @ a) * 0.5, c)

    return [tf.reduce_sum(tf.fori_loop(0, 3, outer, x))]


def branching(x, a):
    def step(i, c):
        return tf.cond(tf.reduce_sum(c) > 0.0, lambda: tf.tanh(c @ a), lambda: tf.sin(c @ a) * c)

    return [tf.reduce_sum(tf.fori_loop(0, 4, step, x))]


def empty(x, a):
    return [tf.reduce_sum(tf.fori_loop(0, 0, lambda i, c: tf.tanh(c @ a), x) @ a)]


def f64(*shape: int) -> TensorSpec:
    return TensorSpec(shape, "float64")


SQUARE = (f64(5, 12), f64(12, 12))
PROGRAMS: dict[str, tuple[Callable, tuple[TensorSpec, ...]]] = {
    "lstm": (lstm, (f64(STEPS, BATCH, 9), f64(9, 4 * HIDDEN), f64(HIDDEN, 4 * HIDDEN), f64(4 * HIDDEN))),
    "columns": (columns, (f64(6, 30), f64(25, 30), f64(25, 25))),
    "nested": (nested, SQUARE),
    "until_small": (until_small, SQUARE),
    "reversed_scan": (reversed_scan, (f64(40), f64(5, 40))),
    "counted_by_data": (counted_by_data, SQUARE),
    "inner_while": (inner_while, SQUARE),
    "branching": (branching, SQUARE),
    "empty": (empty, SQUARE),
}
CASES = [(name, order) for name in PROGRAMS for order in ("gradient", "second", "jvp of gradient")]


def prepared(name: str, order: str = "gradient") -> tuple[Graph, list[np.ndarray]]:
    """A derivative of a program, simplified, and arguments for it."""
    f, specs = PROGRAMS[name]
    source = trace(f, specs, name).graph
    graph = derived(source, order)
    rng = np.random.default_rng(3)
    arrays = [0.3 * rng.standard_normal(s.shape) for s in specs]
    return simplify(graph), complete(graph, arrays, source, order)


def bodies(graph: Graph) -> list[Graph]:
    """The bodies of the loops of a graph, in order."""
    return [n.attrs["body"] for n in graph.nodes if n.op.name == "loop"]


def count(graph: Graph, op: str) -> int:
    """How often an op stands in a graph and its regions."""
    return sum(n.op.name == op for _, n in walk(graph))


# ---- values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "order"), CASES)
def test_saving_changes_no_bit(name: str, order: str):
    graph, arrays = prepared(name, order)
    saved = verify(save_residuals(graph))
    for a, b in zip(modes.eager(graph, arrays), modes.eager(saved, arrays), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("name", "order"), CASES)
def test_moved_products_have_the_same_values(name: str, order: str):
    graph, arrays = prepared(name, order)
    moved = graph
    for _, run in LOOP_PASSES:
        moved = verify(run(moved))
    for a, b in zip(modes.eager(graph, arrays), modes.eager(moved, arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13 * (1 + np.abs(a).max(initial=0)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_levels_agree(name: str):
    graph, arrays = prepared(name)
    assert_levels_agree(graph, arrays)


def test_passes_leave_the_graph_they_are_given_as_it_was():
    graph, _ = prepared("nested")
    before = to_text(graph)
    for _, run in LOOP_PASSES:
        run(graph)
    assert to_text(graph) == before


# ---- what is saved --------------------------------------------------------------------------------------


def test_the_backward_of_an_lstm_computes_nothing_again():
    graph, _ = prepared("lstm")
    forward, backward = bodies(save_residuals(graph))
    assert [count(forward, op) for op in ("sigmoid", "tanh")] == [3, 2]
    assert [count(backward, op) for op in ("sigmoid", "tanh")] == [0, 0]
    assert count(backward, "matmul") == 4  # for h, x, w and u


def test_inner_loops_run_once_more_only_where_their_lengths_differ():
    graph, _ = prepared("nested")
    assert count(bodies(graph)[1], "tanh") == 2
    assert count(bodies(save_residuals(graph))[1], "tanh") == 0
    graph, _ = prepared("inner_while")
    assert count(bodies(save_residuals(graph))[1], "tanh") == 1


def test_what_fits_registers_is_computed_again():
    def f(x, a):
        return [tf.fori_loop(0, 5, lambda i, c: tf.sin(c) * a + tf.exp(c * c), x)]

    graph = simplify(gradient_graph(trace(f, [f64(), f64()]).graph)[0])
    assert to_text(save_residuals(graph)) == to_text(graph)


def test_cheap_values_are_computed_again():
    def f(x):
        return [tf.fori_loop(0, 5, lambda i, c: tf.square(c + 1.0) * c, x)]

    graph = simplify(gradient_graph(trace(f, [f64(1000)]).graph)[0])
    assert to_text(save_residuals(graph)) == to_text(graph)


def test_kept_carries_that_nobody_reads_any_more_are_not_kept():
    def f(x, a):
        return [tf.fori_loop(0, 5, lambda i, c: tf.tanh(c @ a), x)]

    graph = simplify(gradient_graph(trace(f, SQUARE).graph, (True, False))[0])
    forward, backward = (n for n in save_residuals(graph).nodes if n.op.name == "loop")
    assert len(forward.outputs) == 3  # the last carry, the trips, the rows of tanh
    assert backward.attrs["rows"] == 1


def test_rows_that_would_be_too_large_are_computed_again(monkeypatch):
    graph, _ = prepared("lstm")
    monkeypatch.setattr(residuals, "LARGEST", 1000)
    assert to_text(save_residuals(graph)) == to_text(graph)


def test_a_memory_policy_is_kept():
    def f(x, a):
        return [tf.fori_loop(0, 50, lambda i, c: tf.tanh(c @ a), x, memory="recompute")]

    graph = pipeline.optimized(gradient_graph(trace(f, SQUARE).graph)[0])
    assert "50,5,12" not in to_text(graph)


def test_loops_of_another_length_are_left_alone():
    def f(x, a):
        _, ys = tf.scan(lambda c, _: (tf.tanh(c @ a), c), x, length=5)
        return [tf.scan(lambda s, y: (s + tf.tanh(y @ a), None), x, ys[:4])[0]]

    graph = simplify(trace(f, SQUARE).graph)
    assert to_text(save_residuals(graph)) == to_text(graph)


def test_a_later_loop_need_not_be_a_gradient():
    def f(x, a):
        _, ys = tf.scan(lambda c, _: (tf.tanh(c @ a), c), x, length=5)
        return [tf.scan(lambda s, y: (s + tf.tanh(y @ a) * 2.0, None), x, ys)[0]]

    later = bodies(save_residuals(simplify(trace(f, SQUARE).graph)))[1]
    assert count(later, "tanh") == count(later, "matmul") == 0


def test_a_function_under_a_tape_saves_too():
    f, specs = PROGRAMS["lstm"]
    parts = partition(trace(f, specs).graph)
    assert count(parts.backward, "tanh") == count(parts.backward, "sigmoid") == 0
    assert not any(count(body, "matmul") > 1 for body in bodies(parts.backward))


# ---- products -------------------------------------------------------------------------------------------


def test_products_of_rows_stand_in_front_of_both_loops_once():
    graph, _ = prepared("columns")
    moved = multiply_rows(graph)
    assert count(moved, "matmul") < count(graph, "matmul")
    assert count(bodies(moved)[0], "matmul") == 1  # u @ h


def test_sums_of_products_stand_behind_the_loop():
    graph, _ = prepared("lstm")
    moved = pipeline.optimized(graph)
    forward, backward = bodies(moved)
    assert count(forward, "matmul") == count(backward, "matmul") == 1
    assert count(moved, "matmul") == 2 + 4  # in front: x @ w; behind: for w, u and x


def accumulated(step: Callable, *row: int) -> Graph:
    def f(a, b, start):
        return list(tf.scan(lambda c, r: (step(c, *r), None), start, (a, b))[:1])

    rows = f64(6, *(row or (8, 20)))
    return simplify(trace(f, [rows, rows, f64(20, 20)]).graph)


def product(a, b):
    return tf.transpose(a) @ b


@pytest.mark.parametrize(
    ("step", "moves"),
    [
        (lambda c, a, b: c + product(a, b), True),
        (lambda c, a, b: product(a, b) + c, True),
        (lambda c, a, b: (c + product(a, b)) + product(b, tf.sin(a)), True),
        (lambda c, a, b: c + tf.transpose(product(a, b)), True),
        (lambda c, a, b: (c + tf.exp(b[0][:, None] * b[1])) + product(a, b), True),
        (lambda c, a, b: c * 0.5 + product(a, b), False),
        (lambda c, a, b: c + product(a, b) * c, False),
        (lambda c, a, b: c - product(a, b), False),
        (lambda c, a, b: c + tf.exp(product(a, b)), False),
        (lambda c, a, b: c + c + product(a, b), False),
    ],
)
def test_only_plain_sums_of_products_move(step: Callable, moves: bool):
    graph = accumulated(step)
    moved = verify(sum_products(graph))
    assert (count(bodies(moved)[0], "matmul") == 0 if bodies(moved) else True) == moves
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(v.spec.shape) for v in graph.inputs]
    for a, b in zip(modes.eager(graph, arrays), modes.eager(moved, arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "step",
    [
        lambda c, r, a: c @ a,
        lambda c, r, a: a @ tf.transpose(c),
        lambda c, r, a: tf.reshape(tf.sin(r) @ a, (12, 20)),
        lambda c, r, a: (a @ tf.transpose(tf.exp(c)[:2]))[:, 1],
    ],
)
def test_rows_that_are_products_are_one_product(step: Callable):
    def f(start, rows, a):
        return list(tf.scan(lambda c, r: (tf.tanh(c) + r, step(c, r, a)), start, rows))

    graph = simplify(trace(f, [f64(12, 20), f64(6, 12, 20), f64(20, 20)]).graph)
    moved = verify(products.multiply_results(graph))
    assert count(bodies(moved)[0], "matmul") == 0
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(v.spec.shape) for v in graph.inputs]
    for a, b in zip(modes.eager(graph, arrays), modes.eager(moved, arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_a_sum_that_is_read_in_the_loop_stays():
    def f(a, b, start):
        return list(tf.scan(lambda c, r: (c + product(*r), c), start, (a, b)))

    graph = simplify(trace(f, [f64(6, 8, 20), f64(6, 8, 20), f64(20, 20)]).graph)
    assert to_text(sum_products(graph)) == to_text(graph)


def test_small_products_stay():
    graph = accumulated(lambda c, a, b: c + product(a, b)[:1, :1], 2, 3)
    assert to_text(sum_products(graph)) == to_text(graph)
    assert to_text(multiply_rows(graph)) == to_text(graph)


def test_products_whose_rows_would_be_too_large_stay(monkeypatch):
    monkeypatch.setattr(products, "LARGEST", 1000)
    graph, _ = prepared("lstm")
    assert to_text(sum_products(multiply_rows(graph))) == to_text(graph)


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_unknown_lengths(steps: int):
    f, specs = PROGRAMS["lstm"]
    compiled = tf.function(
        lambda *a: tf.value_and_grad(lambda *a: f(*a)[0], argnums=(0, 1, 2, 3))(*a),
        input_signature=[TensorSpec((None, BATCH, 9), "float64"), *specs[1:]],
    )
    rng = np.random.default_rng(0)
    arrays = [
        rng.standard_normal((steps, *specs[0].shape[1:])),
        *(rng.standard_normal(s.shape) for s in specs[1:]),
    ]
    value, gradients = compiled(*arrays)
    wanted, wanted_gradients = tf.value_and_grad(lambda *a: unrolled_lstm(*a), argnums=(0, 1, 2, 3))(*arrays)
    np.testing.assert_allclose(value.numpy(), wanted.numpy(), rtol=1e-12)
    for a, b in zip(gradients, wanted_gradients, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-12)


def unrolled_lstm(xs, w, u, b):
    h = c = tf.zeros((BATCH, HIDDEN), dtype=tf.float64)
    total = tf.reduce_sum(xs) * 0.0 + tf.reduce_sum(w) * 0.0 + tf.reduce_sum(u) * 0.0 + tf.reduce_sum(b) * 0.0
    for t in range(xs.shape[0]):
        z = xs[t] @ w + h @ u + b
        i, f, g, o = (z[:, k * HIDDEN : (k + 1) * HIDDEN] for k in range(4))
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        total = total + tf.reduce_sum(h * h)
    return total


# ---- the graphs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lstm", "nested", "until_small"])
def test_recurrent(name: str, golden: Callable[..., None]):
    graph, _ = prepared(name)
    for _, run in GRAPH_PASSES:
        graph = run(graph)
    golden(to_text(graph))


def test_sizes_that_are_equal_by_assumption():
    def f(xs, w, u):
        def step(h, x):
            h = tf.tanh(x @ w + h @ u)
            return h, tf.reduce_sum(h * h)

        return tf.reduce_sum(tf.scan(step, tf.zeros((xs.shape[1], 24), dtype=tf.float64), xs)[1])

    signature = [TensorSpec((None, None, None), "float64"), TensorSpec((None, 24), "float64"), f64(24, 24)]
    compiled = tf.function(lambda *a: tf.value_and_grad(f, argnums=(0, 1, 2))(*a), input_signature=signature)
    rng = np.random.default_rng(0)
    for steps, batch, inputs in ((4, 3, 30), (0, 2, 30), (3, 1, 40), (2, 2, 1)):
        shapes = (steps, batch, inputs), (inputs, 24), (24, 24)
        arrays = [0.3 * rng.standard_normal(s) for s in shapes]
        exact = tf.function(lambda *a: tf.value_and_grad(f, argnums=(0, 1, 2))(*a))
        for a, b in zip(compiled(*arrays)[1], exact(*arrays)[1], strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-11, atol=1e-13)
