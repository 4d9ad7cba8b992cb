"""Random nests of control flow: what they compute compiled is what plain Python computes."""

from __future__ import annotations

import linecache
import random

import numpy as np
import pytest

import tracejit as tf

NAMES = ("a", "b", "c")


class Writer:
    """Writes a random function of three floats and an integer."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = ["def f(a, b, c, n):"]
        self.loops = 0
        self.counters = 0

    def text(self) -> str:
        self.block(1, 3)
        self.lines.append("    return a + 2.0 * b - c")
        return "\n".join(self.lines) + "\n"

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def value(self) -> str:
        x, y = self.random.choice(NAMES), self.random.choice(NAMES)
        number = self.random.choice(["0.5", "1.5", "-1.0", "2", "3"])
        forms = [f"{x} * 0.5 + {y}", f"{x} - {number}", f"{x} * 0.25 - {y} * 0.5", number, y]
        forms += [f"({x} if {self.test()} else {number})", f"tf.sin({x})", f"max({x}, {number})"]
        return self.random.choice(forms)

    def test(self) -> str:
        x, y = self.random.choice(NAMES), self.random.choice(NAMES)
        plain = [f"{x} > {y}", f"{x} < 0.5", f"-1.0 < {x} <= {y}", f"not {x} > 1.0"]
        pairs = [f"({x} > 0.0 and {y} < 1.0)", f"({x} > 1.0 or {y} > {x})"]
        return self.random.choice([*plain, *pairs, "n > 2", "True"])

    def block(self, depth: int, size: int) -> None:
        for _ in range(self.random.randint(1, size)):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        kinds = ["assign"] * 3 + ["augment"]
        if depth < 5:
            kinds += ["if"] * 3 + ["while", "for", "rows", "try", "python_for"]
        if self.loops:
            kinds += ["jump"] * 2
        kinds += ["return"] * (depth > 2)
        getattr(self, "write_" + self.random.choice(kinds))(depth)

    def write_assign(self, depth: int) -> None:
        if self.random.random() < 0.2:
            self.add(depth, f"a, b = {self.value()}, {self.value()}")
        else:
            self.add(depth, f"{self.random.choice(NAMES)} = {self.value()}")

    def write_augment(self, depth: int) -> None:
        self.add(depth, f"{self.random.choice(NAMES)} {self.random.choice(['+=', '-='])} {self.value()}")

    def write_if(self, depth: int) -> None:
        self.add(depth, f"if {self.test()}:")
        self.block(depth + 1, 3)
        if self.random.random() < 0.3:
            self.add(depth, f"elif {self.test()}:")
            self.block(depth + 1, 2)
        if self.random.random() < 0.5:
            self.add(depth, "else:")
            self.block(depth + 1, 2)

    def _body(self, depth: int, *first: str) -> None:
        for text in first:
            self.add(depth + 1, text)
        self.loops += 1
        self.block(depth + 1, 3)
        self.loops -= 1
        if self.random.random() < 0.2:
            self.add(depth, "else:")
            self.block(depth + 1, 1)

    def write_while(self, depth: int) -> None:
        self.counters += 1
        k = f"k{self.counters}"
        self.add(depth, f"{k} = n * {self.random.choice([0, 1])}")
        self.add(depth, self.random.choice([f"while {k} < 5:", f"while {k} < 4 and {self.test()}:"]))
        self._body(depth, f"{k} += 1")

    def write_for(self, depth: int) -> None:
        self.counters += 1
        k = f"i{self.counters}"
        self.add(depth, f"for {k} in range({self.random.choice(['n', '1, n + 1', 'n, 0, -1'])}):")
        self._body(depth, f"a = a + {k} * 0.125")

    def write_python_for(self, depth: int) -> None:
        self.counters += 1
        k = f"j{self.counters}"
        self.add(depth, f"for {k} in {self.random.choice(['range(3)', '(1, 2)', '[0.5]'])}:")
        self._body(depth, f"b = b - {k} * 0.25")

    def write_rows(self, depth: int) -> None:
        self.counters += 1
        k = f"r{self.counters}"
        self.add(depth, f"for {k} in tf.stack([a, b, c]):")
        self._body(depth, f"c = c * 0.5 + {k}")

    def write_try(self, depth: int) -> None:
        self.add(depth, "try:")
        self.block(depth + 1, 2)
        self.add(depth, "finally:")
        self.add(depth + 1, f"{self.random.choice(NAMES)} = {self.value()}")

    def write_jump(self, depth: int) -> None:
        self.add(depth, f"if {self.test()}:")
        self.add(depth + 1, self.random.choice(["break", "continue"]))

    def write_return(self, depth: int) -> None:
        self.add(depth, f"if {self.test()}:")
        self.add(depth + 1, f"return {self.random.choice(NAMES)} * 1.0")


def written(seed: int):
    """The function of a seed, with its source where `linecache` finds it."""
    name, text = f"<program {seed}>", Writer(seed).text()
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names = {"tf": tf}
    exec(compile(text, name, "exec"), names)
    return names["f"], text


def value_and_gradients(f, start, n):
    xs = [tf.constant(v) for v in start]
    with tf.GradientTape() as tape:
        for x in xs:
            tape.watch(x)
        y = f(*xs, tf.constant(n))
    found = tape.gradient(y, xs, unconnected_gradients="zero")
    return [np.asarray(tf.convert_to_tensor(v)) for v in (y, *found)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(40))
def test_random_program(seed):
    f, text = written(seed)
    compiled = tf.function(f)
    for n, start in ((3, (0.3, -0.7, 1.9)), (2, (-1.2, 2.0, 0.4))):
        wanted, found = (value_and_gradients(g, start, n) for g in (f, compiled))
        for a, b in zip(wanted, found):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4, err_msg=text)
            assert a.dtype == b.dtype, text
