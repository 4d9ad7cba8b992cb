"""Memory that programs take while they run: heap buffers, and outputs whose memory was exchanged.

A heap buffer is two cells, its pointer and its room in elements; no memory is null and -1.
"""

from __future__ import annotations

from ...runtime import abi
from ..loopir.ir import Allocate, Free, Grow
from ..loopir.operands import Buffer
from .writing.buffers import offset
from .writing.context import CTX, ctx_place, field, leave
from .writing.kernel import KernelWriter
from .writing.scopes import Value, integer

#: Bytes with which memory that grows begins: loops that run a few times take memory once.
FIRST = 1024


def allocate(k: KernelWriter, s: Allocate) -> None:
    """Room for `elements`; what is there is used again when it is large enough."""
    reserve(k, s.buffer, k.count(s.elements), keep=False)


def grow(k: KernelWriter, s: Grow) -> None:
    needed, _, _ = offset(k, s.elements)
    reserve(k, s.buffer, needed, keep=True)


def reserve(k: KernelWriter, b: Buffer, needed: Value, keep: bool) -> None:
    w, number = k.w, k.w.fresh("")
    room = w.here("i64", 1, f"load i64, ptr {k.rooms[b]}, align 8")
    small = w.here("i1", 1, f"icmp slt i64 {room.text}, {needed.text}")
    w.fork(small, f"grow{number}", f"fits{number}")
    w.label(f"grow{number}")
    w.enter(certain=False)
    more = w.intrinsic("smax", "i64", 1, w.mul(room, integer(2)), integer(FIRST // b.dtype.itemsize))
    elements = w.intrinsic("smax", "i64", 1, needed, more if keep else room)
    old = w.here("ptr", 1, f"load ptr, ptr {k.cells[b]}, align 8")
    new = allocated(k, b, size_of(k, b, elements))
    none = w.here("i1", 1, f"icmp eq ptr {new.text}, null")
    w.fork(none, f"full{number}", f"have{number}")
    w.label(f"full{number}")
    leave(k, abi.STATUS_OUT_OF_MEMORY)
    w.label(f"have{number}")
    if keep:
        copied = w.mul(w.intrinsic("smax", "i64", 1, room, integer(0)), integer(b.dtype.itemsize))
        w.do(f"call void @tj_copy(ptr {new.text}, ptr {old.text}, i64 {copied.text})")
        k.module.functions[COPY] = None
    release(k, b, old)
    w.do(f"store ptr {new.text}, ptr {k.cells[b]}, align 8")
    w.do(f"store i64 {elements.text}, ptr {k.rooms[b]}, align 8")
    w.leave()
    w.branch(f"fits{number}")
    w.label(f"fits{number}")


def size_of(k: KernelWriter, b: Buffer, elements: Value) -> Value:
    """Bytes of a buffer with room for so many elements."""
    w = k.w
    raw = w.mul(w.intrinsic("smax", "i64", 1, elements, integer(1)), integer(b.dtype.itemsize))
    reach = w.add(raw, integer(abi.WORKSPACE_ALIGN - 1))
    return w.put("i64", 1, f"and i64 {reach.text}, {-abi.WORKSPACE_ALIGN}", reach)


def function_for(k: KernelWriter, b: Buffer, size: Value, small: str, large: str) -> Value:
    """The function of ctx that provides, or releases, memory of this size; what is handed over is always small."""
    if b.slot >= 0:
        return field(k, "ptr", small)
    is_large = k.w.here("i1", 1, f"icmp sge i64 {size.text}, {abi.LARGE}")
    places = abi.offset(large), abi.offset(small)
    which = k.w.here("i64", 1, f"select i1 {is_large.text}, i64 {places[0]}, i64 {places[1]}")
    where = k.w.here("ptr", 1, f"getelementptr i8, ptr {CTX}, i64 {which.text}")
    return k.w.here("ptr", 1, f"load ptr, ptr {where.text}, align 8")


def allocated(k: KernelWriter, b: Buffer, size: Value) -> Value:
    w = k.w
    function = function_for(k, b, size, "alloc", "alloc_large")
    where = ctx_place(k, "allocations")
    count = w.here("i64", 1, f"load i64, ptr {where.text}, align 8")
    more = w.here("i64", 1, f"add i64 {count.text}, 1")
    w.do(f"store i64 {more.text}, ptr {where.text}, align 8")
    return w.here("ptr", 1, f"call ptr {function.text}(i64 {abi.WORKSPACE_ALIGN}, i64 {size.text})")


def release(k: KernelWriter, b: Buffer, pointer: Value) -> None:
    """Give a buffer's memory back; null is none."""
    w, number = k.w, k.w.fresh("")
    none = w.here("i1", 1, f"icmp eq ptr {pointer.text}, null")
    w.fork(none, f"freed{number}", f"free{number}")
    w.label(f"free{number}")
    room = w.here("i64", 1, f"load i64, ptr {k.rooms[b]}, align 8")
    function = function_for(k, b, size_of(k, b, room), "free", "free_large")
    w.do(f"call void {function.text}(ptr {pointer.text})")
    w.branch(f"freed{number}")
    w.label(f"freed{number}")


def free(k: KernelWriter, s: Free) -> None:
    release(k, s.buffer, k.w.here("ptr", 1, f"load ptr, ptr {k.cells[s.buffer]}, align 8"))
    k.w.do(f"store ptr null, ptr {k.cells[s.buffer]}, align 8")
    k.w.do(f"store i64 -1, ptr {k.rooms[s.buffer]}, align 8")


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
    done: list[Buffer] = []
    for b, home in homes.items():
        now = k.w.here("ptr", 1, f"load ptr, ptr {k.cells[b]}, align 8")
        size = k.w.mul(k.size(b.size), integer(b.dtype.itemsize))
        k.w.do(f"call void @tj_exchange(ptr {now.text}, ptr {home.text}, i64 {size.text})")
        done.append(b)
        for other in homes:
            if other not in done:
                there = k.w.here("ptr", 1, f"load ptr, ptr {k.cells[other]}, align 8")
                same = k.w.here("i1", 1, f"icmp eq ptr {there.text}, {home.text}")
                new = k.w.here("ptr", 1, f"select i1 {same.text}, ptr {now.text}, ptr {there.text}")
                k.w.do(f"store ptr {new.text}, ptr {k.cells[other]}, align 8")


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
