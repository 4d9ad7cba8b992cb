"""A program as an LLVM module: kernels, and the entry that calls them in order.

Every top-level nest, every loop or branch, and every run of scalar statements is one internal function with
explicit pointers, sizes and scalars, so that LLVM's work stays linear.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core.dataclass import dataclass
from ...core.dim import Size
from ...core.lazy import Later
from ...runtime import abi
from ..loopir import ir
from ..loopir.passes.schedule import Target, schedule
from . import memory, parallel
from . import structure as control
from .entry import Entry
from .footprint import Footprint, larger
from .nests import reduce
from .routine import KernelFunction, runs
from .writing import alike, buffers, kernel_calls, scalars
from .writing.kernel import KernelWriter, Module
from .writing.places import Places

if TYPE_CHECKING:
    from . import debug_info
else:
    debug_info = Later(".debug_info", __package__)

STACK = 16  # the alignment of the stack that callers see to
WRITERS: dict[type, Callable[[KernelWriter, Any], None]] = {
    ir.Load: buffers.load, ir.Store: buffers.store, ir.Compute: scalars.compute, ir.Size_: scalars.size,
    ir.Combine: reduce.combine, ir.Nest: parallel.nest, ir.While: parallel.loop, ir.If: control.branch,
    ir.Fail: control.fail, ir.Call: kernel_calls.call, ir.HostCall: control.host_call,
    ir.Allocate: memory.allocate, ir.Grow: memory.grow, ir.Free: memory.free,
    ir.Clock: control.clock,
}  # fmt: skip


@dataclass(frozen=True)
class Emitted:
    """A program as text.

    Attributes
    ----------
    text : str
        A complete LLVM module with one external function, named as the program.
    functions : tuple of str
        Library kernels expected in ctx.functions, in order: ``gemm_f32``, ``gemm_f64``.
    workspace : int or Dim
        Bytes of workspace to provide, library calls included.
    """

    text: str
    functions: tuple[str, ...]
    workspace: Size


def emit(program: ir.Program, target: Target | None = None) -> Emitted:
    """The LLVM module of a program.

    Statuses the entry returns: 0; ``code + 1`` of a Fail; -1 when memory ran out; -2 when poll asked to stop.
    """
    target = target or Target()
    schedule(program, target)
    module = Module(target, program.contract, places=Places() if program.located else None)
    groups = runs(program.body)
    prints = [Footprint(group) for group in groups]
    entry = Entry(program, module, WRITERS, prints)
    entry.open()
    kernels: dict[tuple[str, str], str] = {}
    for number, (group, print_) in enumerate(zip(groups, prints, strict=True)):
        KernelFunction(entry, number, group, print_).write(kernels)
    one = alike.merged(kernels if module.places is None else {})
    functions = [
        f"define internal {shape} {name}{rest}" for (shape, rest), name in (one.functions or kernels).items()
    ]
    functions.append(one.redirected(entry.close()))
    if module.places is not None:
        functions = debug_info.described(functions, program.name, module.places)
    module.declares.update(dict.fromkeys(sorted(entry.k.w.declares.values())))
    scratch: Size = 0
    for print_ in prints:
        scratch = larger(scratch, print_.scratch)
    return Emitted(text(module, functions), tuple(module.calls), aligned(program.workspace) + scratch)


def aligned(size: Size) -> Size:
    """At least `size`, and its end rounded up to the alignment of the workspace."""
    align = abi.WORKSPACE_ALIGN
    return -(-size // align) * align if isinstance(size, int) else size + align


def frames() -> str:
    """What a module without places needs for debuggers to find the way from its functions to their callers."""
    return debug_info.frames()


def text(module: Module, functions: list[str]) -> str:
    width = 8 * module.target.register_bytes
    flags = f'nounwind "no-builtins" "prefer-vector-width"="{width}" "min-legal-vector-width"="{width}"'
    if (
        module.target.register_bytes > STACK
    ):  # registers that LLVM has no room for would lie across cache lines
        flags += ' "stackrealign"'
    attributes = f"attributes #0 = {{ noinline {flags} }}\nattributes #1 = {{ {flags} }}\n"
    return "\n".join([*module.declares, "", *module.globals, *module.functions, *functions, attributes])
