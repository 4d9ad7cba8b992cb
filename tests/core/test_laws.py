"""The laws: a gradient costs no more than a small multiple of its function, counted in element operations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tracejit  # noqa: F401  completes Tensor
from checks.cases import Case, all_cases, resized
from checks.derivatives import Arrays, directions, pull_tensors, values
from checks.modes import OF_PARTS
from checks.regions import cond, loop
from tracejit.core.op import ops
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.dispatch import interpreting
from tracejit.core.tracing.interpreters import Count

#: How many times its function a gradient may cost, beside running the function itself.
LIMIT = 6


class CountParts(Count):
    """Counts what an op does that others do together as they do it."""

    def run(self, op, inputs, attrs, location):  # type: ignore[no-untyped-def]
        if op.name in OF_PARTS:
            return (op.lower.rule(*inputs, **attrs),)
        return super().run(op, inputs, attrs, location)


def cost(f: Callable, xs: Arrays) -> int:
    """Element operations of one run of ``f(*tensors)``."""
    with interpreting(count := CountParts()):
        f(*map(Tensor, xs))
    return count.elements


def pulled(f: Callable, gs: Arrays, active: list[int]) -> Callable:
    """``xs -> cotangents of the active inputs``, as one function to count or to differentiate again."""

    def run(*xs: Tensor) -> list[Tensor]:
        found = pull_tensors(f, xs, [Tensor(g) for g in gs], active)
        return [g for g in found if g is not None]

    return run


def three_costs(f: Callable, xs: Arrays, active: list[int]) -> tuple[int, int, int]:
    """Of the function, of its gradient, and of a product with its second derivative."""
    gradient = pulled(f, directions(values(f, xs), 1), active)
    second = pulled(gradient, directions(values(gradient, xs), 2), active)
    return cost(f, xs), cost(gradient, xs), cost(second, xs)


# ---- every op -------------------------------------------------------------------------------------------


def _large_cases() -> list[Case]:
    """Each case with a size so large that sizes of 1 beside it do not count."""
    return [(list(resized(c, 50)) or [c])[-1] for c in all_cases(("float64",)) if c.active]


@pytest.mark.parametrize("case", _large_cases(), ids=str)
def test_a_gradient_is_cheap(case: Case):
    xs = case.arguments()
    forward, gradient, second = three_costs(case, xs, case.active)
    touched = max(a.size for a in (*xs, *values(case, xs)))  # a view costs nothing, but its gradient writes
    forward = max(forward, touched)
    assert gradient - forward <= LIMIT * forward
    assert second - gradient <= LIMIT * max(gradient, touched)


# ---- loops ----------------------------------------------------------------------------------------------

LOOPS: dict[str, Callable[[int], tuple[Callable, Arrays]]] = {}


def of_length(make: Callable[[int], tuple[Callable, Arrays]]) -> Callable:
    LOOPS[make.__name__] = make
    return make


@of_length
def plain(n: int):
    return lambda x, a: loop(lambda i, x, a: ops.sin(x) * a, [x], captured=[a], length=n), [
        np.ones(4),
        np.ones(()),
    ]


@of_length
def counted(n: int):
    return lambda x: loop(lambda i, x: (x * 0.9, x * x), [x], count=n), [np.ones(4)]


@of_length
def while_it_is_small(n: int):
    def f(x):
        found = loop(lambda i, x, k: (x * 0.99, k + 1.0), [x, 0.0], cond=lambda x, k: ops.less(k, float(n)))
        return found[:1]

    return f, [np.ones(4)]


@of_length
def over_rows(n: int):
    return lambda s, xs: loop(
        lambda i, s, r: (s * 0.5 + ops.reduce_sum(r * r), r * s), [s], [xs], length=n
    ), [np.ones(()), np.ones((n, 3))]


@of_length
def reading_a_captured_array_by_position(n: int):
    def body(i, s, x):
        at = ops.reshape(i, shape=(1,))
        return s * ops.reshape(ops.dynamic_slice(x, at, sizes=(1,)), shape=()) + 0.2

    return lambda s, x: loop(body, [s], captured=[x], length=n), [np.ones(()), np.ones(n)]


@of_length
def writing_a_carried_array_by_position(n: int):
    def body(i, x):
        at = ops.reshape(i, shape=(1,))
        return ops.dynamic_update_slice(x, ops.dynamic_slice(x, at, sizes=(1,)) * 2.0, at)

    return lambda x: loop(body, [x], length=n), [np.ones(n)]


@of_length
def nested(n: int):
    def outer(i, x):
        return loop(lambda j, y: ops.sin(y), [x], length=n)[0] * 0.5

    return lambda x: loop(outer, [x], length=n), [np.ones(2)]


@of_length
def branching(n: int):
    def body(i, x):
        even = ops.equal(ops.mod(i, np.int64(2)), np.int64(0))
        return cond(even, lambda x: x * x, lambda x: ops.sin(x), x)[0]

    return lambda x: loop(body, [x], length=n), [np.full(3, 0.5)]


def listed(f: Callable) -> Callable:
    return lambda *xs: list(f(*xs))


@pytest.mark.parametrize("name", list(LOOPS))
def test_a_gradient_through_a_loop_costs_the_same_multiple_for_any_length(name: str):
    found = []
    for n in (8, 16, 32):
        f, xs = LOOPS[name](n)
        forward, gradient, second = three_costs(listed(f), xs, list(range(len(xs))))
        found.append((gradient / forward, second / gradient))
    for ratios in zip(*found, strict=True):
        assert max(ratios) <= 1 + LIMIT
        assert ratios[2] <= 1.2 * ratios[0], "the multiple grows with the length"


@pytest.mark.parametrize("name", list(LOOPS))
def test_cost_is_linear_in_the_length(name: str):
    if name == "nested":
        return
    costs = []
    for n in (16, 32, 64):
        f, xs = LOOPS[name](n)
        costs.append(three_costs(listed(f), xs, list(range(len(xs)))))
    for short, middle, long in zip(*costs, strict=True):
        assert long - middle == pytest.approx(2 * (middle - short), rel=0.1)


# ---- indexed reads --------------------------------------------------------------------------------------

READS = {
    "slices": lambda x, k: ops.slice(x, slices=((k, 1, 1),)),
    "gathers": lambda x, k: ops.gather(x, np.array([k]), axis=0),
    "windows": lambda x, k: ops.dynamic_slice(x, np.array([k]), sizes=(1,)),
}


@pytest.mark.parametrize("kind", list(READS))
def test_n_indexed_reads_cost_n(kind: str):
    def f(x: Tensor) -> list[Tensor]:
        total = None
        for k in range(x.shape[0]):
            part = READS[kind](x, k)
            total = part if total is None else total * part
        return [total]

    costs = [cost(pulled(f, [np.ones(1)], [0]), [np.ones(n)]) for n in (50, 100, 200)]
    assert costs[2] - costs[1] == pytest.approx(2 * (costs[1] - costs[0]), rel=0.05)
    assert costs[2] < 200 * 10


def test_the_count_of_a_matrix_product_is_its_products():
    assert cost(lambda a, b: ops.matmul(a, b), [np.ones((3, 4)), np.ones((4, 5))]) == 60


def test_an_elementary_function_counts_more_than_a_product():
    assert cost(ops.sin, [np.ones(3)]) == 8 * cost(lambda x: ops.multiply(x, x), [np.ones(3)])
