"""The ctx struct and the entry as generated code sees them, by the runtime's calling convention."""

from __future__ import annotations

from collections.abc import Sequence

from ....runtime import abi
from ....runtime.threads import state
from ...ir_text import Value, integer
from .kernel import KernelWriter

BUFFERS, DIMS, CTX = (Value(f"%{name}", "ptr") for name in abi.ENTRY_PARAMETERS)
STATUS = Value("%status", "ptr")
"""The slot of what a function that can fail returns."""
POINTER_ALIGN = 4
"""What can be relied on in tables of pointers, on all machines."""


def make_status(k: KernelWriter) -> None:
    """The slot of the status, at the top of the function."""
    k.w.entry.append(f"  {STATUS} = alloca i32, align 4")


def entry_head(name: str) -> str:
    """The head of an entry's definition."""
    return f'i32 @"{name}"({BUFFERS.typed}, {DIMS.typed}, {CTX.typed})'


def ctx_place(k: KernelWriter, name: str, word: int = 0) -> Value:
    """Where a field of ctx is, or a word of one."""
    return k.w.step(CTX, abi.offset(name, word))


def field(k: KernelWriter, kind: str, name: str) -> Value:
    """A field of ctx."""
    return k.w.load(kind, ctx_place(k, name))


def leave(k: KernelWriter, status: int | Value) -> None:
    """End a block that failed."""
    k.w.store(integer(status, "i32") if isinstance(status, int) else status, STATUS, 4)
    k.w.branch("exit")


def closure_of(k: KernelWriter, values: Sequence[Value]) -> Value:
    """Memory that holds some values, a word each: what jobs are given."""
    closure = k.w.slot("i64", max(len(values), 2))
    for place, value in enumerate(values):
        k.w.store(value, k.w.step(closure, 8 * place))
    return closure


def hand_over(k: KernelWriter, name: str, closure: Value, count: Value, unit: int, cost: Value) -> None:
    """Let the pool do the job of this name: `count` iterations, so many together, each of such a cost."""
    job = Value(f"{name}.job", "ptr"), closure, count, integer(unit), cost
    k.w.stmt(f"call void {function(k, state.NAME)}({', '.join(v.typed for v in job)})")


def function(k: KernelWriter, name: str) -> Value:
    """The address of a function in ctx."""
    table = field(k, "ptr", "functions")
    return k.w.load("ptr", k.w.step(table, k.module.called(name), "ptr"), POINTER_ALIGN)
