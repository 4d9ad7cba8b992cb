"""Loop programs as text: what is written is read back, for every program at every stage of its compilation."""

from __future__ import annotations

import numpy as np
import pytest

from checks.levels import derived
from checks.loop_programs import PROGRAMS
from tracejit.compiler import pipeline
from tracejit.compiler.codegen.program import emit
from tracejit.compiler.loopir.ir import Compute, HostCall, If, Nest, Program, Size_, Store, While
from tracejit.compiler.loopir.operands import Axis, Buffer, Const, Index, View
from tracejit.compiler.loopir.parser import parse
from tracejit.compiler.loopir.passes.clocks import insert_clocks
from tracejit.compiler.loopir.text import to_text
from tracejit.compiler.loopir.verifier import verify
from tracejit.compiler.lowering.lower import lower
from tracejit.core.dim import Dim, maximum
from tracejit.core.tracing.trace import trace

F64, F32, I64, BOOL = np.dtype("f8"), np.dtype("f4"), np.dtype("i8"), np.dtype(bool)


def read_back(program: Program) -> Program:
    """The program read from its own text, which is valid and has the same text."""
    text = to_text(program)
    found = parse(text, program.messages)
    assert to_text(found) == text
    verify(found)
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_read_back_at_every_stage(name: str):
    graph = trace(PROGRAMS[name].f, PROGRAMS[name].specs, name).graph
    for order in PROGRAMS[name].orders:
        wanted = derived(graph, order)
        if wanted is None:
            continue
        program, _ = lower(pipeline.optimized(wanted))
        for _, run in pipeline.PROGRAM_PASSES:
            read_back(program)
            program = run(program)
        again = read_back(program)
        assert emit(again).text == emit(program).text


def over(*body, **rest):
    return Nest([Axis("i", 4)], list(body), **rest)


X, Y = Buffer("x", F32, 4, "input", 0), Buffer("y", F32, 4, "output", 0)
AT = Index(0, (("i", 1),))


@pytest.mark.parametrize(
    "statement",
    [
        over(Store(Y, AT, Const(float("nan"), F32))),
        over(Store(Y, AT, Const(float("-inf"), F32))),
        over(Store(Y, AT, Const(-0.0, F32), guard=Const(True, BOOL))),
        over(Store(Y, AT, Const(np.frombuffer(b"\x01\x00\xc0\xff", "f4")[0].item(), F32))),
        over(Compute("a", "lt", (Const(1, I64), Const(2, I64)), BOOL, I64)),
        over(Compute("a", "cast", (Const(1.0, F64),), I64, F64)),
        over(Compute("a", "select", (Const(True, BOOL), Const(1.0, F64), Const(2.0, F64)), F64, F64)),
        Nest([], [Store(Y, Index(), Const(0.5, F32))]),
        Nest([Axis("i", maximum(Dim.of("n"), Dim.of("m")), "scan"), Axis("j", Dim.of("n") * 2 + 1)], []),
        Size_("v", Dim.of("n") * Dim.of("m") - 3),
        While("k", Dim.of("n"), [], location=0, trips="c", binds="t"),
        If(Const(True, BOOL), [], [Size_("v", 3)]),
        HostCall('["print", [["float32", 1]], {"end": "; ["}]', (View(X, Index(), ()),), (4,)),
    ],
    ids=lambda s: type(s).__name__,
)
def test_what_programs_rarely_hold_is_read_back(statement):
    program = Program("f", [X, Y], [statement], ("n", "m"), messages=("here",), contract=False)
    text = to_text(program)
    found = parse(text, program.messages)
    assert to_text(found) == text
    assert found.contract is False
    if not isinstance(statement, HostCall):
        verify(found)


def test_a_line_that_is_no_statement_is_shown():
    with pytest.raises(ValueError, match="not a statement: 'x := 3'"):
        parse("program f()\n  x := 3")


def test_a_line_that_is_indented_too_far_is_shown():
    with pytest.raises(ValueError, match="not indented as a statement is"):
        parse("program f()\n      v = size 3")


def test_clocks_are_read_back():
    """They stand in profiles alone, behind all passes, and mean nothing but time."""
    program = pipeline.lower_graph(trace(PROGRAMS["softmax"].f, PROGRAMS["softmax"].specs).graph)
    assert len(insert_clocks(program, 0)) == 2
    read_back(program)
