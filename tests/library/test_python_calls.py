"""Python functions in compiled code: when they are called, what they give, their gradients, where they cannot be."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import numpy as np
import pytest

import tracejit as tf

X = tf.constant([1.0, 2.0])


def test_they_are_called_each_time_in_order(capsys):
    seen = []

    @tf.function
    def f(x):
        tf.py_function(lambda a: seen.append(float(a)), [x], [])
        for i in tf.range(2):
            tf.py_function(lambda i: print("step", int(i)), [i], [])
            tf.print("then", i, output_stream="stdout")
        y = tf.py_function(lambda a: a * len(seen), [x], tf.float32)
        return y + 1.0

    assert [float(f(2.0)), float(f(3.0))] == [3.0, 7.0]
    assert seen == [2.0, 3.0]
    assert capsys.readouterr().out == "step 0\nthen 0\nstep 1\nthen 1\n" * 2


def test_results_have_the_dtypes_and_shapes_that_are_announced():
    @tf.function
    def f(x):
        both = tf.py_function(lambda a: (a, a + 0.5), [x], [tf.int32, tf.float64])
        rows = tf.numpy_function(
            lambda a: np.outer(a, a).astype("float32"), [x], tf.float32, output_shapes=(2, 2)
        )
        number = tf.py_function(lambda: 7, [], tf.int64)
        like = tf.numpy_function(lambda n, a: a[::-1].copy(), [number, x], "float32", output_shapes=x.shape)
        return both, rows, number, like

    both, rows, number, like = f(X)
    assert [t.dtype for t in both] == [np.int32, np.float64]
    np.testing.assert_array_equal(both[1].numpy(), [1.5, 2.5])
    np.testing.assert_array_equal(rows.numpy(), [[1.0, 2.0], [2.0, 4.0]])
    assert int(number) == 7 and number.dtype == np.int64
    np.testing.assert_array_equal(like.numpy(), [2.0, 1.0])
    with pytest.raises(
        tf.ShapeError, match=r"result 0 of <lambda> has the shape \(\), and was announced with \(2,\)"
    ):
        tf.function(lambda x: tf.py_function(lambda a: a[0], [x], tf.float32))(X)
    with pytest.raises(ValueError, match="2 results were announced, there are 1"):
        tf.function(lambda x: tf.py_function(lambda a: a, [x], [tf.float32, tf.float32]))(X)
    shorter = tf.function(lambda x: tf.py_function(lambda a: a[1:], [x], tf.float32))
    fewer = tf.function(lambda x: tf.numpy_function(lambda a: [a], [x], [tf.float32] * 2))
    for g in (shorter, fewer):
        line = g.python_function.__code__.co_firstlineno
        with pytest.raises(ValueError, match=rf"announced(.|\n)*test_python_calls.py:{line}\n"):
            g(X)
    with pytest.raises(ValueError, match="say the dtype of the result"):
        tf.function(lambda x: tf.py_function(lambda a: a, [x]))(X)
    with pytest.raises(ValueError, match="1 results have 2 output_shapes"):
        tf.function(lambda x: tf.py_function(lambda a: a, [x], [tf.float32], output_shapes=[(), ()]))(X)


def test_sizes_that_a_call_tells():
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def f(x):
        return tf.numpy_function(np.sinh, [x], tf.float32) + tf.py_function(tf.sin, [x], tf.float32)

    for shape in ((2, 3), (0, 4), (5, 1)):
        x = np.random.default_rng(0).normal(size=shape).astype("float32")
        np.testing.assert_allclose(f(x).numpy(), np.sinh(x) + np.sin(x), rtol=1e-5)


def test_errors_are_those_of_the_function():
    def wrong(a):
        raise KeyError("mine")

    f = tf.function(lambda x: tf.py_function(wrong, [x], tf.float32))
    with pytest.raises(KeyError, match="mine") as caught:
        f(X)
    assert any(frame.name == "wrong" for frame in caught.traceback)
    with pytest.raises(KeyError, match="mine"):
        f(X)


def cubes(x):
    return tf.reduce_sum(tf.py_function(lambda a, b: a**3 * b, [x, 2.0], tf.float32, output_shapes=x.shape))


def test_gradients_flow_through_tensors():
    f = tf.function(cubes)
    expected = [6.0, 24.0]
    np.testing.assert_allclose(tf.grad(f)(X).numpy(), expected)
    np.testing.assert_allclose(tf.function(tf.grad(cubes))(X).numpy(), expected)
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = f(X)
    np.testing.assert_allclose(tape.gradient(y, X).numpy(), expected)
    np.testing.assert_allclose(tf.hessian(f)(X).numpy(), np.diag([12.0, 24.0]))
    np.testing.assert_allclose(tf.jvp(f, [X], [tf.ones_like(X)])[1].numpy(), 30.0)
    linear = tf.function(lambda x: tf.reduce_sum(tf.py_function(lambda a: 3.0 * a, [x], tf.float32) * x))
    np.testing.assert_allclose(tf.hessian(linear)(X).numpy(), np.diag([6.0, 6.0]))


def test_gradients_flow_through_loops_and_branches():
    @tf.function
    def f(x):
        for i in tf.range(3):
            if i > 0:
                x = tf.py_function(lambda a, i: tf.sin(a) * tf.cast(i + 1, tf.float32), [x, i], tf.float32)
        return tf.reduce_sum(x)

    def plain(x):
        return tf.reduce_sum(tf.sin(tf.sin(x) * 2.0) * 3.0)

    np.testing.assert_allclose(f(X).numpy(), plain(X).numpy(), rtol=1e-6)
    np.testing.assert_allclose(tf.grad(f)(X).numpy(), tf.grad(plain)(X).numpy(), rtol=1e-6)


def test_gradients_that_cannot_be_are_refused():
    def loss(call):
        return tf.grad(tf.function(lambda x: tf.reduce_sum(call(x))))

    with pytest.raises(tf.GradientError, match="no gradient flows through numpy_function, which calls sinh"):
        loss(lambda x: tf.numpy_function(np.sinh, [x], tf.float32))(X)
    for taken in (lambda a: np.sinh(a.numpy()), lambda a: a * a.numpy()):
        with pytest.raises(tf.GradientError, match="that carries a derivative is taken out here"):
            loss(lambda x, f=taken: tf.py_function(f, [x], tf.float32))(X)
    unused = loss(lambda x: tf.py_function(lambda a, b: a * 2.0, [x, x**2], tf.float32))
    np.testing.assert_allclose(unused(X).numpy(), [2.0, 2.0])
    rng = np.random.default_rng(0)
    twice = tf.function(lambda x: tf.py_function(lambda a: a * a * float(rng.random()), [x], tf.float32))
    with pytest.raises(tf.GradientError, match="<lambda> gives other values each time"):
        tf.jacobian(tf.grad(lambda x: tf.reduce_sum(twice(x))))(X)
    stopped = loss(lambda x: x**2 + tf.numpy_function(np.sinh, [tf.stop_gradient(x)], tf.float32))
    np.testing.assert_allclose(stopped(X).numpy(), [2.0, 4.0])


def test_the_gradient_is_that_of_the_call_which_is_not_made_again():
    drawn = []

    def scaled(a):
        drawn.append(float(np.random.default_rng(len(drawn)).random()))
        return a * a * drawn[-1]

    f = tf.function(lambda x: tf.reduce_sum(tf.py_function(scaled, [x], tf.float32)))
    np.testing.assert_allclose(tf.function(tf.grad(f))(X), 2.0 * X * drawn[0], rtol=1e-6)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y = f(X)
    np.testing.assert_allclose(tape.gradient(y, X), 2.0 * X * drawn[1], rtol=1e-6)
    assert len(drawn) == 2
    with pytest.raises(tf.GradientError, match="scaled gives other values each time"):
        tape.gradient(y, X)


def test_calls_in_a_loop_keep_their_gradients_apart():
    @tf.function
    def f(x):
        for _ in tf.range(3):
            x = tf.py_function(lambda a: a * a, [x], tf.float32)
        return tf.reduce_sum(x)

    np.testing.assert_allclose(tf.grad(f)(X), 8.0 * X**7, rtol=1e-5)


def counting():
    """A function without arguments that gives 1, 2, 3 … ; and its calls."""
    calls = []

    def following():
        calls.append(len(calls) + 1.0)
        return np.float32(calls[-1])

    return (lambda: tf.numpy_function(following, [], tf.float32, output_shapes=())), calls


def jvp_of(f):
    return lambda x: tf.jvp(f, [x], [tf.ones_like(x)])[1]


def tape_of(f):
    def derivative(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return derivative


def nested_tapes_of(f):
    def derivative(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            g = inner.gradient(y, x)
        return outer.gradient(g, x)

    return derivative


DERIVATIVES = {
    "grad": tf.grad,
    "jvp": jvp_of,
    "tape": tape_of,
    "grad of grad": lambda f: tf.grad(tf.grad(f)),
    "grad of jvp": lambda f: tf.grad(jvp_of(f)),
    "jvp of grad": lambda f: jvp_of(tf.grad(f)),
    "nested tapes": nested_tapes_of,
}


def programs_that_call(following):
    def in_loop(x):
        for _ in tf.range(3):
            x = tf.sin(x * following())
        return x

    def in_while(x):
        i = tf.constant(0)
        while i < 3:
            x, i = tf.sin(x * following()), i + 1
        return x

    def in_branch(x):
        if x > 0.0:
            x = tf.sin(x * following())
        else:
            x = following() * x * following()
        return x

    def in_branches_of_loops(x):
        for i in range(tf.shape(tf.ones(4))[0]):
            for k in tf.range(2):
                if i + k > 1:
                    x = tf.cos(x * following())
                else:
                    x = tf.sin(x + 1.0)
        return x

    def in_own_gradient(x):
        @tf.custom_gradient
        def f(x):
            factor = following()
            return tf.sin(x * factor), lambda g: g * factor * tf.cos(x * factor)

        for _ in tf.range(2):
            x = f(x)
        return x

    recomputed = tf.recompute_grad(lambda x: tf.sin(x * following()) * following())
    return [in_loop, in_while, in_branch, in_branches_of_loops, in_own_gradient, recomputed]


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("memory", ["save", "recompute"])
@pytest.mark.parametrize("which", range(6))
def test_derivatives_of_regions_are_of_the_values_that_the_calls_gave(which, memory, derivative):
    following, calls = counting()
    program, differentiated = programs_that_call(following)[which], DERIVATIVES[derivative]
    forward = "jvp" in derivative or (memory != "save" and derivative in ("grad of grad", "nested tapes"))
    if program.__name__ == "in_own_gradient" and forward:
        pytest.skip("a function with a custom gradient has no tangents")
    x = tf.constant(0.3)
    expected = differentiated(program)(x)
    made = calls[:]
    wholes = differentiated(tf.function(program, memory=memory)), tf.function(
        differentiated(program), memory=memory
    )
    for f in wholes:
        for _ in range(2):
            calls.clear()
            np.testing.assert_allclose(f(x), expected, rtol=1e-5)
            assert calls == made


def test_rules_of_gradients_call_python_once():
    following, calls = counting()

    @tf.custom_gradient
    def f(x):
        return x * x, lambda g: g * 2.0 * x * following()

    def program(x):
        for _ in tf.range(2):
            if x > 0.0:
                x = f(x)
        return f(x)

    x = tf.constant(1.5)
    expected = tf.grad(program)(x)
    compiled = tf.function(program)
    for g in (tf.grad(compiled), tf.function(tf.grad(program)), tape_of(compiled)):
        calls.clear()
        np.testing.assert_allclose(g(x), expected, rtol=1e-6)
        assert calls == [1.0, 2.0, 3.0]


def test_a_call_keeps_its_gradient_for_each_iteration():
    drawn = []

    def scaled(a):
        drawn.append(1.0 + len(drawn) % 7)
        return tf.sin(a) * drawn[-1]

    def f(x):
        for _ in tf.range(600):
            x = tf.py_function(scaled, [x], tf.float64)
        return x

    x = tf.constant(0.7, tf.float64)
    expected = tf.grad(f)(x)
    for g in (tf.grad(tf.function(f)), tf.function(tf.grad(f))):
        drawn.clear()
        np.testing.assert_allclose(g(x), expected, rtol=1e-9)
        assert len(drawn) == 600


@pytest.mark.parametrize("derivative", [tf.grad, jvp_of])
def test_other_values_in_a_second_run_are_refused_where_nothing_is_kept(derivative):
    following, _ = counting()

    @tf.function
    def f(x):
        for _ in tf.range(3):
            while x < 5.0:
                x = x * (1.0 + following())
            x = tf.sin(x) + 2.0
        return x

    with pytest.raises(tf.GradientError, match=r"gives other values each time(.|\n)*test_python_calls.py"):
        derivative(f)(tf.constant(1.0))


def test_derivatives_of_regions_call_again_what_they_need_alone():
    following, calls = counting()

    @tf.function
    def f(x):
        for i in tf.range(3):
            if i > 0:
                x = tf.sin(x) + following()
        return x

    x = tf.constant(0.5)
    expected = np.cos(0.5) * np.cos(np.sin(0.5) + 1.0)
    np.testing.assert_allclose(tf.grad(f)(x), expected, rtol=1e-6)
    assert calls == [1.0, 2.0]
    calls.clear()

    @tf.function
    def linear(x):
        total = tf.constant(0.0)
        for _ in tf.range(3):
            total += tf.sin(x) + following()
        return total

    value, gradient = tf.value_and_grad(linear)(x)
    np.testing.assert_allclose([value, gradient], [3 * np.sin(0.5) + 6.0, 3 * np.cos(0.5)], rtol=1e-6)
    assert calls == [1.0, 2.0, 3.0]

    @tf.function
    def same(x):
        for i in tf.range(3):
            shift = tf.numpy_function(lambda k: np.float32(k), [i], tf.float32, output_shapes=())
            x = tf.sin(x) * shift if i > 0 else x
        return x

    expected = np.cos(0.5) * 2.0 * np.cos(np.sin(0.5))
    np.testing.assert_allclose(tf.grad(same)(x), expected, rtol=1e-6)
    np.testing.assert_allclose(tf.jvp(same, [x], [tf.ones_like(x)])[1], expected, rtol=1e-6)


def test_the_gradient_of_one_of_several_results_calls_nothing_again():
    following, calls = counting()

    @tf.function
    def f(x):
        factor = following()
        return tf.sin(x * factor), x * factor

    x = tf.constant(0.5)
    for k in (1.0, 2.0):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y, _ = f(x)
        np.testing.assert_allclose(tape.gradient(y, x), k * np.cos(0.5 * k), rtol=1e-6)
    assert calls == [1.0, 2.0]


def test_a_function_lives_no_longer_than_the_program_that_calls_it():
    def made():
        weights = tf.constant([3.0, 4.0])
        f = tf.function(lambda x: tf.reduce_sum(tf.py_function(lambda a: a * weights, [x], tf.float32)))
        return f, weakref.ref(weights.array)

    f, weights = made()
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = f(X)  # whose gradient nobody takes
    np.testing.assert_allclose(tf.function(tf.grad(f))(X), [3.0, 4.0])
    assert weights() is not None
    del f, tape, y
    gc.collect()
    assert weights() is None


def test_each_example_is_its_own_call():
    seen = []
    f = tf.vmap(lambda x: tf.py_function(lambda a: (seen.append(a.shape), a * 2.0)[1], [x], tf.float32))
    for call in (f, tf.function(f)):
        seen.clear()
        np.testing.assert_array_equal(call(tf.constant([[1.0, 2.0], [3.0, 4.0]])).numpy(), [[2, 4], [6, 8]])


def test_nothing_of_it_is_kept_in_files(tmp_path):
    f = tf.function(lambda x: tf.numpy_function(np.sinh, [x], tf.float32))
    f(X)
    with pytest.raises(
        ValueError, match="python_call is not called in files: it reaches outside of the program"
    ):
        tf.saved_model.save(f, tmp_path / "m")
    with pytest.raises(tf.TracejitError, match="sinh needs Python, which an exported function does not have"):
        tf.export(f, [X.spec], name="f", outputs=("value",))
    quiet = tf.function(lambda x: (tf.py_function(print, [x], []), x)[1])
    with pytest.raises(tf.TracejitError, match="print needs Python"):
        tf.export(quiet, [X.spec], name="quiet", outputs=("value",))


def test_a_call_is_made_once_where_another_thread_assigns_in_between():
    v, calls, others = tf.Variable(1.0), [], []

    def slow(x):
        calls.append(float(x))
        others.append(threading.Thread(target=v.assign_add, args=(10.0,)))
        others[-1].start()
        others[-1].join(0.05)  # waits for this call to end
        return x * 2.0

    @tf.function
    def f(x):
        v.assign_add(tf.py_function(slow, [x], tf.float32))

    f(tf.constant(1.0))
    others[0].join()
    assert calls == [1.0] and float(v) == 13.0


def test_two_functions_are_never_taken_for_each_other():
    def made(k):
        return tf.function(lambda x: tf.numpy_function(lambda a: a * np.float32(k), [x], tf.float32))

    assert [float(made(k)(1.0)) for k in range(3)] == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
def test_numbers_that_python_gives_keep_their_digits(mode):
    number = mode(lambda x: tf.numpy_function(lambda a: 16777217.1, [x], tf.float64, output_shapes=()))
    several = mode(lambda x: tf.numpy_function(lambda a: [1.1, 2.2], [x], tf.float64))
    assert number(X).numpy() == 16777217.1 and several(X).numpy().tolist() == [1.1, 2.2]


def test_the_time_is_asked_for_at_each_call():
    now = tf.function(lambda: tf.timestamp())
    before = time.time()
    first = float(now())
    time.sleep(0.01)
    assert before <= first <= float(now()) - 0.01 <= time.time() and tf.timestamp().dtype == tf.float64
