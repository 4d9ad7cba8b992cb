"""Calls of library kernels: matrix products, factors of matrices, and what threads share of them.

A product or a factorization shares what it does inside. Kernels for many small matrices know nothing of threads: a
range of the matrices is the job, in whole groups of lanes, so that every matrix has the same neighbours on any number
of threads.
"""

from __future__ import annotations

from ....core.dim import product
from ....runtime.threads import state
from ...ir_text import DIRECTS, NULL, Value, Writer, integer
from ...ir_text import function as definition
from ...loopir.called_kernels import KERNELS, LANES
from ...loopir.ir import Call
from ...loopir.passes.parallelize import call_cost
from ...loopir.passes.schedule import Target
from .. import linalg, matmul
from ..matmul.shared import LEAST
from .buffers import place
from .context import closure_of, function, hand_over
from .kernel import NAME_OF_PART, KernelWriter

SHARED = "_shared"
"""What the name of a library kernel ends with that takes the thread pool, too."""
SHARED_ROWS = 192
"""Rows from which factors of a matrix have products that are worth several threads."""
_WORK = Value("%work", "ptr")


def call(k: KernelWriter, s: Call) -> None:
    """A library kernel: sizes, pointers and strides, the matrix product, what shares its work, memory to work in."""
    if s.function == "matmul":
        matrix_product(k, s)
        return
    kernel, products = (function(k, name) for name in library_kernels(s, k.shares))
    arguments = [k.size(size) for size in s.sizes]
    for view, argument in zip(s.views, KERNELS[s.function].arguments, strict=True):
        arguments.append(place(k, view.buffer, view.index).pointer)
        arguments += [k.size(stride) for stride in view.strides[: argument.strides]]
    if k.shares and s.function.endswith(LANES) and _is_long(s):
        _share_matrices(k, s, kernel, [*arguments, products])
        return
    parallel = function(k, state.NAME) if k.shares and _has_large_products(s) else NULL
    spelled = ", ".join(a.typed for a in (*arguments, products, parallel, _WORK))
    k.w.stmt(f"call void {kernel.text}({spelled})")


def matrix_product(k: KernelWriter, s: Call) -> None:
    """``matmul``: C = A B, or C += A B."""
    w = k.w
    m, inner, n = (k.size(size) for size in s.sizes)
    arguments = [m, n, inner]
    for view, strides in zip(s.views, (2, 2, 1), strict=True):
        arguments.append(place(k, view.buffer, view.index).pointer)
        arguments += [k.size(stride) for stride in view.strides[:strides]]
    arguments += [integer(int(s.accumulate)), _WORK]
    arguments.append(function(k, state.NAME) if k.shares and _is_large(s, k.target) else NULL)
    spelled = ", ".join(a.typed for a in arguments)
    (name,) = library_kernels(s, k.shares)
    w.stmt(f"call void {function(k, name).text}({spelled})")


def _is_large(s: Call, target: Target) -> bool:
    """May several threads work on the product?"""
    work, dtype = product(s.sizes), s.views[0].buffer.dtype
    return not isinstance(work, int) or matmul.is_worth_sharing(work, dtype.name, target.register_bytes)


def library_kernels(s: Call, shares: bool) -> list[str]:
    """The names of what it calls, where programs use threads that product which can: one of each dtype is enough."""
    bits = 8 * s.views[0].buffer.dtype.itemsize
    products = f"gemm_f{bits}{SHARED if shares else ''}"
    return [products] if s.function == "matmul" else [f"{s.function}_f{bits}", products]


def _has_large_products(s: Call) -> bool:
    """May a kernel for one matrix have products that several threads are worth?"""
    rows = s.sizes[0]
    return not s.function.endswith(LANES) and (not isinstance(rows, int) or rows >= SHARED_ROWS)


def scratch_bytes(s: Call) -> int:
    """Workspace that a call needs beyond the program's own."""
    writer = matmul if s.function == "matmul" else linalg
    return writer.workspace_bytes(s.views[0].buffer.dtype.name)


# ---- many small matrices --------------------------------------------------------------------------------


def _is_long(s: Call) -> bool:
    """May the matrices together be worth several threads?"""
    cost = call_cost(s)
    return not isinstance(cost, int) or cost >= LEAST


def _share_matrices(k: KernelWriter, s: Call, kernel: Value, arguments: list[Value]) -> None:
    """Hand the matrices to the pool, a group of lanes at least; `arguments` are those of the kernel up to the pool."""
    steps = [k.size(view.strides[0] * view.buffer.dtype.itemsize) for view in s.views]
    values = [kernel, *arguments, *steps, _WORK]
    name = k.module.part(_matrices_job(s, [value.kind for value in values]))
    lanes = k.target.register_bytes // s.views[0].buffer.dtype.itemsize
    cost = k.size(call_cost(s, each=True))
    hand_over(k, name, closure_of(k, values), k.size(s.sizes[0]), lanes, cost)


def _matrices_job(s: Call, kinds: list[str]) -> str:
    """What the pool calls: the kernel, for a range of the matrices, in memory of the thread's own."""
    w, closure, begin, end, own = Writer(), *_JOB
    kernel, _, *rest = (w.load(kind, w.step(closure, 8 * number)) for number, kind in enumerate(kinds))
    work = rest.pop()
    arguments, steps = rest[: -len(s.views)], rest[-len(s.views) :]
    at = len(s.sizes) - 1  # behind the other sizes
    for step, argument in zip(steps, KERNELS[s.function].arguments, strict=True):
        arguments[at] = w.step(arguments[at], w.binary("mul", begin, step))
        at += 1 + argument.strides
    work = w.select(w.compare("eq", own, NULL), work, own)
    given = w.binary("sub", end, begin), *arguments, NULL, work
    w.stmt(f"call void {kernel.text}({', '.join(value.typed for value in given)})")
    parameters = ", ".join(p.typed for p in _JOB)
    return definition(f"internal void {NAME_OF_PART}.job({parameters}) {DIRECTS} #1", w, "void")


_JOB = Value("%closure", "ptr"), Value("%begin", "i64"), Value("%end", "i64"), Value("%own", "ptr")
