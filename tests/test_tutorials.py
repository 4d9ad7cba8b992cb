"""Every tutorial, and each page of the tour, is run as it stands, and prints what the comments under its prints say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = sorted(
    p for folder in ("tutorials", "how-to", "tour") for p in (ROOT / "docs" / folder).glob("*.py")
)


def promised(source: str) -> list[str]:
    """The lines that a tutorial says it prints."""
    return [line[3:] for line in source.splitlines() if line == "#>" or line.startswith("#> ")]


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda p: p.stem)
def test_prints_what_it_says(path: Path):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", str(path)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    lines = promised(path.read_text(encoding="utf-8"))
    assert lines and done.stdout.splitlines() == lines


def test_tutorials_are_there():
    assert len(TUTORIALS) >= 8
