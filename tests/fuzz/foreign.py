"""Random programs, exported for other machines: code without undefined symbols, or an error that says why not."""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tracejit as tf
from tracejit.core.errors import TracejitError

from .exports import _composed, _spec, _written
from .outcome import Outcome

TARGETS = {
    "aarch64": ".so", "riscv64": ".so", "wasm32": ".wasm", "wasm32+simd128": ".wasm", "thumbv7em": ".o",
    "thumbv7em+fp64": ".a", "x86-64": ".so",
}  # fmt: skip


def check(seed: int) -> Outcome:
    """The verdict on the program of this seed, for the target that its number says."""
    rng = random.Random(seed)
    target = [*TARGETS][seed // 2 % len(TARGETS)]
    text, f, shapes = _composed(seed) if seed % 2 else _written(seed)
    specs = [_spec(s, rng.random() < 0.5) for s in shapes]
    if rng.random() < 0.3 or target == "thumbv7em":
        specs = [s.replace("f64", "f32") for s in specs]
    outputs = ["value", "grad"] if rng.random() < 0.7 else ["value"]
    text += f"\n# {target}, outputs={outputs}, {specs}"
    try:
        made = tf.export(_squares(f), specs, name="program", outputs=outputs, targets=[target])
    except TracejitError as problem:
        return Outcome("refused", str(problem).split("\n")[0], text)
    except Exception as problem:
        return Outcome("wrong", repr(problem), text)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, f"program{TARGETS[target]}")
        made.write(place)
        if place.suffix != ".wasm" and " U " in _undefined(place):
            return Outcome("wrong", "undefined symbols", text)
    return Outcome("agree", target, text)


def _squares(f: Callable[..., Any]) -> Callable[..., Any]:
    """A float that needs no more of the machine than the results do."""

    def number(*xs: Any) -> Any:
        found = f(*xs)
        ys = found if isinstance(found, list) else [found]
        return tf.add_n([tf.reduce_sum(y * y) for y in ys])

    return number


def _undefined(place: Path) -> str:
    if shutil.which("nm") is None:
        return ""
    done = subprocess.run(["nm", "-u", str(place)], capture_output=True, text=True, check=False)
    return done.stdout
