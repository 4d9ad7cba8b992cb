"""Emitted programs against the interpreter: tails, indices, guards, the text itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from compiler.native import (
    B1,
    F4,
    F8,
    HOST,
    I4,
    I8,
    RNG,
    SIZES,
    SSE,
    U1,
    M,
    N,
    Native,
    affine_program,
    agree,
    at,
    given,
    loopinterp_nests,
    op,
    result,
    same,
    softmax_program,
)
from tracejit.compiler import codegen as emit_package
from tracejit.compiler.codegen import llvm
from tracejit.compiler.codegen.program import emit
from tracejit.compiler.codegen.routine import MAX_LOOPS
from tracejit.compiler.loopir.ir import Fail, Load, Nest, Program, Store
from tracejit.compiler.loopir.operands import Axis, Buffer, Const
from tracejit.compiler.loopir.passes.schedule import Target
from tracejit.compiler.loopir.statement import Statement


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("dtype", [F8, F4, I4, U1])
def test_elementwise_tails(size: int, symbolic: bool, dtype: np.dtype) -> None:
    program = affine_program(N if symbolic else size, ("n",) if symbolic else (), dtype)
    x, y = (RNG.integers(0, 9, size).astype(dtype) for _ in range(2))
    agree(program, [x, y], {"n": size})


# ---- indices --------------------------------------------------------------------------------------------


def test_broadcast_strides_and_flips() -> None:
    n, m = 13, 11
    x, y, b = given("x", F8, n * m, 0), given("y", F8, n * m, 1), given("b", F8, m, 2)
    z = result("z", F8, n * m)
    body = [
        Load("a", x, at(("i", m), ("j", 1))),
        Load("f", y, at(("i", m), ("j", -1), const=m - 1)),
        Load("c", b, at(("j", 1))),
        Load("t", x, at(("i", 1), ("j", n))),
        Load("u", b, at(("i", 0), const=3)),
        op("p", "mul", "a", "f"), op("q", "add", "p", "c"), op("r", "sub", "q", "t"), op("s", "add", "r", "u"),
        Store(z, at(("i", m), ("j", -1), const=m - 1), "s"),
    ]  # fmt: skip
    program = Program("views", [x, y, b, z], [Nest([Axis("i", n), Axis("j", m)], body)], contract=False)
    agree(program, [RNG.random(n * m), RNG.random(n * m), RNG.random(m)])


@pytest.mark.parametrize("sizes", [(1, 1), (5, 3), (9, 17), (0, 4), (4, 0)])
def test_transpose_symbolic(sizes: tuple[int, int]) -> None:
    x, z = given("x", F4, N * M, 0), result("z", F4, N * M)
    body = [Load("a", x, at(("i", M), ("j", 1))), Store(z, at(("j", N), ("i", 1)), "a")]
    program = Program("transpose", [x, z], [Nest([Axis("i", N), Axis("j", M)], body)], ("n", "m"))
    n, m = sizes
    agree(program, [RNG.random(n * m).astype(F4)], {"n": n, "m": m})


def test_bools_bytes_and_mixed_types() -> None:
    x, flag, z, w = (
        given("x", F4, 37, 0),
        given("k", B1, 37, 1),
        result("z", B1, 37, 0),
        result("w", I8, 37, 1),
    )
    body = [
        Load("a", x, at(("i", 1))), Load("b", flag, at(("i", 1))),
        op("c", "lt", "a", Const(0.5, F4), dtype=B1, argtype=F4), op("d", "and", "b", "c", dtype=B1),
        op("e", "index", "i", dtype=I8), op("f", "select", "d", "e", Const(-1, I8), dtype=I8),
        Store(z, at(("i", 1)), "d"), Store(w, at(("i", 1)), "f"),
    ]  # fmt: skip
    program = Program("mixed", [x, flag, z, w], [Nest([Axis("i", 37)], body)])
    agree(program, [RNG.random(37).astype(F4), RNG.random(37) < 0.5])


def pad_program(n: int, inner: bool) -> Program:
    """z[i, j] = x[i-2, j-3] inside, 7 outside."""
    x, z = given("x", F8, n * n, 0), result("z", F8, (n + 4) * (n + 6))
    body = [
        op("i0", "index", "i", dtype=I8), op("j0", "index", "j", dtype=I8),
        op("a", "ge", "i0", Const(2, I8), dtype=B1, argtype=I8),
        op("b", "lt", "i0", Const(n + 2, I8), dtype=B1, argtype=I8),
        op("c", "ge", "j0", Const(3, I8), dtype=B1, argtype=I8),
        op("d", "lt", "j0", Const(n + 3, I8), dtype=B1, argtype=I8),
        op("ab", "and", "a", "b", dtype=B1), op("cd", "and", "c", "d", dtype=B1), op("g", "and", "ab", "cd", dtype=B1),
        Load("v", x, at(("i", n), ("j", 1), const=-2 * n - 3), "g" if inner else "ab", Const(7.0, F8)),
        Store(z, at(("i", n + 6), ("j", 1)), "v", guard="g" if inner else None),
    ]  # fmt: skip
    return Program("pad", [x, z], [Nest([Axis("i", n + 4), Axis("j", n + 6)], body)])


@pytest.mark.parametrize("n", [1, 5, 12])
def test_guarded_access(n: int) -> None:
    x, z = given("x", F8, n * n, 0), result("z", F8, (n + 4) * (n + 6))
    program = pad_program(n, True)
    program.body[0].body[-1].guard = None  # type: ignore[union-attr]
    agree(program, [RNG.random(n * n)])
    program = pad_program(n, True)
    x0 = RNG.random(n * n)
    for target in (HOST, SSE):
        loopinterp_nests(program)[0].schedule = None
        _, (found,), _ = Native(program, target)([x0])
        padded = np.full((n + 4, n + 6), 7.0)
        padded[2 : n + 2, 3 : n + 3] = x0.reshape(n, n)
        same(found, padded.ravel())
    assert x.size and z.size


def test_guard_of_one_element_for_all_lanes() -> None:
    x, k, z = given("x", F8, 3, 0), given("k", B1, 20, 1), result("z", F8, 20)
    body = [
        Load("g", k, at(("i", 1))), Load("a", x, at(const=1), "g", Const(5.0, F8)),
        Load("b", x, at(const=1 << 40), Const(False, B1), Const(2.0, F8)),
        op("s", "add", "a", "b"), Store(z, at(("i", 1)), "s"),
    ]  # fmt: skip
    program = Program("guards", [x, k, z], [Nest([Axis("i", 20)], body)])
    agree(program, [RNG.random(3), RNG.random(20) < 0.5])
    agree(program, [RNG.random(3), np.zeros(20, bool)])


@pytest.mark.parametrize("rows", [1, 20])
def test_gather_and_scatter_add(rows: int) -> None:
    d = 13
    table, idx = given("t", F8, 10 * d, 0), given("k", I8, rows, 1)
    out, total, flat = result("o", F8, rows * d, 0), result("s", F8, 10 * d, 1), result("f", F8, 10, 2)
    gather = [
        Load("r", idx, at(("i", 1))),
        Load("v", table, at(("r", d), ("j", 1))),
        Store(out, at(("i", d), ("j", 1)), "v"),
    ]
    clear = [Store(total, at(("z", 1)), Const(0.0, F8))]
    clear1 = [Store(flat, at(("z1", 1)), Const(0.0, F8))]
    scatter = [Load("r2", idx, at(("i2", 1))), Load("v2", out, at(("i2", d), ("j2", 1))),
               Store(total, at(("r2", d), ("j2", 1)), "v2", add=True)]  # fmt: skip
    single = [
        Load("r3", idx, at(("i3", 1))),
        op("h", "cast", "r3", dtype=F8, argtype=I8),
        Store(flat, at(("r3", 1)), "h", add=True),
    ]
    program = Program("gather", [table, idx, out, total, flat], [
        Nest([Axis("i", rows), Axis("j", d)], gather), Nest([Axis("z", 10 * d)], clear), Nest([Axis("z1", 10)], clear1),
        Nest([Axis("i2", rows, "scan"), Axis("j2", d)], scatter), Nest([Axis("i3", rows, "scan")], single),
    ])  # fmt: skip
    agree(program, [RNG.random(10 * d), RNG.integers(0, 10, rows)])
    assert "x double> @llvm.masked.load" in emit(program, HOST).text


def test_one_dimensional_gather() -> None:
    x, idx, z = given("x", F4, 50, 0), given("k", I8, 43, 1), result("z", F4, 43)
    body = [
        Load("r", idx, at(("i", 1))),
        Load("v", x, at(("r", 1))),
        op("w", "exp", "v", dtype=F4),
        Store(z, at(("i", 1)), "w"),
    ]
    program = Program("take", [x, idx, z], [Nest([Axis("i", 43)], body)])
    agree(program, [RNG.random(50).astype(F4), RNG.integers(0, 50, 43)], tolerance=1e-6)


def test_no_load_moves_in_front_of_a_failure() -> None:
    """The row is checked inside the inner loop; reading it first would leave the table."""
    idx, table, z = given("k", I8, 4, 0), given("t", F8, 3, 1), result("z", F8, 4 * 20)
    body = [
        Load("r", idx, at(("i", 1))), op("bad", "ge", "r", Const(3, I8), dtype=B1, argtype=I8), Fail("bad", 0, ("r",)),
        Load("v", table, at(("r", 1))), op("j0", "index", "j", dtype=F8), op("w", "add", "v", "j0"),
        Store(z, at(("i", 20), ("j", 1)), "w"),
    ]  # fmt: skip
    program = Program("checked", [idx, table, z], [Nest([Axis("i", 4), Axis("j", 20)], body)], messages=("",))
    native = Native(program)
    assert native([np.array([0, 1, 1 << 50, 2]), RNG.random(3)])[0] == 1
    agree(program, [np.array([0, 1, 0, 2]), RNG.random(3)])


# ---- the text -------------------------------------------------------------------------------------------


def test_text_is_deterministic_and_self_contained() -> None:
    first, second = (emit(softmax_program(N, M, ("n", "m")), HOST).text for _ in range(2))
    assert first == second
    llvm.compile_text(first, opt=0)


def test_the_convention_of_calls_is_spelt_in_the_runtime_alone() -> None:
    """Generators name fields of ctx; numbers of bytes stand in ``runtime.abi``."""
    for path in Path(emit_package.__file__).parent.glob("*.py"):
        text = path.read_text()
        assert "%ctx" not in text and "%dims" not in text and "%buffers" not in text, path.name


@pytest.mark.parametrize("opt", [0, 1, 2])
def test_every_optimization_level(opt: int) -> None:
    x = RNG.normal(size=300)
    status, (found,), _ = Native(softmax_program(3, 100, ()), opt=opt)([x])
    weights = np.exp(x.reshape(3, 100))
    np.testing.assert_allclose(found.reshape(3, 100), weights / weights.sum(1, keepdims=True), rtol=1e-13)
    assert status == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("step", [2, 3, 4, 5])
@pytest.mark.parametrize("size", [1, 9, 40])
@pytest.mark.parametrize("dtype", [F8, F4, B1])
def test_lanes_a_few_elements_apart(step: int, size: int, dtype: np.dtype) -> None:
    """The last element read or written is the last of its buffer."""
    x, y, z = given("x", dtype, (N - 1) * step + 1, 0), given("y", dtype, N, 1), result("z", dtype, N * step)
    body = [
        Load("a", x, at(("i", step))),
        op("g0", "index", "i", dtype=I8),
        op("g", "ne", "g0", Const(1, I8), dtype=B1, argtype=I8),
        Load("c", x, at(("i", step)), "g", Const(1, dtype)),
        Load("b", y, at(("i", 1))),
        op("d", "max", "a", "b", dtype=dtype),
        op("e", "min", "d", "c", dtype=dtype),
        Store(z, at(("i", step), const=step - 1), "e", guard="g"),
    ]
    clear = Nest([Axis("k", N * step)], [Store(z, at(("k", 1)), Const(0, dtype))])
    program = Program("apart", [x, y, z], [clear, Nest([Axis("i", N)], body)], ("n",))
    inputs = [RNG.integers(0, 2, count).astype(dtype) for count in ((size - 1) * step + 1, size)]
    agree(program, inputs, {"n": size})


def test_small_nests_share_a_function() -> None:
    x = given("x", F8, N, 0)
    outs = [result(f"z{p}", F8, N, p) for p in range(40)]
    program = Program(
        "many", [x, *outs], [affine_nest(p, [x, *outs][p], z) for p, z in enumerate(outs)], ("n",)
    )
    text = emit(program, HOST).text
    assert text.count("call void @.k") == 3  # 64 statements each
    assert text.count("define internal") == 2  # the first two do the same to other buffers
    agree(program, [RNG.integers(0, 9, 21).astype(F8)], {"n": 21})


@pytest.mark.parametrize("differs", ["nothing", "constant", "buffers"])
def test_groups_that_do_the_same_are_one_function(differs: str) -> None:
    """Two long groups: alike, with another constant, and with one buffer in the place of two."""
    x, y = given("x", F8, N, 0), given("y", F8, N, 1)
    outs = [result(f"z{p}", F8, N, p) for p in range(2)]
    nests: list[Statement] = []
    for g, z in enumerate(outs):
        second = x if differs == "buffers" and g else y
        factor = 3.0 if differs == "constant" and g else 2.0
        for p in range(MAX_LOOPS // 6):
            i, a, b, c, d = (f"{v}{g}_{p}" for v in "iabcd")
            body = [Load(a, x, at((i, 1))), Load(b, second, at((i, 1)))]
            body += [op(c, "mul", a, Const(factor, F8)), op(d, "add", c, b), Store(z, at((i, 1)), d)]
            nests.append(Nest([Axis(i, N)], body))
    program = Program("twice", [x, y, *outs], nests, ("n",))
    text = emit(program, HOST).text
    assert text.count("call void @.k") == 2
    assert text.count("define internal") == (1 if differs == "nothing" else 2)
    agree(program, [RNG.integers(0, 9, 21).astype(F8) for _ in range(2)], {"n": 21})


def affine_nest(p: int, x: Buffer, z: Buffer) -> Nest:
    i, a, b = f"i{p}", f"a{p}", f"b{p}"
    return Nest(
        [Axis(i, N)], [Load(a, x, at((i, 1))), op(b, "add", a, Const(1.0, F8)), Store(z, at((i, 1)), b)]
    )


@pytest.mark.parametrize("bytes_", [16, 64])
def test_loops_are_settled_where_addresses_scale(bytes_: int) -> None:
    """What a loop counts is hidden from LLVM's search for better steps, where the code needs none."""
    text = emit(softmax_program(9, 1000, ()), Target(bytes_, has_masks=False, has_permute=False)).text
    assert ("@llvm.expect.i64(i64 %loop" in text) is (bytes_ > 16)
