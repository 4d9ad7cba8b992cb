"""Ctrl-C while compiled loops run: each program runs in a process of its own, which has to go on afterwards."""

from __future__ import annotations

import ctypes
import json
import operator
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from checks.clock import Stopwatch
from tracejit.runtime import pool

SOURCE = Path(tj.__file__).resolve().parent.parent
PROMPT = 1.0  # seconds of work from Ctrl-C until the program goes on

HEAD = """
import json, resource, time
import numpy as np
import tracejit as tj

def tell(what):
    print(json.dumps(what), flush=True)

def run(call):
    tell("running")
    try:
        call()
    except KeyboardInterrupt as error:
        tell("stopped")
        tell(list(getattr(error, "__notes__", [])))
    else:
        tell("finished")
    time.sleep(0.05)  # another KeyboardInterrupt would end the process here
"""


class Child:
    """A program of the tests in a process of its own, and what it tells."""

    def __init__(self, folder: Path, program: str):
        self.file = folder / "program.py"
        self.file.write_text(HEAD + program)
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), "XDG_CACHE_HOME": str(folder)}
        self.process = subprocess.Popen(
            [sys.executable, str(self.file)], stdout=subprocess.PIPE, text=True, env=environment
        )

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the process ended"
        return json.loads(line)

    def interrupt(self, after: float = 0.3) -> list[str]:
        """Press Ctrl-C in a call that has worked so long; the notes of the KeyboardInterrupt that ends it in time."""
        assert self.hear() == "running"
        running = Stopwatch(self.process.pid)
        while running.seconds() < after:
            time.sleep(0.01)
        pressed = Stopwatch(self.process.pid)
        self.process.send_signal(signal.SIGINT)
        assert self.hear() == "stopped"
        assert pressed.seconds() < PROMPT
        return self.hear()

    def line_of(self, text: str) -> str:
        """Where in the program a line with this text is, as a note has it."""
        lines = self.file.read_text().splitlines()
        (number,) = (n for n, line in enumerate(lines, 1) if text in line)
        return f"{self.file}:{number}"

    def end(self) -> None:
        assert self.process.wait(timeout=300) == 0


SCALAR = """
@tj.function
def f(x, n):
    for _ in range(n):  # the loop
        x = x + 1e-9 * tj.sqrt(x)
    return x

f(np.float64(1.0), np.int64(0))
run(lambda: f(np.float64(1.0), np.int64(10**12)))
tell(float(f(np.float64(1.0), np.int64(1))))
"""


def test_a_loop_over_one_number(tmp_path: Path) -> None:
    with Child(tmp_path, SCALAR) as child:
        (note,) = child.interrupt()
        assert "of 1,000,000,000,000" in note and child.line_of("# the loop") in note
        assert child.hear() == 1 + 1e-9
        child.end()


BODIES = {
    "array": ("np.ones(10**6)", "x = tj.exp(-x) + x * 0.5"),
    "matrix product": ("np.eye(700)", "x = x @ x"),
    "small array": ("np.ones(3)", "x = tj.cos(x)"),
    "row assigned": ("np.ones((1000, 1000))", "x = x.at[3].set(tj.sin(x[4]))"),
    "inner loop of a few": ("np.float64(1.0)", "for _ in range(tj.cast(x, 'int64') + 4): x = x * 0.5 + 0.5"),
    "branch": ("np.float64(1.0)", "x = x + 1.0 if x < 2.0 else x - 1.0"),
}

BODY = """
@tj.function
def f(x, n):
    i = 0 * n
    while i < n:  # the loop
        BODY
        i = i + 1
    return x

x = START
f(x, np.int64(0))
run(lambda: f(x, np.int64(10**12)))
tell(bool(np.all(np.isfinite(f(x, np.int64(2)).numpy()))))
"""


@pytest.mark.parametrize("name", BODIES)
def test_loops_over_other_things(tmp_path: Path, name: str) -> None:
    start, body = BODIES[name]
    with Child(tmp_path, BODY.replace("BODY", body).replace("START", start)) as child:
        (note,) = child.interrupt()
        assert child.line_of("# the loop") in note
        assert child.hear() is True
        child.end()


GRADIENT = """
import os, signal

@tj.function
def f(x, limit):
    with tj.GradientTape() as tape:
        tape.watch(x)
        y = x
        while y < limit:  # the loop
            y = y + 1e-7 * tj.sqrt(y)
    return tape.gradient(y, x)

most = 0

def backward(loop):  # press Ctrl-C when the iterations start again
    global most
    if loop.done < most:
        os.kill(os.getpid(), signal.SIGINT)
    most = max(most, loop.done)

def forward(loop):  # press it where the stacks are as long each time
    if loop.done > 5_000_000:
        os.kill(os.getpid(), signal.SIGINT)

f(np.float64(1.0), np.float64(1.0))
with tj.progress(PHASE, every=0.0):
    for limit in LIMITS:
        run(lambda: f(np.float64(1.0), np.float64(limit)))
        tell(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
tell(float(f(np.float64(1.0), np.float64(0.5))))
"""


def test_the_forward_pass_of_a_gradient_frees_its_stacks(tmp_path: Path) -> None:
    program = GRADIENT.replace("PHASE", "forward").replace("LIMITS", "[1e9] * 6")
    with Child(tmp_path, program) as child:
        peaks = []
        for _ in range(6):
            assert child.hear() == "running"
            assert child.hear() == "stopped"
            (note,) = child.hear()
            assert child.line_of("# the loop") in note
            peaks.append(child.hear())
        assert peaks[-1] < 1.5 * peaks[0], peaks
        assert child.hear() == 1.0
        child.end()


def test_the_backward_pass_of_a_gradient(tmp_path: Path) -> None:
    program = GRADIENT.replace("PHASE", "backward").replace("LIMITS", "[9.0]")
    with Child(tmp_path, program) as child:
        assert child.hear() == "running"
        assert child.hear() == "stopped"
        (note,) = child.hear()
        assert str(child.file) in note
        child.hear()
        assert child.hear() == 1.0
        child.end()


STATE = """
v = tj.Variable(np.float64(2.0))

@tj.function
def f(n):
    v.assign_add(1.0)
    for _ in range(n):
        v.assign(v * 0.999 + 0.001)
    return v + 0.0

f(np.int64(0))
v.assign(2.0)
run(lambda: f(np.int64(10**12)))
tell(float(v.numpy()))
f(np.int64(0))
tell(float(v.numpy()))
"""


def test_variables_keep_their_values(tmp_path: Path) -> None:
    with Child(tmp_path, STATE) as child:
        child.interrupt()
        assert child.hear() == 2.0
        assert child.hear() == 3.0
        child.end()


THREAD = """
import threading

@tj.function
def f(x, n):
    for _ in range(n):
        x = x + 1e-9 * tj.sqrt(x)
    return x

f(np.float64(1.0), np.int64(1))
found = []
worker = threading.Thread(target=lambda: found.append(float(f(np.float64(1.0), np.int64(10**8)))))
worker.start()
run(lambda: time.sleep(60))
while worker.is_alive():
    time.sleep(0.01)
tell(found[0] > 1.0)
"""


def test_a_loop_in_another_thread_goes_on(tmp_path: Path) -> None:
    with Child(tmp_path, THREAD) as child:
        assert child.interrupt(after=0.1) == []
        assert child.hear() is True
        child.end()


# ---- in this process ------------------------------------------------------------------------------------


@tj.function
def counting(x, n):
    for _ in range(n):
        x = x + 1.0
    return x


def press_soon(after: float = 0.05) -> threading.Timer:
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_a_handler_that_returns_lets_the_loop_go_on() -> None:
    counting(np.float64(0.0), np.int64(1))
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        timer = press_soon()
        assert float(counting(np.float64(0.0), np.int64(2 * 10**8))) == 2e8
        timer.join()
        assert pressed == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


class Stop(Exception):
    pass


def test_what_a_handler_raises_ends_the_loop() -> None:
    counting(np.float64(0.0), np.int64(1))

    def handler(number: int, frame: object) -> None:
        raise Stop

    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(Stop):
            timer = press_soon()
            counting(np.float64(0.0), np.int64(10**12))
        timer.join()
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_memory_that_code_gives_back_loses_no_interrupt() -> None:
    """Ctrl-C during a call that polls nothing waits for its end, where large memory is given back."""
    lent = dict(pool._lent)
    address = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(pool.LEND_ADDRESS)(64, 1 << 20)
    assert address in pool._lent
    press = partial(ctypes.CDLL(None)["raise"], int(signal.SIGINT))
    give_back = partial(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(pool.TAKE_BACK_ADDRESS), address)
    with pytest.raises(KeyboardInterrupt):
        list(map(operator.call, [press, give_back]))  # Python looks for signals when both are done
    assert pool._lent == lent


ALARMS = [getattr(signal, name) for name in ("SIGALRM", "SIGVTALRM", "SIGPROF") if hasattr(signal, name)]
TIMERS = [getattr(signal, name) for name in ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF") if hasattr(signal, name)]


@tj.function
def chosen(x):
    for _ in range(40):
        x = tj.sin(x) + 1.0
    return x[x > 1.5] * 2.0


@pytest.mark.skipif(not ALARMS, reason="no timers that send signals")
@pytest.mark.parametrize(("number", "timer"), [*zip(ALARMS, TIMERS, strict=True)])
def test_a_timer_that_raises_ends_whatever_runs(number: int, timer: int) -> None:
    """Alarms are how programs limit the time of a call: in a loop, before it asks for memory, in what it calls."""

    def handler(number: int, frame: object) -> None:
        raise Stop

    def waits(x):
        return tj.numpy_function(lambda y: counting(y, np.int64(10**12)).numpy(), [x], tj.float64)

    x = np.linspace(0.0, 3.0, 60_000)
    expected = chosen(x).numpy()
    waiting = tj.function(waits)
    calls = [lambda: counting(np.float64(0.0), np.int64(10**12)), lambda: waiting(np.float64(0.0))]
    interrupts = signal.getsignal(signal.SIGINT)
    before = signal.signal(number, handler)
    try:
        for call in calls:
            with pytest.raises(Stop):
                signal.setitimer(timer, 0.05)
                call()
        for k in range(100):
            with pytest.raises(Stop):
                signal.setitimer(timer, 1e-4 * (1 + k % 20))
                while True:
                    chosen(x)
        assert signal.getsignal(number) is handler
        assert signal.getsignal(signal.SIGINT) is interrupts
    finally:
        signal.setitimer(timer, 0.0)
        signal.signal(number, before)
    np.testing.assert_array_equal(chosen(x), expected)


def test_two_signals_at_once_both_are_heard() -> None:
    heard: list[int] = []
    numbers = [signal.SIGINT, *ALARMS]
    before = [signal.signal(n, lambda number, frame: heard.append(number)) for n in numbers]
    try:
        timers = [threading.Timer(0.05, os.kill, (os.getpid(), n)) for n in numbers]
        for timer in timers:
            timer.start()
        assert float(counting(np.float64(0.0), np.int64(2 * 10**8))) == 2e8
        for timer in timers:
            timer.join()
        assert sorted(heard) == sorted(map(int, numbers))
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@pytest.mark.skipif(not ALARMS, reason="no timers that send signals")
def test_a_handler_gets_a_frame() -> None:
    """Profilers that take samples look where the program is."""
    seen: list[str] = []
    before = signal.signal(ALARMS[0], lambda number, frame: seen.append(frame.f_code.co_name))  # type: ignore[union-attr]
    try:
        signal.setitimer(TIMERS[0], 0.02)
        assert float(counting(np.float64(0.0), np.int64(10**8))) == 1e8
        assert len(seen) == 1
    finally:
        signal.signal(ALARMS[0], before)
