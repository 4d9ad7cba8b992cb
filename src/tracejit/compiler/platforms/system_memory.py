"""Where exported functions get memory when the caller gives none: from Linux, or nowhere.

No library is called. What LLVM has no words for, the system call, is machine code written by hand, so that nothing
has to read assembly.
"""

from __future__ import annotations

_MAP = 'define internal ptr @"{name}.map"(i64 %align, i64 %bytes) #1 {{\n'
_UNMAP = 'define internal void @"{name}.unmap"(ptr %memory) #1 {{\n'

#: Memory straight from Linux; the bytes before it say how much it is.
_LINUX = f"""declare hidden i64 @"{{name}}.system"(i64, i64, i64, i64, i64, i64, i64)
{_MAP}  %all = add i64 %bytes, 64
  %base = call i64 @"{{name}}.system"(i64 0, i64 %all, i64 3, i64 34, i64 -1, i64 0, i64 {{map_number}})
  %failed = icmp ugt i64 %base, -4096
  br i1 %failed, label %none, label %found
found:
  %header = inttoptr i64 %base to ptr
  store i64 %all, ptr %header, align 8
  %memory = getelementptr i8, ptr %header, i64 64
  ret ptr %memory
none:
  ret ptr null
}}}}
{_UNMAP}  %header = getelementptr i8, ptr %memory, i64 -64
  %base = ptrtoint ptr %header to i64
  %all = load i64, ptr %header, align 8
  call i64 @"{{name}}.system"(i64 %base, i64 %all, i64 0, i64 0, i64 0, i64 0, i64 {{unmap_number}})
  ret void
}}}}
"""

#: A machine without a system has memory from its caller only.
_NONE = f"""{_MAP}  ret ptr null
}}}}
{_UNMAP}  ret void
}}}}
"""

#: The caller's functions where C's sizes have 4 bytes.
_NARROWED = """define internal ptr @"{name}.map.narrow"(i64 %align, i64 %bytes) #1 {{
  %huge = icmp ugt i64 %bytes, 2147483647
  br i1 %huge, label %none, label %fits
fits:
  %alignment = trunc i64 %align to i32
  %size = trunc i64 %bytes to i32
  %given = load ptr, ptr @"{name}.map.given"
  %memory = call ptr %given(i32 %alignment, i32 %size)
  ret ptr %memory
none:
  ret ptr null
}}
"""

_SYSTEMS = {
    "x86_64": _LINUX.replace("{map_number}", "9").replace("{unmap_number}", "11"),
    "aarch64": _LINUX.replace("{map_number}", "222").replace("{unmap_number}", "215"),
    "riscv64": _LINUX.replace("{map_number}", "222").replace("{unmap_number}", "215"),
    "thumbv7em": _NONE,
}

#: A C function of six arguments and the number of a system call.
_CALLS = {
    "x86_64": bytes.fromhex("4989ca 488b442408 0f05 c3"),  # mov r10, rcx; mov rax, [rsp+8]; syscall; ret
    "aarch64": bytes.fromhex("e80306aa 010000d4 c0035fd6"),  # mov x8, x6; svc #0; ret
    "riscv64": bytes.fromhex("93080800 73000000 67800000"),  # mv a7, a6; ecall; ret
}


def functions(name: str, arch: str) -> str:
    """LLVM functions ``name.map`` and ``name.unmap``, as ``alloc`` and ``free`` of a ctx are."""
    return _SYSTEMS[arch].format(name=name)


def narrowed(name: str) -> str:
    """The function ``name.map.narrow``, which calls the caller's with sizes of 4 bytes."""
    return _NARROWED.format(name=name)


def code(name: str, arch: str) -> dict[str, bytes]:
    """Machine code that `functions` refers to, by symbol."""
    return {f"{name}.system": _CALLS[arch]} if arch in _CALLS else {}
