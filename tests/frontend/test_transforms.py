"""grad, value_and_grad, vjp, jvp, linearize, gradients_function: structures, nesting, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from checks.nests import values
from tracejit.core.errors import GradientError


def test_grad():
    assert tf.grad(lambda x: x * x)(3.0).item() == 6.0
    f = lambda x, p, n: tf.reduce_sum(x * p["w"]) ** n + p["b"]
    x, p = tf.constant([1.0, 2.0]), {"w": tf.constant([3.0, 4.0]), "b": 5.0}
    assert values(tf.grad(f)(x, p, 2)) == [66.0, 88.0]
    assert values(tf.grad(f, argnums=1)(x, p, 2)) == {"w": [22.0, 44.0], "b": 1.0}
    assert values(tf.grad(f, argnums=(1, 0))(x, p, 1)) == [{"w": [1.0, 2.0], "b": 1.0}, [3.0, 4.0]]
    assert values(tf.grad(f, argnums=-2)(x, p, 1)) == {"w": [1.0, 2.0], "b": 1.0}


def test_value_and_grad_with_something_besides():
    f = lambda x: (x * x, {"seen": x + 1.0})
    value, g = tf.value_and_grad(lambda x: x * x)(3.0)
    assert [value.item(), g.item()] == [9.0, 6.0]
    (value, aux), g = tf.value_and_grad(f, has_aux=True)(3.0)
    assert [value.item(), values(aux), g.item()] == [9.0, {"seen": 4.0}, 6.0]
    g, aux = tf.grad(f, has_aux=True)(3.0)
    assert [g.item(), values(aux)] == [6.0, {"seen": 4.0}]


def test_the_same_tensor_twice_is_two_arguments():
    x = tf.constant(3.0)
    assert tf.grad(lambda a, b: a * b * b)(x, x).item() == 9.0
    assert values(tf.grad(lambda a, b: a * b * b, argnums=(0, 1))(x, x)) == [9.0, 18.0]


def test_unconnected_arguments_have_gradient_zero():
    assert values(tf.grad(lambda a, b: a * 2.0, argnums=(0, 1))(1.0, np.ones(2))) == [2.0, [0.0, 0.0]]


def test_nesting_with_each_other_tapes_and_functions():
    f = lambda x: tf.sin(x) * x
    x = tf.constant(0.5, tf.float64)
    s, c = np.sin(0.5), np.cos(0.5)
    third = -3 * s - 0.5 * c
    assert tf.grad(tf.grad(tf.grad(f)))(x).item() == pytest.approx(third, rel=1e-12)
    assert tf.function(tf.grad(tf.grad(tf.grad(f))))(x).item() == pytest.approx(third, rel=1e-12)
    assert tf.grad(tf.function(tf.grad(tf.function(tf.grad(f)))))(x).item() == pytest.approx(third, rel=1e-12)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.grad(tf.grad(f))(x)
    assert tape.gradient(y, x).item() == pytest.approx(third, rel=1e-12)
    push = lambda g: lambda x: tf.jvp(g, [x], [1.0])[1]
    assert push(push(push(f)))(x).item() == pytest.approx(third, rel=1e-12)
    assert push(tf.grad(push(f)))(x).item() == pytest.approx(third, rel=1e-12)
    assert tf.function(tf.grad(push(tf.grad(f))))(x).item() == pytest.approx(third, rel=1e-12)


def test_perturbations_do_not_mix():
    inner = lambda x: tf.jvp(lambda y: x * y, [1.0], [1.0])[1]
    assert tf.grad(lambda x: x * inner(x))(3.0).item() == 6.0
    assert tf.jvp(lambda x: x * inner(x), [3.0], [1.0])[1].item() == 6.0


def test_vjp():
    (y, z), pullback = tf.vjp(lambda a, b: (a * b, {"s": a + b}), tf.constant([1.0, 2.0]), 3.0)
    assert [values(y), values(z)] == [[3.0, 6.0], {"s": [4.0, 5.0]}]
    assert values(pullback(([1.0, 10.0], None))) == [[3.0, 30.0], 21.0]
    assert values(pullback((None, {"s": [1.0, 1.0]}))) == [[1.0, 1.0], 2.0]
    with pytest.raises(tf.ShapeError, match=r"must be float32\[2\], got float32\[3\]"):
        pullback((np.ones(3, "float32"), None))


def test_jvp():
    y, t = tf.jvp(
        lambda x, p: (x * p["k"], p["k"]), [tf.constant([1.0, 2.0]), {"k": 3.0}], [[1.0, 1.0], {"k": 1.0}]
    )
    assert values(t) == [[4.0, 5.0], 1.0]
    y, t = tf.jvp(lambda x, n: x**n, [2.0, 3], [1.0, None])
    assert [y.item(), t.item()] == [8.0, 12.0]
    with pytest.raises(ValueError, match="2 primals and 1 tangents"):
        tf.jvp(lambda a, b: a, [1.0, 2.0], [1.0])


def test_gradients_function():
    sine = tf.gradients_function(tf.sin)
    assert sine(np.pi / 2)[0].item() == pytest.approx(0.0, abs=1e-7)
    square = lambda x: tf.sin(x) ** 2
    derivative = lambda f: lambda x: tf.gradients_function(f)(x)[0]
    x = np.linspace(-3.0, 3.0, 100)
    np.testing.assert_allclose(derivative(square)(x), np.sin(2 * x), atol=1e-12)
    np.testing.assert_allclose(derivative(derivative(square))(x), 2 * np.cos(2 * x), atol=1e-12)
    np.testing.assert_allclose(derivative(derivative(derivative(square)))(x), -4 * np.sin(2 * x), atol=1e-12)
    assert values(tf.gradients_function(lambda x, n: x**n)(2.0, 3)) == [12.0, None]
    assert values(tf.gradients_function(lambda x, y: x * 2.0)(1.0, 1.0)) == [2.0, None]
    assert values(tf.gradients_function(lambda x: x * 2.0)(np.ones(2), dy=[1.0, 5.0])) == [[2.0, 10.0]]
    assert values(tf.gradients_function(lambda x, y: x * y, params=[1])(2.0, 3.0)) == [2.0]


def both(x, y):
    return {"product": x * y, "sines": (tf.sin(x), None)}


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_linearize(mode):
    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])

    def program(x, y, s, t):
        value, push = tf.linearize(both, x, y)
        return value, push(s, t), push(t, None), tf.jvp(both, [x, y], [s, t])

    value, pushed, alone, (_, expected) = mode(program)(x, y, np.ones(2), np.array([0.5, 2.0]))
    np.testing.assert_array_equal(value["product"], x * y)
    np.testing.assert_allclose(pushed["product"], y + x * [0.5, 2.0], rtol=1e-15)
    np.testing.assert_allclose(alone["product"], y * [0.5, 2.0], rtol=1e-15)
    np.testing.assert_array_equal(pushed["product"], expected["product"])
    np.testing.assert_array_equal(pushed["sines"][0], expected["sines"][0])
    assert pushed["sines"][1] is None


def test_linearize_runs_the_function_once_and_nests():
    calls = []

    def f(x):
        calls.append(x)
        return tf.sin(x) * x

    _, push = tf.linearize(f, tf.constant(0.5, tf.float64))
    one, two = push(1.0).item(), push(2.0).item()
    assert two == 2.0 * one and len(calls) == 1
    second = tf.grad(lambda x: tf.linearize(f, x)[1](1.0))(tf.constant(0.5, tf.float64))
    assert second.item() == pytest.approx(2 * np.cos(0.5) - 0.5 * np.sin(0.5), rel=1e-14)
    with pytest.raises(ValueError, match=r"1 primals and 2 tangents(.|\n)*test_transforms.py"):
        push(1.0, 2.0)


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_vjp_jvp_and_linearize_pass_on_what_is_returned_besides(mode):
    def f(x):
        return x * x, {"more": x + 1.0, "text": None}

    def program(x):
        y, pullback, one = tf.vjp(f, x, has_aux=True)
        _, t, two = tf.jvp(f, [x], [x], has_aux=True)
        _, push, three = tf.linearize(f, x, has_aux=True)
        return y, pullback(1.0)[0], t, push(x), one, two, three

    y, g, t, u, *more = mode(program)(tf.constant(3.0))
    assert values([y, g, t, u]) == [9.0, 6.0, 18.0, 18.0]
    assert values(more) == [{"more": 4.0, "text": None}] * 3
    for call in (
        lambda: tf.grad(lambda x: x, has_aux=True)(1.0),
        lambda: tf.jvp(lambda x: (x, x, x), [1.0], [1.0], has_aux=True),
    ):
        with pytest.raises(tf.ShapeError, match="returns a pair"):
            call()


def test_a_default_of_the_function_is_not_an_argument_of_its_derivative():
    def f(x, y, scale=2.0):
        return x * y * scale

    for mode in (lambda g: g, tf.function):
        assert mode(tf.grad(f, argnums=-1))(3.0, 5.0).item() == 6.0
        assert mode(tf.jacfwd(f, argnums=-1))(3.0, 5.0).item() == 6.0


def test_errors():
    for wrong, error, message in (
        (lambda: tf.grad(lambda x: x)(3), TypeError, "int32"),
        (lambda: tf.grad(lambda x: x)("text"), TypeError, "str"),
        (lambda: tf.grad(lambda x: x)(object()), TypeError, "object: pass floats, or lists"),
        (lambda: tf.grad(lambda x: x)(np.ones(2)), ValueError, r"scalar.*float64\[2\]"),
        (lambda: tf.grad(lambda x: tf.cast(x, tf.int32))(1.0), ValueError, r"int32\[\]"),
        (lambda: tf.grad(lambda x: x, argnums=1)(1.0), ValueError, "argnums 1"),
    ):
        with pytest.raises(error, match=f"{message}(.|\n)*test_transforms.py"):
            wrong()


def test_what_stops_gradients_does_so_in_functions_at_every_order():
    v = tf.Variable(np.float64(2.0))

    @tf.custom_gradient
    def doubled(x):
        return x * x, lambda g: g * 5.0 * x

    def f(x):
        v.assign(x * x)
        return x * x * tf.stop_gradient(x * x) * v * doubled(x)

    x = tf.constant(1.5, tf.float64)
    expected = [values(g(x)) for g in (tf.grad(f), tf.grad(tf.grad(f)))]
    compiled = tf.function(f)
    assert [values(g(x)) for g in (tf.grad(compiled), tf.grad(tf.grad(compiled)))] == pytest.approx(expected)
    assert values(tf.function(tf.grad(tf.grad(f)))(x)) == pytest.approx(expected[1])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: tf.reduce_sum(np.array(np.sin(x)) * 2),
        lambda x: tf.constant(float(x[0]) ** 2),
        lambda x: tf.reduce_sum(tf.constant(x.numpy())) * 2.0,
    ],
)
def test_values_that_left_are_no_gradient_of_zero(f):
    x = tf.constant([1.0, 2.0])
    for call in (lambda: tf.grad(f)(x), lambda: tf.value_and_grad(f)(x), lambda: tf.vjp(f, x)):
        with pytest.raises(GradientError, match="carries a derivative is taken out here") as caught:
            call()
        assert __file__ in str(caught.value)


def test_looking_at_values_does_no_harm():
    seen = []

    def f(x):
        seen.append(float(x))
        return x * x if x > 1.0 else tf.constant(5.0)

    assert float(tf.grad(f)(3.0)) == 6.0
    assert float(tf.grad(lambda x: tf.constant(5.0))(3.0)) == 0.0
    assert float(tf.grad(lambda x: tf.constant(5.0) if x > 1.0 else x)(3.0)) == 0.0


def test_a_compiled_function_and_its_gradient_are_one():
    """A call of ``value_and_grad(function(f))`` is one of machine code; under a tape and in traces it is as ever."""
    traces = []

    def f(w, x):
        traces.append(1)
        return tf.reduce_sum(tf.tanh(w * x) ** 2)

    w, x = tf.constant([0.5, 1.5]), tf.constant([2.0, 3.0])
    compiled = tf.function(f)
    both = tf.value_and_grad(compiled, argnums=(0, 1))
    value, gradients = both(w, x)
    wanted, expected = tf.value_and_grad(f, argnums=(0, 1))(w, x)
    assert len(traces) == 2 and compiled.experimental_get_tracing_count() == 0
    np.testing.assert_allclose(value, wanted, rtol=1e-6)
    np.testing.assert_allclose(gradients, expected, rtol=1e-6)
    with tf.GradientTape() as tape:
        tape.watch(w)
        y = tf.reduce_sum(both(w, x)[1][0])
    second = tf.grad(lambda w: tf.reduce_sum(tf.grad(f)(w, x)))(w)
    np.testing.assert_allclose(tape.gradient(y, w), second, rtol=1e-5)
    np.testing.assert_allclose(tf.function(both)(w, x)[1][0], gradients[0], rtol=1e-6)
