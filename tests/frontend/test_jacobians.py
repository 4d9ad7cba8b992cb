"""Jacobians of tapes and functions, eager and compiled, against differences, each other, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

RNG = np.random.default_rng(7)


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f, *a: f(*a)) if request.param == "eager" else (lambda f, *a: tf.function(f)(*a))


def differences(f, x, eps=1e-6):
    """The Jacobian of a NumPy function by central differences: ``f(x).shape + x.shape``."""
    columns = []
    for i in range(x.size):
        step = np.zeros(x.size)
        step[i] = eps
        step = step.reshape(x.shape)
        columns.append((f(x + step) - f(x - step)) / (2 * eps))
    return np.stack(columns, axis=-1).reshape(*f(x).shape, *x.shape)


def layers(x, weights):
    """Three dense layers."""
    for w in weights[:-1]:
        x = tf.tanh(x @ w)
    return x @ weights[-1]


WEIGHTS = [RNG.normal(size=s) for s in ((4, 5), (5, 3), (3, 2))]
X = RNG.normal(size=(3, 4))


@pytest.mark.parametrize("at_once", [True, False])
def test_a_three_layer_network_agrees_with_differences(run, at_once):
    def program(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layers(x, WEIGHTS)
        return tape.jacobian(y, x, experimental_use_pfor=at_once)

    wanted = differences(lambda x: layers(tf.constant(x), WEIGHTS).numpy(), X)
    np.testing.assert_allclose(run(program, tf.constant(X)).numpy(), wanted, atol=1e-8)


@pytest.mark.parametrize("mode", [tf.jacrev, tf.jacfwd])
def test_functions_agree_with_differences(run, mode):
    wanted = differences(lambda x: layers(tf.constant(x), WEIGHTS).numpy(), X)
    found = run(mode(lambda x: layers(x, WEIGHTS)), tf.constant(X))
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-8)


def test_the_hessian_of_a_network_agrees_with_differences(run):
    def loss(x):
        return tf.reduce_sum(layers(x, WEIGHTS) ** 2)

    wanted = differences(lambda x: tf.grad(loss)(tf.constant(x)).numpy(), X)
    found = run(tf.hessian(loss), tf.constant(X)).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)
    flat = found.reshape(12, 12)
    np.testing.assert_allclose(flat, flat.T, atol=1e-12)
    v = RNG.normal(size=X.shape)
    product = tf.hvp(loss, [tf.constant(X)], [tf.constant(v)])
    np.testing.assert_allclose(product.numpy().ravel(), flat @ v.ravel(), atol=1e-10)


def test_nested_tapes_give_the_hessian(run):
    def program(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.exp(x) * x)
            g = inner.gradient(y, x)
        return outer.jacobian(g, x)

    x = np.array([0.5, -1.0, 2.0])
    np.testing.assert_allclose(run(program, tf.constant(x)).numpy(), np.diag(np.exp(x) * (x + 2)), rtol=1e-12)


def test_third_derivatives(run):
    def f(x):
        return tf.reduce_sum(x**4)

    found = run(tf.jacfwd(tf.hessian(f)), tf.constant([1.0, 2.0])).numpy()
    wanted = np.zeros((2, 2, 2))
    wanted[0, 0, 0], wanted[1, 1, 1] = 24.0, 48.0
    np.testing.assert_allclose(found, wanted)


def test_batch_jacobian_is_the_diagonal_of_the_jacobian(run):
    def program(x, whole):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(x) @ tf.constant(WEIGHTS[0]) * tf.reshape(tf.reduce_sum(x * x, axis=1), (3, 1))
        return tape.jacobian(y, x) if whole else tape.batch_jacobian(y, x)

    x = tf.constant(X)
    whole, found = run(lambda x: program(x, True), x).numpy(), run(lambda x: program(x, False), x).numpy()
    assert found.shape == (3, 5, 4)
    np.testing.assert_allclose(found, np.stack([whole[i, :, i] for i in range(3)]), atol=1e-12)


def test_batch_jacobian_of_higher_ranks():
    x = tf.constant(RNG.normal(size=(2, 3, 2)))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**2
    found = tape.batch_jacobian(y, x)
    slow = tape.batch_jacobian(y, x, experimental_use_pfor=False)
    assert found.shape == (2, 3, 2, 3, 2)
    np.testing.assert_array_equal(found.numpy(), slow.numpy())


def test_batch_jacobian_refuses():
    x, z = tf.constant([1.0, 2.0]), tf.constant([[1.0], [2.0], [3.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        y = tf.reshape(x, (2, 1)) * 2.0
    with pytest.raises(ValueError, match=r"rank 2 or more, got float32\[2\]"):
        tape.batch_jacobian(x * 1.0, x)
    with pytest.raises(ValueError, match="2 rows and the source 3"):
        tape.batch_jacobian(y, z)


def test_unconnected():
    x, z = tf.Variable([1.0, 2.0]), tf.Variable([[3.0]])
    with tf.GradientTape(persistent=True) as tape:
        y = x * x
    assert tape.jacobian(y, z) is None
    found = tape.jacobian(y, {"x": x, "z": z}, unconnected_gradients="zero")
    assert found["x"].shape == (2, 2) and found["z"].shape == (2, 1, 1) and not found["z"].numpy().any()
    assert tape.explain(y, z).cause == "not connected"


def test_ranks_and_empty_tensors():
    s, v = tf.Variable(3.0), tf.Variable(np.zeros((0, 2)))
    with tf.GradientTape(persistent=True) as tape:
        a, b = s * s, v * 2.0
    assert float(tape.jacobian(a, s)) == 6.0
    assert tape.jacobian(b, v).shape == (0, 2, 0, 2)


def test_a_tape_is_used_once():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = x * x
    tape.jacobian(y, x)
    with pytest.raises(RuntimeError, match="only be used to compute one set"):
        tape.jacobian(y, x)


def test_variables_custom_gradients_and_compiled_functions_inside():
    @tf.custom_gradient
    def doubled(x):
        return x * 1.0, lambda g: 2.0 * g

    @tf.function
    def squared(x):
        return x * x

    v = tf.Variable([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        y = squared(doubled(v))
    np.testing.assert_array_equal(tape.jacobian(y, v).numpy(), np.diag([4.0, 8.0, 12.0]))


def test_loops_inside(run):
    def power(x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, x))[1]

    def program(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = power(x)
        return tape.jacobian(y, x)

    np.testing.assert_allclose(run(program, tf.constant([1.0, 2.0])).numpy(), np.diag([4.0, 32.0]))


def test_unknown_sizes_compile_once():
    @tf.function(input_signature=[tf.TensorSpec([None], "float64")])
    def program(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(x) * tf.reduce_sum(x)
        return tape.jacobian(y, x)

    for n in (1, 2, 5):
        x = RNG.normal(size=n)
        wanted = np.diag(np.cos(x) * x.sum()) + np.sin(x)[:, None]
        np.testing.assert_allclose(program(tf.constant(x)).numpy(), wanted, atol=1e-12)
    assert program.experimental_get_tracing_count() == 1


def test_structures_of_arguments_and_results():
    def f(p, b):
        return {"s": p["a"] * tf.reduce_sum(b), "t": (b,)}

    p, b = {"a": tf.constant([1.0, 2.0, 3.0])}, tf.constant([1.0, 2.0])
    for mode in (tf.jacrev, tf.jacfwd):
        both = mode(f, argnums=(0, 1))(p, b)
        assert both["s"][0]["a"].shape == (3, 3) and both["s"][1].shape == (3, 2)
        assert both["t"][0][0]["a"].shape == (2, 3) and both["t"][0][1].shape == (2, 2)
        one = mode(f)(p, b)
        np.testing.assert_array_equal(one["s"]["a"].numpy(), 3.0 * np.eye(3))


@pytest.mark.parametrize("mode", [tf.jacrev, tf.jacfwd])
def test_aux(mode):
    found, aux = mode(lambda x: (x * x, "more"), has_aux=True)(tf.constant([3.0]))
    assert float(found[0, 0]) == 6.0 and aux == "more"


@pytest.mark.parametrize("mode", [tf.jacrev, tf.jacfwd, tf.hessian])
def test_aux_may_be_tensors(mode, run):
    f = lambda x: (x**3, {"twice": 2.0 * x, "list": [x, None]})
    found, aux = run(mode(f, has_aux=True), tf.constant(3.0))
    assert float(found) == (18.0 if mode is tf.hessian else 27.0)
    assert (float(aux["twice"]), float(aux["list"][0]), aux["list"][1]) == (6.0, 3.0, None)


def test_forward_mode_runs_the_function_once_as_it_is():
    seen = []

    def f(x):
        seen.append(float(x[0]))  # a value, not a symbol
        return x * x if x[0] > 0.0 else -x

    np.testing.assert_array_equal(tf.jacfwd(f)(tf.constant([3.0, 1.0])), np.diag([6.0, 2.0]))
    assert seen == [3.0]


def test_complex_values():
    z = tf.constant(np.array([1 + 2j, 2 - 1j]))
    np.testing.assert_allclose(tf.jacfwd(lambda z: z * z)(z).numpy(), np.diag(2 * z.numpy()))
    np.testing.assert_allclose(tf.jacrev(lambda z: z * z)(z).numpy(), np.diag(2 * z.numpy().conj()))


def test_what_cannot_be_differentiated():
    with pytest.raises(tf.DtypeError, match="int32"):
        tf.jacfwd(lambda x: x)(tf.constant([1, 2]))
    with pytest.raises(ValueError, match="argnums 1"):
        tf.jacrev(lambda x: x, argnums=1)(1.0)
    with pytest.raises(ValueError, match="at least one primal"):
        tf.hvp(lambda: 1.0, [], [])


@pytest.mark.parametrize("choice", ["none", "zero"])
def test_a_batch_without_connection_has_zeros(run, choice):
    def program(x, other):
        with tf.GradientTape() as tape:
            tape.watch([x, other])
            y = tf.concat([x, x * x], 1)
        return tape.batch_jacobian(y, other, unconnected_gradients=choice)

    found = run(program, tf.constant(X), tf.constant(RNG.normal(size=(3, 2), scale=2.0)))
    assert found.shape == (3, 8, 2) and not found.numpy().any()
    with pytest.raises(ValueError, match="'some'"), tf.GradientTape() as tape:
        tape.batch_jacobian(tf.constant(X), tf.constant(X), unconnected_gradients="some")
