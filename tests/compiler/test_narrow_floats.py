"""float16 is stored narrow and computed in float32: compiled functions give what eager ones do."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

X = np.array([0.125, 0.5, 0.75, 0.9], np.float16)
ELEMENTARY = "acos asin atan cos cosh exp expm1 log log1p sigmoid sin sinh softplus tan tanh erf erfc".split()
ULP = 1e-3


@pytest.mark.parametrize("name", ELEMENTARY)
def test_elementary_functions_of_float16(name):
    f = getattr(tf.math, name)
    eager, compiled = f(X), tf.function(f)(X)
    assert eager.dtype == compiled.dtype == np.float16
    np.testing.assert_allclose(compiled.numpy(), eager.numpy(), rtol=ULP)
    slope, compiled_slope = (
        tf.grad(lambda x: tf.reduce_sum(f(x)))(X),
        tf.function(tf.grad(lambda x: tf.reduce_sum(f(x))))(X),
    )
    assert slope.dtype == compiled_slope.dtype == np.float16
    np.testing.assert_allclose(compiled_slope.numpy(), slope.numpy(), rtol=8 * ULP)


@pytest.mark.parametrize("f", [tf.pow, tf.atan2], ids=["pow", "atan2"])
def test_functions_of_two_float16(f):
    eager, compiled = f(X, X[::-1]), tf.function(f)(X, X[::-1].copy())
    assert eager.dtype == compiled.dtype == np.float16
    np.testing.assert_allclose(compiled.numpy(), eager.numpy(), rtol=ULP)


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_complex_numbers_of_float16_parts_are_complex64(mode):
    z = mode(tf.complex)(X, X)
    assert z.dtype == np.complex64
    np.testing.assert_array_equal(z.numpy(), X.astype(np.float32) * np.complex64(1 + 1j))
    slope = mode(tf.grad(lambda x: tf.reduce_sum(tf.abs(tf.complex(x, x)))))(X)
    assert slope.dtype == np.float16
    np.testing.assert_allclose(slope.numpy(), np.full(4, np.sqrt(2)), rtol=ULP)
