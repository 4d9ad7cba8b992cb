"""The op that CONTRIBUTING.md adds as an example: its text is declared and put through the registry tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
REGISTRY_TESTS = ("test_every_op.py", "test_every_op_in_each_mode.py", "core/test_laws.py")
MAX_LINES = 15

#: A pytest plugin: declares the op before the tests are collected, as if it stood in that file.
PLUGIN = """
from tracejit.ops import transcendental

exec(compile({snippet!r}, transcendental.__file__, "exec"), vars(transcendental))
"""


def the_snippet() -> str:
    """The first Python block of the section on adding an op."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Add an op")[1]
    return re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]


def run_registry_tests(snippet: str, folder: Path, *args: str) -> subprocess.CompletedProcess:
    """Declare the op in a new process and run there what the registry tests generate for it."""
    (folder / "with_sinc.py").write_text(PLUGIN.format(snippet=snippet), encoding="utf-8")
    tests = [str(ROOT / "tests" / name) for name in REGISTRY_TESTS]
    command = [sys.executable, "-m", "pytest", "-p", "with_sinc", "-k", "sinc", "-rN", *args, *tests]
    path = os.pathsep.join([str(folder), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)


def test_the_example_is_short():
    lines = the_snippet().rstrip().splitlines()
    assert "def sinc(x):" in lines
    assert len(lines) <= MAX_LINES


@pytest.mark.slow
def test_the_registry_tests_cover_the_example(tmp_path: Path):
    done = run_registry_tests(the_snippet(), tmp_path, "-o", "addopts=--import-mode=importlib")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    assert passed >= 60, done.stdout[-1000:]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong", "test"),
    [
        ("/ -3)", "/ 3)", "test_vjp_agrees_with_finite_differences"),
        ("ops.sin(np.pi * x) /", "ops.cos(np.pi * x) /", "test_values"),
    ],
    ids=["gradient", "lowering"],
)
def test_a_mistake_in_the_example_is_found(right: str, wrong: str, test: str, tmp_path: Path):
    assert right in the_snippet()
    mistaken = the_snippet().replace(right, wrong)
    done = run_registry_tests(mistaken, tmp_path, "-x", "-k", f"sinc and {test}")
    assert done.returncode == 1, done.stdout[-3000:] + done.stderr[-1000:]
    assert test in done.stdout
