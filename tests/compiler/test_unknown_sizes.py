"""Programs of unknown sizes: traced and compiled once, run at every size, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks.levels import assert_levels_agree, complete, derived
from tracejit.core.dim import Assumptions, Dim
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

SIZES = (0, 1, 2, 5, 37)
n, m = Dim.of("n"), Dim.of("m")


def scaled(x):
    return [tf.sin(x) * 2.0 + x[:, :1], tf.reduce_sum(x * x, axis=0)]


def column_softmax(x):
    e = tf.exp(x - 1.0)
    return [e / tf.reduce_sum(e, axis=1)[:, None], tf.reduce_sum(tf.tanh(x), axis=1)]


def regression(x):
    w = tf.constant(np.array([[0.5], [-1.0], [0.25]]))
    h = tf.tanh(x @ w)
    return [tf.reduce_sum(h * h), h]


def covariance(x):
    return [tf.transpose(x) @ x, tf.transpose(x) * 2.0]


def flattened(x):
    return [tf.reshape(x, (-1,)) * 2.0, tf.reshape(tf.transpose(x), (-1,)), tf.concat([x, x * 2.0], axis=0)]


def reversed_rows(x):
    return [x[::-1] * 2.0, tf.transpose(x[::-1, ::-1]), tf.cumsum(x, axis=0)]


def running(x):
    last, ys = tf.scan(lambda c, r: (tf.tanh(c + r), c * r), tf.zeros((3,), tf.float64), x)
    return [last, ys]


def running_backwards(x):
    last, ys = tf.scan(lambda c, r: (c * 0.5 + r, c), tf.zeros((3,), tf.float64), x, reverse=True)
    return [last, ys[::-1] * x]


def carried(x):
    return [tf.fori_loop(0, 3, lambda i, c: tf.sin(c) + x, x * 2.0)]


def swapped(x):
    a, b = tf.fori_loop(0, 3, lambda i, c: (c[1] * 2.0, c[0]), (x, x + 1.0))
    return [a, b, tf.concat([a, b], axis=0)]


def nested(x):
    def outer(i, c):
        return tf.fori_loop(0, 2, lambda j, d: tf.sin(d) * x, c)

    return [tf.fori_loop(0, 2, outer, x)]


def branched(x):
    return list(tf.cond(tf.reduce_sum(x) > 0.0, lambda: (x * 2.0, tf.sin(x)), lambda: (x, x * x)))


def updated(x):
    y = x * 1.0
    return [y.at[:, 1].set(x[:, 0]), y.at[:, ::-1].add(y), y]


PROGRAMS = (
    scaled,
    column_softmax,
    regression,
    covariance,
    flattened,
    reversed_rows,
    running,
    running_backwards,
    carried,
    swapped,
    nested,
    branched,
    updated,
)
ORDERS = ("value", "gradient", "second", "jvp")


def assert_at_every_size(
    f: Callable[..., Sequence[Any]], spec: TensorSpec, order: str, shapes: Sequence[tuple]
):
    hints = dict(zip(["n", "m"], shapes[2], strict=False))
    source = trace(f, [spec], f.__name__, Assumptions(hints)).graph
    graph = derived(source, order)
    assert graph is not None
    random = np.random.default_rng(0)
    for shape in shapes:
        arrays = complete(graph, [random.standard_normal(shape)], source, order)
        assert_levels_agree(graph, arrays)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_one_unknown_size(f: Callable[..., Sequence[Any]], order: str):
    assert_at_every_size(
        f, TensorSpec((n, 3), "float64"), order, [(k, 3) for k in (*SIZES, 1000 if order == "value" else 100)]
    )


BOTH = (column_softmax, covariance, flattened, reversed_rows, carried, swapped, branched)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", ["value", "gradient", "second"])
@pytest.mark.parametrize("f", BOTH, ids=lambda f: f.__name__)
def test_two_unknown_sizes(f: Callable[..., Sequence[Any]], order: str):
    shapes = [(0, 3), (3, 0), (2, 5), (1, 1), (1, 40), (70, 2), (33, 33)]
    assert_at_every_size(f, TensorSpec((n, m), "float64"), order, shapes)


def test_one_trace_and_one_gradient_serve_every_size():
    @tf.function(input_signature=[tf.TensorSpec([None, 3], "float64")])
    def f(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.sin(x) * x)
            first = inner.gradient(y, x)
        return y, first, outer.gradient(first, x)

    for k in (0, 1, 2, 1000):
        x = np.random.default_rng(k).standard_normal((k, 3))
        y, first, second = f(x)
        np.testing.assert_allclose(y, np.sum(np.sin(x) * x), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(first, np.cos(x) * x + np.sin(x), rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(second, 2 * np.cos(x) - np.sin(x) * x, rtol=1e-13, atol=1e-13)
    assert f.experimental_get_tracing_count() == 1


def test_rewrites_where_sizes_agree_as_products_only():
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float64), tf.TensorSpec([None], tf.float64)])
    def f(x, y):
        flat = tf.reshape(x, (-1,))
        return flat + -y, flat - -y, tf.where(tf.constant(False), flat, y), tf.reshape(flat, (2, 3))

    for shape in ((2, 3), (1, 6), (6, 1)):
        x, y = np.arange(6.0).reshape(shape), np.arange(10.0, 16.0)
        flat = x.reshape(-1)
        for found, expected in zip(f(x, y), (flat - y, flat + y, y, x.reshape(2, 3)), strict=True):
            np.testing.assert_array_equal(found.numpy(), expected)


def test_squeeze_drops_axes_of_unknown_size_where_that_is_one():
    f = tf.function(lambda x: tf.squeeze(x) * 2.0, input_signature=[tf.TensorSpec([None, None], tf.float64)])
    for shape, expected in (((1, 3), (3,)), ((2, 1), (2,)), ((2, 3), (2, 3)), ((1, 1), ())):
        assert f(np.ones(shape)).shape == expected


@pytest.mark.parametrize("size", [1, 3])
def test_the_gradient_of_what_was_broadcast_to_a_known_shape(size: int) -> None:
    """Whether the axis was repeated is decided by the call; another call is another trace."""

    @tf.function(input_signature=[tf.TensorSpec([None], "float64")])
    def f(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.broadcast_to(x, (2, 3)) ** 2)
        return tape.gradient(y, x)

    x = np.arange(1.0, size + 1)
    np.testing.assert_array_equal(f(x), 4.0 * x * (3 // size))
    np.testing.assert_array_equal(f(np.ones(4 - size)), np.full(4 - size, 4.0 * (3 // (4 - size))))
