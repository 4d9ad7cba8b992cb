"""A process that finds its code on disk: it loads no compiler, and gives what the process that compiled gave."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tracejit

PROGRAM = """
import sys
import numpy as np
before = set(sys.modules)
import tracejit as tj

@tj.function
def step(x, w):
    with tj.GradientTape() as tape:
        tape.watch(w)
        y = tj.tanh(x @ w)
        for _ in tj.range(3):
            y = tj.sin(y) * 0.5
        loss = tj.reduce_sum(y * y)
    return loss, tape.gradient(loss, w)

x, w = np.linspace(-1.0, 1.0, 600).reshape(20, 30), np.linspace(0.0, 1.0, 900).reshape(30, 30)
print([t.numpy().sum().hex() for t in step(x, w)])
print(*sorted(set(sys.modules) - before))
"""

#: The same on a tape outside: the function is split in two parts, which some passes on graphs look at.
ON_A_TAPE = """
import sys
import numpy as np
before = set(sys.modules)
import tracejit as tj

x = np.linspace(-1.0, 1.0, 600).reshape(20, 30)
w = tj.Variable(np.linspace(0.0, 1.0, 900).reshape(30, 30))
step = tj.function(lambda: tj.reduce_sum(tj.tanh(x @ w) ** 2))
with tj.GradientTape() as tape:
    loss = step()
print([t.numpy().sum().hex() for t in (loss, tape.gradient(loss, w))])
print(*sorted(set(sys.modules) - before))
"""


def run(program: Path, folder: Path) -> tuple[str, set[str]]:
    """The results, and the modules that were loaded."""
    environment = {
        **os.environ,
        "TRACEJIT_CACHE_DIR": str(folder),
        "PYTHONPATH": str(Path(tracejit.__file__).resolve().parent.parent),
    }
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    results, modules = done.stdout.splitlines()
    return results, set(modules.split())


def test_what_is_found_on_disk_needs_no_compiler(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    first, compiled = run(program, tmp_path / "cache")
    second, found = run(program, tmp_path / "cache")
    assert first == second
    assert "tracejit.compiler.pipeline" in compiled and "llvmlite.binding" in compiled
    inside = {m for m in found if m.startswith("tracejit.compiler.")}
    known = {f"tracejit.compiler.{name}" for name in ("cache", "identity", "hostcalls", "kernels", "report")}
    assert inside <= known
    assert not found & {"llvmlite", "tempfile", "pathlib", "shutil", "tokenize"}


def test_a_function_on_a_tape_needs_no_code_generator(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(ON_A_TAPE)
    first, compiled = run(program, tmp_path / "cache")
    second, found = run(program, tmp_path / "cache")
    assert first == second
    assert {"tracejit.compiler.pipeline", "tracejit.compiler.codegen.program"} <= compiled
    parts = {m.split(".")[2] for m in found if m.startswith("tracejit.compiler.")}
    assert parts <= {"cache", "identity", "hostcalls", "kernels", "report", "graph", "loopir"}
    assert len({m for m in found if m.startswith("tracejit.compiler.loopir.")}) <= 2
    assert not found & {"llvmlite", "networkx"}
