"""Factors and solutions by the compiler's kernels: as accurate as LAPACK's, for any size, layout and special value."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from checks.levels import by_loops, by_machine
from checks.modes import eager
from tracejit.compiler.codegen import linalg
from tracejit.core.op import ops
from tracejit.core.settings import settings
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

# On both sides of what is done in registers, of blocks and of leaves.
SIZES = (1, 2, 3, 4, 7, 8, 9, 17, 95, 96, 97, 131, 200)
DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])

factor = tf.function(tf.linalg.cholesky)
solve = tf.function(tf.linalg.solve)
solve_adjoint = tf.function(lambda a, b: tf.linalg.solve(a, b, adjoint=True))
inverse = tf.function(tf.linalg.inv)
log_determinant = tf.function(tf.linalg.slogdet)
TRIANGLES = {
    (lower, adjoint): tf.function(
        lambda a, b, lower=lower, adjoint=adjoint: tf.linalg.triangular_solve(
            a, b, lower=lower, adjoint=adjoint
        )
    )
    for lower in (False, True)
    for adjoint in (False, True)
}


def unit(dtype) -> float:
    return float(np.finfo(dtype).eps)


def random(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def positive(n, dtype="float64"):
    a = random(n, n)
    return (a @ a.T + n * np.eye(n)).astype(dtype)


def hilbert(n):
    return 1.0 / (np.arange(n)[:, None] + np.arange(n) + 1)


def graded(n, dtype="float64"):
    """Rows and columns of very different size."""
    scale = 10.0 ** -np.linspace(0, 8, n)
    return (scale[:, None] * positive(n) * scale).astype(dtype)


def distance(a, b) -> float:
    """Of the sums of rows, beside the first matrix's."""
    exact = [np.asarray(x, np.longdouble) for x in (a, b)]
    return float(np.abs(exact[0] - exact[1]).sum(1).max() / max(np.abs(exact[0]).sum(1).max(), 1e-300))


@DTYPES
@pytest.mark.parametrize("kind", [positive, graded])
@pytest.mark.parametrize("n", SIZES)
def test_the_factor_multiplies_to_the_matrix_as_lapacks_does(kind, n, dtype):
    a = kind(n, dtype)
    own, lapack = factor(a).numpy(), np.linalg.cholesky(a)
    residuals = [distance(a, y.astype(np.longdouble) @ y.T.astype(np.longdouble)) for y in (own, lapack)]
    assert residuals[0] <= 4 * residuals[1] + 4 * unit(dtype)
    assert not np.triu(own, 1).any()


@pytest.mark.parametrize("n", [3, 8, 11])
def test_the_factor_of_a_matrix_that_is_nearly_singular(n):
    a = hilbert(n)
    own = factor(a).numpy().astype(np.longdouble)
    assert distance(a, own @ own.T) <= 8 * unit("float64")


@pytest.mark.sampled(2)
@DTYPES
@pytest.mark.parametrize("columns", [1, 5, 33])
@pytest.mark.parametrize("n", SIZES)
def test_solutions_leave_as_little_over_as_lapacks(n, columns, dtype):
    a, b = random(n, n).astype(dtype), random(n, columns, seed=1).astype(dtype)
    for own, matrix in ((solve(a, b), a), (solve_adjoint(a, b), a.T)):
        left = [
            np.abs(matrix.astype(np.longdouble) @ x - b).max() / np.abs(x).max()
            for x in (own.numpy(), np.linalg.solve(matrix, b))
        ]
        assert left[0] <= 8 * left[1] + 4 * n * unit(dtype)


@pytest.mark.parametrize("n", [4, 10])
def test_solutions_of_a_matrix_that_is_nearly_singular(n):
    a, b = hilbert(n), np.ones((n, 1))
    x = solve(a, b).numpy()
    assert np.abs(a.astype(np.longdouble) @ x - b).max() <= 100 * unit("float64") * np.abs(x).max()


@pytest.mark.sampled(2)
@DTYPES
@pytest.mark.parametrize("n", SIZES)
def test_the_inverse_and_the_determinant(n, dtype):
    a = (random(n, n) + 2 * np.eye(n)).astype(dtype)
    own = inverse(a).numpy()  # NumPy's of float32 is worked out in float64
    size = np.linalg.norm(a, np.inf) * np.linalg.norm(own, np.inf)
    assert distance(np.eye(n), a.astype(np.longdouble) @ own) <= 4 * unit(dtype) * size
    sign, size = (y.item() for y in log_determinant(a))
    wanted = np.linalg.slogdet(a.astype(np.float64))
    assert sign == wanted[0] and size == pytest.approx(wanted[1], rel=0, abs=200 * n * unit(dtype))


@pytest.mark.sampled(2)
@DTYPES
@pytest.mark.parametrize("lower, adjoint", TRIANGLES)
@pytest.mark.parametrize("n", [1, 3, 8, 13, 97, 200])
def test_triangles_read_nothing_else(n, lower, adjoint, dtype):
    a = random(n, n) + 2 * n * np.eye(n)
    part = np.tril(a) if lower else np.triu(a)
    a[part == 0] = np.nan
    for columns in (0, 1, 6, 40):
        b = random(n, columns, seed=2).astype(dtype)
        own = TRIANGLES[lower, adjoint](a.astype(dtype), b).numpy()
        exact = np.linalg.solve((part.T if adjoint else part).astype(dtype).astype(np.float64), b)
        np.testing.assert_allclose(
            own, exact, rtol=0, atol=30 * unit(dtype) * max(np.abs(b).max(initial=0), 1)
        )


@pytest.mark.parametrize(
    "turn", [lambda a: a[::2, ::2], lambda a: a.T[::2, ::2], lambda a: a[::-1, ::-1][::2, ::2]]
)
def test_any_layout(turn):
    n = 26
    a = turn(positive(2 * n))
    b = random(2 * n, 8)[::2, ::4]
    np.testing.assert_allclose(factor(a).numpy(), np.linalg.cholesky(a), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(solve(a, b).numpy(), np.linalg.solve(a, b), rtol=1e-11, atol=1e-12)
    own = tf.function(lambda a, b: tf.linalg.cholesky(tf.transpose(a)[1:, 1:]) @ b[1:])(a, b).numpy()
    np.testing.assert_allclose(own, np.linalg.cholesky(a.T[1:, 1:]) @ b[1:], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (2, 1), (8, 8), (99, 3), (99, 99)])
def test_what_is_not_finite(value, place):
    a = positive(100)
    a[place] = value
    lower = factor(a).numpy()
    assert np.isnan(np.tril(lower)[np.tril_indices(100)]).all() and not np.triu(lower, 1).any()
    if np.isnan(value):
        b = random(100, 2)
        assert np.isnan(solve(a, b).numpy()).all() and np.isnan(inverse(a).numpy()).all()
        assert np.isnan(TRIANGLES[True, False](a, b).numpy()).all()
        assert all(np.isnan(y.item()) for y in log_determinant(a))


@pytest.mark.parametrize("n", [1, 8, 20, 100])
def test_singular_matrices_are_refused(n):
    a, b = positive(n), random(n, 1)
    a[:, n // 2] = 0
    for f in (solve, solve_adjoint):
        with pytest.raises(RuntimeError, match="the matrix is singular"):
            f(a, b)
    with pytest.raises(RuntimeError, match="the matrix is singular"):
        inverse(a)
    with pytest.raises(RuntimeError, match="the matrix is singular"):
        TRIANGLES[True, True](a, b)
    with pytest.raises(RuntimeError, match="the matrix is not positive definite"):
        factor(positive(n) - 100 * n * np.eye(n))
    assert [y.item() for y in log_determinant(a)] == [0.0, -np.inf]


@DTYPES
@pytest.mark.parametrize("n", [700, 1100])
def test_more_rows_than_caches_hold(n, dtype):
    """By halves, with products of parts that are packed."""
    p, a = positive(n, dtype), (random(n, n) + 2 * np.eye(n)).astype(dtype)
    lower, b = factor(p).numpy(), random(n, 450).astype(dtype)
    assert np.abs(lower @ lower.T - p).max() <= 50 * unit(dtype) * np.abs(p).max()
    assert not np.triu(lower, 1).any()
    x, y = solve(a, b).numpy(), TRIANGLES[True, False](lower, b).numpy()
    for matrix, found in ((a, x), (np.tril(lower), y)):
        size = np.linalg.norm(matrix, np.inf) * np.abs(found).max()
        assert np.abs(matrix.astype(np.float64) @ found - b).max() <= 20 * unit(dtype) * size
    for place in (5, 600, n - 1):
        broken = p.copy()
        broken[place, place] = -1
        with pytest.raises(RuntimeError, match="the matrix is not positive definite"):
            factor(broken)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_sizes_known_only_when_called(n):
    symbolic = tf.function(
        lambda a, b: (
            tf.linalg.cholesky(a),
            tf.linalg.solve(a, b),
            tf.linalg.triangular_solve(a, b, lower=False),
            tf.linalg.det(a),
        ),
        input_signature=[tf.TensorSpec([None, None], tf.float64)] * 2,
    )
    a, b = positive(n), random(n, 2)
    wanted = (np.linalg.cholesky(a), np.linalg.solve(a, b), np.linalg.solve(np.triu(a), b), np.linalg.det(a))
    for own, right in zip(symbolic(a, b), wanted, strict=True):
        np.testing.assert_allclose(own.numpy(), right, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("n", [1, 3, 9])
def test_graphs_programs_and_machine_code_agree(n):
    def everything(a, b):
        y = ops.cholesky(a)
        return [
            ops.solve(a, b),
            ops.solve(a, b, adjoint=True),
            ops.inverse(a),
            ops.triangular_solve(a, b),
            ops.triangular_solve(a, b, lower=False, adjoint=True),
            ops.cholesky_pullback(y, a),
        ]

    specs = [TensorSpec((n, n), np.dtype(float)), TensorSpec((n, 3), np.dtype(float))]
    graph, arrays = trace(everything, specs).graph, [positive(n), random(n, 3)]
    for run in (by_loops, by_machine):
        with settings(check=True, cache=False):
            found = run(graph, arrays)
        for own, wanted in zip(found, eager(graph, arrays), strict=True):
            np.testing.assert_allclose(own, wanted, rtol=1e-12, atol=1e-14)


LOSSES = {
    "cholesky": lambda a, b: tf.reduce_sum(b * tf.sin(tf.linalg.cholesky(a))),
    "solve": lambda a, b: tf.reduce_sum(tf.sin(tf.linalg.solve(a, b))),
    "solve, adjoint": lambda a, b: tf.reduce_sum(tf.sin(tf.linalg.solve(a, b, adjoint=True))),
    "triangular": lambda a, b: tf.reduce_sum(tf.sin(tf.linalg.triangular_solve(a, b))),
    "triangular, upper, adjoint": lambda a, b: tf.reduce_sum(
        tf.sin(tf.linalg.triangular_solve(a, b, lower=False, adjoint=True))
    ),
    "inverse": lambda a, b: tf.reduce_sum(b * tf.sin(tf.linalg.inv(a))),
    "likelihood": lambda a, b: (
        tf.reduce_sum(tf.linalg.triangular_solve(tf.linalg.cholesky(a), b) ** 2) + tf.linalg.logdet(a)
    ),
}


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_to_second_order(mode, name):
    n = 5
    a, b, c = positive(n) / n, random(n, n, seed=3), random(n, n, seed=4)
    c, along, h = c + c.T, tf.constant(random(n, n, seed=5)), 1e-5
    loss = LOSSES[name]

    def first(a):
        return tf.reduce_sum(along * tf.grad(loss)(a, tf.constant(b)))

    for f in (lambda a: loss(a, tf.constant(b)), first):
        slope = (f(tf.constant(a + h * c)).item() - f(tf.constant(a - h * c)).item()) / (2 * h)
        assert np.sum(mode(tf.grad(f))(a).numpy() * c) == pytest.approx(slope, rel=1e-6, abs=1e-6)
        pushed = mode(lambda x, t, f=f: tf.jvp(f, [x], [t])[1])(a, c).item()
        assert pushed == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_the_matrix_of_a_solution_is_factored_once_for_its_gradient():
    def value_and_slopes(a, b):
        return tf.value_and_grad(lambda a, b: tf.reduce_sum(tf.linalg.solve(a, b) ** 2), argnums=(0, 1))(a, b)

    text = tf.function(value_and_slopes).loops(positive(4), random(4, 1))
    assert text.count("lu(") == 1 and text.count("lu_solve(") == 2


@pytest.mark.parametrize("register_bytes", [16, 32, 64])
@pytest.mark.parametrize("kernel", linalg.KERNELS)
def test_text_for_any_machine(kernel, register_bytes):
    text = linalg.kernel_text(kernel, "float64", register_bytes=register_bytes, fma=False)
    assert "llvm.fma.v" not in "".join(line for line in text.splitlines() if " call " in line)
    assert f"@{linalg.symbol(kernel, 'float64', register_bytes)}(" in text


@pytest.mark.parametrize("n", [10, 150])
def test_lanes_of_a_batch(n):
    a = np.stack([positive(n) + k * np.eye(n) for k in range(3)])
    b = random(3, n, 2)
    for own, wanted in (
        (factor(a), np.linalg.cholesky(a)),
        (solve(a, b), np.linalg.solve(a, b)),
        (inverse(a), np.linalg.inv(a)),
    ):
        np.testing.assert_allclose(own.numpy(), wanted, rtol=1e-10, atol=1e-12)
    shared = tf.function(lambda a, b: tf.vmap(lambda y: tf.linalg.triangular_solve(a, y))(b))(a[0], b)
    np.testing.assert_allclose(shared.numpy(), np.linalg.solve(np.tril(a[0]), b), rtol=1e-10, atol=1e-12)


@DTYPES
@pytest.mark.parametrize("lower, adjoint", TRIANGLES)
@pytest.mark.parametrize("n", [0, 1, 2, 7, 15, 16, 33, 250])
def test_one_right_side(n, lower, adjoint, dtype):
    a = (random(n, n) + 2 * n * np.eye(n)).astype(dtype)
    part = np.tril(a) if lower else np.triu(a)
    exact = (part.T if adjoint else part).astype(np.float64)
    for b in (random(n, 1), random(2 * n, 1)[::2], random(n, 3)[:, 1:2]):
        for matrix in (a, np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2]):
            own = TRIANGLES[lower, adjoint](matrix, b.astype(dtype)).numpy()
            np.testing.assert_allclose(
                own, np.linalg.solve(exact, b.astype(dtype)), rtol=0, atol=30 * unit(dtype)
            )


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
@pytest.mark.parametrize("adjoint", [False, True])
def test_one_right_side_of_a_triangle_that_is_not_regular(adjoint, value):
    a, b = positive(20), random(20, 1)
    a[13, 13] = value
    solve = TRIANGLES[True, adjoint]
    if value == 0:
        with pytest.raises(RuntimeError, match="the matrix is singular"):
            solve(a, b)
    else:
        found = solve(a, b).numpy()
        assert np.isnan(found).all() if np.isnan(value) else np.isfinite(found).all()
    a[13, 13], b[3] = 1.0, value
    exact = np.linalg.solve(np.tril(a).T if adjoint else np.tril(a), np.where(np.isfinite(b), b, 0))
    untouched = slice(4, None) if adjoint else slice(0, 3)
    np.testing.assert_allclose(solve(a, b)[untouched].numpy(), exact[untouched], rtol=1e-11, atol=1e-13)
