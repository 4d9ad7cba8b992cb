"""LLVM IR text in, relocatable object out: the only module that touches llvmlite, and only when called.

The text already has explicit vectors, so neither the loop vectorizer nor the SLP vectorizer runs. LLVM ends
the process on some bad inputs (unknown CPU names, a module pass manager run twice), so names are checked
first and every such manager lives for one run; and where the exception of a signal meets its finalisers, so all
of it runs in threads of its own. Knows nothing of graphs or of who wrote the text.
"""

from __future__ import annotations

import ctypes
import re
import struct
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any

from ...runtime.threads.forks import fork_safe
from . import foreign
from .machines import Machine, Target, Unit, joined, machine_of, own_architecture
from .workers import together, without_lock

_LEVELS = (0, 1, 2)
_lock = fork_safe()
_idle: dict[tuple[Target | None, int], list[Any]] = {}
"""Machines that were used and can be again."""


class CodegenError(Exception):
    """LLVM rejected the text, or the object is not self-contained: an error of this package."""


def compile_text(
    text: str,
    *,
    opt: int = 1,
    cpu: Target | None = None,
    ready: bool = False,
    hoisted: bool = False,
    expected: Collection[str] = (),
) -> bytes:
    """Compile LLVM IR text to a position-independent relocatable ELF object without undefined symbols.

    Parameters
    ----------
    text, opt, ready, hoisted
        A :class:`Unit`.
    cpu : Target, optional
        Default: this machine.
    expected : collection of str
        Symbols that another object defines, with which this one will be joined.

    Raises
    ------
    CodegenError
        The text does not parse or verify (the message shows the line), or needs symbols it does not define.
    """
    [image] = compile_units([(Unit(text, opt, ready, hoisted), cpu)])
    missing = [name for name in _undefined(image) if name not in expected]
    if missing:
        raise CodegenError(f"generated code calls symbols it does not define: {', '.join(missing)}")
    return image


def compile_units(work: Sequence[tuple[Unit, Target | None]]) -> list[bytes]:
    """Compile modules, each to an object, whatever symbols it refers to.

    For other architectures than this process's, one process of its own does so: LLVM ends its process where it has no
    code for what a module asks for.

    Parameters
    ----------
    work : sequence of (Unit, Target or None)
        Each with what it is for; None is this machine.

    Raises
    ------
    CodegenError
        A text does not parse or verify, or LLVM can make no code of it; the message has its last words.
    """
    own = own_architecture()
    for unit, _ in work:
        _checked_level(unit.opt)
    away = [(unit, machine_of(cpu)) for unit, cpu in work if cpu is not None and cpu.arch != own]
    try:
        made = iter(foreign.compiled(away) if away else ())
    except foreign.Failed as error:
        raise CodegenError(str(error)) from None
    here = [(unit, cpu) for unit, cpu in work if cpu is None or cpu.arch == own]
    mine = iter(together([partial(_optimized, unit, cpu, _object) for unit, cpu in here]))
    return [next(mine if cpu is None or cpu.arch == own else made) for _, cpu in work]


def _object(module: Any, machine: Any) -> bytes:
    """As the machine's own `emit_object`, while others do so too."""
    from llvmlite.binding import ffi

    known = [ffi.LLVMTargetMachineRef, ffi.LLVMModuleRef, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
    emit = without_lock(ffi.lib.LLVMPY_TargetMachineEmitToMemory, known)
    with ffi.OutputString() as message:
        buffer = emit(machine, module, 1, message)
        if not buffer:
            raise CodegenError(str(message))
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def compile_here(work: Sequence[tuple[Unit, Machine]]) -> list[bytes]:
    """Compile modules for machines of any architecture, in a process that may end by it."""
    llvm, found = _binding(), []
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    for unit, machine in work:
        made = _made_machine(machine, unit.opt)
        found.append(_of_module(unit, made, partial(_object, machine=made)))
    return found


def compile_linked(
    work: Sequence[tuple[Unit, Target]], exported: Collection[str], library: Mapping[str, str]
) -> bytes:
    """Compile modules for one machine of another architecture to one object, in a process of its own.

    Parameters
    ----------
    work : sequence of (Unit, Target)
    exported : collection of str
        The symbols that others see.
    library : mapping of str to str
        Modules to take from, by the symbol that each defines, where the object would refer to that.

    Raises
    ------
    CodegenError
        As of `compile_units`, and with the names of symbols that nothing defines.
    """
    try:
        [image] = foreign.compiled(
            [(unit, machine_of(cpu)) for unit, cpu in work], exported=list(exported), library=dict(library)
        )
    except foreign.Failed as error:
        raise CodegenError(str(error)) from None
    return image


def _linked_here(
    work: Sequence[tuple[Unit, Machine]], exported: Collection[str], library: Mapping[str, str]
) -> bytes:
    llvm = _binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = _made_machine(work[0][1], max(unit.opt for unit, _ in work))
    context, taken = llvm.create_context(), set(exported)
    whole = _parsed(llvm, "", context, machine)
    parts = [unit for unit, _ in work]
    while parts:
        for part in parts:
            module = _parsed(llvm, part.text, context, machine)
            if not part.ready:
                _run_passes(llvm, module, machine, part)
            whole.link_in(module)
        for value in (*whole.functions, *whole.global_variables):
            if not value.is_declaration and value.name not in exported:
                value.linkage = "internal"
        image = bytes(machine.emit_object(whole.clone()))
        missing = [name for name in _undefined(image) if name not in taken]
        unknown = [name for name in _undefined(image) if name not in library]
        if unknown or not missing:
            break
        taken.update(missing)
        parts = [Unit(library[name], ready=True) for name in missing]
    if _undefined(image):
        raise CodegenError(f"it would need {', '.join(_undefined(image))} from a library")
    return image


def answer(request: dict[str, Any]) -> None:
    """What the process that ``foreign`` starts does."""
    work = [(Unit(*unit), Machine(*machine)) for unit, machine in request["work"]]
    linked = request["linked"]
    try:
        images = compile_here(work) if linked is None else [_linked_here(work, **linked)]
    except CodegenError as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(foreign.spelled(images))


def assembly(text: str, *, opt: int = 1, cpu: Target | None = None, hoisted: bool = False) -> str:
    """The assembly of what `compile_text` compiles."""
    unit = Unit(text, opt, hoisted=hoisted)
    return str(_apart(unit, cpu, lambda module, machine: machine.emit_assembly(module)))


def optimized(text: str, *, opt: int = 1, cpu: Target | None = None, hoisted: bool = False) -> str:
    """The LLVM IR of `text` after the passes of `opt`."""
    return str(_apart(Unit(text, opt, hoisted=hoisted), cpu, lambda module, machine: str(module)))


def loaded_version() -> str:
    """The LLVM in use, having loaded it."""
    return ".".join(map(str, _binding().llvm_version_info))


def _checked_level(opt: int) -> None:
    if opt not in _LEVELS:
        raise ValueError(f"opt is one of {_LEVELS}, got {opt!r}")


def _apart(unit: Unit, cpu: Target | None, use: Callable[[Any, Any], Any]) -> Any:
    """What `use` makes of the optimized module and the target machine."""
    _checked_level(unit.opt)
    return together([partial(_optimized, unit, cpu, use)])[0]


def _optimized(unit: Unit, cpu: Target | None, use: Callable[[Any, Any], Any]) -> Any:
    with _lent_machine(cpu, unit.opt) as machine:
        return _of_module(unit, machine, lambda module: use(module, machine))


def _of_module(unit: Unit, machine: Any, use: Callable[[Any], Any]) -> Any:
    """What `use` makes of the module, optimized."""
    llvm = _binding()
    context = llvm.create_context()
    try:
        module = _parsed(llvm, unit.text, context, machine)
        try:
            if not unit.ready:
                _run_passes(llvm, module, machine, unit)
            return use(module)
        finally:
            module.close()
    finally:
        context.close()


@lru_cache(maxsize=1)
def _binding() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # for system calls, which are spelled in assembly
    return llvm


# ---- targets --------------------------------------------------------------------------------------------


@contextmanager
def _lent_machine(cpu: Target | None, codegen_level: int) -> Iterator[Any]:
    """One that nobody else uses meanwhile: it holds state."""
    with _lock:
        idle = _idle.setdefault((cpu, codegen_level), [])
        machine = idle.pop() if idle else _target_machine(cpu, codegen_level)
    try:
        yield machine
    finally:
        idle.append(machine)


def _target_machine(cpu: Target | None, codegen_level: int) -> Any:
    """This machine, or one of its architecture."""
    llvm, own = _binding(), own_architecture()
    if cpu is not None and cpu.arch != own:
        raise ValueError(f"this process makes code for {own}, not for {cpu.arch!r}")
    if cpu is None or cpu.name == "host":
        name, features = llvm.get_host_cpu_name() or "generic", joined(_host_features())
        machine = Machine(f"{own}-unknown-linux-gnu", name, features)  # an ELF object on every system
    else:
        machine = machine_of(cpu)
        machine = machine._replace(features=_known(machine.features))
    return _made_machine(machine, codegen_level)


def _made_machine(machine: Machine, codegen_level: int) -> Any:
    return (
        _binding()
        .Target.from_triple(machine.triple)
        .create_target_machine(
            cpu=machine.cpu,
            features=machine.features,
            opt=codegen_level,
            reloc=machine.relocation,
            codemodel="small",
            abiname=machine.abi,
        )
    )


def _known(features: str) -> str:
    """Without names this LLVM does not know."""
    wanted = {f[1:]: f[0] == "+" for f in features.split(",")}
    known = _host_features()
    return joined({n: on for n, on in wanted.items() if n in known or n in ("64bit", "neon")})


@lru_cache(maxsize=1)
def _host_features() -> dict[str, bool]:
    """Every feature name this LLVM knows for this architecture, and whether the machine has it."""
    try:
        return dict(_binding().get_host_cpu_features())
    except RuntimeError:
        return {}


# ---- text to module -------------------------------------------------------------------------------------


def _parsed(llvm: Any, text: str, context: Any, machine: Any) -> Any:
    layout = f'target datalayout = "{machine.target_data}" target triple = "{machine.triple}" '
    try:  # the layout shares the first line, so that line numbers stay those of `text`
        module = llvm.parse_assembly(layout + text, context)
    except RuntimeError as error:
        raise CodegenError(_with_line(str(error), text)) from None
    try:
        module.verify()
    except RuntimeError as error:
        module.close()
        raise CodegenError(f"generated IR does not verify: {error}") from None
    return module


def _with_line(message: str, text: str) -> str:
    """LLVM's message with the offending line and its neighbours."""
    found = re.search(r"<string>:(\d+):\d+: (?:error: )?(.*)", message)
    if not found:
        return f"generated IR does not parse: {message}"
    number, lines = int(found[1]), text.splitlines()
    first = max(number - 3, 1)
    shown = "\n".join(
        f"{'>' if n == number else ' '} {n:5} | {line}"
        for n, line in enumerate(lines[first - 1 : number + 1], first)
    )
    return f"generated IR does not parse, line {number}: {found[2]}\n{shown}"


# ---- passes ---------------------------------------------------------------------------------------------


def _run_passes(llvm: Any, module: Any, machine: Any, unit: Unit) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=max(unit.opt, 1))
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = False
    options.loop_unrolling = unit.opt == 2
    builder = llvm.create_pass_builder(machine, options)
    try:
        pipeline = _short if unit.opt == 1 and unit.hoisted else _PIPELINES[unit.opt]
        pipeline(llvm, module, builder)
    finally:
        builder.close()
        options.close()


def _run_module_passes(llvm: Any, module: Any, builder: Any, manager: Any) -> None:
    from llvmlite.binding import ffi

    known = [ffi.LLVMModulePassManagerRef, ffi.LLVMModuleRef, ffi.LLVMPassBuilderRef]
    try:
        without_lock(ffi.lib.LLVMPY_RunNewModulePassManager, known)(manager, module, builder)
    finally:
        manager.close()


def _fast(llvm: Any, module: Any, builder: Any) -> None:
    manager = llvm.create_new_module_pass_manager()
    manager.add_always_inliner_pass()
    manager.add_sroa_pass()
    manager.add_instruction_combine_pass()
    manager.add_simplify_cfg_pass()
    _run_module_passes(llvm, module, builder, manager)


def _short(llvm: Any, module: Any, builder: Any) -> None:
    """What is left to do where invariants stand outside of loops: a third of the cost of the usual passes."""
    manager = llvm.create_new_module_pass_manager()
    manager.add_always_inliner_pass()
    manager.add_sroa_pass()
    manager.add_new_gvn_pass()
    manager.add_instruction_combine_pass()
    manager.add_simplify_cfg_pass()
    _run_module_passes(llvm, module, builder, manager)


def _usual(llvm: Any, module: Any, builder: Any) -> None:
    """Function simplification alone: half the cost of a module pipeline, whose extra is between functions."""
    functions = [f for f in module.functions if not f.is_declaration]
    if len(functions) > 1:
        manager = llvm.create_new_module_pass_manager()
        manager.add_always_inliner_pass()
        manager.add_post_order_function_attributes_pass()
        manager.add_global_dead_code_eliminate_pass()
        _run_module_passes(llvm, module, builder, manager)
        functions = [f for f in module.functions if not f.is_declaration]
    manager = builder.getFunctionPassManager()  # unlike a module's, it may run once per function
    try:
        for function in functions:
            manager.run(function, builder)
    finally:
        manager.close()


def _full(llvm: Any, module: Any, builder: Any) -> None:
    _run_module_passes(llvm, module, builder, builder.getModulePassManager())


_PIPELINES: dict[int, Callable[[Any, Any, Any], None]] = {0: _fast, 1: _usual, 2: _full}


# ---- object ---------------------------------------------------------------------------------------------


def _undefined(image: bytes) -> list[str]:
    """Names an ELF object expects from elsewhere."""
    wide = image[4] == 2  # addresses of 8 bytes
    (table,) = struct.unpack_from("<Q", image, 40) if wide else struct.unpack_from("<I", image, 32)
    (count,) = struct.unpack_from("<H", image, 60 if wide else 48)
    header, symbol = ("<IIQQQQIIQQ", "<IBBHQQ") if wide else ("<10I", "<IIIBBH")
    sections = [struct.unpack_from(header, image, table + struct.calcsize(header) * i) for i in range(count)]
    names = []
    for _, kind, _, _, offset, size, link, *_ in sections:
        if kind != 2:  # SHT_SYMTAB
            continue
        for entry in struct.iter_unpack(symbol, image[offset : offset + size]):
            name, section = entry[0], entry[3 if wide else 5]
            if section == 0 and name:
                start = sections[link][4] + name
                names.append(image[start : image.index(b"\0", start)].decode())
    return sorted(names)
