"""Ops on the bits of numbers leave Python: exported code gives what NumPy gives, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.op import ops


def exported(f, *arrays):
    """What a library for the least processor gives, of open sizes."""
    specs = [f"{a.dtype.name}[{','.join([f'n{len(a)}', *map(str, a.shape[1:])])}]" for a in arrays]
    art = tf.export(f, specs, name="f", outputs="value", targets=["host"])
    art(*(a[:0] for a in arrays))
    found = art(*arrays)
    return found if isinstance(found, tuple) else (found,)


def floats(dtype, count=60):
    """Special numbers and any bits at all."""
    about, word = np.finfo(dtype), np.dtype(f"u{np.dtype(dtype).itemsize}")
    least = [about.tiny, about.smallest_subnormal, about.tiny / 2, about.tiny * 3 / 4, about.max, about.eps]
    named = [0.0, np.inf, 1.0, 2.0, 3.0, 7.5, *least]
    drawn = np.random.default_rng(0).integers(0, np.iinfo(word).max, count, word, endpoint=True).view(dtype)
    return np.concatenate([np.array([np.nan, *named, *(-x for x in named)], dtype), drawn])


def require_same(found, wanted):
    """Equal, signs of zeros included; any NaN is NaN."""
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)
    if found.dtype.kind == "f":
        known = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(wanted[known]))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_parts_and_neighbours_of_floats(dtype):
    xs = floats(dtype)
    steps = np.array([0, 1, -1, 30, -30, 150, -150, 1100, -1100, 2200, np.inf, -np.inf, np.nan], dtype)
    x, y = (a.ravel() for a in np.meshgrid(xs, xs[:40]))
    z, n = (a.ravel() for a in np.meshgrid(xs, steps))
    found = exported(
        lambda x, y, z, n: (ops.signbit(x), ops.exponent(x), ops.nextafter(x, y), ops.ldexp(z, n)), x, y, z, n
    )
    with np.errstate(all="ignore"):
        wanted = [op.kernel(*args) for op, args in zip(_OPS, ((x,), (x,), (x, y), (z, n)), strict=True)]
    for a, b in zip(found, wanted, strict=True):
        require_same(a, b)


_OPS = (ops.signbit, ops.exponent, ops.nextafter, ops.ldexp)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_cube_roots_are_within_half_a_unit_and_a_little(dtype):
    """NumPy's are 3.2 off for some float64."""
    x = floats(dtype, 2000)
    (found,) = exported(ops.cbrt, x)
    with np.errstate(all="ignore"):
        exact = np.cbrt(x.astype(np.longdouble))
    number = np.isfinite(x) & (x != 0)
    require_same(found[~number], x[~number])
    apart = np.abs(found[number] - exact[number]) / np.spacing(np.abs(exact[number]).astype(dtype))
    assert np.max(apart) < (0.52 if np.finfo(np.longdouble).nmant > 52 else 2.0)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_divisors_multiples_and_counts_of_integers(dtype):
    about = np.iinfo(dtype)
    drawn = np.random.default_rng(0).integers(about.min, about.max, 12, dtype, endpoint=True)
    xs = np.concatenate([np.array([0, 1, 2, 6, 12, 35, about.max, about.min, about.max - 1], dtype), drawn])
    x, y = (a.ravel() for a in np.meshgrid(xs, xs))
    found = exported(lambda x, y: (ops.gcd(x, y), ops.lcm(x, y), ops.bitwise_count(x)), x, y)
    for a, b in zip(found, (np.gcd(x, y), np.lcm(x, y), np.bitwise_count(x)), strict=True):
        require_same(a, b)


@pytest.mark.parametrize("given", ["uint8", "int16", "float32", "float64", "complex64", "complex128"])
def test_bits_as_those_of_any_other_dtype(given):
    """Smaller parts come along a new last axis, the lowest first; larger numbers are made of the last one."""
    names = ("int8", "uint16", "float16", "int32", "float32", "uint64", "float64", "complex64", "complex128")
    size = np.dtype(given).itemsize
    drawn = np.random.default_rng(0).integers(0, 255, (3, 16, size), np.uint8, endpoint=True)
    x = drawn.view(given)[..., 0]
    parts = [max(1, np.dtype(name).itemsize // size) for name in names]
    found = exported(
        lambda x: [tf.bitcast(x[:, : max(k, 2)] if k > 1 else x, n) for n, k in zip(names, parts, strict=True)], x
    )
    for name, k, y in zip(names, parts, found, strict=True):
        rows = np.ascontiguousarray(x[:, :k] if k > 1 else x)
        assert y.tobytes() == rows.tobytes() and y.dtype == name
        assert y.shape == tf.bitcast(tf.constant(rows, given), name).shape
