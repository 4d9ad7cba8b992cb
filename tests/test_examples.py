"""Every example runs as users run it, in a process of its own, and prints what it promises."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"


def run(name: str, *arguments: str) -> str:
    """Run an example; return what it prints."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_eager_gradient():
    printed = run("01_eager_gradient.py")
    assert "x³ at 2: 8, first derivative 12, second 12" in printed
    assert "derivative of x^4 at 3: 108" in printed
    fitted, closed = re.findall(r"(-?[\d.]+) x \+ (-?[\d.]+)", printed)
    assert np.allclose(np.array(fitted, float), np.array(closed, float), atol=2e-4)


def test_compiled_loop(tmp_path: Path):
    picture = tmp_path / "loop.svg"
    printed = run("02_compiled_loop.py", "--text", "--draw", str(picture))
    rows = [line.split() for line in printed.splitlines()[1:6]]
    assert [float(gradient) for _, _, gradient in rows] == [512.0, 1.0, 2.0**20, 100 * 2.0**11, 100.0]
    assert "traced 1 time" in printed
    for sign in ("graph doubled(", "graph doubled_grad(", "program value_and_gradient", "define i32 @"):
        assert sign in printed
    assert picture.read_text(encoding="utf-8").startswith("<svg")


def test_nested_derivatives():
    rows = [line.split() for line in run("03_nested_derivatives.py").splitlines()[1:]]
    assert [name for name, *_ in rows] == [
        f"{problem}-{mix}" for problem in ("saddle", "particle") for mix in ("FF", "FR", "RF", "RR")
    ]
    assert all(np.isclose(float(row[1]), float(row[2]), rtol=1e-6, atol=0.0) for row in rows)


def test_scipy_minimize():
    pytest.importorskip("scipy")
    rows = re.findall(r"a ([\d.]+)  b ([\d.]+)  c ([\d.]+)  in (\d+)", run("04_scipy_minimize.py"))
    fits = np.array(rows, float)
    assert fits.shape == (3, 4) and np.all(fits[:, 3] < 40)
    assert np.allclose(fits[:, :3], [2.0, 0.4, 3.0], rtol=0.01)
    assert np.allclose(fits[:, :3], fits[0, :3], atol=1e-4)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_call_from_c():
    rows = re.findall(r"^(Python|C): +((?:-?[\d.]+ ?){9})$", run("05_call_from_c.py"), re.MULTILINE)
    python, c = (np.array(row.split(), float) for _, row in rows)
    assert np.allclose(python, c, atol=2e-4) and python.min() < -0.4 and np.allclose(python, python[::-1])


def test_debug_eagerly():
    printed = run("06_debug_eagerly.py")
    assert re.search(r"gradients: \[.*\] None\n.*converted to NumPy", printed)
    assert "z = tj.linalg.matvec(X, w) * np.exp(scale.numpy())" in printed and "remedy: " in printed
    assert re.search(
        r"step 1: log made an infinity at \(2,\).*\n.*\n +return -tj.reduce_mean\(LABELS", printed
    )
    (compiled,), (eager,) = (re.findall(rf"{word}: loss ([\d.]+)", printed) for word in ("step 0", "eagerly"))
    assert compiled == eager


def test_an_op_of_ones_own():
    printed = run("08_add_your_own_op.py")
    errors = re.findall(r"off by (\S+) eagerly, (\S+) compiled", printed)
    assert len(errors) == 3 and np.max(np.array(errors, float)) < 1e-11


@pytest.mark.slow
def test_digits(tmp_path: Path):
    for module in ("sklearn", "matplotlib", "tqdm"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install tracejit[examples]")
    printed = run("digits.py", "--out", str(tmp_path))
    accuracies = re.findall(r"^(NumPy by hand|tracejit, \w+) +([\d.]+)%", printed, re.MULTILINE)
    assert [name for name, _ in accuracies] == ["NumPy by hand", "tracejit, eager", "tracejit, compiled"]
    assert all(float(accuracy) >= 97.0 for _, accuracy in accuracies)
    assert {path.name for path in tmp_path.iterdir()} == {"digits.png", "digits_step.html"}


def test_the_network_takes_the_steps_of_numpy(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    ours, theirs = importlib.import_module("digits_network"), importlib.import_module("digits_numpy")
    generator = np.random.default_rng(0)
    images = generator.uniform(0.0, 1.0, (32, 20)).astype(np.float32)
    labels = generator.integers(0, 5, 32)
    parameters = theirs.initial_parameters(20, 24, 5)
    networks = [ours.Network(parameters, 1e-2), ours.EagerNetwork(parameters, 1e-2)]
    networks.append(theirs.Network(parameters, 32, 1e-2))
    first = networks[0].loss(images, labels)
    for _ in range(30):
        losses = [float(network.step(images, labels)) for network in networks]
        assert np.ptp(losses) <= 1e-4 * max(losses)
    assert losses[0] < 1.2 < first  # it learned something
    predicted = [np.asarray(network.predict(images)) for network in networks]
    assert all(np.array_equal(predicted[0], other) for other in predicted[1:])


@pytest.mark.slow
@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("sklearn", "distributed")),
    reason="needs scikit-learn and Dask",
)
def test_digits_over_dask():
    printed = run("dask_digits.py", "--epochs", "8", "--kill")
    assert float(re.search(r"accuracy ([\d.]+)", printed)[1]) > 0.9
