"""Eager cross entropies are one op, compiled ones its parts: values and derivatives of both, to the third order."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

RNG = np.random.default_rng(3)
LOGITS = RNG.normal(size=(6, 4)) * 3
CLASSES = np.array([0, 3, 1, 1, 2, 0])
WEIGHTS = RNG.normal(size=6)


def sparse(x):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=CLASSES, logits=x)


def dense(x, labels=None):
    labels = tf.one_hot(CLASSES, 4, dtype=tf.float64) * 0.9 + 0.02 if labels is None else labels
    return tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=x)


def by_hand(x):
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def orders(f, x):
    """Values, gradient, and the gradients of functions of the gradient."""

    def value(x):
        return tf.reduce_sum(f(x) * WEIGHTS)

    first = tf.grad(value)
    second = tf.grad(lambda x: tf.reduce_sum(first(x) ** 2))
    third = tf.grad(lambda x: tf.reduce_sum(tf.sin(second(x))))
    return [f(x), first(x), second(x), third(x)]


@pytest.mark.parametrize("f", [sparse, dense])
@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_every_order_equals_that_of_the_compiled_parts(f, scale):
    x = tf.constant(LOGITS * scale)
    for eager, compiled in zip(orders(f, x), tf.function(lambda x: orders(f, x))(x), strict=True):
        np.testing.assert_allclose(eager, compiled, rtol=1e-9, atol=1e-11 * scale)


def test_values():
    logp = by_hand(LOGITS)
    np.testing.assert_allclose(sparse(LOGITS), -logp[np.arange(6), CLASSES])
    np.testing.assert_allclose(dense(LOGITS, RNG.random((6, 4)) * 0 + 0.25), -0.25 * logp.sum(-1))


def test_gradients_reach_labels_that_are_distributions():
    labels = RNG.random((6, 4))

    def gradients(x, labels):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch([x, labels])
            with tf.GradientTape() as tape:
                tape.watch([x, labels])
                y = tf.reduce_sum(dense(x, labels) * WEIGHTS)
            gx, gl = tape.gradient(y, [x, labels])
            z = tf.reduce_sum(gx * gx * gl)
        return gx, gl, outer.gradient(z, x), outer.gradient(z, labels)

    x, labels = tf.constant(LOGITS), tf.constant(labels)
    found, parts = gradients(x, labels), tf.function(gradients)(x, labels)
    np.testing.assert_allclose(found[1], -WEIGHTS[:, None] * by_hand(LOGITS))
    for a, b in zip(found, parts, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_lanes_and_forward_mode():
    x = tf.constant(LOGITS)
    rows = tf.vmap(tf.grad(lambda x: tf.reduce_sum(sparse(x))))(tf.stack([x, 2 * x]))
    np.testing.assert_allclose(rows[1], tf.grad(lambda x: tf.reduce_sum(sparse(x)))(2 * x))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = sparse(x)[:, None]
    full = np.asarray(tape.batch_jacobian(y, x))[:, 0]
    np.testing.assert_allclose(full, np.exp(by_hand(LOGITS)) - np.eye(4)[CLASSES], atol=1e-12)
    value, tangent = tf.jvp(sparse, [x], [tf.ones_like(x)])
    np.testing.assert_allclose(tangent, np.zeros(6), atol=1e-12)
    np.testing.assert_allclose(value, sparse(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("labels", ["int8", "int32", "uint64"])
def test_dtypes_and_special_values(dtype, labels):
    x = np.array([[np.inf, 0.0], [-np.inf, 1.0], [np.nan, 0.0], [1e30, -1e30], [0.0, -0.0]], dtype)
    picked = np.array([0, 1, 1, 1, 0], labels)

    def both(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=picked, logits=x)
        return y, tape.gradient(y, x)

    for a, b in zip(both(tf.constant(x)), tf.function(both)(tf.constant(x)), strict=True):
        assert a.dtype == b.dtype == np.dtype(dtype)
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("wrong", [[0, 4], [-1, 0]])
def test_a_label_that_is_no_class_is_refused_with_the_line(wrong):
    for f in (sparse_of, tf.function(sparse_of)):
        with pytest.raises(IndexError, match=r"test_cross_entropy_in_one\.py"):
            f(tf.constant(LOGITS[:2]), tf.constant(wrong))


def sparse_of(x, labels):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)


def test_no_examples_and_shapes_that_do_not_fit():
    assert sparse_of(tf.zeros([0, 3]), tf.zeros([0], tf.int32)).shape == (0,)
    with pytest.raises(ValueError, match="labels"):
        sparse_of(tf.zeros([2, 3]), tf.zeros([3], tf.int32))
    assert tf.nn.softmax_cross_entropy_with_logits(tf.ones([3]), tf.zeros([2, 3])).shape == (2,)
