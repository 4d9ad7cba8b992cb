"""The page about many machines prints what it says, as one program."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_page_prints_what_it_says(tmp_path):
    text = (ROOT / "docs/many-machines.md").read_text(encoding="utf-8")
    lines = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)).splitlines()
    # processes of a cluster import the program: what it does is for the first of them alone
    program = tmp_path / "page.py"
    program.write_text("if __name__ == '__main__':\n" + "\n".join(f"    {line}" for line in lines))
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        timeout=300,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "", "HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    shown = [line.partition("  # ")[2] for line in lines if line.startswith("print(")]
    assert done.stdout.splitlines() == shown
