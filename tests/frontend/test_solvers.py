"""fixed_point and root: solutions, their derivatives in every mode and order, what happens without convergence."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.errors import DtypeError, ShapeError, TracejitError
from tracejit.core.ir.graph import walk

X = 0.7


def kepler(e):
    """Kepler's equation as a fixed point: a contraction that needs dozens of iterations."""
    return tf.fixed_point(lambda x: 1.2 + e * tf.sin(x), 1.0, tol=1e-15)


def kepler_root(e):
    return tf.root(lambda x, e: x - e * tf.sin(x) - 1.2, 1.0, e)


def kepler_by_hand(e):
    x = 1.0
    for _ in range(200):
        x = 1.2 + e * np.sin(x)
    return x


def kepler_derivatives(e):
    """Value, first and second derivative, by the rule for implicit functions."""
    x = kepler_by_hand(e)
    s, c = np.sin(x), np.cos(x)
    d1 = s / (1 - e * c)
    d2 = (2 * c * d1 - e * s * d1 * d1) / (1 - e * c)
    return x, d1, d2


def forward(f):
    return lambda x: tf.jvp(f, [x], [tf.ones_like(x)])[1]


def taped(f):
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return gradient


FIRST = [tf.grad, forward, taped]
MODES = [lambda f: f, tf.function]


@pytest.mark.parametrize("f", [kepler, kepler_root])
@pytest.mark.parametrize("mode", MODES, ids=["eager", "compiled"])
def test_derivatives_to_second_order_in_every_mix(f, mode):
    e = tf.constant(X, tf.float64)
    value, first, second = kepler_derivatives(X)
    assert mode(f)(e).item() == pytest.approx(value, rel=1e-11)
    for inner in FIRST:
        assert mode(inner(f))(e).item() == pytest.approx(first, rel=1e-10)
        for outer in FIRST:
            assert mode(outer(inner(f)))(e).item() == pytest.approx(second, rel=1e-9)


@pytest.mark.parametrize("f", [kepler, kepler_root])
def test_third_derivative(f):
    third = tf.function(tf.grad(tf.grad(tf.grad(f))))(tf.constant(X, tf.float64)).item()
    h = 1e-5
    differences = (kepler_derivatives(X + h)[2] - kepler_derivatives(X - h)[2]) / (2 * h)
    assert third == pytest.approx(differences, rel=1e-7)


@pytest.mark.parametrize("f", [kepler, kepler_root])
def test_a_compiled_function_is_differentiated_from_outside(f):
    e = tf.constant(X, tf.float64)
    _, first, second = kepler_derivatives(X)
    compiled = tf.function(f)
    assert tf.grad(compiled)(e).item() == pytest.approx(first, rel=1e-10)
    assert tf.grad(tf.grad(compiled))(e).item() == pytest.approx(second, rel=1e-9)
    assert forward(compiled)(e).item() == pytest.approx(first, rel=1e-10)
    assert compiled.experimental_get_tracing_count() == 1


def repeated(x, a, b):
    """A contraction in a nest of a vector and a scalar."""
    v, s = x["v"], x["s"]
    return {"v": 0.3 * tf.tanh(tf.dot(a, v)) * s + b, "s": 0.2 * s * s + 0.3 * tf.reduce_sum(tf.sin(v))}


A = np.array([[0.9, 0.4, -0.5], [0.3, 0.5, 0.2], [-0.2, 0.1, 0.6]])
B = np.array([0.3, -0.2, 0.4])
START = {"v": np.ones(3), "s": tf.constant(1.0, tf.float64)}


def summed(found):
    return tf.reduce_sum(found["v"] * found["v"]) + 3.0 * found["s"]


def system(a, b):
    def equations(x):
        y = repeated(x, a, b)
        return {"s": x["s"] - y["s"], "v": x["v"] - y["v"]}

    return summed(tf.root(equations, START))


def iterated_system(a, b):
    return summed(tf.fixed_point(repeated, START, a, b, tol=1e-15))


@pytest.mark.parametrize("f", [system, iterated_system])
@pytest.mark.parametrize("mode", MODES, ids=["eager", "compiled"])
def test_unknowns_in_a_nest(f, mode):
    value = mode(f)(A, B).item()
    assert value == pytest.approx(system(A, B).item(), rel=1e-9)
    gradients = mode(tf.grad(f, (0, 1)))(A, B)
    random = np.random.default_rng(0)
    for k, (point, gradient) in enumerate(zip((A, B), gradients, strict=True)):
        direction, h = random.normal(size=point.shape), 1e-6
        up, down = ([*(A, B)] for _ in range(2))
        up[k], down[k] = point + h * direction, point - h * direction
        differences = (system(*up).item() - system(*down).item()) / (2 * h)
        assert np.sum(gradient.numpy() * direction) == pytest.approx(differences, rel=1e-6)


@pytest.mark.parametrize("f", [system, iterated_system])
def test_second_derivatives_of_a_system(f):
    h, random = 1e-5, np.random.default_rng(1)
    direction = random.normal(size=3)
    gradient = tf.function(tf.grad(f, 1))
    product = tf.function(lambda b: tf.grad(lambda c: tf.reduce_sum(tf.grad(f, 1)(A, c) * direction))(b))
    pushed = tf.function(lambda b: tf.jvp(lambda c: tf.grad(f, 1)(A, c), [b], [direction])[1])
    differences = (gradient(A, B + h * direction) - gradient(A, B - h * direction)) / (2 * h)
    for found in (product(B), pushed(B)):
        np.testing.assert_allclose(found.numpy(), differences.numpy(), rtol=1e-6)


@pytest.mark.parametrize("mode", MODES, ids=["eager", "compiled"])
def test_variables_and_captured_tensors(mode):
    v = tf.Variable(X, dtype=tf.float64)
    w = tf.constant(1.2, tf.float64)

    def gradients():
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = tf.fixed_point(lambda x: w + v * tf.sin(x), 1.0, tol=1e-15)
        return tape.gradient(y, [v, w])

    x, first, _ = kepler_derivatives(X)
    of_v, of_w = mode(gradients)()
    assert of_v.item() == pytest.approx(first, rel=1e-10)
    assert of_w.item() == pytest.approx(1 / (1 - X * np.cos(x)), rel=1e-10)


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e9, 1e200])
@pytest.mark.parametrize("f", [kepler, kepler_root])
def test_small_and_large_gradients_are_as_exact(f, scale):
    _, first, second = kepler_derivatives(X)
    e = tf.constant(X, tf.float64)
    for mode in MODES:
        assert mode(tf.grad(lambda e: scale * f(e)))(e).item() == pytest.approx(
            scale * first, rel=1e-10, abs=0.0
        )
        pushed = mode(lambda e: tf.jvp(f, [e], [scale * tf.ones_like(e)])[1])(e)
        assert pushed.item() == pytest.approx(scale * first, rel=1e-10, abs=0.0)
    twice = tf.function(tf.grad(lambda e: scale * tf.grad(f)(e)))(e)
    assert twice.item() == pytest.approx(scale * second, rel=1e-9, abs=0.0)


def test_gradients_of_complex_numbers_in_the_equation():
    def f(c):
        return tf.root(lambda x: x * x * x - tf.real(c * c * c) - 2.0 * tf.imag(c), 1.0)

    c = tf.constant(1.2 + 0.3j, tf.complex128)
    gradient, h = tf.grad(f)(c).numpy(), 1e-6
    for direction in (1.0, 1j):
        differences = (f(c + h * direction).item() - f(c - h * direction).item()) / (2 * h)
        assert (np.conj(gradient) * direction).real == pytest.approx(differences, rel=1e-7)


def test_nothing_reaches_the_start():
    def f(x0):
        return tf.root(lambda x: x * x - 2.0, x0)

    with tf.GradientTape() as tape:
        x0 = tf.constant(1.0)
        tape.watch(x0)
        y = f(x0)
    assert tape.gradient(y, x0) is None
    assert forward(f)(tf.constant(1.0)).item() == 0.0


@pytest.mark.parametrize("f", [kepler, kepler_root])
def test_the_backward_does_not_depend_on_how_the_solution_was_found(f):
    graph = tf.function(f).gradient_graph(tf.constant(X, tf.float64))
    assert not any(n.attrs.get("kept") for _, n in walk(graph) if n.op.name == "loop" and n.attrs["reverse"])

    found = []

    def by_bisection(g, x0):
        found.append(x0)
        low, high = tf.constant(0.0, tf.float64), tf.constant(3.0, tf.float64)
        for _ in range(60):
            middle = 0.5 * (low + high)
            if g(middle) > 0.0:
                high = middle
            else:
                low = middle
        return low

    def solved(e):
        return tf.root(lambda x: x - e * tf.sin(x) - 1.2, tf.constant(1.0, tf.float64), solver=by_bisection)

    _, first, second = kepler_derivatives(X)
    e = tf.constant(X, tf.float64)
    for mode in MODES:
        assert mode(tf.grad(solved))(e).item() == pytest.approx(first, rel=1e-10)
    assert tf.grad(tf.grad(solved))(e).item() == pytest.approx(second, rel=1e-9)
    assert len(found) == 3


@pytest.mark.parametrize("f", [kepler, kepler_root])
def test_examples_of_a_batch_each_have_their_own_solution(f):
    es = np.array([0.1, 0.5, 0.9])
    expected = np.array([kepler_derivatives(e) for e in es])
    for mode in MODES:
        for k, g in enumerate((f, tf.grad(f), tf.grad(tf.grad(f)))):
            found = mode(tf.vmap(g))(tf.constant(es))
            np.testing.assert_allclose(found.numpy(), expected[:, k], rtol=1e-8)
        of_sum = mode(tf.grad(lambda es: tf.reduce_sum(tf.vmap(f)(es))))(tf.constant(es))
        np.testing.assert_allclose(of_sum.numpy(), expected[:, 1], rtol=1e-8)


def test_inside_of_loops_and_of_each_other():
    def inner(a):
        return tf.root(lambda x: x * x - a, 1.0)

    def outer(a):
        return tf.fixed_point(lambda y: inner(a + 0.5 * y), 1.0)

    def looped(a):
        return tf.fori_loop(0, 3, lambda i, c: inner(c + 1.0), a)

    def by_hand(a):  # y = sqrt(a + y/2)
        return 0.25 + np.sqrt(0.0625 + a)

    a = tf.constant(2.0, tf.float64)
    for mode in MODES:
        assert mode(outer)(a).item() == pytest.approx(by_hand(2.0), rel=1e-10)
        assert mode(tf.grad(outer))(a).item() == pytest.approx(0.5 / np.sqrt(2.0625), rel=1e-10)
        assert mode(tf.grad(tf.grad(outer)))(a).item() == pytest.approx(-0.25 * 2.0625**-1.5, rel=1e-9)
        x, slope = 2.0, 1.0
        for _ in range(3):
            x = np.sqrt(x + 1.0)
            slope *= 0.5 / x
        assert mode(looped)(a).item() == pytest.approx(x, rel=1e-12)
        assert mode(tf.grad(looped))(a).item() == pytest.approx(slope, rel=1e-11)


def test_control_flow_in_the_equation():
    def f(a):
        def g(x):
            y = x
            if x > 1.0:
                y = x * 2.0 - 1.0
            return y - a

        return tf.root(g, 0.5)

    for a, x, slope in ((0.5, 0.5, 1.0), (3.0, 2.0, 0.5)):
        for mode in MODES:
            assert mode(f)(tf.constant(a)).item() == x
            assert mode(tf.grad(f))(tf.constant(a)).item() == slope


def test_sizes_known_only_at_the_call():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float64)])
    def gradient(a):
        return tf.grad(lambda a: tf.reduce_sum(tf.root(lambda x: x * x * x + x - a, tf.zeros_like(a))))(a)

    for n in (0, 1, 2, 5):
        a = np.linspace(1.0, 2.0, n)
        x = tf.root(lambda x: x * x * x + x - a, np.zeros(n)).numpy() if n else np.zeros(0)  # noqa: B023
        np.testing.assert_allclose(gradient(a).numpy(), 1 / (3 * x * x + 1), rtol=1e-10)
    assert gradient.experimental_get_tracing_count() == 1


def test_dtypes():
    assert tf.root(lambda x: x * x - 2.0, 1.0).dtype == tf.float32
    assert tf.root(lambda x: x * x - np.float64(2.0), 1.0).dtype == tf.float64
    mixed = tf.fixed_point(
        lambda x: (0.5 * tf.cos(tf.cast(x[1], tf.float32)), tf.cast(x[0], tf.float64) * 0.5 + 1.0),
        (tf.constant(0.0, tf.float32), tf.constant(0.0, tf.float64)),
        maximum_iterations=40,
    )
    assert [x.dtype for x in mixed] == [tf.float32, tf.float64]
    assert mixed[1].item() == pytest.approx(0.5 * mixed[0].item() + 1.0, rel=1e-5)
    with pytest.raises(DtypeError, match="real floats"):
        tf.root(lambda x: x, 1)
    with pytest.raises(DtypeError, match="real and imaginary"):
        tf.root(lambda x: x * x + 1.0, 1j)


# ---- no solution ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES, ids=["eager", "compiled"])
def test_without_convergence_there_is_an_error(mode):
    with pytest.raises(RuntimeError, match="fixed_point did not converge within 20 iterations") as caught:
        mode(lambda a: tf.fixed_point(lambda x: a - x, 1.0, maximum_iterations=20))(tf.constant(3.0))  # here
    assert "# here" in str(caught.value)
    with pytest.raises(RuntimeError, match="root did not converge within 50"):
        mode(lambda a: tf.root(lambda x: x * x + a, 1.0))(tf.constant(3.0))
    with pytest.raises(RuntimeError, match="did not converge"):
        mode(lambda a: tf.fixed_point(lambda x: tf.log(x - a), 1.0))(tf.constant(3.0))  # NaN
    with pytest.raises(RuntimeError, match="singular"):
        mode(lambda a: tf.root(lambda x: x * tf.reduce_sum(x) * 0.0 + a, np.ones(2)))(np.ones(2))


@pytest.mark.parametrize("mode", MODES, ids=["eager", "compiled"])
def test_a_derivative_that_does_not_converge_is_an_error_too(mode):
    def f(a):  # the solution is given; repeating the equation leads away from it
        return tf.fixed_point(
            lambda x: a * x * x - 1.0, 1.0, solver=lambda g, x0: x0 * 0.0 + 1.618033988749895
        )

    a = tf.constant(1.0, tf.float64)
    assert mode(f)(a).item() == 1.618033988749895
    with pytest.raises(RuntimeError, match="the derivative of fixed_point did not converge"):
        mode(tf.grad(f))(a)


def test_what_the_function_must_return():
    with pytest.raises(ShapeError, match="the function given to root"):
        tf.root(lambda x: tf.stack([x, x]), 1.0)
    with pytest.raises((ShapeError, DtypeError), match="the function given to fixed_point"):
        tf.fixed_point(lambda x: [x], 1.0)
    with pytest.raises((ShapeError, DtypeError), match="the solver given to root"):
        tf.root(lambda x: x, 1.0, solver=lambda f, x0: [x0])
    with pytest.raises(ValueError, match="at least one unknown"):
        tf.root(lambda x: x, [])
    v = tf.Variable(1.0)
    with pytest.raises(TracejitError, match="assigns"):
        tf.root(lambda x: v.assign(x) - 1.0, 1.0)


def test_errors_of_the_function_arrive():
    def f(x):
        if x > 0.0:
            raise KeyError("mine")
        return x

    with pytest.raises(KeyError, match="mine"):
        tf.root(f, 1.0)
