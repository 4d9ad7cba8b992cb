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
MAX_LINES = 15
#: As many of the tests of the registry ask something of an op, most of them of all its cases.
LEAST = 30
COMPOSED, CODED = "log1mexp", "exp10"


def the_blocks(name: str) -> dict[str, str]:
    """What the section on adding an op writes for this one: by the place, the text."""
    section = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Add an op")[1]
    blocks = re.findall(r"```python\n# ([^\n]*)\n(.*?)```", section, re.DOTALL)
    return {place: text for place, text in blocks if name in text}


def changed_copy(folder: Path, *added: dict[str, str]) -> Path:
    """A copy of the project with each block at the end of its file, or of the table in it that is named."""
    for part in ("src", "tests"):
        shutil.copytree(ROOT / part, folder / part)  # with the bytecode of what stays as it is
    shutil.copy(ROOT / "pyproject.toml", folder)
    for place, text in (item for blocks in added for item in blocks.items()):
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
    command = [sys.executable, "-m", "pytest", "-rN", "-n", "0", "--exhaustive", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)


@pytest.mark.parametrize("name", [COMPOSED, CODED])
def test_the_examples_are_short_and_new(name: str):
    blocks = the_blocks(name)
    assert any(f"def {name}(x: TensorSpec)" in text for text in blocks.values())
    assert "src/tracejit/math/__init__.pyi" in blocks
    assert all(len(text.rstrip().splitlines()) <= MAX_LINES for text in blocks.values())
    assert not any(name in path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))


@pytest.mark.slow
def test_the_registry_tests_cover_the_examples_and_find_them_right(tmp_path: Path):
    """One with machine code is measured at every width, too, and is known in three places."""
    folder = changed_copy(tmp_path, the_blocks(COMPOSED), the_blocks(CODED))
    tests = [
        f"tests/{name}" for name in ("test_every_op.py", "test_every_op_in_each_mode.py", "core/test_laws.py")
    ]
    further = ["tests/compiler/test_math.py", "tests/compiler/test_scalars.py"]
    few, of_all = "test_a_scalar_operation_is_known_in_few_places", "tests/test_places.py"
    chosen = f"{COMPOSED} or {CODED} or {few} or (code and not every_op and not laws and not places)"
    done = run(folder, "-v", "-k", chosen, "-o", "addopts=--import-mode=importlib", *tests, *further, of_all)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    passed = [line for line in done.stdout.splitlines() if "PASSED" in line]
    for name in (COMPOSED, CODED):
        asked = sum(name in line and any(test in line for test in tests) for line in passed)
        assert asked >= LEAST, done.stdout[-1000:]
    for test in further:
        assert any(CODED in line and test in line for line in passed), done.stdout[-1000:]
    assert any(few in line for line in passed), done.stdout[-1000:]  # of all operations
    public = "import tracejit; print(float(tracejit.math.exp10(2.0)))"
    done = subprocess.run(
        [sys.executable, "-c", public],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(folder / "src")},
    )
    assert done.stdout.strip() == "100.0", done.stderr


#: What is right, what is wrong instead, and the test that sees it.
MISTAKES = [
    ("-1.0 / ops.expm1", "1.0 / ops.expm1", "test_every_op.py", "test_vjp_agrees_with_finite_differences"),
    ("ops.log1p(-ops.exp(x))", "ops.log1p(ops.exp(x))", "test_every_op_in_each_mode.py", "test_values"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("right", "wrong", "file", "test"), MISTAKES, ids=["gradient", "lowering"])
def test_a_mistake_in_the_example_is_found(right: str, wrong: str, file: str, test: str, tmp_path: Path):
    blocks = the_blocks(COMPOSED)
    assert any(right in text for text in blocks.values())
    mistaken = {place: text.replace(right, wrong) for place, text in blocks.items()}
    done = run(changed_copy(tmp_path, mistaken), "-x", "-k", f"{COMPOSED} and {test}", f"tests/{file}")
    assert done.returncode == 1, done.stdout[-3000:] + done.stderr[-1000:]
    assert test in done.stdout
