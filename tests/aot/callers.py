"""C programs that call exported functions with given numbers, built and run for other machines."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tracejit.aot import Artifact
from tracejit.core.dim import evaluate
from tracejit.runtime.exported.interface import c_type

_NUMBER = {"f": ("%a", "(double)"), "i": ("%lld", "(long long)"), "b": ("%d", "")}


class Case(NamedTuple):
    """An artifact, and arguments for it."""

    artifact: Artifact
    arguments: tuple[np.ndarray, ...]


class Machine(NamedTuple):
    """How programs for a machine are built and run."""

    compiler: str
    emulator: tuple[str, ...]

    def require(self) -> None:
        """Skip the test where a part is missing."""
        for tool in (self.compiler, self.emulator[0]):
            if shutil.which(tool) is None:
                pytest.skip(f"no {tool}")


AARCH64 = Machine("aarch64-linux-gnu-gcc", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"))
ARM = Machine("arm-linux-gnueabihf-gcc", ("qemu-arm", "-L", "/usr/arm-linux-gnueabihf"))
RISCV64 = Machine("riscv64-linux-gnu-gcc", ("qemu-riscv64", "-L", "/usr/riscv64-linux-gnu"))


def source(cases: Sequence[Case], target: str) -> str:
    """A program that calls each function and prints what it gives, a number to a line."""
    includes = "".join(f'#include "{case.artifact.name}.h"\n' for case in cases)
    calls = "".join(_called(case, target) for case in cases)
    return f"#include <stdio.h>\n{includes}\nint main(void) {{\n{calls}  return 0;\n}}\n"


def _called(case: Case, target: str) -> str:
    code = case.artifact._code(target)
    signature, interface = code.compiled.signature, code.interface
    sizes = {name: case.arguments[index].shape[axis] for name, index, axis in signature.atoms}
    lines, names, shown = [], [], []
    for name, array in zip(interface.inputs, case.arguments, strict=True):
        spelled = ", ".join(_spelled(v) for v in array.ravel())
        lines.append(f"static const {c_type(array.dtype)} {name}[] = {{{spelled}}};")
        names.append(name)
    for name, array in zip(interface.outputs, native(case), strict=True):
        form, cast = _NUMBER[array.dtype.kind]
        lines.append(f"static {c_type(array.dtype)} {name}[{max(array.size, 1)}];")
        shown.append(f'for (k_ = 0; k_ < {array.size}; k_++) printf("{form}\\n", {cast}{name}[k_]);')
        names.append(name)
    names += map(str, sizes.values())
    if interface.work != 0:
        lines.append(f"static char work[{evaluate(interface.work, sizes)}];")
        names.append("work")
    called = f"if ({interface.name}({', '.join(names)}) != 0) return 1;"
    return "  {\n" + "".join(f"    {line}\n" for line in [*lines, "int k_;", called, *shown]) + "  }\n"


def _spelled(value: np.generic) -> str:
    return float(value).hex() if value.dtype.kind == "f" else str(int(value))


def native(case: Case) -> list[np.ndarray]:
    """What the code for this machine gives."""
    found = case.artifact(*case.arguments)
    return list(found) if isinstance(found, tuple) else [found]


def outputs_of(text: str, cases: Sequence[Case]) -> list[list[np.ndarray]]:
    """The arrays in what such a program prints."""
    lines, found = iter(text.split()), []
    for case in cases:
        arrays = []
        for array in native(case):
            read = float.fromhex if array.dtype.kind == "f" else int
            arrays.append(
                np.array([read(next(lines)) for _ in range(array.size)], array.dtype).reshape(array.shape)
            )
        found.append(arrays)
    assert next(lines, None) is None
    return found


def run(machine: Machine, folder: Path, text: str, linked: Sequence[str], flags: Sequence[str] = ()) -> str:
    """What the program prints."""
    (folder / "main.c").write_text(text)
    command = [
        machine.compiler,
        "-std=c99",
        "-Wall",
        "-Werror",
        "-O1",
        "-o",
        "main",
        "main.c",
        *flags,
        *linked,
    ]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    done = subprocess.run(
        [*machine.emulator, "./main"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


def assert_close(cases: Sequence[Case], found: Sequence[Sequence[np.ndarray]], ulp: int = 4) -> None:
    """Every number within so many units in the last place of what the code for this machine gives."""
    for case, arrays in zip(cases, found, strict=True):
        for name, y, z in zip(case.artifact._interface.outputs, arrays, native(case), strict=True):
            if y.dtype.kind != "f":
                np.testing.assert_array_equal(y, z, err_msg=f"{case.artifact.name}: {name}")
                continue
            apart = np.abs(y - z) / np.spacing(np.abs(z))
            assert np.all(apart <= ulp), f"{case.artifact.name}: {name} is {np.max(apart)} units off"
