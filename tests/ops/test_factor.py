"""Determinants, inverses and Cholesky factors: values as LAPACK has them, derivatives, singular matrices, lanes."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from checks.levels import assert_levels_agree
from tracejit.core.op import ops
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

RANDOM = np.random.default_rng(0)
MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])


def matrix(n, dtype=np.float64):
    """In need of pivoting: the diagonal is 0 but for one row."""
    a = RANDOM.uniform(-1, 1, (n, n)) + (
        1j * RANDOM.uniform(-1, 1, (n, n)) if np.dtype(dtype).kind == "c" else 0
    )
    a[np.arange(n - 1), np.arange(n - 1)] = 0.0
    return (a + 2 * np.roll(np.eye(n), 1, 0)).astype(dtype)


def positive(n, dtype=np.float64):
    a = RANDOM.normal(size=(n, n))
    return (a @ a.T + n * np.eye(n)).astype(dtype)


@MODES
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 17])
def test_values(mode, dtype, n):
    a, close = matrix(n, dtype), {"rtol": 1000 * np.finfo(dtype).eps, "atol": 1000 * np.finfo(dtype).eps}
    np.testing.assert_allclose(mode(tf.linalg.det)(a).numpy(), np.linalg.det(a), **close)
    np.testing.assert_allclose(mode(tf.linalg.inv)(a).numpy(), np.linalg.inv(a), **close)
    if np.dtype(dtype).kind == "c":
        return
    for found, wanted in zip(mode(tf.linalg.slogdet)(a), np.linalg.slogdet(a), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted, **close)
        assert found.dtype == np.dtype(dtype)
    p = positive(n, dtype)
    np.testing.assert_allclose(mode(tf.linalg.cholesky)(p).numpy(), np.linalg.cholesky(p), **close)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(
    "f", [lambda a: [ops.det(a)], lambda a: [*ops.slogdet(a)], lambda a: [ops.cholesky(a)]]
)
def test_loops_and_machine_code_agree(f, n):
    assert_levels_agree(trace(f, [TensorSpec((n, n), np.dtype(float))]).graph, [positive(n)])


def slope(f, a, direction):
    h = 1e-6
    return (f(tf.constant(a + h * direction)).item() - f(tf.constant(a - h * direction)).item()) / (2 * h)


WEIGHTS = RANDOM.normal(size=(3, 3))
LOSSES = {
    "det": lambda a: tf.sin(tf.linalg.det(a)),
    "inv": lambda a: tf.reduce_sum(WEIGHTS * tf.sin(tf.linalg.inv(a))),
    "logdet": lambda a: tf.linalg.slogdet(a)[1] ** 2,
    "cholesky": lambda a: tf.reduce_sum(WEIGHTS * tf.sin(tf.linalg.cholesky(a))),
}


@MODES
@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_to_second_order(mode, name):
    loss = LOSSES[name]
    a, direction = (positive(3) / 3 if name == "cholesky" else matrix(3)), RANDOM.normal(size=(3, 3))
    if name == "cholesky":
        direction = direction + direction.T

    def first(a):
        return tf.reduce_sum(tf.sin(tf.grad(loss)(a)))

    for f in (loss, first):
        wanted = slope(f, a, direction)
        assert np.sum(mode(tf.grad(f))(a).numpy() * direction) == pytest.approx(wanted, rel=1e-6, abs=1e-8)
        pushed = mode(lambda x, t, f=f: tf.jvp(f, [x], [t])[1])(a, direction)
        assert pushed.item() == pytest.approx(wanted, rel=1e-6, abs=1e-8)


@MODES
def test_complex_determinant_in_forward_mode(mode):
    a, direction = matrix(3, "complex128"), matrix(3, "complex128")
    _, tangent = mode(lambda x, t: tf.jvp(ops.det, [x], [t]))(a, direction)
    expected = np.linalg.det(a) * np.trace(np.linalg.solve(a, direction))
    np.testing.assert_allclose(tangent.numpy(), expected, rtol=1e-12)


@MODES
def test_complex_determinant_is_differentiated(mode):
    a, direction = matrix(3, "complex128"), matrix(3, "complex128")
    loss = lambda a: tf.real(tf.sin(tf.linalg.det(a)))
    along = np.sum(np.conj(mode(tf.grad(loss))(a).numpy()) * direction).real
    assert along == pytest.approx(slope(loss, a, direction), rel=1e-7)


@MODES
def test_the_gradient_of_a_symmetric_matrix_is_symmetric(mode):
    a = positive(4)
    g = mode(tf.grad(lambda a: tf.reduce_sum(tf.linalg.cholesky(a) ** 3)))(a).numpy()
    np.testing.assert_array_equal(g, g.T)


@MODES
def test_singular_matrices(mode):
    a = np.ones((3, 3))
    assert mode(tf.linalg.det)(a).item() == 0.0
    assert [y.item() for y in mode(tf.linalg.slogdet)(a)] == [0.0, -np.inf]
    with pytest.raises(RuntimeError, match="the matrix is singular"):
        mode(tf.linalg.inv)(a)
    with pytest.raises(RuntimeError, match="the matrix is singular"):
        mode(tf.grad(tf.linalg.det))(np.ones((4, 4)))
    with pytest.raises(RuntimeError, match="the matrix is not positive definite"):
        mode(tf.linalg.cholesky)(a - 2 * np.eye(3))


@MODES
def test_not_a_number(mode):
    a = np.array([[np.nan, 1.0], [1.0, 2.0]])
    assert np.isnan(mode(tf.linalg.det)(a).item()) and np.isnan(mode(tf.linalg.slogdet)(a)[1].item())
    assert np.isnan(mode(tf.linalg.cholesky)(a).numpy()[np.tril_indices(2)]).all()


@MODES
def test_leading_axes_are_a_batch(mode):
    a = np.stack([positive(3) for _ in range(4)]).reshape(2, 2, 3, 3)
    b = RANDOM.normal(size=(2, 2, 3, 1))
    for f, g in (
        (tf.linalg.det, np.linalg.det),
        (tf.linalg.inv, np.linalg.inv),
        (tf.linalg.cholesky, np.linalg.cholesky),
    ):
        np.testing.assert_allclose(mode(f)(a).numpy(), g(a), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mode(tf.linalg.solve)(a, b).numpy(), np.linalg.solve(a, b), rtol=1e-10)
    for found, wanted in zip(mode(tf.linalg.slogdet)(a), np.linalg.slogdet(a), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-10)


def test_triangular_solve():
    a, b = np.tril(positive(3)), RANDOM.normal(size=(3, 2))
    full = a + np.triu(np.full((3, 3), 7.0), 1)
    solve = tf.linalg.triangular_solve
    np.testing.assert_allclose(solve(full, b).numpy(), np.linalg.solve(a, b), rtol=1e-12)
    np.testing.assert_allclose(solve(full, b, adjoint=True).numpy(), np.linalg.solve(a.T, b), rtol=1e-12)
    upper = solve(full.T, b, lower=False)
    np.testing.assert_allclose(upper.numpy(), np.linalg.solve(a.T, b), rtol=1e-12)


def test_what_they_take():
    for f in (tf.linalg.det, tf.linalg.inv, tf.linalg.slogdet, tf.linalg.cholesky):
        with pytest.raises(tf.ShapeError, match="square"):
            f(np.ones((2, 3)))
        with pytest.raises(tf.ShapeError, match=r"matrix|matrices"):
            f(np.ones(3))
    with pytest.raises(tf.DtypeError, match="float or complex"):
        tf.linalg.det(np.ones((2, 2), int))


@pytest.mark.parametrize("name", ["det", "inv", "cholesky"])
def test_sizes_known_only_at_the_call(name):
    f = getattr(tf.linalg, name)
    signature = [tf.TensorSpec([None, None], tf.float64)]
    value = tf.function(f, input_signature=signature)
    gradient = tf.function(tf.grad(lambda a: tf.reduce_sum(f(a))), input_signature=signature)
    for n in (3, 1, 5):
        a = positive(n)
        np.testing.assert_allclose(value(a).numpy(), getattr(np.linalg, name)(a), rtol=1e-9, atol=1e-12)
        wanted = tf.grad(lambda a: tf.reduce_sum(f(a)))(a).numpy()
        np.testing.assert_allclose(gradient(a).numpy(), wanted, rtol=1e-9, atol=1e-12)


SMALL = {
    "zeros": np.zeros((2, 2)),
    "one": np.array([[0.0]]),
    "of rank 1": np.array([[1.0, 2.0], [2.0, 4.0]]),
    "of rank 2": np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]]),
    "three of rank 1": np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 2.0]),
    "regular": np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]]),
    "stack": np.stack([np.ones((3, 3)), np.diag([1.0, 2.0, 3.0]), np.zeros((3, 3))]),
    "complex": np.array([[1.0 + 1j, 2.0], [2.0 + 2j, 4.0]]),
}


def cofactors(a):
    if a.ndim == 3:
        return np.stack([cofactors(x) for x in a])
    places = [
        (-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for i, j in np.ndindex(a.shape)
    ]
    return np.reshape(places, a.shape)


@MODES
@pytest.mark.parametrize("name", SMALL)
def test_the_derivative_of_a_determinant_of_few_rows_is_known_where_it_is_zero(name, mode):
    a = SMALL[name]

    def real(a):
        return tf.math.real(tf.reduce_sum(tf.linalg.det(a)))

    np.testing.assert_allclose(mode(tf.grad(real))(a), np.conj(cofactors(a)), atol=1e-12)
    if a.dtype == np.float64:
        direction, h = np.random.default_rng(0).normal(size=a.shape), 1e-5

        def squares(a):
            return tf.reduce_sum(tf.grad(real)(a) ** 2)

        slope = np.sum(mode(tf.grad(squares))(a).numpy() * direction)
        difference = (squares(a + h * direction) - squares(a - h * direction)).item() / (2 * h)
        np.testing.assert_allclose(slope, difference, rtol=1e-7, atol=1e-8)
        third = mode(lambda a: tf.jvp(tf.grad(real), (a,), (direction,)))(a)[1].numpy()
        between = (cofactors(a + h * direction) - cofactors(a - h * direction)) / (2 * h)
        np.testing.assert_allclose(third, between, rtol=1e-6, atol=1e-8)
