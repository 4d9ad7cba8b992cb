"""``tracejit.numpy`` against NumPy: where sums, spaces, bins and lines come to an end; what dtypes there are."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp
from checks.numpy_expressions import MODES, VALUES, X, expressions, require_numpys_value, require_slopes

F, V, T = (VALUES[name] for name in "FVT")

TEXTS = """
np.geomspace(1, 256, num=9, dtype=int)
np.geomspace(-1.0, -1000.0, 4)
np.logspace(2.0, 3.0, num=4, base=[2.0, 3.0], axis=-1)
np.logspace([0.0, 1.0], 2.0, num=3, base=[[2.0], [3.0]])
np.unwrap([0, 1, 2, -1, 0], period=4)
@I,J,F np.unwrap(X, period=3, axis=0)
np.unwrap(F, period=2)
@I,F np.roll(X, np.array([1, 2]))
np.roll(2.0, np.array([1, 2]))
np.diagonal(E, 1)
np.diagonal(E.T, -2)
np.choose(B, [F, 2.0 * F])
np.choose(I, [V, T[:3]], mode="wrap")
"""


@MODES
@pytest.mark.parametrize("expression", list(expressions(TEXTS)))
def test_an_expression_has_the_value_it_has_in_numpy(expression, mode):
    require_numpys_value(expression, mode)


SLOPES = [
    lambda np, x: np.geomspace(x[0] ** 2 + 1.0, x[1] ** 2 + 9.0, 4),
    lambda np, x: np.logspace(x[0], x[1], 3, base=x[2] ** 2 + 2.0),
    lambda np, x: np.unwrap(3.0 * x, period=2.0, axis=1) ** 2,
    lambda np, x: np.choose(x > 0.5, [x**2, x**3]),
]


@MODES
@pytest.mark.parametrize("f", SLOPES, ids=range(len(SLOPES)))
def test_gradients_are_those_of_differences(f, mode):
    require_slopes(f, mode)


HALF = np.full(3000, 100.0, np.float16)
MEANS = {
    "all": (tnp.mean, 100.0),
    "some": (lambda x: tnp.mean(x, where=x > 0), 100.0),
    "numbers": (tnp.nanmean, 100.0),
    "TensorFlow's": (tf.reduce_mean, 100.0),
    "slope": (tf.grad(lambda x: tnp.sum(tnp.mean(x * x))), 200.0 / 3000),
}


@MODES
@pytest.mark.parametrize("name", MEANS)
def test_the_mean_of_float16_is_there_where_the_sum_is_infinite(mode, name):
    f, wanted = MEANS[name]
    found = mode(f)(HALF)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, np.float16(wanted), rtol=1e-3)
    tiny = np.full(100_000, 1e-5, np.float16)  # their number is infinite in float16
    np.testing.assert_array_equal(mode(tnp.mean)(tiny), np.mean(tiny))


@MODES
def test_the_spacing_of_float16_is_numpys(mode):
    x = np.array([0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 6e-8, -6e-8, -1e-4, -65504.0, np.nan, np.inf], np.float16)
    with np.errstate(invalid="ignore"):
        wanted = np.spacing(x)
    np.testing.assert_array_equal(mode(tnp.spacing)(x), wanted)


@MODES
@pytest.mark.parametrize("rule", ["auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt"])
def test_bins_by_numpys_rules(mode, rule):
    x = np.sin(np.arange(40.0)) ** 3
    wanted = np.histogram(x, rule)
    for found, value in zip(mode(lambda: tnp.histogram(x, rule))(), wanted, strict=True):
        np.testing.assert_allclose(found, value)
    with pytest.raises(tf.SymbolicValue):
        tf.function(lambda x: tnp.histogram_bin_edges(x, rule))(x)


PLACES = np.array([-1.0, 0.5, 1.0, 1.5, 3.0, 4.25])


@MODES
@pytest.mark.parametrize(
    "sides", [("extrapolate", None), (None, "extrapolate"), ("extrapolate", "extrapolate")]
)
def test_the_outermost_lines_may_go_on(mode, sides):
    xs, ys = np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 50.0])
    left, right = 10.0 * PLACES, 30.0 * PLACES - 40.0
    wanted = np.interp(PLACES, xs, ys)
    wanted = np.where((PLACES < 1) & (sides[0] is not None), left, wanted)
    wanted = np.where((PLACES > 3) & (sides[1] is not None), right, wanted)
    line = mode(lambda x: tnp.interp(x, xs, ys, *sides))
    np.testing.assert_allclose(line(PLACES), wanted)
    slope = mode(tf.grad(lambda x: tnp.sum(tnp.interp(x, xs, ys, *sides) ** 2)))(np.array([-1.0, 5.0]))
    ends = [-200.0 if sides[0] else 0.0, 2 * 110.0 * 30.0 if sides[1] else 0.0]
    np.testing.assert_allclose(slope, ends)
    if sides[1]:
        np.testing.assert_allclose(mode(tf.grad(lambda x: tnp.interp(x, xs, ys, *sides)))(3.0), 30.0)


def test_slopes_of_extended_lines_are_those_of_differences():
    for mode in (lambda f: f, tf.function):
        require_slopes(_extended, mode)


def _extended(np, x):
    """Past both ends of two points, which NumPy has no word for."""
    at, (low, high) = x[:2], ((0.0, x[2, 0] ** 2), (1.0, x[2, 1] ** 2 + 1.0))
    if np is tnp:
        points = tnp.array([low[0], high[0]])
        return tnp.interp(at, points, tnp.stack([low[1], high[1]]), "extrapolate", "extrapolate")
    return low[1] + at * (high[1] - low[1])


REFUSED = [
    (lambda: tnp.interp(0.5, [0.0, 1.0], [1.0, 2.0], left="on"), ValueError, "extrapolate"),
    (lambda: tnp.interp(0.5, [0.0, 1.0], [1.0, 2.0, 3.0]), ValueError, "of one size"),
    (lambda: tnp.choose([0, 2], [V, V]), ValueError, "invalid entry in choice array"),
    (lambda: tf.function(lambda k: tnp.choose(k, [V, V]))([0, -1, 1]), ValueError, "invalid entry"),
    (lambda: tnp.bincount([0.5, 1.0]), TypeError, "counts integers"),
    (lambda: tnp.histogram_bin_edges(F, "automatic"), ValueError, "automatic"),
    (lambda: tnp.array([1, 2], dtype=object), TypeError, "as_string"),
    (lambda: tnp.array([1, 2], dtype="datetime64[s]"), TypeError, "numbers and bools"),
    (lambda: tnp.array([(1, 2)], dtype=[("a", "i4"), ("b", "i4")]), TypeError, "numbers and bools"),
]


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_has_no_meaning_is_refused_each_time(call, kind, message):
    for _ in range(2):
        with pytest.raises(kind, match=message):
            call()


def test_what_is_no_array_of_numbers_is_not_complex():
    assert not tnp.iscomplexobj(None) and tnp.isrealobj("x")
    assert tnp.iscomplexobj(tf.constant(VALUES["C"])) and not tnp.iscomplexobj(X)


PARTS = (np.inf, -np.inf, 0.0, -0.0, 1.0, -2.0, np.nan)
PLANE = np.array([complex(a, b) for a in PARTS for b in PARTS])


@MODES
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", (np.complex128, np.complex64))
@pytest.mark.parametrize("name", ("sign", "log2", "log10"))
def test_infinite_complex_numbers_have_directions_and_logarithms(name, dtype, mode):
    found, expected = (
        mode(getattr(tnp, name))(PLANE.astype(dtype)).numpy(),
        getattr(np, name)(PLANE.astype(dtype)),
    )
    assert found.dtype == expected.dtype
    for part in ("real", "imag"):
        np.testing.assert_allclose(getattr(found, part), getattr(expected, part), rtol=1e-6)


@MODES
@pytest.mark.parametrize("name", ("sign", "log2", "log10", "exp2"))
def test_slopes_of_complex_functions_by_their_parts(name, mode):
    f = lambda np, x: getattr(np, name)(x + 1j * (x + 0.5) ** 2)
    require_slopes(lambda np, x: np.real(f(np, x)) + 2.0 * np.imag(f(np, x)), mode)


@MODES
def test_the_sign_of_an_infinite_number_has_no_slope(mode):
    slope = mode(tf.grad(lambda z: tf.reduce_sum(tf.math.real(tnp.sign(z)))))
    np.testing.assert_array_equal(
        slope(tf.constant([complex(np.inf, 1.0), complex(0.0, -np.inf), 0j])), [0, 0, 0]
    )


@MODES
@pytest.mark.parametrize("dtype", ("uint8", "int16", "int64", "bool", "float32"))
def test_the_bessel_function_of_integers_is_float64(dtype, mode):
    x = np.array([3, 250, 0, 1]).astype(dtype)
    found, expected = mode(tnp.i0)(x), np.i0(x)
    assert found.dtype == expected.dtype
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == "float32" else 1e-13)
