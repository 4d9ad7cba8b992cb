"""Random programs that write to arrays under several names: NumPy's values, or a refusal, in every mode.

``python -m frontend.test_alias_programs FIRST COUNT [made]`` in this folder's parent looks at more of them.
"""

from __future__ import annotations

import collections
import linecache
import random
import sys

import numpy as np
import pytest

import tracejit as tf

HEAD = """import numpy as np

class Box:
    pass

def put(z, value):
    z[1] = value
    z[-1] += 1.0

def same(z):
    return z

def changed(z, i):
    z[i] = z[0] * 0.5
    return z

def f(x, y, n):
    box, held = Box(), [x, y]
    box.a = y
"""


#: Then both arrays are made by the function, and only what is written to them is known when it runs.
MADE = """    s = x[0]
    x, y = np.zeros(4), np.ones(4)
    held = [x, y]
    box.a = y
    x[1] = s
"""


class Writer:
    """Writes one program, about its arguments or about arrays that are `made` in it."""

    def __init__(self, seed, made=False):
        self.random = random.Random(seed)
        self.made = made
        self.names = ["x", "y"]
        self.lines = []

    def some(self, *choices):
        return self.random.choice(choices)

    def array(self):
        if self.random.random() < 0.75:
            return self.some(*self.names)
        return self.some("held[0]", "held[-1]", "box.a", "same(x)")

    def value(self):
        a, b = self.some(*self.names), self.array()
        if self.made and self.random.random() < 0.4:
            return self.some("s", "2.0 * s")
        return self.some("2.0", f"{a}[0] * 3.0", f"np.sum({a})", f"np.sin({b}[1])", f"{a}[2] + {b}[0]")

    def name(self, inside):
        if inside or self.random.random() < 0.4:
            return self.some(*self.names)
        self.names.append(f"v{len(self.names)}")
        return self.names[-1]

    def simple(self, inside, index=None):
        """One statement without others inside."""
        index = index or self.some("0", "1", "-1", "1:3", "::2", "[0, 2]", "...")
        way = self.random.random()
        if way < 0.42:
            target = self.some(*self.names, *self.names, "held[0]", "box.a", "held[-1]")
            return f"{target}[{index}] {self.some('=', '=', '+=', '*=')} {self.value()}"
        if way < 0.6:
            value = self.array()
            if self.made and self.random.random() < 0.4:
                value += self.some("[...]", "[::-1]")
            return f"{self.name(inside)} = {value}"
        if way < 0.72:
            value = self.some(
                f"{self.array()}.copy()", f"{self.array()} * 2.0", f"np.copy({self.array()}) + 1.0"
            )
            return f"{self.name(inside)} = {value}"
        if way < 0.8:
            return f"put({self.array()}, {self.value()})"
        if way < 0.85:
            value = f"changed({self.some(*self.names)}, {self.some('0', '2')})"
            return f"{self.name(inside)} = {value}"
        if way < 0.9:
            a, b = self.some(*self.names), self.some(*self.names)
            return f"{a}, {b} = {b}, {a}" if a != b else f"box.a = {a}"
        if way < 0.95:
            return f"box.a = {self.array()}"
        return f"held[{self.some('0', '1')}] = {self.array()}" if inside else f"held.append({self.array()})"

    def statement(self):
        way = self.random.random()
        if way < 0.7:
            self.lines.append(f"    {self.simple(False)}")
            return
        if way < 0.85:
            self.lines.append(f"    if {self.some('n > 1', 'x[0] < y[1]', 'n < 2')}:")
        else:
            self.lines.append("    for i in range(n):")
        for _ in range(self.some(1, 2, 2, 3)):
            index = self.some("i", "i", "0", "1:3") if "for" in self.lines[-1] else None
            self.lines.append(f"        {self.simple(True, index)}")
        if way < 0.77:
            self.lines += ["    else:", f"        {self.simple(True)}"]

    def text(self):
        for _ in range(self.random.randrange(3, 8)):
            self.statement()
        results = ", ".join(f"{name} * 1.0" for name in (*self.names, "held[0]", "held[1]", "box.a"))
        return "\n".join([HEAD + MADE * self.made, *self.lines, f"    return {results}", ""])


def program(seed, made=False):
    """The function that a seed stands for, and its text."""
    text, file = Writer(seed, made).text(), f"<program {seed}{' made' * made}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    names = {"__name__": "programs"}
    exec(compile(text, file, "exec"), names)
    return names["f"], text


def outcomes(seed, made=False):
    """By mode: "same", or the error that refused; AssertionError where a value is another one."""
    f, text = program(seed, made)
    numbers = np.random.default_rng(seed)
    x, y = numbers.normal(size=4), numbers.normal(size=4)
    wanted = f(x.copy(), y.copy(), 3)

    def loss(x, y, n):
        return sum(tf.reduce_sum(r * (k + 1.0)) for k, r in enumerate(f(x, y, n)))

    def plain(x, y):
        return sum(np.sum(r * (k + 1.0)) for k, r in enumerate(f(x, y, 3)))

    direction, h = numbers.normal(size=4), 1e-6
    slope = (plain(x + h * direction, y.copy()) - plain(x - h * direction, y.copy())) / (2 * h)

    def eagerly():
        with tf.settings(eager=True):
            return tf.function(f)(x, y, np.int64(3))

    modes = {
        "compiled": lambda: tf.function(f)(x, y, np.int64(3)),
        "eager": eagerly,
        "differentiated": lambda: [
            tf.reduce_sum(tf.grad(loss)(tf.constant(x), tf.constant(y), 3) * direction)
        ],
        "plain": lambda: f(tf.constant(x), tf.constant(y), 3),
    }
    found = {}
    for mode, run in modes.items():
        try:
            got = run()
        except (tf.errors.TracejitError, TypeError) as error:
            found[mode] = type(error).__name__
            continue
        for a, b in zip(got, [slope] if mode == "differentiated" else wanted, strict=True):
            close = 1e-4 if mode == "differentiated" else 1e-12
            np.testing.assert_allclose(a, b, rtol=close, atol=close, err_msg=f"{mode}\n{text}")
        found[mode] = "same"
    return found


@pytest.mark.parametrize("first", range(0, 24, 6))
def test_values_are_numpy_s_or_refused(first):
    found = [outcomes(seed) for seed in range(first, first + 6)]
    for mode in ("compiled", "eager", "differentiated"):
        assert any(o[mode] == "same" for o in found), found
    assert all(o["eager"] == "same" for o in found)


def test_arrays_that_are_made_are_numpy_s_or_refused():
    found = [outcomes(seed, made=True) for seed in range(6)]
    assert any(o["compiled"] == "same" for o in found), found


if __name__ == "__main__":
    counts, made = collections.Counter(), "made" in sys.argv
    for seed in range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2])):
        try:
            counts.update(outcomes(seed, made).items())
        except AssertionError as error:
            counts["wrong"] += 1
            print(seed, error)
        except Exception as error:
            counts[type(error).__name__] += 1
            print(seed, type(error).__name__, error, program(seed, made)[1])
    print(dict(counts))
