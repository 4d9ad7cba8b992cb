"""``tracejit.scipy`` against SciPy: values, and derivatives along every argument, eager and compiled."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.scipy import signal, special, stats

scipy_special = pytest.importorskip("scipy.special")
import scipy.signal  # noqa: E402
import scipy.stats  # noqa: E402

X = np.array([0.3, 0.7, 1.5, 2.2])
Y = np.array([1.25, 0.4, 2.0, 0.9])
Z = np.array([-2.0, 0.5, 3.0, -0.1])

#: What is not called with X alone.
ARGUMENTS = {
    **dict.fromkeys(("erfinv", "ndtri", "logit"), (X / 3,)),
    **dict.fromkeys(("jn", "yn", "polygamma"), (2, X)),
    **dict.fromkeys(("iv", "ive"), (2.5, X)),
    **dict.fromkeys(("beta", "betaln", "gammainc", "gammaincc", "xlogy", "xlog1py"), (Y, X)),
    **dict.fromkeys(("rel_entr", "kl_div", "huber", "pseudo_huber", "comb", "poch"), (Y, X)),
    "expn": (3, X),
    "erfcinv": (X / 2,),
    "log_ndtr": (np.array([-40.0, -5.01, -4.99, 3.0]),),
    "multigammaln": (X + 3, 2),
    "betainc": (X, Y, X / 3),
    "zeta": (Y + 1.5, X),
    "wofz": (Z + 1j * Y,),
    "voigt_profile": (Z, X, Y),
}


@pytest.mark.parametrize("name", special.__all__)
def test_special_functions(name):
    arguments = ARGUMENTS.get(name, (X,))
    found, wanted = getattr(special, name)(*arguments), getattr(scipy_special, name)(*arguments)
    for one, value in zip(found, wanted, strict=True) if isinstance(found, tuple) else [(found, wanted)]:
        assert one.dtype == (np.complex128 if name == "wofz" else np.float64)
        np.testing.assert_allclose(one, value, rtol=1e-11, atol=1e-14)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("gammainc", ([0.0, 2.0, 2.0, -1.0, 30.0], [1.0, 0.0, np.inf, 1.0, 900.0])),
        ("gammaincc", ([0.0, 2.0, 2.0, -1.0, 30.0], [1.0, 0.0, np.inf, 1.0, 90.0])),
        ("betainc", ([1.0, 2.0, 0.5, -1.0], 2.0, [0.0, 1.0, 1.5, 0.5])),
        ("zeta", ([1.0, 2.0, 0.5], 1.0)),
        ("jn", (0, [0.0, -3.0, 200.0, np.nan])),
        ("jn", (3, [0.0, -3.0, 200.0, 0.001])),
        ("yn", (1, [200.0, 0.001, np.nan])),
        ("ive", (1, [0.0, -3.0, 500.0])),
        ("gamma", ([-0.5, -1.5, 4.0],)),
        ("rgamma", ([0.0, -3.0, -2.5],)),
        ("beta", ([-0.5, -1.5, -0.5, -1.5, 2.5], [0.25, 0.25, -1.25, 2.0, -0.5])),
        ("entr", ([0.0, -1.0, 2.0],)),
        ("xlogy", ([0.0, 0.0, 1.0], [0.0, np.nan, 0.0])),
        ("logsumexp", ([-np.inf, -np.inf],)),
        ("gammaln", ([],)),
        *((name, ([0.0, 0.01, 1.0, 1.001, 5.0, 80.0, 700.0, np.inf, np.nan, -1.0],)) for name in ("exp1", "expi")),
        *(("expn", (n, [0.0, 0.01, 1.0, 1.001, 5.0, 80.0, np.inf, np.nan, -1.0])) for n in (0, 1, 2, 7)),
        ("expi", ([-80.0, -1.0, -0.01, 39.9, 40.1],)),
        ("dawsn", ([0.0, -0.0, 0.99, -1.01, 7.0, 50.5, -1e9, np.inf, np.nan],)),
        ("erfcx", ([0.0, -3.0, -27.0, 0.99, 7.0, 50.5, 1e9, np.inf, -np.inf, np.nan],)),
        *((name, ([0.0, -0.0, 0.3, -1.39, 3.0, 50.5, 1e9, np.inf, np.nan],)) for name in ("sici", "fresnel")),
        ("wofz", ([0.0, 3.0, 2.0 - 1e-3j, -1.0 - 2.0j, 30.0 - 29.0j, 1e200 + 1e-3j, 1e-300j],)),
        (
            "voigt_profile",
            ([0.0, 1.0, -2.0, np.inf, np.nan, 3.0], [1.0, 0.5, 2.0, 1.0, 1.0, 0.01], [0.0, 1.0, 0.3, 1.0, 1.0, 0.02]),
        ),
        ("voigt_profile", ([0.0, 1.0, -2.0, np.inf, 0.0, 1.0], 0.0, [1.0, 2.0, 0.5, 1.0, 0.0, 0.0])),
        ("spence", ([0.0, 0.3, 0.5, 1.0, 1.3, 2.0, 3.0, 1e9, -1.0, np.nan],)),
        ("rel_entr", ([0.0, 0.0, 1.0, -1.0, 1.0, 1.0, 2.0, 0.0], [0.0, 2.0, 0.0, 1.0, -1.0, np.nan, 1e-320, np.inf])),
        ("kl_div", ([0.0, 0.0, 1.0, -1.0, 1.0, 1.0, 0.0], [0.0, 2.0, 0.0, 1.0, -1.0, np.nan, np.inf])),
        ("huber", ([1.0, 1.0, 0.0, -1.0, np.inf, np.nan], [-5.0, 1.0, 3.0, 1.0, 2.0, 1.0])),
        ("pseudo_huber", ([1.0, 1e-3, 0.0, -1.0, 1e5], [-5.0, 1e9, 3.0, 1.0, 1e-5])),
        ("comb", ([3.0, 3.0, -1.0, 5.5, 60.0, 0.0, 1e5, 200.0], [4.0, -1.0, 1.0, 2.25, 30.0, 0.0, 99_998.0, 100.0])),
        ("poch", ([3.0, -2.5, 1e4, 40.0, 0.5], [2.0, 4.25, 3.0, -20.5, 0.0])),
        ("factorial", ([0.0, -1.0, -0.5, 5.0, 20.0, 170.0, 171.0, np.nan],)),
        ("log_expit", ([-800.0, 0.0, 800.0],)),
    ],
)
def test_special_functions_at_their_ends(name, arguments):
    found, wanted = getattr(special, name)(*arguments), getattr(scipy_special, name)(*arguments)
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", ["gammainc", "gammaincc", "betainc", "zeta"])
def test_derivatives_along_parameters(name, mode):
    """Of first and second order, along all arguments at once."""
    given = tuple(np.asarray(a) for a in ARGUMENTS[name])
    ways = [np.cos(k + np.arange(4.0)) for k in range(len(given))]

    def along(f, step=1e-5):
        ends = (f(*(x + s * w for x, w in zip(given, ways, strict=True))) for s in (step, -step))
        return np.subtract(*map(np.asarray, ends)) / (2 * step)

    def slope(*xs):
        return tf.jvp(getattr(special, name), xs, tuple(tf.constant(w) for w in ways))[1]

    np.testing.assert_allclose(mode(slope)(*given), along(getattr(scipy_special, name)), rtol=1e-6, atol=1e-8)
    if mode is not tf.function:
        second = tf.jvp(slope, given, tuple(tf.constant(w) for w in ways))[1]
        np.testing.assert_allclose(second, along(slope), rtol=1e-6, atol=1e-7)
        back = tf.grad(lambda *xs: tf.reduce_sum(slope(*xs)), argnums=tuple(range(len(given))))(*given)
        forth = sum(np.sum(g.numpy() * w) for g, w in zip(back, ways, strict=True))
        assert forth == pytest.approx(np.sum(along(slope)), rel=1e-5)


@pytest.mark.parametrize("name", ["comb", "factorial"])
def test_what_is_counted_is_whole(name):
    n = np.arange(13.0)
    found = special.factorial(n) if name == "factorial" else special.comb(30.0, n)
    np.testing.assert_array_equal(found, getattr(scipy_special, name)(*([n] if name == "factorial" else [30, n])))
    assert special.comb(10**6, 2) == 499_999_500_000


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_over_some_axes(name, axis):
    x = np.sin(np.arange(24.0)).reshape(2, 3, 4) * 400.0
    for mode in (lambda f: f, tf.function):
        found = mode(lambda x: getattr(special, name)(x, axis))(x)
        np.testing.assert_allclose(found, getattr(scipy_special, name)(x, axis), rtol=1e-11, atol=1e-13)


#: Functions of one number or two, and where their derivatives are taken.
SMOOTH = {
    **dict.fromkeys(("exp1", "expi", "factorial", "log_expit", "dawsn", "erfcx"), (np.array([0.3, 1.2, 4.0, 19.0]),)),
    **dict.fromkeys(("sici", "fresnel"), (np.array([-2.7, 0.4, 1.2, 5.5]),)),
    "spence": (np.array([0.3, 0.9, 1.2, 4.0]),),
    "voigt_profile": (Z, X, Y),

    "expn": (np.array([0.3, 1.2, 4.0, 19.0]),),
    **dict.fromkeys(("rel_entr", "kl_div"), (X, Y)),
    **dict.fromkeys(("huber", "pseudo_huber"), (Y, np.array([-3.0, 0.2, 1.0, -0.1]))),
    "comb": (np.array([6.0, 20.0, 50.5, 9.0]), np.array([2.0, 17.0, 3.25, 4.5])),
    "poch": (np.array([2.0, 20.0, -1.5, 40.0]), np.array([3.0, -2.5, 0.75, 10.0])),
    **dict.fromkeys(("softmax", "log_softmax"), (Z,)),
}


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", SMOOTH)
def test_slopes_and_curvatures(name, mode):
    given = SMOOTH[name]
    ways = [np.cos(k + np.arange(4.0)) for k in range(len(given))]
    numbers = tuple(range(len(given)))

    def value(*xs):
        found = special.expn(3, *xs) if name == "expn" else getattr(special, name)(*xs)
        if name in ("sici", "fresnel"):
            found = found[0] + 2.0 * found[1]
        return tf.reduce_sum(tf.math.asinh(found))

    def slope(*xs):
        return sum(tf.reduce_sum(g * w) for g, w in zip(tf.grad(value, argnums=numbers)(*xs), ways, strict=True))

    for f in (value, slope):
        at = [[x + s * w for x, w in zip(given, ways, strict=True)] for s in (-2e-4, -1e-4, 1e-4, 2e-4)]
        ends = [float(f(*map(tf.constant, xs))) for xs in at]
        wanted = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / 12e-4
        found = mode(tf.grad(f, argnums=numbers))(*given)
        found = sum(np.sum(np.asarray(g) * w) for g, w in zip(found, ways, strict=True))
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-8)
        pushed = mode(lambda *xs, f=f: tf.jvp(f, xs, tuple(map(tf.constant, ways)))[1])(*given)
        np.testing.assert_allclose(pushed, wanted, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["dawsn", "erfcx"])
def test_slopes_of_what_falls_slowly(name):
    """Where they are differences of nearly equal numbers: by the asymptotic series of both."""
    sign, size = (1.0, 0.5) if name == "dawsn" else (-1.0, 1.0 / np.sqrt(np.pi))
    f = getattr(special, name)
    for x in (30.0, 1e3, 1e7):
        u = sign / (2 * x * x)
        first, second = (df(tf.constant(x, "float64")) for df in (tf.grad(f), tf.grad(tf.grad(f))))
        of_first = 1 + 3 * u * (1 + 5 * u * (1 + 7 * u * (1 + 9 * u)))
        of_second = 1 + 6 * u * (1 + 7.5 * u * (1 + 28 / 3 * u))
        tolerances = (1e-12, 1e-9) if x > 100 else (1e-8, 1e-6)  # of so few terms
        assert float(first) == pytest.approx(-size / x**2 * of_first, rel=tolerances[0])
        assert float(second) == pytest.approx(2 * size / x**3 * of_second, rel=tolerances[1])


def test_slopes_at_the_ends_of_divergences():
    x, y = tf.constant([0.0, 1.0, 2.0], "float64"), tf.constant([1.0, 2.0, 1e-320], "float64")
    along_x, along_y = tf.grad(lambda x, y: tf.reduce_sum(special.rel_entr(x, y)), argnums=(0, 1))(x, y)
    np.testing.assert_allclose(along_x, [-np.inf, 1.0 - np.log(2.0), np.log(2.0) - np.log(1e-320) + 1.0])
    np.testing.assert_allclose(along_y, [0.0, -0.5, -np.inf])
    for delta in (-1.0, np.inf):
        assert np.isfinite(tf.grad(lambda r, d=delta: special.huber(d, r))(tf.constant(0.5, "float64")))


def test_orders_of_exponential_integrals_that_are_none():
    for n in (-1, 1.5, tf.constant(1)):
        with pytest.raises(ValueError, match=r"takes an order that is a Python integer from 0 on"):
            special.expn(n, [1.0])


DISTRIBUTIONS = [
    ("norm", "pdf cdf sf logpdf logcdf logsf", (Z, 0.3, Y)),
    ("t", "pdf cdf logpdf logcdf", (Z, Y + 1.0, 0.3, Y)),
    ("gamma", "pdf cdf logpdf", (X, Y)),
    ("chi2", "pdf cdf logpdf", (X, 3.0)),
    ("beta", "pdf cdf logpdf", (X / 3, Y, Y + 1)),
    ("poisson", "pmf logpmf cdf", (np.array([0.0, 2.0, 5.0, 1.0]), Y)),
    ("dirichlet", "pdf logpdf", (np.array([0.1, 0.2, 0.3, 0.4]), Y)),
    ("multivariate_normal", "pdf logpdf", (np.ones((3, 2)), np.zeros(2), np.array([[2.0, 0.5], [0.5, 1.0]]))),
    ("multivariate_normal", "entropy", (np.zeros(2), np.array([[2.0, 0.5], [0.5, 1.0]]))),
    ("multivariate_normal", "logpdf", (np.ones(2), np.zeros(2), np.ones((2, 2)), True)),
]


@pytest.mark.parametrize(
    ("family", "name", "arguments"), [(f, n, a) for f, names, a in DISTRIBUTIONS for n in names.split()]
)
def test_distributions(family, name, arguments):
    found = getattr(getattr(stats, family), name)(*arguments)
    np.testing.assert_allclose(found, getattr(getattr(scipy.stats, family), name)(*arguments), rtol=1e-10)


def test_slopes_of_student_s_distribution_in_its_middle():
    x, n = tf.constant([0.0, 1e-9, -1e-3], "float64"), tf.constant(3.0, "float64")

    def total(x, n):
        return tf.reduce_sum(stats.t.cdf(x, n))

    slopes = tf.grad(total, argnums=(0, 1))(x, n)
    np.testing.assert_allclose(slopes[0], scipy.stats.t.pdf(x, 3.0), rtol=1e-12)
    assert abs(slopes[1]) < 1e-4
    curvature = tf.grad(lambda x: tf.reduce_sum(tf.grad(total)(x, n)))(x)
    wanted = [-4 * v / (3 + v * v) * scipy.stats.t.pdf(v, 3.0) for v in x.numpy()]
    np.testing.assert_allclose(curvature, wanted, rtol=1e-9, atol=1e-15)


A = np.sin(np.arange(30.0)).reshape(6, 5)


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
def test_convolution(mode):
    for a, b in ((A, A[:3, :2]), (A[:3, :2], A), (A[0], A[1, :2])):
        if mode != "valid" or a.ndim == 1 or a.size > b.size:
            np.testing.assert_allclose(
                signal.convolve(a, b, mode), scipy.signal.convolve(a, b, mode), atol=1e-12
            )


def test_windows_lie_within_where_only_those_are_asked_for():
    for a, b in ((A[:, :2], A[:3]), (A[:3], A[:, :2])):  # each is the longer one along one of the axes
        size = np.array(a.shape) + b.shape - 1
        first, last = np.minimum(a.shape, b.shape) - 1, np.maximum(a.shape, b.shape)
        whole = scipy.signal.convolve(a, b)
        assert whole.shape == tuple(size)
        np.testing.assert_allclose(
            signal.convolve(a, b, "valid"), whole[first[0] : last[0], first[1] : last[1]], atol=1e-12
        )


def test_convolution_along_some_axes():
    x, y = A[:3], A[:3, :4, None] * [1.0, 2.0]
    found = signal.convolve(x, y, axes=([1], [1]), dot_axes=([0], [0])).numpy()
    for k in range(2):
        wanted = sum(np.convolve(x[i], y[i, :, k]) for i in range(3))
        np.testing.assert_allclose(found[k], wanted, atol=1e-12)
    with pytest.raises(ValueError, match="do not pair"):
        signal.convolve(x, y, axes=([0, 1], [1]))
    with pytest.raises(ValueError, match="mode is full, valid or same, got 'wide'"):
        signal.convolve(x, x, "wide")


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_derivatives_of_a_density_without_its_normal_part(mode):
    """At a deviation of 0: those of small deviations, which are even; Cauchy's density spreads as heat does."""
    f = lambda s: tf.reduce_sum(special.voigt_profile(Z, s, Y + 0.5) * np.cos(X))
    zero = tf.constant(0.0, "float64")
    first, second = mode(tf.grad(f))(zero), mode(tf.grad(tf.grad(f)))(zero)
    assert float(first) == 0.0
    h = 1e-3
    density = lambda s: np.sum(scipy_special.voigt_profile(Z, s, Y + 0.5) * np.cos(X))
    wanted = 2 * (density(h) - density(0.0)) / h**2
    assert float(second) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_slopes_of_faddeevas_function(mode):
    """Along the real and the imaginary axis, above the real line, on it and below it."""
    x, y = np.array([0.3, -1.2, 2.0, 0.7, 9.0]), np.array([0.4, 0.0, -0.5, -2.0, 30.0])
    first = lambda x, y: tf.math.real(special.wofz(tf.complex(x, y)))
    second = lambda x, y: tf.math.imag(special.wofz(tf.complex(x, y)))
    z = x + 1j * y
    slope = 2j / np.sqrt(np.pi) - 2 * z * scipy_special.wofz(z)
    ways = np.cos(X[0] * np.arange(5.0))
    for f, along_x, along_y in ((first, slope.real, -slope.imag), (second, slope.imag, slope.real)):
        found = mode(tf.grad(lambda x, y, f=f: tf.reduce_sum(f(x, y) * ways), argnums=(0, 1)))(x, y)
        np.testing.assert_allclose(found[0], along_x * ways, rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(found[1], along_y * ways, rtol=1e-9, atol=1e-13)
