"""checkpoint: derivatives as without it, in every mode and order, and intermediate values that are not kept."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from tracejit.compiler.graph.partition import partition
from tracejit.core.errors import TracejitError
from tracejit.core.ir.graph import walk

X = np.array([0.3, -0.7, 1.1])


def layer(x: Any) -> Any:
    return tf.sin(tf.exp(x * 0.5) * x)


def deep(wrap: Any) -> Any:
    """Two layers, one of them checkpointed within a checkpointed function."""
    inner = wrap(layer)
    outer = wrap(lambda x: inner(x) * x + tf.tanh(x))
    return lambda x: tf.reduce_sum(outer(inner(x)) ** 2)


def plain(f: Any) -> Any:
    return f


def derivatives(wrap: Any) -> list[Any]:
    f = deep(wrap)
    direction = [np.array([1.0, 0.5, -0.2])]

    def along(x: Any) -> Any:
        return tf.jvp(f, [x], direction)[1]

    return [
        f,
        tf.grad(f),
        along,
        lambda x: tf.jvp(tf.grad(f), [x], direction)[1],
        tf.grad(along),
        tf.grad(lambda x: tf.reduce_sum(tf.grad(f)(x) * direction[0])),
    ]


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("compiled", (False, True))
def test_derivatives_are_those_without_it(order: int, compiled: bool):
    expected, found = derivatives(plain)[order], derivatives(tf.checkpoint)[order]
    run = tf.function(found) if compiled else found
    x = tf.constant(X)
    np.testing.assert_allclose(np.asarray(run(x)), np.asarray(expected(x)), rtol=1e-12)


def test_nested_tapes():
    x = tf.constant(X)
    f = deep(tf.checkpoint)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        g = inner.gradient(y, x)
    expected = tf.grad(lambda x: tf.reduce_sum(tf.grad(deep(plain))(x)))(x)
    np.testing.assert_allclose(np.asarray(outer.gradient(g, x)), np.asarray(expected), rtol=1e-12)


def test_a_tape_keeps_no_intermediate_value():
    kept = []

    def f(x: Any) -> Any:
        y = tf.exp(x)
        if not y.is_symbolic:
            kept.append(weakref.ref(y.array))
        return tf.sin(y)

    x = tf.constant(np.zeros(1000))
    for run, alive in ((f, True), (tf.checkpoint(f), False)):
        kept.clear()
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = run(x)
        gc.collect()
        assert any(ref() is not None for ref in kept) == alive
        assert float(tape.gradient(y, x)[0]) == pytest.approx(np.cos(1.0))


def test_a_compiled_forward_hands_over_the_arguments_alone():
    def f(x: Any) -> Any:
        return tf.reduce_sum(tf.matmul(tf.sin(tf.matmul(x, x)), tf.cos(tf.matmul(x, x))))

    x = np.ones((20, 20))
    kept = [partition(tf.function(g).graph(x)).forward.outputs[1:] for g in (f, tf.checkpoint(f))]
    assert len(kept[0]) > 1 and len(kept[1]) == 1


def test_in_one_program_the_backward_computes_again():
    """The two computations are not merged: there are as many products as with everything done twice."""

    def f(x: Any) -> Any:
        return tf.reduce_sum(tf.sin(tf.matmul(x, x)))

    def products(g: Any) -> int:
        from tracejit.compiler.graph.simplify import simplify

        graph = simplify(tf.function(tf.value_and_grad(g)).graph(np.ones((20, 20))))
        return sum(n.op.name == "matmul" for _, n in walk(graph))

    assert products(tf.checkpoint(f)) == products(f) + 1


def test_variables_and_arrays_of_the_surroundings():
    v, w = tf.Variable(X), tf.constant(X + 1.0)
    f = tf.checkpoint(lambda x, scale, name="a": {name: tf.sin(x * v) * w * scale})

    def run() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = f(w, 2, name="b")["b"]
        return tape.gradient(y, [v, w])

    expected = 2 * np.cos(X * (X + 1)) * (X + 1) ** 2
    for found in (run(), tf.function(run)()):
        np.testing.assert_allclose(np.asarray(found[0]), expected, rtol=1e-12)
    v.assign(X * 2.0)  # and again, with other values
    np.testing.assert_allclose(np.asarray(run()[0]), 2 * np.cos(2 * X * (X + 1)) * (X + 1) ** 2, rtol=1e-12)


def test_control_flow_inside():
    def f(x: Any) -> Any:
        while tf.reduce_sum(x) < 10.0:
            x = x * 1.5
        return tf.reduce_sum(x * x)

    x = np.array([1.0, 2.0])
    expected = np.asarray(tf.function(tf.grad(f))(x))
    np.testing.assert_allclose(np.asarray(tf.function(tf.grad(tf.checkpoint(f)))(x)), expected, rtol=1e-13)
    np.testing.assert_allclose(np.asarray(tf.grad(tf.checkpoint(f))(tf.constant(x))), expected, rtol=1e-13)


def test_a_function_that_assigns_is_refused():
    v = tf.Variable(1.0)
    with pytest.raises(TracejitError, match="cannot assign a Variable"):
        tf.grad(tf.checkpoint(lambda x: v.assign(x) * x))(2.0)


def test_without_anything_that_records_it_is_the_function():
    assert float(tf.recompute_grad(lambda x: x.numpy() * 2)(tf.constant(2.0))) == 4.0


def slope(a: Any, b: Any) -> Any:
    """A gradient by the first factor, which is another number where both are one tensor."""
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = a * b
    return tape.gradient(y, a)


@pytest.mark.parametrize("compiled", (False, True))
@pytest.mark.parametrize("b", (tf.constant(3.0), None))
def test_a_tensor_given_twice_is_one_tensor_whether_recorded_or_not(b: Any, compiled: bool):
    a = tf.constant(3.0)
    b = a if b is None else b

    def twice(x: Any) -> Any:
        return tf.checkpoint(slope)(x, x if b is a else b)

    run = tf.function(twice) if compiled else twice
    with tf.GradientTape() as outer:
        outer.watch(a)
        recorded = run(a)
    assert float(recorded) == float(run(a)) == (6.0 if b is a else 3.0)
    assert (outer.gradient(recorded, a) is None) == (b is not a)


def test_a_variable_is_a_variable_inside_whether_recorded_or_not():
    v = tf.Variable(3.0)

    def own(v: Any) -> Any:
        with tf.GradientTape() as tape:
            y = v * v * v
        return tape.gradient(y, v)

    run = tf.checkpoint(own)
    with tf.GradientTape() as tape:
        recorded = run(v)
    assert float(recorded) == float(run(v)) == 27.0
    assert float(tape.gradient(recorded, v)) == 18.0


def test_what_is_returned_is_a_tensor_whether_recorded_or_not():
    run = tf.checkpoint(lambda x, n: {"x": x, "n": n})
    with tf.GradientTape() as tape:
        x = tf.constant(1.0)
        tape.watch(x)
        recorded = run(x, 2)
    assert [type(y) for y in recorded.values()] == [type(y) for y in run(x, 2).values()] == [tf.Tensor] * 2
