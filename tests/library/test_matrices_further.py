"""Least squares and systems by a factor: NumPy's values, derivatives, what has no answer."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

RANDOM = np.random.default_rng(0)


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (2, 5, 3)])
def test_least_squares(shape, run):
    a, b = RANDOM.normal(size=shape), RANDOM.normal(size=(*shape[:-1], 2))
    found = run(lambda a, b: tf.linalg.lstsq(a, b))(tf.constant(a), tf.constant(b)).numpy()
    np.testing.assert_allclose(found, np.linalg.pinv(a) @ b, rtol=1e-8)


def test_least_squares_with_a_penalty_and_their_gradient(run):
    a, b = RANDOM.normal(size=(5, 3)), RANDOM.normal(size=(5, 1))

    def solution(a):
        return np.linalg.solve(a.T @ a + 0.5 * np.eye(3), a.T @ b)

    def gradient(a):
        with tf.GradientTape() as tape:
            tape.watch(a)
            x = tf.linalg.lstsq(a, b, l2_regularizer=0.5)
        return x, tape.gradient(x, a)

    x, found = run(gradient)(tf.constant(a))
    np.testing.assert_allclose(x.numpy(), solution(a), rtol=1e-9)
    for place in ((0, 0), (3, 2), (4, 1)):
        up, down = a.copy(), a.copy()
        up[place] += 1e-6
        down[place] -= 1e-6
        slope = (solution(up) - solution(down)).sum() / 2e-6
        assert abs(found.numpy()[place] - slope) < 1e-7


def test_matrices_without_full_rank_are_refused(run):
    with pytest.raises(RuntimeError, match="not positive definite"):
        run(lambda a: tf.linalg.lstsq(a, tf.ones((2, 1))))(tf.zeros((2, 2)))


def test_systems_by_their_factor_and_named_results(run):
    a = RANDOM.normal(size=(3, 3))
    a = a @ a.T + np.eye(3)
    b = RANDOM.normal(size=(3, 2))
    found = run(lambda a, b: tf.linalg.cholesky_solve(tf.linalg.cholesky(a), b))(
        tf.constant(a), tf.constant(b)
    )
    np.testing.assert_allclose(found.numpy(), np.linalg.solve(a, b), rtol=1e-9)
    both = run(lambda a: tf.linalg.slogdet(a))(tf.constant(a))
    assert both.sign.item() == 1.0
    np.testing.assert_allclose(both.log_abs_determinant.numpy(), np.linalg.slogdet(a)[1], rtol=1e-12)


def test_a_tolerance_of_ranks_broadcasts_to_the_singular_values():
    one = tf.linalg.diag([0.1, 0.2, 0.3])
    assert tf.linalg.matrix_rank(one, tol=[[0.09], [0.19], [0.29], [0.31]]).numpy().tolist() == [3, 2, 1, 0]
    assert tf.linalg.matrix_rank(tf.stack([one, one]), tol=[[0.09], [0.19]]).numpy().tolist() == [3, 2]
    assert tf.function(tf.linalg.matrix_rank)(tf.stack([one, 10.0 * one]), 0.25).numpy().tolist() == [1, 3]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("bounds", [{}, {"minlength": 6}, {"maxlength": 3}, {"minlength": 4, "maxlength": 4}])
def test_counting_row_by_row(bounds, compiled):
    rows = tf.constant([[[1, 1, 2], [0, 0, 1]], [[3, 3, 3], [2, 0, 2]]])
    weights = tf.constant(np.arange(12.0).reshape(2, 2, 3))
    size = min(max(4, bounds.get("minlength", 0)), bounds.get("maxlength", 9))

    def count(**keywords):
        def f(x):
            return tf.math.bincount(x, **keywords, **bounds)

        return (tf.function(f) if compiled else f)(rows).numpy()

    def counts_of(row, weight=None):
        kept = row < size
        return np.bincount(row[kept], None if weight is None else weight[kept], minlength=size)

    wanted = np.array([[counts_of(row) for row in pair] for pair in rows.numpy()])
    np.testing.assert_array_equal(count(axis=-1), wanted)
    np.testing.assert_array_equal(count(axis=-1, binary_output=True), wanted > 0)
    np.testing.assert_array_equal(count(axis=0), wanted.sum((0, 1)))
    sums = [[counts_of(rows.numpy()[i, j], weights.numpy()[i, j]) for j in (0, 1)] for i in (0, 1)]
    np.testing.assert_array_equal(count(axis=-1, weights=weights), sums)


def test_counting_refuses_what_it_cannot_count():
    with pytest.raises(IndexError):
        tf.math.bincount([[0, -1], [1, 1]], axis=-1)
    for wrong in ({"axis": 1}, {"weights": [1.0], "binary_output": True}):
        with pytest.raises(ValueError, match="bincount takes axis=-1 or 0"):
            tf.math.bincount([1], **wrong)


def test_complex_rows_of_norm_one():
    x = tf.constant([[3 + 4j, 0j], [0j, 0j]])
    assert tf.nn.l2_normalize(x, axis=1).numpy().tolist() == [[pytest.approx(0.6 + 0.8j), 0], [0, 0]]


@pytest.mark.parametrize("compiled", [False, True])
def test_ranks_of_a_stack_by_what_rounding_leaves(compiled):
    full = np.diag([3.0, 1e-3, 2.0])
    x = np.stack([full, full * [[1], [0], [1]], np.ones((3, 3)), np.zeros((3, 3))]).astype("float32")
    rank = tf.function(tf.linalg.matrix_rank) if compiled else tf.linalg.matrix_rank
    assert rank(tf.constant(x)).numpy().tolist() == [3, 2, 1, 0]
    assert rank(tf.constant(x[:2, :2])).numpy().tolist() == [2, 1]


@pytest.mark.parametrize("compiled", [False, True])
def test_the_diagonal_of_nothing(compiled):
    part = tf.function(tf.linalg.tensor_diag_part) if compiled else tf.linalg.tensor_diag_part
    assert part(tf.zeros((0, 0))).shape == (0,) and part(tf.zeros((2, 0, 2, 0))).shape == (2, 0)
