"""NaN, infinities, zeros of both signs, extreme numbers and singular matrices: compiled as eagerly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp

NAN, INF = np.nan, np.inf
FLOATS = [0.0, -0.0, 1.0, -2.5, NAN, INF, -INF, 3.4e38, -3.4e38, 1e-45, 2.0**31, -(2.0**63), 2.0**64, 300.0]
MATRICES = {
    "nan first": [[NAN, 1, 2], [1, 2, 3], [0, 1, 1]],
    "nan last": [[1, 1, 2], [1, 2, 3], [0, 1, NAN]],
    "nan among zeros": [[0, 0, 0], [0, NAN, 0], [0, 0, 0]],
    "infinite among zeros": [[0, 1, 0], [0, INF, 0], [0, 0, 0]],
    "nan in the last column": [[0, 1], [0, NAN]],
    "nan above": [[0, NAN], [0, 0]],
    "infinite": [[INF, 1, 2], [1, 2, 3], [0, 1, 1]],
    "zeros": [[0, 0], [0, 0]],
    "singular": [[1, 2], [2, 4]],
    "one nan": [[NAN]],
}


def outcome(f, *args):
    """The values of a call, or the type of its error."""
    try:
        return f(*args)
    except Exception as error:
        return type(error)


def agree(f, *args):
    """Eager and compiled: the same values with NaN equal, or the same error."""
    eager, compiled = outcome(f, *args), outcome(tf.function(f), *args)
    if isinstance(eager, type) or isinstance(compiled, type):
        assert eager is compiled
        return eager
    np.testing.assert_allclose(compiled.numpy(), eager.numpy(), rtol=1e-6)
    return eager.numpy()


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize(
    "f",
    [
        tf.linalg.det,
        tf.linalg.inv,
        lambda a: tf.linalg.solve(a, a[:, :1] * 0 + 1),
        lambda a: tnp.linalg.slogdet(a)[0],
        lambda a: tnp.linalg.slogdet(a)[1],
        tf.linalg.cholesky,
    ],
    ids=["det", "inv", "solve", "sign", "logdet", "cholesky"],
)
def test_matrices_with_special_values(f, matrix, dtype):
    agree(f, tf.constant(np.array(matrix, dtype)))


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_the_determinant_of_nan_is_nan(mode):
    for name in ("nan among zeros", "nan in the last column", "nan above"):
        assert np.isnan(mode(tf.linalg.det)(tf.constant(np.array(MATRICES[name]))))


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_the_gradient_of_a_determinant_that_is_zero_is_refused_every_time(mode):
    gradient = mode(tf.grad(tf.linalg.det))
    regular, underflown = np.diag([1.0, 2.0, 3.0, 1.0]), np.diag([1e-200, 1e-200, 1e-200, 1.0])
    for _ in range(6):
        np.testing.assert_allclose(gradient(tf.constant(regular)).numpy(), np.diag([6.0, 3.0, 2.0, 6.0]))
        with pytest.raises(RuntimeError, match="singular"):
            gradient(tf.constant(underflown))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_division_is_equal_to_the_bit(dtype):
    parts = np.array(list(itertools.product(FLOATS, FLOATS)))
    with np.errstate(all="ignore"):
        z = (parts[:, 0] + 0j).astype(dtype)
        z.imag = parts[:, 1]
    x, y = np.repeat(z, len(z)), np.tile(z, len(z))
    eager, compiled = tf.divide(x, y).numpy(), tf.function(tf.divide)(x, y).numpy()
    for a, b in ((eager.real, compiled.real), (eager.imag, compiled.imag)):
        np.testing.assert_array_equal(a, b)
        assert (np.signbit(a) == np.signbit(b))[~np.isnan(a)].all()


@pytest.mark.parametrize("name", ["exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "log"])
def test_complex_functions_at_infinities_and_nan(name):
    parts = np.array(
        list(itertools.product([0.0, -0.0, 0.5, -2.5, INF, -INF, NAN, 1.7e308, 5e-324], repeat=2))
    )
    z = np.empty(len(parts), complex)
    z.real, z.imag = parts.T
    f = getattr(tf.math, name)
    eager, compiled = f(z).numpy(), tf.function(f)(z).numpy()
    np.testing.assert_allclose(compiled.real, eager.real, rtol=1e-14)
    np.testing.assert_allclose(compiled.imag, eager.imag, rtol=1e-14)


def test_complex_numbers_to_small_powers_are_products():
    z = np.array([1e308 + 1j, 1e10 + 1e10j, INF + 0j, 5e-324 + 0j, -2.5 - 0j, 1.7e308j])
    for exponent in (1.0, 2.0, -1.0):
        eager = tf.pow(z, exponent + 0j).numpy()
        compiled = tf.function(tf.pow)(z, np.full(6, exponent + 0j)).numpy()
        finite = np.isfinite(eager)
        np.testing.assert_allclose(compiled[finite], eager[finite], rtol=1e-15)


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_casts_of_what_integers_do_not_hold(to, dtype):
    with np.errstate(all="ignore"):
        x = np.array([*FLOATS, -300.0, 1e19, -1e20], dtype)
    cast = lambda x: tf.cast(x, to)
    eager, compiled = cast(x).numpy(), tf.function(cast)(x).numpy()
    np.testing.assert_array_equal(eager, compiled)
    np.testing.assert_array_equal(eager, [cast(v).numpy() for v in x])  # one by one as in a row


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_at_their_limits(dtype):
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.max, 0, 1, 7, info.max // 2, info.bits - 1, info.bits], dtype)
    numbers = np.append(ends, np.array([-1, -7], dtype)) if info.min else ends
    x, y = np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))
    named = [tf.add, tf.subtract, tf.multiply, tf.math.floordiv, tf.math.mod, tf.truncatediv, tf.truncatemod]
    for f in (*named, tf.bitwise.left_shift, tf.bitwise.right_shift, tf.maximum):
        np.testing.assert_array_equal(f(x, y).numpy(), tf.function(f)(x, y).numpy())


def test_float16_sums_are_those_of_float32():
    x = np.array([60000, 60000, -60000, -50000, 1], np.float16)
    for f in (tf.reduce_sum, tf.reduce_mean, lambda x: tf.matmul(x[None], x[:, None] * 0 + 2)):
        np.testing.assert_array_equal(tf.function(f)(x).numpy(), f(x).numpy())
    assert float(tf.function(tf.reduce_sum)(x)) == 10016.0


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("dtype", "divisor"), [("float16", 1e-5), ("float32", 1e-30), ("float64", 1e-300)])
def test_the_slope_of_a_small_divisor_is_finite_where_it_can_be(dtype, divisor, compiled):
    """``1 / b`` overflows for normal numbers of no dtype but float16, whose slope does not go by it."""
    a, b = np.array(divisor / 10, dtype), np.array(divisor, dtype)
    gradient = tf.grad(lambda a, b: a / b, 1)
    found = (tf.function(gradient) if compiled else gradient)(tf.constant(a), tf.constant(b))
    np.testing.assert_allclose(float(found), -float(a) / float(b) / float(b), rtol=2e-2 if dtype == "float16" else 1e-6)


def test_float16_extremes_of_zeros_and_large_arguments():
    x, y = np.array([0.0, -0.0], np.float16), np.array([-0.0, 0.0], np.float16)
    for f in (tf.maximum, tf.minimum):
        np.testing.assert_array_equal(np.signbit(tf.function(f)(x, y).numpy()), np.signbit(f(x, y).numpy()))
    large = np.array([INF, 65504, 300, 2000], np.float16)
    for f in (tf.math.asinh, tf.math.acosh):
        np.testing.assert_allclose(tf.function(f)(large).numpy(), f(large).numpy(), rtol=1e-3)


def test_logaddexp_near_cancellation_is_within_the_rounding_of_its_terms():
    a = np.log(np.linspace(0.05, 0.95, 500))
    b = np.log1p(-np.exp(a)) + np.linspace(-1e-9, 1e-9, 500)
    found = tf.function(tf.math.logaddexp)(a, b).numpy()
    exact = np.logaddexp(a.astype(np.longdouble), b.astype(np.longdouble))
    assert (np.abs(found - exact) <= 3 * np.spacing(np.maximum(np.abs(a), np.log(2.0)))).all()
