"""Four programs of the examples and benchmarks leave the process, and compute there what they compute here."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks.clock import Stopwatch
from tracejit.aot import Artifact
from tracejit.compiler.codegen import llvm

ROOT = Path(__file__).resolve().parents[2]
DOUBLED = r"""
#include <math.h>
#include <stdio.h>
#include "doubled.h"

int main(void) {
  static const double numbers[] = {3.0, 1000.0, 1e-30, -0.7, -5e4, 1e-3, -1e-30};
  int i, k, wrong = 0;
  for (i = 0; i < 7; i++) {
    double a = numbers[i], value, slope, wanted = a;
    for (k = 0; fabs(wanted) < 1000.0; k++) wanted *= 2.0;
    if (doubled(&a, &value, &slope) != 0) return 1;
    wrong += value != (a > 0 ? 1.0 : 100.0) * wanted || slope != (a > 0 ? 1.0 : 100.0) * pow(2.0, k);
  }
  printf("%d wrong\n", wrong);
  return 0;
}
"""


@pytest.fixture(autouse=True)
def repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.syspath_prepend(ROOT / "examples")


def written(artifact: Artifact, folder: Path) -> ModuleType:
    """The artifact as a shared library, behind the module that is written for it, which knows NumPy and ctypes."""
    for name in (f"lib{artifact.name}.so", f"{artifact.name}.py"):
        artifact.write(folder / name)
    spec = importlib.util.spec_from_file_location(f"{artifact.name}_written", folder / f"{artifact.name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def left(artifact: Artifact, folder: Path) -> list[Callable[..., Any]]:
    """Ways to call what has left: the artifact here, read from its file, and as a shared library."""
    assert artifact.verify().sample is not None
    artifact.save(folder / "saved.tja")
    loaded = tf.load(folder / "saved.tja")
    assert loaded.signature == artifact.signature
    loaded.verify()
    return [artifact, loaded, getattr(written(artifact, folder), artifact.name)]


def agree(ways: Sequence[Callable[..., Any]], wanted: Sequence[Any], *args: Any, rtol: float) -> None:
    for way in ways:
        found = way(*args)
        found = found if isinstance(found, tuple) else (found,)
        for y, z in zip(found, wanted, strict=True):
            size = np.max(np.abs(np.asarray(z)), initial=1e-300)
            np.testing.assert_allclose(y, z, rtol=0, atol=rtol * size)


def test_a_loop_that_runs_until_its_data_say_stop(tmp_path: Path) -> None:
    doubled = importlib.import_module("02_compiled_loop").doubled
    artifact = tf.export(doubled, ["f64"], name="doubled")
    ways = left(artifact, tmp_path)
    compiled = tf.function(tf.value_and_grad(doubled))
    for a in np.array([3.0, 1000.0, 1e-30, -0.7, -5e4]):
        agree(ways, compiled(tf.constant(a, tf.float64)), a, rtol=0.0)
    if shutil.which("cc"):
        artifact.write(tmp_path / "doubled.h")
        (tmp_path / "main.c").write_text(DOUBLED)
        strict = "cc -std=c99 -Wall -Wextra -pedantic -Werror main.c -L. -ldoubled -Wl,-rpath,. -lm -o main".split()
        subprocess.run(strict, cwd=tmp_path, check=True)
        done = subprocess.run(["./main"], cwd=tmp_path, check=True, capture_output=True, text=True)
        assert done.stdout == "0 wrong\n"


def test_the_gradient_of_an_lstm(tmp_path: Path) -> None:
    """Of any number of steps and any batch."""
    lstm = importlib.import_module("benchmarks.lstm")
    specs = ["f64[32,32]", "f64[8,32]", "f64[32]", "f64[steps,batch,32]"]
    artifact = tf.export(lstm.loss, specs, name="lstm", wrt=("w", "u", "b"))
    ways = left(artifact, tmp_path)
    xs, w, u, b = lstm.arguments(3, 8, "float64")
    compiled = tf.function(tf.value_and_grad(lstm.loss, (0, 1, 2)))
    for x in (xs[:50], xs[:7, :1].copy(), xs[:1]):
        value, gradients = compiled(w, u, b, x)
        agree(ways, [value, *gradients], w, u, b, x, rtol=1e-12)


def test_the_gradient_of_the_lorenz_system(tmp_path: Path) -> None:
    lorenz = importlib.import_module("benchmarks.lorenz")
    specs = ["f64[6]", "i64"]
    artifact = tf.export(lorenz.tracejit_value, specs, name="lorenz", wrt="inputs")
    ways = left(artifact, tmp_path)
    for steps in (0, 1, 1000):
        gradient = tf.function(lorenz.tracejit_gradient)(lorenz.INPUTS, tf.constant(steps, tf.int64))
        agree(ways, [gradient[0], gradient[1:]], lorenz.INPUTS, np.int64(steps), rtol=1e-12)


def training_step(parameters: list[np.ndarray]) -> tuple[Any, Callable[..., Any]]:
    """The digits network, and a step of it as a function: the loss, and what the weights become."""
    network = importlib.import_module("digits_network").Network(parameters, 1e-2)

    def step(images: Any, labels: Any) -> dict[str, Any]:
        with tf.GradientTape() as tape:
            loss = network.cross_entropy(images, labels)
        gradients = tape.gradient(loss, network.parameters)
        return {
            "loss": loss,
            "weights": [p - 0.1 * g for p, g in zip(network.parameters, gradients, strict=True)],
        }

    return network, step


def test_a_training_step_with_its_weights_in_it(tmp_path: Path) -> None:
    numpy_digits = importlib.import_module("digits_numpy")
    network, step = training_step(numpy_digits.initial_parameters(64, 32, 10))
    artifact = tf.export(step, ["f32[n,64]", "i64[n]"], name="step", outputs=("value",))
    ways = left(artifact, tmp_path)
    random = np.random.default_rng(0)
    images = random.uniform(0.0, 1.0, (20, 64)).astype(np.float32)
    labels = random.integers(0, 10, 20)
    found = tf.function(step)(images, labels)
    wanted = [found["loss"], *found["weights"]]
    network.parameters[0].assign(np.zeros((64, 32), np.float32))  # what has left keeps its own
    agree(ways, wanted, images, labels, rtol=1e-5)


def test_a_training_step_with_its_weights_as_arguments(tmp_path: Path) -> None:
    numpy_digits = importlib.import_module("digits_numpy")
    network, step = training_step(numpy_digits.initial_parameters(64, 32, 10))
    specs = ["f32[n,64]", "i64[n]"]
    artifact = tf.export(step, specs, name="step", outputs=("value",), constants="argument")
    assert "w1: float32[64,32], b1: float32[32]" in artifact.signature
    ways = left(artifact, tmp_path)
    images, labels = np.ones((3, 64), np.float32), np.array([1, 2, 9])
    weights = [np.asarray(p) for p in network.parameters]
    for _ in range(3):
        found = tf.function(step)(images, labels)
        agree(ways, [found["loss"], *found["weights"]], images, labels, *weights, rtol=1e-5)
        weights = [np.asarray(w) for w in found["weights"]]
        for parameter, w in zip(network.parameters, weights, strict=True):
            parameter.assign(w)


def test_eight_megabytes_of_weights_pass_by_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text for LLVM has none of them; the bytes are in the library once."""
    numpy_digits = importlib.import_module("digits_numpy")
    _, step = training_step(numpy_digits.initial_parameters(784, 2640, 10))
    texts: list[int] = []
    compile_text = llvm.compile_text
    monkeypatch.setattr(
        llvm,
        "compile_text",
        lambda text, *args, **how: texts.append(len(text)) or compile_text(text, *args, **how),
    )
    working = Stopwatch()
    artifact = tf.export(step, ["f32[n,784]", "i64[n]"], name="step", outputs=("value",))
    assert working.seconds() < 3.0  # 0.2 on a machine that does nothing else
    assert max(texts, default=0) < 1 << 18
    ways = left(artifact, tmp_path)
    assert 8_300_000 < (tmp_path / "libstep.so").stat().st_size < 8_700_000
    images, labels = np.ones((3, 784), np.float32), np.array([1, 2, 9])
    found = tf.function(step)(images, labels)
    agree(ways, [found["loss"], *found["weights"]], images, labels, rtol=1e-5)


@pytest.mark.slow
def test_a_fresh_process_needs_neither_the_program_nor_the_compiler(tmp_path: Path) -> None:
    lorenz = importlib.import_module("benchmarks.lorenz")
    tf.export(lorenz.tracejit_value, ["f64[6]", "i64"], name="lorenz", wrt="inputs").save(
        tmp_path / "lorenz.tja"
    )
    code = (
        "import sys, numpy as np, tracejit as tj; f = tj.load('lorenz.tja'); f.verify()\n"
        "print(f(np.array([1.0, 2.0, 3.0, 10.0, 28.0, 8.0 / 3.0]), np.int64(100))[0], 'llvmlite' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    value, loaded = done.stdout.split()
    wanted = float(lorenz.tracejit_value(lorenz.INPUTS, 100))
    assert abs(float(value) / wanted - 1.0) < 1e-12 and loaded == "False"


def test_special_functions():
    def loss(a, b, x):
        return tf.reduce_sum(tf.math.lgamma(a) - a * tf.math.log(b) - (a - 1.0) * tf.math.log(x) + b * x)

    art = tf.export(loss, ["f64", "f64", "f64[n]"], name="gamma_loss")
    assert art.verify().sample < 1e-13


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64", "float64", "complex128"])
def test_sums_are_as_close_to_those_kept_as_their_numbers_are(dtype):
    art = tf.export(lambda x: (tf.reduce_sum(x / 3), x * x), [f"{dtype}[n]"], name="sums", outputs="value")
    assert art.verify().sample < {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-6, "complex64": 1e-6}.get(
        dtype, 1e-14
    )


def test_a_function_that_returns_nothing_is_refused():
    with pytest.raises(tf.errors.NotExportable, match="nothing returns no array"):
        tf.export(lambda x: None, ["f64"], name="nothing", outputs="value")


def test_a_size_that_can_only_be_one_number_is_named():
    with pytest.raises(tf.errors.NotExportable, match="holds for n == 6 only: write 6 in the place of n"):
        tf.export(lambda x: tf.reshape(x, [2, 3]), ["f64[n]"], name="turned", outputs="value")
