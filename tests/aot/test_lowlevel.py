"""Compiled callers in this process: SciPy's loops, ctypes, numba."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tf


def number(f: Callable[..., Any], count: int, name: str = "f") -> tf.aot.Artifact:
    return tf.export(f, ["f64"] * count, name=name, outputs="value")


def vector(f: Callable[..., Any], spec: str = "f64[n]") -> tf.aot.Artifact:
    return tf.export(f, [spec], name="f", outputs="value")


def bell(x):
    return tf.exp(-x * x) * tf.cos(3.0 * x)


def spread(w):
    return tf.reduce_max(w) - tf.reduce_min(w)


def steps(x):
    return tf.cumsum(x[2:] - x[:-2])


# ---- SciPy ----------------------------------------------------------------------------------------------


def test_quad_calls_machine_code(tmp_path: Path) -> None:
    integrate = pytest.importorskip("scipy.integrate")
    art = number(bell, 1)
    art.save(tmp_path / "f.tja")
    wanted = integrate.quad(lambda x: np.exp(-x * x) * np.cos(3 * x), 0, 2)[0]
    for one in (art, tf.load(tmp_path / "f.tja")):
        assert integrate.quad(one.lowlevel_callable(), 0, 2)[0] == pytest.approx(wanted, rel=1e-12)
    slope = tf.export(bell, ["f64"], name="f", outputs="grad")
    found = integrate.quad(slope.lowlevel_callable(), 0, 2)[0]
    assert found == pytest.approx(np.exp(-4.0) * np.cos(6.0) - 1.0, rel=1e-12)


def test_quad_passes_numbers_on_as_arguments() -> None:
    integrate = pytest.importorskip("scipy.integrate")

    def power(x, exponent):
        total = x * 0.0
        while total < exponent:
            total = total + 1.0
        return x**total

    found = integrate.quad(number(power, 2).lowlevel_callable(), 0, 1, args=(3.0,))[0]
    assert found == pytest.approx(0.25, rel=1e-12)
    with pytest.warns(integrate.IntegrationWarning):
        assert np.isnan(integrate.quad(number(power, 2).lowlevel_callable(), 0, 1, args=(3.0, 4.0))[0])


@pytest.mark.parametrize("as_vector", [False, True])
def test_nquad_takes_numbers_or_a_vector(as_vector: bool) -> None:
    integrate = pytest.importorskip("scipy.integrate")

    def three(x, y, z):
        return tf.exp(-x * y) * tf.cos(z)

    art = vector(lambda v: three(v[0], v[1], v[2]), "f64[3]") if as_vector else number(three, 3)
    found = integrate.nquad(art.lowlevel_callable("nquad"), [(0, 1)] * 3)[0]
    wanted = integrate.dblquad(lambda y, x: np.exp(-x * y), 0, 1, 0, 1)[0] * np.sin(1.0)
    assert found == pytest.approx(wanted, rel=1e-10)


def test_filters_of_images() -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    image = np.random.default_rng(0).normal(size=(20, 30))

    def rows(given, made):
        made[:] = np.cumsum(given[2:] - given[:-2])

    found = ndimage.generic_filter(image, vector(spread).lowlevel_callable("generic_filter"), size=3)
    np.testing.assert_array_equal(found, ndimage.generic_filter(image, np.ptp, size=3))
    fixed = vector(spread, "f64[9]").lowlevel_callable("generic_filter")
    np.testing.assert_array_equal(ndimage.generic_filter(image, fixed, size=3), found)
    with pytest.raises(RuntimeError):
        ndimage.generic_filter(image, fixed, size=5)
    found = ndimage.generic_filter1d(
        image, vector(steps).lowlevel_callable("generic_filter1d"), filter_size=3
    )
    wanted = ndimage.generic_filter1d(image, rows, filter_size=3)
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)
    with pytest.raises(RuntimeError):
        ndimage.generic_filter1d(image, vector(steps).lowlevel_callable("generic_filter1d"), filter_size=5)


def test_work_comes_from_the_stack_and_not_without_end() -> None:
    pytest.importorskip("scipy")

    def sorted_sum(x):
        return tf.reduce_sum(tf.sort(x) * tf.cumsum(x))

    art = vector(sorted_sum)
    assert "void *work" in art.header()
    call = art.lowlevel_callable("nquad").function
    for n in (3, 1000):
        x = np.random.default_rng(1).normal(size=n)
        found = call(n, x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), None)
        assert found == pytest.approx(float(art(x)), rel=1e-12)
    x = np.zeros(10_000_000)
    assert np.isnan(call(x.size, x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), None))


def test_what_cython_calls_has_its_type() -> None:
    pytest.importorskip("scipy")
    made = number(bell, 1).lowlevel_callable("cython_optimize")
    assert made.signature == "double (double, void *)"
    assert made.function(0.5, None) == pytest.approx(np.exp(-0.25) * np.cos(1.5), rel=1e-14)


def test_functions_that_nobody_calls_so_are_refused() -> None:
    both = tf.export(bell, ["f64"], name="f")
    with pytest.raises(
        ValueError, match=r"quad calls a function that takes .*; this is f\(x: float64\[\]\) ->"
    ):
        both.lowlevel_callable()
    with pytest.raises(
        ValueError, match="generic_filter calls a function that takes one float64 vector, and returns"
    ):
        vector(steps).lowlevel_callable("generic_filter")
    with pytest.raises(ValueError, match=r"callers are 'quad', .*, got 'ode'"):
        both.lowlevel_callable("ode")
    narrow = tf.export(bell, ["f32"], name="f", outputs="value")
    with pytest.raises(ValueError, match="float64 numbers"):
        narrow.lowlevel_callable()


# ---- ctypes and numba -----------------------------------------------------------------------------------


def sums(x, w):
    return tf.reduce_sum(tf.sin(x) * w)


def test_the_address_is_the_c_function() -> None:
    art = tf.export(sums, ["f64[n]", "f64"], name="sums")
    x, w = np.arange(4.0), np.array(2.0)
    outputs = [np.empty(()), np.empty(4), np.empty(())]
    call = art.c_function()
    assert ctypes.cast(call, ctypes.c_void_p).value == art.address
    assert call(*(a.ctypes.data for a in (x, w, *outputs)), 4) == 0
    for a, b in zip(outputs, art(x, w), strict=True):
        np.testing.assert_array_equal(a, b)


def test_numba_calls_the_c_function() -> None:
    numba = pytest.importorskip("numba")
    call = tf.export(sums, ["f64[n]", "f64"], name="sums").c_function()

    @numba.njit
    def total(x, steps):
        w, value, gx, gw = np.ones(1), np.empty(1), np.empty_like(x), np.empty(1)
        found = 0.0
        for _ in range(steps):
            if (
                call(x.ctypes.data, w.ctypes.data, value.ctypes.data, gx.ctypes.data, gw.ctypes.data, x.size)
                != 0
            ):
                return np.nan
            found += value[0]
            w[0] += 1.0
        return found

    x = np.arange(4.0)
    assert total(x, 3) == pytest.approx(np.sin(x).sum() * 6.0, rel=1e-13)
