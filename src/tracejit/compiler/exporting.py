"""A graph as one object that needs nothing: its code, its constants, the library kernels it calls, C functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from ..core import settings
from ..core.errors import TracejitError, at
from ..core.ir import text
from ..core.ir.graph import Graph, walk
from ..runtime import cpu
from ..runtime.compiled import CompiledObject
from ..runtime.elf import ObjectError
from ..runtime.exported.callbacks import callbacks, symbol
from ..runtime.exported.interface import Interface
from ..runtime.linking.relocatable import merge
from ..runtime.linking.wasm.module import link
from . import dispatch, pipeline
from .c_functions import Program, defined, messages, module_text, work_bytes
from .codegen import llvm
from .codegen.footprint import larger
from .codegen.machines import Unit
from .kernels import kernel_source, library_kernel
from .lowering.nodes import calls_python
from .platforms import half_floats, system_memory, thumb_library


class NotExportable(TracejitError, ValueError):
    """A function that cannot leave this process, and why.

    Examples
    --------
    >>> import tracejit as tf
    >>> issubclass(tf.aot.NotExportable, ValueError)
    True

    Examples
    --------
    >>> import tracejit as tf
    >>> def f(x):
    ...     tf.print(x)
    ...     return x
    >>> try:
    ...     tf.export(f, ["f64"], name="f")
    ... except tf.errors.NotExportable as error:
    ...     print(type(error).__name__)
    NotExportable
    """

    __module__ = "tracejit.errors"


def exported(
    graph: Graph, interface: Interface, targets: Sequence[cpu.CpuTarget]
) -> tuple[CompiledObject, Interface]:
    """Compile a graph for another process.

    Parameters
    ----------
    graph : Graph
        Without captured tensors and Variables.
    interface : Interface
        The names; the result has the bytes of work, too.
    targets : sequence of CpuTarget
        Processors of one architecture, this machine's or another, the best first: the code finds out which it runs on.

    Raises
    ------
    NotExportable
        It needs Python while it runs, the size of a result is known only when it has run, or another machine has no
        code for something in it.
    """
    _refuse_host_calls(graph)
    _refuse_types(graph, targets[-1])
    wanted = settings.current().debug_info and targets[-1].arch in _WITH_LINES
    with settings.settings(debug_info=wanted):
        return _compiled(graph, interface, targets)


#: Architectures whose files have a place for debug information.
_WITH_LINES = frozenset({"x86_64", "aarch64", "riscv64"})


def _compiled(
    graph: Graph, interface: Interface, targets: Sequence[cpu.CpuTarget]
) -> tuple[CompiledObject, Interface]:
    sources = [pipeline.source(graph, t, f"{interface.name}.program.{t.name}") for t in targets]
    made = sources[-1][0]
    late = [interface.outputs[k] for k in sorted(made.signature.callee_allocated)]
    if late:
        raise NotExportable(
            f"the size of {', '.join(late)} is known only when {interface.name} has run, so that no caller could "
            "have memory for it: return a part of a size that is known"
        )
    workspace = reduce(larger, (one.workspace for one, _ in sources))
    made = replace(made, workspace=workspace, entry=interface.entry, functions=())
    interface = replace(interface, work=work_bytes(workspace))
    arrays = list(text.constants(graph).values())
    data = {
        f"{interface.name}.constant{k}": np.ascontiguousarray(arrays[number]).tobytes()
        for k, number in enumerate(made.constants)
    }
    try:
        image = _linked(made, interface, sources, data, targets)
    except (llvm.CodegenError, ObjectError) as error:
        if targets[-1].arch == cpu.host().arch:
            raise
        raise NotExportable(f"{interface.name} cannot be made for {targets[-1].name}: {error}") from None
    return replace(
        made, image=image, constants=(), messages=messages(made, interface, targets[-1])
    ), interface


def _linked(
    made: CompiledObject,
    interface: Interface,
    sources: Sequence[tuple[CompiledObject, Unit]],
    data: Mapping[str, bytes],
    targets: Sequence[cpu.CpuTarget],
) -> bytes:
    """The programs, their C functions, their kernels and their constants as one object, or a WebAssembly module."""
    arch, name = targets[-1].arch, interface.name
    programs, work, kernels = [], [], []
    for (one, unit), target in zip(sources, targets, strict=True):
        found = [kernel_source(kernel, target) for kernel in one.functions]
        programs.append(Program(one.entry, tuple(entry for entry, _ in found), target))
        work.append((unit, target))
        if arch == "x86_64" and "f16c" not in target.enabled and "half" in unit.text:
            work.append((Unit(half_floats.conversions("half") + "attributes #1 = { nounwind }\n"), target))
        if arch == cpu.host().arch:
            kernels += [library_kernel(kernel, target).image for kernel in one.functions]
        else:
            work += [(kernel, target) for _, kernel in found]
    glue = module_text(made, interface, {key: len(blob) for key, blob in data.items()}, programs)
    work.append((Unit(glue), cpu.baseline("x86-64") if arch == "x86_64" else targets[-1]))
    if arch == "thumbv7em":
        work += [(Unit(defined(key, blob), ready=True), targets[-1]) for key, blob in data.items()]
        return _for_firmware(work, interface.functions(made.allocates))
    images = [*llvm.compile_units(work), *kernels]
    if arch == "wasm32":
        return link(images, data, [*interface.functions(allocates=False), f"{name}_reserve"])
    seen = [symbol(interface, c) for c in callbacks(made.signature, arch)] + interface.functions(
        made.allocates
    )
    code = dispatch.code(name, arch) | (system_memory.code(name, arch) if made.allocates else {})
    return merge(images, data, [interface.entry, *seen], code)


def _for_firmware(work: Sequence[tuple[Unit, cpu.CpuTarget]], exported: Sequence[str]) -> bytes:
    """One object without undefined symbols for a processor that has no system."""
    try:
        return llvm.compile_linked(work, exported, thumb_library.routines())
    except llvm.CodegenError as error:
        name = work[0][1].name
        if name.endswith("+fp64") or not re.search(r"__aeabi_\w*d|\bfma\b", str(error)):
            raise
        raise NotExportable(
            f"{name} has no arithmetic in float64, which this function needs (sin, cos, tan and powers of float32 do, "
            f"too): export it for '{name}+fp64'"
        ) from None


def _refuse_host_calls(graph: Graph) -> None:
    for _, node in walk(graph):
        if not node.op.traits.isdisjoint(("prints", "this_process")):
            # a function of the program, or what is done to strings
            called = getattr(node.attrs.get("function"), "function", None)
            raise NotExportable(
                f"{called or node.op} needs Python, which an exported function does not have: take it out, or return "
                f"what it shows{at(node.location)}"
            )
        if calls_python(node):
            raise NotExportable(
                f"{node.op} is computed by NumPy in Python, which an exported function does not have: compute it "
                f"outside, and pass it as an argument{at(node.location)}"
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
