"""A graph as one object that needs nothing: its code, its constants, the library kernels it calls, C functions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core.errors import TracejitError, at
from ..core.ir import text
from ..core.ir.graph import Graph, walk
from ..runtime import cpu
from ..runtime.compiled import CompiledObject
from ..runtime.exported.interface import Interface
from ..runtime.linking.relocatable import merge
from . import pipeline
from .c_functions import module_text, work_bytes
from .cache import library_kernel
from .codegen import llvm


class NotExportable(TracejitError, ValueError):
    """A function that cannot leave this process, and why."""


def exported(graph: Graph, interface: Interface, target: cpu.CpuTarget) -> tuple[CompiledObject, Interface]:
    """Compile a graph for another process.

    Parameters
    ----------
    graph : Graph
        Without captured tensors and Variables.
    interface : Interface
        The names; the result has the bytes of work, too.
    target : CpuTarget

    Raises
    ------
    NotExportable
        It needs Python while it runs, or the size of a result is known only when it has run.
    """
    _refuse_host_calls(graph)
    graph.name = f"{interface.name}.program"
    made = pipeline.build(graph, target)
    late = [interface.outputs[k] for k in sorted(made.signature.callee_allocated)]
    if late:
        raise NotExportable(
            f"the size of {', '.join(late)} is known only when {interface.name} has run, so that no caller could "
            "have memory for it: return a part of a size that is known"
        )
    interface = replace(interface, work=work_bytes(made.workspace))
    table = text.constants(graph)
    data = {
        f"{interface.name}.constant{k}": np.ascontiguousarray(table[key]).tobytes()
        for k, key in enumerate(made.constants)
    }
    kernels = [library_kernel(name, target) for name in made.functions]
    sizes = {name: len(blob) for name, blob in data.items()}
    source = module_text(made, interface, sizes, [k.entry for k in kernels], target.arch)
    expected = {made.entry, *data, *(k.entry for k in kernels)}
    glue = llvm.compile_text(source, cpu=target, expected=expected)
    image = merge(
        [made.image, glue, *(k.image for k in kernels)],
        data,
        [interface.entry, *interface.functions(made.allocates)],
    )
    return replace(made, image=image, entry=interface.entry, constants=(), functions=()), interface


def _refuse_host_calls(graph: Graph) -> None:
    for _, node in walk(graph):
        if "prints" in node.op.traits:
            raise NotExportable(
                f"{node.op} needs Python, which an exported function does not have: take it out, or return what it "
                f"shows{at(node.location)}"
            )
