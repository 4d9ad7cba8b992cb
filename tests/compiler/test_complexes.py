"""Complex functions in compiled code: sides of branch cuts, infinite parts, accuracy where terms cancel."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tracejit as tf

PARTS = [0.0, -0.0, 1.0, -2.5, 1e-310, 1e308, np.inf, -np.inf, np.nan]
POINTS = np.array([complex(a, b) for a, b in itertools.product(PARTS, PARTS)])


def both(f, *zs):
    """The parts of the result, eager and compiled."""
    found = f(*zs).numpy(), tf.function(f)(*zs).numpy()
    return [(y.real, y.imag) for y in found]


@pytest.mark.parametrize("f", [tf.sqrt, tf.math.log], ids=["sqrt", "log"])
def test_every_special_value_is_that_of_eager_mode(f):
    for eager, compiled in zip(*both(f, POINTS), strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-13, atol=0)
        number = ~np.isnan(eager)
        np.testing.assert_array_equal(np.signbit(compiled[number]), np.signbit(eager[number]))


def test_the_square_root_is_on_the_side_of_the_cut_that_the_zero_says():
    z = np.array([complex(-4.0, 0.0), complex(-4.0, -0.0)])
    assert tf.function(tf.sqrt)(z).numpy().tolist() == [2j, -2j]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_logarithm_near_the_unit_circle(dtype):
    random = np.random.default_rng(0)
    angle, distance = random.uniform(-3.1, 3.1, 4000), np.exp2(random.uniform(-30.0, 0.0, 4000))
    z = (np.exp(1j * angle * distance) * (1.0 + random.choice([-0.5, 0.5], 4000) * distance)).astype(dtype)
    exact = np.log(z.astype(np.clongdouble))
    for f in (tf.math.log, tf.function(tf.math.log)):
        error = np.abs(f(z).numpy() - exact) / np.abs(exact)
        assert np.max(error[np.abs(exact) > 0]) <= 4 * np.finfo(dtype).eps


def test_powers_of_zero():
    y = np.array([2.0, 0.5, 0.0, -1.0, -0.5, 1j, 1 + 1j, -1 + 1j])
    for real, imaginary in both(tf.pow, np.zeros(8, complex), y):
        np.testing.assert_array_equal(real, [0, 0, 1, *[np.nan] * 3, 0, np.nan])
        np.testing.assert_array_equal(imaginary, [0, 0, 0, *[np.nan] * 3, 0, np.nan])


@pytest.mark.parametrize(
    ("f", "z", "expected"),
    [
        (tf.sin, 800j, complex(0.0, np.inf)),
        (tf.cos, 800j, complex(np.inf, -0.0)),
        (tf.sinh, 800.0 + 0j, complex(np.inf, 0.0)),
        (tf.cosh, 800.0 + 0j, complex(np.inf, 0.0)),
    ],
    ids=["sin", "cos", "sinh", "cosh"],
)
def test_overflow_on_an_axis_stays_on_it(f, z, expected):
    for real, imaginary in both(f, np.array([z])):
        np.testing.assert_array_equal((real[0], imaginary[0]), (expected.real, expected.imag))
