"""``tracejit.scipy.linalg`` and ``tracejit.scipy.integrate`` against SciPy: values, derivatives, eager and compiled."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.scipy import integrate, linalg

scipy_linalg = pytest.importorskip("scipy.linalg")
import scipy.integrate  # noqa: E402

A = np.cos(np.arange(9.0)).reshape(3, 3)
P = A @ A.T + np.eye(3)
B = np.array([[2.0, 0.3], [-0.4, 1.5]])
Q = np.sin(np.arange(6.0)).reshape(3, 2)
BANDS = np.array([[0.3, 0.1, 0.7, 0.2], [2.0, 3.0, 2.5, 4.0], [0.5, 0.2, 0.4, 0.1]])
V = np.array([1.0, -2.0, 0.5, 3.0])

modes = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])

#: By name: arguments, and how SciPy is asked for the same.
CASES = [
    ("sqrtm", (P,), {}),
    ("sqrtm", (P + 0.5j * A + 4.0 * np.eye(3),), {}),
    ("solve_sylvester", (A, B, Q), {}),
    ("solve_banded", ((1, 1), BANDS, V), {}),
    ("solve_banded", ((0, 2), BANDS, V), {}),
    ("solve", (P, Q), {}),
    ("solve", (P, Q[:, 0]), {}),
    ("block_diag", (A, V, 2.0), {}),
    ("cholesky", (P,), {}),
    ("cholesky", (P,), {"lower": True}),
    ("expm", (A,), {}),
    *(
        ("solve", (P, Q), {"assume_a": how, "lower": lower})
        for how in ("gen", "sym", "her", "pos")
        for lower in (False, True)
    ),
    *(("solve", (np.triu(P + 0.1j * A), Q), {"assume_a": how}) for how in ("sym", "her")),
    ("logm", (P,), {}),
    *(
        ("solve_triangular", (P + s, Q), {"trans": trans, "lower": lower, "unit_diagonal": unit})
        for s, trans, lower, unit in [(0, 0, True, False), (0, "T", False, True), (1j * A, 2, True, False)]
    ),
]


@modes
@pytest.mark.parametrize(("name", "arguments", "keywords"), CASES)
def test_values(name, arguments, keywords, mode):
    still = 1 if name == "solve_banded" else 0
    f = mode(lambda *a: getattr(linalg, name)(*arguments[:still], *a, **keywords))
    wanted = getattr(scipy_linalg, name)(*arguments, **keywords)
    np.testing.assert_allclose(f(*arguments[still:]), wanted, rtol=1e-10, atol=1e-12)


@modes
def test_solutions_by_a_cholesky_factor(mode):
    for matrix in (P, P + 1j * (A - A.T)):
        for lower in (False, True):
            f = mode(lambda p, q, lower=lower: linalg.cho_solve(linalg.cho_factor(p, lower), q))
            np.testing.assert_allclose(f(matrix, Q), np.linalg.solve(matrix, Q), rtol=1e-11)


@modes
def test_an_equation_of_complex_matrices(mode):
    x = mode(linalg.solve_sylvester)(A + 1j * P, B - 0.5j, Q).numpy()
    np.testing.assert_allclose((A + 1j * P) @ x + x @ (B - 0.5j), Q, atol=1e-13)


def along(f, xs, ways, step=1e-5):
    ends = (f(*(x + s * w for x, w in zip(xs, ways, strict=True))) for s in (step, -step))
    return np.subtract(*map(np.asarray, ends)) / (2 * step)


DIFFERENTIATED = {
    "sqrtm": (linalg.sqrtm, (P,)),
    "solve_sylvester": (linalg.solve_sylvester, (A, B, Q)),
    "solve_banded": (lambda ab, b: linalg.solve_banded((1, 1), ab, b), (BANDS, V)),
    "solve_triangular": (lambda a, b: linalg.solve_triangular(a, b, lower=True), (P, Q)),
    "cho_solve": (lambda p, b: linalg.cho_solve(linalg.cho_factor(p @ tf.transpose(p)), b), (P, Q)),
    "block_diag": (lambda a, b: linalg.block_diag(a, b) ** 2, (A, B)),
    "odeint": (
        lambda y, t, k: integrate.odeint(
            lambda y, t, k: k * tf.sin(y) - t, y, t, (k,), rtol=1e-11, atol=1e-11
        ),
        (np.array([0.3, -1.0]), np.array([0.0, 0.4, 1.0]), np.array([1.5, -0.7])),
    ),
}


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_derivatives(name):
    """Of first and second order, forward and reverse, along all arguments."""
    f, xs = DIFFERENTIATED[name]
    ways = [np.cos(3.0 + k + np.arange(float(x.size))).reshape(x.shape) for k, x in enumerate(xs)]

    def slope(*xs):
        return tf.jvp(f, xs, tuple(tf.constant(w) for w in ways))[1]

    def total(*xs):
        return tf.reduce_sum(tf.sin(f(*xs)))

    def back(*xs):
        gs = tf.grad(total, argnums=tuple(range(len(xs))))(*xs)
        return sum(tf.reduce_sum(g * w) for g, w in zip(gs, ways, strict=True))

    np.testing.assert_allclose(slope(*xs), along(f, xs, ways), rtol=1e-6, atol=1e-7)
    first, second = along(total, xs, ways), along(back, xs, ways)
    for mode in (lambda f: f, tf.function):
        assert float(mode(back)(*xs)) == pytest.approx(float(first), rel=1e-6, abs=1e-7)
    gs = tf.grad(back, argnums=tuple(range(len(xs))))(*xs)
    twice = sum(float(tf.reduce_sum(g * w)) for g, w in zip(gs, ways, strict=True))
    assert twice == pytest.approx(float(second), rel=1e-5, abs=1e-6)


@modes
def test_what_has_no_solution(mode):
    with pytest.raises(RuntimeError, match=r"negative eigenvalues|singular"):
        mode(linalg.sqrtm)(-P)
    with pytest.raises(RuntimeError, match="singular"):
        mode(linalg.solve_sylvester)(np.eye(2), -np.eye(2), np.eye(2))
    with pytest.raises(RuntimeError, match="mxstep"):
        mode(lambda y: integrate.odeint(lambda y, t: y * y, y, [0.0, 2.0], mxstep=200))(1.0)


def test_what_does_not_fit():
    with pytest.raises(ValueError, match="2 diagonals below and 1 above need 4 rows"):
        linalg.solve_banded((2, 1), BANDS, V)
    with pytest.raises(ValueError, match="do not go with"):
        linalg.solve_sylvester(A, B, A)
    with pytest.raises(ValueError, match="square matrices"):
        linalg.sqrtm(Q)
    with pytest.raises(ValueError, match="trans is 0, 1, 2"):
        linalg.solve_triangular(A, Q, trans="X")
    with pytest.raises(ValueError, match="times are a vector"):
        integrate.odeint(lambda y, t: y, 1.0, 2.0)


@modes
def test_an_equation_against_scipy(mode):
    def pendulum(y, t, friction):
        return [y[1], -friction * y[1] - np.sin(t) * y[0]]

    times = np.linspace(0.0, 6.0, 7)
    wanted = scipy.integrate.odeint(pendulum, [1.0, 0.5], times, (0.3,), rtol=1e-11, atol=1e-11)

    def solved(y, t, friction):
        return integrate.odeint(lambda t, *a: tf.stack(pendulum_of(t, *a)), y, t, (friction,), tfirst=True)

    def pendulum_of(t, y, friction):
        return [y[1], -friction * y[1] - tf.sin(t) * y[0]]

    np.testing.assert_allclose(mode(solved)([1.0, 0.5], times, 0.3), wanted, atol=1e-6)
    back = mode(solved)(wanted[-1], times[::-1].copy(), 0.3)
    np.testing.assert_allclose(back[::-1], wanted, atol=1e-6)
