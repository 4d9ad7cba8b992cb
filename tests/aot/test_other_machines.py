"""Libraries for aarch64 and riscv64, emulated: within 4 units in the last place of what the code here gives."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import tracejit as tf
from aot.callers import AARCH64, ARM, RISCV64, Case, Machine, assert_close, outputs_of, run, source
from tracejit.compiler.exporting import NotExportable

MACHINES = {"aarch64": AARCH64, "riscv64": RISCV64}
TARGETS = ("host", *MACHINES)
WEIGHTS = np.linspace(-1.0, 2.0, 30)


def elementwise(x):
    return tf.reduce_sum(tf.exp(-x * x) * tf.sin(x) + tf.math.log(1 + x * x) * tf.tanh(x))


def reductions(x):
    return tf.reduce_sum(tf.reduce_max(x, axis=1) * tf.reduce_mean(x * x, axis=1)) + tf.reduce_logsumexp(x)


def product(x, w):
    return tf.reduce_sum((x @ w + tf.constant(WEIGHTS)) ** 2)


def root(a):
    x = a
    while tf.abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def ordered(x):
    return tf.sort(x)[:5], tf.argsort(x)


def gathered(x, i):
    return tf.reduce_sum(tf.gather(x, i) ** 3)


def single(x):
    return tf.reduce_sum(tf.exp(-x * x) * tf.cos(x) + x**1.7)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    random = np.random.default_rng(3)
    x = random.uniform(0.1, 2.0, (7, 20))

    def case(f, specs, *arguments, **options) -> Case:
        return Case(tf.export(f, specs, name=f.__name__, targets=TARGETS, **options), arguments)

    return [
        case(elementwise, ["f64[n]"], x[0]),
        case(reductions, ["f64[n,m]"], x),
        case(product, ["f64[n,20]", "f64[20,30]"], x, random.uniform(0.1, 1.0, (20, 30))),
        case(root, ["f64"], np.array(2.0)),
        case(ordered, ["f64[n]"], x[1], outputs=["value"]),
        case(gathered, ["f64[n]", "i64[k]"], x[2], np.array([3, 1, 3, 0])),
        case(single, ["f32[n]"], x[3].astype(np.float32)),
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("kind", [".so", ".o", ".a"])
def test_results_are_those_of_this_machine(name: str, kind: str, cases: list[Case], tmp_path: Path):
    machine: Machine = MACHINES[name]
    machine.require()
    target, linked = f"{name}/{name}", []
    for case in cases:
        library = f"lib{case.artifact.name}{kind}"
        case.artifact.write(tmp_path / f"{case.artifact.name}.h", target)
        case.artifact.write(tmp_path / library, target)
        linked.append(library)
    flags = ["-Wl,-rpath,$ORIGIN"] if kind == ".so" else ["-static"]
    text = run(machine, tmp_path, source(cases, target), linked, flags)
    assert_close(cases, outputs_of(text, cases))
    for library in linked:
        assert (tmp_path / library).stat().st_size < 1 << 16
        symbols = subprocess.run(
            ["nm", "-u", library], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert " U " not in symbols.stdout


def test_numbers_that_a_machine_lacks_are_refused_with_the_line():
    def narrow(x):
        return tf.cast(tf.cast(x, tf.float16), tf.float32) * 2.0

    options = {"name": "narrow", "outputs": ["value"], "targets": ["riscv64"]}
    with pytest.raises(
        NotExportable, match=r"(?s)has no float16, which a result of .*test_other_machines\.py"
    ):
        tf.export(narrow, ["f32[n]"], **options)
    with pytest.raises(NotExportable, match="has no float16, which an argument is"):
        tf.export(lambda x: x * 2.0, ["f16[n]"], **options)


def narrow(f, *names: str) -> dict:
    return {"name": f.__name__, "targets": ["host", *names]}


def smooth(x):
    return tf.reduce_sum(
        tf.exp(x) + tf.math.log(1 + x * x) * tf.tanh(x)
    )  # whose gradient is a sum of positive terms


def waves(x):
    return tf.reduce_sum(tf.sin(x) + x**1.7)


def firm(x, w):
    return tf.reduce_sum((x @ w + tf.constant(WEIGHTS, tf.float32)) ** 2)


def bisected(a):
    x = a
    while tf.abs(x * x - a) > 1e-5:
        x = 0.5 * (x + a / x)
    return x


def rounded(x, n):
    whole = tf.floor(x) + 2 * tf.math.ceil(x) + 4 * tf.round(x)
    return whole, tf.cast(whole, tf.int64) * n // 7, n % 5, tf.cast(n, tf.float32), tf.sort(x)


def for_any_profile(folder: Path, *files: str) -> None:
    """Take from objects for microcontrollers the note that keeps linkers from joining them with a program for Linux."""
    for file in files:
        command = ["arm-linux-gnueabihf-objcopy", "-R", ".ARM.attributes", file]
        subprocess.run(command, cwd=folder, check=True)


@pytest.mark.parametrize("target", ["thumbv7em", "thumbv7em+fp64"])
@pytest.mark.parametrize("kind", [".o", ".a"])
def test_firmware(target: str, kind: str, tmp_path: Path):
    """Objects without undefined symbols; run by a processor that knows the instructions of Cortex-M, too."""
    ARM.require()
    random = np.random.default_rng(3)
    x = random.uniform(0.1, 2.0, (7, 20)).astype(np.float32)
    integers = np.array([0, 1, -1, 8, -9, 2**62, 1 - 2**63, 2**53 + 1, 16777217, -33554435] * 2)
    y = np.linspace(-7.5, 7.5, 20).astype(np.float32)

    def case(f, specs, *arguments, **options) -> Case:
        return Case(tf.export(f, specs, **narrow(f, target), **options), arguments)

    cases = [
        case(smooth, ["f32[n]"], x[0]),
        case(firm, ["f32[n,20]", "f32[20,30]"], x, random.uniform(0.1, 1.0, (20, 30)).astype(np.float32)),
        case(rounded, ["f32[n]", "i64[n]"], y, integers, outputs=["value"]),
    ]
    if target.endswith("fp64"):
        cases += [
            case(elementwise, ["f64[n]"], x[0].astype(np.float64)),
            case(
                product, ["f64[n,20]", "f64[20,30]"], x.astype(np.float64), random.uniform(0.1, 1.0, (20, 30))
            ),
            case(waves, ["f32[n]"], x[1] * np.float32(0.7)),
        ]
    chosen, linked = f"thumbv7em/{target}", []
    for one in cases:
        linked.append(f"lib{one.artifact.name}{kind}")
        one.artifact.write(tmp_path / f"{one.artifact.name}.h", chosen)
        one.artifact.write(tmp_path / linked[-1], chosen)
    for_any_profile(tmp_path, *linked)
    text = run(ARM, tmp_path, source(cases, chosen), linked, ["-static"])
    assert_close(cases, outputs_of(text, cases))
    symbols = subprocess.run(["nm", "-u", *linked], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert " U " not in symbols.stdout


def test_firmware_takes_memory_from_its_caller_only(tmp_path: Path):
    ARM.require()
    art = tf.export(bisected, ["f32"], **narrow(bisected, "thumbv7em"))
    art.write(tmp_path / "bisected.h", "thumbv7em/thumbv7em")
    art.write(tmp_path / "bisected.o", "thumbv7em/thumbv7em")
    for_any_profile(tmp_path, "bisected.o")
    asks = r"""
#include <stdio.h>
#include "bisected.h"
static char arena[1 << 16] __attribute__((aligned(64)));
static size_t top;
static void *take(size_t align, size_t bytes) {
  void *found = arena + top;
  top += (bytes + align - 1) / align * align;
  return top <= sizeof arena ? found : 0;
}
static void give(void *memory) { (void)memory; }
int main(void) {
  float a = 2, value, slope;
  puts(bisected_error(bisected(&a, &value, &slope)));
  bisected_allocator(take, give);
  puts(bisected_error(bisected(&a, &value, &slope)));
  printf("%.4f %.4f\n", value, slope);
  return 0;
}
"""
    assert run(ARM, tmp_path, asks, ["bisected.o"], ["-static"]) == "out of memory\nsuccess\n1.4142 0.3536\n"


def test_what_a_small_processor_has_not_is_said():
    for f, spec in ((elementwise, "f64[n]"), (single, "f32[n]")):
        with pytest.raises(NotExportable, match=r"no arithmetic in float64.*'thumbv7em\+fp64'"):
            tf.export(f, [spec], name="f", targets=["thumbv7em"])
