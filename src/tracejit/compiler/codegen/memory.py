"""Memory that programs take while they run: heap buffers, and outputs whose memory was exchanged.

A heap buffer is two cells, its pointer and its room in elements; no memory is null and -1.
"""

from __future__ import annotations

from ...runtime import abi
from ..ir_text import NULL, Value, integer
from ..loopir.ir import Allocate, Free, Grow
from ..loopir.operands import Buffer
from .writing.buffers import offset
from .writing.context import CTX, ctx_place, leave
from .writing.kernel import KernelWriter

#: Bytes with which memory that grows begins: loops that run a few times take memory once.
FIRST = 1024


def allocate(k: KernelWriter, s: Allocate) -> None:
    """Room for `elements`; what is there is used again when it is large enough."""
    reserve(k, s.buffer, k.count(s.elements), keep=False)


def grow(k: KernelWriter, s: Grow) -> None:
    needed, _, _ = offset(k, s.elements)
    reserve(k, s.buffer, needed, keep=True)


def reserve(k: KernelWriter, b: Buffer, needed: Value, keep: bool) -> None:
    w = k.w
    room = w.load("i64", k.rooms[b])
    with w.when(w.compare("slt", room, needed), "grow"), w.scope(certain=False):
        more = w.intrinsic("smax", w.mul(room, integer(2)), integer(FIRST // b.dtype.itemsize))
        elements = w.intrinsic("smax", needed, more if keep else room)
        old = w.load("ptr", k.cells[b])
        new = allocated(k, size_of(k, b, elements))
        with w.leaving(w.compare("eq", new, NULL), "full"):
            leave(k, abi.STATUS_OUT_OF_MEMORY)
        if keep:
            copied = w.mul(w.intrinsic("smax", room, integer(0)), integer(b.dtype.itemsize))
            w.stmt(f"call void @tj_copy({new.typed}, {old.typed}, {copied.typed})")
            k.module.functions[COPY] = None
        release(k, b, old)
        w.store(new, k.cells[b])
        w.store(elements, k.rooms[b])


def size_of(k: KernelWriter, b: Buffer, elements: Value) -> Value:
    """Bytes of a buffer with room for so many elements."""
    w = k.w
    raw = w.mul(w.intrinsic("smax", elements, integer(1)), integer(b.dtype.itemsize))
    reach = w.add(raw, integer(abi.WORKSPACE_ALIGN - 1))
    return w.binary("and", reach, integer(-abi.WORKSPACE_ALIGN))


def function_for(k: KernelWriter, size: Value, small: str, large: str) -> Value:
    """The function of ctx that provides, or releases, memory of this size."""
    is_large = k.w.effect(
        "i1", 1, f"icmp sge {size.typed}, {abi.LARGE}"
    )  # not in front of the block it is for
    which = k.w.select(is_large, integer(abi.offset(large)), integer(abi.offset(small)))
    return k.w.load("ptr", k.w.step(CTX, which))


def allocated(k: KernelWriter, size: Value) -> Value:
    w = k.w
    function = function_for(k, size, "alloc", "alloc_large")
    where = ctx_place(k, "allocations")
    w.store(w.add(w.load("i64", where), integer(1)), where)
    return w.effect("ptr", 1, f"call ptr {function}(i64 {abi.WORKSPACE_ALIGN}, {size.typed})")


def release(k: KernelWriter, b: Buffer, pointer: Value) -> None:
    """Give a buffer's memory back; null is none."""
    w = k.w
    with w.when(w.compare("eq", pointer, NULL), "free", unless=True):
        size = size_of(k, b, w.load("i64", k.rooms[b]))
        w.stmt(f"call void {function_for(k, size, 'free', 'free_large')}({pointer.typed})")


def free(k: KernelWriter, s: Free) -> None:
    release(k, s.buffer, k.w.load("ptr", k.cells[s.buffer]))
    k.w.store(NULL, k.cells[s.buffer])
    k.w.store(integer(-1), k.rooms[s.buffer])


#: Copies whole blocks of 64 bytes: heap memory is allocated in them.
COPY = """define internal void @tj_copy(ptr noalias %to, ptr noalias %from, i64 %bytes) #0 {
entry:
  %none = icmp sle i64 %bytes, 0
  br i1 %none, label %done, label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.n, %loop ]
  %a = getelementptr i8, ptr %from, i64 %i
  %b = getelementptr i8, ptr %to, i64 %i
  %v = load <8 x i64>, ptr %a, align 8
  store <8 x i64> %v, ptr %b, align 8
  %i.n = add nuw nsw i64 %i, 64
  %more = icmp slt i64 %i.n, %bytes
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


def bring_home(k: KernelWriter, homes: dict[Buffer, Value]) -> None:
    """Put the contents of buffers whose memory was exchanged back where the caller looks for them."""
    k.module.functions[EXCHANGE] = None
    w, waiting = k.w, list(homes)
    for b, home in homes.items():
        now = w.load("ptr", k.cells[b])
        size = w.mul(k.size(b.size), integer(b.dtype.itemsize))
        w.stmt(f"call void @tj_exchange({now.typed}, {home.typed}, {size.typed})")
        waiting.remove(b)
        for other in waiting:
            there = w.load("ptr", k.cells[other])
            w.store(w.select(w.compare("eq", there, home), now, there), k.cells[other])


#: Exchanges the contents of two places, which may be one.
EXCHANGE = """define internal void @tj_exchange(ptr %a, ptr %b, i64 %bytes) #0 {
entry:
  %same = icmp eq ptr %a, %b
  %none = icmp sle i64 %bytes, 0
  %skip = or i1 %same, %none
  br i1 %skip, label %done, label %begin
begin:
  %whole = and i64 %bytes, -64
  %any = icmp sgt i64 %whole, 0
  br i1 %any, label %blocks, label %rest
blocks:
  %i = phi i64 [ 0, %begin ], [ %i.n, %blocks ]
  %p = getelementptr i8, ptr %a, i64 %i
  %q = getelementptr i8, ptr %b, i64 %i
  %x = load <8 x i64>, ptr %p, align 1
  %y = load <8 x i64>, ptr %q, align 1
  store <8 x i64> %y, ptr %p, align 1
  store <8 x i64> %x, ptr %q, align 1
  %i.n = add nuw nsw i64 %i, 64
  %more = icmp slt i64 %i.n, %whole
  br i1 %more, label %blocks, label %rest
rest:
  %left = icmp slt i64 %whole, %bytes
  br i1 %left, label %single, label %done
single:
  %j = phi i64 [ %whole, %rest ], [ %j.n, %single ]
  %r = getelementptr i8, ptr %a, i64 %j
  %s = getelementptr i8, ptr %b, i64 %j
  %u = load i8, ptr %r, align 1
  %v = load i8, ptr %s, align 1
  store i8 %v, ptr %r, align 1
  store i8 %u, ptr %s, align 1
  %j.n = add nuw nsw i64 %j, 1
  %again = icmp slt i64 %j.n, %bytes
  br i1 %again, label %single, label %done
done:
  ret void
}
"""
