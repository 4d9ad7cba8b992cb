"""Errors of compiled programs name what is wrong and the user's line; nothing crashes the interpreter."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.errors import DtypeError, GradientError, LeakedTensor, ShapeError, SymbolicValue

X = np.ones((2, 3))
Y = np.ones((4, 5))


def line_of(f: Callable, marker: str) -> str:
    """``file:line`` of the line of `f` that ends with the comment `marker`."""
    lines, first = inspect.getsourcelines(f)
    return f"{inspect.getsourcefile(f)}:{first + next(k for k, s in enumerate(lines) if marker in s)}"


def helper(x, y):
    return x * 2.0 + y  # here: helper


def test_shape_error_in_a_compiled_function():
    @tf.function
    def f(x, y):
        z = tf.sin(x)
        return z @ y  # here

    with pytest.raises(ShapeError, match=r"\(2, 3\) and \(4, 5\)") as caught:
        f(X, Y)
    assert line_of(f.python_function, "# here") in str(caught.value)


def test_shape_error_in_a_nested_helper():
    @tf.function
    def f(x, y):
        return helper(x, y)

    with pytest.raises(ShapeError) as caught:
        f(X, Y)
    assert line_of(helper, "# here: helper") in str(caught.value)


@pytest.mark.parametrize("compiled", [True, False])
def test_custom_gradient_of_a_wrong_shape(compiled: bool):
    @tf.custom_gradient
    def f(x):
        def gradient(g):
            return tf.reduce_sum(g)

        return x * 2.0, gradient

    def run(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)  # here
        return tape.gradient(y, x)

    with pytest.raises((GradientError, ShapeError)) as caught:
        (tf.function(run) if compiled else run)(tf.constant(X))
    assert f"{__file__}:" in str(caught.value)


@pytest.mark.parametrize("compiled", [True, False])
def test_errors_in_a_gradient_rule_name_its_line_and_the_call(compiled: bool):
    @tf.custom_gradient
    def f(x, i):
        def gradient(g):
            return tf.gather(g, i), None  # rule

        return x * 2.0, gradient

    def run(x, i):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, i)  # here
        return tape.gradient(y, x)

    with pytest.raises(IndexError) as caught:
        (tf.function(run) if compiled else run)(tf.constant(X), tf.constant([0, 7]))
    assert str(caught.value).endswith("# rule")
    if not compiled:
        (note,) = caught.value.__notes__
        assert note.startswith("in the gradient rule of f") and line_of(run, "# here") in note


@pytest.mark.parametrize("use", [bool, int, float, lambda x: x.numpy(), lambda x: [1 for _ in range(x)]])
def test_value_of_a_traced_tensor(use: Callable):
    @tf.function(autograph=False)
    def f(x):
        return x if use(tf.cast(tf.reduce_sum(x), tf.int64)) else -x

    with pytest.raises(SymbolicValue, match=r"tracejit.cond") as caught:
        f(X)
    assert f"{__file__}:" in str(caught.value)


def test_truth_of_a_traced_tensor_in_if():
    @tf.function(autograph=False)
    def f(x):
        if tf.reduce_sum(x) > 0.0:  # here
            return x
        return -x

    with pytest.raises(SymbolicValue) as caught:
        f(X)
    assert line_of(f.python_function, "# here") in str(caught.value)


def test_leaked_tensor():
    kept = []

    @tf.function
    def f(x):
        kept.append(x * 2.0)
        return x

    f(X)
    for use in (lambda t: t + 1.0, lambda t: t.numpy(), lambda t: tf.function(lambda x: x + t)(X), float):
        with pytest.raises(LeakedTensor, match="return it from the function"):
            use(kept[0])
    assert "float64" in repr(kept[0])


def test_leaked_from_a_loop():
    kept = []

    def body(i, c):
        kept.append(c)
        return c + 1.0

    @tf.function
    def f(x):
        y = tf.fori_loop(0, 3, body, x)
        return y + kept[0]

    with pytest.raises(LeakedTensor):
        f(X)


@pytest.mark.parametrize("bad", [np.array([object()]), np.array(["a"]), np.array([1, None]), "text"])
def test_objects_are_refused(bad: object):
    with pytest.raises((DtypeError, TypeError), match=r"object|str|<U|numbers"):
        tf.constant(bad) + 1.0
    with pytest.raises((DtypeError, TypeError)):
        tf.function(lambda x: x + 1.0)(bad)


def test_unknown_settings():
    with pytest.raises(AttributeError, match=r"unknown setting 'fastmaths'; the settings are .*fastmath"):
        tf.configure(fastmaths=True)
    with pytest.raises(TypeError, match="takes bool"), tf.settings(contract="yes"):
        pass
    with pytest.raises(ValueError, match="one of"):
        tf.configure(dtype_promotion="loose")


@pytest.mark.parametrize("index", [[0, 4], [-5], [2**40]])
def test_bad_index_of_a_compiled_gather(index: list[int]):
    @tf.function
    def f(x, i):
        y = x * 2.0
        return tf.gather(y, i)  # here

    good = np.array([0, -1])
    np.testing.assert_array_equal(f(Y, good).numpy(), 2.0 * Y[good])
    with pytest.raises(IndexError, match="out of range") as caught:
        f(Y, np.array(index))
    assert line_of(f.python_function, "# here") in str(caught.value)
    np.testing.assert_array_equal(f(Y, good).numpy(), 2.0 * Y[good])


def test_bad_index_in_a_loop_leaves_nothing_behind():
    @tf.function
    def f(x, n):
        def body(i, state):
            return i + 1, state[1] + tf.gather(x, i)  # here

        return tf.while_loop(lambda i, c: i < n, lambda i, c: body(i, (i, c)), (np.int64(0), 0.0 * x[0]))[1]

    for _ in range(50):
        with pytest.raises(IndexError, match="out of range") as caught:
            f(np.arange(5.0), np.int64(9))
    assert f"{__file__}:" in str(caught.value)
    assert float(f(np.arange(5.0), np.int64(5))) == 10.0


def test_loop_variables_that_change_shape():
    @tf.function
    def f(x):
        return tf.while_loop(lambda c: tf.reduce_sum(c) < 3.0, lambda c: c[1:], x)  # here

    with pytest.raises((ShapeError, DtypeError)) as caught:
        f(np.ones(4))
    assert f"{__file__}:" in str(caught.value)


def test_branches_that_differ():
    @tf.function
    def f(x):
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x, lambda: x[:1])

    with pytest.raises((ShapeError, DtypeError), match="branches") as caught:
        f(np.ones(4))
    assert f"{__file__}:" in str(caught.value)


def test_static_index_out_of_range():
    @tf.function
    def f(x):
        return x[7]  # here

    with pytest.raises(IndexError, match="index 7 is out of range") as caught:
        f(np.ones(4))
    assert line_of(f.python_function, "# here") in str(caught.value)


def test_an_error_leaves_the_function_usable():
    @tf.function
    def f(x, y):
        return x + y

    with pytest.raises(ShapeError):
        f(X, Y)
    np.testing.assert_array_equal(f(X, X).numpy(), X + X)
    with pytest.raises(ShapeError):
        f(X, Y)
    assert (tf.constant(1.0) + 1.0).numpy() == 2.0
