"""The ctx struct and the entry as generated code sees them, by the runtime's calling convention."""

from __future__ import annotations

from ....runtime import abi
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


def function(k: KernelWriter, name: str) -> Value:
    """The address of a function in ctx."""
    table = field(k, "ptr", "functions")
    return k.w.load("ptr", k.w.step(table, k.module.called(name), "ptr"), POINTER_ALIGN)
