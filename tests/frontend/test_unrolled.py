"""Compiling that took long warns, and names the line that most of the operations come from."""

from __future__ import annotations

import inspect
import time
import warnings

import pytest

import tracejit as tf
from tracejit.frontend.autograph.flow import unrolling
from tracejit.frontend.function import compile_warnings as unrolled
from tracejit.frontend.function import specialization


def long_loop(x):
    for _ in range(60):
        x = tf.sin(x) * 2.0
    return x + 1.0


def test_a_loop_that_was_written_out(monkeypatch):
    monkeypatch.setattr(unrolled, "PATIENCE", 0.0)
    f = tf.function(long_loop)
    with pytest.warns(unrolled.SlowCompilationWarning) as caught:
        f(tf.constant(1.0))
    line = inspect.getsourcelines(long_loop)[1] + 2
    text = str(caught[0].message)
    assert f"120 of them at {__file__}:{line}" in text and "tracejit.range" in text
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(tf.constant(2.0))


def test_tracing_that_takes_long_says_so_while_it_does(monkeypatch):
    monkeypatch.setattr(unrolling, "PATIENCE", 0.0)

    def rows(x):
        total = 0.0
        for row in [x, 2.0 * x, 3.0 * x]:
            for k in range(40):
                total += row * k
        return total

    with pytest.warns(unrolled.SlowCompilationWarning) as caught:
        assert float(tf.function(rows)(tf.constant(1.0))) == 6 * 780
    line = inspect.getsourcelines(rows)[1] + 2
    assert {(w.filename, w.lineno) for w in caught} == {(__file__, line), (__file__, line + 1)}
    assert "for 0 of 3 iterations" in str(caught[0].message) and "tracejit.range" in str(caught[0].message)


def test_what_compiles_quickly_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.function(lambda x: x + 1.5)(tf.constant(1.0))


def test_time_that_other_programs_took_is_not_counted(monkeypatch):
    made = specialization.executable
    monkeypatch.setattr(specialization, "executable", lambda graph: (made(graph), time.sleep(0.4))[0])
    monkeypatch.setattr(unrolled, "PATIENCE", 0.4)
    f = tf.function(lambda x: x + 2.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(tf.constant(1.0))


def test_a_few_operations_that_took_long_are_no_loop(monkeypatch):
    monkeypatch.setattr(unrolled, "PATIENCE", 0.0)
    with pytest.warns(unrolled.SlowCompilationWarning, match=r"took 0 s, for 3 operations") as caught:
        tf.function(lambda x: tf.sin(x) * 2.5)(tf.constant(1.0))
    assert "loop" not in str(caught[0].message)
