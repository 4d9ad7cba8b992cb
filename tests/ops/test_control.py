"""Control flow and its derivatives: each program against finite differences, orders 1 and 2, forward mode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tracejit
from checks import levels
from checks.derivatives import (
    Arrays,
    difference,
    directions,
    numeric_pull,
    pair,
    pull,
    pull_tensors,
    push,
    values,
)
from checks.regions import call, cond, custom, loop
from tracejit.compiler import cache
from tracejit.core.op import ops
from tracejit.core.spec import TensorSpec
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.trace import trace

PROGRAMS: dict[str, tuple[Callable, list[tuple[int, ...]]]] = {}


def program(*shapes: tuple[int, ...]) -> Callable:
    """Register a function of float64 tensors of these shapes, drawn from [0.3, 1.3]."""

    def register(f: Callable) -> Callable:
        PROGRAMS[f.__name__] = (f, list(shapes))
        return f

    return register


def number(i: Tensor) -> Tensor:
    return ops.cast(i, dtype=np.dtype("float64"))


# ---- loops ----------------------------------------------------------------------------------------------


@program((3,), ())
def of_static_length(x, a):
    return loop(lambda i, x, a: ops.sin(x) * a + 0.1, [x], captured=[a], length=5)


@program((3,), ())
def with_rows_out(x, a):
    return loop(lambda i, x, a: (x * a, x * x, ops.reduce_sum(x)), [x], captured=[a], length=4)


@program((3,), ())
def rows_only(x, a):
    """The carries are read through the rows alone."""
    return loop(lambda i, x, a: (x * a, x * x), [x], captured=[a], length=4)[2:]


@program((), (4, 3), (3, 3))
def with_rows_in(s, xs, w):
    def body(i, s, row, w):
        y = ops.tanh(ops.reshape(ops.matmul(ops.reshape(row, shape=(1, 3)), w), shape=(3,)))
        return s + ops.reduce_sum(y * s), y * s

    return loop(body, [s], [xs], [w], length=4)


@program((), (4, 3))
def in_reverse(s, xs):
    def body(i, s, row):
        return s * 0.5 + ops.reduce_sum(row * s), row * s

    return loop(body, [s], [xs], length=4, reverse=True)


@program((2,), ())
def counted_at_run_time(x, a):
    return loop(lambda i, x, a: (x * a + x, x * number(i)), [x], captured=[a], count=3)


@program((2,), ())
def while_it_is_small(x, a):
    """The trip count depends on the values and is known to nobody before."""
    return loop(
        lambda i, x, a: (x * 1.7 + a, x * a),
        [x],
        captured=[a],
        cond=lambda x, a: ops.less(ops.reduce_sum(x * x), 100.0),
    )


@program((2,))
def never_entered(x):
    return loop(lambda i, x: (x * 2.0, x * x), [x], cond=lambda x: ops.less(ops.reduce_sum(x), -1.0))


@program((2,), ())
def of_length_zero(x, a):
    return loop(lambda i, x, a: (x * a, x + a), [x], captured=[a], length=0)


@program((2,))
def with_the_index(x):
    return loop(lambda i, x: (x * (number(i) + 0.5), x * number(i)), [x], length=4)


@program((), (), ())
def carries_that_become_active(a, b, c):
    """The cotangent of the first carry arrives only after two iterations."""
    return loop(lambda i, a, b, c: (a * 1.1, b + a * a, c * 0.9 + b), [a, b, c], length=4)[2:3]


@program((), ())
def carries_without_derivative(x, a):
    def body(i, k, flag, x, a):
        return k + 2, ops.logical_not(flag), ops.where(flag, x * a, x + a)

    return loop(body, [np.int32(1), np.array(True), x], captured=[a], length=5)


@program((5,), ())
def captured_and_read_by_position(x, s):
    """Each iteration reads one element of a captured array: its cotangent is added in place."""

    def body(i, s, x):
        element = ops.dynamic_slice(x, ops.reshape(i, shape=(1,)), sizes=(1,))
        return s * ops.reshape(element, shape=()) + 0.2

    return loop(body, [s], captured=[x], length=5)


@program((5,), ())
def array_updated_in_place(x, a):
    def body(i, x, a):
        at = ops.reshape(i, shape=(1,))
        old = ops.dynamic_slice(x, at, sizes=(1,))
        following = ops.dynamic_slice(x, at + 1, sizes=(1,))
        return ops.dynamic_update_slice(x, old * following * a, at)

    return loop(body, [x], captured=[a], length=4)


@program((4, 3), ())
def stencil(u, k):
    """A step of the heat equation, written with slices."""

    def body(i, u, k):
        inner = tuple((1, d - 2, 1) for d in u.shape)
        middle = ops.slice(u, slices=inner)
        sides = [((at, 2, 1), (1, 1, 1)) for at in (0, 2)] + [((1, 2, 1), (at, 1, 1)) for at in (0, 2)]
        around = sum((ops.slice(u, slices=s) for s in sides), start=middle * -4.0)
        return ops.slice_set(u, middle + k * around * middle, slices=inner)

    return loop(body, [u], captured=[k], length=3)


@program((), ())
def nested_loops(x, a):
    def inner(j, y, x, a):
        return ops.sin(y + x) * a

    def outer(i, x, a):
        y = loop(inner, [x], captured=[x, a], length=3)[0]
        return y + a, y * x

    return loop(outer, [x], captured=[a], length=3)


@program((), ())
def unknown_counts_nested(x, a):
    def inner(j, y, a):
        return y * 1.5 + a

    def outer(i, total, x, a):
        y, n = loop(inner, [x], captured=[a], cond=lambda y, a: ops.less(y, 9.0))[:2]
        return total + y * number(n), x * 0.8

    return loop(outer, [ops.identity(x), x], captured=[a], length=3)


# ---- branches, calls, rules -----------------------------------------------------------------------------


@program((3,), ())
def both_branches_differ(x, a):
    first = cond(np.array(True), lambda x, a: ops.sin(x) * a, lambda x, a: x + a, x, a)[0]
    return cond(np.array(False), lambda y, a: y * a, lambda y, a: y * y, first, a)


@program((3,), ())
def a_branch_without_one_input(x, a):
    return cond(ops.less(ops.reduce_sum(x), 0.0), lambda x, a: x * a, lambda x, a: x * x, x, a)


@program((), ())
def branch_inside_of_a_loop(x, a):
    def body(i, x, a):
        even = ops.equal(ops.mod(i, np.int64(2)), np.int64(0))
        return cond(even, lambda x, a: x * x * a, lambda x, a: ops.exp(-x) + a, x, a)[0]

    return loop(body, [x], captured=[a], length=5)


@program((), ())
def loop_inside_of_a_branch(x, a):
    def looping(x, a):
        return loop(lambda i, y, a: ops.sin(y) * a, [x], captured=[a], length=4)[0]

    return cond(ops.less(0.0, x), looping, lambda x, a: x + a, x, a)


@program((3,), ())
def called(x, a):
    y, s = call(lambda x, a: (ops.sin(x) * a, ops.reduce_sum(x * x)), x, a)
    return call(lambda y, s: y * s, y, s)


@program((), ())
def call_inside_of_a_loop(x, a):
    return loop(lambda i, x, a: call(lambda x, a: ops.sin(x) * a, x, a)[0], [x], captured=[a], length=4)


def log1pexp(x):
    """``log(1 + exp(x))`` with the true gradient as a rule of its own."""
    return custom(lambda x: (ops.log(1.0 + ops.exp(x)), x), lambda x, g: g * ops.sigmoid(x), 1, x)[0]


@program((3,))
def with_its_own_rule(x):
    return log1pexp(x * x)


@program((), ())
def own_rule_inside_of_a_loop(x, a):
    return loop(lambda i, x, a: log1pexp(x) * a, [x], captured=[a], length=4)


FORWARD = [name for name in PROGRAMS if "own_rule" not in name]
every_program = pytest.mark.parametrize("name", list(PROGRAMS))


def arguments(name: str) -> Arrays:
    random = np.random.default_rng(len(name))
    return [np.asarray(random.uniform(0.3, 1.3, shape)) for shape in PROGRAMS[name][1]]


def prepared(name: str) -> tuple[Callable, Arrays, list[int], Arrays]:
    f, xs = PROGRAMS[name][0], arguments(name)
    return f, xs, list(range(len(xs))), directions(values(as_list(f), xs), 2)


def as_list(f: Callable) -> Callable:
    def run(*xs: Tensor) -> list[Tensor]:
        found = f(*xs)
        return list(found) if isinstance(found, tuple) else [found]

    return run


@every_program
def test_the_gradient_agrees_with_finite_differences(name: str):
    f, xs, active, gs = prepared(name)
    expected = numeric_pull(lambda moved: values(as_list(f), moved), xs, gs, active)
    for found, wanted in zip(pull(as_list(f), xs, gs, active), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", FORWARD)
def test_forward_mode_is_the_transpose_of_reverse_mode(name: str):
    f, xs, active, gs = prepared(name)
    ts = directions(xs, 1)
    forward, backward = push(as_list(f), xs, ts, active), pull(as_list(f), xs, gs, active)
    assert pair(gs, forward) == pytest.approx(pair(backward, ts), rel=1e-10, abs=1e-12)


def gradient_of(f: Callable, gs: Arrays, active: list[int]) -> Callable:
    def gradient(*xs: Tensor) -> list[Tensor]:
        found = pull_tensors(as_list(f), xs, [Tensor(g) for g in gs], active)
        return [
            ops.fill(shape=xs[i].shape, value=0.0, dtype=xs[i].dtype) if g is None else g
            for i, g in zip(active, found, strict=True)
        ]

    return gradient


@every_program
def test_the_second_derivative_agrees_with_differences_of_the_first(name: str):
    f, xs, active, gs = prepared(name)
    gradient = gradient_of(f, gs, active)
    us, ws = directions(xs, 3), directions(xs, 4)
    along_u, along_w = pull(gradient, xs, us, active), pull(gradient, xs, ws, active)
    assert pair(ws, along_u) == pytest.approx(pair(us, along_w), rel=1e-9, abs=1e-9)
    expected = difference(lambda moved: [g.array for g in gradient(*map(Tensor, moved))], xs, us, active)
    for found, wanted in zip(along_u, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", FORWARD)
def test_forward_over_reverse_is_reverse_over_reverse(name: str):
    f, xs, active, gs = prepared(name)
    gradient, us = gradient_of(f, gs, active), directions(xs, 3)
    for a, b in zip(push(gradient, xs, us, active), pull(gradient, xs, us, active), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


# ---- values ---------------------------------------------------------------------------------------------


def test_a_loop_returns_carries_trip_count_and_rows():
    x, n, rows = loop(lambda i, x: (x * 2.0, x), [np.array(3.0)], length=4)
    assert (float(x), int(n), rows.numpy().tolist()) == (48.0, 4, [3.0, 6.0, 12.0, 24.0])


def test_in_reverse_the_rows_stay_where_they_belong():
    def body(i, s, row):
        return s + row, number(i)

    x, _, rows = loop(body, [np.array(0.0)], [np.arange(3.0)], length=3, reverse=True)
    assert float(x) == 3.0
    assert rows.numpy().tolist() == [0.0, 1.0, 2.0]


def test_no_iterations_give_rows_of_the_right_shape():
    _, n, rows = loop(lambda i, x: (x, x), [np.zeros((2, 3))], length=0)
    assert int(n) == 0 and rows.shape == (0, 2, 3)


def test_the_gradient_through_doubling_is_an_exact_power_of_two():
    """The data-dependent loop: the number of doublings is known to nobody before it ran."""
    for a in (1e-30, 1e-3, 0.7, 123.0, 1e5):
        f = lambda a: loop(lambda i, b: b * 2.0, [a], cond=lambda b: ops.less(ops.abs(b), 1000.0))[:1]
        (y,) = values(f, [np.array(a)])
        (g,) = pull(f, [np.array(a)], [np.array(1.0)], [0])
        assert g == y / a and np.log2(g) == np.round(np.log2(g))


def test_a_loop_variable_must_keep_its_spec():
    def f(x):
        return loop(lambda i, x: ops.concat(x, x, axis=0), [x], length=2)

    with pytest.raises(ValueError, match=r"changes from float64\[2\] to float64\[4\]; keep its shape"):
        trace(f, [TensorSpec((2,), "float64")])


def test_branches_must_agree():
    with pytest.raises(ValueError, match="they must agree in number, shape and dtype"):
        trace(lambda p: cond(p, lambda x: x, lambda x: (x, x), np.zeros(2)), [TensorSpec((), "bool")])


def test_the_gradient_of_an_untaken_branch_is_zero_and_of_the_condition_none():
    x, a = Tensor(np.array(2.0)), Tensor(np.array(3.0))
    pred = Tensor(np.array(True))
    f = lambda p, x, a: cond(p, lambda x, a: x * 1.0, lambda x, a: a * 1.0, x, a)
    found = pull_tensors(f, [pred, x, a], [Tensor(np.array(1.0))], [0, 1, 2])
    assert found[0] is None and float(found[1]) == 1.0 and float(found[2]) == 0.0


def test_a_function_with_its_own_rule_refuses_forward_mode():
    with pytest.raises(LookupError, match="custom gradient has a vjp only"):
        push(lambda x: [log1pexp(x)], [np.array(1.0)], [np.array(1.0)], [0])


def test_an_own_rule_is_used():
    """The rule counts, not what the body would give: at 1000 the body's derivative is NaN."""
    (g,) = pull(lambda x: [log1pexp(x)], [np.array(1000.0)], [np.array(1.0)], [0])
    assert g == 1.0


def test_a_window_larger_than_what_a_loop_made_is_an_error_in_both_modes():
    """How many rows there are is known only when the loop has run, so the machine code has to look."""

    def f(x):
        rows = loop(lambda i, x: (x * 2.0, x), [x], cond=lambda x: ops.less(x, 10.0))[2]
        return [ops.dynamic_slice(rows, np.array([1]), sizes=(3,))]

    run = cache.compile_graph(trace(f, [TensorSpec((), "float64")]).graph)
    assert run([np.array(1.0)])[0].tolist() == f(Tensor(np.array(1.0)))[0].numpy().tolist() == [2.0, 4.0, 8.0]
    with pytest.raises(ValueError, match="a window of 3 elements in an axis of size t0") as raised:
        run([np.array(9.0)])
    assert __file__ in str(raised.value)
    with pytest.raises(ValueError, match="a window of"):
        f(Tensor(np.array(9.0)))


# ---- compiled -------------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", ["value", "gradient", "second", "jvp"])
@every_program
def test_loop_ir_and_machine_code_agree_with_the_kernels(name: str, order: str):
    if order == "jvp" and name not in FORWARD:
        return
    xs = arguments(name)
    graph = trace(as_list(PROGRAMS[name][0]), [TensorSpec(x.shape, x.dtype) for x in xs], name).graph
    found = levels.derived(graph, order)
    if found is not None:
        levels.assert_levels_agree(found, levels.complete(found, xs, graph, order))


@pytest.mark.parametrize("mode", [lambda f: f, tracejit.function], ids=["eager", "compiled"])
@pytest.mark.parametrize("memory", [None, "recompute"])
def test_loops_without_iterations_depend_on_what_they_start_with_alone(mode, memory):
    """Values, and which derivatives are None, are the same in both modes; those of the second order too."""

    @mode
    def f(w, x, rows):
        with tracejit.GradientTape(persistent=True) as tape:
            tape.watch([w, x, rows])
            with tracejit.GradientTape() as inner:
                inner.watch(x)
                y = tracejit.fori_loop(0, 0, lambda i, v: v * w, x * x, memory=memory)
            first = inner.gradient(y, x)
            z, stacked = tracejit.scan(lambda c, r: (c * w + r, c * r), x, rows, memory=memory)
        return (
            y,
            tape.gradient(y, [w, x]),
            tape.gradient([z, stacked], [w, x, rows]),
            tape.gradient(first, [w, x]),
        )

    w, x = tracejit.constant(2.0), tracejit.constant(3.0)
    y, of_loop, of_scan, second = f(w, x, tracejit.zeros((0,)))
    assert float(y) == 9.0
    assert of_loop[0] is None and float(of_loop[1]) == 6.0
    assert of_scan[0] is None and float(of_scan[1]) == 1.0 and of_scan[2] is None
    assert second[0] is None and float(second[1]) == 2.0
    _, tangent = tracejit.jvp(
        mode(lambda u, v: tracejit.fori_loop(0, 0, lambda i, c: c * u, v)), [w, x], [x, w]
    )
    assert float(tangent) == 2.0
