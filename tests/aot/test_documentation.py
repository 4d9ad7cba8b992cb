"""What README and the page about libraries show is what comes out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import tracejit as tf

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "page, name, size",
    [("README.md", "rosenbrock", 12288), ("docs/aot.md", "fit", 10240)],  # code for three levels, and for one
)
def test_what_pages_show(
    page: str,
    name: str,
    size: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    block = next(b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "tj.export" in b)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"tj": tf}
    exec(compile(block.replace('"x86-64-v3"', '"host"'), page, "exec"), names)
    shown = [
        line.partition("  # ")[2].split(": against")[0] for line in block.splitlines() if "print(" in line
    ]
    assert capsys.readouterr().out.splitlines() == [s.strip() for s in shown]
    assert (tmp_path / f"lib{name}.so").stat().st_size < size
    header = (tmp_path / f"{name}.h").read_text()
    declaration = next(line for line in header.splitlines() if line.startswith(f"int32_t {name}("))
    assert declaration in text


def test_every_line_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All Python of the page, as one program, prints what stands behind its prints."""
    pytest.importorskip("scipy")
    text = (ROOT / "docs/aot.md").read_text(encoding="utf-8")
    program = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)).replace('"x86-64-v3"', '"host"')
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "docs/aot.md", "exec"), {"tj": tf})
    shown = [line.partition("  # ")[2] for line in program.splitlines() if line.startswith("print(")]
    assert capsys.readouterr().out.splitlines() == [line.strip() for line in shown]
