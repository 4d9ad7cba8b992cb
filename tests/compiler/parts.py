"""A stand-in for the thread pool: it runs a job part by part, the last one first, in memory of its own.

Whatever depends on the order of parts, or on what other parts left in private memory, comes out wrong, every time.
"""

from __future__ import annotations

from functools import cache

from tracejit.compiler.codegen import llvm
from tracejit.runtime import abi, objects
from tracejit.runtime.threads.state import SCRATCH

_TEXT = """
define void @backwards(ptr %body, ptr %closure, i64 %count, i64 %unit, i64 %cost) #0 {{
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %first, label %done
first:
  %last = sub i64 %count, 1
  %units = udiv i64 %last, %unit
  %own = inttoptr i64 {own} to ptr
  br label %next
next:
  %k = phi i64 [ %units, %first ], [ %k.n, %next ]
  %begin = mul i64 %k, %unit
  %full = add i64 %begin, %unit
  %short = icmp slt i64 %full, %count
  %end = select i1 %short, i64 %full, i64 %count
  %odd = trunc i64 %k to i1
  %free = icmp ne i64 %cost, 0
  %away = and i1 %odd, %free
  %scratch = select i1 %away, ptr %own, ptr null
  call void %body(ptr %closure, i64 %begin, i64 %end, ptr %scratch)
  %k.n = sub i64 %k, 1
  %more = icmp sge i64 %k.n, 0
  br i1 %more, label %next, label %done
done:
  ret void
}}
attributes #0 = {{ noinline nounwind "no-builtins" }}
"""


@cache
def backwards() -> int:
    """The address of a function that is called as the pool is."""
    text = _TEXT.format(own=abi.allocate(abi.WORKSPACE_ALIGN, SCRATCH))
    return objects.load(llvm.compile_text(text)).function("backwards")
