"""Generators: repeatable, advancing, the same numbers eagerly, compiled, in loops, of unknown sizes."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf


def test_two_generators_of_one_seed_agree_and_advance():
    a, b = tf.random.Generator(5), tf.random.Generator(5)
    first, second = a.uniform((6,)).numpy(), a.uniform((6,)).numpy()
    np.testing.assert_array_equal(first, b.uniform((6,)).numpy())
    assert not np.array_equal(first, second)


def test_seeds_give_different_numbers():
    seeds = (0, 1, 2, -1, 2**64 - 2, 2**40)
    draws = [tuple(tf.random.Generator(seed).uniform((4,)).numpy()) for seed in seeds]
    assert len(set(draws)) == len(draws)


def test_without_a_seed_every_generator_is_another():
    assert float(tf.random.Generator().uniform()) != float(tf.random.Generator().uniform())


def test_set_seed_repeats_the_functions():
    def draw() -> list:
        return [tf.random.uniform((2,)), tf.random.normal((3,)), tf.random.uniform((2,), seed=4)]

    tf.random.set_seed(1)
    first = [t.numpy() for t in draw()]
    further = [t.numpy() for t in draw()]
    tf.random.set_seed(1)
    again = [t.numpy() for t in draw()]
    tf.random.set_seed(2)
    other = [t.numpy() for t in draw()]
    for a, b, c, d in zip(first, again, further, other, strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)
        assert not np.array_equal(a, d)


def test_ranges_shapes_and_dtypes():
    g = tf.random.Generator(3)
    x = g.uniform((1000,), -2.0, 5.0)
    assert x.dtype == tf.float32
    assert x.numpy().min() == pytest.approx(-2.0, abs=0.1) and x.numpy().max() == pytest.approx(5.0, abs=0.1)
    k = g.uniform((1000,), 2, 6, tf.int32).numpy()
    assert k.dtype == np.int32 and set(k) == {2, 3, 4, 5}
    assert g.uniform((3,), 0, 9, tf.int64).dtype == tf.int64
    z = g.normal((2, 4000), 3.0, 0.5, tf.float64)
    assert z.shape == (2, 4000) and z.dtype == tf.float64
    assert z.numpy().mean() == pytest.approx(3.0, abs=0.05)
    assert z.numpy().std() == pytest.approx(0.5, abs=0.02)
    assert g.uniform().shape == () and g.normal((0, 3)).shape == (0, 3)


def test_errors_name_the_remedy():
    with pytest.raises(ValueError, match="uniform integers need a maxval"):
        tf.random.uniform((2,), dtype=tf.int32)
    with pytest.raises(TypeError, match="draws floats, not int32"):
        tf.random.normal((2,), dtype=tf.int32)


def test_a_compiled_function_draws_what_eager_code_draws():
    a, b = tf.random.Generator(7), tf.random.Generator(7)

    @tf.function
    def noisy(x):
        return x + a.uniform((5,), dtype=tf.float64), a.uniform((3,))

    for _ in range(3):
        first, second = noisy(tf.constant(np.zeros(5)))
        np.testing.assert_array_equal(first.numpy(), b.uniform((5,), dtype=tf.float64).numpy())
        np.testing.assert_array_equal(second.numpy(), b.uniform((3,)).numpy())


def test_a_seed_may_first_be_used_inside_of_a_trace():
    @tf.function
    def draw():
        return tf.random.uniform((4,), seed=12345)

    assert not np.array_equal(draw().numpy(), draw().numpy())


def test_a_size_known_at_the_call_only():
    a, b = tf.random.Generator(8), tf.random.Generator(8)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def noisy(x):
        return x + a.uniform(x.shape)

    for n in (5, 0, 1, 12):
        np.testing.assert_array_equal(noisy(np.zeros(n, "float32")).numpy(), b.uniform((n,)).numpy())


def test_a_loop_draws_anew_in_each_iteration():
    a, b = tf.random.Generator(9), tf.random.Generator(9)

    @tf.function
    def walk(start):
        return tf.fori_loop(0, 4, lambda i, x: x * 2.0 + a.uniform((2,)), start)

    expected = np.zeros(2, np.float32)
    for _ in range(4):
        expected = expected * np.float32(2.0) + b.uniform((2,)).numpy()
    np.testing.assert_allclose(walk(tf.zeros((2,))).numpy(), expected, rtol=1e-6)
    np.testing.assert_array_equal(a.uniform((2,)).numpy(), b.uniform((2,)).numpy())


def test_gradients_pass_by_the_state():
    g = tf.random.Generator(2)
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(x * g.uniform((2,)))
    again = tf.random.Generator(2).uniform((2,))
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), again.numpy())
    assert tape.watched_variables() == (x,)
