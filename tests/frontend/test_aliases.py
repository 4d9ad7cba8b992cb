"""Other names, containers, branches and loops see what ``x[i] = v`` writes, as NumPy has it, or say why they cannot."""

from __future__ import annotations

import copy

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


def clear(z):
    z[2] = 9.0


class Box:
    def __init__(self, x):
        self.x = x


# ---- what is known while tracing ------------------------------------------------------------------------


def another_name(x):
    y = x
    x[0] = 1.0
    y[1] = 2.0
    x[:, 1] += y[:, 0]
    return x, y


def containers(x):
    held, pair, by_name = [x], (x, 1.0), {"x": x}
    x[0] = 1.0
    held[0][1] = 2.0
    by_name["x"][2] *= 3.0
    return x, held[0], pair[0], by_name["x"]


def attributes(x):
    box = Box(x)
    box.x[0] = 1.0
    x[1] = 2.0
    return x, box.x


def closures(x):
    def total():
        return (x * 2.0).sum()

    y = x
    y[0] = 1.0
    return total(), x


def a_function_of_its_own(x):
    y = x
    clear(x)
    return x, y


def exchanged(x):
    x[0, 0], x[1, 1] = x[1, 1], x[0, 0]
    i, x[i] = 2, 3.0
    return x


def of_a_comprehension(x):
    held = [x for _ in range(2)]
    x[0] = 1.0
    return held


def a_name_that_is_dead(x):
    out = x
    out[0] = 1.0
    x = x.copy()
    x[1] = 2.0
    return out, x


def copies_are_copies(x):
    kept = [x.copy(), np.copy(x), np.array(x), x + 0.0, x.flatten(), x[[0, 1]], np.clip(x, None, None)]
    y = x
    x[0] = 1.0
    kept.append(copy.copy(y))
    x[1] = 2.0
    return kept, x


# ---- branches -------------------------------------------------------------------------------------------


def in_a_branch(x):
    y = x
    if x[0, 0] < x[1, 1]:
        x[0] = 1.0
    return x, y


def in_either_branch(x):
    y, held = x, [x]
    if x[0, 0] > x[1, 1]:
        x[0] = 1.0
    else:
        x[1] = 2.0
        x[2] = x[1]
    return x, y, held


def after_a_branch(x):
    y = x
    if x[0, 0] < x[1, 1]:
        x[0] = 1.0
    x[1] = 2.0
    y[2] = 3.0
    return x, y


# ---- loops ----------------------------------------------------------------------------------------------


def in_a_loop(x, n):
    y, held = x, [x]
    for i in range(n):
        x[i] = x[i] * 2.0 + i
    x[0, 0] = 7.0
    return x, y, held


def in_a_while(x, n):
    y = x
    i = 0
    while i < n:
        x[i, 0] = 1.0
        i += 1
    return x, y


def two_arrays_that_take_turns(x, n):
    old, new = x, np.zeros_like(x)
    for _ in range(n):
        new[1:-1] = old[2:] + old[:-2]
        old, new = new, old
    return old


def a_copy_in_each_iteration(x, n):
    total = x * 0.0
    for i in range(n):
        y = x.copy()
        y[i] = 0.0
        total = total + y
    return total


def rows_that_are_written(x, n):
    for i, row in enumerate(x):
        x[i] = row * 2.0 + x[0]
    return x * n


def rows_of_what_changes(x, n):
    i = n * 0
    for row in x:
        x[2] = x[2] + row
        i += 1
    return x * i


def elements_of_what_changes(x, n):
    y = x[0] * 1.0
    for i, v in enumerate(y):
        y[(i + 1) % 4] = y[(i + 1) % 4] + v * n
    return y


PROGRAMS = [
    another_name, containers, attributes, closures, a_function_of_its_own, exchanged, of_a_comprehension,
    a_name_that_is_dead, copies_are_copies, in_a_branch, in_either_branch, after_a_branch,
]  # fmt: skip
LOOPS = [
    in_a_loop, in_a_while, two_arrays_that_take_turns, a_copy_in_each_iteration, rows_that_are_written,
    rows_of_what_changes, elements_of_what_changes,
]  # fmt: skip


def check(program, *args, eager):
    expected = flatten(program(X.copy(), *args))[0]
    given = X.copy()
    for got, want in zip(run(program, given, *args, eager=eager), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)
    np.testing.assert_array_equal(given, X)


@MODES
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_numpy_has_it(program, eager):
    check(program, eager=eager)


@MODES
@pytest.mark.parametrize("program", LOOPS, ids=lambda f: f.__name__)
def test_loops_are_as_numpy_has_them(program, eager):
    check(program, np.int64(3), eager=eager)


@pytest.mark.parametrize("program", [*PROGRAMS, *LOOPS], ids=lambda f: f.__name__)
def test_gradients_are_differences(program):
    args = (np.int64(3),) * (program in LOOPS)

    def loss(x):
        return sum(tf.reduce_sum(leaf * leaf) for leaf in flatten(program(x, *args))[0])

    direction = np.random.default_rng(0).normal(size=X.shape)
    h = 1e-6

    def plain(x):
        return sum(np.sum(leaf * leaf) for leaf in flatten(program(x, *args))[0])

    slope = (plain(X + h * direction) - plain(X - h * direction)) / (2 * h)
    given = tf.constant(X)
    for gradient in (tf.grad(loss)(given), tf.function(tf.grad(loss))(given)):
        np.testing.assert_allclose(np.sum(gradient * direction), slope, rtol=1e-6)
    np.testing.assert_array_equal(given, X)


# ---- what only the running program would know -----------------------------------------------------------


def a_function_in_a_branch(x, n):
    if n > 0:
        clear(x)
    return x


def rebound_in_a_branch(x, n):
    y = x
    if n > 0:
        x[0] = 1.0
    else:
        x = x * 2.0
    return x, y


def one_of_two(x, n):
    z = x * 2.0
    y = x if n > 0 else z
    x[0] = 1.0
    return x, y


def a_name_of_one_branch(x, n):
    y = x * 2.0
    if n > 0:
        y = x
    x[0] = 1.0
    return x, y


def read_in_the_loop(x, n):
    y = x
    for i in range(n):
        x[i] = y[i - 1] + 1.0
    return x


def the_last_iteration_s(x, n):
    before = x
    for i in range(n):
        x[0] = before[1] + i
        x[1] = before[0]
        before = x
    return x, before


def another_name_in_the_loop(x, n):
    for i in range(n):
        y = x
        y[i] = 1.0
    return x


def a_function_in_the_loop(x, n):
    for _ in range(n):
        clear(x)
    return x


def kept_by_a_list(x, n):
    kept = []
    for i in range(n):
        x[i] = 1.0
        kept.append(x)
    return tf.stack(kept)


def rows_backwards(x, n):
    for row in reversed(x):
        x[0] = x[0] + row * n
    return x


def rows_that_would_change_it(x, n):
    for row in x:
        row[0] = n * 1.0
    return x


def rows_of_a_part(x, n):
    part, row = x[1:], x[1]
    for _ in part:
        part[...] = part + n
    return row


REFUSED = [
    a_function_in_a_branch, rebound_in_a_branch, one_of_two, a_name_of_one_branch, read_in_the_loop,
    the_last_iteration_s, another_name_in_the_loop, a_function_in_the_loop, kept_by_a_list,
    rows_backwards, rows_that_would_change_it, rows_of_a_part,
]  # fmt: skip


@pytest.mark.parametrize("program", REFUSED, ids=lambda f: f.__name__)
def test_what_would_differ_is_refused_at_the_line(program):
    with pytest.raises(tf.errors.TracejitError, match=r"\.copy\(\)(.|\n)*test_aliases\.py"):
        run(program, X, np.int64(3), eager=False)
    if program not in (rows_that_would_change_it, rows_backwards, rows_of_a_part):
        check(program, np.int64(3), eager=True)


def a_part_of_a_part(x, n):
    part, row = x[1:], x[1]
    part[0] = n
    return row


def in_place(x, n):
    part, row = x[1:], x[1]
    part += n
    return row


@MODES
@pytest.mark.parametrize("program", [rows_of_a_part, a_part_of_a_part, in_place], ids=lambda f: f.__name__)
def test_a_part_that_is_returned_does_not_show_what_it_was(program, eager):
    with pytest.raises((tf.errors.TracejitError, TypeError), match="under another name"):
        run(program, X.copy(), np.int64(3), eager=eager)


# ---- derivatives of what was computed before ------------------------------------------------------------


@MODES
def test_derivatives_are_of_what_was_used_then(eager):
    """Calls on tapes, open ones and closed, keep what they took."""

    def program(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * 1.0
            alias = y
            product = tf.reduce_sum(y * y * y)
        alias[0] = 10.0
        return alias, tape.gradient(product, x)

    def used_twice(x):
        y = x * 1.0
        alias = y
        product = y * y
        alias[0] = 10.0
        return tf.reduce_sum(product * y)

    with tf.settings(eager=eager):
        changed, gradient = tf.function(program)(X)
        np.testing.assert_array_equal(changed[0], 10.0)
        np.testing.assert_allclose(gradient, 3.0 * X**2, rtol=1e-14)
        slopes = 3.0 * X**2
        slopes[0] = 20.0 * X[0]
        np.testing.assert_allclose(tf.function(tf.grad(used_twice))(X), slopes, rtol=1e-14)
        tangent = tf.function(lambda x: tf.jvp(used_twice, (x,), (tf.ones_like(x),))[1])(X)
        np.testing.assert_allclose(tangent, slopes.sum(), rtol=1e-14)


@MODES
def test_tapes_watch_what_a_name_stands_for(eager):
    def program(x):
        y = x
        x[0] = 1.0
        with tf.GradientTape() as tape:
            tape.watch(y)
            total = tf.reduce_sum(y * y)
        return tape.gradient(total, y)

    want = 2.0 * X
    want[0] = 2.0
    np.testing.assert_allclose(run(program, X, eager=eager)[0], want)


# ---- arrays of NumPy's that the function makes ----------------------------------------------------------


def put_first(z, value):
    z[0] = value


def filled_by_a_function(x):
    a = np.zeros(3)
    put_first(a, x)
    return a * 1.0


def filled_by_a_closure(x):
    a = np.zeros(3)

    def put():
        a[1] = x

    put()
    return a * 1.0


def filled_under_names(x):
    a = np.zeros(3)
    b, held, box = a, [a], Box(a)
    b[0] = x
    held[0][1] = x * x
    box.x[2] += x
    return a * 1.0, b * 1.0, held[0] * 1.0, box.x * 1.0


def added_in_place(x):
    a = np.zeros(3)
    b = a
    a += x
    b *= 2.0
    return a * 1.0, b * 1.0


def filled_through_a_part(x):
    a = np.zeros((2, 4))
    row = a[1]
    part = row[1:]
    part[0] = x
    row[0] = x * x
    a[1, 2] += 1.0
    part += x
    return a * 1.0, row * 1.0, part * 1.0


def filled_in_a_loop_under_two_names(x):
    a = np.zeros(3)
    b, i = a, x * 0.0
    while i < 3:
        a[1] += x
        i += 1.0
    return a * 1.0, b * 1.0


def filled_in_a_branch_under_two_names(x):
    a = np.zeros(3)
    b = a
    if x > 0.0:
        a[1] = 2.0
        b += x
    return a * 1.0, b * 1.0


def filled_after_an_early_return(x):
    a = np.zeros(3)
    b = a
    if x > 5.0:
        return a * 1.0, b * 3.0
    b[0] = x
    return a * 1.0, b * 1.0


def steps_that_are_rows(x):
    out = np.zeros((4, 2))
    out[0] = np.array([1.0, 0.5])
    for i in range(3):
        y = out[i]
        out[i + 1] = y + 0.1 * x * y[::-1]
    return out * 1.0


MADE = [
    filled_by_a_function, filled_by_a_closure, filled_under_names, added_in_place, filled_through_a_part,
    filled_in_a_loop_under_two_names, filled_in_a_branch_under_two_names, filled_after_an_early_return,
    steps_that_are_rows,
]  # fmt: skip


@pytest.mark.parametrize("program", MADE, ids=lambda f: f.__name__)
def test_arrays_that_a_function_makes_hold_tensors_under_all_their_names(program):
    """Where an array cannot hold what is computed, the function is traced again with a tensor in its place."""

    def loss(x):
        return sum(tf.reduce_sum(leaf * leaf) for leaf in flatten(program(x))[0])

    x, h = np.float64(1.25), 1e-6
    expected = flatten(program(x))[0]
    compiled = tf.function(program)
    for got, want in zip(flatten(compiled(x))[0], expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14)
    assert compiled.experimental_get_tracing_count() == 1
    for got, want in zip(flatten(tf.vectorized_map(program, np.array([x])))[0], expected, strict=True):
        np.testing.assert_allclose(got[0], want, rtol=1e-14)
    slope = (float(loss(x + h)) - float(loss(x - h))) / (2 * h)
    np.testing.assert_allclose(tf.function(tf.grad(loss))(x), slope, rtol=1e-7)


def one_name_of_a_branch(x):
    a = np.zeros(3)
    b = a
    if x > 5.0:
        a = b * 2.0
    b[0] = 1.0
    return a * 1.0, b * 1.0


def one_name_of_a_loop(x):
    a = np.zeros(3)
    b, i = a, x * 0.0
    while i < x - 10.0:
        a = a * 2.0
        i += 1.0
    b[0] = 1.0
    return a * 1.0, b * 1.0


def one_of_two_arrays(x):
    a, b = np.zeros(3), np.ones(3)
    c = a if x > 0.0 else b
    c[0] = 7.0
    return a * 1.0, b * 1.0, c * 1.0


def part_of_a_branch(x):
    a = np.zeros(3)
    v = a[1:]
    if x > 5.0:
        v = v * 2.0
    a[1] = 3.0
    return v * 1.0


def added_to_after_a_branch(x):
    a = np.zeros(3)
    b = a
    if x > 5.0:
        a = b * 2.0
    a += 1.0
    return a * 1.0, b * 1.0


def in_a_dict_of_a_branch(x):
    d = {"a": np.zeros(3)}
    b = d["a"]
    if x > 5.0:
        d["a"] = b * 2.0
    b[0] = 1.0
    return d["a"] * 1.0, b * 1.0


def changed_by_numpy(x):
    a = np.zeros(3)
    b = a
    if x > 5.0:
        a = b * 2.0
    np.copyto(b, 2.0)
    return a * 1.0, b * 1.0


OUTSIDE = np.zeros(3)


def from_outside(x):
    a = OUTSIDE
    if x > 5.0:
        a = a * 2.0
    OUTSIDE[0] = 1.0
    return a * 1.0


def a_reshaped_one(x):
    a = np.zeros((2, 3))
    flat = a.reshape(6)
    a[0, 1] = x
    return flat * 1.0


UNKNOWN = [
    one_name_of_a_branch, one_name_of_a_loop, one_of_two_arrays, part_of_a_branch, added_to_after_a_branch,
    in_a_dict_of_a_branch, changed_by_numpy, from_outside,
]  # fmt: skip


def test_an_array_in_another_shape_is_a_view():
    np.testing.assert_array_equal(tf.function(a_reshaped_one)(np.float64(1.25)), a_reshaped_one(1.25))
    one = tf.vectorized_map(a_reshaped_one, np.array([1.25]))
    np.testing.assert_array_equal(one[0], a_reshaped_one(1.25))


@pytest.mark.parametrize("program", UNKNOWN, ids=lambda f: f.__name__)
def test_arrays_that_may_be_what_a_name_stands_for_are_not_missed(program):
    for transform in (tf.function, lambda f: lambda x: tf.vectorized_map(f, np.array([x]))):
        with pytest.raises(tf.errors.TracejitError, match=r"\.copy\(\)(.|\n)*test_aliases\.py"):
            transform(program)(np.float64(1.25))
    OUTSIDE[:] = 0.0


def test_what_is_printed_before_a_trace_fails_is_seen(capsys):
    @tf.function
    def f(x):
        a = np.zeros(2)
        print("so far")
        put_first(a, x)
        raise ValueError("and no further")

    with pytest.raises(ValueError, match="no further"):
        f(tf.constant(1.0))
    assert capsys.readouterr().out == "so far\n"


def test_what_is_linked_through_a_third_array_is_seen():
    def program(x):
        box = Box(np.ones(4))
        b = box.x
        b *= x
        if x > 0.0:
            b[:2] = x
            box.x *= 2.0
        b[1:3] = 5.0
        return b * 1.0, box.x * 1.0

    for got, want in zip(tf.function(program)(np.float64(1.25)), program(1.25), strict=True):
        np.testing.assert_allclose(got, want)


def scaled(v):
    v *= 2.0
    return v


def test_a_function_that_does_nothing_else_adds_in_place():
    def program(x):
        a = np.ones(3)
        a[0] = x
        scaled(a)
        return a * 1.0

    np.testing.assert_allclose(tf.function(program)(np.float64(1.5)), [3.0, 2.0, 2.0])


def test_rows_at_positions_that_show_when_it_runs_are_views():
    def program(x, i):
        a, b, box = np.zeros((2, 3)), np.ones(3), [np.zeros(3), np.zeros(3)]
        rest = np.zeros((2, 3))
        rest[i:][0][1] = x[0]
        part = rest[i:][0]
        part[2] = x[1]
        row = a[i]
        row += x
        a[i][1] = 7.0
        named = {"b": b}
        if x[0] > 0:
            box[0][1] = x[0]
        box[0] += 1
        named["b"] *= x
        return a, row, b, box, rest

    x = np.array([1.5, -2.0, 3.0])
    for got, want in zip(
        tf.nest.flatten(tf.function(program)(x, tf.constant(1))), tf.nest.flatten(program(x, 1)), strict=True
    ):
        np.testing.assert_array_equal(got, want)


def test_what_is_read_before_an_update_waits_for_its_size():
    def program(x, n):
        a, w = np.zeros((3, 3)), np.zeros((3, 3))
        a[0] = x
        for _ in tf.range(2):
            a += x
        row = w[n:][0]
        row[1] = x[1] * 2
        return w, a

    x = np.array([1.5, -2.0, 3.0])
    for got, want in zip(tf.function(program)(x, tf.constant(2)), program(x, 2), strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_part_that_a_loop_writes_to_is_not_the_whole():
    def program(x, n):
        a = np.zeros((2, 3))
        row = a[0]
        for _ in range(n):
            row += x
        return a

    with pytest.raises(tf.errors.TracejitError, match="a loop has written to this array"):
        tf.function(program)(np.ones(3), tf.constant(2))


# ---- results that NumPy's functions write to an array ---------------------------------------------------------------


def into_the_same(x):
    y = x * 1.0
    z = y
    np.add(y, x, out=y)
    np.exp(y, y)
    np.clip(y, 0.5, 3.0, out=(y,))
    return np.sum(np.multiply(z, x, out=z) * y)


def into_an_array(x):
    y = np.zeros((2, 3, 4))
    np.multiply(x, 2.0, out=y)
    np.cumsum(y, axis=1, out=y)
    return np.sum(y**2)


def into_a_part(x):
    y = x * 1.0
    part = y[:2]
    np.add(part, 1.0, out=part)
    return np.sum(y)


def into_some(x):
    y = x * 1.0
    np.add(y, 1.0, out=y, where=y > 1.0)
    return np.sum(y)


@pytest.mark.parametrize("program", [into_the_same, into_an_array], ids=lambda f: f.__name__)
def test_results_are_written_to_out(program):
    for eager in (False, True):
        check(program, eager=eager)
    h, direction = 1e-6, np.random.default_rng(0).normal(size=X.shape)
    slope = (program(X + h * direction) - program(X - h * direction)) / (2 * h)
    np.testing.assert_allclose(np.sum(tf.function(tf.grad(program))(X) * direction), slope, rtol=1e-6)


@MODES
def test_results_that_out_does_not_take(eager):
    for program, error in ((into_a_part, "under another name"), (into_some, r"np\.where\(mask")):
        with pytest.raises((TypeError, tf.errors.TracejitError), match=error):
            run(program, tf.constant(X), eager=eager)
    for out, error in (
        (np.zeros((3, 4), int), "does not write float64 into an array of int64: leave out="),
        (np.zeros(4), "does not fit into the array"),
    ):
        with pytest.raises(tf.errors.TracejitError, match=error):
            tf.function(lambda x, out=out: np.sin(x, out=out.copy()))(X)
    with pytest.raises(TypeError, match=r"write y = np\.add"):
        np.add(tf.constant(X), 1.0, out=tf.constant(X))


@MODES
def test_a_tensor_in_a_tuple_is_not_written_to(eager):
    def program(x):
        rows = tuple(x * 1.0)
        rows[1][:2] = 0.0
        return rows[1]

    with pytest.raises(TypeError, match=r"keep what is written to in a list(.|\n)*test_aliases\.py"):
        run(program, tf.constant(X), eager=eager)
