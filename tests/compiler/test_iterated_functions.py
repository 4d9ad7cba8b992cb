"""Special functions whose formulas iterate: accuracy, machine code beside NumPy, lanes, derivatives, libraries."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from mpmath import mp, mpf

import tracejit as tf
from checks.guarded import WAYS, Library
from compiler.native import HOST
from tracejit.compiler.codegen.math import MathFunction, function, largest_error
from tracejit.core.op import OPS, ops
from tracejit.ops.elementwise.formulas.families import ITERATED
from tracejit.ops.elementwise.formulas.iterated import Iterating
from tracejit.ops.elementwise.formulas.power_series import Series, Terms
from tracejit.runtime import cpu

A = np.array([1e-3, 0.3, 1.0, 2.5, 14.0, 16.0, 80.0, 499.0, 501.0, 3000.0])
X = np.concatenate([[1e-300, 1e-12, 0.01], np.linspace(0.1, 30, 25), [39.9, 40.1, 200.0, 800.0, 1e5]])
ENDS = np.array([0.0, -0.0, -1.0, -1.5, np.inf, -np.inf, np.nan, 1e300, 5e-324, 2.0, 26.0])


def around(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """Parameters, and numbers below, at and above their means."""
    z = np.array([-7.0, -2.0, -0.2, 0.0, 0.2, 2.0, 7.0])
    return a.repeat(z.size), np.abs(a[:, None] + z * np.sqrt(a[:, None])).ravel() + 1e-3


def shares(a: np.ndarray) -> tuple[np.ndarray, ...]:
    p, q, z = (v.ravel() for v in np.meshgrid(a, a, [-6.0, -1.0, 0.0, 0.3, 6.0]))
    mean, size = p / (p + q), np.sqrt(p * q / (p + q + 1.0)) / (p + q)
    return p, q, np.clip(mean + z * size, 1e-9, 1.0 - 1e-9)


def grid(*values: np.ndarray) -> list[np.ndarray]:
    return [v.ravel() for v in np.meshgrid(*values)]


def arguments(name: str) -> list[np.ndarray]:
    """Points in every part of the domain, and at its ends."""
    if name in ("gammainc", "gammaincc", "gamma_density"):
        parts = around(A), grid(ENDS, ENDS)
    elif name.startswith("faddeeva"):
        parts = grid(np.append(X, -X), np.append(X, [0.0, 1e-9])), grid(ENDS, ENDS)
    elif name == "zeta":
        parts = grid(np.array([1.001, 1.5, 4.0, 60.0]), X), grid(ENDS, ENDS)
    elif name in ("betainc", "beta_density"):
        parts = shares(A[1::2]), grid(ENDS, ENDS, np.append(ENDS, [0.3, 1.0]))
    else:
        parts = [np.concatenate([X, -X])], [ENDS]
    return [np.concatenate(both) for both in zip(*parts, strict=True)]


WAVES = ("sine_integral", "cosine_integral", "fresnel_sin", "fresnel_cos")
#: By op: attributes of which each has a formula of its own, or goes another way through the same; one is the kernel's.
ATTRIBUTES: dict[str, list[dict[str, Any]]] = {
    **{f: [{"order": n} for n in range(4)] for f in ("gammainc", "zeta")},
    **{f: [{"order": n} for n in range(2)] for f in ("gammaincc", "gamma_density")},
    **{f: [{"order": n} for n in range(4)] for f in ("faddeeva_real", "faddeeva_imag")},
    "betainc": [{"orders": pair} for pair in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 1))],
    "beta_density": [{"orders": pair} for pair in ((0, 0), (1, 0))],
    "bessel_j": [{"order": n} for n in (0, 1, 2, 40)],
    "bessel_y": [{"order": n} for n in (0, 1, 7)],
    "bessel_ive": [{"order": v} for v in (0.0, 2.5, -3.0, -0.5)],
    "expn": [{"order": n} for n in (0, 1, 9)],
    **{f: [{}] for f in ("expi", "dawsn", "erfcx", *WAVES, "spence")},
}


def test_every_formula_is_here() -> None:
    assert {
        name.partition("_1")[0].partition("_2")[0].partition("_0")[0] for name in ITERATED
    } == ATTRIBUTES.keys()


def close(found: Any, wanted: Any, relative: float, absolute: float) -> None:
    np.testing.assert_allclose(
        np.asarray(found, np.float64), np.asarray(wanted, np.float64), relative, absolute, equal_nan=True
    )


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_machine_code_computes_what_numpy_does(name: str) -> None:
    """With the same operations in the same order; exponents widen what elementary functions differ by.

    Derivatives have zeros, beside which their terms are large.
    """
    op, xs = OPS[name], [tf.constant(x) for x in arguments(name)]
    for attrs in ATTRIBUTES[name]:
        compiled = tf.function(lambda *xs, attrs=attrs: op(*xs, **attrs))
        small = 1e-12 if any(attrs.get("orders", [attrs.get("order")])) else 1e-300
        close(compiled(*xs), op(*xs, **attrs), 3e-12, small)
    single = [tf.cast(x, "float32") for x in xs]
    attrs = ATTRIBUTES[name][0]
    close(tf.function(lambda *xs: op(*xs, **attrs))(*single), op(*single, **attrs), 1e-6, 1e-45)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_lane_does_not_depend_on_its_neighbours(name: str) -> None:
    op, attrs = OPS[name], ATTRIBUTES[name][0]
    compiled = tf.function(lambda *xs: op(*xs, **attrs))
    xs = [x[:: max(1, x.size // 40)] for x in arguments(name)]
    together = np.asarray(compiled(*map(tf.constant, xs)))
    among_equals = [np.asarray(compiled(*[np.full(len(xs[0]), x) for x in point])) for point in zip(*xs, strict=True)]
    assert all((values == values[0]).all() or np.isnan(values).all() for values in among_equals)
    np.testing.assert_array_equal(together, [values[0] for values in among_equals])
    alone = [compiled(*map(tf.constant, point)).item() for point in zip(*xs, strict=True)]
    if HOST.register_bytes == 64:  # registers hold tables: one number alone has other logarithms and exponentials
        np.testing.assert_allclose(alone, together, rtol=3e-14, atol=1e-300)
    else:
        np.testing.assert_array_equal(alone, together)


@pytest.mark.parametrize("level", ["v2", "v3", "v4"])
def test_the_code_needs_no_library(level: str) -> None:
    """All formulas in one module: one text for a symbol, nothing undefined, fused products only where there are any."""
    parts: dict[str, MathFunction] = {}
    stack = [
        function(name, dtype, 4, fma=level != "v2", avx512=level == "v4")
        for name in ITERATED
        for dtype in ("float64", "float32")
    ]
    while stack:
        f = stack.pop()
        if f.symbol not in parts:
            stack.extend(f.needs)
        assert parts.setdefault(f.symbol, f).text == f.text
    lines = sorted({d for f in parts.values() for d in f.declares})
    lines += dict.fromkeys(text for f in parts.values() for text in f.globals)
    lines += [f.text for f in parts.values()]
    module = llvm.parse_assembly("\n".join(lines))
    module.verify()
    declared = [f.name for f in module.functions if f.is_declaration]
    assert declared and all(name.startswith("llvm.") for name in declared)
    assert level != "v2" or not any(".fma." in name for name in declared)


# ---- accuracy -------------------------------------------------------------------------------------------


def gamma_by_mpmath(a: float, x: float) -> tuple[Any, Any]:
    """Both parts; of large parameters by the integral of the density outwards."""
    if a < 2000.0:
        return mp.gammainc(a, 0, x, regularized=True), mp.gammainc(a, x, mp.inf, regularized=True)
    size, log = mp.sqrt(a), mp.loggamma(mpf(a))

    def density(t: Any) -> Any:
        return mp.exp((a - 1) * mp.log(t) - t - log)

    if x < a:
        lower = mp.quad(density, mp.linspace(max(x - 20 * size, mpf(0)), x, 12))
        return lower, 1 - lower
    upper = mp.quad(density, mp.linspace(x, x + 20 * size, 12))
    return 1 - upper, upper


def test_incomplete_gamma_functions_of_any_size() -> None:
    """From tiny to huge parameters, in both tails: as exact as the argument is known."""
    a, x = around(np.append(A, [1e6, 1e8, 1e10]))
    lower, upper = (
        np.asarray(f(tf.constant(a), tf.constant(x), order=0)) for f in (ops.gammainc, ops.gammaincc)
    )
    with mp.workdps(40):
        for p, v, below, above in zip(a.tolist(), x.tolist(), lower, upper, strict=True):
            tolerance = 1e-13 + 4e-16 * np.sqrt(p) * 8
            for found, wanted in zip((below, above), gamma_by_mpmath(p, v), strict=True):
                assert abs(found - wanted) <= tolerance * wanted + 1e-300, (p, v, found, wanted)


def test_incomplete_beta_functions_of_any_size() -> None:
    a, b, x = (v[::3] for v in shares(A))
    found = np.asarray(ops.betainc(*map(tf.constant, (a, b, x)), orders=(0, 0)))
    with mp.workdps(40):
        for p, q, v, got in zip(a.tolist(), b.tolist(), x.tolist(), found, strict=True):
            if max(p, q) < 1000.0:
                wanted = mp.betainc(p, q, 0, v, regularized=True)
                assert abs(got - wanted) <= (1e-13 + 4e-15 / min(p, q)) * wanted + 1e-290, (p, q, v)
    large = {  # by mpmath
        (14.0, 1e6, 1.5122277085518574e-05): 0.6483962328127504,
        (16.0, 1e8, 1.719999714600047e-07): 0.6464528148885986,
        (1e8, 1e-3, 0.9999999980926334): 0.0012615156472914754,
    }
    for point, wanted in large.items():
        got = ops.betainc(*(tf.constant(v, "float64") for v in point), orders=(0, 0)).item()
        assert got == pytest.approx(wanted, rel=4e-12 if point[1] < 1 else 1e-14)
    half = [
        ops.betainc(*(tf.constant(v, "float64") for v in (a, a, 0.5)), orders=(0, 0))
        for a in (1e4, 1e8, 1e14)
    ]
    np.testing.assert_allclose(half, 0.5, rtol=1e-12)


def test_bessel_functions_by_mpmath() -> None:
    x = np.concatenate([np.linspace(0.1, 30, 40), [24.99, 25.01, 1e-8, 1e3]])
    for n in (0, 1, 2, 5, 30):
        j, y = (np.asarray(f(tf.constant(x), order=n)) for f in (ops.bessel_j, ops.bessel_y))
        for v, first, second in zip(x.tolist(), j, y, strict=True):
            wanted = [mp.besselj(n, v), mp.bessely(n, v)]
            size = [mp.hypot(*wanted) if v > n else abs(w) for w in wanted]  # of the wave
            assert abs(first - wanted[0]) <= 1e-14 * size[0], (n, v)
            assert abs(second - wanted[1]) <= 2e-14 * size[1], (n, v)


def test_exponential_integrals_by_mpmath() -> None:
    x = np.concatenate([np.linspace(0.05, 45, 60), [0.999, 1.001, 39.99, 40.01, 1e-10, 300.0]])
    rules = {
        "expi": (x, lambda v: mp.ei(v)),
        "expi below 0": (-x, lambda v: mp.ei(v)),
        "dawsn": (x, lambda v: mp.exp(-v * v) * mp.erfi(v) * mp.sqrt(mp.pi) / 2),
        "erfcx": (x[x < 26], lambda v: mp.exp(v * v) * mp.erfc(v)),
        "erfcx below 0": (-np.append(x[x < 26], 26.6), lambda v: mp.exp(v * v) * mp.erfc(v)),
    }
    with mp.workdps(40):
        for name, (points, rule) in rules.items():
            found = np.asarray(OPS[name.partition(" ")[0]](tf.constant(points)))
            bound = largest_error(name.partition(" ")[0], "float64")
            for v, got in zip(points.tolist(), found, strict=True):
                wanted = rule(mpf(v))
                assert abs(got - wanted) <= bound * np.spacing(abs(float(wanted))), (name, v)


def test_integrals_of_waves_by_mpmath() -> None:
    """Those of Fresnel for large numbers, too, of which the squares are not exact."""
    x = np.concatenate([np.linspace(0.01, 3, 40), np.linspace(3, 40, 40), [1.38, 1.39, 2.9999, 3.0001, 1e-10]])
    large = np.array([1234.5678, 98765.4321, 1e6 + 0.7, 3e9 + 0.1])
    rules = {
        "sine_integral": (mp.si, np.append(x, 1e5 + 0.3)),
        "cosine_integral": (mp.ci, np.append(x, 1e5 + 0.3)),
        "fresnel_sin": (mp.fresnels, np.concatenate([x, large])),
        "fresnel_cos": (mp.fresnelc, np.concatenate([x, large])),
        "spence": (lambda v: mp.re(mp.polylog(2, 1 - v)), np.append(x, [0.4999, 0.5001, 1.9999, 2.0001, 1e9])),
    }
    with mp.workdps(40):
        for name, (rule, points) in rules.items():
            found = np.asarray(OPS[name](tf.constant(points)))
            bound = largest_error(name, "float64")
            for v, got in zip(points.tolist(), found, strict=True):
                wanted = rule(mpf(v))
                if name == "cosine_integral" and v < 4.0:  # a sum with the logarithm, which has a zero
                    assert abs(got - wanted) <= 1e-15 * (1.0 - np.log(min(v, 1.0))), (name, v)
                else:
                    allowed = min(bound, 8.0) * np.spacing(abs(float(wanted)))
                    phase = 1e-15 / v if name in WAVES[:2] else 0.0
                    assert abs(got - wanted) <= allowed + phase, (name, v)


def test_integrals_of_waves_at_their_ends() -> None:
    x = tf.constant([0.0, -0.0, np.inf, -np.inf, np.nan, -2.0, 1e300], "float64")
    half, si, ci = np.pi / 2, 1.605412976802695, 0.422980828774865
    far = -0.5 * np.log(1e300) ** 2 - np.pi**2 / 6
    wanted = {
        "sine_integral": [0.0, -0.0, half, -half, np.nan, -si, half],
        "cosine_integral": [-np.inf, -np.inf, 0.0, 0.0, np.nan, ci, 0.0],
        "fresnel_sin": [0.0, -0.0, 0.5, -0.5, np.nan, -0.34341567836369824, 0.5],
        "fresnel_cos": [0.0, -0.0, 0.5, -0.5, np.nan, -0.48825340607534073, 0.5],
        "spence": [np.pi**2 / 6, np.pi**2 / 6, -np.inf, np.nan, np.nan, np.nan, far],
    }
    for name, values in wanted.items():
        for f in (OPS[name], tf.function(OPS[name])):
            found = np.asarray(f(x))
            np.testing.assert_allclose(found, values, rtol=1e-14, atol=1e-299, err_msg=name)
            zeros = [i for i, v in enumerate(values) if v == found[i] == 0.0]
            np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(np.array(values)[zeros]))
        assert np.signbit(OPS["spence"](tf.constant(1.0))) == np.False_


def test_slopes_of_waves_where_quotients_cancel() -> None:
    """First and second derivatives near 0 and 1, of both kinds of formula."""
    for name, rule, points in (
        ("sine_integral", mp.si, (1e-6, 0.3, 0.499, 0.501, 2.0, 7.0)),
        ("spence", lambda v: mp.re(mp.polylog(2, 1 - v)), (0.2, 0.9699, 0.9701, 0.999999, 1.0299, 1.0301, 5.0)),
    ):
        first = tf.grad(OPS[name])
        for v in points:
            with mp.workdps(40):
                slope, curvature = (float(mp.diff(rule, mpf(v), n, h=mpf(10) ** -12)) for n in (1, 2))
            x = tf.constant(v, "float64")
            assert first(x).item() == pytest.approx(slope, rel=1e-14)
            assert tf.grad(first)(x).item() == pytest.approx(curvature, rel=2e-13)
            assert tf.function(tf.grad(first))(x).item() == pytest.approx(curvature, rel=2e-13)
    one, zero = tf.constant(1.0, "float64"), tf.constant(0.0, "float64")
    assert tf.grad(OPS["spence"])(one).item() == -1.0 and tf.grad(tf.grad(OPS["spence"]))(one).item() == 0.5
    assert tf.grad(OPS["sine_integral"])(zero).item() == 1.0
    assert tf.grad(tf.grad(OPS["sine_integral"]))(zero).item() == 0.0


def test_the_parts_of_faddeevas_function_by_mpmath() -> None:
    """Derivatives of higher order lose digits up to where the asymptotic series begins."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0, 7, 40), rng.uniform(0, 40, 20), [0.0, 0.0, 5.117, 0.2558, 27.9, 28.1, 1e5]])
    y = np.concatenate([10 ** rng.uniform(-12, 1, 40), rng.uniform(0, 40, 20), [0.0, 1e-3, 0.0, 0.0, 0.5, 0.5, 1e-3]])
    with mp.workdps(60):
        for a, b in zip(x.tolist(), y.tolist(), strict=True):
            z = mp.mpc(a, b)
            w = [mp.exp(-z * z) * mp.erfc(-1j * z)]
            w.append(2j / mp.sqrt(mp.pi) - 2 * z * w[0])
            w.append(-2 * z * w[1] - 2 * w[0])
            for order, bound in enumerate((5e-14, 2e-11, 1e-8)):
                for name, wanted in (("faddeeva_real", w[order].real), ("faddeeva_imag", w[order].imag)):
                    found = OPS[name](tf.constant(a, "float64"), tf.constant(b, "float64"), order=order).item()
                    assert abs(found - wanted) <= bound * abs(wanted), (name, order, a, b)


# ---- derivatives along parameters -------------------------------------------------------------------------


def test_derivatives_along_parameters_by_mpmath() -> None:
    def upper(a: Any, x: Any) -> Any:
        return mp.gammainc(a, x, mp.inf, regularized=True)

    with mp.workdps(50):
        for a, x in ((0.3, 0.2), (0.3, 2.0), (2.0, 1.7), (30.0, 28.0), (100.0, 130.0), (600.0, 620.0)):
            for order in (1, 2):
                wanted = mp.diff(lambda p, x=x: upper(p, x), mpf(a), order, h=mpf(a) * mpf(10) ** -12)
                found = ops.gammaincc(
                    tf.constant(a, "float64"), tf.constant(x, "float64"), order=order
                ).item()
                assert abs(found - wanted) <= 1e-11 * abs(wanted), (a, x, order)
        for a, b, x in ((0.5, 0.7, 0.3), (2.0, 3.0, 0.8), (14.0, 100.0, 0.1), (600.0, 700.0, 0.45)):
            f, h = lambda p, q, x=x: mp.betainc(p, q, 0, x, regularized=True), mpf(10) ** -15
            wanted = {
                (1, 0): (f(a + h, b) - f(a - h, b)) / (2 * h),
                (0, 1): (f(a, b + h) - f(a, b - h)) / (2 * h),
                (1, 1): (f(a + h, b + h) - f(a - h, b + h) - f(a + h, b - h) + f(a - h, b - h)) / (4 * h * h),
            }
            for orders, value in wanted.items():
                found = ops.betainc(*(tf.constant(v, "float64") for v in (a, b, x)), orders=orders).item()
                assert abs(found - value) <= 1e-11 * abs(value), (a, b, x, orders)


def test_derivatives_along_parameters_that_are_next_to_nothing() -> None:
    """Where value and derivative are quotients of two numbers that are nearly 0; by mpmath."""
    for a in (1e-10, 1e-100, 1e-300):
        at = [tf.constant(v, "float64") for v in (a, 2.5, 0.001)]
        assert ops.betainc(*at, orders=(0, 0)).item() == pytest.approx(1.0 - 5.6288827 * a, rel=1e-15)
        assert ops.betainc(*at, orders=(1, 0)).item() == pytest.approx(-5.62888278, rel=1e-8)
        assert ops.betainc(*at, orders=(2, 0)).item() == pytest.approx(30.5327426, rel=1e-8)
        upper = ops.gammaincc(at[0], tf.constant(0.5, "float64"), order=1).item()
        assert upper == pytest.approx(float(mp.e1(0.5)), rel=1e-8)


def test_power_series_follow_the_rules_of_arithmetic() -> None:
    """Of a function with every operation, against differences of the same in extended precision."""
    series = Series(Iterating, 3)
    x = Terms(series, [np.float64(0.7), 1.0])

    def f(of: Any, x: Any) -> Any:
        y = of.exp(0.3 * x) / (1.0 + x * x) - of.log(2.0 + x) * of.sqrt(x + 1.0)
        return y + of.log1p(x) * of.expm1(-x) + 1.0 / (3.0 - x) + of.abs(x - 2.0) - of.power(1.7, x)

    class Extended:
        exp, log, sqrt, log1p, expm1, power, abs = mp.exp, mp.log, mp.sqrt, mp.log1p, mp.expm1, mp.power, abs

    with mp.workdps(40):
        wanted = mp.taylor(lambda v: f(Extended, v), mpf(0.7), 3)
    for found, value in zip(f(series, x).coefficients, wanted, strict=True):
        assert abs(found - value) < 1e-15 * (1 + abs(value))


# ---- libraries --------------------------------------------------------------------------------------------


def test_they_leave_the_process(tmp_path: Path) -> None:
    """Values and gradients of exported code, for processors without fused products too."""

    def f(a: Any, x: Any) -> Any:
        values = (
            tf.math.igamma(a, x),
            tf.math.betainc(1.5, 2.5, x / (1.0 + x)),
            tf.math.zeta(a + 1.0, x),
            tf.math.polygamma(3, x),
            tf.scipy.special.jn(3, x),
            tf.scipy.special.expi(x) + tf.scipy.special.dawsn(x) + tf.scipy.special.erfcx(x),
            tf.scipy.special.voigt_profile(x, a, 0.5) + tf.math.real(tf.scipy.special.wofz(x)),
            sum(tf.scipy.special.sici(x)) + sum(tf.scipy.special.fresnel(x)) + tf.scipy.special.spence(x),
        )
        return tf.reduce_sum(tf.stack(values) ** 2)

    a, x = np.array([0.5, 3.0, 20.0]), np.array([0.7, 2.0, 9.0])
    wanted = f(tf.constant(a), tf.constant(x)), *tf.grad(f, argnums=(0, 1))(tf.constant(a), tf.constant(x))
    target = "x86-64-v2" if cpu.host().arch == "x86_64" else "host"
    art = tf.export(f, ["f64[n]", "f64[n]"], name="f", targets=[target])
    status, found = Library(art, tmp_path).call([a, x], WAYS[0])
    assert status == ""
    for got, value in itertools.zip_longest(found, wanted):
        np.testing.assert_allclose(got, value, rtol=1e-11)
