"""What pages draw: each figure that a tutorial shows is a PNG; a page's own code saves SVG files beside it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SHOW = "plt.show()"
SRC = Path(__file__).resolve().parents[2] / "src"
RUN = """
import runpy, sys
import matplotlib.pyplot as plt

plt.switch_backend("agg")
plt.rcParams.update({"figure.figsize": (6.4, 3.6), "figure.constrained_layout.use": True, "savefig.dpi": 144})
program, folder = sys.argv[1:]
shown = []

def show():
    shown.append(f"{folder}/{len(shown):02}.png")
    plt.savefig(shown[-1])
    plt.close("all")

plt.show = show
runpy.run_path(program, run_name="__main__")
"""


def drawn(program: Path) -> list[bytes]:
    """The figures that a program shows, in order, as PNG files; it is not run if it shows none."""
    source = program.read_text(encoding="utf-8")
    if SHOW not in source:
        return []
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", RUN, str(program), folder]
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(SRC)}
        )
        pictures = [path.read_bytes() for path in sorted(Path(folder).iterdir())]
    if len(pictures) != source.count(SHOW):
        raise ValueError(
            f"{program} shows {len(pictures)} figures, but has {source.count(SHOW)} lines {SHOW}"
        )
    return pictures


def saved(page: Path) -> dict[str, bytes]:
    """The files that the Python code of a page writes, by name."""
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "page.py"
        program.write_text(code, encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": str(SRC)}
        subprocess.run(
            [sys.executable, program], check=True, cwd=folder, stdout=subprocess.DEVNULL, env=environment
        )
        return {path.name: path.read_bytes() for path in Path(folder).glob("*.svg")}
