"""Many matrices at once: in lanes of registers, or one by one; results, failures and derivatives are those of each."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from checks.levels import by_loops, by_machine
from checks.modes import eager
from tracejit.core.op import ops
from tracejit.core.settings import settings
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
# On both sides of a full group of 4, 8 or 16 lanes, and of what is done in lanes.
COUNTS, SIZES = (0, 1, 3, 8, 17), (0, 1, 2, 5, 8, 16, 17)


def random(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def positive(*shape):
    a, n = random(*shape), shape[-1]
    return a @ np.swapaxes(a, -1, -2) + n * np.eye(n)


def mixed(*shape):
    """Rows change places, differently in each."""
    n, places = shape[-1], np.random.default_rng(shape)
    return random(*shape) + 4 * n * np.stack(
        [np.eye(n)[places.permutation(n)] for _ in range(shape[0])] or [0]
    )


def close(own, wanted, dtype):
    atol = 100 * np.finfo(dtype).eps * np.abs(wanted).max(initial=1)
    assert own.dtype == dtype
    np.testing.assert_allclose(own.numpy(), wanted, rtol=0, atol=atol)


everything = tf.function(
    lambda p, a, b: (
        tf.linalg.cholesky(p),
        tf.linalg.inv(a),
        tf.linalg.solve(a, b),
        tf.linalg.solve(a, b, adjoint=True),
        tf.linalg.triangular_solve(p, b, lower=False),
        tf.linalg.triangular_solve(p, b, adjoint=True),
        *tf.linalg.slogdet(a),
    ),
    reduce_retracing=False,
)


@pytest.mark.sampled(2)
@DTYPES
@pytest.mark.parametrize("n", SIZES)
def test_results_are_those_of_each_matrix(n, dtype):
    for count in COUNTS:
        p, a, b = (x.astype(dtype) for x in (positive(count, n, n), mixed(count, n, n), random(count, n, 3)))
        wide = [x.astype(np.float64) for x in (p, a, b)]
        p64, a64, b64 = wide
        wanted = (
            np.linalg.cholesky(p64),
            np.linalg.inv(a64),
            np.linalg.solve(a64, b64),
            np.linalg.solve(np.swapaxes(a64, 1, 2), b64),
            np.linalg.solve(np.triu(p64), b64),
            np.linalg.solve(np.triu(np.swapaxes(p64, 1, 2)), b64),
            *np.linalg.slogdet(a64),
        )
        for own, right in zip(everything(p, a, b), wanted, strict=True):
            close(own, right, dtype)


@pytest.mark.parametrize("columns", [0, 1, 16, 40])
def test_any_number_of_right_sides(columns):
    a, b = mixed(9, 5, 5), random(9, 5, columns)
    for adjoint in (False, True):
        own = tf.function(lambda a, b, adjoint=adjoint: tf.linalg.solve(a, b, adjoint=adjoint))(a, b)
        close(own, np.linalg.solve(np.swapaxes(a, 1, 2) if adjoint else a, b), "float64")


@DTYPES
@pytest.mark.parametrize("n", [3, 4, 5, 8])
def test_rows_change_places_in_some_lanes_and_in_others_not(n, dtype):
    a, b = mixed(40, n, n).astype(dtype), random(40, n, 5).astype(dtype)
    a[8:27] = (positive(40, n, n)[8:27]).astype(dtype)  # whole groups in which none do, of 4 to 16 lanes
    a[33, 0, 0] = np.nan
    solve, inverse = tf.function(lambda a, b: tf.linalg.solve(a, b)), tf.function(lambda a: tf.linalg.inv(a))
    many, whole = solve(a, b).numpy(), inverse(a).numpy()
    assert np.isnan(many[33]).all() and np.isnan(whole[33]).all()
    rest = np.delete(np.arange(40), 33)
    exact = a.astype(np.float64)[rest]
    for own, wanted in ((many, np.linalg.solve(exact, b[rest])), (whole, np.linalg.inv(exact))):
        close(tf.constant(own[rest]), wanted, dtype)
    for column in range(5):  # one right side has code of its own, which does the same
        np.testing.assert_array_equal(
            solve(a, b[:, :, column : column + 1]).numpy()[:, :, 0], many[:, :, column]
        )
    ones = np.broadcast_to(np.eye(n, dtype=dtype), a.shape)
    np.testing.assert_array_equal(solve(a, ones).numpy(), whole)


@pytest.mark.parametrize(
    "turn",
    [
        lambda a: np.swapaxes(a, 1, 2),
        lambda a: a[::2, ::-1, ::-1],
        lambda a: np.asfortranarray(a),
        lambda a: np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 0, 2)), 2, 0),
        lambda a: np.broadcast_to(a[:1], a.shape),
    ],
)
def test_any_layout(turn):
    p = turn(positive(18, 6, 6))
    close(tf.function(lambda a: tf.linalg.cholesky(a))(p), np.linalg.cholesky(p), "float64")
    close(tf.function(lambda a: tf.linalg.inv(tf.transpose(a, (0, 2, 1))))(p), np.linalg.inv(p), "float64")
    close(
        tf.function(lambda a: tf.linalg.cholesky(a[1:, 1:, 1:]))(p),
        np.linalg.cholesky(p[1:, 1:, 1:]),
        "float64",
    )


@MODES
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_stays_in_its_lane(mode, value):
    p, b = positive(11, 4, 4), random(11, 4, 2)
    clean = [np.linalg.cholesky(p), np.linalg.solve(p, b), np.linalg.solve(np.tril(p), b)]
    p[5, 2, 1] = p[5, 1, 2] = value
    found = mode(lambda p: tf.linalg.cholesky(p))(p).numpy()
    assert np.isnan(found[5][np.tril_indices(4)]).all() and not np.triu(found[5], 1).any()
    results = [found]
    if np.isnan(value):
        for f in (tf.linalg.solve, tf.linalg.triangular_solve):
            results.append(mode(lambda p, b, f=f: f(p, b))(p, b).numpy())
            assert np.isnan(results[-1][5]).all()
        assert np.isnan(mode(lambda p: tf.linalg.inv(p))(p).numpy()[5]).all()
        assert np.isnan(mode(lambda p: tf.linalg.det(p))(p).numpy()).tolist() == [k == 5 for k in range(11)]
    for own, wanted in zip(results, clean, strict=False):
        np.testing.assert_allclose(np.delete(own, 5, 0), np.delete(wanted, 5, 0), rtol=1e-12, atol=1e-13)


@MODES
@pytest.mark.parametrize("n", [1, 4, 17])
def test_a_matrix_that_fails_refuses_all(mode, n):
    p, b = positive(11, n, n), random(11, n, 1)
    p[7, :, n // 2] = p[7, n // 2] = 0
    for f in (tf.linalg.solve, tf.linalg.triangular_solve):
        with pytest.raises(RuntimeError, match="the matrix is singular"):
            mode(lambda p, b, f=f: f(p, b))(p, b)
    with pytest.raises(RuntimeError, match="the matrix is singular"):
        mode(lambda p: tf.linalg.inv(p))(p)
    with pytest.raises(RuntimeError, match="the matrix is not positive definite"):
        mode(lambda p: tf.linalg.cholesky(p))(p)
    determinants = mode(lambda p: tf.linalg.det(p))(p).numpy()
    assert determinants[7] == 0 and np.count_nonzero(determinants) == 10


@pytest.mark.parametrize("n", [0, 3, 20])
@pytest.mark.parametrize("count", [0, 2, 9])
def test_sizes_known_only_when_called(count, n):
    symbolic = tf.function(
        lambda a, b: (tf.linalg.cholesky(a), tf.linalg.solve(a, b), tf.linalg.det(a)),
        input_signature=[tf.TensorSpec([None, None, None], tf.float64)] * 2,
    )
    a, b = positive(count, n, n), random(count, n, 2)
    for own, right in zip(
        symbolic(a, b), (np.linalg.cholesky(a), np.linalg.solve(a, b), np.linalg.det(a)), strict=True
    ):
        close(own, right, "float64")


@pytest.mark.parametrize("n", [2, 17])
def test_graphs_programs_and_machine_code_agree(n):
    def all_of_them(p, b):
        y = ops.cholesky(p)
        return [
            y,
            ops.inverse(p),
            ops.solve(p, b),
            ops.solve(p, b, adjoint=True),
            ops.triangular_solve(p, b),
            ops.triangular_solve(p, b, lower=False, adjoint=True),
            ops.cholesky_pullback(y, p),
            ops.det(p),
            *ops.slogdet(p),
        ]

    specs = [TensorSpec((3, n, n), np.dtype(float)), TensorSpec((3, n, 2), np.dtype(float))]
    graph, arrays = trace(all_of_them, specs).graph, [positive(3, n, n) / n, random(3, n, 2)]
    for run in (by_loops, by_machine):
        with settings(check=True, cache=False):
            found = run(graph, arrays)
        for own, wanted in zip(found, eager(graph, arrays), strict=True):
            np.testing.assert_allclose(own, wanted, rtol=1e-11, atol=1e-13)


LOSSES = {
    "cholesky": lambda a, b: tf.reduce_sum(b * tf.sin(tf.linalg.cholesky(a))),
    "solve": lambda a, b: tf.reduce_sum(tf.sin(tf.linalg.solve(a, b))),
    "solve, adjoint": lambda a, b: tf.reduce_sum(tf.sin(tf.linalg.solve(a, b[:, :, :1], adjoint=True))),
    "triangular": lambda a, b: tf.reduce_sum(tf.sin(tf.linalg.triangular_solve(a, b, lower=False))),
    "inverse": lambda a, b: tf.reduce_sum(b * tf.sin(tf.linalg.inv(a))),
    "determinant": lambda a, b: tf.reduce_sum(tf.sin(tf.linalg.det(a)) * b[:, 0, 0]),
    "its logarithm": lambda a, b: tf.reduce_sum(tf.linalg.logdet(a) ** 2 * b[:, 0, 0]),
}


@MODES
@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_to_second_order(mode, name):
    n = 3
    a, b, c = positive(5, n, n) / n, random(5, n, n, seed=3), random(5, n, n, seed=4)
    c, along, h = c + np.swapaxes(c, 1, 2), tf.constant(random(5, n, n, seed=5)), 1e-5
    loss = LOSSES[name]

    def first(a):
        return tf.reduce_sum(along * tf.grad(loss)(a, tf.constant(b)))

    for f in (lambda a: loss(a, tf.constant(b)), first):
        slope = (f(tf.constant(a + h * c)).item() - f(tf.constant(a - h * c)).item()) / (2 * h)
        assert np.sum(mode(tf.grad(f))(a).numpy() * c) == pytest.approx(slope, rel=1e-6, abs=1e-6)
        pushed = mode(lambda x, t, f=f: tf.jvp(f, [x], [t])[1])(a, c).item()
        assert pushed == pytest.approx(slope, rel=1e-6, abs=1e-6)


@MODES
def test_lanes_of_lanes(mode):
    a, b = positive(2, 3, 4, 4), random(2, 3, 4, 2)
    twice = lambda f: tf.vmap(tf.vmap(f))
    close(mode(twice(tf.linalg.cholesky))(a), np.linalg.cholesky(a), "float64")
    close(mode(twice(tf.linalg.solve))(a, b), np.linalg.solve(a, b), "float64")
    shared = mode(lambda a, b: tf.vmap(lambda y: tf.vmap(tf.linalg.solve)(a, y))(b))(a[0], b)
    close(shared, np.linalg.solve(a[:1], b), "float64")
    one = mode(lambda a, b: tf.vmap(lambda x: tf.linalg.solve(x, b))(a))(a[0], b[0, 0])
    close(one, np.linalg.solve(a[0], np.broadcast_to(b[0, 0], (3, 4, 2))), "float64")


@MODES
def test_dtypes_without_kernels_are_done_lane_by_lane(mode):
    a = (positive(3, 4, 4) + 1j * random(3, 4, 4)).astype(np.complex128)
    b = random(3, 4, 2).astype(np.complex128)
    close(mode(lambda a, b: tf.linalg.solve(a, b))(a, b), np.linalg.solve(a, b), "complex128")
    close(mode(lambda a: tf.linalg.det(a))(a), np.linalg.det(a), "complex128")


def test_small_matrices_are_done_in_lanes_and_large_ones_in_a_loop():
    factor = tf.function(lambda a: tf.linalg.cholesky(a))
    assert "cholesky_lanes(" in factor.loops(positive(5, 16, 16))
    assert "cholesky(" in factor.loops(positive(5, 17, 17))


@pytest.mark.parametrize("f", [tf.linalg.inv, tf.linalg.cholesky, lambda p: tf.linalg.solve(p, p)])
def test_which_matrix_failed(f):
    p = positive(11, 3, 3)
    p[7, :, 1] = p[7, 1] = 0
    with pytest.raises(RuntimeError, match=r": number 7 of the stack\n  at .*test_stacks_of_matrices"):
        f(p)
