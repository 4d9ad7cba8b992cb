"""Each rule of the loop IR, broken once: the verifier names the statement and the rule."""

import numpy as np
import pytest

from tracejit.compiler.loopir.ir import (
    Allocate,
    Call,
    Combine,
    Compute,
    Fail,
    Free,
    Grow,
    If,
    Load,
    Nest,
    Program,
    Size_,
    Store,
    While,
)
from tracejit.compiler.loopir.operands import Acc, Axis, Buffer, Const, Index, View
from tracejit.compiler.loopir.verifier import InvalidProgram, verify
from tracejit.core.dim import Dim

F64, F32, I64, BOOL = np.dtype("f8"), np.dtype("f4"), np.dtype("i8"), np.dtype(bool)
N, M = Dim.of("n"), Dim.of("m")

X = Buffer("x", F64, N, "input", 0)
K = Buffer("k", I64, 4, "input", 1)
C = Buffer("c", F64, 4, "constant", 0)
Y = Buffer("y", F64, N, "output", 0)
T = Buffer("t", F64, 4, "temp")
U = Buffer("u", F64, 5, "temp")
H = Buffer("h", F64, M, "heap", 1)
BUFFERS = [X, K, C, Y, T, U, H]
ZERO, ONE, TRUE = Const(0.0, F64), Const(1, I64), Const(True, BOOL)
LOOP = While("w", 3, [], binds="m")  # binds the size of H


def at(*symbols, const=0):
    return Index(const, tuple(s if isinstance(s, tuple) else (s, 1) for s in symbols))


def over(axis, *body, size=N, kind="parallel", **rest):
    return Nest([Axis(axis, size, kind)], list(body), **rest)


def program(*body, buffers=BUFFERS, **rest):
    return Program("bad", list(buffers), [LOOP, *body], ("n",), messages=("message",), **rest)


def test_the_message_shows_the_statement_in_its_place_with_the_rule_below():
    body = over("i", Load("v", X, at("i")), Compute("z", "add", ("v", "q"), F64, F64))
    with pytest.raises(InvalidProgram) as error:
        verify(program(body))
    assert str(error.value).splitlines() == [
        "program bad(n)",
        "  for i < n",
        "    z: float64 = add(v, q)",
        "    ^ q is not defined",
    ]


LOAD = Load("v", X, at("i"))
SUM = Acc("s", F64, ZERO)
ADD = Combine("add", ("s",), (ZERO,))
TEST = Compute("b", "lt", (ONE, ONE), BOOL, I64)

BROKEN = {
    "name defined twice": (
        [over("i", LOAD), over("j", Load("v", X, at("j")))],
        "the name v is taken",
    ),
    "axis named as a buffer": ([over("x")], "the name x is taken"),
    "scalar used outside its nest": ([over("i", LOAD), Store(T, at(), "v")], "v is not visible here"),
    "axis used outside its nest": ([over("i"), Load("v", X, at("i"))], "i is not visible here"),
    "scalar of the body used in the tail": (
        [over("i", LOAD, tail=[Store(Y, at("i"), "v")])],
        "v is not visible here",
    ),
    "reduce axis used in the tail": (
        [over("i", kind="reduce", tail=[Store(Y, at("i"), ZERO)])],
        "i is not visible here",
    ),
    "accumulator read in a body without scan": (
        [over("i", ADD, Store(Y, at("i"), "s"), kind="reduce", accs=[SUM])],
        "s is not visible here",
    ),
    "scalar of the test used in the body": (
        [While("l", None, [If("b", [], [])], cond=[TEST], test="b")],
        "b is not visible here",
    ),
    "scalar of a branch used after it": ([If(TRUE, [TEST], []), If("b", [], [])], "b is not visible here"),
    "axis as an operand": ([over("i", Compute("a", "add", ("i", ONE), I64, I64))], "i is an axis"),
    "operand of another dtype": ([over("i", LOAD, Compute("a", "add", ("v", ONE), F64, F64))], "1 is int64"),
    "value of another dtype stored": ([Store(T, at(), ONE)], "1 is int64, not float64"),
    "float index": ([over("i", LOAD, Load("a", T, at("v")))], "the index v is float64"),
    "guard of another dtype": ([over("i", Load("v", X, at("i"), ONE, ZERO))], "1 is int64, not bool"),
    "guard without other": ([over("i", Load("v", X, at("i"), TRUE))], "guard and other come together"),
    "unknown op": ([Compute("a", "cube", (ZERO,), F64, F64)], "there is no op cube"),
    "too many arguments": ([Compute("a", "sqrt", (ZERO, ZERO), F64, F64)], "sqrt takes 1 arguments"),
    "op of floats on integers": ([Compute("a", "sqrt", (ONE,), I64, I64)], "sqrt does not take int64"),
    "comparison that is no bool": ([Compute("a", "lt", (ONE, ONE), I64, I64)], "the result is bool"),
    "select on an integer": ([Compute("a", "select", (ONE, ONE, ONE), I64, I64)], "1 is int64, not bool"),
    "bitcast to another width": ([Compute("a", "bitcast", (ZERO,), F32, F64)], "differ in size"),
    "index of a constant": ([Compute("a", "index", (ONE,), I64, I64)], "1 is not defined"),
    "unknown size": ([Size_("a", Dim.of("q") + 1)], "the size q\\+1 uses q"),
    "store to an input": ([Store(X, at(), ZERO)], "input x is read only"),
    "store to a constant": ([Store(C, at(), ZERO)], "constant c is read only"),
    "foreign buffer": ([Load("a", Buffer("z", F64, 1, "temp"), at())], "z is not among"),
    "index above a static size": ([over("i", Load("v", T, at("i")), size=5)], "goes up to 4, but t has 4"),
    "index above a symbolic size": ([over("i", Load("v", X, at("i", const=1)))], "goes up to n, but x has n"),
    "index below zero": ([over("i", Load("v", T, at(("i", -1))), size=2)], "the index goes down to -1"),
    "loop index above": ([While("l", 5, [Load("v", T, at("l"))])], "goes up to 4, but t has 4"),
    "output overwritten in any order": (
        [over("i", over("j", Store(Y, at("i"), ZERO)))],
        "the parallel j overwrite each other",
    ),
    "unknown rule": ([over("i", Combine("xor", ("s",), (ZERO,)), accs=[SUM])], "there is no rule xor"),
    "argmax of one": ([over("i", Combine("argmax", ("s",), (ZERO,)), accs=[SUM])], "argmax combines 2"),
    "combine outside": ([over("i", accs=[SUM]), ADD], "s is not an accumulator of an enclosing nest"),
    "combine in its own tail": ([over("i", accs=[SUM], tail=[ADD])], "s is not an accumulator"),
    "position that is no int64": (
        [over("i", Combine("argmax", ("s", "p"), (ZERO, ZERO)), accs=[SUM, Acc("p", F64, ZERO)])],
        "the position p is not int64",
    ),
    "logic on floats": ([over("i", Combine("and", ("s",), (ZERO,)), accs=[SUM])], "and does not combine"),
    "accumulators of two nests": (
        [
            over(
                "i",
                over(
                    "j", Combine("argmax", ("s", "p"), (ZERO, ONE)), kind="reduce", accs=[Acc("p", I64, ONE)]
                ),
                accs=[SUM],
            )
        ],
        "belong to different nests",
    ),
    "parallel axis feeding an outer accumulator": (
        [over("i", over("j", ADD), kind="reduce", accs=[SUM])],
        "the parallel j may not feed",
    ),
    "accumulator's start of another dtype": ([over("i", accs=[Acc("s", F64, ONE)])], "1 is int64"),
    "unknown kind of axis": ([over("i", kind="vector")], "unknown kind 'vector'"),
    "loop without count and test": ([While("l", None, [])], "either a count or a test"),
    "loop with count and test": ([While("l", 3, [], test=TRUE)], "either a count or a test"),
    "reverse without count": ([While("l", None, [], test=TRUE, reverse=True)], "cannot run in reverse"),
    "count that is no int64": ([TEST, While("l", "b", [])], "b is not int64"),
    "size bound twice": ([While("l", 3, [], binds="m")], "the size m is bound already"),
    "swap of outputs": ([While("l", 3, [], swaps=[(Y, T)])], "output y and temp t do not swap"),
    "swap of different sizes": ([While("l", 3, [], swaps=[(T, U)])], "do not swap"),
    "unknown kernel": ([Call("conv", (), ())], "there is no kernel conv"),
    "matmul beyond its operand": (
        [Call("matmul", (View(T, at(), (2, 1)), View(C, at(), (3, 1)), View(U, at(), (2, 1))), (2, 2, 2))],
        "goes up to 4, but c has 4",
    ),
    "matmul into strided columns": (
        [Call("matmul", (View(T, at(), (1, 1)), View(C, at(), (1, 1)), View(U, at(), (1, 2))), (2, 2, 2))],
        "u's columns are not contiguous",
    ),
    "heap without room": ([Store(H, at(const=0), ZERO)], "h is never allocated"),
    "allocate off the heap": ([Allocate(T, 4)], "t is temp, not heap"),
    "grow off the heap": ([Grow(T, at())], "t is temp, not heap"),
    "free off the heap": ([Free(Y)], "y is output, not heap"),
    "fail without a message": ([Fail(TRUE, 1)], "there is no message 1"),
    "fail naming nothing": ([Fail(TRUE, 0, ("q",))], "q is not defined"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_rule_is_named(case):
    body, message = BROKEN[case]
    with pytest.raises(InvalidProgram, match=message):
        verify(program(*body))


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        (Buffer("l", F64, 33, "local"), "local l has 33 elements"),
        (Buffer("l", F64, N, "local"), "local l has n elements"),
        (Buffer("l", F64, M, "temp"), "the size m uses m, not known here"),
        (Buffer("l", F64, 1, "stack"), "unknown kind 'stack'"),
        (Buffer("l", F64, 1, "input"), "input l has no slot"),
        (Buffer("l", F64, 1, "input", 0), "a slot is given twice"),
        (Buffer("x", F64, 1, "temp"), "the name x is taken"),
        (Buffer("l", F64, Dim.of("q"), "heap", 2), "the size q uses q"),
    ],
)
def test_a_broken_buffer_is_named(buffer, message):
    with pytest.raises(InvalidProgram, match=message):
        verify(program(buffers=[*BUFFERS, buffer]))


def test_a_bound_size_is_bound_by_a_loop_at_the_top():
    verify(program(bound=("m",)))
    verify(program(If(TRUE, [While("l", 3, [], binds="q")], []), bound=("q",)))  # always runs
    with pytest.raises(InvalidProgram, match="no loop at the top level binds q"):
        verify(program(If(Const(False, TRUE.dtype), [While("l", 3, [], binds="q")], []), bound=("q",)))


@pytest.mark.parametrize(
    "body",
    [
        [over("i", Load("v", X, at("i", const=7), TRUE, ZERO))],  # guarded
        [over("i", Load("v", T, at("i", const=7)), size=0)],  # never runs
        [If(TRUE, [Load("v", T, at(const=7))], [])],  # may not run
        [While("l", "n1", [Load("v", T, at(const=7))])],  # may not run
        [over("i", Load("v", T, at("i", const=7)))],  # of a size not known
        [over("i", Load("v", X, at(("i", -1), const=N + -1)))],  # backwards
        [over("i", ADD, Store(Y, at("i"), "s"), kind="scan", accs=[SUM])],  # running value
        [over("i", over("j", ADD, kind="reduce"), kind="reduce", accs=[SUM])],  # nested feeding
        [over("i", Load("p", K, at("i")), Store(Y, at("p"), ZERO, add=True), size=4)],  # scatter
        [Allocate(H, 4), Store(H, at(const=10**6), ZERO)],  # heap: its room is known only when it runs
    ],
)
def test_what_cannot_be_decided_or_is_right_passes(body):
    verify(program(Size_("n1", N), *body))
