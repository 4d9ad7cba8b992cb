"""What README and the page about the command line show after ``$`` is what comes out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tracejit as tf

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def sessions(page: str) -> list[tuple[str, str]]:
    """Commands and what they print."""
    parts = [
        part for block in blocks(page, "console") for part in re.split(r"^\$ ", block, flags=re.M) if part
    ]
    return [(command, printed) for command, _, printed in (part.partition("\n") for part in parts)]


def prints(command: str, promised: str, folder: Path) -> None:
    """Run a command by a shell; ``…`` in what is promised stands for anything."""
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "TRACEJIT_CACHE_DIR": str(folder / "kept")}
    ours = f"{sys.executable} -m tracejit "
    words = ours + command.removeprefix("tracejit ") if command.startswith("tracejit ") else command
    done = subprocess.run(
        words,
        shell=True,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    pattern = ".*".join(re.escape(part) for part in promised.split("…"))
    assert re.fullmatch(pattern, done.stdout, re.DOTALL), f"$ {command}\n{done.stdout}"


def test_the_page_about_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(blocks("docs/command-line.md", "python")[0])
    shown = sessions("docs/command-line.md")
    assert len(shown) >= 9
    for command, promised in shown:
        prints(command, promised, tmp_path)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_c_program_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"tj": tf}
    block = next(b for b in blocks("README.md", "python") if "tj.export" in b)
    exec(compile(block, "README.md", "exec"), names)
    (program,) = blocks("README.md", "c")
    (tmp_path / "main.c").write_text(program)
    strict = "cc -std=c99 -Wall -Wextra -pedantic -Werror -fsyntax-only main.c".split()
    subprocess.run(strict, check=True)
    shown = sessions("README.md")
    assert shown
    for command, promised in shown:
        prints(command, promised, tmp_path)
