"""Choices among branches, maps over rows, prefix scans: eager and compiled, with gradients."""

import numpy as np
import pytest

import tracejit as tf
from tracejit.frontend.control.branching import associative_scan, case, map_fn, switch_case


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


def test_case_takes_the_first_that_holds(run):
    f = run(lambda x: case([(x < 1.0, lambda: x), (x < 5.0, lambda: 10.0 * x)], lambda: -x))
    assert [float(f(tf.constant(v))) for v in (0.5, 3.0, 7.0)] == [0.5, 30.0, -7.0]


def test_case_without_default_ends_with_its_last(run):
    f = run(lambda x: case([(x < 1.0, lambda: x), (x < 5.0, lambda: 10.0 * x)]))
    assert float(f(tf.constant(9.0))) == 90.0


def test_exclusive_case_refuses_two_conditions_that_hold(run):
    f = run(lambda x: case([(x > 1.0, lambda: x), (x > 5.0, lambda: -x)], lambda: 0.0, exclusive=True))
    assert [float(f(tf.constant(v))) for v in (0.5, 3.0)] == [0.0, 3.0]
    with pytest.raises(AssertionError, match="several conditions"):
        f(tf.constant(9.0))


def test_arguments_of_other_libraries_are_accepted():
    assert float(case([(tf.constant(True), lambda: 1.0)], name="c")) == 1.0
    assert float(switch_case(tf.constant(3), [(1, lambda: 1.0), (3, lambda: 3.0)], name="s")) == 3.0
    assert float(tf.cond(tf.constant(True), lambda: 1.0, lambda: 2.0, name="c")) == 1.0
    halves = map_fn(lambda x: (x / 2, x), tf.constant([1.0, 2.0]), dtype=(tf.float32, tf.float32), name="m")
    np.testing.assert_array_equal(halves[0], [0.5, 1.0])


def test_switch_case(run):
    f = run(lambda i, x: switch_case(i, [lambda: x, lambda: x * x, lambda: -x]))
    assert [float(f(tf.constant(i), tf.constant(3.0))) for i in (0, 1, 2, 9)] == [3.0, 9.0, -3.0, -3.0]
    g = run(lambda i, x: switch_case(i, {4: lambda: x}, default=lambda: 2.0 * x))
    assert [float(g(tf.constant(i), tf.constant(3.0))) for i in (4, 0)] == [3.0, 6.0]


def test_gradient_follows_the_branch(run):
    f = run(tf.grad(lambda x, i: switch_case(i, [lambda: x * x, lambda: tf.sin(x)])))
    assert float(f(tf.constant(2.0), tf.constant(0))) == 4.0
    assert float(f(tf.constant(2.0), tf.constant(1))) == pytest.approx(np.cos(2.0), rel=1e-6)


def test_switch_case_refuses_floats():
    with pytest.raises(tf.ShapeError, match="scalar integer"):
        switch_case(tf.constant(1.0), [lambda: 1.0])


def test_map_fn(run):
    x = np.arange(6.0).reshape(3, 2)
    f = run(lambda x: map_fn(lambda row: {"sum": tf.reduce_sum(row), "twice": 2.0 * row}, x))
    found = f(tf.constant(x))
    np.testing.assert_array_equal(found["sum"], x.sum(1))
    np.testing.assert_array_equal(found["twice"], 2 * x)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan_is_the_running_combination(run, size, reverse):
    x = np.random.default_rng(size).standard_normal((2, size, 3))
    f = run(lambda x: associative_scan(tf.add, x, reverse=reverse, axis=1))
    wanted = np.flip(np.cumsum(np.flip(x, 1), 1), 1) if reverse else np.cumsum(x, 1)
    np.testing.assert_allclose(f(tf.constant(x)), wanted, rtol=1e-12, atol=1e-12)


def test_associative_scan_keeps_the_order_of_its_operands(run):
    def compose(p, q):  # x -> q(p(x)) of maps a x + b: does not commute
        return {"a": p["a"] * q["a"], "b": p["b"] * q["a"] + q["b"]}

    rng = np.random.default_rng(0)
    maps = {"a": rng.standard_normal(7), "b": rng.standard_normal(7)}
    found = run(lambda m: associative_scan(compose, m))({k: tf.constant(v) for k, v in maps.items()})
    x = 0.0
    for k, (a, b) in enumerate(zip(maps["a"], maps["b"], strict=True)):
        x = a * x + b
        assert float(found["b"][k]) == pytest.approx(x)


def test_gradient_of_a_prefix_scan(run):
    x = tf.constant(np.array([1.5, -2.0, 0.5, 3.0]))
    f = run(tf.grad(lambda x: tf.reduce_sum(associative_scan(tf.multiply, x))))
    v, h = x.numpy(), 1e-6
    wanted = [(np.cumprod(v + h * e).sum() - np.cumprod(v - h * e).sum()) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(f(x), wanted, rtol=1e-7)
