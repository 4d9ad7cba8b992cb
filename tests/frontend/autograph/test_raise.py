"""``raise`` under a condition that only the compiled function knows: it raises where the eager program does."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf


class Unsuitable(ArithmeticError):
    """An error of the program's own."""


def a_guard(x):
    if x < 0.0:
        raise ValueError(f"{'negative'} number")
    return tf.sqrt(x)


def a_chain(x):
    if x > 1.0:
        y = x * 2.0
    elif x > -1.0:
        y = x * x
    else:
        raise NotImplementedError
    return y + 1.0


def after_an_early_return(x):
    if x > 3.0:
        return x
    if x < -3.0:
        raise Unsuitable("too far")
    return x * 0.5


def both_raise(x):
    if x > -100.0:
        if x > 2.0:
            raise KeyError("large")
        elif x < -2.0:
            raise TypeError("small")
        x = x + 1.0
    return x


def helper(x):
    if tf.abs(x) < 0.5:
        raise ZeroDivisionError("nearly zero")
    return 1.0 / x


def in_a_helper(x):
    return helper(x) + helper(x + 3.0)


def in_a_loop(x):
    total = x * 0.0
    for k in tf.range(4):
        step = x - tf.cast(k, tf.float32)
        if step < -6.0:
            raise RuntimeError("diverged")
        total += step**2
    return total


def in_a_while_loop(x):
    steps = 0
    while tf.abs(x) > 0.01:
        x = x * 0.5
        steps += 1
        if steps > 8:
            raise IndexError("does not converge")
    return x


def keeps_a_list(x):
    kept = []
    if x > 4.0:
        kept.append(x)
        raise ValueError("too large")
    else:
        kept.append(x * 2.0)
    return kept[0]


PROGRAMS = [
    a_guard,
    a_chain,
    after_an_early_return,
    both_raise,
    in_a_helper,
    in_a_loop,
    in_a_while_loop,
    keeps_a_list,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_raises_where_the_eager_program_does(program):
    compiled, gradient = tf.function(program), tf.function(tf.grad(program))
    outcomes = set()
    for value in (-5.0, -2.5, -0.7, 0.3, 1.5, 2.5, 5.0):
        x = tf.constant(value)
        try:
            wanted = program(x)
        except Exception as error:
            outcomes.add(type(error))
            kind = next(c for c in type(error).__mro__ if c.__module__ == "builtins")
            for f in (compiled, gradient):
                with pytest.raises(kind, match=str(error).strip("'") or None):
                    f(x)
        else:
            outcomes.add(None)
            np.testing.assert_allclose(compiled(x), wanted, rtol=1e-6)
            np.testing.assert_allclose(gradient(x), tf.grad(program)(x), rtol=1e-6)
    assert len(outcomes) > 1 and None in outcomes
    assert compiled.experimental_get_tracing_count() == 1


def test_the_error_names_its_class_and_the_line():
    with pytest.raises(ArithmeticError, match=r"Unsuitable: too far\n.*test_raise\.py:\d+\n.*if x < -3\.0"):
        tf.function(after_an_early_return)(tf.constant(-4.0))


def test_what_the_program_may_catch_is_refused():
    """Whether the handler runs, only the compiled function knows."""

    def handled(x):
        try:
            return a_guard(x)
        except ValueError:
            return -x

    with pytest.raises(ValueError, match="negative") as raised:
        tf.function(handled)(tf.constant(4.0))
    assert "whatever its condition will be" in raised.value.__notes__[0]


def test_effects_of_the_other_branch_happen_once(capsys):
    seen = []

    def program(x):
        if x < 0.0:
            print("not here")
            raise ValueError("negative")
        else:
            seen.append("traced")
            tf.print("computed")
        return x

    compiled = tf.function(program)
    for _ in range(2):
        compiled(tf.constant(1.0))
    assert seen == ["traced"]
    captured = capsys.readouterr()
    assert captured.out + captured.err == "computed\n" * 2
