"""WebAssembly of whole programs: random ones are valid and right, damage to their objects is refused."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import tracejit as tf
from fuzz.compositions.programs import program
from tracejit.compiler import exporting
from tracejit.core.errors import TracejitError
from tracejit.runtime.elf import ObjectError
from tracejit.runtime.linking.wasm.module import link
from tracejit.runtime.linking.wasm.object_file import parse

from .node import Case, called, needs_node, node

pytestmark = needs_node


def validated(names: Sequence[str], folder: Path) -> list[str]:
    """Those of the modules that are not valid."""
    script = f"""
    import {{ readFileSync }} from "node:fs";
    const wrong = {[*names]}.filter((name) => !WebAssembly.validate(readFileSync(name)));
    console.log(wrong.join());
    """
    return node(script, folder).split()


def _random_programs_run(seeds: Sequence[int], folder: Path) -> int:
    """Export random programs, and compare what they give with native code; how many there were."""
    cases = []
    for seed in seeds:
        made, scope = program(seed), {"tf": tf, "np": np}
        spec = f"f64[{','.join(map(str, made.given))}]"
        target = ("wasm32", "wasm32+simd128")[seed % 2]
        try:
            exec(made.text, scope)
            options = {"name": f"p{seed}", "outputs": ["value"], "targets": ["host", target]}
            art = tf.export(scope["main"], [spec], **options)
        except TracejitError:
            continue
        for end in ("wasm", "mjs"):
            art.write(folder / f"p{seed}.{end}", target=target)
        x = np.random.default_rng(seed).uniform(0.4, 1.0, made.given)
        cases.append(Case(f"p{seed}.mjs", [x], {art._interface.outputs[0]: np.asarray(art(x))}))
    assert not validated([c.module.replace(".mjs", ".wasm") for c in cases], folder)
    for case, found in zip(cases, called(cases, folder), strict=True):
        assert isinstance(found, dict), f"{case.module}: {found}"
        for name, y in case.outputs.items():
            scale = np.max(np.abs(y), initial=1e-3)
            np.testing.assert_allclose(found[name], y, rtol=1e-9, atol=1e-10 * scale, err_msg=case.module)
    return len(cases)


def test_random_programs_are_valid_and_right(tmp_path: Path) -> None:
    assert _random_programs_run(range(8), tmp_path) >= 5


@pytest.mark.slow
def test_many_random_programs_are_valid_and_right(tmp_path: Path) -> None:
    assert _random_programs_run(range(100, 200), tmp_path) > 70


def test_objects_of_real_programs_survive_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors, matrix products through the table, memory of loops: the same damage to larger objects."""
    taken: list[tuple] = []
    monkeypatch.setattr(exporting, "link", lambda *parts: taken.append(parts) or link(*parts))
    weights = np.random.default_rng(0).normal(size=(40, 50))

    def f(x):
        while tf.reduce_sum(x) > 1.0:
            x = tf.tanh(tf.reshape(x, [1, 40]) @ weights)[0, :40] * 0.9
        return tf.reduce_sum(tf.sin(x))

    tf.export(f, ["f64[40]"], name="f", targets=["wasm32+simd128"])
    (images, data, names), rng = taken[0], random.Random(1)
    assert all(parse(image).bodies for image in images)
    for _ in range(150):
        damaged = [*images]
        which = rng.randrange(len(images))
        image = bytearray(images[which])
        image[rng.randrange(len(image))] ^= 1 << rng.randrange(8)
        damaged[which] = bytes(image)
        try:
            link(damaged, data, names)
        except ObjectError:
            pass
