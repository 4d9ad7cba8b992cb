"""NumPy's names against NumPy: dtypes, options and errors that random arguments found to differ, and a generator."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp

A = np.arange(24.0).reshape(2, 3, 4)
INTS = np.array([[1, 2, 2], [-1, -2, -2]])
B = np.array([[True, False, True], [False, False, True]])
N = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, 2.0]])

SAME = {
    "average over (2, 0)": ("average", (A,), {"axis": (2, 0), "weights": A[:, 0].T.copy()}),
    "average over (0, 2)": ("average", (A,), {"axis": (0, -1), "weights": A[:, 0] + 1}),
    "average, returned": ("average", (A,), {"axis": (2, 1), "weights": A[0].T.copy(), "returned": True}),
    "mean in an integer dtype": ("mean", (INTS,), {"dtype": int}),
    "mean of rows in an integer dtype": ("mean", (INTS,), {"dtype": np.int8, "axis": 1}),
    "nanmean of integers": ("nanmean", (INTS,), {"dtype": int, "axis": 1}),
    "nanvar with too few": ("nanvar", (N,), {"axis": 1, "ddof": 1}),
    "nanvar with far too few": ("nanvar", (N,), {"axis": 1, "ddof": 5}),
    "nanstd with too few": ("nanstd", (N,), {"ddof": 3}),
    "var with too few": ("var", (N[0],), {"ddof": 5}),
    "std, complex": ("std", (A,), {"dtype": complex}),
    "diff, none": ("diff", (A,), {"n": 0, "append": 1}),
    "diff of a scalar, none": ("diff", (np.float64(2),), {"n": 0}),
    "linspace without numbers": ("linspace", ([1, 2], [3, 4], 0), {}),
    "linspace without numbers, last": ("linspace", ([1, 2], 3, 0), {"axis": -1, "dtype": int}),
    "linspace of small integers": ("linspace", (np.int8(1), np.int8(9), 3), {}),
    "logspace of vectors": ("logspace", ([1, 2], [3, 4], 0), {}),
    "geomspace of vectors": ("geomspace", ([1, 2], [8, 32], 3), {"axis": 1}),
    "geomspace of two signs": ("geomspace", (-1, 8, 5), {}),
    "geomspace below 0": ("geomspace", (-1, -8, 4), {"endpoint": False}),
    "geomspace without numbers": ("geomspace", (1, [3, 4], 0), {}),
    "arange of float32": ("arange", (np.float32(3),), {}),
    "arange of int8": ("arange", (np.int8(3),), {}),
    "sum in bool": ("sum", (INTS,), {"dtype": bool, "axis": 0}),
    "product in bool": ("prod", (INTS - 1,), {"dtype": bool, "axis": 1}),
    "sum with a fraction at first": ("sum", (INTS,), {"initial": 2.5}),
    "product with a fraction at first": ("prod", (INTS,), {"initial": 2.5}),
    "max with a fraction at first": ("max", (INTS,), {"initial": 2.5, "axis": 0}),
    "min of bools": ("min", (B,), {"initial": 1, "where": B, "axis": 1}),
    "median of nothing": ("median", (np.ones((2, 0)),), {"axis": 1}),
    "percentile that is an element": ("percentile", (INTS, 40), {"method": "lower", "axis": 1}),
    "quantile of float32": ("quantile", (np.float32(A), np.array([0.2, 0.7])), {"method": "nearest"}),
    "bincount of bools": ("bincount", (B[0],), {}),
    "bincount of nothing": ("bincount", (np.zeros(0, np.uint8),), {"minlength": 2}),
    "bincount with float32": ("bincount", ([0, 1, 1],), {"weights": np.float32([1, 2, 3])}),
    "covariances of float32": ("cov", (np.float32(A[0]),), {}),
    "correlations, complex": ("corrcoef", (A[0] * 1j + A[0].T.reshape(3, 4),), {}),
    "descending bins": ("digitize", ([[0, 2], [1, -3]], [2.0, 1.0, -1.0]), {}),
    "descending bins, right": ("digitize", ([[0, 2], [1, -3]], [2.0, 1.0, -1.0]), {"right": True}),
    "ascending bins, right": ("digitize", ([0, 2, 1], [-1, 1, 2]), {"right": True}),
    "reciprocal of integers": ("reciprocal", (np.array([1, -1, 2, -5]),), {}),
    "sinc of integers": ("sinc", (np.array([0, 1], np.int8),), {}),
    "angle of bools": ("angle", (B,), {}),
    "sign, complex": ("sign", (np.array([3 + 4j, 0, -2]),), {}),
    "exp2, complex": ("exp2", (np.array([1 + 1j]),), {}),
    "log2, complex": ("log2", (np.array([1 + 1j, -2]),), {}),
    "log10, complex": ("log10", (np.array([1 + 1j, -2]),), {}),
    "rint, complex": ("rint", (np.array([1.5 + 2.5j]),), {}),
    "conjugate of bools": ("conj", (B,), {}),
    "floor_divide of bools": ("floor_divide", (B, True), {}),
    "power of bools": ("power", (B, B), {}),
    "hypot of small integers": ("hypot", (np.array([3], np.int8), np.array([4], np.uint8)), {}),
    "hypot with a number": ("hypot", (np.array([3], np.int8), 4.0), {}),
    "arctan2 with a negative number": ("arctan2", (-1, np.array([3], np.uint8)), {}),
    "matmul of bools": ("matmul", (B, B.T), {}),
    "dot of bools": ("dot", (B[0], B[1]), {}),
    "tensordot of bools": ("tensordot", (B, B), {}),
    "einsum of bools": ("einsum", ("ij,kj->ik", B, B), {}),
    "einsum of numbered axes": ("einsum", (A, [0, 1, 2], A[0], [1, 2], [0]), {}),
    "einsum of numbered axes, implicit": ("einsum", (A[0], [1, 0]), {}),
    "einsum of leading axes": ("einsum", (A, [Ellipsis, 0], [0, Ellipsis]), {}),
    "insert at a slice": ("insert", (A[0], slice(0, 2), [5, 6]), {"axis": 1}),
    "take, wrapped": ("take", (A, [5, -7]), {"axis": 2, "mode": "wrap"}),
    "take, clipped": ("take", (A, [5, -7]), {"axis": 1, "mode": "clip"}),
    "take nothing": ("take", (A, []), {"axis": 1}),
    "take one": ("take", (A[0], 2), {"axis": -1}),
    "unique in a row": ("unique", (INTS,), {"axis": None, "return_counts": True}),
    "roll along none": ("roll", (A, 1, ()), {}),
    "division of small integers": ("divide", (np.array([3], np.int8), np.array([2], np.int8)), {}),
}

REFUSED = {
    "powers that are no integers": ("power", (np.array([2, 3]), -1), {}),
    "nanmean of floats as integers": ("nanmean", (N,), {"dtype": int}),
    "only NaN": ("nanargmax", (N,), {"axis": 0}),
    "only NaN, least": ("nanargmin", (N[1, :2],), {}),
    "geomspace from 0": ("geomspace", (0, 8), {}),
    "angles of complex numbers": ("degrees", (np.array([1j]),), {}),
    "fabs of complex numbers": ("fabs", (np.array([1j]),), {}),
    "infinities of complex numbers": ("isposinf", (np.array([1j]),), {}),
    "joined with loss": ("concatenate", ([A[0], A[1]],), {"dtype": int}),
    "vsplit of a vector": ("vsplit", (A[0, 0], 2), {}),
    "a start that is no uint8": ("max", (np.array([1], np.uint8),), {"initial": -3}),
    "weights of another shape": ("average", (A,), {"axis": (2, 0), "weights": A[:, 0]}),
}


def pieces(x):
    return [np.asarray(v) for v in (x if isinstance(x, (tuple, list)) else [x])]


def modes(name, args, kwargs):
    """The function eagerly, in a compiled one, and with traced arrays where they may be traced."""
    f = getattr(tnp, name)
    yield lambda: f(*args, **kwargs)
    yield lambda: tf.function(lambda: f(*args, **kwargs))()


@pytest.mark.parametrize(("name", "args", "kwargs"), SAME.values(), ids=SAME)
@pytest.mark.filterwarnings("ignore")
def test_values_and_dtypes_are_those_of_numpy(name, args, kwargs):
    expected = pieces(getattr(np, name)(*args, **kwargs))
    for call in modes(name, args, kwargs):
        for found, wanted in zip(pieces(call()), expected, strict=True):
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
            np.testing.assert_allclose(
                found, wanted, rtol=1e-3 if wanted.dtype == np.float16 else 1e-6, atol=1e-9
            )


@pytest.mark.parametrize(("name", "args", "kwargs"), REFUSED.values(), ids=REFUSED)
def test_what_numpy_refuses_is_refused(name, args, kwargs):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        getattr(np, name)(*args, **kwargs)
    for call in modes(name, args, kwargs):
        with pytest.raises((TypeError, ValueError), match=r"test_numpy_rules\.py"):
            call()


def test_only_nan_is_refused_when_the_compiled_function_runs():
    find = tf.function(lambda x: tnp.nanargmax(x, 0))
    assert find(N[:, 0]).numpy() == 0
    with pytest.raises(ValueError, match="NaN"):
        find(N[:, 1])


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_derivatives_of_what_was_mended(mode):
    weights = A[:, 0].T.copy() + 1
    slope = mode(tf.grad(lambda x: tnp.sum(tnp.average(x, axis=(2, 0), weights=weights))))(A)
    share = weights.T / weights.sum()
    np.testing.assert_allclose(slope.numpy(), np.broadcast_to(share[:, None, :], A.shape), rtol=1e-12)
    for scalar in (2.0, np.array([2.0]), np.array([[2.0], [3.0]])):
        axis = -1 if np.ndim(scalar) else None
        slope = mode(tf.grad(lambda x, axis=axis: tnp.sum(tnp.std(x, axis=axis))))(scalar)
        np.testing.assert_array_equal(slope.numpy(), np.zeros(np.shape(scalar)))
    slope = mode(tf.grad(lambda x: tnp.nanvar(x, ddof=1)))(np.array([1.0, np.nan, 4.0]))
    np.testing.assert_allclose(slope.numpy(), [-3.0, 0.0, 3.0])
    slope = mode(tf.grad(lambda x: tnp.einsum(x, [0], x, [0])))(A[0, 0])
    np.testing.assert_allclose(slope.numpy(), 2 * A[0, 0])
    slope = mode(tf.grad(lambda x: tnp.sum(tnp.take(x, [5, -7], mode="wrap") ** 2)))(A[0, 0])
    np.testing.assert_allclose(slope.numpy(), [0.0, 4.0, 0.0, 0.0])
    slope = mode(tf.grad(lambda x: tnp.sum(tnp.geomspace(x, 8.0, 4))))(1.0)
    np.testing.assert_allclose(slope.numpy(), 1 + 2 * 2 / 3 + 4 / 3, rtol=1e-6)


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_arrays_of_rank_0_are_indices_and_methods_count(mode):
    x = tf.constant(A[0])
    np.testing.assert_array_equal(mode(lambda x: x[np.array(1)])(x).numpy(), A[0, 1])
    np.testing.assert_array_equal(mode(lambda x: x[:, np.array(-1)])(x).numpy(), A[0, :, -1])
    assert mode(lambda x: x[np.array(0), np.array(2)])(x).numpy() == 2.0
    slope = mode(tf.grad(lambda x: x[np.array(0), np.array(2)] ** 2))(x)
    assert slope.numpy()[0, 2] == 4.0 and np.count_nonzero(slope.numpy()) == 1
    count = mode(lambda x: (x > 3.0).sum())(x)
    assert count.numpy() == 8 and count.dtype == np.int64
    np.testing.assert_array_equal(
        mode(lambda x: (x > 3.0).sum(axis=0, keepdims=True))(x).numpy(), [[2, 2, 2, 2]]
    )
    assert mode(lambda x: tf.cast(x, tf.uint8).sum())(x).dtype == np.uint64
    slope = mode(tf.grad(lambda x: (x > 3.0).sum() * tf.reduce_sum(x)))(x)
    np.testing.assert_array_equal(slope.numpy(), np.full((3, 4), 8.0))


def test_a_scalar_has_no_triangles():
    for triangle in (tnp.tril, tnp.triu):
        with pytest.raises(tf.ShapeError, match=r"a scalar, float64\[\], has no triangles\n"):
            triangle(1.0)
