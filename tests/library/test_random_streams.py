"""Seeds that are values, streams that split, permutations and classes: repeatable, the same compiled."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: tf.random.stateless_uniform([4], seed),
        lambda seed: tf.random.stateless_uniform([4], seed, minval=3, maxval=1000000, dtype=tf.int32),
        lambda seed: tf.random.stateless_normal([4], seed, mean=5.0, stddev=0.1),
        lambda seed: tf.random.split(seed, num=2),
        lambda seed: tf.random.fold_in(seed, 7),
        lambda seed: tf.random.stateless_categorical(tf.zeros((2, 1000)), 2, seed),
    ],
    ids=["uniform", "integers", "normal", "split", "fold_in", "categorical"],
)
def test_what_follows_from_a_seed_alone(draw, run):
    f = run(lambda s: draw(s))
    first, again = f(tf.constant([1, 2])), f(tf.constant([1, 2]))
    np.testing.assert_array_equal(first.numpy(), again.numpy())
    np.testing.assert_allclose(first.numpy(), draw([1, 2]).numpy(), rtol=1e-5)
    for other in ([2, 1], [1, 3], [-1, 2], [2**31 - 1, -(2**31)]):
        assert not np.array_equal(f(tf.constant(other)).numpy(), first.numpy())


def test_a_seed_is_two_integers():
    with pytest.raises(ValueError, match="a seed is two integers"):
        tf.random.stateless_uniform([2], seed=[1])


def test_numbers_of_a_seed_are_spread_evenly():
    u = tf.random.stateless_uniform([100000], [5, 6], dtype=tf.float64).numpy()
    assert abs(u.mean() - 0.5) < 0.005 and abs(u.var() - 1 / 12) < 0.002 and 0 <= u.min() and u.max() < 1


def test_streams_that_split_are_all_different_and_repeatable():
    def streams():
        return [tuple(g.uniform([3]).numpy()) for g in tf.random.Generator.from_seed(3).split(4)]

    assert len(set(streams())) == 4 and streams() == streams()
    g = tf.random.Generator.from_seed(3)
    first = g.normal(shape=[2], name="first").numpy()
    g.reset_from_seed(3)
    np.testing.assert_array_equal(g.normal([2]).numpy(), first)
    assert tf.random.Generator.from_non_deterministic_state().uniform([2]).shape == (2,)


def test_functions_draw_from_the_global_generator():
    before = tf.random.get_global_generator()
    try:
        tf.random.set_global_generator(tf.random.Generator.from_seed(5))
        np.testing.assert_array_equal(
            tf.random.uniform([3]).numpy(), tf.random.Generator.from_seed(5).uniform([3]).numpy()
        )
    finally:
        tf.random.set_global_generator(before)


def test_permutations(run):
    x = np.arange(40.0).reshape(20, 2)
    found = run(lambda v: tf.random.shuffle(v, seed=11))(tf.constant(x)).numpy()
    assert not np.array_equal(found, x)
    np.testing.assert_array_equal(found[np.argsort(found[:, 0])], x)


def test_classes_come_as_often_as_they_should(run):
    tf.random.set_seed(0)
    p = np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]])
    found = run(lambda l: tf.random.categorical(l, 20000, seed=2))(tf.math.log(p))
    assert found.shape == (2, 20000) and found.dtype == np.int64
    for row, wanted in zip(found.numpy(), p, strict=True):
        np.testing.assert_allclose(np.bincount(row, minlength=3) / 20000, wanted, atol=0.02)
    with pytest.raises(TypeError, match="rows of floats"):
        tf.random.categorical([1, 2], 3)
