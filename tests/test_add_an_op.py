"""The ops that CONTRIBUTING.md adds as examples: a copy of the project is changed as it says and tested."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
REGISTRY_TESTS = ("test_every_op.py", "test_every_op_in_each_mode.py", "core/test_laws.py")
MAX_LINES = 15
COMPOSED, CODED = "log1mexp", "exp10"


def the_blocks(name: str) -> dict[str, str]:
    """What the section on adding an op writes for this one: by the place, the text."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Add an op")[1]
    blocks = re.findall(r"```python\n# ([^\n]*)\n(.*?)```", section, re.DOTALL)
    return {place: text for place, text in blocks if name in text}


def changed_copy(blocks: dict[str, str], folder: Path) -> Path:
    """A copy of the project with each block at the end of its file, or of the table in it that is named."""
    for part in ("src", "tests"):
        shutil.copytree(ROOT / part, folder / part)  # with the bytecode of what stays as it is
    shutil.copy(ROOT / "pyproject.toml", folder)
    for place, text in blocks.items():
        name, _, table = place.partition(", in ")
        file = folder / name
        source = file.read_text(encoding="utf-8")
        if table:
            head, body, tail = re.split(
                rf"(^{table} = [({{].*?)(?=^[)}}])", source, maxsplit=1, flags=re.M | re.S
            )
            source = head + body + text + tail
        else:
            source += "\n\n" + text
        file.write_text(source, encoding="utf-8")
    return folder


def run(folder: Path, *args: str) -> subprocess.CompletedProcess:
    """Run tests of a copy in a process of their own."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    command = [sys.executable, "-m", "pytest", "-rN", "-n", "0", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)


def run_registry_tests(folder: Path, *args: str) -> subprocess.CompletedProcess:
    return run(folder, *args, *(f"tests/{name}" for name in REGISTRY_TESTS))


@pytest.mark.parametrize("name", [COMPOSED, CODED])
def test_the_examples_are_short_and_new(name: str):
    blocks = the_blocks(name)
    assert any(f"def {name}(x: TensorSpec)" in text for text in blocks.values())
    assert "src/tracejit/math/__init__.py" in blocks
    assert all(len(text.rstrip().splitlines()) <= MAX_LINES for text in blocks.values())
    assert not any(name in path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [COMPOSED, CODED])
def test_the_registry_tests_cover_the_examples(name: str, tmp_path: Path):
    folder = changed_copy(the_blocks(name), tmp_path)
    done = run_registry_tests(folder, "-k", name, "-o", "addopts=--import-mode=importlib")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    assert passed >= 60, done.stdout[-1000:]


@pytest.mark.slow
def test_the_example_with_machine_code_is_accurate_and_known_in_three_places(tmp_path: Path):
    folder = changed_copy(the_blocks(CODED), tmp_path)
    done = run(
        folder, "-k", f"{CODED} or code", "tests/compiler/test_math.py", "tests/compiler/test_scalars.py"
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    done = run(folder, "-k", CODED, "tests/test_places.py")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    public = "import tracejit; print(float(tracejit.math.exp10(2.0)))"
    done = subprocess.run(
        [sys.executable, "-c", public],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
    )
    assert done.stdout.strip() == "100.0", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong", "test"),
    [
        ("-1.0 / ops.expm1", "1.0 / ops.expm1", "test_vjp_agrees_with_finite_differences"),
        ("ops.log1p(-ops.exp(x))", "ops.log1p(ops.exp(x))", "test_values"),
    ],
    ids=["gradient", "lowering"],
)
def test_a_mistake_in_the_example_is_found(right: str, wrong: str, test: str, tmp_path: Path):
    blocks = the_blocks(COMPOSED)
    assert any(right in text for text in blocks.values())
    mistaken = {place: text.replace(right, wrong) for place, text in blocks.items()}
    done = run_registry_tests(changed_copy(mistaken, tmp_path), "-x", "-k", f"{COMPOSED} and {test}")
    assert done.returncode == 1, done.stdout[-3000:] + done.stderr[-1000:]
    assert test in done.stdout
