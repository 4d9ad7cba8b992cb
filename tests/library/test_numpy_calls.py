"""``tracejit.numpy`` against NumPy: further names and forms of arguments, as expressions; gradients; refusals."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp
from checks.numpy_expressions import MODES, VALUES, X, expressions, require_numpys_value, require_slopes

ELEMENTS = """
@F,G,I np.reciprocal(X + 0.5)
@F,I,B,N np.fabs(X)
@F,G,I,N np.deg2rad(X)
@G,N np.degrees(X)
@F,G,C,N np.angle(X)
np.angle(C, deg=True)
@F,G,I,J,U np.signbit(X)
@F,G,I np.copysign(X, -1.0)
@F,G,N,I np.fmax(X, 1)
@F,G,N,I np.fmin(1.0, X)
@F,G,N,I,J,U np.fmod(X, 3)
np.fmod(F, -2)
@F,I np.float_power(X + 2, 2)
@F,G,I np.heaviside(X, 0.5)
@F,G,I np.logaddexp2(X, 1)
@F,G,I np.sinc(X)
@F,G,I,N,C np.nan_to_num(X)
np.nan_to_num(N, nan=1.5, posinf=3.0, neginf=-2.0)
@F,N,I np.modf(X)
@F,N,I np.fix(X)
@F,N np.isposinf(X)
@F,N np.isneginf(X)
@F,C np.isreal(X)
@F,C np.iscomplex(X)
np.isclose(F, F + 1e-9)
@N np.isclose(X, X, equal_nan=True)
np.isclose(N, N)
np.allclose(F, F + 1e-3)
np.array_equal(F, F)
np.array_equal(F, V)
np.array_equal(N, N, equal_nan=True)
@F,I np.divmod(X, 2)
@I,J,U,B np.bitwise_and(X, X)
@I,J,U np.bitwise_xor(X, 3)
@I,J,U,B np.invert(X)
@I,J,U np.left_shift(X, 2)
@I,J,U np.right_shift(X, 1)
@B,I np.square(X)
@B,I np.abs(X)
@B,I,N np.isfinite(X)
@B,I,N np.isinf(X)
@J,U,B np.hypot(X, 2)
@J,U,B np.arctan2(X, 2)
@I,F,C np.round(X, -1)
np.clip(I, min=1, max=3)
np.add(G, np.float64(1))
np.exp(J)
"""

REDUCTIONS = """
@F,G,I np.sum(X, where=X > 0)
@F,G np.sum(X, initial=10.0, axis=1)
@F,I np.prod(X, where=X > 0, initial=2)
@F,I np.max(X, initial=1, axis=0)
@F,J np.min(X, where=X > 0, initial=9)
@F,G,I np.mean(X, where=X > 0)
@F,G,I np.var(X, correction=1)
np.var(F, axis=1, where=B)
np.std(F, ddof=5, axis=1)
np.std(F, axis=1, mean=np.mean(F, axis=1, keepdims=True), keepdims=True)
np.all(I, where=I > 0)
np.any(I, axis=0, where=I < 0)
@F,I np.argmax(X, axis=-1, keepdims=True)
np.argmin(F, keepdims=True)
@F,I np.sort(X, kind="stable")
@F,I np.argsort(X, stable=True)
@F,I,J np.ptp(X)
np.ptp(M, axis=-1, keepdims=True)
@F,I,B,N np.count_nonzero(X)
np.count_nonzero(F, axis=0)
@F,I,J,M,B np.cumprod(X, axis=-1)
np.cumprod(V)
np.max(E, initial=3.0)
@F,I,M np.average(X, axis=0)
np.average(F, axis=1, weights=[1, 2, 3])
np.average(I, axis=1, weights=[1, 2, 3], returned=True)
np.average(F, weights=F + 2, returned=True)
np.average(F, returned=True)
@F,G,I,M,T,V,N np.median(X)
@F,M np.median(X, axis=(0, 1), keepdims=True)
@F,G,I,M,T np.quantile(X, 0.3)
@F,G,I,M np.quantile(X, [0.1, 0.5, 1.0], axis=0)
np.quantile(M, [0.25, 0.75], axis=(0, -1), keepdims=True)
@F,T np.quantile(X, 0.4, method="lower")
@F,T np.quantile(X, 0.4, method="higher")
@F,T np.quantile(X, 0.4, method="nearest")
@F,T np.quantile(X, 0.4, method="midpoint")
@F,G,I np.percentile(X, [10, 50.5], axis=1)
@F,I,N np.nansum(X)
@F,N np.nanprod(X, axis=0)
@F,I,N np.nanmean(X, axis=1)
np.nanvar(np.where(B, F, np.nan), axis=1, ddof=1)
np.nanstd(np.where(B, F, np.nan))
@F,I,N np.nanmax(X, axis=0)
@F,I,N np.nanmin(X, axis=1, keepdims=True)
@F,N np.nanargmax(X, axis=1)
@F,N np.nanargmin(X)
np.nancumsum(N, axis=1)
@F,I,C np.cov(X)
np.cov(V)
np.cov(F, rowvar=False)
np.cov(F, F + 1)
np.cov(F, bias=True)
@F,C np.corrcoef(X)
np.corrcoef(V, V**2)
"""

COUNTS = """
np.bincount([1, 1, 3])
np.bincount([1, 1, 3], weights=[0.5, 1, 2])
np.bincount([1, 1, 3], minlength=6)
np.digitize(F, [-1.0, 0.0, 1.0, 2.0])
np.digitize(F, [-1.0, 0.0, 0.5, 2.0], right=True)
np.searchsorted([1, 2, 3], [0, 2, 2.5, 9])
np.searchsorted(V, F, side="right")
np.histogram(F, bins=4)
np.histogram(T)
np.histogram(F, bins=[-2.0, 0.0, 1.0, 3.0])
np.histogram(F, bins=3, range=(0, 2))
np.histogram(F, bins=4, density=True)
np.histogram(F, bins=4, weights=F)
np.isin(I, [1, 2])
np.isin(I, [1, 2], invert=True)
np.unique([3, 1, 3, 2])
np.unique([3, 1, 3, 2], return_index=True, return_inverse=True, return_counts=True)
"""

CALCULUS = """
@F,I,M,B np.diff(X)
np.diff(M, n=2)
np.diff(F, axis=0)
np.diff(F, prepend=0)
np.diff(F, append=[[1.0], [2.0]])
np.ediff1d(F, to_end=[9, 10.0], to_begin=-1.0)
np.gradient(M)
np.gradient(M, axis=-1)
@T,G np.gradient(X, 2.0)
np.gradient(T, [0.0, 1.0, 3.0, 4.0, 8.0])
np.gradient(T, [0.0, 1.0, 3.0, 4.0, 8.0], edge_order=2)
np.gradient(F, 1.0, 2.0)
np.gradient(np.array([1.0, np.inf, 2.0, np.nan, 3.0, 0.0]), 0.5)
@F,I,M,V np.trapezoid(X)
np.trapezoid(F, [0.0, 1.0, 3.0])
np.trapezoid(F, dx=0.5, axis=0)
np.interp([0.0, 2.5, 9.0], [1, 2, 3], [3, 2, 0])
np.interp(F, [-1.0, 0.0, 1.0], V, left=-1.0, right=7)
np.interp(3, [1, 2, 3], [3, 2, 0])
np.convolve([1, 2, 3], [0, 1, 0.5])
np.convolve(T, [1, 2], mode="same")
np.convolve([1, 2], [1, 1, 1, 5], "same")
np.convolve([1, 2, 3, 4], [1, 1, 1], "valid")
np.correlate([1, 2, 3], [0, 1, 0.5], "full")
np.correlate([1, 2], [0, 1, 3.0], "same")
np.correlate(C[0], C[1], "full")
np.polyval([1, 2, 3], F)
np.polyder([1, 2, 3.0])
np.polymul([1, 2], [1, 3])
np.unwrap([0, 3, 6.5, -1, -4, 9])
np.unwrap(F * 4, axis=0)
"""

PRODUCTS = """
@F,I,C np.inner(X, X)
np.inner(V, 2)
@F,I,C np.vdot(X, X)
@F,C np.vecdot(X, X)
np.matvec(M, [1.0, 2, 3, 4])
np.vecmat([1.0, 2, 3], M)
np.kron(F, I)
np.kron(V, F)
np.cross(F, V)
np.cross(M, M + 1, axis=1)
@F,I,M np.diagonal(X)
np.diagonal(M, 1, 1, 2)
np.diagonal(F, 5)
@F,I,J,M np.trace(X)
np.trace(M, 1, 1, 2)
@V,F,I np.diag(X)
@V,F np.diag(X, 1)
@V,F np.diag(X, -1)
np.diagflat(F, 1)
@F,I,V,B np.tril(X)
np.linalg.norm(V, 0)
np.linalg.norm(V, -1)
np.linalg.norm(V, -np.inf)
np.linalg.norm(F, 1)
np.linalg.norm(F, -np.inf)
np.linalg.norm(M, axis=(1, 2), keepdims=True)
np.linalg.norm(M, 1, axis=(0, 2))
np.linalg.norm(M)
np.linalg.norm(C, axis=0)
np.linalg.norm(F, ord=0.5, axis=1)
np.linalg.vector_norm(M, axis=(0, 1))
np.linalg.matrix_norm(M)
np.linalg.matrix_power([[1, 1], [0, 1]], 5)
np.linalg.matrix_power([[1.0, 1], [0, 2]], -2)
np.linalg.matrix_power(np.eye(2) + 1, 0)
np.linalg.multi_dot([F, F.T, V[:2]])
np.linalg.diagonal(M)
np.linalg.trace(M)
"""

SHAPES = """
np.moveaxis(M, (0, 1), (-1, 0))
np.rollaxis(M, 2)
np.rollaxis(M, 0, 3)
@F,M,I np.rot90(X)
np.rot90(M, 2, (1, 2))
np.rot90(F, -1)
np.fliplr(F)
np.flipud(I)
@F,I,V np.roll(X, 1)
np.roll(M, (1, 2), axis=(0, 1))
np.roll(F, 1, axis=(0, 1))
np.reshape(F, (3, 2), order="F")
np.ravel(F, order="F")
np.expand_dims(F, (0, -1))
np.zeros(np.size(M, 1))
np.broadcast_arrays(F, V)
np.atleast_1d(1.0, [2.0])
np.atleast_2d(V)
np.atleast_3d(F)
np.column_stack([V, V])
np.dstack([F, I])
np.block([[F, F], [I, I]])
np.append(F, [[1.0, 2, 3]], axis=0)
np.append(F, 5)
np.insert(V, 1, 9.0)
np.insert(F, [0, 2], [7.0, 8.0], axis=1)
np.insert(F, 1, [7.0, 8.0], axis=1)
np.insert(F, 1, [[7.0], [8.0]], axis=1)
np.insert(F, [1], [[7.0, 9.0], [8.0, 9.0]], axis=1)
np.insert(V, 1, [7.0, 8.0])
np.insert(V, slice(0, 2), [7.0, 8.0])
np.insert(E, 0, 7.0, axis=1)
np.searchsorted(np.sort(N[0]), N)
np.searchsorted(np.sort(N[0]), N, side="right")
np.digitize(N, V)
np.einsum("...i,...i->...", F[:1], F)
np.einsum("...ij,...ik", O, M)
np.einsum("...ij,...kj->...ik", O, O)
np.linalg.solve(F[:, :2], M[:, :2])
np.linalg.solve(M[:, :2, :2] + np.reciprocal(F[:, :2]), F)
@1,-1,inf,-inf np.linalg.norm(M, float("X"), axis=(0, -1))
@1,3,-1,inf,-inf np.linalg.vector_norm(M, ord=float("X"), axis=(0, 1))
np.linalg.slogdet(F[:, :2]).logabsdet
np.gradient(M, axis=(0, 2))
np.geomspace(V, 2 * V, 5)
np.delete(F, 1, axis=1)
np.delete(V, [0, 2])
np.array_split(M, 3, axis=-1)
np.hsplit(F, 3)
np.vsplit(F, 2)
np.dsplit(M, 2)
np.pad(F, ((1, 0), (0, 2)), mode="edge")
np.pad(V, 2, mode="reflect")
np.pad(V, 2, mode="symmetric")
np.pad(V, (2, 4), mode="wrap")
np.pad(F, 1, constant_values=((1, 2), (3, 4)))
np.repeat(F, [1, 2], axis=0)
np.take_along_axis(F, np.array([[0], [1]]), axis=1)
np.take_along_axis(F, np.array([0, 4]), axis=None)
np.compress([True, False, True], F, axis=1)
np.extract([[True, False, True], [False, True, False]], F)
np.select([F > 1, F > 0], [F, F * 10], default=-1)
np.full_like(F, 1, dtype=int, shape=(2,))
np.linspace(0, 1, 5, retstep=True)
np.linspace(0, 10, 5, endpoint=False)
np.linspace([0, 1], [1, 2], 3, axis=1)
np.linspace(0, 10, 4, dtype=int)
np.linspace(1, 2, 1)
np.linspace(1, 2, 0)
np.logspace(0, 2, 3, base=2)
np.geomspace(-1, -8, 4)
np.indices((2, 3))
np.tri(3, 4, 1)
np.vander([1, 2, 3], 3)
np.vander(V, increasing=True)
np.meshgrid(V, [1, 2], sparse=True)
np.concatenate([F, I], dtype="float32")
F[np.triu_indices(2)]
"""


@MODES
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "expression", list(expressions(ELEMENTS, REDUCTIONS, COUNTS, CALCULUS, PRODUCTS, SHAPES))
)
def test_an_expression_has_the_value_it_has_in_numpy(expression, mode):
    require_numpys_value(expression, mode)


#: Of the matrix x, away from kinks; each gives a number or a tensor, which is weighted and added up.
SLOPES = [
    lambda np, x: np.sinc(x),
    lambda np, x: np.fmax(x, 0.4) + np.fmin(x, 0.3),
    lambda np, x: np.fmod(x, 0.7) + np.copysign(x, -1.0),
    lambda np, x: np.logaddexp2(x, 0.5) + np.float_power(np.abs(x), 1.7) + np.reciprocal(x),
    lambda np, x: np.cumprod(x, axis=1),
    lambda np, x: np.sum(x, where=x > 0, axis=0) + np.prod(x, axis=0, initial=2.0),
    lambda np, x: np.mean(x, axis=0, where=x > 0.2) + np.var(x, axis=0, ddof=1),
    lambda np, x: np.std(x, axis=1, where=x > 0.1),
    lambda np, x: np.ptp(x, axis=0) + np.max(x, initial=0.1),
    lambda np, x: np.average(x, axis=0, weights=x**2),
    lambda np, x: np.quantile(x, [0.2, 0.7], axis=1),
    lambda np, x: np.median(x, axis=0) + np.percentile(x, 45.0),
    lambda np, x: np.nanmean(np.where(x > 0.2, x, np.nan), axis=0),
    lambda np, x: np.cov(x),
    lambda np, x: np.corrcoef(x),
    lambda np, x: np.diff(x, n=2, axis=1),
    lambda np, x: np.gradient(x, [0.0, 1.0, 1.5, 3.0], axis=1, edge_order=2),
    lambda np, x: np.trapezoid(x**2, x, axis=1),
    lambda np, x: np.interp(x, np.sort(x[0]), x[1]),
    lambda np, x: np.convolve(x[0], x[1], "same") + np.correlate(x[1], x[2], "same"),
    lambda np, x: np.polyval(x[0], x),
    lambda np, x: np.unwrap(x * 7.0, axis=1),
    lambda np, x: np.kron(x, x[:2]),
    lambda np, x: np.cross(x[:, :3], x[:, 1:]) + np.inner(x, x),
    lambda np, x: np.trace(x, 1) * np.diagonal(x, -1) + np.diag(x[:, 0], 1)[0, :2],
    lambda np, x: np.linalg.norm(x, 1) + np.linalg.norm(x, 3, axis=0) + np.linalg.norm(x, -2, axis=0),
    lambda np, x: np.linalg.matrix_power(x[:, :3], 3) + np.linalg.multi_dot([x[:, :3], x, x.T]),
    lambda np, x: np.roll(np.rot90(x), 1, axis=(0, 1)) * 2.0,
    lambda np, x: np.pad(x, 1, mode="edge") + np.pad(x, 1, mode="wrap") * np.pad(x, 1, mode="reflect"),
    lambda np, x: np.insert(x, 1, x[:, 0], axis=1) + np.append(x, x[:, :1], axis=1),
    lambda np, x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1) * np.delete(x, 0, axis=1)[:, :1],
    lambda np, x: np.histogram(x, bins=3, weights=x, range=(-1.0, 2.0))[0],
    lambda np, x: np.linspace(x[0], x[1], 4, endpoint=False),
    lambda np, x: np.hypot(x, 2.0) + np.angle(x + 2.0j) + np.deg2rad(x),
    lambda np, x: np.vander(x[0], 3) + np.select([x.T > 0.4], [x.T], x.T**2)[:, :3],
]  # fmt: skip


@MODES
@pytest.mark.parametrize("f", SLOPES, ids=range(len(SLOPES)))
def test_gradients_are_those_of_differences(f, mode):
    require_slopes(f, mode)


@MODES
def test_sinc_has_its_derivatives_at_zero(mode):
    second = tf.grad(tf.grad(lambda x: tnp.sinc(x)))
    assert mode(tf.grad(lambda x: tnp.sinc(x)))(0.0).numpy() == 0.0
    assert mode(second)(np.float64(0.0)).numpy() == pytest.approx(-(np.pi**2) / 3)
    assert mode(tf.grad(tf.grad(second)))(np.float64(0.0)).numpy() == pytest.approx(np.pi**4 / 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tnp.max(tnp.zeros((2, 0)), axis=1), r"no elements over \(1,\).*initial="),
        (lambda: tnp.max(VALUES["F"], where=VALUES["F"] > 0), r"give initial="),
        (lambda: tnp.argmax(tnp.zeros((2, 0)), axis=1), r"argmax of an empty sequence: axis 1 of float64\[2,0\]"),
        (lambda: tnp.linalg.norm(VALUES["F"], 3), r"norms .*are known, not 3"),
        (lambda: tnp.linalg.norm(VALUES["M"], 1), r"over one axis or two, not 3"),
        (lambda: tnp.quantile([1.0], 0.5, method="odd"), r"method is linear.*got 'odd'"),
        (lambda: tnp.quantile([1.0, 2.0], [0.5, -0.1]), r"q is from 0 to 1.*got \[ 0.5 -0.1\]"),
        (lambda: tnp.percentile([1.0, 2.0], np.nan), r"q is from 0 to 1"),
        (lambda: tnp.linalg.norm(VALUES["F"], axis=(0, 5)), r"axis 5 is out of range"),
        (lambda: tnp.linalg.solve(VALUES["F"][:, :2], [[[1.0, 2.0]] * 3]), r"float64\[2,2\]"),
        (lambda: tnp.average(VALUES["F"], weights=[1.0, 2.0]), r"weights float64\[2\] for float64\[2,3\]"),
        (
            lambda: tnp.linalg.solve(VALUES["M"][:, :2, :2], np.ones((3, 2, 1))),
            r"\(2,\) and \(3,\) do not broadcast",
        ),
        (lambda: tnp.broadcast_arrays(VALUES["F"], [1.0, 2.0]), r"do not broadcast: 3 against 2"),
        (lambda: tnp.where([True], 1.0), r"with both x and y"),
        (lambda: tnp.gradient([1.0]), r"fewer than 2 samples"),
        (lambda: tnp.diag(VALUES["M"]), r"takes a vector or a matrix, got float64\[2,3,4\]"),
        (lambda: tnp.interp(1.0, [1.0], [1.0], period=0), r"a period is not 0"),
        (lambda: tnp.reshape(VALUES["F"], 6, order="B"), r"order is 'C' or 'F', got 'B'"),
        (lambda: tnp.nonzero(3.0), r"a number has no positions"),
        (lambda: tf.function(lambda x: tnp.nonzero(tnp.sum(x)))(VALUES["F"]), r"a number has no positions"),
        (lambda: tnp.compress(VALUES["F"] > 0, VALUES["F"]), r"takes a vector.*not bool\[2,3\]"),
        (lambda: tnp.zeros(3, [("U", float), ("V", float)]), r"not records of U, V"),
    ],
    ids=range(22),
)
def test_what_has_no_meaning_is_refused_at_the_users_line(call, message):
    with pytest.raises((ValueError, TypeError), match=message) as error:
        call()
    assert "test_numpy_calls.py" in str(error.value)


COUNTED_WHEN_RUN = {
    "nonzero": lambda x: tnp.stack(tnp.nonzero(x > 0.3)),
    "nonzero of numbers": lambda x: tnp.nonzero(tnp.round(x))[1],
    "nonzero of three axes": lambda x: tnp.stack(tnp.nonzero(tnp.stack([x, -x, x**2]) > 0.3)),
    "where": lambda x: x[tnp.where(x > 0.3)] ** 2,
    "argwhere": lambda x: tnp.argwhere(x > 0.3),
    "flatnonzero": lambda x: tnp.flatnonzero(x > 0.3),
    "extract": lambda x: tnp.extract(x > 0.3, x) * 2.0,
    "compress": lambda x: tnp.compress(x[:, 0] > 0.3, x, axis=0),
    "compress by few": lambda x: tnp.compress(x[0, :2] > -9.0, x, axis=1),
    "compress all": lambda x: tnp.compress(x.ravel() > 0.3, x),
}


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (0, 3)])
@pytest.mark.parametrize("f", COUNTED_WHEN_RUN.values(), ids=COUNTED_WHEN_RUN)
def test_what_a_traced_condition_selects_is_counted_when_the_function_runs(f, shape):
    if shape[0] == 0 and f in (COUNTED_WHEN_RUN["compress by few"],):
        shape = (2, 3)
    x = np.random.default_rng(1).normal(size=shape)
    compiled = tf.function(lambda x: f(x))
    for given in (x, -x, np.abs(x) + 1.0, 0.0 * x):
        found, expected = compiled(tf.constant(given)), f(tf.constant(given))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    assert compiled.experimental_get_tracing_count() == 1

    def total(x):
        found = f(x)
        return tnp.sum(found**3) if found.dtype.is_floating else tnp.sum(x)

    for transform in (tf.grad, lambda f: lambda x: tf.hvp(f, [x], [tnp.ones(x.shape)])):
        eager, together = transform(total), tf.function(transform(lambda x: total(x)))
        np.testing.assert_allclose(together(tf.constant(x)), eager(tf.constant(x)), rtol=1e-12)


def test_what_is_counted_when_the_function_runs_is_written_back():
    def f(x):
        large = x > 0.3
        found = tnp.extract(large, x)
        whole = tnp.place(tnp.zeros(x.shape), large, found**2, inplace=False)
        larger = found > 0.8
        part = tnp.place(tnp.zeros(found.shape), larger, tnp.extract(larger, found) * 3.0, inplace=False)
        put = tnp.put(x, tnp.flatnonzero(large), found * 2.0, inplace=False)
        last = tnp.put(found, [0], found[-1:] * 2.0, inplace=False)
        return tnp.sum(whole) + tnp.sum(part * found) + tnp.sum(put**2) + tnp.sum(last**3)

    both = tf.function(tf.value_and_grad(lambda x: f(x)))
    for seed in range(3):
        x = tf.constant(np.random.default_rng(seed).normal(size=(4, 5)))
        for found, expected in zip(both(x), tf.value_and_grad(f)(x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("part", [-0.1, 1.01, np.nan])
def test_a_quantile_that_is_none_is_refused_when_it_runs(part):
    compiled = tf.function(lambda x, q: tnp.quantile(x, q))
    assert compiled(VALUES["V"], np.array(1.0)) == 0.75
    with pytest.raises(IndexError):
        compiled(VALUES["V"], np.array(part))


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_quantiles_next_to_infinite_elements(mode):
    rows = [[-np.inf, 1.0], [1.0, np.inf], [-np.inf, np.inf], [np.inf, np.inf]]
    for row, wanted in zip(rows, [-np.inf, np.inf, np.nan, np.inf], strict=True):
        for part in (30.0, 50.0, 80.0):
            found = mode(lambda x, part=part: tnp.percentile(x, part))(tf.constant(row))
            np.testing.assert_array_equal(found, wanted)


@MODES
def test_the_median_of_equal_elements_is_their_mean(mode):
    slope = mode(tf.grad(lambda x: tnp.median(x)))
    np.testing.assert_array_equal(slope(np.array([1.0, 1.0])), [0.5, 0.5])
    assert tnp.median([np.inf, np.inf]).numpy() == np.inf


BATCH = np.stack([X, X[::-1] * 0.9, X * X - 0.3])
#: They need sizes that are known when a function is traced.
OF_KNOWN_SIZE = {4, 18, 23, 28}


@pytest.mark.parametrize("f", SLOPES, ids=range(len(SLOPES)))
def test_a_batch_is_what_its_examples_are(f):
    def loss(x):
        return tnp.sum(f(tnp, x))

    for whole in (lambda x: f(tnp, x), tf.grad(loss)):
        one_by_one = np.stack([np.asarray(whole(tf.constant(x))) for x in BATCH])
        np.testing.assert_allclose(tf.vmap(whole)(BATCH), one_by_one, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("number", sorted(set(range(len(SLOPES))) - OF_KNOWN_SIZE))
def test_sizes_may_be_unknown(number):
    def f(x):
        return SLOPES[number](tnp, x)

    compiled = tf.function(f, input_signature=[tf.TensorSpec([3, None], tf.float64)])
    np.testing.assert_allclose(compiled(X), f(tf.constant(X)), rtol=1e-11, atol=1e-12)


@MODES
@pytest.mark.parametrize("period", [None, 1.0])
def test_interpolation_between_points_closer_than_the_least_normal_number_has_slopes(mode, period):
    places = np.exp(np.linspace(-100, -20, 200)).astype(np.float32)
    total = lambda x: tnp.sum(tnp.interp(x, x, tnp.ones_like(x), period=period))
    assert np.isfinite(np.asarray(mode(tf.grad(total))(tf.constant(places)))).all()
    far = lambda x: tnp.sum(tnp.interp(x, np.float32([0, 1e-30]), np.float32([1, 2])))
    slopes = mode(tf.grad(far))(tf.constant(np.float32([np.inf, 1e30, -1e30, -np.inf])))
    assert np.asarray(slopes).tolist() == [0.0] * 4
