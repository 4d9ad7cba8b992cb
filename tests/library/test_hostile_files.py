"""Files changed at random: only errors of ours, nothing outside is touched, no function of the process is called.

``TRACEJIT_HOSTILE=2000`` looks at so many of each.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tracejit

TESTS = Path(__file__).resolve().parents[1]
MANY = int(os.environ.get("TRACEJIT_HOSTILE", "40"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["models", "checkpoints"])
def test_changed_files_do_no_harm(kind: str):
    source = Path(tracejit.__file__).resolve().parent.parent
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (source, TESTS)))}
    command = [sys.executable, "-m", "fuzz.hostile_run", kind, "0", str(MANY)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=TESTS)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("seed")]
    last = next((line for line in reversed(done.stdout.splitlines()) if line.startswith("seed")), "")
    assert done.returncode == 0, (last, done.stderr[-2000:])
    assert not [line for line in lines if "OUTRAGE" in line], "\n".join(lines)
    assert sum(int(line.split()[0]) for line in lines) == MANY
    assert any("refused" in line for line in lines) or kind == "checkpoints"
