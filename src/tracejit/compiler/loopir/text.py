"""Loop programs as text: one statement a line, structure by indentation. Deterministic; ``loopparser`` reads it back.

Texts of messages are left out, as they name the user's files; so is nothing else. A schedule stands behind ``@`` to be
looked at: whoever reads the program back schedules it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...core.dim import Dim, Size
from . import ir
from .operands import Buffer, Operand
from .statement import Statement


def to_text(program: ir.Program) -> str:
    """The program as text, ending without a newline."""
    head = f"program {program.name}({_list(program.atoms)})"
    if program.output_shapes:
        head += f" -> {_list(f'({_list(shape)})' for shape in program.output_shapes)}"
    lines = [head + (f" binds {_list(program.bound)}" if program.bound else "")]
    if program.workspace != 0:
        lines.append(f"  workspace {program.workspace}")
    if not program.contract:
        lines.append("  separate roundings")
    lines += [f"  {_buffer(b)}" for b in program.buffers]
    lines += [f"  move {m.temp} to {m.target}[{m.index}]" for m in program.moves]
    _print_block(program.body, "  ", lines)
    return "\n".join(lines)


def _list(items: Iterable[Any]) -> str:
    return ", ".join(map(str, items))


def _buffer(b: Buffer) -> str:
    slot = f" slot {b.slot}" if b.slot >= 0 else ""
    place = f" at {b.offset}" if b.offset != -1 else ""
    return f"{b.kind} {b.name}: {b.dtype.name}[{b.size}]{slot}{place}"


def _print_block(statements: list[Statement], indent: str, lines: list[str]) -> None:
    for statement in statements:
        head, *inner = _describe(statement)
        lines.append(indent + head)
        for title, block in inner:
            if title and block:
                lines.append(f"{indent}{title}:")
            _print_block(block, indent + "  ", lines)


def _describe(statement: Statement) -> list[Any]:
    match statement:
        case ir.Load(out, buffer, index, guard, other):
            return [f"{out} = {buffer}[{index}]" + (f" if {guard} else {other}" if guard is not None else "")]
        case ir.Compute(out, op, args, dtype):
            return [f"{out}: {dtype.name} = {op}({_list(args)}){_argtype(statement)}"]
        case ir.Size_(out, size):
            return [f"{out} = size {size}"]
        case ir.Store(buffer, index, value, add, guard):
            test = f" if {guard}" if guard is not None else ""
            return [f"{buffer}[{index}] {'+=' if add else '='} {value}{test}"]
        case ir.Combine(rule, accs, values):
            return [f"{_list(accs)} <- {rule}({_list(values)})"]
        case ir.Nest():
            return [_nest(statement), ("", statement.body), ("then", statement.tail)]
        case ir.While():
            return [_while(statement), ("test", statement.cond), ("do", statement.body)]
        case ir.If(test, then, orelse):
            return [f"if {test}", ("", then), ("else", orelse)]
    return [_describe_effect(statement)]


def _describe_effect(statement: Statement) -> str:
    match statement:
        case ir.Call(function, views, sizes, accumulate):
            operands = _list(f"{v.buffer}[{v.index}; {_list(v.strides)}]" for v in views)
            return f"{function}({operands}) sizes {_list(sizes)}{' accumulate' if accumulate else ''}"
        case ir.HostCall(function, views, sizes, results):
            operands = _list(f"{v.buffer}[{v.index}]" for v in views)
            return f"host {function}({operands}) sizes {_list(sizes)}{f' gives {results}' if results else ''}"
        case ir.Allocate(buffer, elements):
            return f"allocate {buffer} to {_size(elements)}"
        case ir.Grow(buffer, index):
            return f"grow {buffer} to {index}"
        case ir.Free(buffer):
            return f"free {buffer}"
        case ir.Clock(buffer, number):
            return f"clock {number} in {buffer}"
        case ir.Fail(test, code, details):
            return f"fail {code} if {test} ({_list(details)})"
    raise TypeError(f"not a statement: {statement!r}")


def _argtype(s: ir.Compute) -> str:
    """The dtype of the arguments, where neither a scalar among them nor the result tells it."""
    told = s.op == "index" or s.argtype == s.dtype or typed_by(s.op, s.args)
    return "" if told else f" of {s.argtype.name}"


def typed_by(op: str, args: Sequence[Operand | None]) -> list[str]:
    """The scalars among arguments that have the dtype of the arguments."""
    return [a for a in (args[1:] if op == "select" else args) if isinstance(a, str)]


def _size(size: Size | str | None) -> str:
    """A size where a scalar could stand too."""
    return f"<{size}>" if isinstance(size, Dim) else str(size)


def _nest(nest: ir.Nest) -> str:
    axes = _list(f"{a.name} < {a.size}{'' if a.kind == 'parallel' else ' ' + a.kind}" for a in nest.axes)
    head = f"for {axes}" if axes else "once"
    if nest.accs:
        head += f" with {_list(f'{a.name}: {a.dtype.name} = {a.init}' for a in nest.accs)}"
    return head + (f" @ {nest.schedule}" if nest.schedule is not None else "")


def _while(loop: ir.While) -> str:
    bound = f"while {loop.test}" if loop.count is None else f"until {_size(loop.count)}"
    parts = ["reverse"] if loop.reverse else []
    parts += [f"trips {loop.trips}"] if loop.trips is not None else []
    parts += [f"binds {loop.binds}"] if loop.binds is not None else []
    parts += [f"swap {a}/{b}" for a, b in loop.swaps]
    parts += [f"fill {b}" for b in loop.fills]
    parts += [f"at {loop.location}"] if loop.location is not None else []
    return " ".join([f"loop {loop.index} {bound}", *parts])
