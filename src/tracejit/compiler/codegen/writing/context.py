"""The ctx struct and the entry as generated code sees them, by the runtime's calling convention."""

from __future__ import annotations

from ....runtime import abi
from .kernel import KernelWriter
from .scopes import Value

BUFFERS, DIMS, CTX = (f"%{name}" for name in abi.ENTRY_PARAMETERS)


def entry_head(name: str) -> str:
    """The head of an entry's definition."""
    return f'i32 @"{name}"({", ".join(f"ptr {p}" for p in (BUFFERS, DIMS, CTX))})'


def ctx_place(k: KernelWriter, name: str, word: int = 0) -> Value:
    """Where a field of ctx is, or a word of one."""
    return k.w.put("ptr", 1, f"getelementptr i8, ptr {CTX}, i64 {abi.offset(name, word)}")


def field(k: KernelWriter, kind: str, name: str) -> Value:
    """A field of ctx."""
    return k.w.here(kind, 1, f"load {kind}, ptr {ctx_place(k, name).text}, align 8")


def leave(k: KernelWriter, status: object) -> None:
    """End a block that failed."""
    k.w.do(f"store i32 {status}, ptr {k.status}, align 4")
    k.w.branch("exit")
