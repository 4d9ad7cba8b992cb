"""Derivatives at special points, eager and compiled: zeros, infinities, NaN, boundaries of domains."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

INF, NAN = np.inf, np.nan
MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])


def first(f, *xs):
    return tf.grad(lambda *v: tf.reduce_sum(f(*v)), argnums=tuple(range(len(xs))))(*xs)


def second(f, x):
    return first(lambda v: first(f, v)[0], x)[0]


def check(found, *expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-13)


@MODES
def test_powers_of_what_is_not_positive(mode):
    a = np.array([0.0, 0.0, 0.0, 0.0, -2.0, -2.0, -2.0, NAN, NAN, -INF])
    b = np.array([2.0, 0.0, -1.0, NAN, 3.0, 0.5, INF, 1.0, NAN, 2.0])
    of_base = [0.0, 0.0, -INF, NAN, 12.0, NAN, INF, 1.0, NAN, -INF]
    of_exponent = [0.0, 0.0, NAN, NAN, 0.0, NAN, NAN, NAN, NAN, NAN]
    check(mode(lambda x, y: first(tf.pow, x, y))(a, b), of_base, of_exponent)


@MODES
def test_second_derivatives_of_powers_near_the_exponent_zero(mode):
    hessian = mode(tf.hessian(lambda v: tf.pow(v[0], v[1])))
    log = np.log(2.0)
    check([hessian(np.array([2.0, 0.0]))], [[0.0, 0.5], [0.5, log**2]])
    check([mode(lambda x: second(lambda v: v**0.0, x))(np.array([0.0, 2.0]))], [0.0, 0.0])
    check([mode(lambda x: second(lambda v: v**1.0, x))(np.array([0.0, 2.0]))], [0.0, 0.0])


@MODES
def test_angles_of_points_infinitely_far_away(mode):
    y = np.array([0.0, INF, -INF, INF, INF, NAN, NAN])
    x = np.array([INF, 1.0, INF, -INF, NAN, INF, 1.0])
    expected = [0.0, 0.0, 0.0, 0.0, NAN, NAN, NAN]
    check(mode(lambda u, v: first(tf.atan2, u, v))(y, x), expected, expected)
    slope = mode(lambda u: second(lambda v: tf.atan2(v, 1.0), u))
    check([slope(np.array([INF, -INF, 0.0]))], [0.0, 0.0, 0.0])


@MODES
def test_distances_that_are_tiny_or_infinite(mode):
    x = np.array([3.0, 1e-310, 0.0, INF, 1.0])
    y = np.array([4.0, 1e-310, 0.0, 1.0, -INF])
    half = np.sqrt(0.5)
    found = mode(lambda u, v: first(tf.math.hypot, u, v))(x, y)
    check(found, [0.6, half, 0.0, NAN, 0.0], [0.8, half, 0.0, 0.0, NAN])


@MODES
def test_the_sign_has_the_derivative_zero(mode):
    x = np.array([1.0, 0.0, -INF, NAN])
    check(mode(lambda v: first(tf.sign, v))(x), np.zeros(4))
    check([mode(lambda v: second(tf.abs, v))(x)], np.zeros(4))
    _, tangent = tf.jvp(mode(tf.sign), [x], [np.full(4, INF)])
    check([tangent], np.zeros(4))


def test_the_gradient_of_the_sign_is_zeros_and_not_none():
    x = tf.constant([2.0, 0.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sign(x)
    assert tape.gradient(y, x).numpy().tolist() == [0.0, 0.0]


@MODES
@pytest.mark.parametrize(
    ("f", "at_small", "at_one"),
    [(tf.asin, 1.0, INF), (tf.acos, -1.0, -INF), (tf.atanh, 2.0, INF)],
    ids=["asin", "acos", "atanh"],
)
def test_second_derivatives_near_zero_and_at_one(mode, f, at_small, at_one):
    x = np.array([1e-200, 1e-9, -1e-9, 1.0, -1.0])
    expected = [at_small * 1e-200, at_small * 1e-9, at_small * -1e-9, at_one, -at_one]
    check([mode(lambda v: second(f, v))(x)], expected)


@MODES
def test_running_sums_keep_the_sign_of_zero(mode):
    found = mode(tf.cumsum)(np.array([-0.0, -0.0, 0.0])).numpy()
    assert np.signbit(found).tolist() == [True, True, False]
    found = mode(tf.cumsum)(np.array([complex(-0.0, -0.0), complex(0.0, -0.0)])).numpy()
    assert np.signbit(found.real).tolist() == [True, False] and np.signbit(found.imag).all()


@MODES
@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_running_products_keep_the_sign_of_zero(mode, size):
    x = np.array([-0.0, 3.0, 1.0, 2.0, 1.0, 1.0, 4.0, 1.0])[:size]
    for reverse, values in ((False, x), (True, x[::-1])):
        found = mode(lambda v, r=reverse: tf.math.cumprod(v, reverse=r))(values).numpy()
        assert np.signbit(found).all() and not found.any()


@MODES
def test_running_products_have_second_derivatives_at_zeros(mode):
    """Of x, x y and x y z, added: with z they have the Hessian [[0, 1 + z, y], [1 + z, 0, x], [y, x, 0]]."""
    hessian = mode(tf.hessian(lambda v: tf.reduce_sum(tf.math.cumprod(v))))
    found = hessian(np.array([0.0, 2.0, 3.0])).numpy()
    np.testing.assert_array_equal(found, [[0, 4, 2], [4, 0, 0], [2, 0, 0]])
