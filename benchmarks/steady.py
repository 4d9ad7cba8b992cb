"""Memory that stays: what a million calls leave behind.

Each program has a process of its own. Counted before and after, each time when garbage has been collected: the memory
that is resident, the blocks of Python's allocator, and the references to what the call is given and to all objects
that live throughout. A call that keeps one reference shows as a million.

Run as ``python -m benchmarks.steady``; ``--calls`` says how many.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks import calls

MILLION = 1_000_000
WARM = 20_000
SLOW = 10  # programs whose calls raise, or go through Python, are called a tenth as often
REFERENCES, RESIDENT, BLOCKS = 50, 2 << 20, 1000  # by how much a count may differ for reasons of the interpreter


class Program(NamedTuple):
    """What is called, and what it is given: objects whose references are counted."""

    call: Callable[[], Any]
    held: tuple[Any, ...]
    often: int = 1


def served(name: str) -> Program:
    """One of the calls that ``benchmarks.calls`` times."""
    call = calls.tracejit_candidates()[name]
    cells = [cell.cell_contents for cell in getattr(call.func, "__closure__", None) or ()]
    return Program(call, (call.func, *call.args, *cells))


def eager_step() -> Program:
    """An eager op, recorded on a tape, and a step of SGD on its Variable."""
    import tracejit as tj

    w, x = tj.Variable(np.full(4, 0.5)), tj.constant(np.arange(4.0))

    def call() -> None:
        with tj.GradientTape() as tape:
            y = (w * x) ** 2
        w.assign_sub(tape.gradient(y, w) * 1e-9)

    return Program(call, (w, x), SLOW)


def replaced_results() -> Program:
    """Results that are kept until the next call: none of them is written again while somebody has it."""
    import tracejit as tj

    f, x, kept = tj.function(calls.scaled), calls.five(), []

    def call() -> None:
        kept[:] = [f(x), *kept[:3]]

    return Program(call, (f, x, *x.values()))


def refused(
    error: type[Exception], f: Callable[..., Any], good: tuple[Any, ...], bad: tuple[Any, ...]
) -> Program:
    """Calls that raise, between calls that do not."""

    def call() -> None:
        f(*good)
        try:
            f(*bad)
        except error:
            return
        raise AssertionError("it did not raise")

    return Program(call, (f, *good, *bad), SLOW)


def wrong_shape() -> Program:
    import tracejit as tj

    f = tj.function(lambda a, b: a @ b, input_signature=[tj.TensorSpec([3, 3], tj.float64)] * 2)
    return refused(ValueError, f, (np.eye(3), np.eye(3)), (np.eye(3), np.eye(4)))


def wrong_dtype() -> Program:
    import tracejit as tj

    f = tj.function(lambda a: a + 1.0, input_signature=[tj.TensorSpec([3], tj.float64)])
    return refused(TypeError, f, (np.ones(3),), (np.ones(3, np.complex64),))


def wrong_sizes() -> Program:
    import tracejit as tj

    f = tj.function(lambda a, b: a + b)
    return refused(ValueError, f, (np.ones(3), np.ones(3)), (np.ones(3), np.ones(4)))


def no_such_row() -> Program:
    import tracejit as tj

    return refused(IndexError, tj.function(tj.gather), (np.ones(3), np.array([1])), (np.ones(3), np.array([7])))


def not_definite() -> Program:
    import tracejit as tj

    f = tj.function(tj.linalg.cholesky)
    return refused(tj.errors.InvalidArgumentError, f, (np.eye(3),), (-np.eye(3),))


def failing_hook() -> Program:
    """A function of Python, called in the middle of compiled code, that raises."""
    import tracejit as tj

    def positive(x: Any) -> Any:
        if np.min(x) < 0:
            raise RuntimeError("negative")
        return x

    f = tj.function(lambda x: tj.numpy_function(positive, [x * 2.0], tj.float64) + 1.0)
    return refused(Exception, f, (np.ones(3),), (-np.ones(3),))


def failing_rule() -> Program:
    """A gradient of the user's own that raises while an eager tape is walked."""
    import tracejit as tj

    @tj.custom_gradient
    def odd(x: Any) -> Any:
        def rule(g: Any) -> Any:
            raise ZeroDivisionError

        return x * 2.0, rule

    def gradient(x: Any, fails: bool) -> Any:
        with tj.GradientTape() as tape:
            tape.watch(x)
            y = odd(x) if fails else x * 2.0
        return tape.gradient(y, x)

    x = tj.constant(np.ones(3))
    return refused(ZeroDivisionError, gradient, (x, False), (x, True))


def failing_operator() -> Program:
    """Eager operators of tensors that do not go together."""
    import tracejit as tj

    x, y = tj.constant(np.ones(3)), tj.constant(np.ones(4))
    return refused(ValueError, lambda a, b: a + b, (x, x), (x, y))


PROGRAMS: dict[str, Callable[[], Program]] = {
    "array in and out": lambda: served(calls.CALL),
    "dict of five arrays": lambda: served(calls.DICT),
    "value and gradient": lambda: served(calls.GRADIENT),
    "SGD step on Variables": lambda: served(calls.SGD),
    "results that are kept": replaced_results,
    "eager op and its tape": lambda: served(calls.EAGER),
    "eager step on a Variable": eager_step,
    "raises: shape against signature": wrong_shape,
    "raises: dtype against signature": wrong_dtype,
    "raises: sizes that do not go together": wrong_sizes,
    "raises: no such row": no_such_row,
    "raises: not positive definite": not_definite,
    "raises: a Python function inside": failing_hook,
    "raises: a rule of a gradient": failing_rule,
    "raises: eager operator": failing_operator,
}


def resident() -> int:
    """The memory of this process that is resident, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def counted(objects: list[Any]) -> list[int]:
    """How many references there are to each object."""
    return [sys.getrefcount(x) for x in objects]


def living(held: tuple[Any, ...]) -> list[Any]:
    """What is held, then what may be kept unnoticed: dtypes, constants, all that the collector knows."""
    dtypes = [np.dtype(kind) for kind in "?bhilqBHILQefdFD"]
    return [*held, *dtypes, None, True, False, 0, 1, "", (), np.ndarray, float, int, tuple, dict, *gc.get_objects()]


def operators_as_machine_code() -> None:
    """Call an eager operator until its code is loaded: what that takes is taken once."""
    import tracejit as tj

    x = tj.constant(np.ones(3))
    for _ in range(2 * WARM):
        x = x * 1.0


def measured(name: str, times: int) -> dict[str, Any]:
    """Call a program in this process, and count what it leaves behind."""
    program = PROGRAMS[name]()
    call, times = program.call, times // program.often
    operators_as_machine_code()
    for _ in range(WARM // program.often):
        call()
    gc.collect()
    objects = living(program.held)
    before = counted(objects)
    blocks, memory, start = sys.getallocatedblocks(), resident(), time.perf_counter()
    for _ in range(times):
        call()
    seconds = time.perf_counter() - start
    gc.collect()
    memory, blocks = resident() - memory, sys.getallocatedblocks() - blocks
    grown = [b - a for a, b in zip(before, counted(objects), strict=True)]
    most = max(range(len(grown)), key=grown.__getitem__)
    least = min(range(len(grown)), key=grown.__getitem__)
    return {
        "python": sys.version.split()[0], "name": name, "calls": times, "microseconds": 1e6 * seconds / times,
        "memory": memory, "blocks": blocks, "held": grown[: len(program.held)], "grown": grown[most],
        "fallen": grown[least], "which": repr(objects[most])[:80] if grown[most] > REFERENCES else "",
    }  # fmt: skip


def in_a_process(name: str, times: int) -> dict[str, Any]:
    """Return :func:`measured` of a fresh process."""
    command = [sys.executable, "-m", "benchmarks.steady", "--run", name, "--calls", str(times)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def is_steady(found: dict[str, Any]) -> bool:
    """Is nothing left behind?"""
    counts = [*map(abs, found["held"]), found["grown"], -found["fallen"]]
    return max(counts) <= REFERENCES and found["memory"] <= RESIDENT and found["blocks"] <= BLOCKS


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", help="one program, in this process")
    parser.add_argument("--calls", type=int, default=MILLION)
    asked = parser.parse_args()
    if asked.run:
        print(json.dumps(measured(asked.run, asked.calls)))
        return 0
    print(f"Python {sys.version.split()[0]}, numpy {np.__version__}; more references: to what is given, to any object")
    print(f"  {'':<40}{'calls':>10}{'us each':>9}{'resident':>12}{'blocks':>8}{'given':>7}{'any':>5}")
    steady = True
    for name in PROGRAMS:
        found = in_a_process(name, asked.calls)
        given = max(found["held"], key=abs)
        kept = is_steady(found)
        steady &= kept
        print(
            f"  {name:<40}{found['calls']:>10,}{found['microseconds']:>9.2f}{found['memory'] / 1024:>9.0f} KB"
            f"{found['blocks']:>8}{given:>7}{found['grown']:>5}{'' if kept else '  KEPT ' + found['which']}",
            flush=True,
        )
    return 0 if steady else 1


if __name__ == "__main__":
    sys.exit(main())
