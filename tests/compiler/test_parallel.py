"""Nests in parts: the same numbers, bit by bit, in whatever parts and in whatever order; and which nests stay whole."""

from __future__ import annotations

import _thread
import re
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import tracejit as tf
from checks.clock import Stopwatch
from compiler import parts
from compiler.native import (
    F4,
    F8,
    HOST,
    I8,
    M,
    N,
    Native,
    at,
    given,
    op,
    result,
    same,
    softmax_program,
    unary_program,
)
from compiler.test_emit_random import AVX2, Writer
from tracejit.compiler import cache
from tracejit.compiler.codegen import poll
from tracejit.compiler.codegen.nests import folding
from tracejit.compiler.loopir import interpreter as loopinterp
from tracejit.compiler.loopir.ir import Combine, Fail, Load, Nest, Program, Store, While, walk
from tracejit.compiler.loopir.operands import Acc, Axis, Buffer, Const, Index
from tracejit.compiler.loopir.passes import parallelize
from tracejit.compiler.loopir.passes.schedule import Target, schedule
from tracejit.runtime.threads import state

THREADS = replace(HOST, threads=True)


@pytest.fixture
def all_nests(monkeypatch: pytest.MonkeyPatch) -> None:
    """No nest, and no block of one, is too small."""
    monkeypatch.setattr(parallelize, "LEAST", 0)
    monkeypatch.setattr(folding, "BLOCK_COST", 0)


def fresh(program: Program) -> Program:
    for s in walk(program.body):
        if isinstance(s, Nest):
            s.schedule = None
    return program


def marks(program: Program, target: Target = HOST) -> list[str]:
    """How each outermost nest may be shared; an empty text for one that may not."""
    marked = [s.schedule.parallel for s in schedule(fresh(program), target).body if isinstance(s, Nest)]
    return ["" if parallel is None else str(parallel) for parallel in marked]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("target", [HOST, AVX2], ids=["host", "avx2"])
def test_random_nests_in_parts(seed: int, target: Target, all_nests: None) -> None:
    writer = Writer(seed)
    program = writer.program()
    with np.errstate(all="ignore"):
        expected, _ = loopinterp.run(program, writer.inputs, writer.sizes)
    native = Native(program, replace(target, threads=True), opt=0)
    status, found, _ = native(writer.inputs, writer.sizes)
    assert status == 0
    for mine, theirs in zip(found, expected, strict=True):
        same(mine + 0, theirs + 0)


def test_most_random_nests_are_shared(all_nests: None) -> None:
    shared = [bool(marks(Writer(seed).program())[0]) for seed in range(60)]
    assert sum(shared) > 30


@pytest.mark.parametrize("program", [
    unary_program("exp", 1001, ()), unary_program("exp", N, ("n",)), unary_program("tanh", N, ("n",), F4),
    softmax_program(37, 1001, ()), softmax_program(N, M, ("n", "m"), F4),
], ids=lambda p: p.name)  # fmt: skip
def test_parts_are_bitwise_what_the_whole_is(program: Program, all_nests: None) -> None:
    sizes = {"n": 37 if "m" in program.atoms else 1001, "m": 123}
    count = loopinterp.evaluate(program.buffers[0].size, sizes)
    x = np.random.default_rng(0).normal(size=count).astype(program.buffers[0].dtype)
    (whole,) = Native(fresh(program))([x], sizes)[1]
    native = Native(fresh(program), THREADS)
    assert native.emitted.functions == (state.NAME,)
    (found,) = native([x], sizes)[1]
    assert found.tobytes() == whole.tobytes()


# ---- folding everything -----------------------------------------------------------------------------------


def folded(
    rule: str, size: object, inner: object = None, dtype: np.dtype = F8, stores: bool = False
) -> Program:
    """A nest that folds sin(x) or x over one loop or two, and may store what it folds."""
    total = size if inner is None else size * inner
    x, y, z = given("x", dtype, total, 0), result("y", dtype, 2), result("z", dtype, total, 1)
    axes = [Axis("i", size, "reduce"), *([] if inner is None else [Axis("j", inner, "reduce")])]
    index = at(("i", 1)) if inner is None else at(("i", inner), ("j", 1))
    body = [Load("a", x, index), op("b", "add", "a", Const(1, dtype), dtype=dtype)]
    body += [Store(z, index, "b")] if stores else []
    accs = [Acc("s", dtype, Const({"add": 3, "max": -1000, "min": 1000}.get(rule, -1000), dtype))]
    tail = [Store(y, at(), "s")]
    if rule == "argmax":
        body += [op("p", "index", "i", dtype=I8), Combine(rule, ("s", "t"), ("b", "p"))]
        accs.append(Acc("t", I8, Const(0, I8)))
        tail += [op("u", "cast", "t", dtype=dtype, argtype=I8), Store(y, at(const=1), "u")]
    else:
        body.append(Combine(rule, ("s",), ("b",)))
        tail.append(Store(y, at(const=1), "s"))
    buffers = [x, y, z] if stores else [x, y]
    atoms = tuple(a for a, d in (("n", N), ("m", M)) if d in (size, inner))
    return Program("fold", buffers, [Nest(axes, body, accs, tail)], atoms)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rule", ["add", "max", "min", "argmax"])
@pytest.mark.parametrize(("size", "inner"), [(1201, None), (N, None), (41, 33), (N, 7)])
@pytest.mark.parametrize("stores", [False, True])
def test_folds_in_blocks(rule: str, size: object, inner: object, stores: bool, all_nests: None) -> None:
    dtype = F4 if stores else I8
    program = folded(rule, size, inner, dtype, stores)
    assert "blocks" in marks(program)[0] or rule == "argmax"
    rng = np.random.default_rng(0)
    natives = [Native(fresh(program), target, opt=0) for target in (THREADS, HOST)]
    for n in (0, 1, 17, 1201):
        sizes = {"n": n if inner is None else n // 30, "m": 33}
        x = rng.integers(-50, 50, loopinterp.evaluate(program.buffers[0].size, sizes)).astype(dtype)
        found = [native([x], sizes)[1] for native in natives]
        with np.errstate(all="ignore"):
            expected, _ = loopinterp.run(program, [x], sizes)
        for shared, alone, right in zip(*found, expected, strict=True):
            same(shared, right)
            assert shared.tobytes() == alone.tobytes()


def test_sums_in_blocks_are_accurate(all_nests: None) -> None:
    x = np.random.default_rng(0).normal(size=300_000).astype(F4)
    program = folded("add", N, dtype=F4)
    exact = np.sum(x.astype(np.longdouble) + 1) + 3
    for target in (THREADS, HOST):
        (found,) = Native(fresh(program), target)([x], {"n": x.size})[1]
        assert (
            abs(found[0] - exact) <= 4 * np.spacing(np.float32(exact)) + 1e-6 * np.sum(np.abs(x + 1)) * 2**-20
        )


# ---- which nests ------------------------------------------------------------------------------------------


def one(size: object, *body: object, **parts_: object) -> Program:
    return Program("p", [], [Nest([Axis("i", size)], list(body), **parts_)], ("n",))


def test_small_nests_stay_whole():
    assert marks(unary_program("exp", 1000, ())) == [""]
    assert marks(unary_program("exp", 1_000_000, ())) == [
        "parallel in 16" if HOST.register_bytes == 64 else "parallel in 8"
    ]


def test_small_folds_stay_whole_and_an_iteration_costs_what_an_element_does() -> None:
    """Whoever took an iteration for the whole fold would ask the pool for a sum of hundreds."""

    def parallel(*sizes: int) -> parallelize.Parallel | None:
        (nest,) = schedule(folded("add", *sizes), HOST).body
        assert isinstance(nest, Nest)
        return nest.schedule.parallel

    assert parallel(5000) is None and parallel(50, 100) is None
    found = [parallel(1_000_000), parallel(4_000_000), parallel(2000, 2000)]
    costs = {p.cost for p in found if p is not None and p.folds}
    assert len(found) == 3 and None not in found and len(costs) == 1 and max(costs) < 3000


def test_what_iterations_share_keeps_them_in_order(all_nests: None) -> None:
    x, y, z = given("x", F8, 4 * N, 0), result("y", F8, 4 * N), given("z", I8, N, 1)
    v, k = Load("v", x, at(("i", 1))), Load("k", z, at(("i", 1)))
    apart = [
        one(N, v, Store(y, at(("i", 1)), "v")),
        one(N, v, Store(y, at(("i", 2)), "v"), Store(y, at(("i", 2), const=1), "v")),
        one(N, Load("v", y, at(("i", 1))), Store(y, at(("i", 1)), "v")),
        one(N, v, Store(y, at(("i", -3), const=3 * N), "v")),
        one(N, Load("v", y, at(("i", 1))), Store(y, at(("i", 1), const=N), "v")),
        one(N, Load("v", y, at(("i", 2), const=2 * N + 2)), Store(y, at(("i", -1), const=2 * N), "v")),
        one(40, Load("v", y, at(("i", -1), const=39)), Store(y, at(("i", 1), const=40), "v")),
    ]
    shared = [
        one(N, v, Store(y, at(), "v")),
        one(N, v, Store(y, at(("i", 1)), "v", add=True)),
        one(N, v, k, Store(y, at(("k", 1)), "v")),
        one(N, v, Store(y, at(("i", 2)), "v"), Store(y, at(("i", 2), const=3), "v")),
        one(N, Load("v", y, at(("i", 1), const=1)), Store(y, at(("i", 1)), "v")),
        one(N, Load("v", y, at(("i", 1))), Store(y, at(("i", 1), const=N - 1), "v")),
        one(N, Load("v", y, at(("i", 2), const=2 * N)), Store(y, at(("i", -1), const=2 * N), "v")),
        one(40, Load("v", y, at(("i", -1), const=40)), Store(y, at(("i", 1), const=40), "v")),
        one(N, v, op("t", "lt", "v", Const(0.0, F8), argtype=F8), Fail("t", 0), Store(y, at(("i", 1)), "v")),
    ]
    assert all(marks(p)[0] for p in apart)
    assert not any(marks(p)[0] for p in shared)


@pytest.mark.parametrize(("kind", "elsewhere"), [("temp", False), ("temp", True), ("local", False)])
def test_memory_of_one_iteration_becomes_private(kind: str, elsewhere: bool, all_nests: None) -> None:
    x, y, row = given("x", F8, 40, 0), result("y", F8, 40), Buffer("row", F8, 4, kind, offset=0)
    fill = Nest([Axis("j", 4)], [Load("a", x, at(("i", 4), ("j", 1))), Store(row, at(("j", 1)), "a")])
    turn = Nest([Axis("k", 4)], [
        Load("b", row, at(("k", -1), const=3)), Store(y, at(("i", 4), ("k", 1)), "b"),
    ])  # fmt: skip
    rows = Nest([Axis("i", 10)], [fill, turn])
    body = [rows, Load("w", row, at()), Store(y, at(), "w")] if elsewhere else [rows]
    program = Program("p", [x, y, row], body, workspace=64)
    assert bool(marks(program)[0]) is not elsewhere
    value = np.arange(40.0)
    if not elsewhere:
        (found,) = Native(fresh(program), THREADS)([value])[1]
        np.testing.assert_array_equal(found, value.reshape(10, 4)[:, ::-1].ravel())


def test_where_accesses_go_in_all_iterations_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[parallelize.Stretch] = []
    of_all = parallelize.Stretch.of_all
    monkeypatch.setattr(parallelize.Stretch, "of_all", lambda s, n: (asked.append(s), of_all(s, n))[1])
    stretches = parallelize.Stretches("i", 8, (), [], {})
    rows = [(Index(place, (("i", 20),)), ()) for place in range(20)]
    assert stretches.apart(rows, rows) and len(asked) == 20
    assert not stretches.apart([(Index(20, (("i", 20),)), ())], rows)
    assert stretches.apart([(Index(160, (("i", 20),)), ())], rows)


def test_sums_down_wide_rows_are_shared_by_columns(all_nests: None) -> None:
    x, y = given("x", F8, 100 * 3001, 0), result("y", F8, 3001)
    body = [Load("a", x, at(("i", 3001), ("j", 1))), Combine("add", ("s",), ("a",))]
    nest = Nest([Axis("i", 100, "reduce"), Axis("j", 3001)], body, [Acc("s", F8, Const(0.0, F8))],
                [Store(y, at(("j", 1)), "s")])  # fmt: skip
    program = Program("p", [x, y], [nest])
    assert "strips" in str(schedule(fresh(program), HOST).body[0].schedule) and marks(program)[0]
    value = np.random.default_rng(0).normal(size=100 * 3001)
    (whole,) = Native(fresh(program))([value])[1]
    (found,) = Native(fresh(program), THREADS)([value])[1]
    assert found.tobytes() == whole.tobytes()


def test_a_step_that_reads_the_last_state_of_a_stack_is_shared(all_nests: None) -> None:
    """Both are rows of one buffer."""

    def value(u: tf.Tensor, steps: tf.Tensor) -> tf.Tensor:
        for _ in range(steps):
            u = u + 0.1 * (tf.roll(u, 1, 0) + tf.roll(u, -1, 1)) - u**3
        return tf.reduce_sum(u * u)

    text = tf.function(tf.value_and_grad(value)).loops(np.ones((20, 30)), np.int64(5))
    forward, backward = (part.split("\n  for ")[0] for part in text.split("    loop ")[1:])
    assert "parallel" in forward and "parallel" in backward


def test_code_for_elsewhere_knows_no_pool() -> None:
    program = unary_program("exp", 1_000_000, ())
    assert Native(fresh(program)).emitted.functions == ()
    assert "parallel" in str(program.body[0].schedule)


# ---- whole programs ---------------------------------------------------------------------------------------


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch, all_nests: None) -> None:
    """Every nest that may be is shared, with the stand-in."""
    found = cache.function_address
    backwards = lambda name: parts.backwards() if name == state.NAME else found(name)
    monkeypatch.setattr(cache, "function_address", backwards)
    monkeypatch.setattr(cache, "_objects", {})


def gradients(x: tf.Tensor) -> list[tf.Tensor]:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.softmax(tf.roll(x, 1, 0) * tf.sin(x)) @ tf.transpose(x)
        loss = tf.reduce_sum(y**2) + tf.reduce_max(tf.cumsum(x, 1))
    return [loss, y, tape.gradient(loss, x)]


def test_programs_in_parts(in_parts: None) -> None:
    x = tf.constant(np.random.default_rng(0).normal(size=(33, 45)))
    with tf.settings(cache=False):
        found = tf.function(gradients)(x)
    for mine, theirs in zip(found, gradients(x), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


# ---- loops ------------------------------------------------------------------------------------------------

BATCH = np.random.default_rng(1).normal(size=(9, 6, 6))
LOOPS = {
    "products": lambda x: x @ tf.transpose(x, [0, 2, 1]),
    "rows": lambda x: tf.map_fn(lambda r: tf.nn.softmax(tf.reduce_sum(tf.sin(r), 0)), x),
    "private": lambda x: tf.map_fn(lambda r: tf.matmul(r @ r, tf.exp(r)) + tf.cumsum(r), x),
    "backwards": lambda x: tf.map_fn(lambda r: tf.reverse(r @ r, [0]), x[::-1]),
    "two axes": lambda x: tf.matmul(heads(x), heads(tf.sin(x)), transpose_b=True),
}


def heads(x: tf.Tensor) -> tf.Tensor:
    return tf.transpose(tf.reshape(x, (9, 6, 3, 2)), (0, 2, 1, 3))


@pytest.mark.parametrize("name", LOOPS)
def test_loops_over_a_batch_in_parts(name: str, in_parts: None) -> None:
    f, x = LOOPS[name], tf.constant(BATCH)
    with tf.settings(cache=False):
        g = tf.function(f)
        np.testing.assert_allclose(g(x), f(x), rtol=1e-12)
        assert re.search(r"@loops\d+[.]job, ptr", g.llvm(x))


def nested(index: Index, inner: int = 4, **how: object) -> bool:
    """May threads share a loop of 10 around one of `inner`, both around a nest that stores there?"""
    x, y = given("x", F8, 1000, 0), result("y", F8, 1000)
    nest = Nest([Axis("i", 3)], [Load("v", x, at(("i", 1))), Store(y, index, "v")])
    loop = While("k", 10, [While("l", inner, [nest], **how)])
    schedule(Program("p", [x, y], [loop]), HOST)
    return loop.parallel is not None


def test_loops_within_each_other_are_shared_by_the_outer_one(all_nests: None) -> None:
    assert nested(at(("k", 12), ("l", 3), ("i", 1)))
    assert nested(at(("k", 12), ("l", -3), ("i", 1), const=9), reverse=True)
    assert not nested(at(("k", 11), ("l", 3), ("i", 1)))
    assert not nested(at(("l", 3), ("i", 1)))
    assert not nested(at(("k", 12), ("l", 3), ("i", 1)), trips="t")
    assert not nested(at(("k", 12), ("l", 3), ("i", 1)), swaps=[(Buffer("a", F8, 4, "cell"),) * 2])


def test_loops_in_a_shared_one_do_not_ask(monkeypatch: pytest.MonkeyPatch, all_nests: None) -> None:
    """Whoever runs them cannot leave the function; long ones are not shared as a whole."""
    monkeypatch.setattr(poll, "QUICK", 0)
    x = tf.constant(np.random.default_rng(0).normal(size=(8, 4, 32, 32)))
    f = lambda x: tf.matmul(tf.transpose(x, (0, 1, 3, 2))[:, :, ::2], x[:, :, :, ::2])
    with tf.settings(cache=False):
        parts = re.findall(r"^define internal void @loops.*?^}", tf.function(f).llvm(x), re.DOTALL | re.MULTILINE)
        (loops,) = [part for part in parts if "while" in part]
        assert "look" not in loops
        monkeypatch.setattr(parallelize, "UNASKED", 1000)
        text = tf.function(f).llvm(x)
        assert "look" in text and "while" in text


def positive(x: tf.Tensor) -> tf.Tensor:
    return x @ tf.transpose(x, [1, 0]) + 18 * tf.eye(18, dtype=x.dtype)


def likelihood(x: tf.Tensor) -> tf.Tensor:
    y = tf.linalg.cholesky(positive(x))
    return tf.reduce_sum(tf.linalg.triangular_solve(y, x[:, :1]) ** 2) + tf.linalg.logdet(positive(x))


FACTORS = {
    "factors": tf.vmap(lambda x: tf.linalg.cholesky(positive(x))),
    "solutions": tf.vmap(
        lambda x: tf.linalg.solve(positive(x), x[:, :2]) + tf.linalg.inv(positive(x))[:, :2]
    ),
    "gradients": lambda x: tf.grad(lambda x: tf.reduce_sum(tf.vmap(likelihood)(x)))(x),
}


@pytest.mark.parametrize("name", FACTORS)
def test_loops_that_factor_in_parts(name: str, in_parts: None) -> None:
    f, x = FACTORS[name], tf.constant(np.random.default_rng(2).normal(size=(9, 18, 18)))
    with tf.settings(cache=False):
        g = tf.function(f)
        np.testing.assert_allclose(g(x), f(x), rtol=1e-10, atol=1e-12)
        assert len(re.findall(r"@loops\d+[.]job, ptr", g.llvm(x))) > 1
        with tf.settings(num_threads=1):
            alone = tf.function(f)(x)
    assert np.array_equal(g(x), alone)


def test_loops_that_carry_stay_whole(in_parts: None) -> None:
    def f(x: tf.Tensor) -> tf.Tensor:
        total = x[0]
        for r in x:
            total = total @ r
        return total

    with tf.settings(cache=False):
        g = tf.function(f)
        x = tf.constant(BATCH)
        np.testing.assert_allclose(g(x), f(x), rtol=1e-12)


def test_shared_loops_can_be_stopped() -> None:
    x = tf.constant(np.linspace(0, 1, 1_000_000, dtype=np.float32))
    f = tf.function(lambda n: tf.map_fn(lambda k: tf.reduce_sum(tf.sin(x * k)), n))
    f(tf.zeros([20]))
    long = tf.zeros([20_000])
    assert "loops" in f.llvm(long)
    timer = threading.Timer(1.5, _thread.interrupt_main)
    working = Stopwatch()
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        f(long)
        time.sleep(10)
    assert working.seconds() < 5
