"""Tracebacks show the user's frames and at most one line of ours, wherever errors are shown."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import runpy
import subprocess
import sys
import textwrap
import traceback
import weakref
from functools import partial

import pytest

import tracejit as tf
from tracejit.core.errors import PACKAGE
from tracejit.frontend.tape import operator_lane
from tracejit.frontend.tracebacks import shortened

PROGRAM = """
    import threading
    import tracejit as tf

    def inner(x):
        return tf.reduce_sum(tf.matmul(x, tf.zeros([5, 3])))

    @tf.function
    def compiled(x):
        for _ in tf.range(3):
            if tf.reduce_sum(x) > 0.0:
                x = inner(x)
        return x

    def own(x):
        raise KeyError("mine")

    x = tf.ones([2, 4])
"""
#: How errors come to be, and the user's frames there are.
CALLS = {
    "compiled(x)": 3,
    "inner(x)": 2,
    "tf.grad(inner)(x)": 2,
    "tf.reduce_mean(tf.function(inner)(x))": 2,
    "tf.function(own)(x)": 2,
    "tf.vmap(own)(x)": 2,
    "tf.reshape(x, [3])": 1,
}


@pytest.fixture
def run(tmp_path):
    return partial(_run, tmp_path / "program.py")


def _run(file, call: str, **env: str) -> str:
    file.write_text(textwrap.dedent(PROGRAM) + call)
    ran = subprocess.run(
        [sys.executable, str(file)],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return ran.stderr


def counted(shown: str) -> tuple[int, int]:
    files = [line for line in shown.splitlines() if line.startswith("  File ")]
    ours = sum(PACKAGE in line for line in files)
    return len(files) - ours, ours


@pytest.mark.parametrize("call", CALLS)
def test_what_python_shows_at_the_end_of_a_program(run, call):
    shown = run(call)
    users, ours = counted(shown)
    assert users == CALLS[call] and ours <= 1, shown
    assert shown.count("Traceback") == 1, shown


def test_what_it_shows_of_a_thread(run):
    shown = run("thread = threading.Thread(target=compiled, args=(x,)); thread.start(); thread.join()")
    users, ours = counted(shown)
    assert users == 2 + 2 and ours == 1, shown  # two of Python's own


def test_a_setting_shows_all(run):
    assert counted(run("inner(x)", TRACEJIT_INTERNAL_FRAMES="1"))[1] > 1


def test_errors_of_others_are_left_alone(run):
    assert counted(run("raise ValueError('other')")) == (1, 0)


def failing(x):
    return tf.matmul(x, tf.zeros([5, 3]))


def test_what_a_program_logs_of_a_compiled_function(caplog):
    try:
        tf.function(failing)(tf.ones([2, 4]))
    except tf.errors.ShapeError:
        logging.exception("failed")
        shown = traceback.format_exc()
    users, ours = counted(shown)
    assert (users, ours) == (2, 1)
    assert "in failing" in caplog.text and "inner sizes differ" in shown


def test_causes_that_users_know_are_kept():
    def cause():
        raise KeyError("a cause")

    def f(x):
        try:
            cause()
        except KeyError as error:
            raise ValueError("a result") from error

    with pytest.raises(ValueError, match="a result") as caught:
        tf.function(f)(1.0)
    shown = "".join(traceback.format_exception(caught.value))
    assert "in cause" in shown and "direct cause" in shown


def test_a_chain_may_lead_round():
    first, second = ValueError("first"), ValueError("second")
    first.__context__, second.__context__ = second, first
    assert shortened(first) is first


def test_a_users_folder_may_be_called_numpy(tmp_path):
    program = tmp_path / "numpy" / "program.py"
    program.parent.mkdir()
    program.write_text("import tracejit as tf\nf = tf.function(lambda x: {}[x.shape])\nf(tf.zeros(2))\n")
    with pytest.raises(KeyError) as found:
        runpy.run_path(str(program))
    lines = [f.lineno for f in traceback.extract_tb(found.value.__traceback__) if f.filename == str(program)]
    assert lines == [3, 2]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + tf.ones([4]),
        lambda x: tf.concat([x, [[1.0]]], 0),
        lambda x: tf.gather(x, 7),
        tf.grad(tf.sin),
    ],
)
@pytest.mark.parametrize("operators", [False, True])
def test_an_error_that_is_handled_keeps_nothing(call, operators):
    """What its frames hold is free at once, not when the collector of cycles comes."""
    if operators and not operator_lane.use(tf.GradientTape):
        pytest.skip("an interpreter or a NumPy that the code does not know")
    kept = []
    gc.disable()
    try:
        for _ in range(3):
            x = tf.constant([1.0, 2.0, 3.0])
            kept.append(weakref.ref(x))
            with contextlib.suppress(tf.errors.TracejitError):
                call(x)
                raise AssertionError("it does not fail")
            del x
        assert [ref() for ref in kept] == [None] * 3
    finally:
        gc.enable()
        operator_lane.leave()
