"""while_loop, fori_loop, scan, cond: eager and compiled, derivatives of both orders, Variables inside, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from checks.nests import values

X = 0.7


def power_by_while(x):
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, x))
    return y


def growth_while_small(x):
    return tf.while_loop(lambda y: y < 100.0, lambda y: y * y, [x + 3.0])[0]


def limited(x):
    return tf.while_loop(lambda y: y < 1e9, lambda y: y * x, [x], maximum_iterations=4)[0]


def power_by_fori(x):
    return tf.fori_loop(2, 6, lambda i, y: y * x, x)


def power_by_traced_bound(x):
    return tf.fori_loop(tf.constant(1), tf.constant(4), lambda i, y: y * x + tf.cast(i, tf.float64), x)


def sums_by_scan(x):
    rows = tf.constant(np.array([1.0, 2.0, 3.0]))
    carry, ys = tf.scan(lambda c, r: (c * r + x, {"y": c * x * r}), x, rows)
    return carry + tf.reduce_sum(ys["y"] * ys["y"])


def backwards_by_scan(x):
    rows = (tf.constant(np.array([1.0, 2.0, 3.0])), x * tf.constant(np.ones((3, 2))))
    carry, ys = tf.scan(lambda c, r: (c * r[0] + tf.reduce_sum(r[1]), c), x, rows, reverse=True)
    return carry + ys[0] * ys[1]


def scan_without_rows(x):
    _, ys = tf.scan(lambda c, _: (c * x, c), x, length=4)
    return tf.reduce_sum(ys)


def branch(x):
    return tf.cond(x > 0.5, lambda y: y * y * x, lambda y: y, x)


def other_branch(x):
    return tf.cond(x > 5.0, lambda: x, lambda: x * x * 3.0)


def nested(x):
    def body(i, y):
        return tf.cond(y > 1.0, lambda: y / 2.0, lambda: tf.fori_loop(0, 2, lambda j, z: z * x + y, y))

    return tf.fori_loop(0, 5, body, x)


def empty(x):
    carry, ys = tf.scan(lambda c, r: (c * r, c), x, tf.zeros((0,), tf.float64))
    return tf.fori_loop(3, 3, lambda i, y: y * x, carry * x) + tf.reduce_sum(ys)


PROGRAMS = [
    power_by_while,
    growth_while_small,
    limited,
    power_by_fori,
    power_by_traced_bound,
    sums_by_scan,
    backwards_by_scan,
    scan_without_rows,
    branch,
    other_branch,
    nested,
    empty,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_derivatives_agree_in_all_nestings(f):
    x = tf.constant(X, tf.float64)
    value = f(x).item()
    h = 1e-5
    first = (f(x + h).item() - f(x - h).item()) / (2 * h)
    df = tf.grad(f)
    second = (df(x + h).item() - df(x - h).item()) / (2 * h)
    assert tf.function(f)(x).item() == pytest.approx(value, rel=1e-12)
    for g in (df, tf.function(df), tf.grad(tf.function(f)), tf.function(tf.grad(tf.function(f)))):
        assert g(x).item() == pytest.approx(first, rel=1e-6, abs=1e-9)
    for g in (tf.grad(df), tf.function(tf.grad(df)), tf.grad(tf.grad(tf.function(f)))):
        assert g(x).item() == pytest.approx(second, rel=1e-6, abs=1e-9)
    for g in (f, tf.function(f)):
        assert tf.jvp(g, [x], [1.0])[1].item() == pytest.approx(first, rel=1e-6, abs=1e-9)


def test_structures_are_kept():
    def f(x):
        out = tf.while_loop(
            lambda s, n: n < 2, lambda s, n: ({"a": s["b"], "b": s["a"]}, n + 1), [{"b": x, "a": 2 * x}, 0]
        )
        return out, tf.while_loop(lambda y: y < 8.0, lambda y: y * 2.0, x)

    for g in (f, tf.function(f)):
        (state, n), single = g(tf.constant(1.0))
        assert values(state) == {"a": 2.0, "b": 1.0} and n.item() == 2 and single.item() == 8.0


def accumulate(v, x):
    def body(i, c):
        v.assign_add(x * c)
        return c * v

    return tf.fori_loop(0, 3, body, x)


def test_variables_assigned_in_loops():
    x = tf.constant(0.7)
    found = []
    for g in (accumulate, tf.function(accumulate)):
        v = tf.Variable(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = g(v, x)
        found.append([y.item(), v.numpy().item(), *values(tape.gradient(y, [x, v]))])
    assert found[0] == pytest.approx(found[1], rel=1e-6)

    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = accumulate(w, x)
        return y, w + 0.0, tape.gradient(y, [x, w])

    w = tf.Variable(2.0)
    y, after, (gx, gw) = inside(x)
    assert [y.item(), after.item(), gx.item(), gw.item()] == pytest.approx(found[0], rel=1e-6)
    assert w.numpy() == after.item()


def test_variables_in_while_conditions_and_branches():
    def f(x):
        def body(y):
            limit.assign_sub(1.0)
            return y + 1.0

        y = tf.while_loop(lambda y: y < limit, body, [x])[0]
        tf.cond(y > 2.0, lambda: (seen.assign_add(y), y)[1], lambda: y)
        return y

    for g in (f, tf.function(f)):
        limit, seen = tf.Variable(10.0), tf.Variable(0.0)
        y = g(tf.constant(0.0))
        assert [y.item(), limit.numpy(), seen.numpy()] == [5.0, 5.0, 5.0]


def test_a_read_variable_is_a_capture():
    v = tf.Variable(3.0)

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            y = tf.fori_loop(0, 2, lambda i, c: c * v, x)
        return tape.gradient(y, v)

    assert f(tf.constant(1.0)).item() == 6.0


def test_slices_of_run_time_sizes():
    @tf.function
    def f(x):
        return tf.scan(lambda c, row: (c + row, c), tf.zeros(2, tf.float64), x[::-1])

    carry, ys = f(np.arange(6.0).reshape(3, 2))
    assert carry.numpy().tolist() == [6.0, 9.0]
    assert ys.numpy().tolist() == [[0.0, 0.0], [4.0, 5.0], [6.0, 8.0]]


def test_errors_name_the_loop_variable_and_the_line():
    def grows(x):
        return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, x], 0)), [0, x])  # here

    def changes(x):
        return tf.fori_loop(0, 3, lambda i, x: tf.cast(x, tf.float32), x)  # here

    def disagrees(x):
        return tf.cond(x[0] > 0.0, lambda: x, lambda: x[0])  # here

    def forgets(x):
        return tf.scan(lambda c, r: c, x[0], x)  # here

    def lazy(x):
        return tf.while_loop(lambda x: x, lambda x: x, [x])  # here

    cases = [
        (grows, "loop variable 1 .*float64.2. to float64.4."),
        (changes, "loop variable 0.*float64.*float32"),
        (disagrees, r"branches of cond return \* of float64\[2\] and \* of float64\[\]"),
        (forgets, "pair"),
        (lazy, "scalar bool|ambiguous"),
    ]
    for f, message in cases:
        modes = (tf.function(f),) if f is disagrees else (f, tf.function(f))
        for g in modes:
            with pytest.raises((ValueError, TypeError), match=message + "(.|\n)*# here"):
                g(np.array([1.0, 2.0]))


def test_a_limit_on_iterations_changes_no_message():
    def drops(limit):
        return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1,), (0, 1.0), maximum_iterations=limit)

    def counts(limit):
        return tf.while_loop(lambda i: i, lambda i: i + 1, [tf.constant(3)], maximum_iterations=limit)

    for limit in (None, 2):
        with pytest.raises(tf.ShapeError, match=r"given \(\*, \*\) and returned \(\*,\)"):
            tf.function(lambda: drops(limit))()  # noqa: B023
        with pytest.raises(tf.DtypeError, match=r"condition of while_loop returns int32\[\]"):
            tf.function(lambda: counts(limit))()  # noqa: B023


def test_scan_needs_a_length():
    with pytest.raises(ValueError, match="xs or a length"):
        tf.scan(lambda c, x: (c, x), 0.0)
    with pytest.raises(tf.ShapeError, match="differ in size"):
        tf.scan(lambda c, x: (c, None), 0.0, [tf.zeros(2), tf.zeros(3)])


@pytest.mark.parametrize("value", [3.0, 3, [True]])
def test_what_decides_is_a_scalar_bool_eagerly_too(value):
    def chooses(x):
        return tf.cond(x, lambda: 1.0, lambda: 2.0)  # here

    def repeats(x):
        return tf.while_loop(lambda x: x, lambda x: x, [x])  # here

    def fills(x):
        start = (x, tf.TensorArray(tf.float32, 1))
        return tf.while_loop(lambda x, a: x, lambda x, a: (x, a), start)  # here

    for f in (chooses, repeats, fills):
        for g in (f, tf.function(f)):
            with pytest.raises(tf.DtypeError, match=r"must be a scalar bool, such as x != 0(.|\n)*# here"):
                g(tf.constant(value))


@pytest.mark.parametrize("pred", [None, 0, 2.5, [], np.bool_(True)])
def test_a_python_value_decides_while_tracing(pred):
    def f(x):
        return tf.cond(pred, lambda: x, lambda: -x)

    x = tf.constant(2.0)
    assert float(tf.function(f)(x)) == float(f(x))
