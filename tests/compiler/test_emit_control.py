"""Loops, branches, failures, growing buffers and library calls as machine code, against the interpreter."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from compiler.native import (
    B1,
    F4,
    F8,
    HOST,
    I8,
    RNG,
    M,
    N,
    Native,
    agree,
    at,
    copy_nest,
    given,
    local,
    op,
    result,
)
from tracejit.compiler.codegen.program import emit
from tracejit.compiler.loopir.ir import (
    Allocate,
    Call,
    Combine,
    Fail,
    Grow,
    If,
    Load,
    Nest,
    Program,
    Store,
    While,
)
from tracejit.compiler.loopir.operands import Acc, Axis, Buffer, Const, View
from tracejit.core.dim import Dim
from tracejit.runtime import abi

# ---- control flow ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [0, 1, 5, 3000])
def test_counted_loop_with_local_state(reverse: bool, count: int) -> None:
    """state = state * 0.5 + x[i], and every state kept."""
    x, z, y = given("x", F8, N, 0), result("z", F8, 3, 0), result("y", F8, N, 1)
    state = local("s", F8, 3)
    step = Nest([Axis("p", 3)], [
        Load("a", state, at(("p", 1))), Load("b", x, at(("i", 1))), op("h", "mul", "a", Const(0.5, F8)),
        op("c", "add", "h", "b"), Store(state, at(("p", 1)), "c"),
    ])  # fmt: skip
    keep = [Load("k", state, at(const=1)), Store(y, at(("i", 1)), "k")]
    program = Program("fold", [x, z, y, state], [
        Nest([Axis("q", 3)], [op("r", "index", "q", dtype=F8), Store(state, at(("q", 1)), "r")]),
        While("i", N, [step, *keep], reverse=reverse, trips="t"),
        copy_nest("w", state, z, 3),
    ], ("n",), contract=False)  # fmt: skip
    agree(program, [RNG.random(count)], {"n": count})


def newton_program() -> Program:
    """Square root of x by Newton's method until it stops changing; the number of steps is an output."""
    x, z, n = given("x", F8, 1, 0), result("z", F8, 1, 0), result("n", I8, 1, 1)
    a, b = local("a", F8, 1), local("b", F8, 1)
    cond = [Load("p", a, at()), Load("q", b, at()), op("more", "ne", "p", "q", dtype=B1, argtype=F8)]
    body = [
        Load("u", a, at()), Load("v", x, at()), op("w", "div", "v", "u"), op("m", "add", "u", "w"),
        op("h", "mul", "m", Const(0.5, F8)), Store(b, at(), "h"),
    ]  # fmt: skip
    loop = While("i", None, body, cond, "more", trips="t", swaps=[(a, b)])
    start = [Load("x0", x, at()), Store(a, at(), "x0"), Store(b, at(), Const(0.0, F8))]
    end = [Load("r", a, at()), Store(z, at(), "r"), Store(n, at(), "t")]
    return Program("newton", [x, z, n, a, b], [*start, loop, *end], contract=False)


def test_loop_until_a_test_fails() -> None:
    (root, _) = agree(newton_program(), [np.array([2.0])])
    assert abs(root[0] - 2**0.5) < 1e-15


@pytest.mark.parametrize("trips", [0, 1, 4, 7])
def test_swapped_temps_and_outputs(trips: int) -> None:
    """A stencil that runs back and forth between two buffers."""
    m = 20
    x, z, t = given("x", F8, m, 0), result("z", F8, m), Buffer("t", F8, m, "temp", offset=0)
    step = Nest([Axis("i", m)], [
        Load("a", z, at(("i", 1))), Load("b", z, at(("i", -1), const=m - 1)), op("c", "add", "a", "b"),
        op("d", "index", "i", dtype=F8), op("e", "sub", "c", "d"), Store(t, at(("i", 1)), "e"),
    ])  # fmt: skip
    program = Program("stencil", [x, z, t], [
        copy_nest("k", x, z, m), copy_nest("l", x, t, m), While("w", trips, [step], swaps=[(z, t)]),
    ], workspace=8 * m)  # fmt: skip
    agree(program, [RNG.integers(0, 9, m).astype(F8)])


def collatz_program(failing: bool = False) -> Program:
    """The orbit of x under 3n+1 until 1, in a buffer that grows; its length is a size."""
    x, z = given("x", I8, 1, 0), Buffer("z", I8, Dim.of("k"), "heap", 0)
    copy, state = result("y", I8, 1, 1), local("s", I8, 1)
    even = [op("h", "shr", "v", Const(1, I8), dtype=I8), Store(state, at(), "h")]
    odd = [
        op("m", "mul", "v", Const(3, I8), dtype=I8),
        op("p", "add", "m", Const(1, I8), dtype=I8),
        Store(state, at(), "p"),
    ]
    body: list = [
        Grow(z, at(("i", 1), const=1)), Load("v", state, at()), Store(z, at(("i", 1)), "v"),
        op("low", "and", "v", Const(1, I8), dtype=I8), op("even", "eq", "low", Const(0, I8), dtype=B1, argtype=I8),
        If("even", even, odd),
    ]  # fmt: skip
    if failing:
        body += [op("big", "gt", "v", Const(50, I8), dtype=B1, argtype=I8), Fail("big", 2, ("v", "i_"))]
        body.insert(0, op("i_", "index", "i", dtype=I8))
    cond = [Load("c", state, at()), op("more", "gt", "c", Const(1, I8), dtype=B1, argtype=I8)]
    total = Nest([Axis("j", Dim.of("k"), "reduce")], [Load("e", z, at(("j", 1))), Combine("add", ("sum",), ("e",))],
                 [Acc("sum", I8, Const(0, I8))], [Store(copy, at(), "sum")])  # fmt: skip
    return Program("collatz", [x, z, copy, state], [
        Allocate(z, 2), Load("x0", x, at()), Store(state, at(), "x0"),
        While("i", None, body, cond, "more", trips="t", binds="k"), total,
    ], (), ("k",), messages=("a", "b", "large"))  # fmt: skip


@pytest.mark.parametrize("start", [1, 2, 6, 27])
def test_growing_output_and_bound_size(start: int) -> None:
    agree(collatz_program(), [np.array([start])])


def test_failure_leaves_details_and_no_memory() -> None:
    native = Native(collatz_program(failing=True))
    freed: list[int] = []

    def free(address: int) -> None:
        freed.append(address)
        abi.release(address)

    keep = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(free)
    native.context.free = ctypes.cast(keep, ctypes.c_void_p).value
    status, _, _ = native([np.array([27])])
    assert status == 3 and native.context.detail[0] > 50 and native.context.detail[1] > 0
    assert len(freed) == native.context.allocations > 0
    status, _, _ = native([np.array([4])])
    assert status == 0 and len(freed) == native.context.allocations - 1


def test_memory_running_out_is_a_status() -> None:
    native = Native(collatz_program())
    none = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(lambda align, size: 0)
    native.context.alloc = ctypes.cast(none, ctypes.c_void_p).value
    assert native([np.array([27])])[0] == abi.STATUS_OUT_OF_MEMORY


def test_poll_interrupts_loops() -> None:
    s, z = local("s", I8, 1), result("z", I8, 1)
    body = [Load("a", s, at()), op("b", "add", "a", Const(1, I8), dtype=I8), Store(s, at(), "b")]
    cond = [Load("c", s, at()), op("more", "lt", "c", Const(1 << 60, I8), dtype=B1, argtype=I8)]
    loop = While("i", None, body, cond, "more")
    native = Native(
        Program("spin", [s, z], [Store(s, at(), Const(0, I8)), loop, Load("r", s, at()), Store(z, at(), "r")])
    )
    calls: list[int] = []
    poll = abi.POLL_TYPE(lambda context: calls.append(context) or int(len(calls) == 3))
    native.context.poll = ctypes.cast(poll, ctypes.c_void_p).value
    assert native([])[0] == abi.STATUS_INTERRUPTED and len(calls) == 3


def test_nested_loops_with_vector_nests_inside() -> None:
    m = 37
    x, z, t = given("x", F8, m, 0), result("z", F8, m), Buffer("t", F8, m, "temp", offset=0)
    inner = While("j", 3, [Nest([Axis("a", m)], [
        Load("v", t, at(("a", 1))), op("jj", "index", "j", dtype=F8), op("ii", "index", "i", dtype=F8),
        op("w", "add", "v", "jj"), op("u", "mul", "w", "ii"), Store(t, at(("a", 1)), "u"),
    ])])  # fmt: skip
    program = Program("nested", [x, z, t], [
        copy_nest("k", x, t, m), While("i", 4, [inner]), copy_nest("l", t, z, m),
    ], workspace=8 * m, contract=False)  # fmt: skip
    agree(program, [RNG.random(m)])


def test_branches() -> None:
    x, z = given("x", F8, 40, 0), result("z", F8, 40)
    test = [Load("f", x, at()), op("high", "gt", "f", Const(0.5, F8), dtype=B1, argtype=F8)]
    then = [
        Nest([Axis("i", 40)], [Load("a", x, at(("i", 1))), op("b", "neg", "a"), Store(z, at(("i", 1)), "b")])
    ]
    program = Program("choose", [x, z], [*test, If("high", then, [copy_nest("j", x, z, 40)])])
    for first in (0.2, 0.8):
        x0 = RNG.random(40)
        x0[0] = first
        agree(program, [x0])
    only = Program("only", [x, z], [copy_nest("j", x, z, 40), *test, If("high", then, [])])
    for first in (0.2, 0.8):
        x0[0] = first
        agree(only, [x0])


def test_failure_in_lanes_names_the_first() -> None:
    idx, x, z = given("k", I8, 50, 0), given("x", F8, 9, 1), result("z", F8, 50)
    body = [
        Load("r", idx, at(("i", 1))), op("bad", "ge", "r", Const(9, I8), dtype=B1, argtype=I8), Fail("bad", 4, ("r",)),
        Load("v", x, at(("r", 1))), Store(z, at(("i", 1)), "v"),
    ]  # fmt: skip
    native = Native(Program("checked", [idx, x, z], [Nest([Axis("i", 50)], body)], messages=("",) * 5))
    k = RNG.integers(0, 9, 50)
    assert native([k, RNG.random(9)])[0] == 0
    k[[13, 17, 44]] = 100, 200, 300
    assert native([k, RNG.random(9)])[0] == 5 and native.context.detail[0] == 100
    k[:40] = 0
    assert native([k, RNG.random(9)])[0] == 5 and native.context.detail[0] == 300


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("dtype", [F8, F4])
def test_library_call(accumulate: bool, dtype: np.dtype) -> None:
    """c[m,n] = a[m,k] @ b[n,k].T in a batch of two."""
    a, b = given("a", dtype, 2 * N * 5, 0), given("b", dtype, M * 5, 1)
    c = result("c", dtype, 2 * N * M)
    call = Call("matmul", (View(a, at(("g", N * 5)), (5, 1)), View(b, at(), (1, 5)), View(c, at(("g", N * M)), (M, 1))),
                (N, 5, M), accumulate)  # fmt: skip
    clear = Nest([Axis("z", 2 * N * M)], [Store(c, at(("z", 1)), Const(1.0, dtype))])
    program = Program(
        "product", [a, b, c], [clear, Nest([Axis("g", 2)], [call])], ("n", "m"), workspace=N * 3
    )
    x, y = RNG.integers(-3, 3, 2 * 6 * 5).astype(dtype), RNG.integers(-3, 3, 7 * 5).astype(dtype)
    agree(program, [x, y], {"n": 6, "m": 7}, targets=(HOST,))
    assert emit(program, HOST).functions == (f"gemm_f{8 * dtype.itemsize}",)


def test_constants_and_local_tables() -> None:
    """A small table lives in registers of one kernel and in memory between two."""
    c, x, z = Buffer("c", F4, 8, "constant", 0), given("x", F4, 8 * 9, 0), result("z", F4, 8 * 9)
    table = local("t", F4, 8)
    fill = Nest(
        [Axis("p", 8)],
        [Load("a", c, at(("p", 1))), op("b", "mul", "a", "a", dtype=F4), Store(table, at(("p", 1)), "b")],
    )
    use = Nest([Axis("i", 9), Axis("j", 8)], [
        Load("u", table, at(("j", 1))), Load("v", x, at(("i", 8), ("j", 1))), op("w", "add", "u", "v", dtype=F4),
        Store(z, at(("i", 8), ("j", 1)), "w"),
    ])  # fmt: skip
    agree(
        Program("table", [c, x, z, table], [fill, use]),
        [RNG.random(72).astype(F4)],
        {},
        [RNG.random(8).astype(F4)],
    )


def test_sizes_with_recipes() -> None:
    from tracejit.core.dim import maximum

    half, wide = N // 2, maximum(N, 5)
    x, z = given("x", F8, wide, 0), result("z", F8, wide + half)
    program = Program("recipes", [x, z], [
        copy_nest("i", x, z, wide),
        Nest([Axis("j", half)], [Load("a", x, at(("j", 1))), Store(z, at(("j", 1), const=wide), "a")]),
    ], ("n",))  # fmt: skip
    for n in (0, 3, 8, 21):
        agree(program, [RNG.random(max(n, 5))], {"n": n})
