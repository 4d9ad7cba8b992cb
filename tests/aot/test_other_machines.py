"""Libraries for aarch64 and riscv64, emulated: within 4 units in the last place of what the code here gives."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import tracejit as tf
from aot.callers import AARCH64, RISCV64, Case, Machine, assert_close, outputs_of, run, source
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


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("kind", [".so", ".o"])
def test_results_are_those_of_this_machine(name: str, kind: str, cases: list[Case], tmp_path: Path):
    machine: Machine = MACHINES[name]
    machine.require()
    target, linked = f"{name}/{name}", []
    for case in cases:
        library = ("lib" if kind == ".so" else "") + case.artifact.name + kind
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
        assert not symbols.stdout


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
