"""The cache of compiled graphs and its keys: the one place that decides whether a graph is compiled.

A graph that is met again is looked for in three places. With the graph itself is its executable, loaded and linked,
by the settings that shape code. In this process's memory is the object, by everything its code depends on:
`cache_key`. On disk is the same under the same key, for every process. An executable belongs to its graph, since it
holds constants; an object has none, and serves every graph that differs in these alone, loaded once. What is higher
up (a trace of a function, a gradient's two parts, a model loaded from a file) keeps graphs, and with them all this;
what belongs to no graph is in ``kernels``.
"""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import settings
from ..core.errors import AT
from ..core.ir import text
from ..core.ir.graph import Graph, Node
from ..core.ir.graph import walk as walk_graph
from ..core.lazy import Later
from ..core.op import Op
from ..runtime import cpu, diskcache
from ..runtime.compiled import CompiledObject
from ..runtime.executable import Executable
from ..runtime.threads.forks import fork_safe
from . import hostcalls, report
from .identity import code_digest, llvm_version
from .kernels import FORMAT, begin_kernel, found_on_disk, function_address, opened

if TYPE_CHECKING:
    from . import pipeline
else:  # whoever finds all compiled code on disk needs no compiler
    pipeline = Later(".pipeline", __package__)

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
            executable = graph.derived[key] = made.load(*_links(graph, made), opened(made))
    return executable


def _links(graph: Graph, made: CompiledObject) -> tuple[list[np.ndarray], list[Any]]:
    """The constants, library kernels and Python functions that the object code names."""
    arrays = list(text.constants(graph).values())
    return [arrays[k] for k in made.constants], called_functions(made)


def called_functions(made: CompiledObject) -> list[Any]:
    """The library kernels and Python functions that object code calls."""
    return [hostcalls.entry(f) if hostcalls.is_host_call(f) else function_address(f) for f in made.functions]


def compiled(graph: Graph) -> CompiledObject:
    """The graph's object code, from memory, from disk, or made now."""
    start = time.perf_counter()
    key = cache_key(graph)
    code = _objects.get(key)
    if code is None:
        portable = settings.current().cache and not _foreign_ops(_nodes(graph))
        code = found_on_disk(key) if portable and not report.wants(report.PASSES) else None
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


def cache_key(graph: Graph) -> str:
    """What the object code depends on, hashed."""
    nodes = _nodes(graph)
    parts = (
        FORMAT,
        code_digest(),
        text.without_contents(graph),
        cpu.host().key,
        llvm_version(),
        str(settings.current().shaping),
        ";".join(_places(nodes) if settings.current().debug_info else _lines(nodes)),
        str(_foreign_ops(nodes)),
    )
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _nodes(graph: Graph) -> list[Node]:
    """Its nodes, and those of its regions."""
    return [node for _, node in walk_graph(graph)]


def _foreign_ops(nodes: list[Node]) -> list[int]:
    """The ops whose code no digest covers, declared outside of the package or by functions of this process."""
    package = __name__.split(".")[0] + "."

    def foreign(op: Op) -> bool:
        return "this_process" in op.traits or not op.infer.__module__.startswith(package)

    called = {id(n.op): n.op for n in nodes}
    return sorted(key for key, op in called.items() if foreign(op))


def _lines(nodes: list[Node]) -> list[str]:
    """The user's lines that may stand in messages of the object."""
    return [str(n.location) for n in nodes if n.op.names_line and n.location is not None]


def _places(nodes: list[Node]) -> list[str]:
    """The user's lines, and those that they were called from, that stand in debug information."""
    stacks = [n.location.stack if n.location is not None else [] for n in nodes]
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
    return named - {line.split("\n")[0] for line in _lines(_nodes(graph))} - {""}
