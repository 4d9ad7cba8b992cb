"""Writes a random program: a function of a scalar, a vector and an integer, with effects, and how it is called.

Few kinds of statements per program, many programs: what goes wrong is found where two features meet.
Knows nothing of how programs are run.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from . import ingredients
from .definitions import mentioned
from .expressions import Expressions

SCALARS = ("a", "b", "c")
DRIVERS = ("plain",) * 8 + ("tape",) * 4 + ("grad", "outer", "jvp", "signature", "twice", "memory", "relaxed")


@dataclass(frozen=True)
class Program:
    """Source of a module with `f`, `CALLS` and `DRIVER`."""

    seed: int
    text: str


class Writer(Expressions):
    """Writes one program.

    Attributes
    ----------
    random : random.Random
        Where all choices come from: the seed alone decides.
    features : set of str
        The kinds of statements this program may have.
    setup, returned : list of str
        Lines at the head of the function, expressions of its result.
    loops, depth : int
        How many loops are around what is written now, and how far it is indented.
    """

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.setup: list[str] = []
        self.returned = ["a", "b + 0.0"] + ["c"] * (self.random.random() < 0.4)
        self.loops = 0
        self.jumps = 0
        self.names = 0
        self.budget = self.random.randint(4, 11)
        every = sorted(ingredients.FEATURES)
        self.features = set(self.random.sample(every, self.random.randint(0, 4)))
        self.features |= {self.pick(*ingredients.RETRIED), self.pick(*ingredients.EFFECTS)}
        self.indices: list[str] = []
        self.ranges: list[str] = []
        self.safe = True  # outside of what handlers of exceptions are around

    def fresh(self, stem: str) -> str:
        """A name that nothing has yet."""
        self.names += 1
        return f"{stem}{self.names}"

    def add(self, depth: int, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * depth + text)

    def chance(self, p: float) -> bool:
        """True this often."""
        return self.random.random() < p

    def pick(self, *options: str) -> str:
        """One of them."""
        return self.random.choice(options)

    def block(self, depth: int, size: int = 3) -> None:
        """Write some statements."""
        for _ in range(self.random.randint(1, size)):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        """Write one statement, with all that is in it."""
        self.budget -= 1
        kinds: list[str] = []
        if depth < 4 and self.budget > 0:
            kinds += ["if_", "loop"] * 2 + ["loop"]
        for feature in sorted(self.features):
            kinds += ingredients.FEATURES[feature]
        if self.jumps and self.chance(0.3):
            kinds += ["jump"] * 4
        kinds += ["assign"]
        ingredients.WRITERS[self.random.choice(kinds)](self, depth)

    def program(self, seed: int) -> Program:
        """The whole module."""
        for feature in sorted(self.features):
            if feature in ingredients.SETUP:
                ingredients.SETUP[feature](self)
        while self.budget > 0:
            self.statement(1)
        body = [
            "def f(x, s, n):",
            "    a = x",
            "    b = x * 0.5 - 0.25",
            "    c = tf.reduce_sum(s)",
            *("    " + line for line in self.setup),
            *self.lines,
            f"    return {', '.join(self.returned)}",
        ]
        text = "\n".join(body)
        driver = self.random.choice(DRIVERS)
        calls = [self._call() for _ in range(self.random.randint(2, 3))]
        pieces = ["import tracejit as tf", *mentioned(text), text]
        pieces += [f"DRIVER = {driver!r}", f"CALLS = {calls!r}"]
        return Program(seed, "\n\n".join(pieces) + "\n")

    def _call(self) -> tuple[float, list[float], int]:
        size = self.random.choice((3, 3, 3, 2, 4))
        numbers = [round(self.random.uniform(-1.5, 2.0), 2) for _ in range(size + 1)]
        return numbers[0], numbers[1:], self.random.choice((0, 1, 2, 3, 3, 4, 5))


def program(seed: int) -> Program:
    """The program of a seed."""
    return Writer(seed).program(seed)
