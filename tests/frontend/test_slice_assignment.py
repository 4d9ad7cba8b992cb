"""``x[i] = v`` on tensors: one meaning, whether a function is compiled or runs eagerly; NumPy is the oracle."""

from __future__ import annotations

import time

import numpy as np
import pytest

import tracejit as tf
from tracejit.frontend.structure import flatten

X = np.arange(12.0).reshape(3, 4) / 4 + 0.5
MODES = pytest.mark.parametrize("eager", [False, True], ids=["compiled", "eager"])


def run(f, *args, eager):
    """What `f` returns under `function`, as arrays."""
    with tf.settings(eager=eager):
        return [np.asarray(leaf) for leaf in flatten(tf.function(f)(*args))[0]]


# ---- what is assigned -----------------------------------------------------------------------------------


def plain_index(x):
    x[0] = 1.5
    x[-1, 2] = -1.0
    x[1, 1] += 10.0
    return x


def slices(x):
    x[1:-1] += 2.0
    x[:, ::2] *= 3.0
    x[::-1, 1] = x[:, 0]
    x[..., 3] -= x[..., 2]
    x[:1, None, 1:3] = 7.0
    x[2:, :2] /= 4.0
    x[0:0] = 1.0
    return x


def arrays_of_positions(x):
    x[[0, 2]] = -x[[2, 0]]
    x[np.array([0, 1]), np.array([3, 2])] *= 2.0
    x[:, [1, 3]] **= 2.0
    x[[1, 1], 0] = np.array([5.0, 6.0])
    return x


def masks(x):
    x[x > 2.0] = 0.5
    x[x < 0.6] -= 1.0
    x[np.array([True, False, True])] += 1.0
    return x


def in_a_loop(x):
    for i in range(3):
        x[i, 1:] += x[i, :-1] * 2.0
    return x


def tuples_and_chains(x):
    x[0, 0], (x[1, 1], rest) = 8.0, (9.0, 10.0)
    a = b = x
    a[0] = 1.0
    i, x[i] = 2, 3.0
    i, b[i, i] = 1, 4.0
    first, *x[2, :2] = 1.0, 5.0, 6.0
    return x, a, b, rest + first


def containers(x):
    d = {"k": x * 1.0, "l": [x * 2.0]}
    d["k"][1:] = 0.0
    d["l"][0][:, 1] += d["k"][:, 0]
    return d["k"], d["l"][0]


class Box:
    def __init__(self, x):
        self.x, self.parts = x, [x * 1.0]


def attributes(x):
    box = Box(x * 1.0)
    box.x[1:] *= 2.0
    box.parts[0][0, :2] = box.x[1, :2]
    return box.x, box.parts[0]


def nested_function(x):
    def clear(rows):
        nonlocal x
        x[rows] = 0.0

    clear(slice(0, 2))
    return x


PROGRAMS = [
    plain_index, slices, arrays_of_positions, masks, in_a_loop, containers, attributes, nested_function,
    tuples_and_chains,
]  # fmt: skip


@MODES
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_numpy_has_it(program, eager):
    expected = flatten(program(X.copy()))[0]
    for got, want in zip(run(program, X, eager=eager), expected, strict=True):
        np.testing.assert_array_equal(got, want)


@MODES
def test_positions_of_run_time(eager):
    def f(x, i, j):
        x[i] = x[j] * 2.0
        x[i, j] += 1.0
        x[:, i] -= 3.0
        x[::2, j] = 0.5
        return x

    want = X.copy()
    want[-1] = want[1] * 2.0
    want[-1, 1] += 1.0
    want[:, -1] -= 3.0
    want[::2, 1] = 0.5
    (got,) = run(f, X, np.int64(-1), np.int64(1), eager=eager)
    np.testing.assert_array_equal(got, want)
    with pytest.raises(IndexError, match=r"out of range(.|\n)*test_slice_assignment.py"):
        run(f, X, np.int64(3), np.int64(1), eager=eager)


@MODES
def test_variables_change_in_place(eager):
    v = tf.Variable([1.0, 2.0, 3.0])

    def f(x):
        v[1:] = x
        v[0] += 10.0
        return v * 1.0

    (got,) = run(f, np.float32(5.0), eager=eager)
    np.testing.assert_array_equal(got, [11.0, 5.0, 5.0])
    np.testing.assert_array_equal(v, [11.0, 5.0, 5.0])
    v[::2] = 0.0
    np.testing.assert_array_equal(v, [0.0, 5.0, 0.0])


# ---- derivatives ----------------------------------------------------------------------------------------


def stencil(x, n):
    for _ in range(n):
        x[1:-1, 1:-1] += 0.1 * (x[2:, 1:-1] * x[:-2, 1:-1] + x[1:-1, 2:] - 2.0 * x[1:-1, 1:-1])
    return tf.reduce_sum(x * x * x)


def recurrence(x, n):
    for i in range(n):
        x[i + 1, 0] = x[i, 0] * x[i + 1, 1]
        x[0, i + 1] += x[i, i] * x[0, i]
    return tf.reduce_sum(tf.sin(x))


def overwritten(x, n):
    y = x * x
    y[[0, 2, 0]] = np.array([1.0, 2.0, 3.0])[:, None] * x
    y[y > 3.1] *= x[0, 0]
    return tf.reduce_sum(y * x) * tf.cast(n, tf.float64)


@MODES
@pytest.mark.parametrize("program", [stencil, recurrence, overwritten], ids=lambda f: f.__name__)
def test_gradients_of_both_orders_are_differences(program, eager):
    n, h = np.int64(2), 1e-6
    direction = np.random.default_rng(0).normal(size=X.shape)
    other = np.random.default_rng(1).normal(size=X.shape)

    def slope(x, n):
        return tf.reduce_sum(tf.grad(program)(x, n) * direction)

    def difference(f, along):
        up, down = (run(f, X + s * h * along, n, eager=eager)[0] for s in (1, -1))
        return (up - down) / (2 * h)

    (first,) = run(tf.grad(program), X, n, eager=eager)
    np.testing.assert_allclose(np.sum(first * direction), difference(program, direction), rtol=1e-6)
    (second,) = run(tf.grad(slope), X, n, eager=eager)
    np.testing.assert_allclose(np.sum(second * other), difference(slope, other), rtol=1e-6)


def test_compiled_gradients_are_the_eager_ones():
    for program in (stencil, recurrence, overwritten):
        got, want = (run(tf.grad(program), X, np.int64(2), eager=e)[0] for e in (False, True))
        np.testing.assert_allclose(got, want, rtol=1e-13)


# ---- cost -----------------------------------------------------------------------------------------------


def running(x, n):
    for i in range(n - 1):
        x[i + 1] = x[i + 1] + 0.5 * tf.sin(x[i])
    return tf.reduce_sum(x)


def first_order(x, n):
    return tf.grad(running)(x, n)


@pytest.mark.parametrize("program", [running, first_order], ids=["value", "gradient"])
def test_an_element_costs_the_same_however_long_the_array(program):
    """n assignments to an array of n: the time of one does not grow with n (it would, 16 times, with copies)."""
    f = tf.function(program)
    times = []
    for n in (4_000, 64_000):
        x = np.linspace(0.0, 1.0, n)
        f(x, np.int64(n))
        best = []
        for _ in range(5):
            start = time.process_time()
            f(x, np.int64(n))
            best.append(time.process_time() - start)
        times.append(min(best) / n)
    assert times[1] < 5 * times[0], times


# ---- errors ---------------------------------------------------------------------------------------------


def test_functions_that_are_not_converted_refuse_and_say_what_to_write():
    x = tf.constant([1.0, 2.0])
    for settings in ({"eager": True}, {"eager": False}):
        match = (
            r"does not change here(.|\n)*x\.at\[index\]\.set(.|\n)*tracejit.function|held by something else"
        )
        with pytest.raises(TypeError, match=match), tf.settings(**settings):
            tf.function(_assigning, autograph=False)(x)


def _assigning(x):
    x[0] = 1.0
    return x


OUTSIDE = tf.constant([1.0, 2.0])


@MODES
def test_a_tensor_that_no_name_here_holds_is_refused(eager):
    def f(x):
        OUTSIDE[0] = x
        return x

    with pytest.raises(TypeError, match=r"nonlocal or global(.|\n)*test_slice_assignment.py"):
        run(f, np.float32(1.0), eager=eager)


@MODES
def test_values_that_do_not_fit_name_the_line(eager):
    def wrong_shape(x):
        x[1:] = x[:, 1:]
        return x

    def wrong_place(x):
        x[3] = 0.0
        return x

    cases = ((wrong_shape, ValueError), (wrong_place, IndexError))
    for f, kind in cases:
        with pytest.raises(kind, match=r"test_slice_assignment\.py"):
            run(f, X, eager=eager)


def test_pdb_sees_the_lines_of_the_file():
    """What runs eagerly keeps its file and lines, and its loops are Python's own."""
    import sys

    seen = []

    def f(x):
        for i in range(2):
            x[i] = float(i)
            seen.append(sys._getframe().f_lineno)
        return x

    first = f.__code__.co_firstlineno
    run(f, X, eager=True)
    assert seen == [first + 3] * 2
