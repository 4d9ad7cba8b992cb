"""What a WebAssembly module brings because nothing is below it: memory, and arithmetic that is no instruction.

Memory behind ``__heap_base`` begins with the arrays of the caller, for which ``<name>_reserve`` makes room; loops of
unknown length take theirs behind these. A block goes back to the list of those of its size, a power of two; when all
have come back, at the latest when the function returns, memory is as it was: calls in any number take as much as one.
"""

from __future__ import annotations

from . import half_floats


def functions(name: str) -> str:
    """``<name>_reserve``, which callers see; ``name.map`` and ``name.unmap``, as ``alloc`` and ``free`` of a ctx are.

    With them is what LLVM calls; the linker leaves out what nothing needs.
    """
    return _MEMORY.replace("NAME", name) + _ARITHMETIC + half_floats.conversions("i16")


#: A page is 64 KB. The 64 bytes before a block hold the logarithm of its size; while it is free, its first word leads
#: to the next free one.
_MEMORY = """
@"__heap_base" = external hidden global i8
@"NAME.heap.start" = internal global i64 0
@"NAME.heap.top" = internal global i64 0
@"NAME.heap.blocks" = internal global i32 0
@"NAME.heap.lists" = internal global [32 x i32] zeroinitializer, align 16
declare i32 @llvm.wasm.memory.size.i32(i32)
declare i32 @llvm.wasm.memory.grow.i32(i32, i32)

define internal i1 @"NAME.heap.reaches"(i64 %end) #1 {
  %pages = call i32 @llvm.wasm.memory.size.i32(i32 0)
  %wide = zext i32 %pages to i64
  %bytes = shl i64 %wide, 16
  %there = icmp ule i64 %end, %bytes
  br i1 %there, label %yes, label %more
more:
  %lacking = sub i64 %end, %bytes
  %rounded = add i64 %lacking, 65535
  %wanted = lshr i64 %rounded, 16
  %few = icmp ule i64 %wanted, 65536
  br i1 %few, label %grow, label %no
grow:
  %delta = trunc i64 %wanted to i32
  %before = call i32 @llvm.wasm.memory.grow.i32(i32 0, i32 %delta)
  %failed = icmp eq i32 %before, -1
  br i1 %failed, label %no, label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

define ptr @"NAME_reserve"(i32 %bytes) #1 {
  %wide = zext i32 %bytes to i64
  %base = ptrtoint ptr @"__heap_base" to i64
  %end = add i64 %base, %wide
  %reach = add i64 %end, 63
  %start = and i64 %reach, -64
  %there = call i1 @"NAME.heap.reaches"(i64 %start)
  br i1 %there, label %reserved, label %none
reserved:
  store i64 %start, ptr @"NAME.heap.start", align 8
  ret ptr @"__heap_base"
none:
  ret ptr null
}

define internal ptr @"NAME.map"(i64 %align, i64 %bytes) #1 {
  %blocks = load i32, ptr @"NAME.heap.blocks", align 4
  %first = icmp eq i32 %blocks, 0
  br i1 %first, label %begin, label %search
begin:
  %given = load i64, ptr @"NAME.heap.start", align 8
  %unset = icmp eq i64 %given, 0
  %base = ptrtoint ptr @"__heap_base" to i64
  %start = select i1 %unset, i64 %base, i64 %given
  store i64 %start, ptr @"NAME.heap.top", align 8
  store <32 x i32> zeroinitializer, ptr @"NAME.heap.lists", align 16
  br label %search
search:
  %large = icmp ugt i64 %bytes, 2147483648
  br i1 %large, label %none, label %size
size:
  %less = sub i64 %bytes, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %less, i1 false)
  %power = sub i64 64, %zeros
  %list = getelementptr i32, ptr @"NAME.heap.lists", i64 %power
  %head = load i32, ptr %list, align 4
  %empty = icmp eq i32 %head, 0
  br i1 %empty, label %new, label %again
again:
  %free = inttoptr i32 %head to ptr
  %next = load i32, ptr %free, align 4
  store i32 %next, ptr %list, align 4
  br label %found
new:
  %top = load i64, ptr @"NAME.heap.top", align 8
  %room = shl i64 1, %power
  %aligned = call i64 @llvm.umax.i64(i64 %room, i64 64)
  %header = add i64 %top, 64
  %end = add i64 %header, %aligned
  %there = call i1 @"NAME.heap.reaches"(i64 %end)
  br i1 %there, label %taken, label %none
taken:
  store i64 %end, ptr @"NAME.heap.top", align 8
  %place = inttoptr i64 %top to ptr
  store i64 %power, ptr %place, align 8
  %fresh = getelementptr i8, ptr %place, i64 64
  br label %found
found:
  %memory = phi ptr [ %free, %again ], [ %fresh, %taken ]
  %held = add i32 %blocks, 1
  store i32 %held, ptr @"NAME.heap.blocks", align 4
  ret ptr %memory
none:
  ret ptr null
}

define internal void @"NAME.unmap"(ptr %memory) #1 {
  %header = getelementptr i8, ptr %memory, i64 -64
  %power = load i64, ptr %header, align 8
  %list = getelementptr i32, ptr @"NAME.heap.lists", i64 %power
  %next = load i32, ptr %list, align 4
  store i32 %next, ptr %memory, align 4
  %head = ptrtoint ptr %memory to i32
  store i32 %head, ptr %list, align 4
  %blocks = load i32, ptr @"NAME.heap.blocks", align 4
  %held = sub i32 %blocks, 1
  store i32 %held, ptr @"NAME.heap.blocks", align 4
  ret void
}
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
"""

#: What LLVM calls where WebAssembly has no instruction: products of 128 bits, and half-precision numbers.
_ARITHMETIC = """
define hidden void @__multi3(ptr %result, i64 %a, i64 %a.high, i64 %b, i64 %b.high) #1 {
  %a0 = and i64 %a, 4294967295
  %a1 = lshr i64 %a, 32
  %b0 = and i64 %b, 4294967295
  %b1 = lshr i64 %b, 32
  %p00 = mul i64 %a0, %b0
  %p01 = mul i64 %a0, %b1
  %p10 = mul i64 %a1, %b0
  %p11 = mul i64 %a1, %b1
  %c00 = lshr i64 %p00, 32
  %m01 = and i64 %p01, 4294967295
  %m10 = and i64 %p10, 4294967295
  %s1 = add i64 %c00, %m01
  %middle = add i64 %s1, %m10
  %h01 = lshr i64 %p01, 32
  %h10 = lshr i64 %p10, 32
  %carry = lshr i64 %middle, 32
  %s2 = add i64 %p11, %h01
  %s3 = add i64 %s2, %h10
  %s4 = add i64 %s3, %carry
  %cross1 = mul i64 %a, %b.high
  %cross2 = mul i64 %a.high, %b
  %s5 = add i64 %s4, %cross1
  %high = add i64 %s5, %cross2
  %low = mul i64 %a, %b
  store i64 %low, ptr %result, align 8
  %where = getelementptr i8, ptr %result, i64 8
  store i64 %high, ptr %where, align 8
  ret void
}
"""
