"""Every scalar operation and conversion as machine code, on edge cases, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.native import (
    B1,
    F2,
    F4,
    F8,
    HOST,
    I1,
    I2,
    I4,
    I8,
    RNG,
    U1,
    U4,
    U8,
    Native,
    agree,
    at,
    given,
    op,
    result,
    same,
    unary_program,
)
from tracejit.compiler.codegen.program import emit
from tracejit.compiler.loopir.ir import Load, Nest, Program, Store
from tracejit.compiler.loopir.operands import Axis
from tracejit.compiler.loopir.scalar_ops import SCALAR_OPS

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
        expected = SCALAR_OPS[name].meaning(x, y)
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
