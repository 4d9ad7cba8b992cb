"""The pipeline: every pass in order, from a graph to an object. Graph passes, then loop passes, then text, then code.

Where objects are kept, so that what is met again is not compiled again, is said in ``cache``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from ..core import settings
from ..core.dim import product
from ..core.ir import text
from ..core.ir.graph import Graph, verify
from ..core.lazy import without_collection
from ..runtime import cpu
from ..runtime.compiled import CompiledObject
from ..runtime.signature import Signature
from ..runtime.threads.state import NAME as POOL
from . import report
from .codegen import llvm, parts
from .codegen.machines import Unit
from .codegen.poll import quick
from .codegen.program import Emitted, emit
from .codegen.threads import thread_pool
from .codegen.writing.kernel_calls import library_kernels
from .graph.passes import GRAPH_PASSES
from .loopir.ir import Allocate, Call, Grow, HostCall, Nest, Program, Size_, While, walk
from .loopir.numbering.values import number_values
from .loopir.passes.arithmetic.factors import fold_factors
from .loopir.passes.arithmetic.reciprocals import share_reciprocals
from .loopir.passes.assign_buffers import assign_buffers, forward_to_rows
from .loopir.passes.clocks import insert_clocks
from .loopir.passes.dce import drop_dead
from .loopir.passes.fuse import fuse
from .loopir.passes.piece_readers import read_through_pieces
from .loopir.passes.pieces import join_pieces
from .loopir.passes.recompute import recompute
from .loopir.passes.row_fusion import fuse_rows
from .loopir.passes.rows.product_rows import fuse_products
from .loopir.passes.rows.row_blocks import share_row_blocks
from .loopir.passes.rows.row_sums import sum_by_rows
from .loopir.passes.schedule import Target, schedule
from .loopir.passes.short_axes import write_out_short_axes
from .loopir.statement import Statement
from .loopir.text import to_text as program_text
from .loopir.verifier import verify as verify_program
from .lowering.lower import entry_atoms, lower

ProgramPass = Callable[[Program], Program]

#: Passes on programs, in order. Contract of each: a valid program in, one with the same results out.
PROGRAM_PASSES: tuple[tuple[str, ProgramPass], ...] = (
    ("write out short axes", write_out_short_axes),
    ("fuse", fuse),
    ("number values", number_values),
    ("drop dead", drop_dead),
    ("share reciprocals", share_reciprocals),
    ("fold factors", fold_factors),
    ("recompute", recompute),
    ("read through pieces", read_through_pieces),
    ("join pieces", join_pieces),
    ("sum by rows", sum_by_rows),
    ("fuse rows", fuse_rows),
    ("fuse products", fuse_products),
    ("share row blocks", share_row_blocks),
    ("forward_to_rows", forward_to_rows),
    ("assign_buffers", assign_buffers),
)


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


def _lowered(
    graph: Graph, begin: Callable[[str], object] | None = None
) -> tuple[Program, dict[str, np.ndarray]]:
    graph = optimized(graph)
    start = time.perf_counter()
    program, constants = lower(graph, settings.current().contract, settings.current().debug_info)
    _note("lower", start, program)
    if begin is not None:
        shares = machine().threads and not settings.current().debug_info
        calls = [s for s in walk(program.body) if isinstance(s, Call)]
        for name in sorted({name for s in calls for name in library_kernels(s, shares)}):
            begin(name)
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


def build(graph: Graph, begin: Callable[[str], object] | None = None) -> CompiledObject:
    """Compile a graph for this machine, without looking for an earlier result.

    Parameters
    ----------
    graph : Graph
    begin : callable, optional
        Told early the names of library kernels that the code will call, and the thread pool's.
    """
    with without_collection():
        made, unit = source(graph, begin=begin)
        if begin is not None and POOL in made.functions:
            begin(POOL)
        start = time.perf_counter()
        image = parts.compiled(unit, made.entry)
        report.done(report.PASSES, "llvm", start)
        report.show(report.ASSEMBLY, lambda: llvm.assembly(unit.text, opt=unit.opt, hoisted=unit.hoisted))
    return replace(made, image=image)


def source(
    graph: Graph,
    target: cpu.CpuTarget | None = None,
    name: str | None = None,
    begin: Callable[[str], object] | None = None,
) -> tuple[CompiledObject, Unit]:
    """All but LLVM's part: the object without its code, and what LLVM is to make that of; `name` is the entry's."""
    program, constants = _lowered(graph, begin)
    program.name = name or program.name
    start = time.perf_counter()
    emitted = emit(program, machine() if target is None else Target.of(target.features))
    report.done(report.PASSES, "emit", start)
    report.show(report.LLVM, lambda: emitted.text)
    made = _object(graph, program, emitted, b"", constants)
    return made, Unit(emitted.text, level(program), hoisted=True)


class Timed(NamedTuple):
    """Code that notes how long its statements take.

    Attributes
    ----------
    code : CompiledObject
        It has one constant more than the program, the last: int64, see `insert_clocks`.
    program : Program
    constants : list of ndarray
        The others.
    counted : list of list of Statement
        Per number of a clock what it times.
    """

    code: CompiledObject
    program: Program
    constants: list[np.ndarray]
    counted: list[list[Statement]]


def timed(graph: Graph) -> Timed:
    """A graph compiled for a profile; its statements say where they come from with ``settings(debug_info=True)``."""
    with without_collection():
        program, constants = _lowered(graph)
        counted = insert_clocks(program, len(constants))
        emitted = emit(program, machine())
        made = _object(graph, program, emitted, b"", constants)
        image = parts.compiled(Unit(emitted.text, level(program), hoisted=True), made.entry)
    return Timed(replace(made, image=image), program, list(constants.values()), counted)


#: Statements from which a program of tiny nests is worth less of LLVM's effort than compiling it costs.
LONG = 1500
#: Points of a nest that is tiny: it runs for nanoseconds.
TINY = 64
#: Statements of a program up to which unrolling its sequential loops is worth what it costs.
SHORT = 350


def level(program: Program) -> int:
    """LLVM's effort: all of it for short sequential loops, the least for long programs that do little per statement."""
    statements = list(walk(program.body))
    loops = [s for s in statements if isinstance(s, While)]
    if any(_computes(s) for s in loops):
        return 2 if len(statements) <= SHORT else 1
    tiny = all(_points(s) <= TINY for s in statements if isinstance(s, Nest))
    return 0 if tiny and not loops and len(statements) > LONG else 1


def _computes(loop: While) -> bool:
    """Is there more in its body than calls of a library, with sizes and loops of them?"""
    return any(not isinstance(s, (Call, Size_, While)) for s in walk(loop.body))


def _points(nest: Nest) -> float:
    size = product(a.size for a in nest.axes)
    return size if isinstance(size, int) else float("inf")


def _object(
    graph: Graph, program: Program, emitted: Emitted, image: bytes, constants: Iterable[str]
) -> CompiledObject:
    atoms, numbers = entry_atoms(graph), {key: k for k, key in enumerate(text.constants(graph))}
    signature = Signature(
        tuple((v.spec.dtype, v.spec.shape) for v in graph.inputs),
        tuple((v.spec.dtype, shape) for v, shape in zip(graph.outputs, program.output_shapes, strict=True)),
        tuple((name, *atoms[name]) for name in program.atoms),
        program.bound,
        frozenset(b.slot for b in program.buffers if b.kind == "heap" and b.slot >= 0),
    )
    statements = list(walk(program.body))
    return CompiledObject(
        image,
        signature,
        emitted.workspace,
        program.messages,
        any(_calls_python(s) for s in statements),
        program.name,
        tuple([numbers[key] for key in constants]),
        emitted.functions,
        any(isinstance(s, (Allocate, Grow)) for s in statements),
    )


def _calls_python(s: Statement) -> bool:
    """Does it ask whether to go on, or for memory, or call a Python function? No signal may raise in there."""
    return isinstance(s, (Allocate, Grow, HostCall)) or (isinstance(s, While) and not quick(s))


@lru_cache(maxsize=1)
def machine() -> Target:
    """The machine code is made for, as the scheduler sees it."""
    return replace(Target.of(cpu.host().features), threads=thread_pool.serves(cpu.host().arch))


# ---- looking inside -------------------------------------------------------------------------------------


def loops_text(graph: Graph) -> str:
    """The loop program as text, with the schedule of each nest."""
    program = lower_graph(graph)
    schedule(program, machine())
    return program_text(program)


def llvm_text(graph: Graph) -> str:
    """The LLVM module of a graph, as handed to LLVM."""
    return emit(lower_graph(graph), machine()).text
