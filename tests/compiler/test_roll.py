"""Steps that a Python loop wrote out become a loop again: bit for bit the same values, in less code."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

import tracejit as tj
from tracejit.compiler import cache
from tracejit.compiler.graph import roll as module
from tracejit.compiler.graph.roll import roll
from tracejit.compiler.graph.simplify import simplify
from tracejit.core.ir.graph import Graph, verify, walk
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.loop_form import LoopForm
from tracejit.core.tracing.trace import replay

N = 4


def loops(graph: Graph) -> list[LoopForm]:
    return [form for _, node in walk(graph) if (form := LoopForm.of(node)) is not None]


def values(graph: Graph, arrays) -> list[np.ndarray]:
    """The results of a graph by the kernels of its ops, one after the other."""
    return [t.numpy() for t in replay(graph, [Tensor(np.asarray(a)) for a in arrays])]


def agree(f, *arrays) -> Graph:
    """The rolled graph, which gives the same bits as the one written out; compiled, what is eager."""
    written = simplify(tj.function(f).graph(*arrays))
    rolled = roll(written)
    verify(rolled)
    for a, b in zip(values(written, arrays), values(rolled, arrays), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    compiled, eager = tj.function(f)(*arrays), f(*[tj.constant(a) for a in arrays])
    for a, b in zip(flat(compiled), flat(eager), strict=True):
        np.testing.assert_allclose(
            a, b, rtol=1e-9, atol=1e-9 * max(1.0, float(np.max(np.abs(b), initial=0.0)))
        )
    return rolled


def flat(result) -> list[np.ndarray]:
    """The arrays; None, the derivative where there is none, left out."""
    if result is None:
        return []
    return [y for x in result for y in flat(x)] if isinstance(result, (tuple, list)) else [np.asarray(result)]


@pytest.fixture
def eager_to_roll(monkeypatch):
    """Short runs are worth it, and nothing was compiled without."""
    for name, value in (("LONG", 1), ("ROUNDS", 3), ("NODES", 6), ("SHORTER", 0), ("KNOWN_BY", 1)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(cache, "_objects", {})
    with tj.settings(cache=False):
        yield


def gradient(f):
    def both(*xs):
        with tj.GradientTape() as tape:
            tape.watch(xs)
            y = f(*xs)
        return y, tape.gradient(y, xs)

    return both


X, W = np.linspace(0.3, 0.9, N), np.linspace(-0.5, 0.5, N * N).reshape(N, N)


def test_one_carry(eager_to_roll):
    def f(x):
        y = x
        for _ in range(20):
            y = tj.sin(y) * x
        return y

    (loop,) = loops(agree(f, X))
    assert len(loop.init) == 1 and len(loop.consts) == 1 and not loop.xs and loop.length in (19, 20)


def test_its_gradient_reads_the_rows_backwards(eager_to_roll):
    def f(x):
        y = x
        for _ in range(20):
            y = tj.sin(y) * x
        return tj.reduce_sum(y)

    forward, backward = loops(agree(gradient(f), X))
    assert not forward.reverse and backward.reverse and len(backward.xs) == len(forward.ys) == 2


def test_two_steps_back(eager_to_roll):
    def f(x):
        a, b = x, x * 0.5
        for _ in range(20):
            a, b = b, tj.sin(a + b) * 0.9
        return a, b

    (loop,) = loops(agree(f, X))
    assert len(loop.init) == 2


def test_three_steps_back_take_more_steps_for_a_round(eager_to_roll):
    def f(x):
        seen = [x, x * 0.5, x * 0.25]
        for _ in range(40):
            seen.append(tj.sin(seen[-1]) * seen[-3])
        return seen[-1]

    found = loops(agree(f, X))
    assert any(len(loop.body.nodes) >= 2 * 3 for loop in found)


def test_a_value_for_each_step(eager_to_roll):
    def f(x, rows):
        parts = [rows[k] for k in (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8)]
        y = x
        for part in parts:
            y = tj.tanh(y + part) * 0.5
        return y

    (loop,) = loops(agree(f, X, np.linspace(-1.0, 1.0, 10 * N).reshape(10, N)))
    assert len(loop.xs) == 1


def test_what_is_read_later_is_stacked(eager_to_roll):
    def f(x):
        y, seen = x, []
        for _ in range(12):
            y = tj.cos(y) * 0.7 + 0.1
            seen.append(y)
        return seen[3] + seen[0] * seen[11], seen[5], tj.stack(seen[::-1])

    agree(f, X)


def test_loops_in_loops(eager_to_roll):
    def f(x, w):
        for _ in range(5):
            p = x
            for _ in range(6):
                p = tj.tanh(p * 0.5 + x) - 0.1
            x = p + tj.reduce_sum(w * p, axis=1)
        return x

    assert len(loops(agree(f, X, W))) >= 1
    agree(gradient(lambda x, w: tj.reduce_sum(f(x, w))), X, W)


def test_outer_loops_read_the_stacks_of_inner_ones(eager_to_roll, monkeypatch):
    """Whichever is longer, the inner loop is found first: nothing is taken apart to be put together again."""
    monkeypatch.setattr(module, "PERIODS", (16, 1 << 30))

    def f(x, w):
        for _ in range(8):
            p = x
            for _ in range(9):
                p = tj.tanh(p * 0.5 + x) - 0.1 * p
            x = p + tj.reduce_sum(w * p, axis=1)
        return tj.reduce_sum(x)

    rolled = agree(gradient(f), X, W)
    inner = [sum(LoopForm.of(n) is not None for n in form.body.nodes) for form in loops(rolled)]
    assert inner.count(1) == 2 and max(inner) == 1
    assert sum(n.op.name == "concat" for _, n in walk(rolled)) == 0


@pytest.mark.parametrize("last", [lambda y: y, lambda y: tj.exp(y), lambda y: y[1:]])
def test_an_uneven_end(eager_to_roll, last):
    def f(x):
        y = x * 2.0
        for k in range(13):
            y = tj.sin(y) + (x if k < 11 else 1.0)
        return last(y)

    agree(f, X)
    agree(gradient(lambda x: tj.reduce_sum(f(x))), X)


def test_what_differs_from_step_to_step_stays(eager_to_roll):
    def f(x):
        for k in range(12):
            x = tj.concat([x[k % N :], x[: k % N]], axis=0) * 0.9
        return x

    assert not loops(agree(f, X))


def test_what_prints_or_may_fail_stays(eager_to_roll):
    def f(x):
        for _ in range(12):
            x = tj.sin(x) * 0.9
            tj.debugging.assert_less(x, 2.0)
        return x

    assert not loops(agree(f, X))


def test_parts_of_inputs_that_are_read_first_in_some_round_do_not_interrupt(eager_to_roll):
    """A hidden Markov model: a column for each thing seen, the same ones again and again."""
    seen = [0, 0, 1, 0, 2, 1, 3, 0, 2, 3, 1, 1]

    def f(x, w):
        for y in seen:
            x = tj.reduce_sum(w * x, axis=1) + w[:, y]
        return x

    assert [form.op.name for form in loops(agree(f, X, W))] == ["loop"]
    assert loops(agree(gradient(f), X, W))


def test_what_may_fail_at_the_same_line_is_rolled(eager_to_roll):
    def f(x):
        for _ in range(12):
            k = tj.cast(x * 3.0, "int64")
            x = x[k] * 0.9 + 0.1
        return x

    assert loops(agree(f, X))


def test_it_fails_as_written_out(eager_to_roll, monkeypatch):
    def f(x, limit):
        for _ in range(12):
            x = x[tj.cast(x, "int64")] + limit
        return x

    messages = []
    for long in (1, 10**6):
        monkeypatch.setattr(module, "LONG", long)
        with pytest.raises(IndexError) as caught:
            tj.function(f)(X, 0.5)
        cache._objects.clear()
        messages.append(str(caught.value))
        assert len(loops(roll(simplify(tj.function(f).graph(X, 0.5))))) == (long == 1)
    assert messages[0] == messages[1]
    assert "test_roll.py" in messages[0]


def test_not_a_number_and_signed_zeros(eager_to_roll):
    def f(x):
        y = x
        for _ in range(12):
            y = tj.maximum(y * -0.5, x) - x
        return y

    agree(f, np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -1.0]))


def test_short_programs_stay_as_they_are():
    def f(x):
        for _ in range(100):
            x = tj.sin(x) * 0.9
        return x

    graph = simplify(tj.function(f).graph(X))
    assert roll(graph) is graph


def test_long_ones_are_short_then():
    def f(x):
        y = x
        for _ in range(module.LONG):
            y = tj.sin(y) * x
        return tj.reduce_sum(y)

    graph = simplify(tj.function(gradient(f)).graph(X))
    rolled = roll(graph)
    assert len(graph.nodes) > 6 * module.LONG and len(list(walk(rolled))) < 60
    for a, b in zip(values(graph, [X]), values(rolled, [X]), strict=True):
        assert a.tobytes() == b.tobytes()


def test_the_same_op_in_many_places_of_a_round():
    """More of them than are tried as the beginning of the next round."""

    @tj.function
    def inner(x):
        for _ in range(2 * module.TRIED):
            x = x - tj.tanh(tj.sin(x) * 0.3 + x) * 0.1
        return x

    def f(x):
        for _ in range(40):
            x = inner(x) * 0.9
        return x

    graph = simplify(tj.function(f).graph(X))
    rolled = roll(graph)
    verify(rolled)
    assert len(graph.nodes) > module.LONG and len(list(walk(rolled))) * 10 < len(graph.nodes)
    for a, b in zip(values(graph, [X]), values(rolled, [X]), strict=True):
        assert a.tobytes() == b.tobytes()


def test_the_work_is_linear_where_nothing_can_be_rolled():
    def calls(length):
        """How many functions are called."""

        def f(x):
            seen = [x * (0.01 * k + 0.1) for k in range(60)]
            for _ in range(length):
                seen.append(tj.sin(seen[-1]) * seen[-60])
            return seen[-1]

        graph = simplify(tj.function(f).graph(X))
        count = itertools.count()
        sys.setprofile(lambda *_: next(count) and None)
        try:
            assert roll(graph) is graph
        finally:
            sys.setprofile(None)
        return next(count)

    assert calls(2000) < 2.1 * calls(1000)


# ---- random programs ------------------------------------------------------------------------------------


def program(seed: int):
    """A random Python loop over random steps, and what is made of what it has seen."""
    draw = np.random.default_rng(seed)
    names, size = draw.integers(2, 5), int(draw.integers(3, 12))
    rounds, reach = int(draw.integers(4, 15)), int(draw.integers(1, 4))
    steps = [(int(draw.integers(9)), *map(int, draw.integers(0, names, 3))) for _ in range(size)]
    special = int(
        draw.integers(0, 3 * rounds)
    )  # a round that does something else, in a third of the programs
    order = [int(k) for k in draw.integers(0, 3, rounds)]
    backwards = bool(draw.integers(2))

    def step(kind, a, b, extra, w):
        return (
            lambda: tj.sin(a + b),
            lambda: a * b * 0.5 + extra,
            lambda: tj.tanh(a) - 0.3 * b,
            lambda: tj.reduce_sum(w * a, axis=1) * 0.2,
            lambda: tj.concat([a[1:], b[:1]], axis=0),
            lambda: tj.maximum(a, b * 0.9),
            lambda: tj.reshape(tj.reshape(a, (N, 1)) * w, (N, N))[0] + b,
            lambda: tj.where(a > b, a * 0.5, extra),
            lambda: tj.reshape(w @ tj.reshape(a, (N, 1)), (N,)) * 0.3,
        )[kind]()

    def f(x, w):
        state = [x * (0.5 + 0.1 * k) for k in range(names)]
        extras = [x * 0.1, tj.cos(x), x - 1.0]
        seen = []
        for k in range(rounds):
            for kind, a, b, target in steps:
                state[target] = step(kind, state[a], state[b], extras[order[k]], w)
            if k == special:
                state[0] = state[0] * 1.5
            seen.append(state[k % reach % names])
        if backwards:
            seen = seen[::-1]
        total = seen[0]
        for y in seen[1:]:
            total = total * 0.5 + y
        return tj.reduce_sum(total) + tj.reduce_sum(state[0] * seen[len(seen) // 2])

    return f


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(24))
def test_random_programs(eager_to_roll, seed):
    f = program(seed)
    agree(f, X, W)
    agree(gradient(f), X, W)
