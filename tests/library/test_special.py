"""Special functions: values as SciPy has them, derivatives of two orders, compiled as eagerly, poles and ends."""

from __future__ import annotations

import math as of_one

import numpy as np
import pytest

import tracejit as tf

special = pytest.importorskip("scipy.special")
math = tf.math

X = np.concatenate([np.linspace(-4.7, 30, 60), [1e3, 1e-8, 150.0]])
UNIT = np.concatenate([np.linspace(-0.99, 0.99, 41), [1e-20, 1 - 1e-15, 1.0, -1.0]])
PARTS = np.concatenate([np.linspace(0.0, 1.0, 41), [1e-300, 1 - 1e-15]])
WIDE = np.concatenate([np.linspace(-100, 100, 201), [1e-9, 1e5, 39.99, 40.01]])
VALUES = {
    "lgamma": (math.lgamma, special.gammaln, np.abs(X)),
    "digamma": (math.digamma, special.digamma, X),
    "trigamma": (lambda x: math.polygamma(1, x), lambda x: special.polygamma(1, x), X),
    "a higher one": (lambda x: math.polygamma(5, x), lambda x: special.polygamma(5, x), np.abs(X)),
    "multigammaln": (
        lambda x: math.multigammaln(x, 3),
        lambda x: special.multigammaln(x, 3),
        np.array([1.5, 4.0]),
    ),
    "erfinv": (math.erfinv, special.erfinv, UNIT),
    "ndtri": (math.ndtri, special.ndtri, PARTS),
    "bessel_i0e": (math.bessel_i0e, special.i0e, WIDE),
    "bessel_i1e": (math.bessel_i1e, special.i1e, WIDE),
    "bessel_i0": (math.bessel_i0, special.i0, WIDE[60:140]),
    "bessel_i1": (math.bessel_i1, special.i1, WIDE[60:140]),
}
POINTS = {"erfinv": 0.3, "ndtri": 0.7, "multigammaln": 3.3}


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    f, wanted, x = VALUES[name]
    np.testing.assert_allclose(f(tf.constant(x)), wanted(x), rtol=2e-13, atol=1e-13)


@pytest.mark.parametrize("name", VALUES)
def test_derivatives_of_two_orders(name):
    f, h = VALUES[name][0], 1e-5
    for x in (POINTS.get(name, 1.3), POINTS.get(name, 2.7)):
        g = f
        for _ in range(2):
            slope = (g(tf.constant(x + h, "float64")) - g(tf.constant(x - h, "float64"))) / (2 * h)
            g = tf.grad(g)
            np.testing.assert_allclose(g(tf.constant(x, "float64")), slope, rtol=1e-6)


def test_the_slope_of_a_bessel_function_at_zero():
    assert tf.grad(math.bessel_i1e)(tf.constant(0.0)).item() == 0.5


def test_compiled_as_eagerly():
    def f(x):
        return math.lgamma(x) + math.digamma(x) + math.bessel_i1e(x)

    x = tf.constant(np.array([0.5, 2.5]))
    np.testing.assert_array_equal(tf.function(f)(x), f(x))


def test_what_is_refused():
    with pytest.raises(ValueError, match="0 or more"):
        math.polygamma(-1, 1.0)
    with pytest.raises(tf.errors.DtypeError, match="lgamma"):
        math.lgamma(1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_erfc_keeps_its_digits_in_the_tail(dtype):
    x = np.linspace(-3.0, {"float32": 9.0, "float64": 26.0}[dtype], 400, dtype=dtype)
    wanted = [of_one.erfc(v) for v in x.tolist()]
    for f in (math.erfc, tf.function(math.erfc)):
        np.testing.assert_allclose(f(x), wanted, rtol=4 * np.finfo(dtype).eps)
        assert f(np.array([np.inf, -np.inf, 40.0], dtype)).numpy().tolist() == [0.0, 2.0, 0.0]


def test_error_functions_of_complex_numbers():
    x, y = np.meshgrid(np.concatenate([np.linspace(-4, 4, 33), [9.0, -1e-9]]), np.linspace(-5, 5, 41))
    z = x + 1j * y
    for f, wanted in ((math.erf, special.erf), (math.erfc, special.erfc)):
        np.testing.assert_allclose(f(z), wanted(z), rtol=2e-13)
        np.testing.assert_array_equal(tf.function(f)(z), f(z))
        np.testing.assert_allclose(f(z.astype("c8")), wanted(z.astype("c8")), rtol=2e-6)
        assert (
            f(np.array([np.inf, -np.inf, 30 + 1j])).numpy().tolist() == wanted([np.inf, -np.inf, 30]).tolist()
        )
    at = 0.3 + 0.4j
    slope = (math.erf(at + 1e-6) - math.erf(at - 1e-6)) / 2e-6
    np.testing.assert_allclose(np.conj(tf.grad(lambda z: tf.math.real(math.erf(z)))(at)), slope, rtol=1e-8)
