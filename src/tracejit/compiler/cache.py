"""Where compiled code is kept, and what it is known by: the one place that decides whether something is compiled.

A graph that is met again is looked for in three places. With the graph itself is its executable, loaded and linked, by
the settings that shape code. In this process's memory is the object, by everything its code depends on: `cache_key`.
On disk is the same under the same key, for every process. An executable belongs to its graph, since it holds constants;
an object has none, and serves every graph with its text. What is higher up (a trace of a function, a gradient's
two parts, a model loaded from a file) keeps graphs, and with them all this; nothing else keeps code.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from contextvars import copy_context
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import settings
from ..core.errors import AT
from ..core.forks import fork_safe
from ..core.ir import text
from ..core.ir.graph import Graph
from ..core.ir.graph import walk as walk_graph
from ..core.lazy import Later
from ..runtime import cpu, diskcache
from ..runtime.compiled import CompiledObject
from ..runtime.executable import Executable
from ..runtime.signature import Signature
from ..runtime.threads.state import NAME as THREADS
from ..runtime.threads.state import Symbol
from . import hostcalls, report
from .identity import code_digest, llvm_version

if TYPE_CHECKING:
    from ..runtime.lane import operator_words, words
    from ..runtime.linking import debug_library
    from ..runtime.threads import workers as threads
    from . import pipeline
    from .codegen import linalg, llvm, machines, matmul, parts, structure, workers
    from .codegen.lane import call_lane as lane
    from .codegen.lane import operators
    from .codegen.threads import thread_pool
    from .loopir.passes import schedule
else:  # whoever finds all compiled code on disk needs no compiler
    operator_words = Later("..runtime.lane.operator_words", __package__)
    words = Later("..runtime.lane.words", __package__)
    debug_library = Later("..runtime.linking.debug_library", __package__)
    pipeline = Later(".pipeline", __package__)
    threads = Later("..runtime.threads.workers", __package__)
    lane, operators, thread_pool = (
        Later(f".codegen.{name}", __package__)
        for name in ("lane.call_lane", "lane.operators", "threads.thread_pool")
    )
    linalg, llvm, machines, matmul, parts, structure, workers = (
        Later(f".codegen.{name}", __package__)
        for name in ("linalg", "llvm", "machines", "matmul", "parts", "structure", "workers")
    )
    schedule = Later(".loopir.passes.schedule", __package__)

FORMAT = "1"
MAX_OBJECTS = 4096
_objects: dict[str, CompiledObject] = {}
_lock = fork_safe()


def compile_graph(graph: Graph) -> Executable:
    """Machine code for a graph: called with its inputs as arrays, returns its outputs."""
    key = ("executable", *settings.current().shaping)
    executable = graph.derived.get(key)
    if executable is None:
        with _lock:
            made = compiled(graph)
            executable = graph.derived[key] = made.load(*_links(graph, made), _opened(made))
    return executable


def _opened(made: CompiledObject) -> int | None:
    """Where code with debug information is: loaded in a way that debuggers see."""
    return debug_library.load(made.image, made.entry) if settings.current().debug_info else None


def _links(graph: Graph, made: CompiledObject) -> tuple[list[np.ndarray], list[Any]]:
    """The constants, library kernels and Python functions that the object code names."""
    table = text.constants(graph)
    return [table[k] for k in made.constants], called_functions(made)


def called_functions(made: CompiledObject) -> list[Any]:
    """The library kernels and Python functions that object code calls."""
    return [hostcalls.entry(f) if hostcalls.is_host_call(f) else function_address(f) for f in made.functions]


def compiled(graph: Graph) -> CompiledObject:
    """The graph's object code, from memory, from disk, or made now."""
    start = time.perf_counter()
    key = cache_key(graph)
    code = _objects.get(key)
    if code is None:
        portable = settings.current().cache and not _foreign_ops(graph)
        code = _from_disk(diskcache.get(key)) if portable and not report.wants(report.PASSES) else None
        if code is not None:
            report.done(report.COMPILED, f"{graph.name} found on disk", start)
        else:
            code = pipeline.build(graph, begin_kernel)
            report.done(report.COMPILED, f"{graph.name} of {len(graph.nodes)} nodes compiled", start)
            if names_other_lines(code, graph):
                return code  # an op that does not say that it may fail: another program must not find this
            if portable:
                diskcache.put(key, code.to_payload())
        if len(_objects) > MAX_OBJECTS:
            _objects.clear()
        _objects[key] = code
    return code


def _from_disk(payload: bytes | None) -> CompiledObject | None:
    try:
        return None if payload is None else CompiledObject.from_payload(payload)
    except (ValueError, RecursionError):
        return None


def cache_key(graph: Graph) -> str:
    """What the object code depends on, hashed."""
    parts = (
        FORMAT,
        code_digest(),
        text.to_text(graph),
        cpu.host().key,
        llvm_version(),
        str(settings.current().shaping),
        ";".join(_places(graph) if settings.current().debug_info else _lines(graph)),
        str(_foreign_ops(graph)),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _foreign_ops(graph: Graph) -> list[int]:
    """The ops declared outside of the package, whose code no digest covers: known within this process only."""
    package = __name__.split(".")[0] + "."
    return sorted({id(n.op) for _, n in walk_graph(graph) if not n.op.infer.__module__.startswith(package)})


def _lines(graph: Graph) -> list[str]:
    """The user's lines that may stand in messages of the object."""
    return [str(n.location) for _, n in walk_graph(graph) if n.op.names_line and n.location is not None]


def _places(graph: Graph) -> list[str]:
    """The user's lines, and those that they were called from, that stand in debug information."""
    stacks = [n.location.stack if n.location is not None else [] for _, n in walk_graph(graph)]
    return [
        " ".join(f"{p.file}:{p.line}:{p.function.co_qualname}:{p.function.co_firstlineno}" for p in stack)
        for stack in stacks
    ]


def names_other_lines(made: CompiledObject, graph: Graph) -> set[str]:
    """Lines in an object's messages that no op of the graph declares, so that its key does not hold them."""
    named = set()
    for message in made.messages:
        kind, text = ("RuntimeError", message) if isinstance(message, str) else message
        _, mark, line = text.rpartition(AT)
        if mark or kind == "loop":
            named.add(line.split("\n")[0])
    return named - {line.split("\n")[0] for line in _lines(graph)} - {""}


# ---- library kernels ------------------------------------------------------------------------------------


_begun: dict[str, workers.Work | None] = {}  # None: it was there already
os.register_at_fork(after_in_child=_begun.clear)  # the thread is the parent's


def begin_kernel(name: str) -> None:
    """Look for a library kernel, or make it, while what will call it is compiled."""
    if name not in _begun:
        work = workers.Work(partial(copy_context().run, library_kernel, name, cpu.host()))
        work.start()
        _begun[name] = work


@cache
def function_address(name: str) -> int:
    """A library kernel, or the thread pool's function, compiled once per machine."""
    if name == THREADS:
        return threads.pool(_pool_code).parallel
    begun = _begun.setdefault(name)
    try:
        made = library_kernel(name, cpu.host()) if begun is None else begun.result()
    except BaseException:
        _begun.pop(name, None)
        raise
    return made.load(address=_opened(made)).address


def library_kernel(name: str, target: cpu.CpuTarget) -> CompiledObject:
    """The code of a library kernel for a machine, from disk or made now."""
    return _kept(name, target, lambda machine: _kernel(name, machine))


def _kernel(name: str, target: cpu.CpuTarget) -> CompiledObject:
    entry, unit = kernel_source(name, target)
    if target == cpu.host():
        image = parts.compiled(unit, entry)
    else:
        image = llvm.compile_text(unit.text, ready=True, cpu=target)
    return CompiledObject(image, Signature((), ()), entry=entry)


def call_lane() -> dict[str, bytes]:
    """The code of the call lane, by architecture: it runs on every processor like this one."""
    arch = cpu.host().arch
    return {arch: _kept(*_lane_of(arch), _make_lane).image}


#: As what the code of the operators is kept.
_OPERATORS = "operator lane"


def operator_lane() -> bytes:
    """The code of the operators of eager tensors, for this machine."""

    def made(target: cpu.CpuTarget) -> CompiledObject:
        image = llvm.compile_text(operators.module_text(), opt=2, cpu=target)
        return CompiledObject(image, Signature((), ()), entry=operator_words.symbol("__add__"))

    return _kept(_OPERATORS, cpu.host(), made).image


def call_lane_on_disk() -> bytes | None:
    """The code of the call lane for this machine, if it has been made before."""
    return _made_before(*_lane_of(cpu.host().arch))


def operator_lane_on_disk() -> bytes | None:
    """The code of the operators, if it has been made before."""
    return _made_before(_OPERATORS, cpu.host())


def _made_before(name: str, target: cpu.CpuTarget) -> bytes | None:
    made = _from_disk(diskcache.get(_key(name, target)))
    return None if made is None else made.image


def _lane_of(arch: str) -> tuple[str, cpu.CpuTarget]:
    """The name of the call lane, and the processors it is made for."""
    return "call lane", cpu.baseline({"x86_64": "x86-64"}.get(arch, arch))


def _make_lane(target: cpu.CpuTarget) -> CompiledObject:
    image = llvm.compile_text(lane.module_text(), opt=2, cpu=target)
    return CompiledObject(image, Signature((), ()), entry=words.ENTRY)


def _kept(
    name: str, target: cpu.CpuTarget, make: Callable[[cpu.CpuTarget], CompiledObject]
) -> CompiledObject:
    """Code that belongs to no graph, from disk or made now."""
    key = _key(name, target)
    made = _from_disk(diskcache.get(key))
    if made is None:
        made = make(target)
        diskcache.put(key, made.to_payload())
    return made


def _key(name: str, target: cpu.CpuTarget) -> str:
    parts = (FORMAT, code_digest(), name, target.key, llvm_version())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _pool_code() -> bytes:
    def made(target: cpu.CpuTarget) -> CompiledObject:
        image = llvm.compile_text(thread_pool.module_text(target.arch), opt=0, ready=True, cpu=target)
        return CompiledObject(image, Signature((), ()), entry=Symbol.PARALLEL)

    return _kept("thread pool", cpu.host(), made).image


def kernel_source(name: str, target: cpu.CpuTarget) -> tuple[str, machines.Unit]:
    """The symbol of a library kernel, and what LLVM is to make its code of."""
    kernel, _, kind = name.removesuffix(structure.SHARED).rpartition("_")
    dtype, machine = {"f32": "float32", "f64": "float64"}[kind], schedule.Target.of(target.features)
    width, fma = machine.register_bytes, machine.has_fma
    if kernel == "gemm":
        shares = name.endswith(structure.SHARED)
        source = matmul.kernel_text(dtype, register_bytes=width, fma=fma, shares=shares)
        return matmul.symbol(dtype, width, shares), machines.Unit(source, ready=True)
    source = linalg.kernel_text(kernel, dtype, register_bytes=width, fma=fma)
    return linalg.symbol(kernel, dtype, width), machines.Unit(source, ready=True)
