"""How much effort of LLVM's a program is worth: by what its loops do, and by its length."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.compiler.pipeline import LONG, SHORT, level, lower_graph


def of(f, *arguments) -> int:
    """The level of the program of a function."""
    return level(lower_graph(tj.function(f).graph(*arguments)))


def repeated(steps: int):
    """A sequential loop whose body has so many steps."""

    def body(i, y):
        for k in range(steps):
            y = tj.sin(y) * (0.5 + 0.001 * k)
        return y

    return lambda x: tj.fori_loop(0, 100, body, x)


def test_a_short_sequential_loop_is_worth_all():
    assert of(repeated(3), np.array(0.5)) == 2


def test_a_long_one_is_not():
    assert of(repeated(SHORT), np.array(0.5)) == 1


def test_loops_that_call_a_library_alone_gain_nothing():
    a = np.ones((8, 32, 64), np.float32)
    assert of(lambda a: a @ tj.transpose(a, (0, 2, 1)), a) == 1


def test_nests_are_written_as_they_should_be():
    assert of(lambda x: tj.exp(x) * 2.0, np.ones(1000)) == 1


def test_a_long_program_of_little_work_is_worth_the_least():
    turns = np.random.default_rng(0).integers(0, 2, LONG)  # that do not repeat, or it would be a loop

    def f(x):
        for turn in turns:
            x = (tj.sin, tj.cos)[turn](x) * 0.9
        return x

    assert of(f, np.array(0.5)) == 0


@pytest.mark.parametrize("steps", [3, SHORT])
def test_the_results_do_not_depend_on_it(steps: int):
    f = repeated(steps)
    eager = f(tj.constant(0.5, tj.float64)).numpy()
    assert tj.function(f)(np.array(0.5)).numpy() == pytest.approx(eager, rel=1e-12)
