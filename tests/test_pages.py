"""Every block of code on a page of the documentation is run by a test, which this module knows or is.

Programs in Python print what stands behind their prints, ``$`` is followed by what comes out.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tracejit as tf
from tracejit.runtime import cpu

ROOT = Path(__file__).resolve().parents[1]
#: Which test runs the blocks of a language on a page. Blocks without a language are no code.
RUN_BY = {
    ("ARCHITECTURE.md", ""): "a picture, and a list of folders",
    ("CONTRIBUTING.md", "python"): "test_add_an_op.py",
    ("README.md", ""): "make, and how to install: continuous integration",
    ("README.md", "python"): "test_pages.py",
    ("README.md", "c"): "cli/test_pages.py",
    ("README.md", "console"): "cli/test_pages.py",
    ("docs/aot.md", ""): "what a library says: aot/test_processors.py",
    ("docs/aot.md", "c"): "aot/test_documentation.py, test_pages.py",
    ("docs/aot.md", "js"): "aot/test_wasm.py",
    ("docs/aot.md", "python"): "aot/test_documentation.py",
    ("docs/command-line.md", "console"): "cli/test_pages.py",
    ("docs/command-line.md", "python"): "cli/test_pages.py",
    ("docs/debugging-machine-code.md", "c"): "test_pages.py",
    (
        "docs/debugging-machine-code.md",
        "console",
    ): "test_pages.py; in processes of Python aot/test_debugger.py",
    ("docs/debugging-machine-code.md", "python"): "test_pages.py",
    ("docs/many-machines.md", "python"): "library/test_dask_page.py",
    ("docs/site/index.md", "python"): "test_pages.py",
}
ON_LINUX = pytest.mark.skipif(
    cpu.host().arch != "x86_64" or not sys.platform.startswith("linux"), reason="for Linux on x86-64"
)


def needs(*tools: str) -> pytest.MarkDecorator:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    return pytest.mark.skipif(bool(missing), reason=f"no {' and no '.join(missing)} here")


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_somebody_runs_every_block():
    """Pages of errors are run one by one: library/test_error_pages.py."""
    folders = [ROOT, ROOT / "docs", ROOT / "docs" / "site", ROOT / "docs" / "decisions"]
    found = set()
    for page in (page for folder in folders for page in folder.glob("*.md")):
        opened = re.findall(r"^```(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)[::2]
        found |= {(str(page.relative_to(ROOT)), kind) for kind in opened if not kind.startswith("{")}
    assert found == set(RUN_BY)


@pytest.mark.parametrize("page", ["README.md", "docs/site/index.md"])
def test_programs_print_what_stands_behind_their_prints(page: str, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    program = "\n".join(blocks(page, "python"))
    Path("page.py").write_text(program, encoding="utf-8")
    runpy.run_path("page.py")
    shown = [line.partition("  # ")[2].strip() for line in program.splitlines() if line.startswith("print(")]
    printed = capsys.readouterr().out.splitlines()
    assert printed and len(printed) == len(shown)
    assert all(said == line or said.startswith(line + ":") for line, said in zip(printed, shown, strict=True))


@ON_LINUX
@needs("cc")
def test_the_allocator_that_the_page_about_libraries_passes(tmp_path: Path):
    def root(a):
        x = a
        while tf.abs(x * x - a) > 1e-12 * a:
            x = 0.5 * (x + a / x)
        return x

    art = tf.export(root, ["f64"], name="root", targets=["host"])
    art.write(tmp_path / "root.o")
    art.write(tmp_path / "root.h")
    (passed,) = [block for block in blocks("docs/aot.md", "c") if "allocator" in block]
    lines = f"{passed}double a = 4.0, y, g; int32_t status = root(&a, &y, &g);\n"
    lines += 'printf("%d %.6f %.6f\\n", (int)status, y, g); return 0;'
    program = f'#include <stdio.h>\n#include <stdlib.h>\n#include "root.h"\nint main(void) {{ {lines} }}\n'
    (tmp_path / "main.c").write_text(program)
    subprocess.run(["cc", "-std=c11", "main.c", "root.o", "-o", "main"], cwd=tmp_path, check=True)
    done = subprocess.run(["./main"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout == "0 2.000000 0.250000\n"


# ---- the page about debuggers ---------------------------------------------------------------------------

DEBUGGING = "docs/debugging-machine-code.md"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the programs of the page, the library that they make, and a C program that calls it."""
    folder = tmp_path_factory.mktemp("page")
    programs = zip(["wave.py", "make.py", "run.py"], blocks(DEBUGGING, "python"), strict=True)
    (use,) = blocks(DEBUGGING, "c")
    for name, text in (*programs, ("use.c", use)):
        (folder / name).write_text(text)
    shell(f"{sys.executable} make.py", folder)
    shell(sessions()[0][0], folder)
    return folder


def sessions() -> list[tuple[str, str]]:
    """The commands of the page and what they print."""
    parts = [p for block in blocks(DEBUGGING, "console") for p in re.split(r"^\$ ", block, flags=re.M) if p]
    return [(command, printed) for command, _, printed in (part.partition("\n") for part in parts)]


def shell(command: str, folder: Path) -> str:
    """What a command prints; errors that it writes, valgrind's and gdb's, count."""
    kept = {"PYTHONPATH": str(ROOT / "src"), "TRACEJIT_CACHE_DIR": str(folder / "kept")}
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=os.environ | kept,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}"
    return done.stdout


def prints(tool: str, program: str, folder: Path) -> None:
    """The command that uses them prints the lines shown, in their order, but for addresses, folders and numbers."""
    ((command, promised),) = [s for s in sessions() if tool in s[0] and s[0].endswith(program)]
    rest = printed = shell(command, folder)
    for line in promised.splitlines():
        anything = re.sub(r"0x[0-9A-Fa-f]+", "\0", line.strip())
        pattern = re.escape(anything).replace("\0", r"[\w.]+")
        pattern = re.sub(r"(at|from|in)\\ (?=\w+\\\.(?:so|py))", r"\1\\ (?:\\S*/)?", pattern)
        found = re.search(pattern, rest)
        assert found, f"$ {command}\n{printed}\n{line}"
        rest = rest[found.end() :]


@ON_LINUX
@needs("cc", "gdb")
def test_gdb_in_a_library(place: Path):
    prints("gdb", "./use", place)


@ON_LINUX
@needs("cc", "valgrind")
def test_valgrind_in_a_library(place: Path):
    prints("valgrind", "./use 2", place)


@ON_LINUX
@needs("cc")
def test_the_program_whose_function_is_compiled_on_the_way(place: Path):
    shell(f"TRACEJIT_DEBUG_INFO=1 {sys.executable} run.py", place)
    assert [*(place / "kept").rglob("debug/slope-*.so")]
