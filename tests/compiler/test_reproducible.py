"""The same graph gives the same object in every process; importing loads no compiler."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checks.levels import derived
from checks.loop_programs import PROGRAMS
from tracejit.compiler import pipeline
from tracejit.core.ir.graph import Graph
from tracejit.core.ir.text import constants, parse, to_text
from tracejit.core.settings import settings
from tracejit.core.tracing.trace import trace

SOURCE = str(Path(__file__).parents[2] / "src")
CHOSEN = (
    "two_layers",
    "softmax",
    "doubling",
    "scan_rows",
    "large_carries_swapped",
    "gather_and_scatter",
    "branch_in_loop",
    "complex_numbers",
    "constants_returned",
)

IN_ANOTHER_PROCESS = """
import hashlib, json, sys
import numpy as np
import tracejit
from tracejit.compiler import pipeline
from tracejit.core.settings import settings
from tracejit.core.ir.text import parse, to_text

found = []
for text, table in json.load(sys.stdin):
    graph = parse(text, {k: np.frombuffer(bytes.fromhex(h), d).reshape(s) for k, (h, d, s) in table.items()})
    assert to_text(graph) == text
    with settings(cache=False):
        found.append(hashlib.sha256(pipeline.build(graph).image).hexdigest())
json.dump(found, sys.stdout)
"""


def python(code: str, stdin: str = "", **environment: str) -> str:
    env = {**os.environ, "PYTHONPATH": SOURCE, **environment}
    done = subprocess.run([sys.executable, "-c", code], input=stdin, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def graph_of(name: str) -> Graph:
    source = trace(PROGRAMS[name].f, PROGRAMS[name].specs, name).graph
    graph = derived(source, "gradient" if "gradient" in PROGRAMS[name].orders else "value")
    assert graph is not None
    return graph


def stored(graph: Graph) -> tuple[str, dict]:
    table = {k: (a.tobytes().hex(), a.dtype.str, a.shape) for k, a in constants(graph).items()}
    return to_text(graph), table


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_reads_back(name: str):
    graph = graph_of(name)
    text = to_text(graph)
    assert to_text(parse(text, constants(graph))) == text


@pytest.mark.parametrize("hash_seed", ["1", "77"])
def test_another_process_makes_the_same_object(hash_seed: str):
    graphs = [graph_of(name) for name in CHOSEN]
    with settings(cache=False):
        here = [hashlib.sha256(pipeline.build(g).image).hexdigest() for g in graphs]
    there = json.loads(
        python(IN_ANOTHER_PROCESS, json.dumps([stored(g) for g in graphs]), PYTHONHASHSEED=hash_seed)
    )
    assert dict(zip(CHOSEN, there, strict=True)) == dict(zip(CHOSEN, here, strict=True))


def test_import_and_eager_mode_load_no_compiler():
    python("""
import sys, tracejit as tf
x = tf.Variable(3.0)
with tf.GradientTape() as tape:
    y = x * x
assert float(tape.gradient(y, x)) == 6.0
loaded = [m for m in sys.modules if m.split('.')[0] in ('llvmlite', 'networkx') or m.startswith('tracejit.compiler')]
assert not loaded, loaded
""")


def test_a_warm_start_loads_no_llvm(cache_dir: Path):
    code = """
import sys, numpy as np, tracejit as tf
f = tf.function(lambda x: tf.sin(x) * 2.0 + x @ x)
assert f(np.eye(30)).shape == (30, 30)
print('llvmlite' in sys.modules)
"""
    assert python(code).strip() == "True"
    assert python(code).strip() == "False"
