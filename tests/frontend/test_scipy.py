"""SciPy's solvers take transformed functions as they are: arrays of float64 in, what SciPy insists on out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tracejit as tf

optimize = pytest.importorskip("scipy.optimize")
integrate = pytest.importorskip("scipy.integrate")

MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
START = np.array([1.3, 0.7, 0.8])


def rosenbrock(x):
    """A curved valley with its minimum, 0, where all elements are 1."""
    return tf.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def hessian_times(x, v):
    return tf.hvp(rosenbrock, [x], [v])


@MODES
@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "TNC", "SLSQP"])
def test_minimize_by_value_and_gradient(method: str, mode: Callable):
    found = optimize.minimize(mode(tf.value_and_grad(rosenbrock)), START, jac=True, method=method)
    assert found.success and found.fun < 1e-6
    np.testing.assert_allclose(found.x, 1.0, atol=2e-3)
    assert isinstance(found.x, np.ndarray) and isinstance(found.jac, np.ndarray)
    assert isinstance(found.fun, float) and found.x.dtype == found.jac.dtype == np.float64


@MODES
@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-exact", "trust-constr"])
def test_minimize_by_second_derivatives(method: str, mode: Callable):
    second = {"hess": mode(tf.hessian(rosenbrock))}
    if method != "trust-exact":
        second = {"hessp": mode(hessian_times)}
    found = optimize.minimize(mode(rosenbrock), START, jac=mode(tf.grad(rosenbrock)), method=method, **second)
    assert found.success
    np.testing.assert_allclose(found.x, 1.0, atol=1e-3)


@MODES
def test_minimize_under_a_constraint(mode: Callable):
    radius = lambda x: x[0] ** 2 + x[1] ** 2
    inside = optimize.NonlinearConstraint(mode(radius), -np.inf, 1.0, jac=mode(tf.jacrev(radius)))
    found = optimize.minimize(
        mode(tf.value_and_grad(rosenbrock)), START[:2], jac=True, method="SLSQP", constraints=[inside]
    )
    np.testing.assert_allclose(found.x, [0.78641515, 0.61769831], atol=1e-5)


@MODES
@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares(method: str, mode: Callable):
    t = np.linspace(0.0, 4.0, 30)
    y = 2.5 * np.exp(-1.3 * t) + 0.5
    residual = lambda p, t, y: p[0] * tf.exp(-p[1] * t) + p[2] - y
    found = optimize.least_squares(
        mode(residual), np.ones(3), jac=mode(tf.jacfwd(residual)), method=method, args=(t, y)
    )
    np.testing.assert_allclose(found.x, [2.5, 1.3, 0.5], rtol=1e-6)


@MODES
@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root(method: str, mode: Callable):
    f = lambda x: tf.stack([x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1.0, 0.5 * (x[1] - x[0]) ** 3 + x[1]])
    found = optimize.root(mode(f), [0.0, 0.0], jac=mode(tf.jacrev(f)), method=method)
    np.testing.assert_allclose(found.x, [0.8411639, 0.1588361], atol=1e-7)


@MODES
def test_scalar_solvers(mode: Callable):
    f = lambda x: x**3 - 2.0
    derivatives = {"fprime": mode(tf.grad(f)), "fprime2": mode(tf.grad(tf.grad(f)))}
    found = optimize.root_scalar(mode(f), x0=np.float64(1.0), method="halley", **derivatives)
    assert float(found.root) == pytest.approx(2.0 ** (1 / 3), rel=1e-14)
    assert optimize.brentq(lambda x: f(tf.constant(x, tf.float64)), 0.0, 2.0) == pytest.approx(2.0 ** (1 / 3))


@MODES
@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_a_stiff_equation(method: str, mode: Callable):
    def slope(t, y):
        return tf.stack([y[1], 10.0 * (1.0 - y[0] ** 2) * y[1] - y[0]])

    def jacobian(t, y):
        return tf.jacfwd(slope, argnums=1)(t, y)

    if mode is tf.function:  # time may come as a Python number, which is otherwise part of the trace
        slope = tf.function(
            slope, input_signature=[tf.TensorSpec([], "float64"), tf.TensorSpec([2], "float64")]
        )
    found = integrate.solve_ivp(
        slope, (0.0, 2.0), [2.0, 0.0], method=method, jac=jacobian, rtol=1e-8, atol=1e-10
    )
    assert found.success
    np.testing.assert_allclose(found.y[:, -1], [1.86106872, -0.07532163], rtol=1e-5)
