"""CPU targets agree with LLVM and order themselves."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tracejit.compiler.codegen import llvm
from tracejit.runtime import cpu

TEXT = "define double @f(double %x, double %y) nounwind { %z = fadd double %x, %y\n ret double %z }"


def test_host_agrees_with_llvm() -> None:
    known = llvm._host_features()
    if not known:
        pytest.skip("LLVM does not report features here")
    differing = {f for f in cpu.host().enabled if not known.get(f, True)}
    assert not differing
    assert cpu.host().vector_bytes in (16, 32, 64)


@pytest.mark.parametrize("level, width, fma", [("x86-64", 16, False), ("x86-64-v2", 16, False),
                                               ("x86-64-v3", 32, True), ("x86-64-v4", 64, True),
                                               ("aarch64", 16, True)])  # fmt: skip
def test_levels(level: str, width: int, fma: bool) -> None:
    target = cpu.baseline(level)
    assert (target.vector_bytes, target.has_fma) == (width, fma)
    assert llvm.compile_text(TEXT, cpu=target)


def test_runs_on() -> None:
    v2, v3, arm = cpu.baseline("x86-64-v2"), cpu.baseline("x86-64-v3"), cpu.baseline("aarch64")
    assert v2.runs_on(v3) and v3.runs_on(v3) and not v3.runs_on(v2) and not arm.runs_on(v3)
    assert len({t.key for t in (v2, v3, arm, cpu.host())}) == 4


def test_unknown_names_never_reach_llvm() -> None:
    """An unknown CPU or feature name would end the process."""
    odd = cpu.CpuTarget(cpu.host().arch, "frobnicator9000", "+frobnicate,+sse2,+64bit")
    assert llvm.compile_text(TEXT, cpu=odd)


def test_runtime_loads_without_llvm() -> None:
    code = (
        "import sys, tracejit.runtime.executable, tracejit.runtime.objects, tracejit.runtime.diskcache\n"
        "import tracejit.compiler.codegen.llvm\n"
        "assert 'llvmlite' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_features_every_processor_has_cannot_be_denied() -> None:
    odd = cpu.CpuTarget(cpu.host().arch, "x86-64", "-sse2,-64bit,-neon")
    assert llvm.compile_text(TEXT, cpu=odd)
    with pytest.raises(ValueError, match="not for 'vax'"):
        llvm.compile_text(TEXT, cpu=cpu.CpuTarget("vax", "generic", ""))
