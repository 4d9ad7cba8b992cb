"""Ctrl-C at random moments: it always arrives, and the process goes on as if nothing had been.

``TRACEJIT_INTERRUPTS=250`` takes so many programs, with four presses in each.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tracejit

TESTS = Path(__file__).resolve().parents[1]
MANY = int(os.environ.get("TRACEJIT_INTERRUPTS", "5"))


@pytest.mark.slow
def test_the_process_is_right_after_every_interrupt():
    source = Path(tracejit.__file__).resolve().parent.parent
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (source, TESTS)))}
    command = [sys.executable, "-m", "fuzz.interrupted_run", "0", str(MANY)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=TESTS)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == [str(4 * MANY), "stopped"], done.stdout
    assert done.stderr == ""
