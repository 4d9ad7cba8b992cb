"""NumPy's functions and array methods of tensors: what stays a tensor, what becomes an array, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.errors import GradientError

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


FUNCTIONS = [
    lambda x: np.sum(x),
    lambda x: np.sum(a=x, axis=0),
    lambda x: np.std(x, 1, ddof=1),
    lambda x: np.linalg.inv(x),
    lambda x: np.concatenate([x, x]),
    lambda x: np.where(x > 0.0, x, 2.0),
    lambda x: np.add.reduce(x),
    lambda x: np.multiply.outer(x, x),
    lambda x: np.cumsum(x, axis=1) * np.shape(x)[0] + np.ndim(x) + np.size(x),
]


@pytest.mark.parametrize("f", FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_others_are_those_of_tracejit_while_tracing_and_under_transforms(f):
    found = tf.function(f)(tf.constant(X))
    assert isinstance(found, tf.Tensor)
    np.testing.assert_allclose(found, f(X), rtol=1e-14)
    value, slope = tf.jvp(f, [tf.constant(X)], [tf.ones((2, 2), tf.float64)])
    np.testing.assert_allclose(value, f(X), rtol=1e-14)
    np.testing.assert_allclose(slope, (f(X + 1e-6) - f(X - 1e-6)) / 2e-6, rtol=1e-8, atol=1e-8)


UNKNOWN = [
    (lambda x: np.linalg.pinv(x, hermitian=True), r"linalg\.pinv"),
    (lambda x: np.linalg.svd(x, hermitian=True)[1], r"linalg\.svd"),
    (lambda x: np.sin(x, where=x.shape[0] > 1), "sin"),
    (lambda x: np.subtract.reduce(x), r"subtract\.reduce"),
]


@pytest.mark.parametrize(("f", "name"), UNKNOWN, ids=range(len(UNKNOWN)))
def test_what_tracejit_has_not_is_refused_where_a_value_or_a_derivative_would_be_lost(f, name):
    with pytest.raises(tf.SymbolicValue, match=rf"numpy\.{name} works on values(.|\n)*test_numpy_protocol"):
        tf.function(f)(tf.constant(X))
    with pytest.raises(GradientError, match=rf"numpy\.{name}, .* works on values(.|\n)*test_numpy_protocol"):
        tf.jvp(f, [tf.constant(X)], [tf.ones((2, 2), tf.float64)])
    assert isinstance(f(tf.constant(X)), np.ndarray | np.generic)


def test_a_result_is_not_written_to_an_array_that_others_may_know():
    def f(x):
        return np.sum(x, out=np.empty(()))

    with pytest.raises(tf.SymbolicValue, match=r"make it where it is filled(.|\n)*test_numpy_protocol"):
        tf.function(f)(tf.constant(X))
    with pytest.raises(GradientError, match=r"numpy\.sum, .* works on values(.|\n)*test_numpy_protocol"):
        tf.jvp(f, [tf.constant(X)], [tf.ones((2, 2), tf.float64)])


def test_what_has_no_derivative_works_on_values_under_transforms():
    def f(x):
        assert isinstance(np.min_scalar_type(x), np.dtype) and np.iscomplexobj(x) is False
        assert "0.25" in np.array2string(x)
        return tf.reduce_sum(tf.gather(x, np.argpartition(x, 1))) * 2.0

    assert tf.grad(f)(tf.constant(X[0])).numpy().tolist() == [2.0, 2.0]


def test_they_write_into_arrays_that_are_then_refused():
    def f(x):
        buffer = np.zeros(2)
        np.copyto(buffer, x)
        return tf.reduce_sum(buffer * x)

    with pytest.raises(GradientError, match="is taken out here"):
        tf.grad(f)(tf.constant(X[0]))


def test_what_carries_no_derivative_stays_an_array_under_transforms():
    def f(x):
        assert isinstance(np.mean(tf.constant(X)), np.float64)
        assert isinstance(np.mean(tf.stop_gradient(x)), np.float64)
        return np.mean(x)

    assert tf.grad(f)(tf.constant(X[0])).numpy().tolist() == [0.5, 0.5]


@MODES
def test_tapes_do_not_follow_them(mode):
    """Also where a transform around the tape does: its value is the same with and without one."""

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x) * np.mean(x)
        found = tape.gradient(y, x)
        assert tape.explain(y, x).cause == "partly lost"
        return tf.reduce_sum(found)

    x = tf.constant(X[0])
    assert mode(slope)(x).numpy() == pytest.approx(2 * X[0].mean())
    np.testing.assert_allclose(mode(tf.grad(slope))(x), [1.0, 1.0])


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
