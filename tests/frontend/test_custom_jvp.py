"""custom_jvp: one rule for every mode and order, eagerly, compiled, in loops and for many examples; what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tracejit as tf

MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
X = tf.constant(0.5, tf.float64)


@tf.custom_jvp
def scaled_sine(x, y):
    """``y sin(x)`` and ``2 x``."""
    return tf.sin(x) * y, {"twice": 2.0 * x}


@scaled_sine.defjvp
def scaled_sine_tangent(primals, tangents):
    """Three times what it is by x, so that it shows."""
    (x, y), (tx, ty) = primals, tangents
    return scaled_sine(x, y), (3.0 * tf.cos(x) * tx * y + tf.sin(x) * ty, {"twice": None})


def first(x, y=2.0):
    return scaled_sine(x, tf.cast(y, "float64"))[0]


@tf.custom_jvp
def logistic(x):
    """Its rule is written with itself."""
    return 1.0 / (1.0 + tf.exp(-x))


@logistic.defjvp
def logistic_tangent(primals, tangents):
    y = logistic(primals[0])
    return y, y * (1.0 - y) * tangents[0]


def forward(f: Callable) -> Callable:
    return lambda x: tf.jvp(f, [x], [tf.ones_like(x)])[1]


def taped(f: Callable) -> Callable:
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return gradient


FIRST = [tf.grad, forward, taped, tf.jacrev, tf.jacfwd]


@MODES
def test_the_rule_holds_in_every_mode_and_mix(mode: Callable):
    s, c = np.sin(0.5), np.cos(0.5)
    assert first(X).item() == pytest.approx(2.0 * s, rel=1e-15)
    for inner in FIRST:
        assert mode(inner(first))(X).item() == pytest.approx(6.0 * c, rel=1e-14)
        for outer in FIRST:
            assert mode(outer(inner(first)))(X).item() == pytest.approx(-6.0 * s, rel=1e-14)
    by_y = mode(tf.grad(lambda x, y: scaled_sine(x, y)[0], argnums=1))
    assert by_y(X, tf.constant(7.0, tf.float64)).item() == pytest.approx(s, rel=1e-14)
    assert mode(tf.grad(lambda x: scaled_sine(x, x)[1]["twice"]))(X).item() == 0.0  # as the rule says


@MODES
def test_a_rule_that_calls_its_own_function_holds_at_every_order(mode: Callable):
    y = 1.0 / (1.0 + np.exp(-0.5))
    expected = [y, y * (1 - y), y * (1 - y) * (1 - 2 * y), y * (1 - y) * (1 - 6 * y + 6 * y * y)]
    f = logistic
    for value in expected:
        assert mode(f)(X).item() == pytest.approx(value, rel=1e-13)
        f = tf.grad(f)
    assert mode(forward(tf.grad(forward(logistic))))(X).item() == pytest.approx(expected[3], rel=1e-13)


@MODES
def test_many_examples(mode: Callable):
    xs = np.array([0.5, 1.0, 2.0])
    y = tf.constant(2.0, tf.float64)
    pair = lambda x, y: scaled_sine(x, y)[0]
    np.testing.assert_allclose(mode(tf.vmap(tf.grad(pair), (0, None)))(xs, y), 6.0 * np.cos(xs), rtol=1e-14)
    np.testing.assert_allclose(
        mode(tf.vmap(tf.hessian(pair), (0, None)))(xs, y), -6.0 * np.sin(xs), rtol=1e-14
    )
    summed = mode(tf.grad(lambda y: tf.reduce_sum(tf.vmap(pair, (0, None))(xs, y))))
    assert summed(y).item() == pytest.approx(np.sin(xs).sum(), rel=1e-14)
    s = 1.0 / (1.0 + np.exp(-xs))
    second = mode(tf.vmap(tf.vmap(tf.grad(tf.grad(logistic)))))(xs[None])
    np.testing.assert_allclose(second[0], s * (1 - s) * (1 - 2 * s), rtol=1e-13)


@MODES
def test_in_a_loop_and_in_a_branch(mode: Callable):
    def f(x):
        total = x
        for _ in range(3):
            total = tf.cond(total > 0.0, lambda total=total: logistic(total) * x, lambda: x)
        return total

    def by_hand(x):
        total, slope = x, 1.0
        for _ in range(3):
            y = 1.0 / (1.0 + np.exp(-total))
            total, slope = y * x, y + x * y * (1.0 - y) * slope
        return slope

    assert mode(tf.grad(f))(X).item() == pytest.approx(by_hand(0.5), rel=1e-13)
    assert mode(forward(f))(X).item() == pytest.approx(by_hand(0.5), rel=1e-13)
    scanned = lambda x: tf.fori_loop(0, 3, lambda i, c: logistic(c) * x, x)
    assert mode(tf.grad(scanned))(X).item() == pytest.approx(by_hand(0.5), rel=1e-13)


def test_arguments_that_are_no_tensors():
    def power(f, x, n):
        return f(x) ** n

    power = tf.custom_jvp(power, nondiff_argnums=(0,))

    @power.defjvp
    def rule(f, primals, tangents):
        (x, n), (t, nothing) = primals, tangents
        assert nothing is None
        return power(f, x, n), 10.0 * t

    assert tf.grad(lambda x: power(tf.sin, x, 2))(X).item() == 10.0
    assert power(tf.sin, n=2, x=X).item() == pytest.approx(np.sin(0.5) ** 2)


def test_a_rule_for_each_argument():
    @tf.custom_jvp
    def product(x, y):
        return x * y

    product.defjvps(lambda t, value, x, y: t * y + 0.0 * value, None)
    assert [g.item() for g in tf.grad(product, argnums=(0, 1))(3.0, 5.0)] == [5.0, 0.0]


def test_without_a_recorder_the_function_just_runs():
    seen = []

    @tf.custom_jvp
    def f(x):
        seen.append(float(x))
        return x

    f.defjvps(lambda t, value, x: t)
    assert f(tf.constant(2.0)).item() == seen[0] == 2.0


def test_a_tensor_of_the_surroundings_is_a_constant_or_refused():
    scale = tf.constant(3.0, tf.float64)
    v = tf.Variable(np.float64(2.0))

    @tf.custom_jvp
    def f(x):
        return x * scale * v

    f.defjvps(lambda t, value, x: t * scale * 7.0)
    assert tf.grad(f)(X).item() == 21.0
    with tf.GradientTape() as tape:
        y = f(X)
    with pytest.raises(tf.GradientError, match=r"pass it as an argument(.|\n)*test_custom_jvp.py"):
        tape.gradient(y, v)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda p, t: (p[0], t[0] * t[0]), "not linear in the tangents"),
        (lambda p, t: (p[0], tf.abs(t[0])), "not linear in the tangents"),
        (lambda p, t: t[0], r"returns \(value, tangent of the value\)"),
        (lambda p, t: (p[0], [t[0], t[0]]), "returned a tangent"),
        (
            lambda p, t: (p[0], tf.stack([t[0], t[0]])),
            r"returned a tangent float64\[2\] of a value float64\[\]",
        ),
        (lambda p, t: (p[0], tf.cast(t[0], "float32")), r"returned a tangent float32\[\]"),
    ],
)
def test_rules_that_are_refused(rule: Callable, message: str):
    f = tf.custom_jvp(lambda x: x * x)
    f.defjvp(rule)
    with pytest.raises(tf.GradientError, match=f"{message}(.|\n)*test_custom_jvp.py"):
        tf.grad(f)(X)


def test_a_function_without_a_rule_is_refused():
    with pytest.raises(tf.TracejitError, match=r"has no rule for its tangents(.|\n)*test_custom_jvp.py"):
        tf.custom_jvp(lambda x: x)(X)


def test_values_are_of_the_same_types_whether_recorded_or_not():
    @tf.custom_jvp
    def scaled(x, n):
        return {"y": x * n.shape[0]}

    @scaled.defjvp
    def _tangent(primals, tangents):
        x, n = primals
        return scaled(x, n), {"y": tangents[0] * n.shape[0]}

    given = 2.0, np.ones(3)
    plain = scaled(*given)
    with tf.GradientTape():
        recorded = scaled(*given)
    assert type(plain["y"]) is type(recorded["y"]) is tf.Tensor
    assert plain["y"].dtype == recorded["y"].dtype
    assert float(plain["y"]) == float(recorded["y"]) == 6.0
