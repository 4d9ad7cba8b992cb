"""Memory stays flat over calls and bounded over compilations, with the collector of cycles off."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tracejit as tf
from tracejit.core.ir.graph import Graph

SOURCE = str(Path(__file__).parents[2] / "src")

HEAD = """
import gc, sys
gc.disable()
import numpy as np
import tracejit as tf

def resident():
    with open('/proc/self/statm') as f:
        return int(f.read().split()[1]) * 4096

def growth(run, warm, times):
    run(warm)
    before = resident()
    run(times)
    return resident() - before
"""

CALLS = (
    HEAD
    + """
@tf.function
def f(x, n):
    y = tf.sin(x) @ x
    z = tf.fori_loop(0, n, lambda i, c: c + y, x)
    return z, tf.reduce_sum(y)

@tf.function
def grown(x, n):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.while_loop(lambda c: tf.reduce_sum(c) < 1000.0, lambda c: c * 2.0, x)
    return tape.gradient(y, x)

@tf.function
def bad(x, i):
    return tf.gather(x * 2.0, i)

x, n, i = np.ones((8, 8)), np.int64(3), np.array([0, 99])
small = tf.constant(x)

def run(times):
    for _ in range(times):
        f(x, n)
        f(small, n)

def run_grown(times):
    for _ in range(times):
        grown(x, n)

def run_bad(times):
    for _ in range(times):
        try:
            bad(x, i)
        except IndexError:
            pass

print('calls', growth(run, 5000, 50000))
print('grown', growth(run_grown, 2000, 20000))
print('failing', growth(run_bad, 2000, 10000))
"""
)

COMPILATIONS = (
    HEAD
    + """
def run(times):
    for k in range(times):
        f = tf.function(lambda x: tf.sin(x) * (run.count + 1.5))
        run.count += 1
        f(np.ones(3))

run.count = 0
with tf.settings(cache=False):
    print('compilations', growth(run, 50, 250) / 250)
"""
)

TAPES = (
    HEAD
    + """
import weakref
x = tf.Variable(np.ones(1000))

def run(times):
    for _ in range(times):
        with tf.GradientTape(persistent=True) as tape:
            y = tf.reduce_sum(tf.sin(x) * x)
        tape.gradient(y, x)
        del tape

print('tapes', growth(run, 500, 5000))
"""
)


def measured(code: str) -> dict[str, float]:
    env = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=300)
    assert done.returncode == 0, done.stderr
    return {k: float(v) for k, v in (line.split() for line in done.stdout.splitlines())}


needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")


@needs_proc
@pytest.mark.slow
def test_calls():
    found = measured(CALLS)
    assert all(v < 1 << 20 for v in found.values()), found


@needs_proc
@pytest.mark.slow
def test_compilations():
    found = measured(COMPILATIONS)
    assert found["compilations"] < 200_000, found


@needs_proc
def test_tapes():
    found = measured(TAPES)
    assert found["tapes"] < 1 << 20, found


def test_functions_that_are_gone_keep_no_graphs():
    """Ops remember shapes for what they are given; graphs among their attributes must not stay with that."""

    def run(k):
        v = tf.Variable(0.5)

        @tf.function
        def f(x, n):
            for _ in tf.range(n):
                if x < 0.5:
                    x = x + 1.0
                v.assign_add(x)
            return x * float(k)

        x = tf.constant(0.3)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, tf.constant(3))
        tape.gradient(y, x)

    def graphs():
        gc.collect()
        return sum(isinstance(o, Graph) for o in gc.get_objects())

    run(0)
    before = graphs()
    for k in range(1, 4):
        run(k)
    assert graphs() <= before
