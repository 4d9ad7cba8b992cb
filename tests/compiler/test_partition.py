"""Partition: forward and backward together are the gradient, and keep what is worth keeping."""

import numpy as np
import pytest

import tracejit as tf
from tracejit.compiler.graph.partition import partition
from tracejit.core.autodiff.backprop import gradient_graph
from tracejit.core.ir.graph import verify, walk
from tracejit.core.op import ops
from tracejit.core.spec import TensorSpec
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.trace import replay, trace


def dense_layer(x, w):
    return [ops.reduce_sum(ops.tanh(ops.matmul(x, w)), axis=(0, 1))]


def chain(x, w):
    return [ops.exp(ops.sin(x) * 2.0 + 1.0), ops.matmul(ops.cos(x), w)]


def looped(x, w):
    body = lambda i, c: ops.tanh(ops.matmul(c, w))
    return [tf.fori_loop(0, 3, body, x)]


def ops_of(graph):
    return {n.op.name for n in graph.nodes}


@pytest.mark.parametrize("f", [dense_layer, chain, looped])
def test_forward_then_backward_is_the_gradient(f):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((4, 4)), rng.standard_normal((4, 4))]
    graph = trace(f, [TensorSpec(a.shape, a.dtype) for a in arrays]).graph
    parts = partition(graph)
    verify(parts.forward)
    verify(parts.backward)
    xs = [Tensor(a) for a in arrays]
    seeds = [Tensor(rng.standard_normal(v.spec.shape)) for v in graph.outputs]
    outputs = replay(parts.forward, xs)
    found = replay(parts.backward, [*outputs[parts.outputs :], *seeds])
    wanted, connected = gradient_graph(graph)
    assert connected == parts.connected
    for a, b in zip(found, replay(wanted, [*xs, *seeds]), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-13, atol=1e-13)


def test_matrix_products_and_loops_are_not_repeated():
    spec = TensorSpec((64, 64), "float64")
    parts = partition(trace(dense_layer, [spec, spec]).graph)
    assert "tanh" not in ops_of(parts.backward)
    assert sum(n.op.name == "matmul" for n in parts.backward.nodes) == 2


def test_cheap_values_are_repeated_rather_than_kept():
    spec = TensorSpec((1000,), "float64")
    parts = partition(trace(lambda x: [ops.square(x + 1.0) * 3.0], [spec]).graph)
    kept = parts.forward.outputs[parts.outputs :]
    assert kept == [parts.forward.inputs[0]]


def test_nothing_is_kept_for_linear_functions():
    spec = TensorSpec((10,), "float64")
    parts = partition(trace(lambda x: [x * 3.0 + 1.0], [spec]).graph)
    assert parts.forward.outputs[parts.outputs :] == []


def test_what_only_prints_or_fails_belongs_to_the_forward(capfd):
    @tf.function
    def f(x):
        if x > 0.0:
            tf.print("positive", x)
        if x > 2.0:
            tf.debugging.assert_less(x, 3.0)
        return x * x

    x = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = f(x)
    assert float(tape.gradient(y, x)) == 2.0
    assert capfd.readouterr().err == "positive 1\n"


def test_a_backward_that_runs_a_branch_again_is_told_the_sizes_within_it():
    """The number of draws moves the generator's state: a size that no result of the branch has."""
    generator = tf.random.Generator.from_seed(5)

    @tf.function
    def f(x, n):
        y, i = x, tf.constant(0)
        if x < 0.5:
            while i < 3 and y <= x:
                i += 1
                if i % 2 == 0:
                    y = tf.sin(tf.cast(i, tf.float32))
                    generator.uniform((n,))
        return x, y

    for x, expected in ((0.25, 1.0), (0.75, 2.0)):
        t = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(t)
            y = f(t, tf.constant(3))
        assert float(tape.gradient(y, t)) == expected


def written_out(x, w):
    y = x
    for _ in range(300):
        y = ops.tanh(ops.reduce_sum(w * y, axis=(1,))) * 0.9 + x * 0.1
        y = y - ops.sin(y) * x * 0.05
    return [ops.reduce_sum(y * y, axis=(0,))]


def test_long_programs_are_loops_before_they_are_split():
    x, w = np.linspace(0.3, 0.9, 4), np.linspace(-0.5, 0.5, 16).reshape(4, 4)
    graph = trace(written_out, [TensorSpec(a.shape, a.dtype) for a in (x, w)]).graph
    parts = partition(graph)
    verify(parts.forward)
    verify(parts.backward)
    assert len(graph.nodes) > 2000
    assert sum(1 for part in (parts.forward, parts.backward) for _ in walk(part)) < 250
    seed = Tensor(np.ones(()))
    outputs = replay(parts.forward, [Tensor(x), Tensor(w)])
    found = replay(parts.backward, [*outputs[parts.outputs :], seed])
    wanted, _ = gradient_graph(graph)
    for a, b in zip(found, replay(wanted, [Tensor(x), Tensor(w), seed]), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-13)


def test_second_derivatives_of_long_programs():
    x = tf.constant(np.linspace(0.3, 0.9, 4))
    w = tf.constant(np.linspace(-0.5, 0.5, 16).reshape(4, 4))

    def second(f):
        with tf.GradientTape() as outer:
            outer.watch((x, w))
            with tf.GradientTape() as inner:
                inner.watch((x, w))
                (y,) = f(x, w)
            first = inner.gradient(y, (x, w))
            total = tf.reduce_sum(tf.square(first[0])) + tf.reduce_sum(tf.sin(first[1]) * first[1])
        return [y, *first, *outer.gradient(total, (x, w))]

    for a, b in zip(second(tf.function(written_out)), second(written_out), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)
