"""Ctrl-C at random moments of tracing, compiling and running, in a process of its own that goes on afterwards.

``python -m fuzz.interrupted_run 0 1000`` presses with these seeds. A helper process sends the signal, so that it
arrives anywhere, also within C code. After each, the same program runs again: its results, its state and what the
next program does must be what they would have been.
"""

from __future__ import annotations

import collections
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np

import tracejit as tf
from tracejit.compiler import llvm, pipeline
from tracejit.core import dim
from tracejit.core.dispatch import state
from tracejit.core.settings import configure
from tracejit.frontend import variable

PATIENCE = 20.0
HELPER = """
import os, sys, time
for line in sys.stdin:
    process, delay, number = line.split()
    end = time.perf_counter() + float(delay)
    while time.perf_counter() < end:
        pass
    os.kill(int(process), int(number))
"""
X = np.linspace(0.1, 1.0, 7)


class Presser:
    """A process that presses Ctrl-C in this one."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HELPER], stdin=subprocess.PIPE, text=True, start_new_session=True
        )

    def press(self, delay: float, number: int = signal.SIGINT) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{os.getpid()} {delay} {int(number)}\n")
        self.process.stdin.flush()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


class Program:
    """Branches, loops, tapes and two Variables that change together; each `k` is a new program."""

    def __init__(self, k: float):
        self.v, self.w = tf.Variable(1.0, dtype=tf.float64), tf.Variable(10.0, dtype=tf.float64)

        @tf.function
        def helper(x: Any) -> Any:
            return tf.sin(x) * k

        @tf.function
        def step(x: Any) -> Any:
            y = helper(x) + 1.0
            for _ in tf.range(3):
                if tf.reduce_sum(y) > 0:
                    y = y * x + tf.exp(-y * y)
                else:
                    y = y - 1.0
            with tf.GradientTape() as tape:
                tape.watch(y)
                z = tf.reduce_sum(y**3)
            self.v.assign_add(1.0)
            self.w.assign_sub(1.0)
            return tf.reduce_sum(y) + tf.reduce_sum(tape.gradient(z, y))

        @tf.function
        def long(x: Any) -> Any:
            i = tf.constant(0)
            while i < 3000:
                x = tf.sin(x) + 1e-3
                i += 1
            return tf.reduce_sum(x)

        self.step, self.long = step, long

    def __call__(self) -> list[np.ndarray]:
        x = tf.constant(X)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = self.step(x)
        return [np.asarray(t) for t in (y, tape.gradient(y, x), self.step(x), self.long(x))]

    def together(self) -> bool:
        return float(self.v) + float(self.w) == 11.0


def left_behind() -> list[str]:
    """What an interrupted call has not put back."""
    found = [name for name in ("interpreter", "recorders", "location", "origin") if getattr(state, name)]
    if dim._assumptions.get() is not None:
        found.append("assumptions")
    if not gc.isenabled():
        found.append("collection")
    for name, lock in (("pipeline", pipeline._lock), ("llvm", llvm._lock), ("changing", variable.changing)):
        if not _is_free(lock):
            found.append(f"the lock of {name}")
    return found


def _is_free(lock: Any) -> bool:
    """Can another thread have it?"""
    got = []

    def take() -> None:
        got.append(lock.acquire(timeout=5.0))
        if got[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return got[0]


def pressed_once(program: Program, presser: Presser, delay: float) -> str:
    """What the press during a program came to."""
    try:
        presser.press(delay)
        program()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            pass
        return "LOST"
    except KeyboardInterrupt:
        return "stopped"
    except BaseException as error:
        return f"RAISED {type(error).__name__}: {str(error)[:100]}"


def run(first: int, last: int) -> collections.Counter[str]:
    """Press with each seed, and count what came of it."""
    configure(cache=False)
    presser = Presser()
    Program(0.5)()
    start = time.perf_counter()
    Program(0.75)()
    whole = time.perf_counter() - start
    counts: collections.Counter[str] = collections.Counter()
    handler = signal.getsignal(signal.SIGINT)
    for seed in range(first, last):
        rng = random.Random(seed)
        program = Program(1.0 + seed)
        new = rng.random() < 0.8
        if not new:
            program()  # so that it is a run that is interrupted, and not a trace
        outcome = pressed_once(program, presser, rng.random() * (whole if new else whole / 50))
        faults = [outcome] if outcome != "stopped" else []
        faults += left_behind()
        if signal.getsignal(signal.SIGINT) is not handler:
            faults.append("the handler is another one")
        if not program.together():
            faults.append("only a part of its state changed")
        try:
            again = program()
            right = all(map(np.array_equal, again, Program(1.0 + seed)()))
            faults += [] if right and program.together() else ["wrong afterwards"]
        except BaseException as error:
            faults.append(f"later {type(error).__name__}: {str(error)[:100]}")
        counts["; ".join(faults) or "stopped"] += 1
        if faults:
            print("FAULT", seed, faults, flush=True)
    presser.close()
    return counts


if __name__ == "__main__":
    for found, number in sorted(run(int(sys.argv[1]), int(sys.argv[2])).items()):
        print(f"{number:6} {found}")
