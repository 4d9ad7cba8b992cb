"""Special functions: values as SciPy has them, derivatives of two orders, compiled as eagerly, poles and ends."""

from __future__ import annotations

import math as of_one

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.op import OPS
from tracejit.ops.elementwise.formulas.near_and_far import FORMULAS

special = pytest.importorskip("scipy.special")
math = tf.math

X = np.concatenate([np.linspace(-4.7, 30, 60), [1e3, 1e-8, 150.0]])
UNIT = np.concatenate([np.linspace(-0.99, 0.99, 41), [1e-20, 1 - 1e-15, 1.0, -1.0]])
PARTS = np.concatenate([np.linspace(0.0, 1.0, 41), [1e-300, 1 - 1e-15]])
WIDE = np.concatenate([np.linspace(-100, 100, 201), [1e-9, 1e5, 39.99, 40.01]])
VALUES = {
    "lgamma": (math.lgamma, special.gammaln, np.abs(X)),
    "digamma": (math.digamma, special.digamma, X),
    "trigamma": (lambda x: math.polygamma(1, x), lambda x: special.polygamma(1, x), X),
    "a higher one": (lambda x: math.polygamma(5, x), lambda x: special.polygamma(5, x), np.abs(X)),
    "multigammaln": (
        lambda x: math.multigammaln(x, 3),
        lambda x: special.multigammaln(x, 3),
        np.array([1.5, 4.0]),
    ),
    "erfinv": (math.erfinv, special.erfinv, UNIT),
    "ndtri": (math.ndtri, special.ndtri, PARTS),
    "bessel_i0e": (math.bessel_i0e, special.i0e, WIDE),
    "bessel_i1e": (math.bessel_i1e, special.i1e, WIDE),
    "bessel_i0": (math.bessel_i0, special.i0, WIDE[60:140]),
    "bessel_i1": (math.bessel_i1, special.i1, WIDE[60:140]),
}
POINTS = {"erfinv": 0.3, "ndtri": 0.7, "multigammaln": 3.3}


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    f, wanted, x = VALUES[name]
    np.testing.assert_allclose(f(tf.constant(x)), wanted(x), rtol=2e-13, atol=1e-13)


@pytest.mark.parametrize("name", VALUES)
def test_derivatives_of_two_orders(name):
    f, h = VALUES[name][0], 1e-5
    for x in (POINTS.get(name, 1.3), POINTS.get(name, 2.7)):
        g = f
        for _ in range(2):
            slope = (g(tf.constant(x + h, "float64")) - g(tf.constant(x - h, "float64"))) / (2 * h)
            g = tf.grad(g)
            np.testing.assert_allclose(g(tf.constant(x, "float64")), slope, rtol=1e-6)


def nth(f, order):
    """The derivative of this order, element by element."""
    for _ in range(order):
        f = tf.grad(lambda x, f=f: tf.reduce_sum(f(x)))
    return f


def test_the_slopes_of_bessel_functions_near_zero():
    assert tf.grad(math.bessel_i1e)(tf.constant(0.0)).item() == 0.5
    x = np.array([0.0, 1e-300, 1e-20, 1e-8, 0.5])
    i = [special.iv(k, x) for k in range(5)]
    wanted = {1: (i[0] + i[2]) / 2, 2: (3 * i[1] + i[3]) / 4, 3: (3 * i[0] + 4 * i[2] + i[4]) / 8}
    for order, slope in wanted.items():
        for f in (lambda f: f, tf.function):
            found = f(nth(math.bessel_i1, order))(tf.constant(x))
            np.testing.assert_allclose(found, slope, rtol=1e-13, atol=1e-15)


def test_bessel_functions_of_tiny_and_huge_numbers():
    tiny = np.array([1e-310, 1e-300, 1e-20, 0.99e-9, 1.01e-9])
    for k in range(4):
        np.testing.assert_allclose(tf.scipy.special.jn(k, tiny), special.jv(k, tiny), rtol=1e-13, atol=1e-300)
        np.testing.assert_allclose(tf.scipy.special.yn(k, tiny[2:]), special.yn(k, tiny[2:]), rtol=1e-13)
    assert tf.scipy.special.yn(3, 1e-300).item() == -np.inf
    # where exp(x) alone is infinite, and where 2 pi x is
    wanted = special.ive(0, 713.0) * np.exp(700.0) * np.exp(13.0)
    assert math.bessel_i0(tf.constant(713.0, "float64")).item() == pytest.approx(wanted)
    assert math.bessel_i0(tf.constant(1.7e308, "float64")).item() == np.inf


@pytest.mark.filterwarnings("ignore")
def test_polygamma_of_negative_numbers():
    far = np.array([-0.5, -17.25, -1000.25, -1e6 - 0.25])
    cotangents, squared_sines = np.array([0.0, -1.0, -1.0, -1.0]), np.array([1.0, 0.5, 0.5, 0.5])
    wanted = special.digamma(1 - far) - np.pi * cotangents
    np.testing.assert_allclose(math.digamma(tf.constant(far)), wanted, rtol=1e-12)
    wanted = np.pi**2 / squared_sines - special.polygamma(1, 1 - far)
    np.testing.assert_allclose(math.polygamma(1, tf.constant(far)), wanted, rtol=1e-12)
    np.testing.assert_array_equal(math.digamma(tf.constant([-1.0, -30.0, 0.0])), [np.nan, np.nan, -np.inf])
    assert np.isnan(tf.grad(math.lgamma)(tf.constant(-2.0)).item())


def test_incomplete_functions_have_relative_accuracy_in_their_tails():
    """Values and slopes of their logarithms; the slopes by mpmath."""
    x = np.array([1e-10, 1e-5, 1e-3])
    np.testing.assert_allclose(math.igamma(20.0, tf.constant(x)), special.gammainc(20.0, x), rtol=1e-12)
    slopes = [
        (math.igamma, 10.0, 1e-5, -13.864678136681634),
        (math.igamma, 30.0, 1e-3, -10.325527785614175),
        (math.igammac, 2.0, 100.0, 4.192384880021176),
        (math.igammac, 0.5, 300.0, 7.670609322702482),
        (lambda a, x: math.betainc(a, 2.0, x), 10.0, 1e-4, -9.11943210758851),
        (math.zeta, 10.0, 1e-3, -np.log(1e-3)),
    ]
    for f, a, x, wanted in slopes:
        found = tf.grad(lambda a, f=f, x=x: tf.math.log(f(a, tf.constant(x, "float64"))))
        assert found(tf.constant(a, "float64")).item() == pytest.approx(wanted, rel=1e-6)
    slope = tf.grad(math.zeta)(tf.constant(100.0, "float64"), 1.0)
    assert slope.item() == pytest.approx(-np.log(2.0) * 2.0**-100)


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_slopes_where_a_selection_hid_them(mode):
    """Where values are 0 by definition, or smooth between pieces, slopes are not 0."""
    names = tf.scipy.special

    def at(f, *xs):
        slopes = mode(tf.grad(f, argnums=tuple(range(len(xs)))))(*map(tf.constant, xs))
        return [slope.item() for slope in slopes]

    np.testing.assert_allclose(at(names.xlogy, 0.0, 2.0), [np.log(2.0), 0.0], rtol=1e-6)
    np.testing.assert_allclose(at(names.xlog1py, 0.0, 2.0), [np.log(3.0), 0.0], rtol=1e-6)
    np.testing.assert_allclose(at(names.entr, 0.0), [np.inf])
    found = [at(names.rgamma, x)[0] for x in (0.0, -1.0, -3.0)]
    np.testing.assert_allclose(found, [1.0, -1.0, -6.0], rtol=1e-6)
    assert np.isnan(at(names.log_ndtr, np.nan)) and np.isnan(at(names.entr, np.nan))

    one, x = np.float64(1.0), np.float64(0.3)
    gamma = at(tf.scipy.stats.gamma.logpdf, x, one)
    np.testing.assert_allclose(gamma, [-1.0, np.log(0.3) + np.euler_gamma], rtol=1e-12)
    beta = at(tf.scipy.stats.beta.logpdf, x, one, one)
    np.testing.assert_allclose(beta, [0.0, np.log(0.3) + 1.0, np.log(0.7) + 1.0], rtol=1e-12)


def test_acosh_at_its_end():
    x = tf.constant([1.0, 2.0, 0.5, -2.0], "float64")
    for f in (lambda f: f, tf.function):
        np.testing.assert_allclose(f(nth(math.acosh, 1))(x), [np.inf, 3**-0.5, np.nan, np.nan])
        np.testing.assert_allclose(f(nth(math.acosh, 2))(x), [-np.inf, -2 * 3**-1.5, np.nan, np.nan])


def test_products_with_logarithms_of_numbers_close_to_one():
    np.testing.assert_allclose(
        tf.scipy.special.xlog1py(2.0, [1e-20, -0.5]), [2e-20, 2 * np.log(0.5)], rtol=1e-15
    )


def test_compiled_as_eagerly():
    def f(x):
        return math.lgamma(x) + math.digamma(x) + math.bessel_i1e(x)

    x = tf.constant(np.array([0.5, 2.5]))
    np.testing.assert_allclose(tf.function(f)(x), f(x), rtol=4e-15)


def test_what_is_refused():
    for _ in range(3):  # by the shape rule, and by the kernel alone
        with pytest.raises(ValueError, match="0 or more"):
            math.polygamma(-1, 1.0)
    with pytest.raises(tf.errors.DtypeError, match="lgamma"):
        math.lgamma(1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_erfc_keeps_its_digits_in_the_tail(dtype):
    x = np.linspace(-3.0, {"float32": 9.0, "float64": 26.0}[dtype], 400, dtype=dtype)
    wanted = [of_one.erfc(v) for v in x.tolist()]
    for f in (math.erfc, tf.function(math.erfc)):
        np.testing.assert_allclose(f(x), wanted, rtol=4 * np.finfo(dtype).eps)
        assert f(np.array([np.inf, -np.inf, 40.0], dtype)).numpy().tolist() == [0.0, 2.0, 0.0]


def test_error_functions_of_complex_numbers():
    x, y = np.meshgrid(np.concatenate([np.linspace(-4, 4, 33), [9.0, -1e-9]]), np.linspace(-5, 5, 41))
    z = x + 1j * y
    for f, wanted in ((math.erf, special.erf), (math.erfc, special.erfc)):
        np.testing.assert_allclose(f(z), wanted(z), rtol=2e-13)
        np.testing.assert_array_equal(tf.function(f)(z), f(z))
        np.testing.assert_allclose(f(z.astype("c8")), wanted(z.astype("c8")), rtol=2e-6)
        assert (
            f(np.array([np.inf, -np.inf, 30 + 1j])).numpy().tolist() == wanted([np.inf, -np.inf, 30]).tolist()
        )
    at = 0.3 + 0.4j
    slope = (math.erf(at + 1e-6) - math.erf(at - 1e-6)) / 2e-6
    np.testing.assert_allclose(np.conj(tf.grad(lambda z: tf.math.real(math.erf(z)))(at)), slope, rtol=1e-8)


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_one_number_is_as_one_of_an_array(name):
    x = np.array(
        [0.0, 1.0, 2.0, 0.3, 0.9, 3.5, 9.0, 40.0, 5e-324, 1e-20, 1e300, 2.0**52 + 1, np.inf, np.nan, 0.5]
    )
    x = np.concatenate([x, -x, 1 - np.array([1e-16, 1e-12])])
    kernel = OPS[name].kernel
    alone = np.array([kernel(np.asarray(v)) for v in x])
    np.testing.assert_allclose(alone, kernel(x), rtol=1e-14)
    numbers = ~np.isnan(alone)
    np.testing.assert_array_equal(np.signbit(alone)[numbers], np.signbit(kernel(x))[numbers])


@pytest.mark.parametrize("name", ("gammainc", "gammaincc", "betainc"))
def test_distributions_of_which_all_is_at_one_point(name):
    if np.isnan(special.gammainc(np.inf, 1.0)):
        pytest.skip("SciPy before 1.16 has no such limits")
    of_scipy, ours = getattr(special, name), getattr(tf.scipy.special, name)
    shapes = [0.0, 0.5, 1.0, 2.0, np.inf, -np.inf, np.nan, -1.0]
    last = [0.0, 0.5, 1.0, -0.5, 1.5, np.nan] if name == "betainc" else shapes
    given = [v.ravel() for v in np.meshgrid(*[shapes] * (name == "betainc"), shapes, last)]
    for f in (ours, tf.function(ours)):
        np.testing.assert_allclose(f(*given), of_scipy(*given), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize(
    "a, b",
    [
        ([-1000, -2], [1, 0]),
        ([0, np.inf], [1, 0]),
        ([0, np.nan], [1, 0]),
        ([0, 1000], [2, 0]),
        ([1, 2], [0, 0]),
    ],
    ids=range(5),
)
def test_the_logarithm_of_a_sum_leaves_out_what_weighs_nothing(a, b):
    a, b = np.array(a, float), np.array(b, float)
    ours = lambda a, b: tf.scipy.special.logsumexp(a, b=b)
    with np.errstate(divide="ignore"):
        expected = special.logsumexp(a, b=b)
    for f in (ours, tf.function(ours)):
        np.testing.assert_allclose(f(a, b), expected, rtol=1e-14)
    if b.any():
        for slope in (tf.grad(ours), tf.function(tf.grad(ours))):
            np.testing.assert_array_equal(slope(tf.constant(a), tf.constant(b)), [1.0, 0.0])


def test_the_logarithm_of_a_sum_has_the_shape_of_numbers_and_weights():
    a, b = np.array([[1.0, 2.0, 3.0]]), np.array([[1.0], [0.5]])
    ours = lambda a, b: tf.scipy.special.logsumexp(a, 0, b)
    np.testing.assert_allclose(ours(a, b), special.logsumexp(a, 0, b), rtol=1e-14)
    slope = tf.grad(lambda b: tf.reduce_sum(ours(a, b)))(tf.constant(b))
    np.testing.assert_allclose(slope, np.full((2, 1), 3 / 1.5), rtol=1e-14)


OUTSIDE = np.array([-1.1, 0.0, 0.5, 2.0, np.nan])
AT = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, np.nan, np.inf])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        *(
            f"{family}.{f}"
            for family in ("beta", "gamma", "chi2", "t", "norm")
            for f in ("logpdf", "pdf", "cdf")
        ),
        *("poisson.logpmf", "poisson.pmf", "poisson.cdf", "norm.sf", "norm.logcdf"),
    ],
)
def test_a_distribution_without_such_parameters_has_no_density(name):
    stats = pytest.importorskip("scipy.stats")
    family, of = name.split(".")
    at = AT[:-1] if family == "poisson" else AT
    given = np.meshgrid(at, *[OUTSIDE] * (2 if family in ("beta", "norm") else 1))
    expected, ours = (getattr(getattr(m, family), of) for m in (stats, tf.scipy.stats))
    for f in (ours, tf.function(ours)):
        np.testing.assert_allclose(f(*given), expected(*given), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_the_logarithm_of_a_sum_and_its_sign(run):
    def ours(a, b):
        return tf.scipy.special.logsumexp(a, 1, b, keepdims=True, return_sign=True)

    a, b = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 1.0]]), np.array([[1.0, -2.0], [-1.0, 3.0], [1.0, -1.0]])
    with np.errstate(divide="ignore"):
        expected = special.logsumexp(a, 1, b, keepdims=True, return_sign=True)
    for found, wanted in zip(run(ours)(a, b), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    sizes = run(tf.grad(lambda a: tf.reduce_sum(ours(a, b[:2])[0])))(tf.constant(a[:2])).numpy()
    terms = b[:2] * np.exp(a[:2])
    np.testing.assert_allclose(sizes, terms / terms.sum(1, keepdims=True), rtol=1e-13)
    squares = lambda a: tf.reduce_sum(tf.grad(lambda a: tf.reduce_sum(ours(a, b[:2])[0]))(a) ** 2)
    step, h = np.array([[0.3, -0.2], [0.5, 0.7]]), 1e-6
    slope = np.sum(run(tf.grad(squares))(tf.constant(a[:2])).numpy() * step)
    near = [float(squares(tf.constant(a[:2] + s * step))) for s in (h, -h)]
    np.testing.assert_allclose(slope, (near[0] - near[1]) / (2 * h), rtol=1e-6)
    for a, b in (([np.inf, 1.0], [-1.0, 1.0]), ([-np.inf, -np.inf], None), ([1.0, 2.0], None)):
        with np.errstate(divide="ignore"):
            expected = special.logsumexp(a, b=b, return_sign=True)
        found = run(lambda a, b=b: tf.scipy.special.logsumexp(a, b=b, return_sign=True))(np.array(a))
        np.testing.assert_allclose([y.numpy() for y in found], expected, rtol=1e-14)


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_the_logarithm_of_a_sum_of_some_elements(run):
    a, where = np.array([1.0, np.nan, 3.0, np.inf]), np.array([True, False, True, False])
    ours = lambda a: tf.scipy.special.logsumexp(a, where=where)
    np.testing.assert_allclose(run(ours)(a), special.logsumexp(a[where]), rtol=1e-14)
    np.testing.assert_allclose(
        run(tf.grad(ours))(tf.constant(a)), [1 / (1 + np.e**2), 0.0, 1 / (1 + np.e**-2), 0.0], rtol=1e-13
    )
    weighted = tf.scipy.special.logsumexp(a, b=[2.0, 1.0, -0.1, 1.0], return_sign=True, where=where)
    total = 2 * np.e - 0.1 * np.e**3
    np.testing.assert_allclose([y.numpy() for y in weighted], [np.log(abs(total)), np.sign(total)], rtol=1e-13)


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_ways_to_take_things_again(run):
    n, k = np.array([5.0, 5.0, 0.0, 0.0, 3.5, 30.0]), np.array([2.0, 0.0, 0.0, 2.0, 2.0, 20.0])
    again = lambda n, k: tf.scipy.special.comb(n, k, repetition=True)
    np.testing.assert_allclose(run(again)(n, k), special.comb(n, k, repetition=True), rtol=1e-13)
    slope = run(tf.grad(lambda n: again(n, 2.0)))(tf.constant(3.5))
    np.testing.assert_allclose(slope, (2 * 3.5 + 1) / 2, rtol=1e-6)  # n (n + 1) / 2
    bend = run(tf.grad(tf.grad(lambda n: again(n, 2.0))))(tf.constant(np.float64(3.5)))
    np.testing.assert_allclose(bend, 1.0, rtol=1e-8)
