"""How often loops ask whether to go on, and what they say about where they are."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from compiler.native import F8, I8, N, Native, at, given, local, op, result
from tracejit.compiler.codegen import poll
from tracejit.compiler.codegen.program import emit
from tracejit.compiler.loopir.ir import Call, If, Load, Nest, Program, Store, While
from tracejit.compiler.loopir.operands import Axis, Buffer, Const, View
from tracejit.compiler.loopir.statement import Statement
from tracejit.runtime import abi

S, Z = local("s", I8, 1), result("z", I8, 1)


def adding() -> list[Statement]:
    return [Load("a", S, at()), op("b", "add", "a", Const(1, I8), dtype=I8), Store(S, at(), "b")]


def counting(*loops: While) -> Program:
    """s = 0, the loops, z = s."""
    start, end = [Store(S, at(), Const(0, I8))], [Load("r", S, at()), Store(Z, at(), "r")]
    return Program("count", [S, Z], [*start, *loops, *end], messages=(("loop", "a.py:1"), ("loop", "a.py:2")))


def polled(
    program: Program,
    answer: int = 0,
    inputs: tuple[np.ndarray, ...] = (),
    sizes: dict[str, int] | None = None,
) -> tuple[int, list[list[int]], int]:
    """The status, the loops' words at every poll, and the result."""
    native, seen = Native(program), []

    def look(context: int) -> int:
        seen.append(abi.Context.from_address(context).loops[:])
        return answer

    callback = abi.POLL_TYPE(look)
    native.context.poll = ctypes.cast(callback, ctypes.c_void_p).value
    status, outputs, _ = native(list(inputs), sizes or {})
    return status, seen, int(outputs[0][0])


def test_long_loops_ask_by_the_work_they_do() -> None:
    n = 1 << 25
    loop = While("i", n, adding())
    loop.location = 1
    status, seen, total = polled(counting(loop))
    assert (status, total) == (0, n)
    assert len(seen) == pytest.approx(4 * n // poll.WORK, abs=1)  # three statements, and the loop itself
    for words in seen:
        assert words[:3] == words[3:] and words[0] == 1 and words[2] == n
    done = [words[1] for words in seen]
    assert done == sorted(done) and poll.WORK // 4 - 2 <= done[0] <= poll.WORK // 4 + 2


def test_many_runs_of_a_short_loop_ask_together() -> None:
    x = given("x", I8, 1, 0)
    inner = While("j", "n", adding())
    outer = While("i", 1 << 22, [inner])
    outer.location, inner.location = 0, 1
    program = counting(outer)
    program.buffers.insert(0, x)
    program.body.insert(0, Load("n", x, at()))
    status, seen, total = polled(program, inputs=(np.array([5]),))
    assert (status, total) == (0, 5 << 22)
    assert len(seen) == pytest.approx((5 * 4 + 2 << 22) // poll.WORK, abs=1)
    assert {words[0] for words in seen} == {0} and {words[3] for words in seen} <= {0, 1}
    inside = [words for words in seen if words[3] == 1]
    assert inside and all(words[5] == 5 and words[4] < 5 and words[2] == 1 << 22 for words in inside)


def test_the_answer_ends_the_loop() -> None:
    status, seen, _ = polled(counting(While("i", 1 << 40, adding())), answer=1)
    assert status == abi.STATUS_INTERRUPTED and len(seen) == 1 and seen[0][0] == -1


def test_loops_that_end_at_once_never_ask() -> None:
    short = counting(While("i", 10, [While("j", 30, adding())]))
    assert "look" not in emit(short).text
    assert polled(short) == (0, [], 300)
    long = poll.QUICK // 3
    assert "look" not in emit(counting(While("i", long, adding()))).text
    assert "look" in emit(counting(While("i", long + 1, adding()))).text


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (adding(), 3),
        ([op("a", "exp", Const(0.0, F8))], poll.ELEMENTARY_WORK),
        ([Nest([Axis("i", 10), Axis("j", 20)], adding())], 800),
        ([Nest([Axis("i", N)], [])], N),
        ([If(Const(True, np.dtype(bool)), adding(), [*adding(), *adding()])], 10),
        ([While("i", 5, adding())], 15),
        ([While("i", 1 << 20, adding())], 3 << 20),
        ([While("i", 1 << 24, adding())], 1),
        ([While("i", N, adding())], 1),
        (
            [Call("matmul", tuple(View(Buffer("b", F8, 64, "temp"), at(), (1,)) for _ in "abc"), (4, 5, N))],
            20 * N,
        ),
        ([Call("matmul", tuple(View(Buffer("b", F8, 64, "temp"), at(), (1,)) for _ in "abc"), (4, 5, 16))], 40),
    ],
)
def test_work_is_counted_in_statements(statements: list[Statement], expected: object) -> None:
    assert poll.work(statements) == expected


def test_nests_are_counted_by_their_size_in_the_call() -> None:
    x, copy = given("x", F8, N, 0), Buffer("t", F8, N, "temp", offset=0)
    nest = Nest([Axis("p", N)], [Load("v", x, at(("p", 1))), Store(copy, at(("p", 1)), "v")])
    body = counting(While("i", 1 << 12, [*adding(), nest])).body
    program = Program("count", [x, copy, S, Z], body, atoms=("n",), workspace=8 * 8192)
    for n, expected in ((0, 0), (8192, 3 * 8192 * 4096 // poll.WORK)):
        _, seen, _ = polled(program, inputs=(np.zeros(n),), sizes={"n": n})
        assert len(seen) == pytest.approx(expected, abs=1 if n else 0)
