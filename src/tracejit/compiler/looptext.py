"""Loop programs as text."""

from __future__ import annotations

from .loops import (
    Allocate,
    Call,
    Combine,
    Compute,
    Fail,
    Free,
    Grow,
    HostCall,
    If,
    Load,
    Nest,
    Program,
    Size_,
    Store,
    While,
)
from .statement import Statement


def to_text(program: Program) -> str:
    """The program as text: one statement a line, structure by indentation. Deterministic."""
    lines = [f"program {program.name}({', '.join(program.atoms)})"]
    for b in program.buffers:
        where = f" slot {b.slot}" if b.slot >= 0 else f" at {b.offset}" if b.offset != -1 else ""
        lines.append(f"  {b.kind} {b.name}: {b.dtype.name}[{b.size}]{where}")
    _print_block(program.body, "  ", lines)
    return "\n".join(lines)


def _print_block(statements: list[Statement], indent: str, lines: list[str]) -> None:
    for statement in statements:
        head, *inner = _describe(statement)
        lines.append(indent + head)
        for title, block in inner:
            if title and block:
                lines.append(f"{indent}{title}:")
            _print_block(block, indent + "  ", lines)


def _describe(statement: Statement) -> list:
    match statement:
        case Load(out, buffer, index, guard, other):
            return [f"{out} = {buffer}[{index}]" + (f" if {guard} else {other}" if guard is not None else "")]
        case Compute(out, op, args, dtype):
            return [f"{out}: {dtype.name} = {op}({', '.join(map(str, args))})"]
        case Size_(out, size):
            return [f"{out} = size {size}"]
        case Store(buffer, index, value, add, guard):
            return [
                f"{buffer}[{index}] {'+=' if add else '='} {value}"
                + (f" if {guard}" if guard is not None else "")
            ]
        case Combine(rule, accs, values):
            return [f"{', '.join(accs)} <- {rule}({', '.join(map(str, values))})"]
        case Nest(axes, body, accs, tail, schedule):
            loops = ", ".join(
                f"{a.name} < {a.size}{'' if a.kind == 'parallel' else ' ' + a.kind}" for a in axes
            )
            state = "".join(f" {a.name} = {a.init}" for a in accs)
            plan = f" @ {schedule}" if schedule is not None else ""
            return [f"for {loops}{' with' + state if state else ''}{plan}", ("", body), ("then", tail)]
        case While():
            return _describe_while(statement)
        case If(test, then, orelse):
            return [f"if {test}", ("", then), ("else", orelse)]
        case Call(function, views, sizes, accumulate):
            operands = ", ".join(f"{v.buffer}[{v.index}; {', '.join(map(str, v.strides))}]" for v in views)
            return [
                f"{function}({operands}) sizes {', '.join(map(str, sizes))}{' accumulate' if accumulate else ''}"
            ]
        case HostCall(function, views, sizes):
            operands = ", ".join(f"{v.buffer}[{v.index}]" for v in views)
            return [f"host {function}({operands}) sizes {', '.join(map(str, sizes))}"]
        case Allocate(buffer, elements) | Grow(buffer, elements):
            return [f"{type(statement).__name__.lower()} {buffer} to {elements}"]
        case Free(buffer):
            return [f"free {buffer}"]
        case Fail(test, code, details):
            return [f"fail {code} if {test} ({', '.join(details)})"]
    raise TypeError(f"not a statement: {statement!r}")


def _describe_while(loop: While) -> list:
    bound = f"until {loop.count}" if loop.count is not None else f"while {loop.test}"
    swaps = "".join(f" swap {a}/{b}" for a, b in loop.swaps)
    tail = (f" trips {loop.trips}" if loop.trips else "") + (f" binds {loop.binds}" if loop.binds else "")
    head = f"loop {loop.index} {bound}{' reverse' if loop.reverse else ''}{tail}{swaps}"
    return [head, ("test", loop.cond), ("do", loop.body)]
