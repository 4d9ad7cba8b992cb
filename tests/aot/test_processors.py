"""One library for many x86-64 processors: each runs the best code it can, and none is given an illegal instruction."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tracejit as tf
from aot.callers import Case, Machine, assert_close, outputs_of, run, source
from tracejit.runtime import cpu

pytestmark = pytest.mark.skipif(cpu.host().arch != "x86_64", reason="levels of x86-64")

HERE = Machine("cc", ())
ASKS = r"""
#include <stdio.h>
#include "fit.h"
int main(void) {
  double x[3] = {1, 2, 3}, value, gx[3];
  int k, status = 0;
  for (k = 0; k < 3; k++) status = fit(x, &value, gx);
  puts(fit_error(status));
  return 0;
}
"""

LACKS_V2, LACKS_V3, LACKS_V4 = (
    f"this processor lacks some of {features}, which the code needs ({level})"
    for features, level in [
        ("crc32, cx16, popcnt, sahf, sse3, sse4.1, sse4.2, ssse3", "x86-64-v2"),
        ("avx, avx2, bmi, bmi2, f16c, fma, lzcnt, movbe", "x86-64-v3"),
        ("avx512bw, avx512cd, avx512dq, avx512f, avx512vl", "x86-64-v4"),
    ]
)


def emulated(model: str) -> Machine:
    machine = Machine("cc", ("qemu-x86_64", "-cpu", model))
    machine.require()
    return machine


def fit(x, w):
    return tf.reduce_sum(tf.exp(-((x @ w + tf.constant([0.5, 0.25])) ** 2)))


def elementwise(x):
    return tf.reduce_sum(tf.exp(-x * x) * tf.sin(x) + tf.math.log(1 + x * x) * tf.tanh(x))


def root(a):
    x = a
    while tf.abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    random = np.random.default_rng(3)
    arguments = {
        fit: (
            ["f64[n,3]", "f64[3,2]"],
            (random.uniform(0.1, 1.0, (40, 3)), random.uniform(0.1, 1.0, (3, 2))),
        ),
        elementwise: (["f64[n]"], (random.uniform(0.1, 2.0, 50),)),
        root: (["f64"], (np.array(2.0),)),
    }
    return [
        Case(tf.export(f, specs, name=f.__name__, targets=["x86-64"]), args)
        for f, (specs, args) in arguments.items()
    ]


#: A library with products for three kinds of processors; objects have names and relocations for the linker besides.
LARGEST = {".so": 64 << 10, ".o": 72 << 10, ".a": 72 << 10}


def written(cases: list[Case], folder: Path, kind: str = ".so", target: str | None = None) -> list[str]:
    found = []
    for case in cases:
        found.append(f"lib{case.artifact.name}{kind}")
        case.artifact.write(folder / f"{case.artifact.name}.h", target)
        case.artifact.write(folder / found[-1], target)
        assert (folder / found[-1]).stat().st_size < LARGEST[kind]
    return found


@pytest.mark.parametrize("kind", [".so", ".o", ".a"])
@pytest.mark.parametrize("model", ["", "Nehalem", "Haswell", "max"])
def test_the_same_on_every_processor(model: str, kind: str, cases: list[Case], tmp_path: Path):
    machine = emulated(model) if model else HERE
    linked = written(cases, tmp_path, kind)
    text = run(machine, tmp_path, source(cases, None), linked, ["-Wl,-rpath,$ORIGIN"])
    assert_close(cases, outputs_of(text, cases))


@pytest.mark.parametrize(
    ("target", "model", "says"),
    [
        (
            "x86-64",
            "Nehalem,-sse4.2",
            LACKS_V2,
        ),
        (
            "x86-64",
            "qemu64,-sse3,-cx16",
            LACKS_V2,
        ),
        (
            "x86-64-v3",
            "Nehalem",
            LACKS_V3,
        ),
        (
            "x86-64-v4",
            "Haswell",
            LACKS_V4,
        ),
        ("x86-64-v3", "Haswell", "success"),
        ("x86-64-v2", "Nehalem", "success"),
    ],
)
def test_a_processor_that_is_not_enough_is_told_so(target: str, model: str, says: str, tmp_path: Path):
    machine = emulated(model)
    art = tf.export(elementwise, ["f64[3]"], name="fit", targets=[target])
    art.write(tmp_path / "fit.h")
    art.write(tmp_path / "libfit.so")
    assert run(machine, tmp_path, ASKS, ["libfit.so"], ["-Wl,-rpath,$ORIGIN"]) == says + "\n"


def test_the_code_of_this_processor_is_refused_by_a_lesser_one(tmp_path: Path):
    if "avx2" not in cpu.host().enabled:
        pytest.skip("this processor is not more")
    machine = emulated("Nehalem")
    art = tf.export(elementwise, ["f64[3]"], name="fit", targets=["host"])
    art.write(tmp_path / "fit.h")
    art.write(tmp_path / "libfit.so")
    assert "this processor lacks some of" in run(
        machine, tmp_path, ASKS, ["libfit.so"], ["-Wl,-rpath,$ORIGIN"]
    )


def test_constants_are_there_once(tmp_path: Path):
    weights = np.random.default_rng(0).standard_normal(100_000)
    art = tf.export(
        lambda x: tf.reduce_sum(x * weights), ["f64[100000]"], name="weighted", targets=["x86-64"]
    )
    art.write(tmp_path / "libweighted.so")
    assert 800_000 < (tmp_path / "libweighted.so").stat().st_size < 850_000
    x = np.linspace(-1, 1, 100_000)
    np.testing.assert_allclose(art(x)[0], np.sum(x * weights))


def test_python_takes_the_same_code(cases: list[Case]):
    for case in cases:
        assert case.artifact.targets == ("x86_64/x86-64",)
        report = case.artifact.verify()
        assert report.sample is not None and report.sample < 1e-12
