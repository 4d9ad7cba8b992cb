"""The pipeline: every pass in order, from a graph to something that can be called.

Graph passes, then loop passes, then text, then an object. The object is found by the text of the graph and
everything else that shapes it, so a process that meets the same graph again compiles nothing.
"""

from __future__ import annotations

import gc
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from ..core import settings, text
from ..core.dim import product
from ..core.errors import AT
from ..core.graph import Graph, verify
from ..core.graph import walk as walk_graph
from ..runtime import cpu, diskcache
from ..runtime.compiled import CompiledObject
from ..runtime.executable import Executable
from ..runtime.signature import Signature
from . import hostcalls, llvm, matmul, report
from .dce import drop_dead
from .emit import Emitted, emit
from .emit.poll import quick
from .fuse import fuse
from .loops import Allocate, Grow, HostCall, Nest, Program, While, walk
from .looptext import to_text as program_text
from .loopverify import verify as verify_program
from .lower import entry_atoms, lower
from .passes import GRAPH_PASSES
from .plan import plan, settle
from .recompute import recompute
from .rowfuse import fuse_rows
from .schedule import Target, schedule
from .statement import Statement
from .value_numbering import number_values

FORMAT = "1"
_lock = threading.RLock()

ProgramPass = Callable[[Program], Program]

#: Passes on programs, in order. Contract of each: a valid program in, one with the same results out.
PROGRAM_PASSES: tuple[tuple[str, ProgramPass], ...] = (
    ("fuse", fuse),
    ("number values", number_values),
    ("drop dead", drop_dead),
    ("recompute", recompute),
    ("fuse rows", fuse_rows),
    ("settle", settle),
    ("plan", plan),
)


def compile_graph(graph: Graph) -> Executable:
    """Machine code for a graph: called with its inputs as arrays, returns its outputs."""
    found = graph.derived.get(("executable", settings.current().contract))
    if found is None:
        with _lock:
            made = compiled(graph)
            found = made.load(*_links(graph, made))
            graph.derived["executable", settings.current().contract] = found
    return found


def _links(graph: Graph, made: CompiledObject) -> tuple[list[np.ndarray], list]:
    """The constants, library kernels and Python functions that the object code names."""
    table = text.constants(graph)
    functions = [
        hostcalls.entry(f) if hostcalls.is_host_call(f) else function_address(f) for f in made.functions
    ]
    return [table[k] for k in made.constants], functions


def compiled(graph: Graph) -> CompiledObject:
    """The graph's object code, from memory, from disk, or made now."""
    start = time.perf_counter()
    key = cache_key(graph)
    found = _objects.get(key)
    if found is None:
        portable = settings.current().cache and not _foreign_ops(graph)
        found = _from_disk(diskcache.get(key)) if portable and not report.wants(report.PASSES) else None
        if found is not None:
            report.done(report.COMPILED, f"{graph.name} found on disk", start)
        else:
            found = build(graph)
            report.done(report.COMPILED, f"{graph.name} of {len(graph.nodes)} nodes compiled", start)
            if names_other_lines(found, graph):
                return found  # an op that does not say that it may fail: another program must not find this
            if portable:
                diskcache.put(key, found.to_payload())
        if len(_objects) > 4096:
            _objects.clear()
        _objects[key] = found
    return found


_objects: dict[str, CompiledObject] = {}


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
        llvm.version(),
        str(settings.current().contract),
        ";".join(_lines(graph)),
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


def names_other_lines(made: CompiledObject, graph: Graph) -> set[str]:
    """Lines in an object's messages that no op of the graph declares, so that its key does not hold them."""
    named = set()
    for message in made.messages:
        kind, text = ("RuntimeError", message) if isinstance(message, str) else message
        _, mark, line = text.rpartition(AT)
        if mark or kind == "loop":
            named.add(line.split("\n")[0])
    return named - {line.split("\n")[0] for line in _lines(graph)} - {""}


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Identifies this version of the package's own code, by the size and time of its files."""
    root = Path(__file__).resolve().parent.parent
    parts = []
    for folder in ("core", "ops", "compiler", "runtime"):
        for directory, _, files in sorted(os.walk(root / folder)):
            for name in sorted(f for f in files if f.endswith(".py")):
                stat = os.stat(os.path.join(directory, name))
                parts.append(f"{name}:{stat.st_size}:{stat.st_mtime_ns}")
    return hashlib.sha256(";".join(parts).encode()).hexdigest()


# ---- the passes -----------------------------------------------------------------------------------------


def optimized(graph: Graph) -> Graph:
    """The graph after all graph passes."""
    for name, run in GRAPH_PASSES:
        start = time.perf_counter()
        graph = run(graph)
        report.done(report.PASSES, name, start)
        report.show(report.PROGRAMS, partial(text.to_text, graph))
        if settings.current().check:
            verify(graph)
    return graph


def lower_graph(graph: Graph) -> Program:
    """The loop program of a graph after all passes."""
    return _lowered(graph)[0]


def _lowered(graph: Graph) -> tuple[Program, dict[str, np.ndarray]]:
    graph = optimized(graph)
    start = time.perf_counter()
    program, constants = lower(graph, settings.current().contract)
    _note("lower", start, program)
    for name, run in PROGRAM_PASSES:
        start = time.perf_counter()
        program = run(program)
        _note(name, start, program)
    return program, constants


def _note(name: str, start: float, program: Program) -> None:
    """Tell of a pass on programs that began at `start`, and check what it made."""
    report.done(report.PASSES, name, start)
    report.show(report.PROGRAMS, partial(program_text, program))
    if settings.current().check:
        verify_program(program)


@contextmanager
def without_collection() -> Iterator[None]:
    """No garbage collection: compiling makes many objects that all live until it ends."""
    enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if enabled:
            gc.enable()


@without_collection()
def build(graph: Graph) -> CompiledObject:
    """Compile a graph, without looking for an earlier result."""
    program, constants = _lowered(graph)
    start = time.perf_counter()
    emitted = emit(program, machine())
    report.done(report.PASSES, "emit", start)
    report.show(report.LLVM, lambda: emitted.text)
    start = time.perf_counter()
    image = llvm.compile_text(emitted.text, opt=level(program))
    report.done(report.PASSES, "llvm", start)
    report.show(report.ASSEMBLY, lambda: llvm.assembly(emitted.text, opt=level(program)))
    return _object(graph, program, emitted, image, tuple(constants))


#: Statements from which a program of tiny nests is worth less of LLVM's effort than compiling it costs.
LONG = 1500
#: Points of a nest that is tiny: it runs for nanoseconds.
TINY = 64


def level(program: Program) -> int:
    """LLVM's effort: all of it for sequential loops, the least for long programs that do little per statement."""
    statements = list(walk(program.body))
    if any(isinstance(s, While) for s in statements):
        return 2
    tiny = all(_points(s) <= TINY for s in statements if isinstance(s, Nest))
    return 0 if tiny and len(statements) > LONG else 1


def _points(nest: Nest) -> float:
    size = product(a.size for a in nest.axes)
    return size if isinstance(size, int) else float("inf")


def _object(
    graph: Graph, program: Program, emitted: Emitted, image: bytes, constants: tuple[str, ...]
) -> CompiledObject:
    atoms = entry_atoms(graph)
    signature = Signature(
        tuple((v.spec.dtype, v.spec.shape) for v in graph.inputs),
        tuple((v.spec.dtype, shape) for v, shape in zip(graph.outputs, program.output_shapes, strict=True)),
        tuple((name, *atoms[name]) for name in program.atoms),
        program.bound,
        frozenset(b.slot for b in program.buffers if b.kind == "heap" and b.slot >= 0),
    )
    polls = any(_calls_python(s) for s in walk(program.body))
    return CompiledObject(
        image,
        signature,
        emitted.workspace,
        program.messages,
        polls,
        program.name,
        constants,
        emitted.functions,
    )


def _calls_python(s: Statement) -> bool:
    """Does it ask whether to go on, or for memory, or call a Python function? No signal may raise in there."""
    return isinstance(s, (Allocate, Grow, HostCall)) or (isinstance(s, While) and not quick(s))


@lru_cache(maxsize=1)
def machine() -> Target:
    """The machine code is made for, as the scheduler sees it."""
    return Target.of(cpu.host().features)


@lru_cache(maxsize=8)
def function_address(name: str) -> int:
    """A library kernel, compiled once per machine."""
    dtype = {"gemm_f32": "float32", "gemm_f64": "float64"}[name]
    source = matmul.kernel_text(dtype, register_bytes=machine().register_bytes, fma=machine().has_fma)
    key = hashlib.sha256("\0".join((FORMAT, source, cpu.host().key, llvm.version())).encode()).hexdigest()
    made = _from_disk(diskcache.get(key))
    if made is None:
        image = llvm.compile_text(source, ready=True)
        made = CompiledObject(image, Signature((), ()), entry=matmul.symbol(dtype))
        diskcache.put(key, made.to_payload())
    return made.load().address


# ---- looking inside -------------------------------------------------------------------------------------


def loops_text(graph: Graph) -> str:
    """The loop program as text, with the schedule of each nest."""
    program = lower_graph(graph)
    schedule(program, machine())
    return program_text(program)


def llvm_text(graph: Graph) -> str:
    """The LLVM module of a graph, as handed to LLVM."""
    return emit(lower_graph(graph), machine()).text


def assembly_text(graph: Graph) -> str:
    """The machine code of a graph as assembly."""
    program = lower_graph(graph)
    return llvm.assembly(emit(program, machine()).text, opt=level(program))
