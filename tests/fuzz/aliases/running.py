"""Ways to run a program for NumPy, and what each must give."""

from __future__ import annotations

import contextlib
import linecache
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tracejit as tf

from ..outcome import Outcome

GIVEN = np.array([[0.3, 1.7], [2.2, 0.9], [1.1, 0.6]])
Program = Callable[[Any], Any]


def _eagerly(f: Program) -> Any:
    with tf.settings(eager=True):
        return np.asarray(tf.function(f)(tf.constant(GIVEN)))


def _on_a_tape(f: Program) -> Any:
    x = tf.Variable(GIVEN)
    with tf.GradientTape() as tape:
        y = f(x * 1.0)
    del tape
    return np.asarray(y)


#: Ways that give the program's value, and its gradient.
VALUES: dict[str, Callable[[Program], Any]] = {
    "on a tensor": lambda f: np.asarray(f(tf.constant(GIVEN))),
    "on a tape": _on_a_tape,
    "function, eager": _eagerly,
    "function": lambda f: np.asarray(tf.function(f)(GIVEN)),
    "vmap": lambda f: np.asarray(tf.vmap(f)(tf.constant(GIVEN[None])))[0],
}
GRADIENTS: dict[str, Callable[[Program], Any]] = {
    "grad": lambda f: np.asarray(tf.grad(f)(GIVEN)),
    "function of grad": lambda f: np.asarray(tf.function(tf.grad(f))(GIVEN)),
}


def check_text(text: str, name: str) -> Outcome:
    """Refused if any way refuses it, wrong if one gives other numbers; programs that NumPy cannot run are skipped."""
    with _module(text, name) as f, np.errstate(all="ignore"):
        try:
            value = f(GIVEN.copy())
        except Exception as error:  # it is the generator's fault
            return Outcome("edge", f"NumPy: {type(error).__name__}", text)
        if not np.isfinite(value) or abs(value) > 1e8:
            return Outcome("edge", "overflow", text)
        slope = _slope(f)
        ways = {way: (run, value, 1e-9) for way, run in VALUES.items()}
        if slope is not None:
            ways |= {way: (run, slope, 1e-4) for way, run in GRADIENTS.items()}
        refused = ""
        for way, (run, wanted, precision) in ways.items():
            try:
                got = run(f)
            except Exception as error:
                if not _is_stated(error):
                    return Outcome("wrong", f"{way}: {type(error).__name__}: {error}", text)
                refused = refused or re.sub(r"'[^']*'|\d+", "#", str(error).split("\n")[0])
                continue
            if not np.allclose(
                got, wanted, rtol=precision, atol=precision * max(1.0, np.max(np.abs(wanted)))
            ):
                return Outcome("wrong", f"{way}: {got}, and NumPy {wanted}", text)
    return Outcome("refused", refused, text) if refused else Outcome("agree", program=text)


def _is_stated(error: Exception) -> bool:
    """Is it an error that says what is wrong?"""
    return isinstance(error, (tf.errors.TracejitError, TypeError, AttributeError)) or "read-only" in str(
        error
    )


def _slope(f: Program) -> np.ndarray | None:
    """Its gradient by differences; None near a kink."""
    found = [np.zeros_like(GIVEN), np.zeros_like(GIVEN)]
    for gradient, h in zip(found, (1e-6, 3e-6), strict=True):
        for i in np.ndindex(*GIVEN.shape):
            step = np.zeros_like(GIVEN)
            step[i] = h
            gradient[i] = (f(GIVEN + step) - f(GIVEN - step)) / (2 * h)
    size = 1e-3 * max(1.0, np.max(np.abs(found[0])))
    return found[0] if np.allclose(*found, rtol=1e-3, atol=size) else None


@contextlib.contextmanager
def _module(text: str, name: str) -> Iterator[Program]:
    """The function ``program`` of a module of this text, which tracebacks and conversion find."""
    module = types.ModuleType("program_for_numpy")
    sys.modules[module.__name__] = module
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    try:
        exec(compile(text, name, "exec"), module.__dict__)
        yield module.program
    finally:
        linecache.cache.pop(name, None)
        sys.modules.pop(module.__name__, None)
