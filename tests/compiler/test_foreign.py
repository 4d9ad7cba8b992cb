"""Code for other machines, made by a process of its own: what LLVM ends, and what it says of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tracejit.compiler.codegen import llvm
from tracejit.compiler.codegen.machines import Unit
from tracejit.runtime import cpu

TEXT = """define double @f(double %x) #0 {
  %y = call double @llvm.sqrt.f64(double %x)
  ret double %y
}
declare double @llvm.sqrt.f64(double)
attributes #0 = { "no-builtins" }
"""
#: What begins an object: ELF with addresses of 8 or 4 bytes, WebAssembly.
MAGIC = {"wasm32": b"\0asm", "thumbv7em": b"\x7fELF\1"}


@pytest.mark.parametrize("name", cpu.LEVELS)
def test_every_target_is_one_llvm_knows(name: str):
    target = cpu.baseline(name)
    images = llvm.compile_units([(Unit(TEXT), target), (Unit(TEXT.replace("@f", "@g"), opt=2), target)])
    assert [image[:5].startswith(MAGIC.get(target.arch, b"\x7fELF\2")) for image in images] == [True, True]
    assert images[0] != images[1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TEXT.replace("double @f", "float @f"), "line 3: value doesn't match function result type"),
        ('define i64 @f() {\n  %x = call i64 asm "frobnicate", "=r"()\n  ret i64 %x\n}', "asm"),
        (
            "define void @f() {\n  ret void\n}\n@f.alias = alias i8, ptr @g\n@g = external global i8",
            "LLVM|alias",
        ),
    ],
)
def test_what_cannot_be_is_an_error_here(text: str, says: str):
    with pytest.raises(llvm.CodegenError, match=f"(?s)no code for riscv64: .*({says})"):
        llvm.compile_units([(Unit(text), cpu.baseline("riscv64"))])
    assert llvm.compile_units([(Unit(TEXT), cpu.baseline("riscv64"))])


def test_a_process_that_dies_without_a_word_is_told_of(monkeypatch: pytest.MonkeyPatch):
    dead = subprocess.CompletedProcess([], -11, b"", b"")
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: dead)
    with pytest.raises(llvm.CodegenError, match=r"no code for riscv64: .* ended by SIGSEGV"):
        llvm.compile_units([(Unit(TEXT), cpu.baseline("riscv64"))])


def test_without_a_python_to_start_it_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(llvm.CodegenError, match="Python"):
        llvm.compile_units([(Unit(TEXT), cpu.baseline("riscv64"))])


def test_this_process_never_knows_other_machines():
    code = f"""
from tracejit.compiler.codegen import llvm
from tracejit.compiler.codegen.machines import Unit
from tracejit.runtime import cpu
llvm.compile_units([(Unit({TEXT!r}), cpu.baseline("riscv64"))])
import llvmlite.binding as binding
binding.initialize_native_target()
try:
    binding.Target.from_triple("riscv64-unknown-linux-gnu")
except RuntimeError:
    print("unknown")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "unknown\n"
