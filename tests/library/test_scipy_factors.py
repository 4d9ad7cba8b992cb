"""``tracejit.scipy.linalg``: factors and matrices of a pattern against SciPy, derivatives, eager and compiled."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp
from tracejit.scipy import linalg

scipy_linalg = pytest.importorskip("scipy.linalg")

RANDOM = np.random.RandomState(3)
SQUARE, TALL, WIDE = RANDOM.randn(4, 4), RANDOM.randn(5, 3), RANDOM.randn(3, 5)
COMPLEX = SQUARE + 1j * RANDOM.randn(4, 4)
C, R = np.array([1.0, -2.0, 3.0]), np.array([9.0, 0.5, 0.25, 4.0])
SYMMETRIC = SQUARE + SQUARE.T + 8.0 * np.eye(4)

modes = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])

CASES = [
    *((name, (a,), {}) for name in ("lu", "lu_factor", "svdvals") for a in (SQUARE, TALL, WIDE, COMPLEX)),
    *(("lu", (a,), {"permute_l": True}) for a in (TALL, COMPLEX)),
    *(("lu", (a,), {"p_indices": True}) for a in (SQUARE, TALL)),
    ("lu", (np.stack([SQUARE, SYMMETRIC]),), {}),
    ("lu", (np.zeros((2, 2)),), {}),
    ("lu", (np.arange(6).reshape(2, 3),), {}),
    *(("lu_solve", (SQUARE, b), {"trans": t}) for b in (SQUARE[:, 0], TALL[:4]) for t in (0, 1)),
    *(("lu_solve", (COMPLEX, TALL[:4]), {"trans": t}) for t in (0, 1, 2)),
    *(("polar", (a,), {"side": side}) for a in (SQUARE, TALL, WIDE, COMPLEX) for side in ("left", "right")),
    ("expm_frechet", (SQUARE, SYMMETRIC), {}),
    ("eigvalsh", (SYMMETRIC,), {}),
    ("eigh", (SYMMETRIC + 1j * np.triu(SQUARE, 1),), {"lower": False, "eigvals_only": True}),
    ("svd", (TALL,), {"compute_uv": False}),
    ("toeplitz", (C,), {}),
    ("toeplitz", (C, R), {}),
    ("toeplitz", (COMPLEX[0],), {}),
    ("hankel", (C,), {}),
    ("hankel", (C, R), {}),
    ("circulant", (C,), {}),
    ("companion", (R,), {}),
    ("leslie", (R, C), {}),
    *(("convolution_matrix", (C,), {"n": n, "mode": m}) for n in (1, 2, 3, 5) for m in ("full", "same", "valid")),
]


def _leaves(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _by_scipy(name, arguments, keywords):
    if name == "lu_solve":
        return scipy_linalg.lu_solve(scipy_linalg.lu_factor(arguments[0]), arguments[1], **keywords)
    return getattr(scipy_linalg, name)(*arguments, **keywords)


def _called(name, keywords):
    if name == "lu_solve":
        return lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, **keywords)
    return lambda *a: getattr(linalg, name)(*a, **keywords)


@modes
@pytest.mark.parametrize(("name", "arguments", "keywords"), CASES)
def test_values_and_dtypes(name, arguments, keywords, mode):
    found = _leaves(mode(_called(name, keywords))(*arguments))
    wanted = _leaves(_by_scipy(name, arguments, keywords))
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)
        assert x.dtype.kind == np.asarray(y).dtype.kind


@pytest.mark.parametrize("name", ["hilbert", "hadamard", "dft"])
def test_matrices_that_are_known(name):
    for n in (1, 2, 4):
        np.testing.assert_allclose(getattr(linalg, name)(n), getattr(scipy_linalg, name)(n), atol=1e-14)
    np.testing.assert_allclose(linalg.dft(3, "sqrtn"), scipy_linalg.dft(3, "sqrtn"), atol=1e-14)


@modes
@pytest.mark.parametrize("how", ["full", "economic", "r"])
def test_orthonormal_columns(how, mode):
    for a in (SQUARE, TALL, WIDE):
        found = mode(lambda a: linalg.qr(a, mode=how))(a)
        assert [x.shape for x in found] == [x.shape for x in _leaves(scipy_linalg.qr(a, mode=how))]
        if how != "r":
            np.testing.assert_allclose(found[0] @ found[1], a, atol=1e-12)
            np.testing.assert_allclose(tnp.swapaxes(found[0], 0, 1) @ found[0], np.eye(found[0].shape[1]), atol=1e-12)
        else:
            np.testing.assert_allclose(np.abs(found[0]), np.abs(scipy_linalg.qr(a, mode="r")[0]), atol=1e-12)


@modes
@pytest.mark.parametrize("how", ["full", "economic", "r"])
def test_columns_by_what_is_left_of_them(how, mode):
    of_rank_2 = TALL[:, :2] @ TALL[:2, :2].T @ np.arange(1.0, 7.0).reshape(2, 3)
    for a in (SQUARE, TALL, WIDE, COMPLEX, of_rank_2, np.zeros((2, 3)), np.zeros((0, 3)), TALL.astype(np.float32)):
        found = mode(lambda a: linalg.qr(a, mode=how, pivoting=True))(a)
        wanted = scipy_linalg.qr(a, mode=how, pivoting=True)
        assert [(x.shape, x.dtype) for x in found] == [(x.shape, x.dtype) for x in wanted]
        near = 1e-5 if a.dtype == np.float32 else 1e-12
        np.testing.assert_array_equal(found[-1], wanted[-1])
        np.testing.assert_allclose(np.abs(found[-2]), np.abs(wanted[-2]), atol=near)
        if how != "r":
            np.testing.assert_allclose(found[0] @ found[1], a[:, wanted[-1]], atol=near)
    stack = np.stack([SQUARE, SYMMETRIC])
    factors = lambda a: linalg.qr(a, mode=how, pivoting=True)
    for x, y in zip(factors(stack), tf.vmap(factors)(stack), strict=True):
        np.testing.assert_array_equal(x, y)
        assert x.shape[0] == 2


@modes
def test_columns_that_are_not_finite(mode):
    q, r, order = mode(lambda a: linalg.qr(a, pivoting=True))(np.array([[1.0, np.nan], [2.0, 0.0]]))
    assert np.isnan(q).all() and np.isnan(r[0]).any() and sorted(order.numpy()) == [0, 1]


def test_vectors_of_values():
    u, s, vh = linalg.svd(TALL)
    np.testing.assert_allclose(u[:, :3] @ (s[:, None] * vh), TALL, atol=1e-12)
    assert u.shape == (5, 5)
    values, vectors = linalg.eigh(SYMMETRIC)
    np.testing.assert_allclose(SYMMETRIC @ vectors, vectors * values, atol=1e-11)


def _pivoted(a):
    return linalg.qr(a, mode="economic", pivoting=True)


DIFFERENTIATED = {
    "lu": (lambda a: sum(tf.reduce_sum(tf.sin(x)) for x in linalg.lu(a)[1:]), (TALL,)),
    "lu of stacks": (
        lambda a: tf.reduce_sum(tf.sin(linalg.lu(a, permute_l=True)[0])),
        (np.stack([SQUARE, SYMMETRIC]),),
    ),
    "lu of complex stacks": (
        lambda a: sum(
            tf.reduce_sum(tf.sin(tf.math.real(x)) * tf.cos(tf.math.imag(x)))
            for x in linalg.lu(tf.complex(a, a[:, ::-1] / 2.0))[1:]
        ),
        (np.stack([SQUARE, SYMMETRIC / 4.0]),),
    ),
    **{
        f"lu_solve {trans}": (
            lambda a, b, trans=trans: tf.reduce_sum(tf.sin(linalg.lu_solve(linalg.lu_factor(a), b, trans))),
            (SQUARE, TALL[:4]),
        )
        for trans in (0, 1)
    },
    "polar": (lambda a: sum(tf.reduce_sum(tf.sin(x)) for x in linalg.polar(a)), (TALL,)),
    "polar of equal values": (lambda a: tf.reduce_sum(tf.sin(linalg.polar(a, "left")[0])), (2.0 * np.eye(3),)),
    "expm_frechet": (lambda a, e: tf.reduce_sum(tf.sin(linalg.expm_frechet(a, e)[1])), (SQUARE / 4, SYMMETRIC / 9)),
    "R of QR": (lambda a: tf.reduce_sum(tf.sin(linalg.qr(a, mode="r")[0])), (TALL,)),
    "QR by columns": (lambda a: sum(tf.reduce_sum(tf.sin(x)) for x in _pivoted(a)[:2]), (TALL,)),
    "R of a wide matrix": (lambda a: tf.reduce_sum(tf.sin(_pivoted(a)[1])), (WIDE,)),
    "toeplitz": (lambda c, r: tf.reduce_sum(tf.sin(linalg.toeplitz(c, r)) ** 2), (C, R)),
    "hankel": (lambda c, r: tf.reduce_sum(tf.sin(linalg.hankel(c, r)) ** 2), (C, R)),
    "circulant": (lambda c: tf.reduce_sum(tf.sin(linalg.circulant(c)) ** 2), (C,)),
    "companion": (lambda c: tf.reduce_sum(tf.sin(linalg.companion(c))), (R,)),
    "leslie": (lambda f, s: tf.reduce_sum(tf.sin(linalg.leslie(f, s)) ** 2), (R, C)),
    "convolution_matrix": (lambda a: tf.reduce_sum(tf.sin(linalg.convolution_matrix(a, 4, "same")) ** 2), (C,)),
    "tensorsolve": (
        lambda a, b: tf.reduce_sum(tf.sin(tnp.linalg.tensorsolve(a, b))),
        (SQUARE.reshape(2, 2, 4), TALL[:2, :2]),
    ),
    "tensorinv": (lambda a: tf.reduce_sum(tf.sin(tnp.linalg.tensorinv(a))), (SQUARE.reshape(2, 2, 4),)),
    "solve of what is positive": (
        lambda a, b: tf.reduce_sum(tf.sin(linalg.solve(a, b, assume_a="pos"))),
        (SYMMETRIC, TALL[:4]),
    ),
}


@modes
@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_derivatives_of_first_and_second_order(name, mode):
    loss, given = DIFFERENTIATED[name]
    ways = [np.cos(1.0 + np.arange(x.size)).reshape(x.shape) for x in given]
    numbers = tuple(range(len(given)))

    def slope(*xs):
        return sum(tf.reduce_sum(g * w) for g, w in zip(tf.grad(loss, argnums=numbers)(*xs), ways, strict=True))

    for f in (loss, slope):
        ends = [np.asarray(f(*(x + s * w for x, w in zip(given, ways, strict=True)))) for s in (1e-5, -1e-5)]
        wanted = (ends[0] - ends[1]) / 2e-5
        back = mode(tf.grad(f, argnums=numbers))(*given)
        found = sum(np.sum(np.asarray(g) * w) for g, w in zip(back, ways, strict=True))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)
        pushed = mode(lambda *xs, f=f: tf.jvp(f, xs, tuple(tf.constant(w) for w in ways))[1])(*given)
        np.testing.assert_allclose(pushed, wanted, rtol=1e-5, atol=1e-7)


def test_each_of_a_stack_by_itself():
    for stack in (np.stack([SQUARE, SYMMETRIC, SQUARE.T]), np.stack([COMPLEX, COMPLEX.T])):
        found = tf.vmap(lambda a: linalg.lu(a))(stack)
        alone = [linalg.lu(a) for a in stack]
        for x, y, z in zip(found, linalg.lu(stack), zip(*alone, strict=True), strict=True):
            np.testing.assert_array_equal(x, y)
            np.testing.assert_array_equal(x, np.stack(z))


@modes
def test_tensors_as_matrices(mode):
    a = RANDOM.randn(2, 3, 6)
    b = RANDOM.randn(2, 3)
    np.testing.assert_allclose(mode(tnp.linalg.tensorsolve)(a, b), np.linalg.tensorsolve(a, b))
    turned = RANDOM.randn(2, 6, 3)
    solve = mode(lambda a, b: tnp.linalg.tensorsolve(a, b, axes=(1,)))
    np.testing.assert_allclose(solve(turned, b), np.linalg.tensorsolve(turned, b, axes=(1,)))
    for ind in (1, 2):
        x = a if ind == 2 else RANDOM.randn(6, 2, 3)
        np.testing.assert_allclose(mode(lambda x, i=ind: tnp.linalg.tensorinv(x, i))(x), np.linalg.tensorinv(x, ind))


def test_what_does_not_fit_is_refused():
    for call, error in (
        (lambda: tnp.linalg.tensorsolve(np.ones((2, 3, 5)), np.ones((2, 3))), tf.errors.ShapeError),
        (lambda: tnp.linalg.tensorsolve(np.ones((2, 3, 6)), np.ones(3)), tf.errors.ShapeError),
        (lambda: tnp.linalg.tensorinv(np.ones((2, 3, 5))), tf.errors.ShapeError),
        (lambda: tnp.linalg.tensorinv(np.ones((2, 2)), 0), ValueError),
        (lambda: linalg.lu(np.ones(3)), tf.errors.ShapeError),
        (lambda: linalg.lu_solve(linalg.lu_factor(SQUARE), np.ones(3)), tf.errors.ShapeError),
        (lambda: linalg.lu_solve(linalg.lu_factor(SQUARE), np.ones(4), 3), ValueError),
        (lambda: linalg.lu_solve(linalg.lu_factor(np.ones((2, 2))), np.ones(2)), RuntimeError),
        (lambda: tf.grad(lambda a: tf.reduce_sum(linalg.lu(a)[2]))(np.zeros((2, 2))), RuntimeError),
        (lambda: tf.grad(lambda a: tf.reduce_sum(linalg.qr(a)[0]))(TALL), tf.errors.GradientError),
        (lambda: linalg.polar(SQUARE, "up"), ValueError),
        (lambda: linalg.polar(np.ones((2, 2))), RuntimeError),
        (lambda: linalg.qr(SQUARE, mode="raw"), ValueError),
        (lambda: linalg.solve(SQUARE, C, assume_a="tridiagonal"), ValueError),
        (lambda: linalg.companion([1.0]), tf.errors.ShapeError),
        (lambda: linalg.leslie(C, R), tf.errors.ShapeError),
        (lambda: linalg.convolution_matrix(C, 0), ValueError),
        *((lambda f=f: f(TALL), tf.errors.ShapeError) for f in (linalg.circulant, linalg.toeplitz, linalg.hankel)),
        (lambda: linalg.toeplitz(["a"], C), tf.errors.DtypeError),
        (lambda: linalg.hankel(["a"], C), tf.errors.DtypeError),
        (lambda: linalg.hilbert(-1), ValueError),
        (lambda: linalg.hadamard(3), ValueError),
        (lambda: linalg.dft(3, "m"), ValueError),
        (lambda: linalg.expm_frechet(SQUARE, TALL), tf.errors.ShapeError),
    ):
        with pytest.raises(error):
            call()
