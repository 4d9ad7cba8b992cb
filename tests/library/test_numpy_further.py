"""``tracejit.numpy`` against NumPy: names that few programs need, and rare arguments; gradients; refusals."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp
from checks.numpy_expressions import MODES, VALUES, expressions, require_numpys_value, require_slopes

ELEMENTS = """
@F,G,I,N,E np.cbrt(X)
@F,G,I np.i0(X)
@F,G,I,N np.ldexp(X, I)
np.ldexp(V, [-1080, 1030, 3])
@F,G,I,N,E np.frexp(X)
@F,G,N,E np.spacing(X)
@I,J,U np.gcd(X, 6)
@I,J,U np.lcm(X, I)
np.gcd(J, I)
@I,J,U np.bitwise_count(X)
np.real_if_close(F)
np.array_equiv(F, F[0])
np.array_equiv(O, np.ones((2, 3, 1)))
np.array_equiv(F, V[:2])
np.iscomplexobj(C)
np.isrealobj(F)
"""

ORDERS = """
np.partition(F, 0, axis=1)[:, 0]
np.partition(T, 2)[2]
np.partition(F, 3, axis=None)[3]
np.take(T, np.argpartition(T, 2))[2]
np.lexsort((T, T > 2))
np.lexsort(M[0])
np.lexsort(M, axis=0)
np.sort_complex(C)
np.sort_complex(T)
"""

REDUCTIONS = """
@N,F np.nansum(X, axis=0, where=B, initial=2.0)
@N,F np.nanprod(X, where=B, initial=2.0)
@N,F np.nanmean(X, axis=1, where=B)
@N,F np.nanvar(X, where=B)
@N,F np.nanstd(X, where=B, keepdims=True)
@N,F np.nanmax(X, axis=0, where=B, initial=-9.0)
@N,F np.nanmin(X, where=B, initial=0.5)
@N,F,I np.nancumprod(X, axis=1)
@F,I np.nanmedian(X, axis=1)
np.nanmedian(np.where(F > 0, F, np.nan), axis=1)
np.nanmedian(M, axis=(0, 1), keepdims=True)
np.nanquantile(np.where(F > 0, F, np.nan), [0.1, 0.9], axis=1)
@F,M np.nanpercentile(X, 40.0, axis=-1, keepdims=True)
np.nanquantile(np.where(F > 0, F, np.nan), [[0.1], [0.9]], axis=0, method="nearest")
np.nanmedian(np.full((2, 2), np.nan), axis=0)
"""

MAKING = """
np.copy(F)
np.fromfunction(lambda i, j: i + 2 * j, (2, 3))
np.fromfunction(lambda i: i * 2, (3,), dtype=int)
np.r_[1:4, 0, 4]
np.r_[V, 0, 2:3:0.5]
np.r_[0:1:5j]
np.r_["0,2", V, V]
np.r_["0,2,0", V, V]
np.r_["1,2,0", V, V]
np.r_["1", F, F]
np.r_[J[0], I[0]]
np.c_[V, V, T[:3]]
np.c_[F, V[:2]]
np.c_["-1", F, F]
np.c_["0,2", V, V]
np.c_["1", F, F]
np.asarray(np.r_["r", V, V])
np.asarray(np.r_["c", V, V])
np.asarray(np.c_["r", V, V])
np.kaiser(4, 2.0)
np.tril_indices_from(F)
"""

SHAPES = """
@F,V,I np.resize(X, (3, 5))
np.resize(V, 2)
np.resize(E, 3)
@F,M np.apply_along_axis(lambda v: v[::-1] * 2, 0, X)
np.apply_along_axis(lambda v: np.outer(v, v), 1, M)
np.apply_along_axis(lambda v, k: v.sum() + k, 1, F, 3)
np.apply_over_axes(np.sum, M, (0, 2))
np.choose([[2, 0], [1, 1]], [10, 20, 30])
np.choose(I[0] % 2, (F[0], F[1]))
np.choose([5, -1, 1], [V, V + 1], mode="clip")
np.piecewise(F, [F < 0, F > 2], [-1.0, lambda v: v * 2])
np.piecewise(I, [I > 2], [lambda v: v + 1, lambda v: v - 1])
@F,I np.pad(X, 2, mode="maximum")
@F,I np.pad(X, (1, 2), mode="minimum")
@F,I np.pad(X, ((1, 0), (0, 2)), mode="mean")
@F,V np.pad(X, 2, mode="median")
@F,I np.pad(X, 2, mode="linear_ramp", end_values=(1, -4))
np.pad(C, 2, mode="linear_ramp", end_values=(1, -4j))
np.pad(V, 0, mode="empty")
np.cross(M[0, :, :3], M[1, :, :3], axisa=0, axisc=0)
np.cross(F[0], V, axis=0)
"""

POLYNOMIALS = """
np.polyadd([1, 2], [1.5, 0, 4])
np.polysub([1, 2, 3], V)
np.polyint(V, 2, k=[1.0, 2.0])
np.polyint([3, 2])
np.polydiv([1.0, 5.0, 7.0, 2.0], [1.0, 2.0])
np.polydiv([1.0], [1.0, 2.0])
np.polyfit([0.0, 1.0, 2.0, 4.0], [1.0, 0.0, 4.0, 9.0], 2)
np.polyfit([0.0, 1.0, 2.0, 4.0], M[0, :, 0][[0, 1, 2, 0]], 1, w=[1.0, 2.0, 1.0, 3.0])
np.poly([1.0, -2.0, 0.5])
np.sort_complex(np.roots([2.0, -3.0, 1.0, 0.0]))
"""


@MODES
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "expression", list(expressions(ELEMENTS, ORDERS, REDUCTIONS, MAKING, SHAPES, POLYNOMIALS))
)
def test_an_expression_has_the_value_it_has_in_numpy(expression, mode):
    require_numpys_value(expression, mode)


@MODES
def test_vectors_of_two_numbers_have_a_cross_product(mode):
    """As in NumPy before 2.5."""
    found = mode(tnp.cross)(np.array([[1, 2], [3, 4]]), np.array([[5, 6, 7], [1, 1, 1]]))
    wanted = np.cross([[1, 2, 0], [3, 4, 0]], [[5, 6, 7], [1, 1, 1]])
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("given", "trim", "expected"),
    [
        ([0, 0, 1, 2, 0], "fb", [1, 2]),
        ([0, 0, 1, 2, 0], "f", [1, 2, 0]),
        ([0, 0, 1, 2, 0], "b", [0, 0, 1, 2]),
        ([0.0, -0.0], "f", []),
        ([0.0, -0.0], "b", []),
        ([], "fb", []),
    ],
)
def test_zeros_at_the_ends_are_trimmed(given, trim, expected):
    assert tnp.trim_zeros(given, trim).tolist() == expected


SLOPES = {
    "cbrt": lambda np, x: np.cbrt(x),
    "ldexp": lambda np, x: np.ldexp(x, [[2], [-1], [0]]) ** 2,
    "frexp": lambda np, x: np.frexp(x)[0] ** 2,
    "i0": lambda np, x: np.i0(x),
    "partition": lambda np, x: (
        np.partition(x, 3, axis=1)[:, 3] ** 2 if np is tnp else np.sort(x, 1)[:, 3] ** 2
    ),
    "sort_complex": lambda np, x: np.sort_complex(x + 1j * x**2).imag,
    "nanmedian": lambda np, x: np.nanmedian(np.where(x > 0.2, x**2, np.nan), axis=0),
    "nanmax": lambda np, x: np.nanmax(x**2, axis=0, where=x > 0.2, initial=0.01),
    "r_": lambda np, x: np.r_[x[0], 2.0, x[:, 1] ** 2],
    "c_": lambda np, x: np.c_[x[0], x[1] ** 2],
    "trim_zeros": lambda np, x: np.trim_zeros([0.0, 1.0, 0.0]) * x[0] ** 2,
    "apply_along_axis": lambda np, x: np.apply_along_axis(lambda v: v * v.sum(), 1, x),
    "choose": lambda np, x: np.choose([0, 1, 1, 0], [x[0] ** 2, x[1]]),
    "piecewise": lambda np, x: np.piecewise(x, [x < 0.3], [lambda v: v**2, lambda v: v**3]),
    "pad mean": lambda np, x: np.pad(x**2, 1, mode="mean"),
    "pad linear_ramp": lambda np, x: np.pad(x**2, 2, mode="linear_ramp"),
    "pad maximum": lambda np, x: np.pad(x**2, 2, mode="maximum"),
    "cross": lambda np, x: np.cross(x[:, :3], x[:, 1:], axisa=0, axisb=0),
    "polyint": lambda np, x: np.polyval(np.polyint(x[0]), x[1]),
    "polydiv": lambda np, x: np.polydiv(x[0], x[1, :2])[0],
    "polyfit": lambda np, x: np.polyfit(x[0], x[1], 2),
    "poly": lambda np, x: np.poly(x[0]),
    "roots": lambda np, x: np.sum(np.abs(np.roots(x[0])) ** 3),
}


@MODES
@pytest.mark.parametrize("name", SLOPES)
def test_gradients_are_those_of_differences(name, mode):
    require_slopes(SLOPES[name], mode)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tnp.ldexp(1.0, 0.5), r"exponent of integers, got float64"),
        (lambda: tnp.gcd(1.5, 2), r"takes integers, got float64"),
        (lambda: tnp.partition(VALUES["V"], 7), r"float64\[3\] has no position 7"),
        (lambda: tnp.lexsort([]), r"at least one key"),
        (lambda: tnp.r_["0;2", 1.0], r"up to three integers.*got '0;2'"),
        (lambda: tnp.piecewise(VALUES["V"], [VALUES["V"] > 0], []), r"1 conditions need as many functions"),
        (lambda: tnp.roots(VALUES["F"]), r"roots takes a vector, got float64\[2,3\]"),
        (lambda: tnp.nanquantile(VALUES["V"], 2.0), r"q is from 0 to 1"),
        (lambda: tf.function(lambda z: tnp.real_if_close(z))(VALUES["C"]), r"real_if_close|value|traced"),
    ],
    ids=range(9),
)
def test_what_has_no_meaning_is_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@MODES
@pytest.mark.parametrize("name, base", [("logaddexp", np.e), ("logaddexp2", 2.0)])
def test_the_logarithm_of_a_sum_of_complex_powers(mode, name, base):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 4)) + 1j * rng.normal(size=(2, 3, 4))
    sizes = lambda f: lambda a, b: tf.reduce_sum(abs(f(a, b)) ** 2 * np.arange(12.0).reshape(3, 4))
    plain = lambda a, b: tnp.log(base**a + base**b) / np.log(base)
    ours = getattr(tnp, name)
    np.testing.assert_allclose(mode(ours)(a, b), np.log(base**a + base**b) / np.log(base), rtol=1e-12)
    for argnum in (0, 1):
        slope, expected = (
            mode(tf.grad(sizes(f), argnum))(tf.constant(a), tf.constant(b)) for f in (ours, plain)
        )
        np.testing.assert_allclose(slope, expected, rtol=1e-10)


@MODES
def test_the_logarithm_of_a_sum_of_complex_powers_does_not_overflow(mode):
    far = mode(tnp.logaddexp)(np.array([1e3 + 1j, -np.inf + 0j]), np.array([0j, -np.inf + 0j]))
    np.testing.assert_array_equal(far, [1e3 + 1j, -np.inf + 0j])


def test_the_logarithm_of_a_sum_has_an_angle_within_half_a_turn():
    assert np.asarray(tnp.logaddexp(4j, -50.0 + 0j)).imag == pytest.approx(4 - 2 * np.pi)


@MODES
def test_polynomials_come_with_what_tells_how_well_they_fit(mode):
    x, y = np.arange(5.0), np.array([1.0, 3.0, 2.0, 5.0, 4.0])
    found = mode(lambda y: tnp.polyfit(x, y, 1, full=True)[:4])(tf.constant(y))
    for got, expected in zip(found, np.polyfit(x, y, 1, full=True), strict=False):
        np.testing.assert_allclose(got, expected)
    assert tnp.polyfit(x, y, 1, full=True)[4] == np.polyfit(x, y, 1, full=True)[4]
    assert tnp.polyfit(x, y, 1, 0.5, True)[4] == 0.5


def test_elements_are_found_and_chosen_by_methods():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert 2.0 in x and 5 not in x and [1.0, 2.0] in x
    np.testing.assert_array_equal(x.compress([False, True], axis=0), [[3.0, 4.0]])
    np.testing.assert_array_equal(x.compress([False, True, True]), [2.0, 3.0])
    with pytest.raises(tf.DtypeError):
        "a" in x  # noqa: B015
    found = tf.function(lambda x: [1.0 in x, 1.0 not in x])
    assert [bool(b) for b in (*found(x), *found(x * 5))] == [True, False, False, True]


def test_reductions_begin_with_one_number():
    for reduce in (tnp.sum, tnp.prod, tnp.max, tnp.min):
        with pytest.raises(tf.ShapeError, match=r"initial(.|\n)*test_numpy_further\.py"):
            reduce(np.ones((2, 3)), initial=np.ones(3))


@pytest.mark.sampled(3)
@MODES
@pytest.mark.parametrize("name", ["quantile", "percentile", "nanquantile", "nanpercentile"])
@pytest.mark.parametrize("axis", [0, None, (2, 0)], ids=str)
def test_quantiles_of_elements_that_count_as_weights_say(mode, name, axis):
    rng = np.random.default_rng(0)
    x, q = rng.normal(size=(3, 4, 5)), np.array([[0.0, 0.25], [0.5, 1.0]]) * (100 if "cent" in name else 1)
    along = (
        () if name.startswith("nan") else (tuple(x.shape[k] for k in np.atleast_1d(axis)),) if axis else ()
    )
    holes = np.where(rng.uniform(size=x.shape) < 0.2, np.nan, x)
    for shape in (x.shape, *along):
        weights = rng.integers(0, 4, size=shape) * 0.25
        for values in (x, holes, (x * 9).astype(np.int64), x.astype(np.float32)):
            given = {"axis": axis, "method": "inverted_cdf", "keepdims": shape == x.shape}
            expected = getattr(np, name)(values, q, weights=weights, **given)
            got = mode(lambda x, w: getattr(tnp, name)(x, q, weights=w, **given))(values, weights)  # noqa: B023
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)


@MODES
def test_the_slope_of_a_weighted_quantile_is_that_of_its_element(mode):
    median = lambda x: tnp.quantile(x, 0.5, weights=[1.0, 1.0, 5.0], method="inverted_cdf")
    assert mode(tf.grad(median))(tf.constant([3.0, 1.0, 2.0])).numpy().tolist() == [0.0, 0.0, 1.0]


def test_weights_that_quantiles_refuse():
    quantile = lambda q=0.5, weights=(1.0, 2.0), method="inverted_cdf": tnp.quantile(
        np.ones(2), q, weights=weights, method=method
    )
    for arguments, message in (
        ({"method": "linear"}, "with weights the method is inverted_cdf, got 'linear'"),
        ({"weights": (1.0, -1.0)}, "a weight is less than 0"),
        ({"weights": (1.0, 1.0, 1.0)}, "is needed"),
        ({"q": 2.0}, "q is from 0 to 1"),
    ):
        with pytest.raises(ValueError, match=message):
            quantile(**arguments)
    for weights, q in ((np.ones(2), 1.5), (-np.ones(2), 0.5)):
        with pytest.raises(ValueError):
            tf.function(lambda w, q: quantile(q, w))(weights, q)
