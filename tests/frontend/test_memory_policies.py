"""Memory policies: gradients are those of "save", no more is kept than allowed, and the report says what happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from tracejit.compiler.pipeline import lower_graph
from tracejit.core.autodiff.backprop import gradient_graph
from tracejit.core.autodiff.pushforward import jvp_graph
from tracejit.core.ir.graph import walk
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.dispatch import interpreting
from tracejit.core.tracing.interpreters import Count
from tracejit.core.tracing.trace import replay
from tracejit.ops.control.checkpointing import loop_gradient as checkpoint
from tracejit.ops.control.checkpointing.reversal import REPEATS, BudgetError
from tracejit.ops.control.checkpointing.schedule import gap_graph, runs_again, snapshots_for
from tracejit.ops.control.regions import run_graph

POLICIES: tuple[Any, ...] = ("recompute", 150, "1MB")

# ---- programs: (x, w) -> number, with x a vector of 3 ---------------------------------------------------

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {}


def program(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    PROGRAMS[f.__name__] = f
    return f


@program
def until_it_is_large(x, w):
    while tf.reduce_sum(x * x) < 20.0:
        x = x + tf.sin(x) * w * 0.1
    return tf.reduce_sum(x)


@program
def never(x, w):
    while tf.reduce_sum(x * x) < 0.0:
        x = x * w
    return tf.reduce_sum(x * w)


@program
def once(x, w):
    for _ in range(1):
        x = tf.fori_loop(0, 1, lambda i, x: tf.sin(x) * w, x)
    return tf.reduce_sum(x)


@program
def twice(x, w):
    return tf.reduce_sum(tf.fori_loop(0, 2, lambda i, x: tf.sin(x) * w, x))


@program
def as_often_as_a_tensor_says(x, w):
    n = tf.cast(tf.reduce_sum(w) * 0.0 + 9.0, "int64")
    for i in range(n):
        x = tf.sin(x * w) + 0.01 * tf.cast(i, "float64")
    return tf.reduce_sum(x * x)


@program
def carrying_an_integer(x, w):
    k = tf.constant(0, dtype="int64")
    while k < 11:
        x = tf.cos(x) * tf.cast(k, "float64") * w * 0.1 + x
        k = k + 1
    return tf.reduce_sum(x)


@program
def over_rows(x, w):
    rows = tf.stack([w * float(k) * 0.05 for k in range(13)])
    x, ys = tf.scan(lambda c, r: (tf.sin(c) + r * c, c * r), x, rows)
    return tf.reduce_sum(x) + tf.reduce_sum(ys * ys)


@program
def over_rows_backwards(x, w):
    rows = tf.stack([w * float(k) * 0.05 for k in range(13)])
    x, ys = tf.scan(lambda c, r: (tf.sin(c) + r * c, c * r), x, rows, reverse=True)
    return tf.reduce_sum(x) + tf.reduce_sum(ys * ys)


@program
def rows_of_a_while(x, w):
    states = []
    while tf.reduce_sum(x * x) < 20.0:
        x = x + tf.sin(x) * w * 0.2
        states.append(x * w)
    return tf.reduce_sum(tf.stack(states) ** 2)


@program
def branching(x, w):
    for i in range(tf.constant(12)):
        if tf.equal(i % 3, 0):
            x = x * w
        else:
            x = tf.sin(x) + w
    return tf.reduce_sum(x)


@program
def nested(x, w):
    for _ in range(tf.constant(7)):
        y = x
        while tf.reduce_sum(y * y) < 4.0:
            y = y * 1.2 + 0.1 * w * tf.sin(y)
        x = tf.sin(y) + w * x * 0.1
    return tf.reduce_sum(x)


@program
def reading_by_position(x, w):
    table = tf.stack([x * float(k) for k in range(5)])
    y = x
    for i in range(tf.constant(20)):
        y = tf.sin(y) * w + table[i % 5] * 0.1
    return tf.reduce_sum(y)


@program
def linear(x, w):
    """The gradient reads no carry at all."""
    return tf.reduce_sum(tf.fori_loop(0, 20, lambda i, x: x * 0.9 + 1.0, x * w))


@program
def complex_numbers(x, w):
    z = tf.complex(x, w)
    for _ in range(tf.constant(15)):
        z = z * z * (0.5 + 0.1j) + tf.complex(w, x) * 0.2
    return tf.reduce_sum(tf.real(z * tf.conj(z)))


@program
def large_carries(x, w):
    big = tf.broadcast_to(x, (40, 3)) * 0.1
    small = x
    for _ in range(tf.constant(25)):
        big = tf.sin(big) * w + small
        small = small * 0.5 + tf.reduce_sum(big, axis=0) * 0.01
    return tf.reduce_sum(big * big)


X, W = np.array([0.3, 0.5, -0.4]), np.array([1.1, 0.8, 0.9])


def compiled(f: Callable, memory: Any) -> Any:
    return tf.function(lambda x, w: tf.value_and_grad(f, argnums=(0, 1))(x, w), memory=memory)


def arrays(result: Any) -> list[np.ndarray]:
    value, grads = result
    return [np.asarray(value), *(np.asarray(g) for g in grads)]


def budgets(name: str) -> tuple[Any, ...]:
    return ("recompute", 2500, 9000) if name == "large_carries" else POLICIES


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_save(name: str):
    expected = arrays(compiled(PROGRAMS[name], None)(X, W))
    assert all(np.all(np.isfinite(a)) for a in expected)
    for memory in budgets(name):
        found = arrays(compiled(PROGRAMS[name], memory)(X, W))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13 * np.abs(b).max(), err_msg=str(memory))


def uncompiled(f: Callable, memory: Any) -> tuple[np.ndarray, ...]:
    """Value and gradients by kernels, which round the same way whatever the policy."""
    return run_graph(compiled(f, memory).graph(X, W), [X, W])


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_give_the_same_bits(name: str):
    expected = uncompiled(PROGRAMS[name], "save")
    for memory in budgets(name):
        for a, b in zip(uncompiled(PROGRAMS[name], memory), expected, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=str(memory))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_policy_is_what_the_gradient_is_made_with(name: str):
    """Loops that run are differentiated by checkpointing, none keeps all its carries."""
    nodes = [n for _, n in walk(compiled(PROGRAMS[name], 2500).graph(X, W))]
    assert any(n.op.name == "loop_gradient" for n in nodes)
    assert not any(n.attrs.get("kept") for n in nodes)


def test_variables_assigned_in_loops():
    expected = []
    for memory in ("save", 100, "recompute"):
        v, total = tf.Variable(np.float64(0.7)), tf.Variable(np.float64(0.0))

        @tf.function(memory=memory)
        def f(x, v=v, total=total):
            with tf.GradientTape() as tape:
                tape.watch(x)
                for _ in range(tf.constant(9)):
                    x = tf.sin(x) * v
                    total.assign_add(x)
                y = x * total
            return tape.gradient(y, [v, x])[0], total.read_value()

        expected.append([float(a) for a in f(np.float64(0.4))])
    assert expected[0][0] != 0.0
    np.testing.assert_allclose(expected[1:], [expected[0]] * 2, rtol=1e-14)


def test_one_trace_for_any_number_of_rows():
    @tf.function(input_signature=[tf.TensorSpec([None, 2], "float64")], memory=200)
    def f(rows):
        def run(rows):
            return tf.reduce_sum(tf.scan(lambda c, r: (tf.sin(c) * r + 0.1, c), rows[0] * 0.5, rows)[0])

        return tf.grad(run)(rows)

    @tf.function
    def plain(rows):
        def run(rows):
            return tf.reduce_sum(tf.scan(lambda c, r: (tf.sin(c) * r + 0.1, c), rows[0] * 0.5, rows)[0])

        return tf.grad(run)(rows)

    for n in (1, 2, 3, 50):
        rows = np.random.default_rng(n).normal(size=(n, 2))
        np.testing.assert_allclose(np.asarray(f(rows)), np.asarray(plain(rows)), rtol=1e-13, atol=1e-15)
    assert f.experimental_get_tracing_count() == 1


def test_carries_of_unknown_size():
    @tf.function(input_signature=[tf.TensorSpec([None], "float64")], memory=400)
    def f(x):
        return tf.grad(lambda x: tf.reduce_sum(tf.fori_loop(0, 30, lambda i, y: tf.sin(y) * x, x)))(x)

    @tf.function
    def plain(x):
        return tf.grad(lambda x: tf.reduce_sum(tf.fori_loop(0, 30, lambda i, y: tf.sin(y) * x, x)))(x)

    for n in (1, 3, 8):
        x = np.linspace(0.5, 1.5, n)
        np.testing.assert_allclose(np.asarray(f(x)), np.asarray(plain(x)), rtol=1e-13)
        (loop,) = f.memory_report(x)
        assert loop.bytes <= 400 and loop.room == 400 // (8 * n + 8)


# ---- where a policy comes from --------------------------------------------------------------------------


def policies(f: Any, *args: Any) -> list[Any]:
    return [n.attrs.get("memory", "save") for _, n in walk(f.graph(*args)) if n.op.name == "loop"]


def test_a_loop_takes_its_own_policy_else_that_of_the_innermost_function():
    @tf.function(memory="recompute")
    def inner(x):
        return tf.fori_loop(0, 5, lambda i, y: tf.sin(y), x)

    @tf.function
    def says_nothing(x):
        return tf.fori_loop(0, 6, lambda i, y: tf.sin(y), x)

    @tf.function(memory="2 kB")
    def outer(x):
        x = tf.fori_loop(0, 7, lambda i, y: tf.sin(y), x)
        x = tf.fori_loop(0, 7, lambda i, y: tf.sin(y), x, memory="save")
        x, _ = tf.scan(lambda c, r: (c * r, None), x, tf.ones(3), memory=64)
        (x,) = tf.while_loop(lambda y: y < 3.0, lambda y: (y * 2.0,), (x,), memory="recompute")
        return says_nothing(inner(x))

    assert sorted(map(str, policies(outer, 0.5))) == ["2000", "2000", "64", "recompute", "recompute", "save"]
    assert policies(says_nothing, 0.5) == ["save"]


def test_methods_have_the_policy_of_their_function():
    class Model:
        @tf.function(memory="recompute")
        def run(self, x):
            return tf.fori_loop(0, 5, lambda i, y: tf.sin(y), x)

    assert policies(Model().run, 0.5) == ["recompute"]


@pytest.mark.parametrize("memory", ("everything", "50", "MB", "0MB", "-3MB", 0, -1))
def test_what_is_no_policy_is_refused(memory: Any):
    for use in (lambda: tf.function(lambda x: x, memory=memory), lambda: _loop_with(memory)):
        with pytest.raises(ValueError, match=r"memory is .*recompute.*50MB"):
            use()


@pytest.mark.parametrize("memory", (1.5, True, ["save"]))
def test_what_has_the_wrong_type_is_refused(memory: Any):
    with pytest.raises(TypeError, match=r"memory is .*recompute.*50MB"):
        tf.function(lambda x: x, memory=memory)


def _loop_with(memory: Any) -> Any:
    return tf.fori_loop(0, 3, lambda i, x: x * 2.0, 1.0, memory=memory)


def test_a_budget_that_holds_too_little_says_what_is_needed():
    f = compiled(lambda x, w: tf.reduce_sum(tf.fori_loop(0, 9, lambda i, y: tf.sin(y) * w, x)), 63)
    with pytest.raises(
        BudgetError, match=r"63 bytes is too small.*takes 32 bytes.*allow\s+64 bytes"
    ) as error:
        f(X, W)
    assert "test_memory_policies.py" in str(error.value)


# ---- how much is kept, how much is run again ------------------------------------------------------------


def test_the_schedule_is_optimal():
    """Against all schedules there are, by the recursion that defines the least work."""
    least: dict[tuple[int, int], int] = {}
    for s in range(1, 6):
        for n in range(1, 40):
            if n == 1 or s == 1:
                least[n, s] = n * (n - 1) // 2
                continue
            least[n, s] = min(m + least[n - m, s - 1] + least[m, s] for m in range(1, n))
            (m,) = map(int, run_graph(gap_graph(), [np.asarray(n), np.asarray(s)]))
            assert m + least[n - m, s - 1] + least[m, s] == least[n, s]
    assert all(runs_again(n, s) == work for (n, s), work in least.items())


@pytest.mark.parametrize("n", (1, 2, 10, 1000, 12345))
def test_recompute_keeps_about_the_square_root_of_twice_the_iterations(n: int):
    assert snapshots_for(n, 2) <= np.sqrt(2 * n) + 1
    assert runs_again(n, snapshots_for(n, 2)) <= 2 * n


def evaluations(f: Any, *args: np.ndarray) -> int:
    with interpreting(count := Count()):
        replay(f.graph(*args), [Tensor(a) for a in args])
    return count.calls["tanh"]


@pytest.mark.parametrize("memory", (32, 48, 80, 160, 10_000, "recompute"))
@pytest.mark.parametrize("n", (0, 1, 2, 17, 200))
def test_the_reported_factor_is_the_counted_one(n: int, memory: Any, monkeypatch: pytest.MonkeyPatch):
    held = []

    class Watched(checkpoint._Snapshots):
        def at(self, step: int) -> Any:
            found = super().at(step)
            held.append(len(self.held) + 1)
            return found

    monkeypatch.setattr(checkpoint, "_Snapshots", Watched)

    def make(memory: Any) -> Any:
        def run(x: Any, n: Any) -> Any:
            for _ in range(n):
                x = tf.tanh(x) * 0.9 + x * x * 0.05
            return x

        return tf.function(lambda x, n: tf.grad(run)(x, n), memory=memory)

    args = np.float64(0.7), np.int64(n)
    f = make(memory)
    (loop,) = f.memory_report(*args)
    again = evaluations(f, *args) - evaluations(make("save"), *args)
    assert loop.iterations == n and loop.bytes_per_iteration == 16
    assert loop.recompute_factor == pytest.approx(again / max(n, 1))
    assert max(held, default=0) <= loop.room and (memory == "recompute" or loop.bytes <= memory)
    assert "recompute factor" in str(loop) and "test_memory_policies.py" in str(loop)


def test_the_compiled_program_has_room_for_the_budget_and_no_more():
    def run(x, limit):
        while tf.reduce_sum(x) < limit:
            x = x + tf.sqrt(x)
        return tf.reduce_sum(x)

    f = tf.function(lambda x, limit: tf.grad(run)(x, limit), memory=100_000)
    program = lower_graph(f.graph(np.ones(8), np.float64(1e6)))
    kept = [b for b in program.buffers if b.kind in ("temp", "heap") and b.size > 100]
    assert 99_000 < sum(b.size * b.dtype.itemsize for b in kept) <= 100_000


def test_the_report_of_a_function_without_gradient_is_about_its_gradient():
    f = tf.function(lambda x: tf.fori_loop(0, 1000, lambda i, y: tf.sin(y), x), memory=160)
    (loop,) = f.memory_report(np.float64(1.0))
    assert (loop.policy, loop.kept, loop.room) == (160, 10, 10)
    assert loop.recompute_factor == runs_again(1000, 9) / 1000
    (saved,) = tf.function(f.python_function).memory_report(np.float64(1.0))
    assert (saved.policy, saved.kept, saved.bytes, saved.recompute_factor) == ("save", 1000, 8000, 0.0)
    assert tf.function(lambda x: x * 2.0).memory_report(1.0) == []


def test_the_report_says_where_a_count_is_known_only_inside():
    reports = compiled(PROGRAMS["nested"], 400).memory_report(X, W)
    assert sorted(str(r.iterations) for r in reports) == ["7", "None"]
    assert "unknown here" in "".join(map(str, reports))


def test_under_a_tape_outside_the_policy_holds():
    def run(x, n):
        for _ in range(n):
            x = tf.tanh(x) * 0.9 + x * x * 0.05
        return x

    x, n, found = tf.constant(np.float64(0.7)), np.int64(100), []
    for memory in ("save", 64):
        f = tf.function(run, memory=memory)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x, n)
            g = inner.gradient(y, x)
        found.append([float(g), float(tape.gradient(g, x))])
        backward = gradient_graph(f.graph(x, n))[0]
        assert any(v.op.name == "loop_gradient" for _, v in walk(backward)) == (memory == 64)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


@pytest.mark.parametrize("name", ("until_it_is_large", "over_rows", "nested"))
def test_second_derivatives_keep_to_the_policy(name: str):
    """In every mix of modes no loop keeps all its carries, with tangents or without."""
    graph = tf.function(PROGRAMS[name], memory=1800).graph(X, W)
    gradient = gradient_graph(graph)[0]
    mixes = (
        gradient_graph(gradient, (True, True, False))[0],
        jvp_graph(gradient, (True, True, False))[0],
        gradient_graph(jvp_graph(graph, (True, True))[0], None, (False, True))[0],
        gradient_graph(gradient_graph(gradient, (True, True, False))[0], (True, True, *(False,) * 3))[0],
    )
    for found in mixes:
        nodes = [n for _, n in walk(found)]
        assert any(n.op.name == "loop_gradient" for n in nodes)
        assert not any(n.attrs.get("kept") for n in nodes)


def test_third_derivatives():
    """Of a loop that one tensor enters twice: as what goes round, and as what the body uses."""

    def run(x: Any) -> Any:
        return tf.fori_loop(0, 9, lambda i, y: tf.sin(y) * 1.1 + x * y * 0.2, x)

    found = []
    for memory in ("save", 200, "recompute"):
        f, now = tf.function(run, memory=memory), []
        for _ in range(3):
            f = tf.grad(f)
            now.append(float(tf.function(f)(np.float64(0.6))))
        found.append(now)
    assert all(found[0])
    np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-11)
    step = 1e-4
    twice = [float(tf.grad(tf.grad(tf.function(run)))(np.float64(0.6 + h))) for h in (step, -step)]
    assert found[0][2] == pytest.approx((twice[0] - twice[1]) / (2 * step), rel=1e-5)


def test_counted_evaluations_grow_as_the_iterations_do():
    """With room for the square root of twice the iterations, none is run more than twice again."""

    def make(n: int) -> Any:
        run = lambda x: tf.fori_loop(0, n, lambda i, y: tf.tanh(y) * 0.9 + y * y * 0.05, x)
        return tf.function(tf.grad(run), memory="recompute")

    for n in (50, 200, 800):
        assert evaluations(make(n), np.float64(0.7)) <= (2 + REPEATS) * n
