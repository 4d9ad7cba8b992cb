"""Gradients registered by name, and gradients that pass through."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.op import OPS, defop, floating, sample
from tracejit.frontend.transforms import registering
from tracejit.ops.lowering import Compose


@pytest.fixture
def cube(monkeypatch):
    """An op without a gradient, gone after the test."""
    monkeypatch.setattr(registering, "_registered", {})

    @defop(
        kernel=lambda x: x * x * x,
        lower=Compose(lambda x: x * x * x),
        traits=("elementwise",),
        samples=(sample(()),),
    )
    def my_cube(x):
        """The third power."""
        return floating(x)

    yield my_cube
    del OPS["my_cube"]


def gradient(f, x):
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize("compiled", [False, True])
def test_an_op_without_gradient_gets_one(cube, compiled):
    with pytest.raises(LookupError, match="gradient registry has no entry for: MyCube"):
        gradient(cube, 2.0)
    seen = []

    @tf.RegisterGradient("MyCube")
    def rule(op, g):
        seen.append((op.type, len(op.inputs), len(op.outputs)))
        return g * 3.0 * op.inputs[0] ** 2

    f = tf.function(cube) if compiled else cube
    assert float(gradient(f, 2.0)) == 12.0
    assert seen[0] == ("MyCube", 1, 1)
    assert float(tf.grad(tf.grad(f))(2.0)) == 12.0


def test_names_are_registered_once(cube):
    tf.RegisterGradient("SomethingElse")(lambda op, g: g)
    with pytest.raises(KeyError, match="SomethingElse"):
        tf.RegisterGradient("SomethingElse")(lambda op, g: g)
    with pytest.raises(KeyError, match="Multiply"):
        tf.RegisterGradient("Multiply")
        tf.RegisterGradient("Multiply")(lambda op, g: g)
    tf.no_gradient("MyCube")
    with pytest.raises(KeyError, match="MyCube"):
        tf.RegisterGradient("MyCube")(lambda op, g: g)
    with pytest.raises(TypeError, match="string"):
        tf.RegisterGradient(3)


def test_no_gradient_is_none(cube):
    tf.no_gradient("MyCube")
    assert gradient(cube, 2.0) is None
    assert gradient(lambda x: cube(x) * x, 2.0).numpy() == 8.0


def test_a_rule_that_returns_too_much(cube):
    tf.RegisterGradient("MyCube")(lambda op, g: [g, g])
    with pytest.raises(tf.GradientError, match="2 gradients for 1 inputs"):
        gradient(cube, 2.0)


@pytest.mark.parametrize("compiled", [False, True])
def test_grad_pass_through_of_what_assigns(compiled):
    v, x = tf.Variable([1.0, 2.0]), tf.constant([3.0, 4.0])

    def slopes(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.grad_pass_through(v.assign)(x * x) * x
            (first,) = tape.gradient(y, [x])
        return first, outer.gradient(first, x)

    first, second = (tf.function(slopes) if compiled else slopes)(x)
    assert first.numpy().tolist() == [27.0, 48.0] and second.numpy().tolist() == [18.0, 24.0]
    assert v.numpy().tolist() == [9.0, 16.0]


@pytest.mark.parametrize("compiled", [False, True])
def test_grad_pass_through(compiled):
    def f(x):
        return tf.reduce_sum(tf.grad_pass_through(tf.round)(x) * 2.0)

    f = tf.function(f) if compiled else f
    np.testing.assert_array_equal(gradient(f, [0.4, 2.6]).numpy(), [2.0, 2.0])
    assert float(f(tf.constant([0.4, 2.6]))) == 6.0
