"""Elementary functions written with others: NumPy's values, derivatives of two orders, edges."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

X = np.array([-2.5, -0.7, 0.3, 1.1, 2.2])
FUNCTIONS = {
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "ceil": np.ceil,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "log_sigmoid": lambda x: -np.log1p(np.exp(-x)),
    "is_finite": np.isfinite,
    "is_inf": np.isinf,
}
SMOOTH = [name for name in FUNCTIONS if name not in ("ceil", "is_finite", "is_inf")]
EDGES = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-320, 1e-9, 30.0, -30.0, 1e300])


def domain(name):
    return np.abs(X) if name == "rsqrt" else X


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name, run):
    x = domain(name)
    found = run(getattr(tf.math, name))(tf.constant(x)).numpy()
    np.testing.assert_allclose(found, FUNCTIONS[name](x), rtol=2e-15)


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "tan"])
def test_edges(name, run):
    with np.errstate(all="ignore"):
        found, expected = run(getattr(tf.math, name))(tf.constant(EDGES)).numpy(), FUNCTIONS[name](EDGES)
    np.testing.assert_allclose(found, expected, rtol=2e-15)
    np.testing.assert_array_equal(
        np.signbit(found[~np.isnan(expected)]), np.signbit(expected[~np.isnan(expected)])
    )


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives(name, run):
    f, x, h = getattr(tf.math, name), domain(name), 1e-5
    first = tf.grad(lambda v: tf.reduce_sum(f(v)))
    second = tf.grad(lambda v: tf.reduce_sum(first(v)))
    for order, lower in ((first, f), (second, first)):
        ends = [lower(tf.constant(x + s * h)).numpy() for s in (1, -1)]
        np.testing.assert_allclose(
            run(order)(tf.constant(x)).numpy(), (ends[0] - ends[1]) / (2 * h), rtol=1e-6
        )


def test_no_gradient_flows_through_ceil(run):
    assert run(lambda x: tf.grad(tf.math.ceil)(x))(tf.constant(1.5)).item() == 0.0


def test_division_where_it_means_nothing(run):
    x, y = np.array([1.0, 2.0, 0.0]), np.array([0.0, 4.0, 0.0])
    assert run(tf.math.divide_no_nan)(tf.constant(x), tf.constant(y)).numpy().tolist() == [0, 0.5, 0]
    gradients = run(tf.grad(lambda a, b: tf.reduce_sum(tf.math.divide_no_nan(a, b)), argnums=(0, 1)))
    a, b = gradients(tf.constant(x), tf.constant(y))
    assert a.numpy().tolist() == [0, 0.25, 0] and b.numpy().tolist() == [0, -0.125, 0]
    assert run(tf.math.xlogy)(tf.constant([0.0, 2.0]), tf.constant([0.0, 1.0])).numpy().tolist() == [0, 0]


def test_others(run):
    assert run(tf.math.squared_difference)(tf.constant(1.0), tf.constant(4.0)).item() == 9.0
    assert run(tf.math.logical_xor)(
        tf.constant([True, True]), tf.constant([True, False])
    ).numpy().tolist() == [*(False, True)]
    assert run(lambda a, b: tf.add_n([a, b, a]))(tf.constant(1.0), tf.constant(2.0)).item() == 4.0
    with pytest.raises(ValueError, match="at least one tensor"):
        tf.add_n([])


@pytest.mark.parametrize(
    "x",
    [
        np.array([[3.0, 1.0, 1.0], [np.nan, -np.inf, np.nan]]),
        np.array([[1, -(2**31), 2**31 - 1]], np.int32),
        np.array([[1, 0, 255]], np.uint8),
        np.array([[True, False, False]]),
    ],
    ids=lambda x: x.dtype.name,
)
def test_argmin(x, run):
    found = run(lambda v: tf.argmin(v, axis=1))(tf.constant(x))
    assert found.dtype == tf.int64 and found.numpy().tolist() == np.argmin(x, axis=1).tolist()
    assert tf.argmin([3, 1], output_type=tf.int32).dtype == tf.int32


def test_products_that_vanish_whatever_they_meet(run):
    x, y = np.array([np.nan, np.inf, 3.0, 2.0, 0.0]), np.array([0.0, 0.0, 0.0, 4.0, np.inf])
    found = run(tf.math.multiply_no_nan)(tf.constant(x), tf.constant(y)).numpy()
    assert found[:4].tolist() == [0, 0, 0, 8] and np.isnan(found[4])
    gradients = run(tf.grad(lambda a, b: tf.reduce_sum(tf.math.multiply_no_nan(a, b)), argnums=(0, 1)))
    a, b = gradients(tf.constant(x[:4]), tf.constant(y[:4]))
    assert a.numpy().tolist() == [0, 0, 0, 4] and b.numpy().tolist() == [0, 0, 3, 2]
    for name, inner in (("xdivy", lambda y: 1.0 / y), ("xlog1py", np.log1p)):
        f = getattr(tf.math, name)
        u, v = np.array([0.0, 0.0, 2.0]), np.array([0.0, -1.0, 3.0])
        found = run(f)(tf.constant(u), tf.constant(v)).numpy()
        np.testing.assert_allclose(found, [0.0, 0.0, 2.0 * inner(3.0)], rtol=1e-15)
        a, b = run(tf.grad(lambda a, b, f=f: tf.reduce_sum(f(a, b)), argnums=(0, 1)))(u, v)
        np.testing.assert_allclose(a.numpy(), [0.0, 0.0, inner(3.0)], rtol=1e-15)
        assert b.numpy()[:2].tolist() == [0.0, 0.0]
    assert run(tf.math.reciprocal_no_nan)(tf.constant([0.0, 4.0])).numpy().tolist() == [0.0, 0.25]


def test_polynomials_angles_and_counts(run):
    assert run(lambda x: tf.math.polyval([1.0, -2.0, 3.0], x))(tf.constant([2.0, -1.0])).numpy().tolist() == [
        3.0,
        6.0,
    ]
    assert run(lambda x: tf.math.polyval([], x))(tf.constant([2.0])).numpy().tolist() == [0.0]
    z = np.array([1 + 1j, -1 - 2j, 3j, -2.0])
    np.testing.assert_allclose(run(tf.math.angle)(tf.constant(z)).numpy(), np.angle(z), rtol=1e-15)
    assert run(tf.math.rint)(tf.constant([0.5, 1.5, -0.5])).numpy().tolist() == [0.0, 2.0, -0.0]
    assert run(lambda x: tf.scalar_mul(2.0, x))(tf.constant([1.0])).numpy().tolist() == [2.0]
    counted = run(lambda x: tf.math.count_nonzero(x, axis=1))(tf.constant([[0.0, np.nan], [1.0, 2.0]]))
    assert counted.numpy().tolist() == [1, 2] and counted.dtype == np.int64
    assert run(tf.math.zero_fraction)(tf.constant([0, 1, 0, 0])).numpy() == np.float32(0.75)
    assert run(tf.math.reduce_euclidean_norm)(tf.constant([[3.0], [4.0]])).item() == 5.0
    assert run(tf.math.is_non_decreasing)(tf.constant([1, 1, 2])).item() is True
    assert run(tf.math.is_strictly_increasing)(tf.constant([1, 1, 2])).item() is False
    assert tf.math.count_nonzero(["", "a"]).item() == 1


PREFIXES = {
    "cumprod": np.cumprod,
    "cumulative_logsumexp": np.logaddexp.accumulate,
}


@pytest.mark.parametrize("name", PREFIXES)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_prefixes(name, exclusive, reverse, run):
    f, reference = getattr(tf.math, name), PREFIXES[name]
    x = np.array([[0.5, -1.5, 2.0], [1.0, 0.0, -3.0]])
    found = run(lambda v: f(v, axis=1, exclusive=exclusive, reverse=reverse))(tf.constant(x)).numpy()
    turned = x[:, ::-1] if reverse else x
    wanted = reference(turned, axis=1)
    if exclusive:
        first = np.full((2, 1), 1.0 if name == "cumprod" else -np.inf)
        wanted = np.concatenate([first, wanted[:, :-1]], 1)
    np.testing.assert_allclose(found, wanted[:, ::-1] if reverse else wanted, rtol=1e-14)
    assert f(tf.zeros((0,))).shape == (0,)


@pytest.mark.parametrize("name", PREFIXES)
def test_prefixes_of_open_size(name):
    def total(x, reverse=False):
        return tf.reduce_sum(getattr(tf.math, name)(x, axis=1, exclusive=True, reverse=reverse) * tf.cos(x))

    for f in (total, tf.grad(total), lambda x: tf.grad(total)(x, True)):
        compiled = tf.function(f, input_signature=[tf.TensorSpec([None, None], tf.float64)])
        for shape in ((2, 3), (1, 1), (3, 0), (0, 2), (2, 9)):
            x = np.round(2 * np.cos(np.arange(shape[0] * shape[1]))).reshape(shape)  # with zeros
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(compiled(x), f(tf.constant(x)), rtol=1e-13, atol=1e-13)
        assert compiled.experimental_get_tracing_count() == 1


def test_the_gradient_of_running_products_where_an_element_is_0(run):
    found = run(tf.grad(lambda x: tf.reduce_sum(tf.math.cumprod(x))))(np.array([2.0, 0.0, 3.0]))
    assert found.numpy().tolist() == [1.0, 2.0 + 6.0, 0.0]


def test_the_largest_may_be_as_many_as_a_size_says():
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def all_but_one(x):
        return tf.math.top_k(x, k=tf.size(x) - 1, sorted=False)

    values, indices = all_but_one([3.0, 1.0, 2.0])
    assert values.numpy().tolist() == [3.0, 2.0] and indices.numpy().tolist() == [0, 2]
    assert tf.math.top_k([1.0, 5.0], k=tf.constant(1)).values.numpy().tolist() == [5.0]
    with pytest.raises(ValueError, match="the 3 largest of 2"):
        tf.math.top_k([1.0, 5.0], k=3)
