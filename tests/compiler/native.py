"""Loop programs for tests: short constructors, programs as callables, and agreement with the interpreter."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import numpy as np

from compiler import parts
from tracejit.compiler.codegen import llvm, matmul
from tracejit.compiler.codegen.program import Emitted, emit
from tracejit.compiler.codegen.writing.kernel_calls import SHARED
from tracejit.compiler.loopir import interpreter as loopinterp
from tracejit.compiler.loopir.ir import Combine, Compute, Load, Nest, Program, Store
from tracejit.compiler.loopir.operands import Acc, Axis, Buffer, Const, Index
from tracejit.compiler.loopir.passes.schedule import Target
from tracejit.core.dim import Dim, Size, evaluate
from tracejit.runtime import abi, cpu, objects
from tracejit.runtime.threads import state

F8, F4, I8, I4, B1, F2 = (np.dtype(t) for t in ("f8", "f4", "i8", "i4", "?", "f2"))
U1, U4, U8, I1, I2 = (np.dtype(t) for t in ("u1", "u4", "u8", "i1", "i2"))
N, M = Dim.of("n"), Dim.of("m")
HOST = Target.of(cpu.host().features)
SSE = Target(16, has_fma=False, has_masks=False, has_permute=False)


def given(name: str, dtype: np.dtype, size: Size, slot: int) -> Buffer:
    return Buffer(name, dtype, size, "input", slot)


def result(name: str, dtype: np.dtype, size: Size, slot: int = 0) -> Buffer:
    return Buffer(name, dtype, size, "output", slot)


def at(*terms: tuple[str, Size], const: Size = 0) -> Index:
    return Index(const, terms)


def op(out: str, name: str, *args: object, dtype: np.dtype = F8, argtype: np.dtype | None = None) -> Compute:
    return Compute(out, name, args, dtype, argtype or dtype)  # type: ignore[arg-type]


def local(name: str, dtype: np.dtype, size: int) -> Buffer:
    return Buffer(name, dtype, size, "local")


def copy_nest(axis: str, source: Buffer, target: Buffer, size: Size) -> Nest:
    out = f"copy_{axis}"
    return Nest([Axis(axis, size)], [Load(out, source, at((axis, 1))), Store(target, at((axis, 1)), out)])


# ---- running --------------------------------------------------------------------------------------------


class Native:
    """An emitted program as a callable."""

    def __init__(self, program: Program, target: Target = HOST, opt: int = 1):
        self.program = program
        self.emitted: Emitted = emit(program, target)
        self.image = llvm.compile_text(self.emitted.text, opt=opt)
        self.entry = abi.ENTRY_TYPE(objects.load(self.image).address(program.name))
        self.context = abi.Context(version=abi.VERSION, alloc=abi.ALLOC_ADDRESS, free=abi.FREE_ADDRESS)
        self.context.alloc_large, self.context.free_large = abi.ALLOC_ADDRESS, abi.FREE_ADDRESS

    def functions(self) -> ctypes.Array:
        table = (ctypes.c_void_p * (len(self.emitted.functions) + 1))()
        for p, name in enumerate(self.emitted.functions):
            if name == state.NAME:
                table[p] = parts.backwards()
                continue
            shares = name.endswith(SHARED)
            dtype = {"gemm_f32": "float32", "gemm_f64": "float64"}[name.removesuffix(SHARED)]
            loaded = objects.load(llvm.compile_text(matmul.kernel_text(dtype, shares=shares)))
            table[p] = loaded.address(matmul.symbol(dtype, shares=shares))
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
    return agree_at_each(program, [(inputs, sizes)], constants, tolerance, targets)


def agree_at_each(
    program: Program,
    calls: Sequence[tuple[Sequence[np.ndarray], Mapping[str, int]]],
    constants: Sequence[np.ndarray] = (),
    tolerance: float = 0.0,
    targets: Sequence[Target] = (HOST, SSE),
) -> list[np.ndarray]:
    """Compile once and run with each of the inputs and sizes, as the interpreter does; the outputs of the last."""
    for target in targets:
        for statement in loopinterp_nests(program):
            statement.schedule = None
        run = Native(program, target)
        for inputs, sizes in calls:
            with np.errstate(all="ignore"):
                expected, bound_expected = loopinterp.run(program, inputs, sizes, constants)
            status, found, bound = run(inputs, sizes, constants)
            assert status == 0 and bound == bound_expected
            for mine, theirs in zip(found, expected, strict=True):
                same(mine, theirs, tolerance)
    return found


def loopinterp_nests(program: Program) -> list[Nest]:
    from tracejit.compiler.loopir.ir import walk

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


# ---- programs -------------------------------------------------------------------------------------------


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


def softmax_program(rows: Size, columns: Size, atoms: tuple[str, ...], dtype: np.dtype = F8) -> Program:
    x, z = given("x", dtype, rows * columns, 0), result("z", dtype, rows * columns)
    cell = [("i", columns)]
    scale = Nest([Axis("j3", columns)], [
        Load("e2", z, at(*cell, ("j3", 1))), op("q", "div", "e2", "s", dtype=dtype),
        Store(z, at(*cell, ("j3", 1)), "q"),
    ])  # fmt: skip
    total = Nest([Axis("j2", columns, "reduce")], [
        Load("b", x, at(*cell, ("j2", 1))), op("c", "sub", "b", "m", dtype=dtype), op("e", "exp", "c", dtype=dtype),
        Store(z, at(*cell, ("j2", 1)), "e"), Combine("add", ("s",), ("e",)),
    ], [Acc("s", dtype, Const(0.0, dtype))], [scale])  # fmt: skip
    largest = Nest([Axis("i", rows), Axis("j", columns, "reduce")],
                   [Load("a", x, at(*cell, ("j", 1))), Combine("max", ("m",), ("a",))],
                   [Acc("m", dtype, Const(-np.inf, dtype))], [total])  # fmt: skip
    return Program("softmax", [x, z], [largest], atoms)
