"""Ctrl-C at random moments of tracing, compiling and running, in a process of its own that goes on afterwards.

``python -m fuzz.interrupted_run 0 250`` takes the programs with these seeds and presses four times in each. A helper
process sends the signal, so that it arrives anywhere, also within C code. Each time nothing may be left behind, and
afterwards the results and the state of the program are what they would have been.
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
from tracejit.compiler import cache
from tracejit.compiler.codegen import llvm
from tracejit.core import dim
from tracejit.core.settings import configure
from tracejit.core.tracing.dispatch import state
from tracejit.frontend.state import variable

PATIENCE = 300.0
TIMES = 4
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
LONG = np.zeros(())  # what every program's long loop gives


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
    for name, lock in (("cache", cache._lock), ("llvm", llvm._lock), ("changing", variable.changing)):
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


def pressed(program: Program, presser: Presser, delays: list[float]) -> list[str]:
    """What each press came to: faults, or that it stopped the program and left nothing behind."""
    found = []
    handler = signal.getsignal(signal.SIGINT)
    for delay in delays:
        outcome = pressed_once(program, presser, delay)
        faults = [outcome] if outcome != "stopped" else []
        faults += left_behind()
        if signal.getsignal(signal.SIGINT) is not handler:
            faults.append("the handler is another one")
        if not program.together():
            faults.append("only a part of its state changed")
        found.append("; ".join(faults) or "stopped")
    return found


def is_right(program: Program) -> bool:
    """Does a program that was interrupted do what it does eagerly?"""
    found = program()
    y, slope, again, _ = found
    configure(eager=True)
    try:
        wanted = [np.asarray(program.step(tf.constant(X)))]
    finally:
        configure(eager=False)
    close = np.testing.assert_allclose
    for a, b in ((y, wanted[0]), (again, wanted[0]), (found[3], LONG), (slope, slope_of(program))):
        close(a, b, rtol=1e-4 if a is slope else 1e-9)
    return program.together()


def slope_of(program: Program) -> np.ndarray:
    """The gradient of a program's step by differences of its own values."""
    steps = np.eye(X.size) * 1e-6
    return np.array([(float(program.step(X + h)) - float(program.step(X - h))) / 2e-6 for h in steps])


def run(first: int, last: int) -> collections.Counter[str]:
    """Take the program of each seed, and count what came of the presses."""
    configure(cache=False)
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's background processes begin without it
    presser = Presser()
    LONG[...] = Program(0.5)()[3]
    start = time.perf_counter()
    Program(0.75)()
    whole = time.perf_counter() - start
    counts: collections.Counter[str] = collections.Counter()
    for seed in range(first, last):
        rng, program = random.Random(seed), Program(1.0 + seed % 7 + seed / 1000)
        delays = [whole * rng.random() * rng.choice((1.0, 1.0, 0.3, 0.01)) for _ in range(TIMES)]
        found = pressed(program, presser, delays)
        try:
            found += [] if is_right(program) else ["WRONG STATE"]
        except BaseException as error:
            found.append(f"LATER {type(error).__name__}: {str(error)[:200]}")
        counts.update(found)
        if set(found) != {"stopped"}:
            print("FAULT", seed, found, flush=True)
    presser.close()
    return counts


if __name__ == "__main__":
    for found, number in sorted(run(int(sys.argv[1]), int(sys.argv[2])).items()):
        print(f"{number:6} {found}")
