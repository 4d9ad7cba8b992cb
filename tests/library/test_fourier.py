"""``tracejit.numpy.fft`` against NumPy: values, shapes, dtypes; derivatives, compiled and eager."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp

X = np.random.default_rng(0).normal(size=(3, 4, 6))
Z = X + 1j * X[::-1]
ONE = [{}, {"norm": "ortho"}, {"norm": "forward"}, {"n": 5}, {"n": 8}, {"axis": 0}]
MANY = [{}, {"norm": "ortho"}, {"norm": "forward"}, {"s": (3, 7), "axes": (-2, -1)}, {"axes": (2, 0)}]
OF_REALS = ("rfft", "ihfft", "rfftn", "rfft2")
CALLS = [(f, k) for f in ("fft", "ifft", "hfft", "irfft", "rfft", "ihfft") for k in ONE]
CALLS += [
    (f, k) for f in ("fftn", "ifftn", "irfftn", "rfftn", "fft2", "ifft2", "irfft2", "rfft2") for k in MANY
]


@pytest.mark.parametrize(("name", "keywords"), CALLS, ids=str)
def test_values_of_numpy(name, keywords):
    for x in (X, X.astype("float32"), X.astype(int)) if name in OF_REALS else (X, Z, Z.astype("complex64")):
        found, wanted = getattr(tnp.fft, name)(x, **keywords), getattr(np.fft, name)(x, **keywords)
        tolerance = 1e-4 if wanted.dtype.name in ("float32", "complex64") else 1e-10
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
        assert found.dtype == wanted.dtype


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize("axes", [None, 1, (0, 2)])
def test_shifts(name, axes):
    np.testing.assert_array_equal(
        getattr(tnp.fft, name)(X[:, :3], axes), getattr(np.fft, name)(X[:, :3], axes)
    )


def test_frequencies():
    for name in ("fftfreq", "rfftfreq"):
        np.testing.assert_array_equal(getattr(tnp.fft, name)(5, 0.1), getattr(np.fft, name)(5, 0.1))


def loss(f):
    return lambda x: tf.reduce_sum(tf.sin(tf.abs(f(x)) + 0.3) * tnp.arange(1.0, 1.0 + f(x).shape[-1]))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "rfft2", "irfft2"])
def test_derivatives(name):
    f = loss(getattr(tnp.fft, name))
    x = X[0] if name in OF_REALS else Z[0]
    direction = Z[1] if x.dtype.kind == "c" else X[1]
    g, h = tf.grad(f)(tf.constant(x)).numpy(), 1e-6
    ends = [f(tf.constant(x + k * h * direction)).item() for k in (-1, 1)]
    np.testing.assert_allclose(np.sum(np.conj(g) * direction).real, (ends[1] - ends[0]) / (2 * h), rtol=1e-6)


def test_compiled_as_eagerly():
    f = loss(tnp.fft.rfft)
    value, gradient = tf.function(tf.value_and_grad(f))(tf.constant(X[0]))
    np.testing.assert_allclose(value, f(tf.constant(X[0])))
    np.testing.assert_allclose(gradient, tf.grad(f)(tf.constant(X[0])), rtol=1e-10)


def test_lanes():
    np.testing.assert_allclose(tf.vmap(tnp.fft.fft, 1, 1)(tf.constant(Z)), np.fft.fft(Z))


def test_a_function_of_numpy_is_followed():
    np.testing.assert_allclose(
        tf.grad(lambda x: tf.reduce_sum(tf.abs(np.fft.fft(x)) ** 2))(tf.constant(X[0, 0])), 12 * X[0, 0]
    )


def test_refused():
    for call in (
        lambda: tnp.fft.rfft(Z),
        lambda: tnp.fft.fft(X, norm="half"),
        lambda: tnp.fft.fft(X, n=0),
        lambda: tnp.fft.irfft(X[..., :1]),
    ):
        with pytest.raises(ValueError, match=r"real numbers|norm is|at least one"):
            call()
    with pytest.raises(tf.errors.ShapeError, match="1 sizes for 2 axes"):
        tnp.fft.fftn(X, s=(2,), axes=(0, 1))
