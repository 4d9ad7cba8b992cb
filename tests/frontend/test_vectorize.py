"""vmap: control flow that differs between examples, derivatives inside and outside, sizes, state, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp

XS = np.array([0.5, -1.25, 3.0, 0.0, 7.5])
ROWS = np.linspace(-1.5, 2.0, 15).reshape(5, 3)
W = tf.constant(np.linspace(-1.0, 1.0, 9).reshape(3, 3))


# ---- programs of one example: a scalar x and a vector v ---------------------------------------------------

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {}


def program(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    PROGRAMS[f.__name__] = f
    return f


@program
def straight(x, v):
    return tf.reduce_sum(tf.sin(x * v) * tf.dot(W, v)) / (1.0 + x * x)


@program
def while_of_its_own(x, v):
    total = x
    while tf.reduce_sum(tf.abs(v)) + total < 12.0:
        v = v * 1.5 + 0.1
        total = total + tf.tanh(v[0])
    return tf.reduce_sum(v) * total


@program
def while_shared(x, v):
    n = tf.constant(0)
    while n < 4:
        x = tf.sin(x) + v[1]
        n = n + 1
    return x


@program
def singular_after_the_end(x, v):
    """sqrt at 0 and a division by 0 once the loop has ended: neither may reach a gradient."""
    left = tf.cast(3.0, x.dtype) + tf.floor(tf.abs(x))
    total = x * 0.5
    while left > 0.0:
        total = total + tf.sqrt(left) / left * tf.reduce_sum(v * v) * x
        left = left - 1.0
    return total


@program
def branch_of_its_own(x, v):
    if x > 0.25:
        y = tf.log(x) * tf.reduce_sum(v)
    else:
        y = tf.sqrt(1.0 - x) * v[2]
    return y


@program
def branch_with_a_loop(x, v):
    if x > 1.0:
        while x > 0.5:
            x = x * 0.7 - 0.01 * v[0] * v[0]
    else:
        x = x - v[1]
    return x * x


@program
def three_deep(x, v):
    total = tf.reduce_sum(v) * 0.1
    for i in tf.range(3):
        if x + total > tf.cast(i, x.dtype):
            y = total * total
            while y < 2.0:
                y = y * 1.25 + 0.3 + 0.01 * x * x
            total = total + y * v[0]
        else:
            total = total - tf.cos(x)
    return total


@program
def scanned(x, v):
    def step(carry, row):
        carry = carry * row + x
        return carry, carry * carry

    last, rows = tf.scan(step, x, v)
    return last + tf.reduce_sum(rows)


@program
def counted(x, v):
    n = tf.cast(tf.abs(x), tf.int64)
    return tf.fori_loop(0, n, lambda i, y: tf.sin(y) * x + v[0] * tf.cast(i, x.dtype), x)


@program
def indexed(x, v):
    n = tf.cast(tf.abs(x), tf.int64) % 3
    parts = v.at[n].set(x * v[0])
    i = tf.cast(n, tf.int64)
    while i < 3:
        parts = parts.at[i].add(v[i] * x)
        i = i + 1
    return tf.reduce_sum(parts * parts) + v[n]


@program
def left_early(x, v):
    total = x * 0.0
    for _ in range(6):
        total = total + tf.reduce_sum(v) * 0.5 + x * x
        if total > 4.0:
            break
    return total


def looped(f: Callable, xs: np.ndarray, rows: np.ndarray) -> Any:
    """One example after the other."""
    found = [f(tf.constant(x), tf.constant(v)) for x, v in zip(xs, rows, strict=True)]
    if isinstance(found[0], (tuple, list)):
        return [np.stack([np.asarray(y) for y in column]) for column in zip(*found, strict=True)]
    return np.stack([np.asarray(y) for y in found])


def assert_close(found: Any, expected: Any) -> None:
    if isinstance(expected, list):
        for a, b in zip(found, expected, strict=True):
            assert_close(a, b)
        return
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-10, atol=1e-12)


both_modes = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])
every_program = pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)


@both_modes
@every_program
def test_batched_is_looped(f: Callable, mode: Callable):
    assert_close(mode(tf.vmap(f))(tf.constant(XS), tf.constant(ROWS)), looped(f, XS, ROWS))


@both_modes
@every_program
def test_the_gradient_of_each_example(f: Callable, mode: Callable):
    gradient = tf.grad(f, (0, 1))
    found = mode(tf.vmap(gradient))(tf.constant(XS), tf.constant(ROWS))
    assert_close(found, looped(gradient, XS, ROWS))


@pytest.mark.sampled(2)
@both_modes
@every_program
def test_the_gradient_of_the_batch(f: Callable, mode: Callable):
    def total(xs, rows):
        return tf.reduce_sum(tf.vmap(f)(xs, rows))

    found = mode(tf.grad(total, (0, 1)))(tf.constant(XS), tf.constant(ROWS))
    assert_close(found, looped(tf.grad(f, (0, 1)), XS, ROWS))


@pytest.mark.sampled(2)
@both_modes
@every_program
def test_the_second_derivative_of_each_example(f: Callable, mode: Callable):
    def curvature(x, v):
        return tf.grad(lambda x: tf.reduce_sum(tf.grad(f, 1)(x, v)))(x)

    found = mode(tf.vmap(curvature))(tf.constant(XS), tf.constant(ROWS))
    assert_close(found, looped(curvature, XS, ROWS))


@pytest.mark.sampled(2)
@both_modes
@every_program
def test_forward_mode(f: Callable, mode: Callable):
    def slope(x, v):
        return tf.jvp(f, [x, v], [x * 0.5 + 1.0, tf.cos(v)])

    def batched(xs, rows):
        return tf.jvp(tf.vmap(f), [xs, rows], [xs * 0.5 + 1.0, tf.cos(rows)])

    expected = looped(slope, XS, ROWS)
    assert_close(mode(tf.vmap(slope))(tf.constant(XS), tf.constant(ROWS)), expected)
    assert_close(mode(batched)(tf.constant(XS), tf.constant(ROWS)), expected)


@pytest.mark.sampled(2)
@both_modes
@every_program
def test_one_argument_for_all_examples(f: Callable, mode: Callable):
    x, v = tf.constant(XS[2]), tf.constant(ROWS[3])
    assert_close(
        mode(tf.vmap(f, in_axes=(0, None)))(tf.constant(XS), v), looped(lambda x, _: f(x, v), XS, ROWS)
    )
    over_rows = mode(tf.vmap(f, in_axes=(None, 0)))
    assert_close(over_rows(x, tf.constant(ROWS)), looped(lambda _, v: f(x, v), XS, ROWS))
    total = tf.grad(lambda x: tf.reduce_sum(tf.vmap(f, in_axes=(None, 0))(x, tf.constant(ROWS))))
    expected = looped(lambda _, v: tf.grad(f)(x, v), XS, ROWS).sum()
    assert_close(mode(total)(x), expected)


@pytest.mark.sampled(2)
@both_modes
@every_program
def test_batched_twice(f: Callable, mode: Callable):
    """Every x with every v, by a vmap inside of another."""
    grid = tf.vmap(lambda x: tf.vmap(lambda v: f(x, v))(tf.constant(ROWS)))
    expected = np.stack([looped(f, np.full(5, x), ROWS) for x in XS])
    assert_close(mode(grid)(tf.constant(XS)), expected)


@every_program
def test_one_example_and_none(f: Callable):
    batched = tf.vmap(f)
    assert_close(batched(tf.constant(XS[:1]), tf.constant(ROWS[:1])), looped(f, XS[:1], ROWS[:1]))
    assert batched(tf.constant(XS[:0]), tf.constant(ROWS[:0])).shape == (0,)


@every_program
def test_a_number_of_examples_that_is_not_known(f: Callable):
    specs = [tf.TensorSpec([None], "float64"), tf.TensorSpec([None, 3], "float64")]

    @tf.function(input_signature=specs)
    def both(xs, rows):
        return tf.vmap(f)(xs, rows), tf.vmap(tf.grad(f))(xs, rows)

    for n in (5, 2, 1):
        found = both(tf.constant(XS[:n]), tf.constant(ROWS[:n]))
        assert_close(found[0], looped(f, XS[:n], ROWS[:n]))
        assert_close(found[1], looped(tf.grad(f), XS[:n], ROWS[:n]))
    assert both.experimental_get_tracing_count() == 1


# ---- what lanes must not do to each other -----------------------------------------------------------------


@both_modes
def test_a_branch_not_taken_leaves_no_nan_in_a_shared_gradient(mode: Callable):
    w = tf.constant(2.0, dtype="float64")

    def f(x, w):
        if x > 0.0:
            y = w * tf.log(x)
        else:
            y = w * x
        return y

    for xs in ([1.0, -1.0, 0.0, 3.0], [-1.0, 0.0], [2.0, 3.0]):
        xs = np.array(xs)
        total = tf.grad(lambda w: tf.reduce_sum(tf.vmap(f, (0, None))(tf.constant(xs), w)))  # noqa: B023
        expected = sum(np.log(x) if x > 0 else x for x in xs)
        assert_close(mode(total)(w), np.float64(expected))


@both_modes
def test_a_lane_that_has_ended_leaves_no_nan_in_a_shared_gradient(mode: Callable):
    def f(left, w):
        total = w * 0.0
        while left > 0.0:
            total = total + tf.sqrt(left * w) / left
            left = left - 1.0
        return total

    lefts, w = np.array([1.0, 4.0, 0.0, 2.0]), tf.constant(2.25, dtype="float64")
    total = tf.grad(lambda w: tf.reduce_sum(tf.vmap(f, (0, None))(tf.constant(lefts), w)))
    expected = sum(float(tf.grad(f, 1)(tf.constant(left), w)) for left in lefts)
    assert_close(mode(total)(w), np.float64(expected))


@both_modes
def test_a_lane_that_has_ended_does_not_run_inner_loops_on(mode: Callable):
    """For a lane that has ended the inner loop would never end: its step has become 0."""

    def f(x):
        while x > 0.5:
            y = x
            while y > 0.0:
                y = y - tf.floor(x + 0.5)
            x = x - 1.0
        return x

    assert_close(mode(tf.vmap(f))(tf.constant([3.0, 0.25, 7.75])), np.array([0.0, 0.25, -0.25]))


@both_modes
def test_an_index_is_not_read_by_lanes_that_have_ended(mode: Callable):
    data = tf.constant([1.0, 2.0, 3.0])

    def f(i):
        total = 0.0
        while i < 3:
            total = total + data[i]
            i = i + 1
        return total

    assert_close(mode(tf.vmap(f))(tf.constant([0, 2, 3])), np.array([6.0, 3.0, 0.0]))


@both_modes
def test_an_index_out_of_range_in_one_lane_is_an_error(mode: Callable):
    table = tf.constant(np.arange(12.0).reshape(4, 3))
    for f in (
        lambda x, i: tf.gather(x, i),
        lambda x, i: tf.scatter_add(x, i, 1.0),
        lambda x, i: x[i],
    ):
        assert_close(mode(tf.vmap(f))(table, tf.constant([0, -1, 2, 1])).shape, (4, *f(table[0], 1).shape))
        with pytest.raises(IndexError, match=r"out of range|out of bounds|index"):
            mode(tf.vmap(f))(table, tf.constant([0, 1, 3, 1]))


@both_modes
def test_an_assertion_holds_in_the_lanes_that_come_to_it(mode: Callable):
    def f(x):
        if x > 0.0:
            assert x > 1.0, "x is too small"
            x = x * 2.0
        return x

    batched = mode(tf.vmap(f))
    assert_close(batched(tf.constant([2.0, -3.0])), np.array([4.0, -3.0]))
    with pytest.raises(AssertionError, match="x is too small"):
        batched(tf.constant([2.0, 0.5]))


# ---- rows whose number differs ----------------------------------------------------------------------------


def rows_of_its_own(x: Any) -> Any:
    rows = []
    while x > 1.0:
        rows.append(x)
        x = x * 0.5
    return tf.stack(rows)


@pytest.mark.parametrize(
    "use",
    [
        lambda rows: rows,
        tf.reduce_sum,
        lambda rows: tf.reduce_sum(rows * 2.0),
        lambda rows: tf.concat([rows, rows], 0),
        lambda rows: tf.cumsum(rows, axis=0),
        lambda rows: tf.broadcast_to(tf.constant(1.0), tf.ones_like(rows).shape),
    ],
)
def test_rows_that_not_all_lanes_have_are_refused(use: Callable):
    with pytest.raises(tf.ShapeError, match=r"differs: keep(.|\n)*test_vectorize.py:\d+"):
        tf.vmap(lambda x: use(rows_of_its_own(x)))(tf.constant([9.0, 3.0]))


def test_a_loop_may_not_ask_inside_for_a_number_of_rows_that_differs():
    def f(x):
        rows = rows_of_its_own(x)
        return tf.fori_loop(0, 3, lambda i, c: c + tf.cast(tf.shape(rows)[0], c.dtype), x)

    with pytest.raises(tf.ShapeError, match=r"differs: keep(.|\n)*test_vectorize.py:\d+"):
        tf.vmap(f)(tf.constant([9.0, 3.0]))


@both_modes
def test_rows_that_not_all_lanes_have_may_be_scanned(mode: Callable):
    def f(x):
        return tf.scan(lambda c, row: (c * 0.5 + row, None), x, tf.exp(rows_of_its_own(x) * 0.1))[0]

    xs = np.array([9.0, 3.0, 1.5])
    assert_close(mode(tf.vmap(f))(tf.constant(xs)), np.stack([np.asarray(f(tf.constant(x))) for x in xs]))
    gradient = tf.grad(f)
    each = np.stack([np.asarray(gradient(tf.constant(x))) for x in xs])
    assert_close(mode(tf.vmap(gradient))(tf.constant(xs)), each)


@both_modes
def test_the_number_of_rows_of_each_lane(mode: Callable):
    found = mode(tf.vmap(lambda x: tf.shape(rows_of_its_own(x))[0]))(tf.constant([9.0, 3.0, 1.5]))
    assert_close(found, np.array([4, 2, 1]))


# ---- derivatives of every kind ----------------------------------------------------------------------------


def energy(x):
    return tf.reduce_sum(tf.sin(x) * x) * tf.exp(-x[0] * x[2]) + x[1] * x[1] * x[0]


def hessian_by(inner: str) -> Callable:
    """The second derivative as one vmap in another, over directions."""
    basis = tf.constant(np.eye(3))

    def rows(x):
        gradient = tf.grad(energy)
        if inner == "jvp of grad":
            return tf.vmap(lambda t: tf.jvp(gradient, [x], [t])[1])(basis)
        if inner == "vjp of grad":
            return tf.vmap(lambda g: tf.vjp(gradient, x)[1](g)[0])(basis)
        if inner == "pullback outside":
            pullback = tf.vjp(gradient, x)[1]
            return tf.vmap(lambda g: pullback(g)[0])(basis)
        return tf.vmap(
            lambda a: tf.vmap(lambda b: tf.jvp(lambda x: tf.jvp(energy, [x], [a])[1], [x], [b])[1])(basis)
        )(basis)

    return rows


@both_modes
@pytest.mark.parametrize("inner", ["jvp of grad", "vjp of grad", "pullback outside", "jvp of jvp"])
def test_hessians_of_all_examples(inner: str, mode: Callable):
    found = mode(tf.vmap(hessian_by(inner)))(tf.constant(ROWS))
    step = 1e-5
    for h, x in zip(np.asarray(found), ROWS, strict=True):
        moved = [
            (tf.grad(energy)(tf.constant(x + d)).numpy() - tf.grad(energy)(tf.constant(x - d)).numpy())
            / (2 * step)
            for d in step * np.eye(3)
        ]
        np.testing.assert_allclose(h, moved, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(h, h.T, rtol=1e-12, atol=1e-13)


def powers(x):
    """``x`` to a power that depends on it."""
    while tf.abs(x) < 100.0:
        x = x * x + x
    return x


def nested_loops(x):
    """A loop of another length each time in a loop of another length for each example."""
    y = x
    while tf.abs(y) < 50.0:
        for _ in range(tf.cast(tf.floor(y), "int64") % 3):
            y = y + tf.sin(y) ** 2 * x
        y = y * x
    return y


def forward(f: Callable) -> Callable:
    return lambda x: tf.jvp(f, [x], [tf.ones_like(x)])[1]


ORDERS: dict[str, list[Callable]] = {
    "grad": [tf.grad],
    "jacrev": [tf.jacrev],
    "jacfwd": [tf.jacfwd],
    "grad of jacfwd": [tf.jacfwd, tf.grad],
    "jacfwd of grad": [tf.grad, tf.jacfwd],
    "jacrev of jacrev": [tf.jacrev, tf.jacrev],
    "jacfwd of jacfwd": [tf.jacfwd, tf.jacfwd],
    "hessian": [tf.hessian],
    "jvp of grad": [tf.grad, forward],
    "checkpoint": [tf.checkpoint, tf.grad, tf.jacfwd],
}


GRID = np.array([[1.7, 2.5], [1.2, 3.1]])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("f", [powers, nested_loops])
@pytest.mark.parametrize("order", ORDERS)
def test_loops_of_other_lengths_in_nested_derivatives_and_batches(order: str, f: Callable):
    for transform in ORDERS[order]:
        f = transform(f)
    one_by_one = [[f(tf.constant(x)).item() for x in row] for row in GRID]
    np.testing.assert_allclose(tf.vmap(f)(GRID[0]), one_by_one[0], rtol=1e-9)
    np.testing.assert_allclose(tf.vmap(tf.vmap(f))(GRID), one_by_one, rtol=1e-9)


def test_loops_of_other_lengths_compiled():
    f = tf.vmap(tf.vmap(tf.grad(powers)))
    np.testing.assert_allclose(tf.function(f)(GRID), f(GRID), rtol=1e-12)


@both_modes
def test_a_tape_inside_and_one_outside(mode: Callable):
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x * x
        return tape.gradient(y, x)

    def outer(xs):
        with tf.GradientTape() as tape:
            tape.watch(xs)
            ys = tf.vmap(slope)(xs)
        return ys, tape.gradient(ys, xs)

    ys, gradient = mode(outer)(tf.constant(XS))
    assert_close(ys, 3 * XS**2)
    assert_close(gradient, 6 * XS)


@both_modes
def test_gradients_of_a_loss_of_each_example_by_captured_variables(mode: Callable):
    w = tf.Variable(np.linspace(-1.0, 1.0, 3))

    def total(rows):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.vmap(lambda v: tf.reduce_sum(v * w) ** 2)(rows))
        return tape.gradient(y, w)

    expected = (2 * (ROWS @ w.numpy())[:, None] * ROWS).sum(0)
    assert_close(mode(total)(tf.constant(ROWS)), expected)


@both_modes
@pytest.mark.parametrize("inside", [True, False])
def test_a_custom_gradient_is_used(inside: bool, mode: Callable):
    @tf.custom_gradient
    def doubled(x, w):
        return x * w, lambda g: (g * 2.0 * w, g * 3.0 * x)

    w = tf.constant(1.5, dtype="float64")
    if inside:
        by_x, by_w = mode(tf.vmap(tf.grad(doubled, (0, 1)), (0, None)))(tf.constant(XS), w)
        assert_close(by_w, 3.0 * XS)
    else:
        total = tf.grad(lambda xs, w: tf.reduce_sum(tf.vmap(doubled, (0, None))(xs, w)), (0, 1))
        by_x, by_w = mode(total)(tf.constant(XS), w)
        assert_close(by_w, np.float64(3.0 * XS.sum()))
    assert_close(by_x, np.full(5, 3.0))


@both_modes
def test_a_compiled_function_inside(mode: Callable):
    inner = tf.function(PROGRAMS["while_of_its_own"])
    found = mode(tf.vmap(inner))(tf.constant(XS), tf.constant(ROWS))
    assert_close(found, looped(PROGRAMS["while_of_its_own"], XS, ROWS))


@both_modes
def test_loops_with_a_memory_policy(mode: Callable):
    def f(x):
        x = tf.fori_loop(0, 20, lambda i, c: tf.sin(c) * 0.5 + 0.1 * x, x, memory="recompute")
        return tf.while_loop(lambda c: c < 10.0, lambda c: c * 1.5 + tf.exp(x), x * 0.5, memory="recompute")

    expected = np.array([float(tf.grad(f)(tf.constant(x))) for x in XS])
    np.testing.assert_allclose(mode(tf.vmap(tf.grad(f)))(tf.constant(XS)), expected, rtol=1e-9)
    total = tf.grad(lambda xs: tf.reduce_sum(tf.vmap(f)(xs)))
    np.testing.assert_allclose(mode(total)(tf.constant(XS)), expected, rtol=1e-9)


@both_modes
def test_roots_of_each_example(mode: Callable):
    def root(a):
        return tf.root(lambda x: x * x - a, a)

    squares = np.array([0.25, 4.0, 2.0])
    assert_close(mode(tf.vmap(root))(tf.constant(squares)), np.sqrt(squares))
    assert_close(mode(tf.vmap(tf.grad(root)))(tf.constant(squares)), 0.5 / np.sqrt(squares))
    total = tf.grad(lambda a: tf.reduce_sum(tf.vmap(root)(a)))
    assert_close(mode(total)(tf.constant(squares)), 0.5 / np.sqrt(squares))


@both_modes
def test_what_is_computed_again(mode: Callable):
    def f(x):
        return tf.recompute_grad(lambda y: tf.sin(tf.exp(y)))(x)

    expected = np.cos(np.exp(XS)) * np.exp(XS)
    np.testing.assert_allclose(mode(tf.vmap(tf.grad(f)))(tf.constant(XS)), expected, rtol=1e-7)
    total = tf.grad(lambda xs: tf.reduce_sum(tf.vmap(f)(xs)))
    np.testing.assert_allclose(mode(total)(tf.constant(XS)), expected, rtol=1e-7)


# ---- state and effects ------------------------------------------------------------------------------------


@both_modes
def test_a_variable_may_be_assigned_what_does_not_differ(mode: Callable):
    calls = tf.Variable(0.0)

    def f(x):
        calls.assign_add(1.0)
        return x * calls

    assert_close(mode(tf.vmap(f))(tf.constant([1.0, 2.0])), np.array([1.0, 2.0]))
    assert float(calls) == 1.0


@both_modes
def test_a_variable_may_not_be_assigned_what_differs(mode: Callable):
    last = tf.Variable(0.0, name="last")

    def f(x):
        last.assign(x)
        return x

    with pytest.raises(tf.TracejitError, match=r"'last:0' is assigned a value that differs(.|\n)*\.py:\d+"):
        mode(tf.vmap(f))(tf.constant([1.0, 2.0]))
    assert float(last) == 0.0


def test_each_example_has_random_numbers_of_its_own():
    def draw(seed: int, mode: Callable) -> list[np.ndarray]:
        generator = tf.random.Generator(seed)

        def noisy(x):
            total = x * 0.0 + generator.normal(dtype="float64")
            while total < x:
                total = total + generator.uniform(dtype="float64")
            return total, generator.uniform((2,))

        run = mode(tf.vmap(noisy))
        return [np.asarray(y) for _ in range(2) for y in run(tf.constant(XS))]

    eager = draw(7, lambda f: f)
    for a, b in zip(eager, draw(7, tf.function), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    first, numbers, second, more = eager
    drawn = np.concatenate([numbers.ravel(), more.ravel()])
    assert len(set(drawn)) == len(drawn) and not np.array_equal(first, second)
    assert not np.array_equal(numbers, draw(8, lambda f: f)[1])


def test_random_numbers_differ_in_both_of_two_vmaps():
    generator = tf.random.Generator(3)
    grid = tf.vmap(lambda x: tf.vmap(lambda y: generator.uniform())(tf.zeros((4,))))(tf.zeros((3,)))
    assert grid.shape == (3, 4) and len(set(np.asarray(grid).ravel())) == 12


@both_modes
def test_each_example_prints(mode: Callable, capsys: pytest.CaptureFixture):
    def f(x):
        tf.print("x is", x)
        return x * 2.0

    mode(tf.vmap(f))(tf.constant([1.0, 2.5]))
    written = capsys.readouterr()
    assert (written.out + written.err).split() == "x is 1 x is 2.5".split()


def test_printing_in_a_branch_of_some_examples_is_refused():
    def f(x):
        if x > 1.5:
            tf.print(x)
        return x

    with pytest.raises(
        tf.TracejitError, match=r"print stands in a loop or branch(.|\n)*test_vectorize.py:\d+"
    ):
        tf.vmap(f)(tf.constant([1.0, 2.0]))


# ---- arguments and results --------------------------------------------------------------------------------


@both_modes
def test_axes_and_nests(mode: Callable):
    def f(pair, scale, *, shift):
        return {"sum": pair["a"] + tf.reduce_sum(pair["b"]) * scale + shift, "same": scale}

    pair = {"a": tf.constant(XS), "b": tf.constant(ROWS.T.copy())}
    batched = mode(tf.vmap(f, in_axes=({"a": 0, "b": -1}, None), out_axes={"sum": 0, "same": None}))
    found = batched(pair, tf.constant(2.0, dtype="float64"), shift=tf.constant(XS * 3.0))
    assert_close(found["sum"], XS + ROWS.sum(1) * 2.0 + 3.0 * XS)
    assert found["same"].shape == ()


@both_modes
def test_where_the_axis_of_the_results_stands(mode: Callable):
    batched = mode(tf.vmap(lambda v: (tf.sin(v), tf.constant([1.0, 2.0])), out_axes=(1, -1)))
    sines, same = batched(tf.constant(ROWS))
    assert_close(sines, np.sin(ROWS).T)
    assert_close(same, np.array([[1.0] * 5, [2.0] * 5]))


@both_modes
def test_a_default_is_shared_by_all_examples(mode: Callable):
    def f(x, weights=W[0], *, shift=1.0):
        return x * tf.reduce_sum(weights) + shift

    assert_close(mode(tf.vmap(f))(tf.constant(XS)), XS * W.numpy()[0].sum() + 1.0)
    found = mode(tf.vmap(f, in_axes=(0,)))(tf.constant(XS), weights=tf.constant(ROWS), shift=tf.constant(XS))
    assert_close(found, XS * ROWS.sum(1) + XS)


def test_the_number_of_examples_may_be_given():
    found = tf.vmap(lambda x: x * 2.0, in_axes=None, axis_size=3)(tf.constant([1.0, 2.0]))
    assert_close(found, np.array([[2.0, 4.0]] * 3))


def test_vectorized_map_takes_nests():
    found = tf.vectorized_map(lambda e: e[0] * tf.reduce_sum(e[1]), (tf.constant(XS), tf.constant(ROWS)))
    assert_close(found, XS * ROWS.sum(1))


ERRORS: list[tuple[Callable, type[Exception], str]] = [
    (
        lambda: tf.vmap(lambda a, b: a + b)(tf.zeros((3,)), tf.zeros((4, 2))),
        tf.ShapeError,
        r"numbers of examples differ: 3 in argument 0 \(float32\[3\], axis 0\), 4 in argument 1",
    ),
    (
        lambda: tf.vmap(tf.sin)(2.0),
        tf.ShapeError,
        r"argument 0 is float32\[\] and has no axis 0(.|\n)*in_axes",
    ),
    (lambda: tf.vmap(tf.sin, in_axes=2)(tf.zeros((3, 4))), tf.ShapeError, "has no axis 2"),
    (
        lambda: tf.vmap(tf.add, in_axes=(0,))(tf.zeros(3), 1.0),
        ValueError,
        "in_axes has 1 entries and the call 2",
    ),
    (
        lambda: tf.vmap(lambda p: p[0], in_axes=([0, 0],))((tf.zeros(3),)),
        ValueError,
        r"in_axes\[0\] is \[0, 0\], which is neither an int, None nor a nest like \(\*,\)",
    ),
    (lambda: tf.vmap(tf.sin, in_axes=None)(1.0), ValueError, "no argument has examples; give axis_size"),
    (
        lambda: tf.vmap(tf.sin, out_axes=None)(tf.zeros(3)),
        ValueError,
        "out_axes is None for a result of float32",
    ),
    (lambda: tf.vmap(tf.sin, out_axes=2)(tf.zeros(3)), tf.ShapeError, "out_axes is 2 for a result"),
    (lambda: tf.vmap(tf.sin, axis_size=4)(tf.zeros(3)), tf.ShapeError, "4 in axis_size, 3 in argument 0"),
    (lambda: tf.vmap(lambda x: np.asarray(x))(tf.zeros(3)), tf.SymbolicValue, "has no value"),
]


@pytest.mark.parametrize(("call", "kind", "message"), ERRORS, ids=[m[:20] for *_, m in ERRORS])
def test_what_is_refused(call: Callable, kind: type[Exception], message: str):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert "test_vectorize.py" in str(caught.value)


def test_what_comes_back_as_it_was_given_is_another_tensor():
    x = tf.ones(3)
    for same in (tf.vmap(lambda row: row), tf.vmap(lambda row: tnp.array(row)), tf.vmap(lambda row: (row, row))):
        y = tf.nest.flatten(same(x))[0]
        assert y is not x
        y[0] = 4.0
        np.testing.assert_array_equal(x, np.ones(3))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.vmap(lambda row: row)(x) ** 2)
    np.testing.assert_array_equal(tape.gradient(y, x), 2 * np.ones(3))
