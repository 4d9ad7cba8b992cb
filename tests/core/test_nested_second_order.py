"""Second derivatives through loops, scans and branches nested three deep, in every mix of forward and reverse mode.

Checked against finite differences of the gradient, kernel by kernel and compiled, and counted: the cost grows as the
number of iterations does, at order 1 and 2, also with a memory policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import permutations

import numpy as np
import pytest

import tracejit as tf
from checks.derivatives import difference, directions
from tracejit.core.autodiff.backprop import gradient_graph
from tracejit.core.autodiff.pushforward import jvp_graph
from tracejit.core.ir.graph import Graph
from tracejit.core.spec import TensorSpec
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.dispatch import interpreting
from tracejit.core.tracing.interpreters import Count
from tracejit.core.tracing.trace import replay, trace
from tracejit.frontend.execution import executable
from tracejit.ops.control.regions import run_graph

Step = Callable[[Tensor], Tensor]
Arrays = list[np.ndarray]

SIZE = 2
SPECS = [TensorSpec((SIZE,), "float64"), TensorSpec((SIZE,), "float64")]
POLICIES = ("save", "recompute", 400)
MIXES = ("reverse over reverse", "forward over reverse", "reverse over forward")


# ---- programs -------------------------------------------------------------------------------------------


def in_while(step: Step, w: Tensor, n: int, memory: int | str) -> Step:
    def run(x: Tensor) -> Tensor:
        def going(k: Tensor, x: Tensor) -> Tensor:
            return tf.logical_and(k < float(n), tf.reduce_sum(x * x) < 1e6)

        k = tf.constant(0.0, dtype="float64")
        return tf.while_loop(going, lambda k, x: (k + 1.0, step(x) * 0.9), (k, x), memory=memory)[1]

    return run


def in_scan(step: Step, w: Tensor, n: int, memory: int | str) -> Step:
    def run(x: Tensor) -> Tensor:
        rows = tf.stack([w * (0.1 * k + 0.3) for k in range(n)])
        x, ys = tf.scan(lambda c, r: (step(c) + r * 0.2, c * r), x, rows, memory=memory)
        return x + tf.reduce_sum(ys, axis=0) * 0.1

    return run


def in_fori(step: Step, w: Tensor, n: int, memory: int | str) -> Step:
    def run(x: Tensor) -> Tensor:
        return tf.fori_loop(0, n, lambda i, x: step(x) + 0.01 * tf.cast(i, "float64") * w, x, memory=memory)

    return run


def in_cond(step: Step, w: Tensor, n: int, memory: int | str) -> Step:
    def run(x: Tensor) -> Tensor:
        return tf.cond(tf.reduce_sum(x) > 0.5, lambda: step(x) * x, lambda: tf.cos(x) + step(w) * 0.2)

    return run


KINDS = {"while": in_while, "scan": in_scan, "fori": in_fori, "cond": in_cond}
NESTS = (*permutations(("while", "scan", "cond")), ("fori", "while", "while"), ("scan", "fori", "scan"))


@cache
def program(kinds: tuple[str, ...], counts: tuple[int, ...], memory: int | str) -> Graph:
    """The kinds nested in this order, outermost first, around one step, as ``(x, w) -> number``."""

    def f(x: Tensor, w: Tensor) -> Sequence[Tensor]:
        def step(x: Tensor) -> Tensor:
            return tf.sin(x * w) + x * x * 0.1

        for kind, n in zip(reversed(kinds), reversed(counts), strict=True):
            step = KINDS[kind](step, w, n, memory)
        y = step(x)
        return [tf.reduce_sum(y * y)]

    return trace(f, SPECS).graph


def second(graph: Graph, mix: str) -> tuple[Graph, Callable[[Arrays, Arrays], Arrays], slice]:
    """A product with the second derivative: its graph, how to call it with points and directions, where it is."""
    one = [np.ones(())]
    gradient, connected = gradient_graph(graph)
    assert all(connected)
    if mix == "reverse over reverse":
        found, _ = gradient_graph(gradient, (True, True, False))
        return found, lambda xs, ts: [*xs, *one, *ts], slice(None)
    if mix == "forward over reverse":
        found, _ = jvp_graph(gradient, (True, True, False))
        return found, lambda xs, ts: [*xs, *one, *ts], slice(2, None)
    tangent, _ = jvp_graph(graph, (True, True))
    found, _ = gradient_graph(tangent, (True, True, False, False), (False, True))
    return found, lambda xs, ts: [*xs, *ts, *one], slice(None)


def shared(memory: int | str) -> Graph:
    """One tensor goes round and is used by the body."""

    def f(x: Tensor, w: Tensor) -> Sequence[Tensor]:
        step = lambda i, y: tf.sin(y * w) + x * y * 0.2
        return [tf.reduce_sum(tf.fori_loop(0, 5, step, x, memory=memory))]

    return trace(f, SPECS).graph


def point() -> Arrays:
    return [np.array([0.7, 0.4]), np.array([0.9, 1.2])]


# ---- values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", POLICIES)
@pytest.mark.parametrize("kinds", NESTS, ids="-".join)
def test_second_derivatives_three_deep_equal_finite_differences(kinds: tuple[str, ...], memory: int | str):
    check_second(program(kinds, (3, 4, 3), memory))


@pytest.mark.parametrize("memory", POLICIES)
def test_second_derivatives_by_a_tensor_that_enters_twice(memory: int | str):
    check_second(shared(memory))


def check_second(graph: Graph) -> None:
    """Every mix against finite differences of the gradient."""
    xs = point()
    ts = directions(xs, 1)
    gradient, _ = gradient_graph(graph)
    expected = difference(lambda moved: list(run_graph(gradient, [*moved, np.ones(())])), xs, ts, [0, 1])
    for mix in MIXES:
        product, arguments, where = second(graph, mix)
        found = run_graph(product, arguments(xs, ts))[where]
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-7 * np.abs(b).max(), err_msg=mix)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("memory", POLICIES)
@pytest.mark.parametrize("kinds", NESTS[::2], ids="-".join)
def test_second_derivatives_three_deep_are_the_same_compiled(kinds: tuple[str, ...], memory: int | str):
    """In one mix each, which take seconds to compile: every nest and every policy is there in every mix."""
    graph = program(kinds, (3, 4, 3), memory)
    xs = point()
    ts = directions(xs, 1)
    mix = MIXES[(NESTS.index(kinds) // 2 + POLICIES.index(memory)) % len(MIXES)]
    product, arguments, where = second(graph, mix)
    given = arguments(xs, ts)
    expected, found = run_graph(product, given)[where], executable(product)(given)[where]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10 * np.abs(b).max(), err_msg=mix)


# ---- cost -----------------------------------------------------------------------------------------------


def cost(graph: Graph, arrays: Arrays) -> int:
    """Element operations of one run."""
    with interpreting(count := Count()):
        replay(graph, [Tensor(a) for a in arrays])
    return count.elements


def costs(kinds: tuple[str, ...], counts: tuple[int, ...], memory: int | str) -> list[int]:
    """Of the program, its gradient, and its second derivative in each mix."""
    graph, xs = program(kinds, counts, memory), point()
    products = [second(graph, mix) for mix in MIXES]
    return [
        cost(graph, xs),
        cost(gradient_graph(graph)[0], [*xs, np.ones(())]),
        *(cost(found, arguments(xs, directions(xs, 1))) for found, arguments, _ in products),
    ]


@pytest.mark.parametrize("varied", (0, 1, 2))
def test_cost_is_linear_in_each_trip_count_at_orders_one_and_two(varied: int):
    kinds = ("while", "scan", "fori")

    def at(n: int) -> list[int]:
        return costs(kinds, tuple(n if k == varied else 3 for k in range(3)), "save")

    for short, middle, long in zip(at(4), at(8), at(16), strict=True):
        assert long - middle == pytest.approx(2 * (middle - short), rel=0.02)


def test_the_second_order_costs_a_fixed_multiple_of_the_program():
    forward, gradient, *products = costs(("while", "scan", "cond"), (8, 4, 1), "save")
    assert gradient <= 7 * forward
    assert max(products) <= 7 * gradient


@pytest.mark.parametrize("kind", ("while", "scan", "fori"))
def test_with_a_memory_policy_cost_stays_a_fixed_multiple(kind: str):
    """Where "recompute" keeps sqrt(2 n) carries no iteration is run more than twice again."""
    few = [np.array(costs((kind,), (n,), "recompute")) for n in (16, 64)]
    all_ = [np.array(costs((kind,), (n,), "save")) for n in (16, 64)]
    for short, long in ((few[0], all_[0]), (few[1], all_[1])):
        assert np.all(short <= 3 * long)
    assert np.all(few[1] <= 4.3 * few[0])
