"""Emitted programs against the interpreter of the loop IR: every structure, rule and tail."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from tracejit.compiler import llvm, loopinterp, matmul
from tracejit.compiler.emit import Emitted, context, emit, memory
from tracejit.compiler.loops import (
    Acc,
    Allocate,
    Axis,
    Buffer,
    Call,
    Combine,
    Compute,
    Const,
    Fail,
    Grow,
    If,
    Index,
    Load,
    Nest,
    Program,
    Size_,
    Store,
    View,
    While,
)
from tracejit.compiler.schedule import Target
from tracejit.core.dim import Dim, Size, evaluate
from tracejit.runtime import abi, cpu, objects

F8, F4, I8, I4, B1, F2 = (np.dtype(t) for t in ("f8", "f4", "i8", "i4", "?", "f2"))
U1, U4, U8, I1, I2 = (np.dtype(t) for t in ("u1", "u4", "u8", "i1", "i2"))
N, M = Dim.of("n"), Dim.of("m")
HOST = Target.of(cpu.host().features)
SSE = Target(16, has_fma=False, has_gather=False, has_masks=False, has_permute=False)


def given(name: str, dtype: np.dtype, size: Size, slot: int) -> Buffer:
    return Buffer(name, dtype, size, "input", slot)


def result(name: str, dtype: np.dtype, size: Size, slot: int = 0) -> Buffer:
    return Buffer(name, dtype, size, "output", slot)


def at(*terms: tuple[str, Size], const: Size = 0) -> Index:
    return Index(const, terms)


def op(out: str, name: str, *args: object, dtype: np.dtype = F8, argtype: np.dtype | None = None) -> Compute:
    return Compute(out, name, args, dtype, argtype or dtype)  # type: ignore[arg-type]


# ---- running --------------------------------------------------------------------------------------------


class Native:
    """An emitted program as a callable."""

    def __init__(self, program: Program, target: Target = HOST, opt: int = 1):
        self.program = program
        self.emitted: Emitted = emit(program, target)
        self.image = llvm.compile_text(self.emitted.text, opt=opt)
        self.entry = abi.ENTRY_TYPE(objects.load(self.image).address(program.name))
        self.context = abi.Context(version=abi.VERSION, alloc=abi.ALLOC_ADDRESS, free=abi.FREE_ADDRESS)

    def functions(self) -> ctypes.Array:
        table = (ctypes.c_void_p * (len(self.emitted.functions) + 1))()
        for p, name in enumerate(self.emitted.functions):
            dtype = {"gemm_f32": "float32", "gemm_f64": "float64"}[name]
            loaded = objects.load(llvm.compile_text(matmul.kernel_text(dtype)))
            table[p] = loaded.address(matmul.symbol(dtype))
        return table

    def __call__(
        self,
        inputs: Sequence[np.ndarray],
        sizes: Mapping[str, int] = {},
        constants: Sequence[np.ndarray] = (),
    ) -> tuple[int, list[np.ndarray], dict[str, int]]:
        program, c = self.program, self.context
        outputs = sorted(
            (b for b in program.buffers if b.kind == "output" or (b.kind == "heap" and b.slot >= 0)),
            key=lambda b: b.slot,
        )
        made = [
            np.full(evaluate(b.size, sizes) if b.kind == "output" else 0, 7).astype(b.dtype) for b in outputs
        ]
        pointers = (ctypes.c_void_p * (len(inputs) + len(made) + 1))(
            *[a.ctypes.data for a in [*inputs, *made]]
        )
        dims = (ctypes.c_int64 * (len(program.atoms) + len(program.bound) + 1))(
            *[sizes[a] for a in program.atoms]
        )
        space = np.empty(evaluate(self.emitted.workspace, sizes) + 64, np.uint8)
        c.workspace = (space.ctypes.data + 63) & -64
        consts = (ctypes.c_void_p * (len(constants) + 1))(*[a.ctypes.data for a in constants])
        c.constants, c.functions = ctypes.addressof(consts), ctypes.addressof(table := self.functions())
        status = self.entry(pointers, dims, ctypes.addressof(c))
        bound = {a: dims[len(program.atoms) + p] for p, a in enumerate(program.bound)}
        assert table is not None
        for p, b in enumerate(outputs):
            if b.kind == "heap" and status == 0:
                count = evaluate(b.size, {**sizes, **bound})
                address = pointers[len(inputs) + p]
                raw = (ctypes.c_char * (count * b.dtype.itemsize)).from_address(address)
                made[p] = np.frombuffer(bytes(raw), b.dtype)
                abi.release(address)
        return status, made, bound


def agree(
    program: Program,
    inputs: Sequence[np.ndarray],
    sizes: Mapping[str, int] = {},
    constants: Sequence[np.ndarray] = (),
    tolerance: float = 0.0,
    targets: Sequence[Target] = (HOST, SSE),
) -> list[np.ndarray]:
    """Run on the machine and by the interpreter; the machine's outputs."""
    with np.errstate(all="ignore"):
        expected, bound_expected = loopinterp.run(program, inputs, sizes, constants)
    for target in targets:
        for statement in loopinterp_nests(program):
            statement.schedule = None
        status, found, bound = Native(program, target)(inputs, sizes, constants)
        assert status == 0 and bound == bound_expected
        for mine, theirs in zip(found, expected, strict=True):
            same(mine, theirs, tolerance)
    return found


def loopinterp_nests(program: Program) -> list[Nest]:
    from tracejit.compiler.loops import walk

    return [s for s in walk(program.body) if isinstance(s, Nest)]


def same(found: np.ndarray, expected: np.ndarray, tolerance: float = 0.0) -> None:
    assert found.dtype == expected.dtype
    if tolerance:
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(found, expected)
        if found.dtype.kind == "f":
            number = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(found[number]), np.signbit(expected[number]))


RNG = np.random.default_rng(0)
SIZES = (0, 1, 2, 7, 8, 9, 31, 33, 1000)


def unary_program(name: str, size: Size, atoms: tuple[str, ...], dtype: np.dtype = F8) -> Program:
    x, y = given("x", dtype, size, 0), result("y", dtype, size)
    body = [Load("a", x, at(("i", 1))), op("b", name, "a", dtype=dtype), Store(y, at(("i", 1)), "b")]
    return Program("unary", [x, y], [Nest([Axis("i", size)], body)], atoms)


def affine_program(size: Size, atoms: tuple[str, ...], dtype: np.dtype = F8) -> Program:
    x, y, z = given("x", dtype, size, 0), given("y", dtype, size, 1), result("z", dtype, size)
    body = [
        Load("a", x, at(("i", 1))), Load("b", y, at(("i", 1))), op("p", "mul", "a", "b", dtype=dtype),
        op("q", "add", "p", Const(1, dtype), dtype=dtype), Store(z, at(("i", 1)), "q"),
    ]  # fmt: skip
    return Program("affine", [x, y, z], [Nest([Axis("i", size)], body)], atoms, contract=False)


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
        op("a", "ge", "i0", Const(2, I8), dtype=B1, argtype=I8), op("b", "lt", "i0", Const(n + 2, I8), dtype=B1, argtype=I8),
        op("c", "ge", "j0", Const(3, I8), dtype=B1, argtype=I8), op("d", "lt", "j0", Const(n + 3, I8), dtype=B1, argtype=I8),
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


# ---- scalar operations ----------------------------------------------------------------------------------

SPECIAL = np.array([0.0, -0.0, 1.5, -1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-310, -7.0, 3.0, 1e300])


def binary_program(name: str, dtype: np.dtype, size: int, out: np.dtype | None = None) -> Program:
    x, y, z = given("x", dtype, size, 0), given("y", dtype, size, 1), result("z", out or dtype, size)
    body = [
        Load("a", x, at(("i", 1))), Load("b", y, at(("i", 1))),
        op("c", name, "a", "b", dtype=out or dtype, argtype=dtype), Store(z, at(("i", 1)), "c"),
    ]  # fmt: skip
    return Program("binary", [x, y, z], [Nest([Axis("i", size)], body)])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "min", "max", "floordiv", "mod"])
@pytest.mark.parametrize("dtype", [F8, F4])
def test_float_pairs(name: str, dtype: np.dtype) -> None:
    with np.errstate(over="ignore"):
        x, y = (v.ravel().astype(dtype) for v in np.meshgrid(SPECIAL, SPECIAL))
    _, (found,), _ = Native(binary_program(name, dtype, len(x)))([x, y])
    with np.errstate(all="ignore"):
        expected = loopinterp.SCALAR[name](x, y)
    where = ~((x == 0) & (y == 0)) if name in ("min", "max") else np.ones(len(x), bool)
    same(found[where], expected[where])


@pytest.mark.parametrize("name", ["lt", "le", "eq", "ne", "gt", "ge"])
@pytest.mark.parametrize("dtype", [F8, I4, U1, B1])
def test_comparisons(name: str, dtype: np.dtype) -> None:
    values = SPECIAL if dtype.kind == "f" else np.array([0, 1, 2, 255, -1, 127]).astype(dtype)
    x, y = (v.ravel() for v in np.meshgrid(values, values))
    agree(binary_program(name, dtype, len(x), B1), [x, y])


EDGES = {
    I4: [0, 1, -1, 5, -5, 2**31 - 1, -(2**31), 40],
    I8: [0, 1, -1, 7, -7, 2**63 - 1, -(2**63), 70],
    U1: [0, 1, 3, 255, 128, 9],
    U8: [0, 1, 3, 2**64 - 1, 2**63, 65],
}


@pytest.mark.parametrize(
    "name",
    ["add", "sub", "mul", "min", "max", "floordiv", "mod", "and", "or", "xor", "shl", "shr", "pow", "mulhi"],
)
@pytest.mark.parametrize("dtype", EDGES)
def test_integer_pairs(name: str, dtype: np.dtype) -> None:
    x, y = (v.ravel() for v in np.meshgrid(*[np.array(EDGES[dtype]).astype(dtype)] * 2))
    if name in ("shl", "shr", "pow"):
        keep = (y >= 0) | (name == "pow")
        x, y = x[keep], y[keep]
    with np.errstate(all="ignore"):
        agree(binary_program(name, dtype, len(x)), [x, y])


@pytest.mark.parametrize("name", ["neg", "abs", "sqrt", "sign", "floor", "ceil", "round", "trunc"])
@pytest.mark.parametrize("dtype", [F8, F4, I4, U1])
def test_unary(name: str, dtype: np.dtype) -> None:
    if dtype.kind != "f" and name == "sqrt":
        return
    x = SPECIAL if dtype.kind == "f" else np.array([0, 1, -1, 127, -128])
    with np.errstate(all="ignore"):
        x = x.astype(dtype)
        agree(unary_program(name, len(x), (), dtype), [x])


@pytest.mark.parametrize("source", [F8, F4, F2, I8, I4, I1, U1, U4, U8, B1])
@pytest.mark.parametrize("target", [F8, F4, F2, I8, I4, I1, I2, U1, U4, U8, B1])
def test_casts(source: np.dtype, target: np.dtype) -> None:
    values = np.array(
        [0, 1, 2.75, 100, 3, 127, 65519.99, 1.0009765, 2049.0000001]
        if source.kind == "f"
        else [0, 1, 2, 100, 255, 254]
    )
    if source.kind == "f" and target.kind != "f":
        values = np.minimum(values, np.iinfo(target).max if target.kind != "b" else 2)
    if source.kind == "f" and target.kind in "fi" and target.itemsize > 1:
        values = np.concatenate([values, -values])
    x = values.astype(source)
    xb, z = given("x", source, len(x), 0), result("z", target, len(x))
    body = [
        Load("a", xb, at(("i", 1))),
        op("b", "cast", "a", dtype=target, argtype=source),
        Store(z, at(("i", 1)), "b"),
    ]
    program = Program("cast", [xb, z], [Nest([Axis("i", len(x))], body)])
    agree(program, [x], targets=(HOST,))


@pytest.mark.parametrize("count", [1, 9])
def test_elementary_functions_inlined_and_called(count: int) -> None:
    x, z = given("x", F8, 100, 0), result("z", F8, 100)
    body = [
        Load("v0", x, at(("i", 1))),
        *[op(f"v{p + 1}", "tanh", f"v{p}") for p in range(count)],
        Store(z, at(("i", 1)), f"v{count}"),
    ]
    program = Program("tanhs", [x, z], [Nest([Axis("i", 100)], body)])
    agree(program, [RNG.random(100)], tolerance=1e-14)
    assert ("_inline" in emit(program, HOST).text) == (count == 1)


# ---- reductions -----------------------------------------------------------------------------------------


def reduce_program(
    rule: str, dtype: np.dtype, rows: Size, columns: Size, axes: str, atoms: tuple[str, ...] = ()
) -> Program:
    """`axes` says which of i (rows) and j (columns) are reduced."""
    init = {"add": 0, "mul": 1, "or": 0, "and": 1}.get(rule)
    if init is None:
        init = (
            (-np.inf if rule == "max" else np.inf)
            if dtype.kind == "f"
            else (np.iinfo(dtype).min if rule == "max" else np.iinfo(dtype).max)
            if dtype.kind in "iu"
            else rule == "min"
        )
    x = given("x", dtype, rows * columns, 0)
    kept = [(("i", rows), ("j", columns))[p] for p in range(2) if "ij"[p] not in axes]
    z = result("z", dtype, kept[0][1] if kept else 1)
    nest = Nest(
        [
            Axis("i", rows, "reduce" if "i" in axes else "parallel"),
            Axis("j", columns, "reduce" if "j" in axes else "parallel"),
        ],
        [Load("a", x, at(("i", columns), ("j", 1))), Combine(rule, ("s",), ("a",))],
        [Acc("s", dtype, Const(init, dtype))],
        [Store(z, at(*[(name, 1) for name, _ in kept]), "s")],
    )
    return Program("reduce", [x, z], [nest], atoms)


SHAPES = [(0, 5), (1, 1), (3, 4), (7, 65), (40, 3), (130, 129), (5, 0)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("axes", ["i", "j", "ij"])
@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    ("rule", "dtype"), [("add", F4), ("add", F8), ("add", I8), ("max", F8), ("min", I4), ("or", B1)]
)
def test_reductions(shape: tuple[int, int], axes: str, symbolic: bool, rule: str, dtype: np.dtype) -> None:
    n, m = shape
    program = (
        reduce_program(rule, dtype, N, M, axes, ("n", "m"))
        if symbolic
        else reduce_program(rule, dtype, n, m, axes)
    )
    x = (RNG.random(n * m) < 0.1) if dtype.kind == "b" else RNG.integers(-9, 9, n * m).astype(dtype)
    agree(program, [x], {"n": n, "m": m})


@pytest.mark.parametrize(
    ("rule", "dtype"),
    [
        ("mul", F8),
        ("mul", I4),
        ("max", F4),
        ("min", F8),
        ("and", B1),
        ("and", I4),
        ("or", U1),
        ("max", U1),
        ("max", B1),
        ("min", B1),
    ],
)
@pytest.mark.parametrize("axes", ["i", "j", "ij"])
def test_rules(rule: str, dtype: np.dtype, axes: str) -> None:
    x = (
        RNG.random(12 * 37) < 0.9
        if dtype.kind == "b"
        else (RNG.integers(1, 5, 12 * 37) - 2 * (rule != "mul")).astype(dtype)
    )
    x = np.where(RNG.random(x.size) < 0.03, 2, 1).astype(dtype) if rule == "mul" else x
    agree(reduce_program(rule, dtype, 12, 37, axes), [x])


@pytest.mark.parametrize("special", [[np.nan], [np.inf], [np.inf, -np.inf], [np.inf, np.nan], [3e38] * 9])
@pytest.mark.parametrize("rule", ["add", "max", "min"])
@pytest.mark.parametrize("axes", ["i", "j", "ij"])
def test_special_values_in_reductions(special: list[float], rule: str, axes: str) -> None:
    x = RNG.random(70 * 90).astype(F4)
    x[RNG.choice(x.size, len(special), replace=False)] = special
    agree(reduce_program(rule, F4, 70, 90, axes), [x], tolerance=1e-5, targets=(HOST,))


def test_negative_zero_sums() -> None:
    found = agree(reduce_program("add", F8, 3, 50, "j"), [np.full(150, -0.0)])
    assert not np.signbit(found[0]).any()  # the initial value is +0


@pytest.mark.parametrize("values", ["random", "constant", "signed"])
@pytest.mark.parametrize("axes", ["i", "j", "ij"])
def test_float32_sums_stay_accurate(values: str, axes: str) -> None:
    """Within 8 units in the last place of the sum of magnitudes, however long."""
    count = 3_000_000
    x = np.full(count, 0.1, F4) if values == "constant" else RNG.random(count).astype(F4)
    if values == "signed":
        x -= F4.type(0.5)
    shape = {"i": (count // 3, 3), "j": (3, count // 3), "ij": (3, count // 3)}[axes]
    _, (found,), _ = Native(reduce_program("add", F4, N, M, axes, ("n", "m")))(
        [x], dict(zip("nm", shape, strict=True))
    )
    over = {"i": 0, "j": 1, "ij": (0, 1)}[axes]
    wide = x.reshape(shape).astype(F8)
    bound = 8 * np.spacing(np.abs(wide).sum(over).astype(F4))
    assert (np.abs(found - wide.sum(over)) <= bound).all()


def argmax_program(rule: str, dtype: np.dtype, rows: int, columns: int, axes: str) -> Program:
    x = given("x", dtype, rows * columns, 0)
    kept = [p for p in range(2) if "ij"[p] not in axes]
    z, w = (
        result("z", I8, ((rows, columns)[kept[0]] if kept else 1), 0),
        result("w", dtype, ((rows, columns)[kept[0]] if kept else 1), 1),
    )
    lowest = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min
    highest = np.inf if dtype.kind == "f" else np.iinfo(dtype).max
    place = [op("pi", "index", "i", dtype=I8), op("pj", "index", "j", dtype=I8), op("pm", "mul", "pi", Const(columns, I8), dtype=I8),
             op("p", "add", "pm", "pj", dtype=I8)]  # fmt: skip
    nest = Nest(
        [
            Axis("i", rows, "reduce" if "i" in axes else "parallel"),
            Axis("j", columns, "reduce" if "j" in axes else "parallel"),
        ],
        [Load("a", x, at(("i", columns), ("j", 1))), *place, Combine(rule, ("s", "at"), ("a", "p"))],
        [Acc("s", dtype, Const(lowest if rule == "argmax" else highest, dtype)), Acc("at", I8, Const(0, I8))],
        [Store(z, at(*[("ij"[p], 1) for p in kept]), "at"), Store(w, at(*[("ij"[p], 1) for p in kept]), "s")],
    )
    return Program("arg", [x, z, w], [nest])


@pytest.mark.parametrize("rule", ["argmax", "argmin"])
@pytest.mark.parametrize("axes", ["i", "j", "ij"])
@pytest.mark.parametrize("dtype", [F8, F4, I4, U1])
def test_argmax(rule: str, axes: str, dtype: np.dtype) -> None:
    for rows, columns in ((1, 1), (5, 7), (33, 40)):
        x = RNG.integers(0, 6, rows * columns).astype(dtype)
        agree(argmax_program(rule, dtype, rows, columns, axes), [x])
        if dtype.kind == "f":
            x[RNG.random(x.size) < 0.05] = np.nan
            agree(argmax_program(rule, dtype, rows, columns, axes), [x])
    assert np.isnan(x).any() or dtype.kind != "f"


@pytest.mark.parametrize("axis", [0, 1])
def test_cumulative_sum(axis: int) -> None:
    n, m = 9, 21
    x, z, t = given("x", F8, n * m, 0), result("z", F8, n * m, 0), result("t", F8, (m, n)[axis], 1)
    nest = Nest(
        [
            Axis("i", n, "scan" if axis == 0 else "parallel"),
            Axis("j", m, "scan" if axis == 1 else "parallel"),
        ],
        [
            Load("a", x, at(("i", m), ("j", 1))),
            Combine("add", ("s",), ("a",)),
            Store(z, at(("i", m), ("j", 1)), "s"),
        ],
        [Acc("s", F8, Const(0.0, F8))],
        [Store(t, at(("ji"[axis], 1)), "s")],
    )
    agree(Program("cumsum", [x, z, t], [nest]), [RNG.integers(0, 9, n * m).astype(F8)])


def softmax_program(rows: Size, columns: Size, atoms: tuple[str, ...], dtype: np.dtype = F8) -> Program:
    x, z = given("x", dtype, rows * columns, 0), result("z", dtype, rows * columns)
    cell = [("i", columns)]
    scale = Nest([Axis("j3", columns)], [
        Load("e2", z, at(*cell, ("j3", 1))), op("q", "div", "e2", "s", dtype=dtype), Store(z, at(*cell, ("j3", 1)), "q"),
    ])  # fmt: skip
    total = Nest([Axis("j2", columns, "reduce")], [
        Load("b", x, at(*cell, ("j2", 1))), op("c", "sub", "b", "m", dtype=dtype), op("e", "exp", "c", dtype=dtype),
        Store(z, at(*cell, ("j2", 1)), "e"), Combine("add", ("s",), ("e",)),
    ], [Acc("s", dtype, Const(0.0, dtype))], [scale])  # fmt: skip
    largest = Nest([Axis("i", rows), Axis("j", columns, "reduce")],
                   [Load("a", x, at(*cell, ("j", 1))), Combine("max", ("m",), ("a",))],
                   [Acc("m", dtype, Const(-np.inf, dtype))], [total])  # fmt: skip
    return Program("softmax", [x, z], [largest], atoms)


@pytest.mark.parametrize("shape", [(1, 1), (4, 9), (10, 128), (3, 1000)])
@pytest.mark.parametrize("symbolic", [False, True])
def test_softmax_in_one_nest(shape: tuple[int, int], symbolic: bool) -> None:
    n, m = shape
    program = softmax_program(N, M, ("n", "m")) if symbolic else softmax_program(n, m, ())
    agree(program, [RNG.normal(size=n * m)], {"n": n, "m": m}, tolerance=1e-13)


def test_accumulator_fed_by_an_inner_nest() -> None:
    x, z = given("x", F8, 60, 0), result("z", F8, 4)
    inner = Nest(
        [Axis("j", 15, "reduce")], [Load("a", x, at(("i", 15), ("j", 1))), Combine("add", ("s",), ("a",))]
    )
    outer = Nest([Axis("i", 4)], [inner], [Acc("s", F8, Const(0.0, F8))], [Store(z, at(("i", 1)), "s")])
    agree(Program("fed", [x, z], [outer]), [RNG.integers(0, 9, 60).astype(F8)])


def test_scalars_pass_between_kernels() -> None:
    x, z = given("x", F8, N, 0), result("z", F8, N)
    total = Nest([Axis("j", N, "reduce")], [Load("a", x, at(("j", 1))), Combine("add", ("s",), ("a",))],
                 [Acc("s", F8, Const(0.0, F8))], [])  # fmt: skip
    body = [Load("b", x, at(("i", 1))), op("c", "mul", "b", "mean"), Store(z, at(("i", 1)), "c")]
    program = Program("scaled", [x, z], [
        total, Size_("count", N), op("real", "cast", "count", dtype=F8, argtype=I8), op("mean", "div", "s", "real"),
        Nest([Axis("i", N)], body),
    ], ("n",))  # fmt: skip
    x0 = RNG.random(100)
    _, (found,), _ = Native(program)([x0], {"n": 100})
    np.testing.assert_allclose(found, x0 * x0.mean(), rtol=1e-14)


# ---- control flow ---------------------------------------------------------------------------------------


def local(name: str, dtype: np.dtype, size: int) -> Buffer:
    return Buffer(name, dtype, size, "local")


def copy_nest(axis: str, source: Buffer, target: Buffer, size: Size) -> Nest:
    out = f"copy_{axis}"
    return Nest([Axis(axis, size)], [Load(out, source, at((axis, 1))), Store(target, at((axis, 1)), out)])


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


# ---- the text -------------------------------------------------------------------------------------------


def test_text_is_deterministic_and_self_contained() -> None:
    first, second = (emit(softmax_program(N, M, ("n", "m")), HOST).text for _ in range(2))
    assert first == second
    llvm.compile_text(first, opt=0)


def test_context_offsets_are_the_runtime_s() -> None:
    names = ("ALLOC", "FREE", "WORKSPACE", "CONSTANTS", "FUNCTIONS", "POLL", "ALLOCATIONS", "DETAIL")
    assert all(getattr(context, n) == getattr(abi, f"CTX_{n}") for n in names)
    assert context.OUT_OF_MEMORY == abi.STATUS_OUT_OF_MEMORY and context.INTERRUPTED == abi.STATUS_INTERRUPTED
    assert context.DETAIL_COUNT == abi.DETAIL_COUNT and memory.ALIGN == abi.WORKSPACE_ALIGN


@pytest.mark.parametrize("opt", [0, 1, 2])
def test_every_optimization_level(opt: int) -> None:
    x = RNG.normal(size=300)
    status, (found,), _ = Native(softmax_program(3, 100, ()), opt=opt)([x])
    weights = np.exp(x.reshape(3, 100))
    np.testing.assert_allclose(found.reshape(3, 100), weights / weights.sum(1, keepdims=True), rtol=1e-13)
    assert status == 0


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


@pytest.mark.parametrize(("rule", "dtype"), [("add", F8), ("add", F4), ("max", F4), ("or", B1), ("add", I4)])
@pytest.mark.parametrize("shape", [(17, 700), (50, 1030), (3, 999), (0, 5), (40, 1)])
def test_sums_down_wide_rows(rule: str, dtype: np.dtype, shape: tuple[int, int]) -> None:
    n, m = shape
    x = RNG.random(n * m) < 0.1 if dtype.kind == "b" else RNG.integers(-9, 9, n * m).astype(dtype)
    program = reduce_program(rule, dtype, N, M, "i", ("n", "m"))
    agree(program, [x], {"n": n, "m": m})
    assert "strips" in str(loopinterp_nests(program)[0].schedule)
    agree(reduce_program(rule, dtype, n, m, "i"), [x])
