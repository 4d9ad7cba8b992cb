"""First and second derivatives of functions that are written with other ops, against differences, in both modes."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tracejit as tf

POINT = np.array([0.9, -0.7, 0.4, 1.2, 0.3, -1.1, -0.2, 0.8, 1.5])
ALONG = np.cos(np.arange(9.0))


def square(v):
    """A matrix of which all determinants are far from 0."""
    return tf.reshape(v, (3, 3)) + 2.0 * tf.eye(3, dtype=tf.float64)


def definite(v):
    a = tf.reshape(v, (3, 3))
    return tf.matmul(a, a, transpose_b=True) + tf.eye(3, dtype=tf.float64)


#: Of nine numbers, away from kinks; each gives tensors whose squares are added up.
FUNCTIONS = {
    "slice": lambda v: tf.slice(v, [tf.argmax(v)], [1]) * v,
    "strided_slice": lambda v: tf.strided_slice(v, [8], [1], [-3]) ** 2,
    "gather_nd": lambda v: tf.gather_nd(tf.reshape(v, (3, 3)), [[0, 1], [2, 2], [0, 1]]) ** 2,
    "scatter_nd": lambda v: tf.scatter_nd([[0], [2], [0]], v[:3] ** 2, [3]),
    "update": lambda v: tf.tensor_scatter_nd_update(v**2, [[0], [0], [4]], v[:3] ** 3),
    "maximum": lambda v: tf.tensor_scatter_nd_max(v**2, [[0], [0], [4]], v[5:8] ** 2),
    "boolean_mask": lambda v: tf.boolean_mask(tf.reshape(v**2, (3, 3)), [True, False, True]),
    "segment_mean": lambda v: tf.math.unsorted_segment_mean(v**2, [0, 1, 0, 0, -1, 1, 2, 2, 2], 4),
    "segment_sqrt_n": lambda v: tf.math.unsorted_segment_sqrt_n(v**2, [0, 1, 0, 0, -1, 1, 2, 2, 2], 4),
    "segment_max": lambda v: tf.math.unsorted_segment_max(v**2, [0, 1, 0, 0, -1, 1, 2, 2, 2], 3),
    "bincount": lambda v: tf.math.bincount(tf.constant([0, 2, 2]), v[:3] ** 2, 3, 3),
    "diag_part": lambda v: tf.linalg.diag_part(tf.reshape(v**2, (3, 3)), k=-1),
    "set_diag": lambda v: tf.linalg.set_diag(tf.reshape(v**2, (3, 3)), v[:3] ** 3),
    "band_part": lambda v: tf.linalg.band_part(tf.reshape(v**2, (3, 3)), 0, 1),
    "cross": lambda v: tf.linalg.cross(v[:3], v[3:6] * v[6:]),
    "einsum": lambda v: tf.einsum("...i,...j->...", tf.reshape(v, (1, 9)), tf.reshape(v, (3, 3))),
    "einsum, diagonal": lambda v: tf.einsum("ii->i", tf.reshape(v**2, (3, 3))),
    "tensordot": lambda v: tf.tensordot(tf.reshape(v, (3, 3)), tf.reshape(v, (3, 3)), [[0], [1]]),
    "norm": lambda v: tf.norm(tf.reshape(v, (3, 3)), 3, axis=1),
    "norm of matrices": lambda v: tf.norm(tf.reshape(v, (3, 3)), 1, axis=(0, 1)) * v[0],
    "normalize": lambda v: tf.linalg.normalize(tf.reshape(v, (3, 3)), axis=0)[0] * v[:3],
    "inv": lambda v: tf.linalg.inv(square(v)),
    "solve": lambda v: tf.linalg.solve(square(v), tf.reshape(v, (3, 3, 1))),
    "solve, adjoint": lambda v: tf.linalg.solve(square(v), tf.reshape(v**2, (3, 3)), adjoint=True),
    "triangular_solve": lambda v: tf.linalg.triangular_solve(square(v), tf.reshape(v, (3, 3)), lower=False),
    "det": lambda v: tf.linalg.det(square(v)),
    "logdet": lambda v: tf.linalg.logdet(definite(v)) * v[0],
    "cholesky": lambda v: tf.linalg.cholesky(definite(v)),
    "cholesky_solve": lambda v: tf.linalg.cholesky_solve(square(v), tf.reshape(v, (3, 3))),
    "lstsq": lambda v: tf.linalg.lstsq(
        tf.reshape(v[:6], (3, 2)), tf.reshape(v[6:], (3, 1)), l2_regularizer=0.1
    ),
    "cumprod": lambda v: tf.math.cumprod(v, exclusive=True, reverse=True),
    "cumulative_logsumexp": lambda v: tf.math.cumulative_logsumexp(v, exclusive=True)[1:],
    "sort": lambda v: tf.sort(v, direction="DESCENDING")[:4] * v[:4],
    "top_k": lambda v: tf.math.top_k(v**2, 3).values,
}


def differences(f, step=1e-5):
    """The gradient of a function of nine numbers, by central differences of the fourth order."""
    return np.array(
        [
            (8 * (f(POINT + e) - f(POINT - e)) - (f(POINT + 2 * e) - f(POINT - 2 * e))) / (12 * step)
            for e in step * np.eye(9)
        ]
    )


def losses(name):
    """The function as one number, and its gradient along a direction as another."""

    def loss(v):
        return tf.reduce_sum(FUNCTIONS[name](v) ** 2)

    return loss, lambda v: tf.reduce_sum(tf.grad(loss)(v) * ALONG)


@functools.cache
def wanted(name):
    return [differences(lambda v, f=f: float(f(v))) for f in losses(name)]


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_differences(name, mode):
    for f, expected in zip(losses(name), wanted(name), strict=True):
        np.testing.assert_allclose(mode(tf.grad(f))(POINT), expected, rtol=1e-7, atol=1e-7)


NORMS = {
    "norm": tf.norm,
    "norm of complex numbers": lambda v: tf.norm(tf.complex(v[:4], v[4:8])),
    "norms of rows": lambda v: tf.numpy.linalg.norm(tf.reshape(v, (3, 3)), axis=1),
    "fro": lambda v: tf.norm(tf.reshape(v, (3, 3)), ord="fro", axis=(0, 1)),
    "matrix_norm": lambda v: tf.numpy.linalg.matrix_norm(tf.reshape(v, (3, 3))),
    "reduce_euclidean_norm": lambda v: tf.math.reduce_euclidean_norm(tf.reshape(v, (3, 3)), axis=0),
    "residuals": lambda v: tf.numpy.linalg.lstsq(np.eye(6)[:, :4] + np.eye(6)[:, 2:], v[:6]).residuals,
}


@pytest.mark.parametrize("name", NORMS)
def test_norms_bend_where_an_element_is_0(name):
    """What ``abs`` has no second derivative for."""
    x, f = np.array([0.0, 3.0, -4.0, 1.0, 0.0, 0.0, 2.0, 0.0, -1.0]), NORMS[name]

    def along(v):
        return tf.reduce_sum(tf.grad(lambda v: tf.reduce_sum(f(v)))(v) * ALONG)

    wanted = [
        (8 * (along(x + e) - along(x - e)) - (along(x + 2 * e) - along(x - 2 * e))).item() / (12 * 1e-4)
        for e in 1e-4 * np.eye(9)
    ]
    np.testing.assert_allclose(tf.grad(along)(x), wanted, rtol=1e-7, atol=1e-7)
