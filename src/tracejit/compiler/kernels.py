"""Code that belongs to no graph: library kernels, the thread pool, the call lane. Each is made once per machine.

It is kept on disk under its name, this package's own code, the processor and the LLVM in use.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextvars import copy_context
from functools import cache, partial
from typing import TYPE_CHECKING

from ..core import settings
from ..core.lazy import Later
from ..runtime import cpu, diskcache
from ..runtime.compiled import CompiledObject
from ..runtime.signature import Signature
from ..runtime.threads.state import NAME as THREADS
from ..runtime.threads.state import Symbol
from .identity import code_digest, llvm_version

if TYPE_CHECKING:
    from ..runtime.lane import operator_words, words
    from ..runtime.linking import debug_library
    from ..runtime.threads import workers as threads
    from . import prebuilt
    from .codegen import linalg, llvm, machines, matmul, parts, workers
    from .codegen.lane import call_lane as lane
    from .codegen.lane import operators
    from .codegen.threads import thread_pool
    from .codegen.writing import kernel_calls
    from .loopir.passes import schedule
else:  # whoever finds all compiled code on disk needs no compiler
    operator_words = Later("..runtime.lane.operator_words", __package__)
    words = Later("..runtime.lane.words", __package__)
    debug_library = Later("..runtime.linking.debug_library", __package__)
    threads = Later("..runtime.threads.workers", __package__)
    lane, operators, thread_pool, kernel_calls = (
        Later(f".codegen.{name}", __package__)
        for name in ("lane.call_lane", "lane.operators", "threads.thread_pool", "writing.kernel_calls")
    )
    linalg, llvm, machines, matmul, parts, workers = (
        Later(f".codegen.{name}", __package__)
        for name in ("linalg", "llvm", "machines", "matmul", "parts", "workers")
    )
    prebuilt = Later(".prebuilt", __package__)
    schedule = Later(".loopir.passes.schedule", __package__)

FORMAT = "1"


def found_on_disk(key: str) -> CompiledObject | None:
    """The object of a key; None where there is none, or it is damaged."""
    payload = diskcache.get(key)
    try:
        return None if payload is None else CompiledObject.from_payload(payload)
    except (ValueError, RecursionError):
        return None


def opened(made: CompiledObject) -> int | None:
    """Where code with debug information is: loaded in a way that debuggers see."""
    return debug_library.load(made.image, made.entry) if settings.current().debug_info else None


_begun: dict[str, workers.Work | None] = {}  # None: it was there already
os.register_at_fork(after_in_child=_begun.clear)  # the thread is the parent's


def begin_kernel(name: str) -> None:
    """Look for a library kernel or the thread pool, or make it, while what will call it is compiled."""
    if name not in _begun and not (name == THREADS and threads.running()):
        work = workers.Work(partial(copy_context().run, partial(library_kernel, name, cpu.host())))
        work.start()
        _begun[name] = work


@cache
def function_address(name: str) -> int:
    """A library kernel, or the thread pool's function, compiled once per machine."""
    if name == THREADS:
        begun = _begun.pop(name, None)
        return threads.pool(lambda: _begun_or_made(name, begun).image).parallel
    begun = _begun.setdefault(name)
    try:
        kernel = _begun_or_made(name, begun)
    except BaseException:
        _begun.pop(name, None)
        raise
    return kernel.load(address=opened(kernel)).address


def _begun_or_made(name: str, begun: workers.Work | None) -> CompiledObject:
    made: CompiledObject = library_kernel(name, cpu.host()) if begun is None else begun.result()
    return made


def library_kernel(name: str, target: cpu.CpuTarget) -> CompiledObject:
    """The code of a library kernel or the thread pool for a machine: from disk, from the package, or made now."""
    return _kept(name, target, lambda machine: prebuilt.found(name, machine) or made_kernel(name, machine))


def made_kernel(name: str, target: cpu.CpuTarget) -> CompiledObject:
    """The code of a library kernel or the thread pool, made now."""
    if name == THREADS:
        image = llvm.compile_text(thread_pool.module_text(target.arch), opt=0, ready=True, cpu=target)
        return CompiledObject(image, Signature((), ()), entry=Symbol.PARALLEL)
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
    made = found_on_disk(_key(name, target))
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
    made = found_on_disk(key)
    if made is None:
        made = make(target)
        diskcache.put(key, made.to_payload())
    return made


def _key(name: str, target: cpu.CpuTarget) -> str:
    parts = (FORMAT, code_digest(), name, target.key, llvm_version())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def kernel_source(name: str, target: cpu.CpuTarget) -> tuple[str, machines.Unit]:
    """The symbol of a library kernel, and what LLVM is to make its code of."""
    kernel, _, kind = name.removesuffix(kernel_calls.SHARED).rpartition("_")
    dtype, machine = {"f32": "float32", "f64": "float64"}[kind], schedule.Target.of(target.features)
    width, fma = machine.register_bytes, machine.has_fma
    if kernel == "gemm":
        shares = name.endswith(kernel_calls.SHARED)
        source = matmul.kernel_text(dtype, register_bytes=width, fma=fma, shares=shares)
        return matmul.symbol(dtype, width, shares), machines.Unit(source, ready=True)
    source = linalg.kernel_text(kernel, dtype, register_bytes=width, fma=fma)
    return linalg.symbol(kernel, dtype, width), machines.Unit(source, ready=True)
