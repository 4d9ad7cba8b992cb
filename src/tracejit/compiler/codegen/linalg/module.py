"""A module of kernels being written: functions, each declared once, with what all of them need."""

from __future__ import annotations

from typing import Any

from ...ir_text import Value
from ..matmul.counted_loops import Operand, Signature, Writer, loop_metadata
from ..matmul.geometry import Geometry
from ..matmul.packing import packing_functions
from ..matmul.vectors import declarations
from .sizes import Sizes

PRODUCTS = "ptr %gemm, ptr %parallel, ptr %work"
"""The last parameters of what multiplies: the kernel of products, the thread pool or null, and memory to work in."""


class Module:
    """The text of one module; `add` closes a function."""

    def __init__(self, s: Sizes) -> None:
        self.s = s
        self.functions: list[str] = [packing_functions(s.g)]
        self.declares: dict[str, str] = {_symbol(line): line for line in declarations(s.g).splitlines()}

    def add(self, w: Writer, result: str = "void") -> None:
        """Close a function that returns `result` at its end."""
        self.functions.append(w.text(result))
        for symbol, line in w.declares.items():
            self.declares.setdefault(symbol, line)

    def text(self) -> str:
        return "".join(
            [
                *(f"{line}\n" for line in self.declares.values()),
                *self.functions,
                'attributes #0 = { "no-builtins" }\n',
                loop_metadata(),
            ]
        )


def _symbol(line: str) -> str:
    return line[line.index("@") : line.index("(")]


def entry(symbol: str, parameters: str) -> Signature:
    """An external function of a module."""
    return Signature(symbol, parameters, linkage="", attributes="nounwind #0")


# ---- instructions ---------------------------------------------------------------------------------------


def subtract_product(w: Writer, g: Geometry, left: Value, right: Value, total: Value) -> Value:
    """``total - left * right``, fused where the machine can."""
    if g.fma:
        return w.intrinsic("fma", w.unary("fneg", left), right, total)
    return w.op("fsub", total, w.op("fmul", left, right))


def at(
    w: Writer, base: Value, row: Operand, stride: Operand, column: Operand = 0, step: Operand = 0
) -> Value:
    """The address of an element, by strides in bytes."""
    place = w.offset(base, w.multiply(row, stride))
    return place if str(column) == "0" else w.offset(place, w.multiply(column, step))


def products_of(w: Writer) -> list[Value]:
    """The parameters of `PRODUCTS`, to be handed on."""
    return w.args("gemm parallel work")


def multiply(
    w: Writer,
    s: Sizes,
    shape: tuple[Operand, ...],
    a: tuple[Any, ...],
    b: tuple[Any, ...],
    c: tuple[Any, ...],
) -> None:
    """``C += A B`` by the kernel of matrix products, whose address is the parameter `gemm`; strides in bytes.

    Where the parameter `parallel` is not null, threads share products that are worth it.
    """
    shift = s.g.size.bit_length() - 1

    def elements(stride: Operand) -> str:
        return f"i64 {w.op('ashr', stride, shift)}"

    operands = [f"i64 {size}" for size in shape]
    for pointer, row, column in (a, b):
        operands += [f"ptr {pointer}", elements(row), elements(column)]
    operands += [
        f"ptr {c[0]}",
        elements(c[1]),
        "i64 1",
        f"ptr {w.offset(w.arg.work, s.product_at)}",
        Value("%parallel", "ptr").typed,
    ]
    w.stmt(f"call void %gemm({', '.join(operands)})")
