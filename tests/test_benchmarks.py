"""Benchmarks compute what they say they do: results beside those by hand, and none missing; nothing is timed."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("words", ["float64", "step", "transformer"])
def test_what_is_timed_agrees(words):
    """In a process of its own: importing benchmarks leaves one processor to the process."""
    command = [sys.executable, "-m", "benchmarks.full", "--quick", "--check", "--peers", "SciPy", words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, env=environment())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tracejit" in done.stdout


def test_a_wrong_result_has_no_time():
    """A peer whose numbers differ is told, and is not timed."""
    done = subprocess.run(
        [sys.executable, "-c", WRONG],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        env=environment(),
    )
    assert done.stdout.split() == ["['tracejit']", "['SciPy']"], done.stdout + done.stderr


def test_an_exported_gradient_is_called_as_its_header_says(tmp_path):
    """A process of its own, as for the others."""
    done = subprocess.run(
        [sys.executable, "-c", EXPORTED, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        env=environment(),
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_name_stands_for_all_that_a_module_serves():
    """TF is TensorFlow with its compiler, too, until a later word says otherwise; strangers are told."""
    program = "from benchmarks.full.processes import interpreters as i; print(i(['TF=/a', 'torch=/b', 'TF XLA=/c']))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, env=environment()
    )
    found = ast.literal_eval(done.stdout)
    assert (found["TF"], found["TF XLA"]) == ("/a", "/c")
    assert found["torch"] == found["torch.compile"] == "/b" != found["JAX"]
    command = [sys.executable, "-m", "benchmarks.full", "--check", "--peers", "SciPi", "step"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, env=environment())
    assert told.returncode == 2 and "--peers SciPi: peers are tracejit, SciPy" in told.stderr


EXPORTED = """
import sys
from pathlib import Path
import numpy as np
from benchmarks import aot_peers

folder, (x, w) = Path(sys.argv[1]), aot_peers.arguments()
aot_peers.make_tracejit(folder)
for load in (aot_peers.load_library, aot_peers.load_module):
    for found, wanted in zip(load(folder, x, w)(), aot_peers.by_hand(x, w), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
"""

WRONG = """
from pathlib import Path
import numpy as np
from benchmarks.full import comparison
from benchmarks.full.rows import Row

class Peer:
    def __init__(self, peer, value):
        self.peer, self.value = peer, value

    def ask(self, do, **how):
        if do == "first":
            np.savez(Path(how["path"]), self.value)
            return True
        assert self.peer == "tracejit"
        return 1e-3

    def rest(self):
        pass

found = comparison.compare(
    Row("calls", "CALL"), "1", {"SciPy": Peer("SciPy", np.ones(3)), "tracejit": Peer("tracejit", np.zeros(3))}, 0.01
)
print(str(list(found.timings)).replace(" ", ""), found.wrong)
"""


def environment() -> dict[str, str]:
    return dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT), str(ROOT / "src")]))
