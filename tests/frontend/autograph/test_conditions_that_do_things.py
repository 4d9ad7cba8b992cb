"""Conditions of `while` that do more than compare: each is asked as often as Python asks it."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.core.errors import Untraceable


def counted(asked):
    def test(i):
        asked.append("test")
        return np.asarray(i < 3)

    def body(i):
        asked.append("body")
        return np.asarray(i + 1)

    def program(i):
        while tf.numpy_function(test, [i], tf.bool):
            i = tf.numpy_function(body, [i], tf.int32)
        return i

    return program


@pytest.mark.parametrize("calls", [1, 2])
def test_python_is_called_as_often_as_eagerly(calls):
    asked: list[str] = []
    program, compiled = counted(asked), tf.function(counted(asked))
    assert program(tf.constant(0)) == 3
    wanted = asked.copy()
    assert wanted == ["test", "body"] * 3 + ["test"]
    for _ in range(calls):
        asked.clear()
        assert compiled(tf.constant(0)) == 3
        assert asked == wanted


def test_the_first_traced_answer_may_come_late():
    asked: list[int] = []

    def test(i):
        asked.append(int(i))
        return np.asarray(i < 4)

    def program(i):
        n = 0
        while n < 2 or tf.numpy_function(test, [i], tf.bool):
            n, i = n + 1, i + 1
        return i

    assert tf.function(program)(tf.constant(0)) == 4
    assert asked == [2, 3, 4]


def test_a_condition_may_make_objects():
    class Point:
        def __init__(self, x):
            self.x = x
            self.y = x + 1

    def program(x):
        while Point(x).y < 9:
            x = x + 2
        return x

    assert tf.function(program)(tf.constant(1)) == program(tf.constant(1)) == 9


def test_a_name_assigned_by_a_late_condition_is_taken_back():
    def program(x):
        k = 0
        while (k := k + 1) < (x if k > 2 else 5):
            x = x - 1
        return x * 10 + k

    for x in (4, 7, 9):
        assert tf.function(program)(tf.constant(x)) == program(tf.constant(x))


def test_a_condition_that_assigns_a_name_is_asked_once_each_time():
    def program(x):
        k = 0
        while (k := k + 1) < x:
            x = x - 1
        return x * 10 + k

    for x in range(7):
        assert tf.function(program)(tf.constant(x)) == program(tf.constant(x))


def shortens(x):
    xs = [1, 2, 3]
    while xs and xs.pop() < x:
        x = x - 1
    return x * 10 + len(xs)


def fills(x):
    seen = {}
    while seen.setdefault(len(seen), x) < 5:
        x = x + 1
    return x + len(seen)


def late(x):
    xs, n = [1, 2, 3, 4], 0
    while n < 2 or xs.pop() < x:
        n, x = n + 1, x - 1
    return x * 10 + len(xs)


class Counter:
    asked = 0

    def less(self, x):
        self.asked = self.asked + 1
        return self.asked < x


def counts(x):
    counter = Counter()
    while counter.less(x):
        x = x - 1
    return x * 10 + counter.asked


@pytest.mark.parametrize(
    "program, what",
    [(shortens, "a list or dict"), (fills, "a list or dict"), (late, "a list or dict"), (counts, "Counter.asked")],
)
def test_conditions_that_change_what_they_read_are_refused(program, what):
    """How often is known only when the function runs: the list would be shorter by one, whatever happens."""
    with pytest.raises(Untraceable, match=f"a `while` changes {what} in place") as told:
        tf.function(program)(tf.constant(5))
    assert "while" in str(told.value).splitlines()[-1]
