"""Diagonals, bands and vector products: NumPy's values and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

X = np.random.default_rng(0).normal(size=(2, 3, 4))


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


def with_diagonal(x, k, value):
    found = x.copy()
    rows = np.arange(x.shape[-2])[:, None]
    found[..., np.arange(x.shape[-1]) - rows == k] = value
    return found


CASES = {
    "diag_part": (tf.linalg.diag_part, lambda x: np.diagonal(x, axis1=1, axis2=2)),
    "diag_part above": (lambda x: tf.linalg.diag_part(x, k=2), lambda x: np.diagonal(x, 2, 1, 2)),
    "diag_part below": (lambda x: tf.linalg.diag_part(x, k=-1), lambda x: np.diagonal(x, -1, 1, 2)),
    "diag": (lambda x: tf.linalg.diag(x[0, 0]), lambda x: np.diag(x[0, 0])),
    "diag above": (lambda x: tf.linalg.diag(x[0, 0], k=1), lambda x: np.diag(x[0, 0], 1)),
    "diag below": (lambda x: tf.linalg.diag(x[0, 0], k=-2), lambda x: np.diag(x[0, 0], -2)),
    "diag many": (lambda x: tf.linalg.diag(x[0]), lambda x: np.stack([np.diag(r) for r in x[0]])),
    "diag wide": (
        lambda x: tf.linalg.diag(x[0, 0], num_rows=4, num_cols=6, padding_value=7),
        lambda x: with_diagonal(np.full((4, 6), 7.0), 0, x[0, 0]),
    ),
    "set_diag": (
        lambda x: tf.linalg.set_diag(x, x[:, :, 0]),
        lambda x: np.stack([with_diagonal(m, 0, m[:, 0]) for m in x]),
    ),
    "set_diag above": (
        lambda x: tf.linalg.set_diag(x, np.zeros((2, 2)), k=2),
        lambda x: with_diagonal(x, 2, 0.0),
    ),
    "band": (lambda x: tf.linalg.band_part(x, 1, 1), lambda x: np.triu(np.tril(x, 1), -1)),
    "band lower": (lambda x: tf.linalg.band_part(x, -1, 0), np.tril),
    "band upper": (lambda x: tf.linalg.band_part(x, 0, -1), np.triu),
    "band all": (lambda x: tf.linalg.band_part(x, -1, -1), lambda x: x),
    "trace": (tf.linalg.trace, lambda x: np.trace(x, axis1=1, axis2=2)),
    "tensor_diag": (
        lambda x: tf.linalg.tensor_diag(x[0]),
        lambda x: np.diag(x[0].ravel()).reshape(3, 4, 3, 4),
    ),
    "tensor_diag_part": (
        lambda x: tf.linalg.tensor_diag_part(tf.linalg.tensor_diag(x[0]) * 2.0),
        lambda x: 2.0 * x[0],
    ),
    "cross": (
        lambda x: tf.linalg.cross(x[:, :, :3], x[:, :, 1:]),
        lambda x: np.cross(x[:, :, :3], x[:, :, 1:]),
    ),
    "adjoint": (tf.linalg.adjoint, lambda x: np.swapaxes(x, 1, 2)),
    "normalize": (
        lambda x: tf.linalg.normalize(x, axis=2)[0],
        lambda x: x / np.linalg.norm(x, axis=2, keepdims=True),
    ),
    "matvec": (
        lambda x: tf.linalg.matvec(x, x[:, :, 0], transpose_a=True),
        lambda x: np.einsum("bij,bi->bj", x, x[:, :, 0]),
    ),
    "norm 1": (lambda x: tf.norm(x, ord=1, axis=(1, 2)), lambda x: np.linalg.norm(x, 1, (1, 2))),
    "norm inf": (
        lambda x: tf.norm(x, ord=np.inf, axis=(-2, -1), keepdims=True),
        lambda x: np.linalg.norm(x, np.inf, (1, 2), keepdims=True),
    ),
    "norm fro": (lambda x: tf.norm(x, ord="fro", axis=[1, 2]), lambda x: np.linalg.norm(x, "fro", (1, 2))),
}


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_numpy(name, run):
    function, reference = CASES[name]
    found = run(function)(tf.constant(X))
    np.testing.assert_allclose(found.numpy(), reference(X), rtol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_gradients_agree_with_differences(name, run):
    function, reference = CASES[name]
    weights = np.random.default_rng(1).normal(size=np.shape(reference(X)))

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(weights * function(x))
        return tape.gradient(total, x)

    found, step = run(gradient)(tf.constant(X)).numpy(), 1e-6
    for place in [(0, 0, 0), (0, 1, 2), (1, 2, 1), (1, 0, 3), (0, 0, 2)]:
        up, down = X.copy(), X.copy()
        up[place] += step
        down[place] -= step
        slope = ((reference(up) - reference(down)) * weights).sum() / (2 * step)
        assert abs(found[place] - slope) < 1e-8


def test_adjoint_turns_the_sign_of_imaginary_parts():
    assert tf.linalg.adjoint([[1 + 2j, 3j]]).numpy().tolist() == [[1 - 2j], [-3j]]


def test_what_is_no_diagonal_is_refused():
    with pytest.raises(ValueError, match="no diagonal 5"):
        tf.linalg.diag_part(X, k=5)
    with pytest.raises(ValueError, match="is not the diagonal"):
        tf.linalg.diag([1.0, 2.0], num_rows=3, num_cols=3)
    with pytest.raises(ValueError, match="takes matrices"):
        tf.linalg.band_part([1.0], 0, 0)
    with pytest.raises(ValueError, match="three elements"):
        tf.linalg.cross([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"of matrices the norms 'fro'.* are known, not 3"):
        tf.norm(X, ord=3, axis=(1, 2))
