"""``tracejit.numpy`` against NumPy: arguments that few programs give, `vectorize`, and methods of tensors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp
from checks.numpy_expressions import MODES, VALUES, expressions, require_numpys_value, require_slopes

F, V, X, B = (VALUES[name] for name in "FVMB")
X4 = np.array([[0.31, -0.42, 0.93, 0.55], [0.87, 0.16, -0.74, 1.21]])

TEXTS = """
@F,I,B,C np.stack([X, X], dtype=complex)
np.hstack([V, T], dtype="float32")
np.vstack([V, V], dtype="float32")
@F,I np.array(X, ndmin=4)
np.array(3.0, ndmin=2)
np.array(F, copy=True, order="C")
@F,I,J,B X.sum(dtype=float)
@F,I X.sum(axis=0, initial=2)
@F,I X.max(axis=1, initial=2)
@F,I X.min(where=X > 1, initial=9)
F.mean(axis=0, dtype="float32")
F.astype("float32", copy=False)
np.indices((2, 3), sparse=True)
np.interp(F, [3.0, 1.0, 2.5], V, period=2.0)
np.interp(F, [-3.0, 1.0, 7.5], V, period=-3.5)
np.polyfit(V, V**2, 1, rcond=1e-3)
np.polyfit(V, V**2, 2)
np.round(F, 30)
np.round(F, -60)
np.roll(M, np.array(2))
np.roll(M, np.array([2, 1]), axis=(0, 1))
@F,I,G np.quantile(X, [0.0, 0.3, 1.0], axis=1, method="hazen")
@F,I np.quantile(X, 0.4, method="weibull")
@F,M np.percentile(X, [1.0, 37.0], axis=0, method="median_unbiased")
@F,M np.percentile(X, 99.0, axis=-1, method="normal_unbiased")
np.percentile(M, 21.0, axis=(0, 1), method="interpolated_inverted_cdf")
np.nanquantile(np.where(F > 2.5, np.nan, F), [0.3, 0.9], axis=1, method="hazen")
np.cov(M[0], fweights=[1, 3, 2, 1])
np.cov(M[0], aweights=[0.5, 1.0, 0.2, 0.7])
np.cov(M[0], fweights=[1, 3, 2, 1], aweights=[0.5, 1.0, 0.2, 0.7], ddof=0)
np.cov(M[0], M[1], aweights=[0.5, 1.0, 0.2, 0.7], bias=True, rowvar=True)
np.cov(T, dtype="float32")
np.corrcoef(M[0], dtype="float32")
@N,F np.nanvar(X, axis=1, keepdims=True, mean=np.nanmean(X, axis=1, keepdims=True), correction=1)
@N,F np.nanstd(X, mean=np.nanmean(X, keepdims=True))
np.histogram_bin_edges(F, 4, weights=F)
np.histogram2d(T, T[::-1], bins=3)
np.histogram2d(T, T[::-1], bins=[2, 3], range=[[1, 2], [0, 3]], density=True)
np.histogram2d(T, T[::-1], bins=[1.0, 1.5, 2.0, 3.0], weights=T)
np.histogram2d(T, T[::-1], bins=[[1.0, 1.5, 3.0], 2])
np.histogramdd(M[0], bins=[2, 3, 1, 2])
np.histogramdd([T, T**2, -T], bins=2, density=True)
np.histogramdd(M[0].T, bins=2, range=[[0, 3], None, [8, 11]], weights=[1.0, 2.0, 3.0, 4.0])
np.pad(V, (9, 20), mode="reflect")
np.pad(V, (13, 8), mode="symmetric")
@F,I,B np.pad(X, ((7, 0), (1, 9)), mode="reflect")
@F,C np.pad(X[:1], ((2, 3), (0, 8)), mode="reflect")
@F,I np.pad(X[:, :1], ((4, 1), (2, 3)), mode="symmetric")
np.expand_dims(F, np.array(-1))
np.expand_dims(F, [np.array(0), -1])
@F,I,C np.lexsort(X)
np.lexsort([C[1], C[0].real, C[1].imag])
np.lexsort(C, axis=0)
np.pad(F, 1, mode="reflect", reflect_type="odd")
np.pad(V, (5, 7), mode="reflect", reflect_type="odd")
np.pad(V, (5, 7), mode="symmetric", reflect_type="odd")
@I,U np.pad(X, ((1, 2), (3, 0)), mode="symmetric", reflect_type="odd")
np.pad(O, 2, mode="reflect", reflect_type="odd")
@F,I np.pad(X, 2, mode="mean", stat_length=2)
@F,I np.pad(X, ((0, 1), (2, 1)), mode="maximum", stat_length=((1, 1), (2, 1)))
F.astype("int32", copy=True)
np.pad(F, 1, mode="minimum", stat_length=1)
np.pad(F, 1, mode="median", stat_length=(2, 1))
@I,U,J np.pad(X, 1, constant_values=1.7)
@I np.pad(X, 1, constant_values=(1.7, 2.2))
np.spacing([0.0, -0.0, -2.0, 3.5])
@B,I np.cumsum(X, axis=0, dtype=bool)
@B,I np.cumprod(X, axis=1, dtype=bool)
np.cumulative_sum(B, axis=1, dtype=bool)
np.trapezoid(M, M[0] ** 2, axis=-2)
np.trapezoid(M, M[0] ** 2)
np.vecdot(F, V)
np.vecdot(np.moveaxis(M, 1, 0), T[:3], axis=0)
np.insert(V, I[0, 1], 9.0)
np.insert(M, I[0, 1], F[0, 0], axis=1)
np.insert(M[0], -I[0, 1], [1.0, 2.0, 3.0, 4.0], axis=0)
np.delete(V, I[0, 1])
np.delete(M, -I[0, 1], axis=-1)
M[np.ix_(I[0, 1:] - 1, [0, 2])]
np.ravel_multi_index((I[0] % 2, I[1] % 3), (2, 3))
np.ravel_multi_index((I[0], I[1]), (2, 3), mode=("wrap", "clip"))
np.ravel_multi_index((I[0] % 2, I[1] % 3), (2, 3), order="F")
np.unravel_index(I, (2, 3))
np.unravel_index(I, (3, 2), order="F")
@I,B,J np.packbits(X, axis=1)
@I,B,U np.packbits(X, bitorder="little")
@U np.unpackbits(X)
@U np.unpackbits(X, axis=1, count=5, bitorder="little")
@U np.unpackbits(X, axis=0, count=-3)
@U np.unpackbits(X, axis=-1, count=27)
np.ones(np.array(4))
np.geomspace(1 + 1j, C, 4)
np.geomspace(C, 2 - 1j, 3, endpoint=False)
"""


@MODES
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("expression", list(expressions(TEXTS)))
def test_an_expression_has_the_value_it_has_in_numpy(expression, mode):
    require_numpys_value(expression, mode)


A, D = np.array([3.0, 1.0, 2.0, 5.0]), np.array([5.0, 3.0, 4.0])
KNOWN = {
    "intersection": lambda np: np.intersect1d([1.0, 1.0, 2.0], [2.0, 1.0]),
    "of different ones": lambda np: np.intersect1d(A, D, assume_unique=True),
    "with positions": lambda np: np.intersect1d([3, 1, 1, 2], [2, 5, 1], return_indices=True),
    "difference": lambda np: np.setdiff1d(A, D, assume_unique=True),
    "in one": lambda np: np.setxor1d(A, D, assume_unique=True),
    "is in": lambda np: np.isin(A, D, assume_unique=True, kind="sort", invert=True),
    "nan by itself": lambda np: np.unique([1.0, np.nan, np.nan], equal_nan=False),
    "nan in one": lambda np: np.unique([1.0, np.nan, np.nan], return_counts=True),
    "rows": lambda np: np.unique(
        [[1.0, 2.0], [0.5, 2.0], [1.0, 2.0]], axis=0, return_inverse=True, return_index=True
    ),
    "columns": lambda np: np.unique([[1, 2, 1], [0, 5, 0]], axis=-1, return_counts=True),
}


def alike(found, wanted):
    if isinstance(wanted, tuple):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            alike(a, b)
        return
    assert (tuple(found.shape), found.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("name", KNOWN)
def test_sets_are_those_of_numpy(name):
    alike(KNOWN[name](tnp), KNOWN[name](np))


def test_gradients_reach_the_first_of_equal_rows():
    f = lambda x: tnp.sum(tnp.unique(x, axis=0) ** 3)
    x = np.array([[1.0, 2.0], [0.5, 2.0], [1.0, 2.0]])
    np.testing.assert_array_equal(tf.grad(f)(x), 3 * x**2 * [[1], [1], [0]])


def test_numpys_logic_takes_tensors_of_numbers():
    for name in ("logical_and", "logical_or", "logical_xor"):
        f = getattr(np, name)
        for mode in (lambda g: g, tf.function):
            alike(mode(lambda a, b, f=f: f(a, b))(tf.constant(F), tf.constant(B)), f(F, B))
    alike(np.logical_not(tf.constant(VALUES["I"])), np.logical_not(VALUES["I"]))


def test_sizes_are_of_one_axis_or_several():
    m = VALUES["M"]
    assert [tnp.size(m, k) for k in (None, 1, (0, 2), ())] == [24, 3, 8, 1]


def test_elements_and_bytes_of_a_tensor():
    x = tf.constant(F)
    assert (x.item(4), x.item(1, 0), x.itemsize, x.tobytes()) == (F.item(4), F.item(1, 0), 8, F.tobytes())


@pytest.mark.parametrize("x", (F, np.ones((3, 1), np.int16), np.ones((0, 2)), np.complex64(1j)), ids=str)
def test_bytes_of_a_tensor_while_tracing(x):
    compiled = tf.function(lambda x: tnp.asarray(x).nbytes, input_signature=[tf.TensorSpec(None, x.dtype)])
    for f in (lambda x: tnp.asarray(x).nbytes, tf.function(lambda x: tnp.asarray(x).nbytes), compiled):
        assert int(f(x)) == x.nbytes
    each = tf.vectorized_map(lambda row: row * row.nbytes, tf.constant(np.ones((2, 3), np.float32)))
    assert (each.numpy() == 12).all()
    open_ended = tf.function(lambda x: x.nbytes, input_signature=[tf.TensorSpec([None, 2], np.float32)])
    assert [int(open_ended(np.ones((n, 2), np.float32))) for n in (3, 0, 5)] == [24, 0, 40]


@MODES
def test_indices_along_an_axis_are_integers(mode):
    with pytest.raises(TypeError, match="take_along_axis indices must be of integer type, got float32: cast"):
        mode(lambda x, k: tnp.take_along_axis(x, k, axis=0))(F, np.float32([[0.0]]))


def test_files_and_memory(tmp_path):
    file = tmp_path / "x.npy"
    tnp.save(file, tf.constant(F))
    alike(tnp.load(file), F)
    alike(tnp.load(file, allow_pickle=True), F)
    np.savez(tmp_path / "both.npz", a=F, b=V)
    found = tnp.load(tmp_path / "both.npz")
    alike((found["a"], found["b"]), (F, V))
    np.save(file, np.array([object()]))
    with pytest.raises(ValueError, match="allow_pickle"):
        tnp.load(file)
    alike(tnp.frombuffer(F.tobytes(), count=2, offset=8), F.ravel()[1:3])
    alike(tnp.fromiter(range(4), float), np.arange(4.0))
    alike(tnp.fromstring("1, 2.5, 3", sep=","), np.array([1.0, 2.5, 3.0]))


def test_positions_of_run_time_are_checked():
    i = np.array([1, 5])
    for f in (
        lambda i: tnp.ravel_multi_index((i, i), (3, 3)),
        lambda i: tnp.unravel_index(i, (2, 2)),
        lambda i: tnp.insert(V, i[1], 1.0),
        lambda i: tnp.delete(V, i[1]),
    ):
        with pytest.raises((ValueError, IndexError)):
            tf.function(f)(i)
    with pytest.raises(tf.SymbolicValue, match="several positions"):
        tf.function(lambda i: tnp.insert(V, i, 1.0))(i)


FOLDED = [
    lambda x: np.maximum.accumulate(x, axis=1),
    lambda x: np.minimum.accumulate(x),
    lambda x: np.logaddexp.accumulate(x, axis=1),
    lambda x: np.logaddexp.reduce(x, axis=1),
    lambda x: np.where(np.logical_and.reduce(x > -1, axis=1), x[:, 0], 0.0),
    lambda x: np.where(np.logical_or.reduce(x > 1, axis=0), x, 2.0 * x),
]


@pytest.mark.parametrize("f", FOLDED, ids=range(len(FOLDED)))
def test_folds_of_numpys_functions_are_followed(f):
    loss = lambda x: np.sum(f(x) ** 2)
    alike(tf.function(f)(X4), f(X4))
    wanted = np.zeros_like(X4)
    for k in np.ndindex(X4.shape):
        h = np.zeros_like(X4)
        h[k] = 1e-6
        wanted[k] = (loss(X4 + h) - loss(X4 - h)) / 2e-6
    for g in (tf.grad(loss), tf.function(tf.grad(loss))):
        np.testing.assert_allclose(g(X4), wanted, rtol=1e-6, atol=1e-8)


def test_paths_of_einsum_are_numpys():
    args = ("ij,jk,kl->il", F, np.ones((3, 4)), np.ones((4, 2)))
    assert tnp.einsum_path(*args, optimize="optimal") == np.einsum_path(*args, optimize="optimal")
    assert tnp.einsum_path(F, [0, 1], F.T, [1, 2])[0] == np.einsum_path(F, [0, 1], F.T, [1, 2])[0]
    tf.function(lambda x: tnp.sum(x) * len(tnp.einsum_path("ij,jk->ik", x, x.T)[0]))(F)


# vectorize


def distance(a, b):
    return a - b if a > b else b * 2.0


@MODES
def test_a_function_of_elements_is_one_of_arrays(mode):
    ours, theirs = tnp.vectorize(distance), np.vectorize(distance)
    a, b = np.array([[1.0], [2.0], [-1.0]]), np.array([0.5, 1.5])
    alike(mode(lambda a, b: ours(a, b))(a, b), theirs(a, b))
    alike(mode(lambda a: ours(a, 1.0))(a), theirs(a, 1.0))
    assert mode(lambda: ours(1.0, 2.0))().shape == ()


SIGNED = {
    "product": ("(m,n),(n)->(m)", lambda np: lambda a, v: np.dot(a, v), (X, np.arange(4.0))),
    "both": ("(n),(n)->()", lambda np: lambda a, v: np.sum(a * v), (X, np.arange(4.0) + X[:, :1])),
    "two results": ("(n)->(),(n)", lambda np: lambda v: (np.mean(v), v - np.mean(v)), (X,)),
    "numbered": ("(3),(3)->(3)", lambda np: lambda a, b: np.cross(a, b), (F, V)),
    "empty": ("(),()->()", lambda np: lambda a, b: a + b, (F, V)),
}


@MODES
@pytest.mark.parametrize("name", SIGNED)
def test_a_signature_names_axes(name, mode):
    signature, f, args = SIGNED[name]
    ours = tnp.vectorize(f(tnp), signature=signature)
    plain = signature.replace("3", "k")  # NumPy has names alone
    alike(mode(lambda *xs: ours(*xs))(*args), np.vectorize(f(np), signature=plain)(*args))


def test_what_is_excluded_goes_through_as_it_is():
    f = tnp.vectorize(lambda x, power, *, scale: x**power * scale, excluded={1, "scale"})
    alike(f(F, 2, scale=3.0), F**2 * 3.0)
    weighted = tnp.vectorize(lambda x, w: x * w[0] + w[1], excluded={1}, otypes=[np.float32], doc="A line.")
    assert weighted.__doc__ == "A line."
    alike(weighted(F, [2.0, 1.0]), (F * 2 + 1).astype(np.float32))
    alike(tnp.vectorize(lambda x, y=None: x if y is None else y)(V, None), V)


def test_derivatives_follow_what_is_vectorized():
    f = tnp.vectorize(distance)
    alike(tf.grad(lambda x: tnp.sum(f(x, 1.0) ** 2))(np.array([0.5, 3.0])), np.array([0.0, 4.0]))
    g = tnp.vectorize(lambda v: tnp.sum(v**3), signature="(n)->()")
    alike(tf.function(tf.grad(lambda x: tnp.sum(g(x))))(F), 3 * F**2)
    alike(tf.grad(lambda x: tnp.sum(tf.grad(lambda z: tnp.sum(g(z)))(x)))(F), 6 * F)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tnp.vectorize(tnp.dot, signature="(n,m)>(n)"), "not a signature"),
        (lambda: tnp.vectorize(tnp.dot, signature="(n),(n)->()")(V), "takes 2 arguments, got 1"),
        (lambda: tnp.vectorize(tnp.dot, signature="(n),(n)->()")(V, F[0][:2]), "axis n .* is 3, and 2"),
        (lambda: tnp.vectorize(tnp.sum, signature="(m,n)->()")(V), "fewer axes"),
        (lambda: tnp.vectorize(lambda v: v, signature="(n)->()")(F), "not the axes of a result"),
        (lambda: tnp.vectorize(lambda v: (v, v), signature="(n)->(n)")(F), "gives 1 results, got 2"),
        (lambda: tnp.vectorize(distance)(F, np.ones(2)), "broadcast"),
        (lambda: tnp.vecdot(V, V[:1]), "vectors of one size, got 3 and 1"),
        (lambda: tnp.pad(F, 1, mode=lambda vector, width, axis, options: None), "pad has no mode <function"),
        (lambda: tnp.pad(F, 1, mode="mirrored"), "pad has no mode 'mirrored': its modes are constant"),
        (lambda: tnp.pad(F[:0], 1, mode="symmetric"), "has no 1 elements to mirror"),
    ],
)
def test_what_does_not_fit_is_refused_at_the_users_line(call, message):
    with pytest.raises(ValueError, match=message) as error:
        call()
    assert "test_numpy_arguments.py" in str(error.value)


SLOPES = [
    lambda np, x: np.interp(x, np.sort(x[0]), x[1], period=1.7),
    lambda np, x: np.polyfit(x[0], x[1], 1, rcond=1e-9),
    lambda np, x: np.cov(x, fweights=[1, 3, 2, 1], aweights=[0.5, 1.0, 0.2, 0.7]),
    lambda np, x: np.cov(x[:2], aweights=x[2] ** 2, bias=True),
    lambda np, x: np.nanvar(np.where(x > 0.2, x, np.nan), axis=0, correction=0),
    lambda np, x: np.quantile(x, [0.3, 0.8], axis=1, method="hazen"),
    lambda np, x: np.histogram2d(x[0], x[1], bins=2, range=[[-1, 2], [-1, 2]], weights=x[2])[0],
    lambda np, x: np.pad(x, 2, mode="reflect", reflect_type="odd") ** 2,
    lambda np, x: np.pad(x, ((4, 1), (2, 9)), mode="reflect") ** 2,
    lambda np, x: np.pad(x, 1, mode="mean", stat_length=2),
    lambda np, x: np.trapezoid(np.stack([x, x**2]), x, axis=-2),
    lambda np, x: np.vecdot(x, x[:, 1], axis=0) + np.insert(x, 1, x[:, 0], axis=1)[0, :4],
    lambda np, x: np.hstack([x, x**2], dtype="float64").sum(axis=0, dtype=float),
]


@MODES
@pytest.mark.parametrize("f", SLOPES, ids=range(len(SLOPES)))
def test_gradients_are_those_of_differences(f, mode):
    require_slopes(f, mode)
