"""``TRACEJIT_PERF_MAP=1``: perf finds the names of compiled functions in a map beside the process's others."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

PROGRAM = """
import os, sys
import numpy as np
import tracejit as tf

@tf.function
def wave_of_names(x):
    return tf.sin(x) * x

wave_of_names(tf.constant(np.ones(40)))
print(os.getpid(), flush=True)
if sys.argv[1] == "fork":
    if os.fork():
        os.wait()
        sys.exit()
    print(os.getpid(), flush=True)
    tf.function(lambda x: tf.exp(x) - x)(tf.constant(np.ones(40)))
    os._exit(0)
"""
FOLDER = Path("/tmp")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="perf is Linux's")


def maps(way: str, value: str, cache: Path) -> list[list[tuple[int, int, str]]]:
    """The maps of the processes that the program is, by lines; those that are not there are empty."""
    env = {**os.environ, "TRACEJIT_PERF_MAP": value, "TRACEJIT_CACHE_DIR": str(cache)}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, way], env=env, check=True, timeout=300, capture_output=True, text=True
    )
    found = []
    for process in ran.stdout.split():
        file = FOLDER / f"perf-{process}.map"
        text = file.read_text() if file.exists() else ""
        file.unlink(missing_ok=True)
        lines = [line.split(" ", 2) for line in text.splitlines()]
        found.append([(int(start, 16), int(size, 16), name) for start, size, name in lines])
    return found


def test_functions_are_named_compiled_and_from_disk(tmp_path: Path) -> None:
    for _ in range(2):
        (lines,) = maps("alone", "1", tmp_path)
        named = [name for _, _, name in lines if name.startswith("wave_of_names")]
        assert "wave_of_names" in named and any(name.startswith("wave_of_names.") for name in named)
        ends = sorted((start, start + size) for start, size, _ in lines)
        assert all(before <= start for (_, before), (start, _) in pairwise(ends))
        assert all(size > 0 for _, size, _ in lines)


def test_a_child_has_all_names(tmp_path: Path) -> None:
    parent, child = maps("fork", "1", tmp_path)
    assert {*parent} < {*child}


def test_nothing_is_written_unless_it_is_asked_for(tmp_path: Path) -> None:
    assert maps("alone", "0", tmp_path) == [[]]
