"""dtypes under TensorFlow's names, as TensorFlow has them, and under NumPy's as NumPy has them; both modes alike."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp

C = tf.constant


def same(f, value, dtype):
    for mode in (lambda g: g, tf.function):
        found = mode(f)()
        assert found.dtype == dtype
        np.testing.assert_allclose(found.numpy(), value, rtol=1e-6)


def refused(f, kind):
    for mode in (lambda g: g, tf.function):
        with pytest.raises(kind, match=r"test_dtype_rules\.py"):
            mode(f)()


@pytest.mark.parametrize(
    ("given", "value", "dtype"),
    [
        ([1, 2], 1, "int32"),
        ([1, 2, 4], 2, "int32"),
        ([-1, -2], -1, "int32"),
        ([-1, -2, -2], -1, "int32"),
        (np.array([100, 100], np.int8), 100, "int8"),
        (np.array([200, 100], np.uint8), 150, "uint8"),
        (np.array([2**31 - 1, 1], np.int32), 2**30, "int32"),
        (np.array([], np.int64), 0, "int64"),
        ([1.0, 2.0], 1.5, "float32"),
    ],
)
def test_the_mean_of_integers_is_an_integer(given, value, dtype):
    same(lambda: tf.reduce_mean(C(given)), value, dtype)


def test_means_along_axes():
    x = [[1, 2], [4, -9]]
    same(lambda: tf.reduce_mean(x, axis=0), [2, -3], "int32")
    same(lambda: tf.reduce_mean(x, axis=1), [1, -2], "int32")
    same(lambda: tf.reduce_mean(x, axis=1, keepdims=True), [[1], [-2]], "int32")
    same(lambda: tf.reduce_mean(tf.zeros((0, 2), tf.int32), axis=0), [0, 0], "int32")
    same(lambda: tf.math.segment_mean([-7, 2, 5], [0, 0, 1]), [-2, 5], "int32")
    same(lambda: tf.math.unsorted_segment_mean(C([-7, 2, 5], tf.int8), [0, 0, 1], 2), [-2.5, 5], "float32")
    same(lambda: tf.stack(tf.nn.moments(C([-7, 2, 5]), [0])), [0, 26], "int32")


def test_means_by_numpys_names_have_fractions():
    small = np.array([100, 101], np.int8)
    for f in (lambda: tnp.mean(small), lambda: np.mean(C(small)), lambda: C(small).mean()):
        found = f()
        assert found == 100.5
    same(lambda: tnp.mean(small), 100.5, "float64")
    same(lambda: tnp.std(np.array([1, 3])), 1.0, "float64")


def test_what_has_no_meaning_for_integers_is_refused():
    for f in (tf.math.reduce_std, tf.math.reduce_variance):
        refused(lambda f=f: f([1, 2]), TypeError)
    refused(lambda: tf.reduce_mean([True, False]), TypeError)


NARROW, WIDE = ["int8", "int16", "uint8", "uint16"], ["int32", "int64", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", NARROW + WIDE)
def test_quotients_of_integers(dtype):
    x, y = np.array([7, 6, 3], dtype), np.array([2, 4, 1], dtype)
    expected = "float32" if dtype in NARROW else "float64"
    divisions = (lambda: C(x) / C(y), lambda: tf.divide(x, y), lambda: tf.math.truediv(x, y))
    for f in (*divisions, lambda: tf.realdiv(x, y), lambda: tf.math.divide_no_nan(x, y)):
        same(f, [3.5, 1.5, 3.0], expected)
    same(lambda: C(x) / 2, [3.5, 3.0, 1.5], expected)
    same(lambda: 2 / C(y), [1.0, 0.5, 2.0], expected)
    same(lambda: C(x) // C(y), [3, 1, 3], dtype)
    same(lambda: C(x) % C(y), [1, 2, 0], dtype)
    same(lambda: tnp.divide(x, y), [3.5, 1.5, 3.0], "float64")
    assert np.divide(C(x), C(y)).dtype == np.float64


def test_quotients_with_a_zero_below():
    same(lambda: tf.math.divide_no_nan([1, 2], [0, 1]), [0, 2], "float64")
    same(lambda: tf.math.divide_no_nan(C([1.0, 2.0], tf.float16), 0), [0, 0], "float16")
    same(lambda: tf.math.floordiv(C([7, -7]), 0), [0, 0], "int32")
    same(lambda: C([7, -7]) % 0, [0, 0], "int32")


def test_rounding_of_quotients():
    x, y = C([-7, 7, -7, 7]), C([2, 2, -2, -2])
    same(lambda: tf.truncatediv(x, y), [-3, 3, 3, -3], "int32")
    same(lambda: tf.truncatemod(x, y), [-1, 1, -1, 1], "int32")
    same(lambda: tf.math.floordiv(x, y), [-4, 3, 3, -4], "int32")
    same(lambda: tf.math.floormod(x, y), [1, 1, -1, -1], "int32")
    same(lambda: tf.math.mod(C([-7.5, 7.5]), 2.0), [0.5, 1.5], "float32")
    same(lambda: tf.truncatediv(-7.5, 2.0), -3.0, "float32")
    same(lambda: tf.truncatemod(-7.5, 2.0), -1.5, "float32")


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_remainders_of_the_extreme_integers_are_those_of_exact_division(dtype):
    ends = np.iinfo(dtype)
    numbers = [int(ends.min), int(ends.min) + 1, -7, -1, 1, 2, int(ends.max)]
    pairs = [(a, b) for a in numbers for b in numbers]
    x, y = (C(list(side), dtype) for side in zip(*pairs, strict=True))
    exact = [(abs(a) % abs(b)) * (1 if a > 0 else -1) for a, b in pairs]
    same(lambda: tf.truncatemod(x, y), exact, dtype)
    same(lambda: tf.math.floormod(x, y), [a % b for a, b in pairs], dtype)


@pytest.mark.parametrize("name", ["xlogy", "xdivy", "xlog1py", "multiply_no_nan", "squared_difference"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_python_number_takes_the_dtype_of_what_it_meets(name, dtype):
    f, x = getattr(tf.math, name), C([2.0, 3.0], dtype)
    for first, second in ((x, 2), (2, x), (x, 2.5), (2.5, x), (x, [2, 3]), ([2.0, 3.0], x)):
        for mode in (lambda g: g, tf.function):
            assert mode(lambda a=first, b=second: f(a, b))().dtype == dtype


def test_functions_that_keep_integers():
    same(lambda: tf.round([1, 2]), [1, 2], "int32")
    same(lambda: tf.nn.relu(C([-1, 2])), [0, 2], "int32")
    same(lambda: tf.nn.relu6(C([-1, 9], tf.int8)), [0, 6], "int8")
    same(lambda: tf.nn.leaky_relu(C([-10, 2])), [-2, 2], "float32")
    same(lambda: tf.math.reduce_euclidean_norm([1, 2]), 2, "int32")
    same(lambda: tf.math.reduce_euclidean_norm(C([7, 2, 250], tf.uint8)), 9, "uint8")
    same(lambda: tf.losses.mean_squared_error([1, 2], [3, 5]), 6.5, "float32")


def test_norms_of_complex_numbers_are_complex():
    z = C([3 + 0j, 4j])
    for f in (tf.norm, tf.math.reduce_euclidean_norm):
        same(lambda f=f: f(z), 5, "complex128")
    same(lambda: tf.math.squared_difference(z, 1j), [10, 9], "complex128")
    same(lambda: tf.nn.moments(z, [0])[1], 6.25, "complex128")


def test_integers_to_negative_powers_are_refused():
    for f in (lambda: C([2, 3]) ** -1, lambda: tnp.array([2, 3]) ** -1, lambda: tf.pow(2, -1)):
        refused(f, ValueError)
    refused(lambda: tnp.power(np.array([1, -1]), np.array([2, -1])), ValueError)
    with pytest.raises(ValueError, match="negative"):
        np.power(C([2]), -1)
    power = tf.function(lambda x, n: x**n)
    assert power(C(2), C(3)).numpy() == 8
    with pytest.raises(ValueError, match="negative"):
        power(C(2), C(-3))
    same(lambda: C([2, 4]) ** -1.0, [0.5, 0.25], "float64")
    same(lambda: tf.pow(2.0, -1), 0.5, "float32")

    @tf.function
    def alternating(n):
        total = 0
        for i in tf.range(n):
            total = total + (-1) ** i * i
        return total

    assert alternating(C(5)).numpy() == 2


def test_names_of_dtypes():
    for name in ("float32", "float64", "int8", "uint16", "complex64", "bool", "half", "double"):
        same(lambda name=name: tf.cast(tf.zeros([2], name), name), [0, 0], np.dtype(name))
    same(lambda: C([1, 2], dtype="float"), [1, 2], "float32")
    same(lambda: tf.zeros([2], float), [0, 0], "float32")
    same(lambda: tf.argmax([1, 3], output_type="int32"), 1, "int32")
    same(lambda: tf.size([1, 2], out_type="int64"), 2, "int64")
    assert tf.TensorSpec([2], float).dtype == np.float32 and tf.TensorSpec([2], "string").dtype == tf.string
    assert C("a", dtype="string").numpy() == b"a" and C(["a"], "string").dtype == tf.string
    assert tf.zeros([2], "string").numpy().tolist() == [b"", b""]
    assert tf.as_dtype("string") == tf.string and tf.dtypes.as_dtype(float) == np.float32
    same(lambda: tnp.zeros(2, float), [0, 0], "float64")
    same(lambda: tnp.arange(2, dtype=float), [0, 1], "float64")
    with tf.settings(default_dtype="float64"):
        same(lambda: C([1, 2], dtype=float), [1, 2], "float64")


def test_numpys_numbers_in_lists_keep_their_dtype():
    same(lambda: C([np.float32(1), 2.5]), [1, 2.5], "float32")
    same(lambda: C([np.float64(1), 2.5]), [1, 2.5], "float64")
    same(lambda: C([[np.float16(1), 2], [3.0, 4]]), [[1, 2], [3, 4]], "float16")
    same(lambda: C([np.int64(1), 2]), [1, 2], "int64")


def test_ranges_and_spaces():
    same(lambda: tf.range(C(3.0, tf.float16)), [0, 1, 2], "float16")
    same(lambda: tf.range(3.0), [0, 1, 2], "float32")
    same(lambda: tf.linspace(C(1, tf.int8), C(3, tf.int8), 3), [1, 2, 3], "float32")
    same(lambda: tf.linspace(1, 3, 3), [1, 2, 3], "float64")


def test_conversions_that_are_refused():
    for ragged in ([[1, 2], [3]], [1, [2]], [[[1]], [[2, 3]]], [np.array([1, 2]), np.array([3])]):
        refused(lambda ragged=ragged: C(ragged), ValueError)
        refused(lambda ragged=ragged: tf.convert_to_tensor(ragged), ValueError)
        refused(lambda ragged=ragged: C(ragged, "float32"), ValueError)
    with pytest.raises(ValueError, match=r"test_dtype_rules\.py"):
        tf.Variable([[1], [1, 2]])
    refused(lambda: C("1", dtype="int32"), TypeError)
    refused(lambda: C(["1"], dtype="float32"), TypeError)
    refused(lambda: C(1, dtype="string"), TypeError)
    refused(lambda: C(300, dtype="int8"), TypeError)


def test_strict_promotion_refuses_every_change_of_a_tensors_dtype():
    x, y = C([1, 2]), C([1.0, 2.0])
    mixed = (lambda: x + y, lambda: x + 1.5, lambda: 1.5 * x, lambda: x < 1.5, lambda: tf.maximum(x, 2.5))
    others = (lambda: y * 2j, lambda: C(True) + 1, lambda: tf.where(True, x, 1.5), lambda: y * np.ones(2))
    for f in (*mixed, *others):
        with tf.settings(dtype_promotion="strict"):
            refused(f, TypeError)
        assert f().shape == (2,) or f().shape == ()
    with tf.settings(dtype_promotion="strict"):
        same(lambda: x + 1, [2, 3], "int32")
        same(lambda: y * 2, [2, 4], "float32")
        same(lambda: x / 2, [0.5, 1.0], "float64")


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint16"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_integers_of_numpy_take_the_dtype_of_floating_tensors(dtype, kind):
    x, v, n = C([1.0, 2.0], dtype), tf.Variable([1.0, 2.0], dtype=dtype), np.array([3, 4], kind)
    for y in (x, v):
        same(lambda y=y: y * n, [3, 8], dtype)
        same(lambda y=y: n * y, [3, 8], dtype)
        same(lambda y=y: n / y, [3, 2], dtype)
        same(lambda y=y: y / n[0], [1 / 3, 2 / 3] if dtype != "float16" else np.float16([1 / 3, 2 / 3]), dtype)
        same(lambda y=y: np.add(y, n), [4, 6], dtype)
        same(lambda y=y: tf.where([True, False], y, n), [1, 4], dtype)
    same(lambda: x * np.array([3, 4], kind), [3, 8], dtype)
    same(lambda: C([1, 2]) * np.array([3.0, 4.0]), [3, 8], "float64")
    same(lambda: tnp.multiply(C([1.0, 2.0]), np.array([3, 4])), [3, 8], "float64")
    gradient = tf.grad(tf.grad(lambda x: x**3 * n[0] / n[1]))
    if dtype != "complex64":
        same(lambda: gradient(C(2.0, dtype)), 9.0, dtype)


def test_saturating_casts():
    same(lambda: tf.saturate_cast([300.0, -5.0, 7.5], "uint8"), [255, 0, 7], "uint8")
    same(lambda: tf.saturate_cast([300, -5], tf.int8), [127, -5], "int8")
    same(lambda: tf.saturate_cast([1e20, -1e20], tf.int32), [2147483520, -(2**31)], "int32")
    same(lambda: tf.saturate_cast(C([1e4, -np.inf], tf.float16), tf.int32), [10000, -65504], "int32")


@pytest.mark.parametrize("to", ["float16", "float32", "float64"])
@pytest.mark.parametrize("given", ["float16", "float32", "float64"])
def test_saturating_casts_of_infinities_are_finite(given, to):
    most = min(float(np.finfo(d).max) for d in (given, to))
    same(lambda: tf.saturate_cast(C([np.inf, -np.inf, 1.5], given), to), [most, -most, 1.5], to)
    assert np.isnan(tf.saturate_cast(C(np.nan, given), to))
