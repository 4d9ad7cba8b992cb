"""Systems of linear equations: eager as LAPACK has it, compiled by elimination; derivatives, edge cases."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from checks.levels import assert_levels_agree
from tracejit.core.errors import DtypeError, ShapeError
from tracejit.core.op import ops
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

RANDOM = np.random.default_rng(0)


def matrix(n, dtype=np.float64):
    """Far from singular, and in need of pivoting: its diagonal is 0."""
    a = RANDOM.uniform(-0.2, 0.2, (n, n))
    if np.dtype(dtype).kind == "c":
        a = a + 1j * RANDOM.uniform(-0.2, 0.2, (n, n))
    a[np.arange(n), np.arange(n)] = 0.0
    a[np.arange(n), np.roll(np.arange(n), 1)] += 2.0
    if n == 1:
        a += 0.5
    return a.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 17])
def test_values(n, dtype):
    a = matrix(n, dtype)
    x = RANDOM.normal(size=(n, 2)).astype(dtype)
    tolerance = 200 * np.finfo(dtype).eps
    for f in (ops.solve, tf.function(ops.solve)):
        found = f(a, a @ x)
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_allclose(found.numpy(), x, atol=tolerance)


@pytest.mark.parametrize("n", [1, 3])
def test_loops_and_machine_code_agree(n):
    specs = [TensorSpec((n, n), np.dtype(float)), TensorSpec((n, 2), np.dtype(float))]
    assert_levels_agree(trace(lambda a, b: [ops.solve(a, b)], specs).graph, [matrix(n), np.ones((n, 2))])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_derivatives_to_second_order(mode, dtype):
    a, b = (tf.constant(x) for x in (matrix(3, dtype), RANDOM.normal(size=(3, 2)).astype(dtype)))

    def loss(a, b):
        return tf.reduce_sum(tf.real(tf.sin(ops.solve(a, b))))

    def slope(f, k, direction):
        """Of a real function along a direction, by differences."""
        h, up, down = 1e-6, [a, b], [a, b]
        up[k], down[k] = up[k] + h * direction, down[k] - h * direction
        return (f(*up).item() - f(*down).item()) / (2 * h)

    for k, x in enumerate((a, b)):
        direction = RANDOM.normal(size=x.shape).astype(dtype)
        gradient = mode(tf.grad(loss, k))(a, b)
        along = np.sum(np.conj(gradient.numpy()) * direction).real
        assert along == pytest.approx(slope(loss, k, direction), rel=1e-7)

        def first(*args, k=k):
            return tf.reduce_sum(tf.real(tf.cos(tf.grad(loss, k)(*args))))

        second = mode(tf.grad(first, k))(a, b)
        along = np.sum(np.conj(second.numpy()) * direction).real
        assert along == pytest.approx(slope(first, k, direction), rel=1e-6)
        points = [a, b]

        def of_one(x, points=points, k=k):
            return loss(*[x if i == k else p for i, p in enumerate(points)])

        pushed = mode(lambda x, t, f=of_one: tf.jvp(f, [x], [t])[1])(x, direction)
        assert pushed.item() == pytest.approx(slope(loss, k, direction), rel=1e-7)


@pytest.mark.parametrize("f", [ops.solve, tf.function(ops.solve)], ids=["eager", "compiled"])
def test_singular_and_not_a_number(f):
    with pytest.raises(RuntimeError, match="the matrix is singular") as caught:
        f(np.ones((2, 2)), np.ones((2, 1)))  # here
    assert "# here" in str(caught.value)
    assert np.isnan(f(np.array([[np.nan, 1.0], [1.0, 1.0]]), np.ones((2, 1))).numpy()).all()
    assert np.isnan(f(np.array([[1.0, 2.0], [1.0, np.nan]]), np.ones((2, 1))).numpy()).all()
    assert np.isnan(f(np.eye(2), np.array([[np.nan], [1.0]])).numpy()[0, 0])


def test_of_a_batch():
    a = np.stack([matrix(3), matrix(3)])
    x = RANDOM.normal(size=(2, 3, 1))
    np.testing.assert_allclose(tf.vmap(ops.solve)(a, a @ x).numpy(), x, rtol=1e-12)


def test_what_it_takes():
    with pytest.raises(ShapeError, match="square matrix"):
        ops.solve(np.ones((2, 3)), np.ones((2, 1)))
    with pytest.raises(ShapeError, match="right sides"):
        ops.solve(np.ones((2, 2)), np.ones(2))
    with pytest.raises(DtypeError, match="float or complex"):
        ops.solve(np.ones((2, 2), int), np.ones((2, 1), int))


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_gradient_through_a_part_of_the_solution(mode):
    a, b = matrix(3), RANDOM.normal(size=(3, 2))
    inverse = np.linalg.inv(a)

    def part(a, b):
        return tf.linalg.solve(a, b)[1:, 0][1] + tf.gather(tf.linalg.solve(a, b), [0], axis=0)[0, 1]

    found = mode(tf.grad(part, argnums=(0, 1)))(a, b)
    of_b = np.stack([inverse[2], inverse[0]], axis=1)
    np.testing.assert_allclose(found[1].numpy(), of_b, atol=1e-14)
    np.testing.assert_allclose(found[0].numpy(), -of_b @ (inverse @ b).T, atol=1e-14)
