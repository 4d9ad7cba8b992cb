"""Loading in a fresh process: what it needs, and that it needs no more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import tracejit as tf

#: Above this, something that loading does not need has crept in; each module costs every program that loads.
MOST_MODULES = 36


def test_loading_and_calling_need_a_small_part_of_the_package(tmp_path: Path) -> None:
    def loss(x, k):
        return tf.reduce_sum(x**2) * k

    path = tmp_path / "loss.tja"
    tf.export(loss, ["f64[n]", "f64"], name="loss").save(path)
    code = (
        "import sys, numpy as np\n"
        "before = set(sys.modules)\n"
        "import tracejit\n"
        f"f = tracejit.load({str(path)!r})\n"
        "for _ in range(3): value, *_ = f(np.arange(4.0), 2.0)\n"
        "print(value, f(np.arange(4.0), 2.0, out=(None, None, np.empty(())))[0], f.signature)\n"
        "assert f.verify().sample < 1e-12\n"
        "new = set(sys.modules) - before\n"
        "print(sorted(m for m in new if m.startswith('tracejit.')))\n"
        "assert not new & {'llvmlite', 'pathlib', 'tempfile', 'tracejit.core.op', 'tracejit.ops'}\n"
        "print(tracejit.constant(1.0) + 1.0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    values, modules, total = done.stdout.splitlines()
    assert values.startswith("28.0 28.0 loss(x: float64[n], k: float64[])") and "2." in total
    assert len(modules.split(",")) <= MOST_MODULES, modules
