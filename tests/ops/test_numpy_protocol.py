"""NumPy's functions and array methods of tensors: what stays a tensor, what becomes an array, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

X = np.array([[0.25, -0.5], [0.75, 0.125]])
MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
UFUNCS = "arcsin arccos arctan arcsinh arctanh ceil isfinite isinf rint trunc exp2 absolute tan sinh".split()


@MODES
@pytest.mark.parametrize("name", UFUNCS)
def test_functions_of_single_elements_stay_tensors(name, mode):
    f = getattr(np, name)
    found = mode(lambda x: f(x))(tf.constant(X))
    assert isinstance(found, tf.Tensor) and found.dtype == f(X).dtype
    np.testing.assert_allclose(found.numpy(), f(X), rtol=1e-14)


@MODES
def test_gradients_follow_them(mode):
    slope = mode(tf.grad(lambda x: tf.reduce_sum(np.arctan(x) + np.hypot(x, 2.0) + np.arctan2(x, 3.0))))(X)
    np.testing.assert_allclose(slope, 1 / (1 + X**2) + X / np.hypot(X, 2.0) + 3 / (9 + X**2), rtol=1e-14)


@MODES
def test_integers_are_made_floats(mode):
    found = mode(lambda x: np.sqrt(x))(tf.constant([4, 9]))
    assert isinstance(found, tf.Tensor) and found.dtype == np.float64 and found.numpy().tolist() == [2.0, 3.0]


def test_other_functions_give_arrays():
    x = tf.constant(X)
    assert isinstance(np.mean(x), np.float64) and type(np.concatenate([x, x])) is np.ndarray
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(np.mean(x, axis=0))
    assert tape.gradient(y, x) is None


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: np.sum(x), r"numpy\.sum works on values.*float64\[2,2\].*write tracejit\.numpy\.sum"),
        (lambda x: np.linalg.inv(x), r"numpy\.linalg\.inv .*write tracejit\.numpy\.linalg\.inv"),
        (lambda x: np.concatenate([x, x]), r"write tracejit\.numpy\.concatenate"),
        (lambda x: np.add.reduce(x), r"numpy\.add\.reduce works on values"),
        (lambda x: np.nextafter(x, 1.0), r"use functions of tracejit or tracejit\.numpy"),
    ],
    ids=range(5),
)
def test_while_tracing_they_are_refused_with_what_to_write_instead(f, message):
    with pytest.raises(tf.SymbolicValue, match=message) as error:
        tf.function(f)(tf.constant(X))
    assert "test_numpy_protocol.py" in str(error.value)


METHODS = [
    lambda x: (x > 0).any(),
    lambda x: (x > 0).all(axis=0),
    lambda x: x.argmax(),
    lambda x: x.argmin(axis=1),
    lambda x: x.argsort(),
    lambda x: x.clip(0.0, 0.5),
    lambda x: x.conj(),
    lambda x: x.copy(),
    lambda x: x.cumsum(axis=1),
    lambda x: x.dot(x),
    lambda x: x.flatten(),
    lambda x: x.prod(),
    lambda x: x.ravel(),
    lambda x: x.repeat(2, axis=0),
    lambda x: x.round(1),
    lambda x: x[None].squeeze(),
    lambda x: x.std(),
    lambda x: x.std(axis=0, ddof=1),
    lambda x: x.swapaxes(0, 1),
    lambda x: x.take([0, 3]),
    lambda x: x.trace(),
    lambda x: x.var(axis=1),
    lambda x: x[None].mT,
    lambda x: x.size,
]


@MODES
@pytest.mark.parametrize("method", METHODS, ids=range(len(METHODS)))
def test_methods_of_arrays(method, mode):
    found, wanted = mode(method)(tf.constant(X)), np.asarray(method(X))
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
    assert np.asarray(found).dtype.kind == wanted.dtype.kind


def test_methods_of_variables():
    assert tf.Variable(X).std().item() == np.std(X) and tf.Variable(X).size == 4
    assert tf.constant(X).tolist() == X.tolist()
    with pytest.raises(ValueError, match=r"mT takes matrices.*\n.*test_numpy_protocol"):
        _ = tf.constant([1.0]).mT
