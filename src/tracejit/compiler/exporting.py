"""A graph as one object that needs nothing: its code, its constants, the library kernels it calls, C functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..core.errors import TracejitError, at
from ..core.ir import text
from ..core.ir.graph import Graph, walk
from ..runtime import cpu
from ..runtime.compiled import CompiledObject
from ..runtime.exported.callbacks import callbacks, symbol
from ..runtime.exported.interface import Interface
from ..runtime.linking.relocatable import merge
from ..runtime.linking.wasm.module import link
from . import pipeline, system_memory
from .c_functions import module_text, work_bytes
from .cache import kernel_source, library_kernel
from .codegen import llvm
from .codegen.machines import Unit


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
        Of this machine's architecture or another.

    Raises
    ------
    NotExportable
        It needs Python while it runs, the size of a result is known only when it has run, or the target has no code
        for one of its types.
    """
    _refuse_host_calls(graph)
    _refuse_types(graph, target)
    graph.name = f"{interface.name}.program"
    made, unit = pipeline.source(graph, target)
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
    image = _linked(made, unit, interface, data, target)
    return replace(made, image=image, entry=interface.entry, constants=(), functions=()), interface


def _linked(
    made: CompiledObject,
    unit: Unit,
    interface: Interface,
    data: Mapping[str, bytes],
    target: cpu.CpuTarget,
) -> bytes:
    """The program, its C functions, its kernels and its constants as one object, or a WebAssembly module."""
    kernels = [kernel_source(name, target) for name in made.functions]
    sizes = {name: len(blob) for name, blob in data.items()}
    glue = module_text(made, interface, sizes, [entry for entry, _ in kernels], target)
    units = [unit, Unit(glue), *(kernel for _, kernel in kernels)]
    if target.arch == cpu.host().arch:
        images = llvm.compile_units(units[:2], target)
        images += [library_kernel(name, target).image for name in made.functions]
    else:
        images = llvm.compile_units(units, target)
    if target.arch == "wasm32":
        return link(images, data, [*interface.functions(allocates=False), f"{interface.name}_reserve"])
    called_back = [symbol(interface, c) for c in callbacks(made.signature, target.arch)]
    code = system_memory.code(interface.name, target.arch) if made.allocates else {}
    return merge(images, data, [interface.entry, *interface.functions(made.allocates), *called_back], code)


def _refuse_host_calls(graph: Graph) -> None:
    for _, node in walk(graph):
        if "prints" in node.op.traits:
            raise NotExportable(
                f"{node.op} needs Python, which an exported function does not have: take it out, or return what it "
                f"shows{at(node.location)}"
            )


#: Types that an architecture has no instructions for.
_NO_CODE = {"riscv64": frozenset({"float16"})}


def _refuse_types(graph: Graph, target: cpu.CpuTarget) -> None:
    """NotExportable for numbers of a type that the target would need a library for."""
    refused = _NO_CODE.get(target.arch, frozenset())
    found = [(v, "an argument", "") for v in graph.inputs]
    found += [(v, f"a result of {n.op}", at(n.location)) for _, n in walk(graph) for v in n.outputs]
    for value, what, where in found:
        if value.spec.dtype.name in refused:
            raise NotExportable(
                f"{target.name} has no {value.spec.dtype.name}, which {what} is: use float32{where}"
            )
