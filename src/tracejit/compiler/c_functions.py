"""The C functions around an exported entry, as an LLVM module: they convert C parameters to those of the entry.

The entry is joined with its constants and library kernels by a function with the same convention, which is what this
package calls; the C function builds buffers, sizes and ctx on its stack. Nothing here needs a library: memory that
loops of unknown length ask for comes from the caller or from the system itself.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..core.dim import Dim, Size
from ..core.settings import current
from ..runtime import abi
from ..runtime.compiled import CompiledObject
from ..runtime.cpu import CpuTarget
from ..runtime.executable import Message
from ..runtime.exported.interface import Interface
from . import dispatch
from .callbacks import callback_functions
from .codegen import program
from .codegen.writing import context
from .codegen.writing.context import BUFFERS, CTX, DIMS
from .codegen.writing.kernel import KernelWriter, Module
from .ir_text import NULL, Value, Writer, constant, function, integer
from .loopir.passes.schedule import Target
from .platforms import system_memory, wasm_library

#: A function of so small a workspace has it on its stack.
STACK = 1 << 14
_RELATIONS = {"==": "eq", "!=": "ne", "<": "slt", "<=": "sle"}
_WORDS = ctypes.sizeof(abi.Context) // 8


class Program(NamedTuple):
    """The code of an entry for one processor.

    Attributes
    ----------
    symbol : str
        The entry that looks for its constants and kernels in ctx.
    kernels : tuple of str
        Symbols of the library kernels that it calls.
    target : CpuTarget
    """

    symbol: str
    kernels: tuple[str, ...]
    target: CpuTarget


def work_bytes(workspace: Size) -> Size:
    """Bytes of memory that the caller of a C function provides: any, of which an aligned part is used."""
    if isinstance(workspace, int) and workspace <= STACK:
        return 0
    return workspace + (abi.WORKSPACE_ALIGN - 1)


def messages(made: CompiledObject, interface: Interface, lowest: CpuTarget) -> tuple[Message, ...]:
    """What statuses of the C function stand for.

    The entry's own, sizes that it is not for, lesser processors, arrays that are nowhere.
    """
    rules = (f"the sizes must be such that {a} {relation} {b}" for relation, a, b in interface.checks)
    lesser = dispatch.refusals(lowest) if lowest.arch == "x86_64" else ()
    nowhere = (f"{name} is NULL" for name in (*interface.inputs, *interface.outputs))
    return (*made.messages, *rules, *lesser, *nowhere)


def module_text(
    made: CompiledObject,
    interface: Interface,
    constants: Mapping[str, int],
    programs: Sequence[Program],
) -> str:
    """The module of an entry's C functions.

    Parameters
    ----------
    made : CompiledObject
        How the entry is called.
    interface : Interface
    constants : mapping of str to int
        Symbols, and bytes, of the constants that it reads.
    programs : sequence of Program
        The code for each processor, the best first.
    """
    module, target = Module(Target()), programs[-1].target
    for program_ in programs:
        module.globals[f"declare hidden {context.entry_head(program_.symbol)}"] = None
        module.globals.update(dict.fromkeys(f'declare hidden void @"{k}"()' for k in program_.kernels))
    for name, size in constants.items():
        module.globals[f'@"{name}" = external hidden constant [{size} x i8], align 64'] = None
    narrow = target.pointer_bytes < 8
    if target.arch == "wasm32":
        module.functions[wasm_library.functions(interface.name)] = None
    elif made.allocates:
        module.functions[_allocator(interface.name, target.arch)] = None
        if narrow:
            module.functions[system_memory.narrowed(interface.name)] = None
    functions = [
        *_entries(made, interface, list(constants), programs),
        _called(module, made, interface, target),
    ]
    functions.append(_error(module, interface, messages(made, interface, target)))
    if isinstance(interface.work, Dim):
        functions.append(_workspace(module, made, interface, target))
    functions += callback_functions(module, made, interface, target.arch)
    if current().debug_info:
        functions.append(program.frames())
    return program.text(module, functions)


def defined(name: str, content: bytes) -> str:
    """A module that defines a constant: for small ones, since it passes the compiler."""
    spelled = "".join(f"\\{byte:02X}" for byte in content)
    return f'@"{name}" = hidden constant [{len(content)} x i8] c"{spelled}", align 64\n'


def _symbol(name: str) -> Value:
    return Value(f'@"{name}"', "ptr")


def _filled(w: Writer, kind: str, values: Sequence[Value]) -> Value:
    """An array on the stack."""
    table = w.effect("ptr", 1, f"alloca [{max(len(values), 1)} x {kind}], align 8")
    align = context.POINTER_ALIGN if kind == "ptr" else 8
    for place, value in enumerate(values):
        w.store(value, w.step(table, place, kind), align)
    return table


def _entries(
    made: CompiledObject, interface: Interface, constants: Sequence[str], programs: Sequence[Program]
) -> list[str]:
    """The entry, which finds out what processor this is where there are several, with that of each."""
    if programs[-1].target.arch != "x86_64":
        return [_linked(interface.entry, programs[0], constants)]
    variants = [dispatch.Variant(f"{interface.entry}.{p.target.name}", p.target) for p in programs]
    entries = [_linked(v.symbol, p, constants) for v, p in zip(variants, programs, strict=True)]
    first = len(made.messages) + len(interface.checks)
    return [*entries, dispatch.entry(interface.name, interface.entry, variants, first)]


def _linked(symbol: str, program_: Program, constants: Sequence[str]) -> str:
    """The entry of a program with what it looks for in ctx."""
    w = Writer()
    for name, symbols in (("constants", constants), ("functions", program_.kernels)):
        if symbols:
            table = _filled(w, "ptr", [_symbol(s) for s in symbols])
            w.store(table, w.step(CTX, abi.offset(name)))
    status = w.call("i32", 1, _symbol(program_.symbol).text, BUFFERS, DIMS, CTX)
    return function(f"hidden {context.entry_head(symbol)} #1", w, status.typed)


# ---- the C function -------------------------------------------------------------------------------------


def _with_sizes(module: Module, made: CompiledObject) -> tuple[KernelWriter, list[Value]]:
    """A function that has the sizes as parameters."""
    k = KernelWriter(module, {})
    sizes = [Value(f"%s{i}", "i64") for i in range(len(made.signature.atoms))]
    k.atoms.update((name, size) for (name, _, _), size in zip(made.signature.atoms, sizes, strict=True))
    return k, sizes


def _head(result: str, name: str, parameters: Sequence[Value]) -> str:
    return f'{result} @"{name}"({", ".join(p.typed for p in parameters)}) #1'


def _finished(module: Module, k: KernelWriter, head: str, result: Value) -> str:
    module.declares.update(dict.fromkeys(k.w.declares.values()))
    return function(head, k.w, result.typed)


def _called(module: Module, made: CompiledObject, interface: Interface, target: CpuTarget) -> str:
    """What the C caller calls."""
    k, sizes = _with_sizes(module, made)
    w, work = k.w, Value("%work", "ptr")
    pointers = [Value(f"%p{i}", "ptr") for i in range(len(interface.inputs) + len(interface.outputs))]
    tables = (
        _filled(w, "ptr", pointers),
        _filled(w, "i64", [*sizes, *[integer(0)] * len(made.signature.bound)]),
    )
    ctx = _filled(w, "i64", [integer(0)] * _WORDS)
    fields = {"version": integer(abi.VERSION)}
    if interface.work != 0:
        fields["workspace"] = _aligned(w, work)
    elif made.workspace != 0:
        memory = f"alloca [{made.workspace} x i8], align {abi.WORKSPACE_ALIGN}"
        fields["workspace"] = w.effect("ptr", 1, memory)
    for number, (relation, a, b) in enumerate(interface.checks):
        holds = w.compare(_RELATIONS[relation], k.size(a), k.size(b))
        with w.leaving(holds, "fails", unless=True):
            w.stmt(f"ret i32 {abi.status_of(len(made.messages) + number)}")
    if interface.work != 0:
        with w.leaving(w.compare("ne", work, NULL), "nowhere", unless=True):
            w.stmt(f"ret i32 {abi.STATUS_OUT_OF_MEMORY}")
    first = len(messages(made, interface, target)) - len(pointers)
    for number, (pointer, (_, shape)) in enumerate(zip(pointers, _arrays(made), strict=True), first):
        with w.leaving(_is_nowhere(k, pointer, shape), "nowhere"):
            w.stmt(f"ret i32 {abi.status_of(number)}")
    fields["workspace_bytes"] = k.size(made.workspace)
    if made.allocates:
        fields |= _memory(w, interface.name, target)
    for name, value in fields.items():
        w.store(value, w.step(ctx, abi.offset(name)))
    spelled = ", ".join(p.typed for p in (*tables, ctx))
    status = w.effect("i32", 1, f'call i32 @"{interface.entry}"({spelled})')
    parameters = [*pointers, *sizes, *([work] if interface.work != 0 else [])]
    return _finished(module, k, _head("i32", interface.name, parameters), status)


def _arrays(made: CompiledObject) -> tuple[tuple[np.dtype, tuple[Size, ...]], ...]:
    """What the pointers are to: dtypes and shapes."""
    return (*made.signature.inputs, *made.signature.outputs)


def _is_nowhere(k: KernelWriter, pointer: Value, shape: Sequence[Size]) -> Value:
    """Is it NULL, and the array not empty?"""
    w = k.w
    found = w.compare("eq", pointer, NULL)
    for size in shape:
        found = w.binary("and", found, w.compare("slt", integer(0), k.size(size)))
    return found


def _aligned(w: Writer, pointer: Value) -> Value:
    """The first aligned place behind a pointer."""
    address = w.convert("ptrtoint", pointer, "i64")
    last = w.binary("add", address, integer(abi.WORKSPACE_ALIGN - 1))
    return w.convert("inttoptr", w.binary("and", last, integer(-abi.WORKSPACE_ALIGN)), "ptr")


# ---- the functions beside it ----------------------------------------------------------------------------


def _workspace(module: Module, made: CompiledObject, interface: Interface, target: CpuTarget) -> str:
    k, sizes = _with_sizes(module, made)
    wide = target.pointer_bytes == 8  # where addresses are narrow, doubles may need a library
    work = interface.work
    size = _or_most(k, work) if wide and isinstance(work, Dim) else k.size(work)
    return _finished(module, k, _head("i64", f"{interface.name}_workspace", sizes), size)


def _or_most(k: KernelWriter, size: Dim) -> Value:
    """The value of a size; the largest integer, which no memory has bytes for, where 64 bits are too few for it."""
    w, double = k.w, np.dtype(np.float64)
    total = constant(0.0, double)
    for monomial, factor in size.terms:
        term = constant(float(factor), double)
        for atom in monomial:
            term = w.binary("fmul", term, w.convert("sitofp", k.atom(atom), "double"))
        total = w.binary("fadd", total, term)
    fits = w.compare("olt", total, constant(2.0**62, double))
    return w.select(fits, k.size(size), integer(2**63 - 1))


def _error(module: Module, interface: Interface, messages: Sequence[Message]) -> str:
    """The text of a status."""
    name, w = interface.name, Writer()
    texts = {abi.STATUS_OK: "success", abi.STATUS_OUT_OF_MEMORY: "out of memory"}
    for place, message in enumerate(messages):
        kind, text = ("RuntimeError", message) if isinstance(message, str) else message
        if kind != "loop":
            texts[abi.status_of(place)] = re.sub(r"\{\d\}", "?", text)
    strings = {f"case{n}": text for n, text in enumerate(texts.values())} | {"other": "unknown status"}
    cases = " ".join(f"i32 {status}, label %case{n}" for n, status in enumerate(texts))
    w.stmt(f"switch i32 %status, label %other [ {cases} ]")
    for label, text in strings.items():
        module.globals[_string(f"{name}.{label}", text)] = None
        w.label(label)
        w.stmt(f"ret {_symbol(f'{name}.{label}').typed}")
    return function(_head("ptr", f"{name}_error", [Value("%status", "i32")]), w)


def _string(symbol: str, text: str) -> str:
    data = text.encode("utf-8", "surrogateescape") + b"\0"
    spelled = "".join(f"\\{byte:02X}" for byte in data)
    return f'@"{symbol}" = internal unnamed_addr constant [{len(data)} x i8] c"{spelled}"'


# ---- memory ---------------------------------------------------------------------------------------------

_ROLES = {"map": ("alloc", "alloc_large"), "unmap": ("free", "free_large")}


def _memory(w: Writer, name: str, target: CpuTarget) -> dict[str, Value]:
    """The fields of ctx for memory: two functions that the caller may set, else the system's."""
    fields: dict[str, Value] = {}
    for role, names in _ROLES.items():
        chosen = _symbol(f"{name}.{role}")
        if target.arch != "wasm32":  # whose callers have no functions to give
            given = w.load("ptr", _symbol(f"{name}.{role}.given"))
            narrow = target.pointer_bytes < 8 and role == "map"
            called = _symbol(f"{name}.map.narrow") if narrow else given
            chosen = w.select(w.compare("eq", given, NULL), chosen, called)
        fields |= dict.fromkeys(names, chosen)
    return fields


def _allocator(name: str, arch: str) -> str:
    """What sets these functions, and the system's."""
    w, globals_ = Writer(), []
    parameters = [Value(f"%{role}", "ptr") for role in _ROLES]
    for role, parameter in zip(_ROLES, parameters, strict=True):
        given = _symbol(f"{name}.{role}.given")
        globals_.append(f"{given} = internal global ptr null, align 8\n")
        w.store(parameter, given)
    setter = function(_head("void", f"{name}_allocator", parameters), w, "void")
    return "".join(globals_) + setter + system_memory.functions(name, arch)
