"""The text of a program: views and copies of one array, what holds them, and writes under any of these names."""

from __future__ import annotations

import random
from collections.abc import Sequence

HELPERS = """import numpy as np


class Holder:
    pass


def add_to(p, q):
    p += q


def set_all(p, q):
    p[...] = q


def set_first(p, q):
    p[0] = np.sum(q)


def backwards(p):
    return p[::-1]


def rows_of(p):
    for row in p:
        yield row


"""

#: What names stand for arrays of, by a letter.
SHAPES = {"m": (3, 2), "w": (2, 2), "v": (2,), "f": (6,), "t": (2, 3), "c": (3,)}

#: What is taken of an array of any shape, of one of that shape, and the letter of what that gives.
OF_ANY = (
    "{0}", "{0}[:]", "{0}[...]", "np.asarray({0})", "{0}.copy()", "np.array({0})", "backwards({0})", "{0}.view()",
    "np.where({0} > 1.0, {0}, 0.5)", "{0}.astype(float)", "{0}.astype(float, copy=False)", "+{0}", "{0}.real",
    "np.ascontiguousarray({0})", "np.zeros_like({0})", "np.flip({0})", "{0}.squeeze()",
)  # fmt: skip
OF_ONE = {
    "m": (
        ("v", "{0}[1]"), ("v", "{0}[-1]"), ("w", "{0}[1:]"), ("w", "{0}[:-1]"), ("w", "{0}[::2]"), ("t", "{0}.T"),
        ("f", "{0}.ravel()"), ("f", "{0}.reshape(-1)"), ("f", "{0}.flatten()"), ("c", "{0}[:, 0]"),
        ("t", "{0}.swapaxes(0, 1)"), ("t", "{0}.reshape(2, 3)"), ("v", "np.diagonal({0}).copy()"),
        ("w", "{0}[[0, 2]]"), ("v", "{0}[:1][0]"), ("c", "{0}[..., -1]"), ("w", "np.vsplit({0}, [2])[0]"),
        ("m", "np.expand_dims({0}, 0)[0]"), ("f", "np.concatenate([{0}[0], {0}[1], {0}[2]])"),
    ),
    "w": (("v", "{0}[0]"), ("v", "{0}[:, 1]"), ("w", "{0}.T"), ("w", "{0}[::-1, ::-1]")),
    "f": (("v", "{0}[1:][:2]"), ("m", "{0}.reshape(3, 2)"), ("c", "{0}[::2]"), ("m", "{0}.reshape(2, 3).T")),
    "t": (("v", "{0}[:, 2]"), ("m", "{0}.T"), ("c", "{0}[1]"), ("f", "{0}.ravel()")),
    "v": (("v", "{0}[::-1]"),),
    "c": (("v", "{0}[1:]"), ("c", "np.sort({0})")),
}  # fmt: skip

#: What is written to an array `x`: `n` a number, `v` an array of its shape, `e` and `o` elements of it.
WRITES = (
    "{x} += {v}", "{x} *= {v}", "{x} -= {v}", "{x} += {v}", "{e} = {n}", "{e} += {n}", "{x}[:] = {v}",
    "{x}[...] = {v}", "{x}[1:] = {x}[:-1]", "{x}[:-1] += {x}[1:]", "{x}[{x} > 1.0] = {n}", "{x}[[0, 1]] = {x}[[1, 0]]",
    "{e}, {o} = {o}, {e}", "np.add.at({x}, [0, 0], {n})", "np.copyto({x}, {v})", "np.put({x}, [1], {n})",
    "np.add({x}, {v}, out={x})", "np.exp({x} * 0.1, out={x})", "{x}.fill({n})", "{x}.sort()", "add_to({x}, {v})",
    "set_all({x}, {v})", "set_first({x}, {n})",
)  # fmt: skip


class Writer:
    """One program, written line by line; `names` are what the next line may use, with their letters."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.names: dict[str, str] = {}
        self.lines: list[str] = []
        self.count = 0

    def text(self) -> str:
        """All of it."""
        rng = self.rng
        self.line(
            0,
            f"{self.new('m')} = {rng.choice(('a * 1.0', 'a.copy()', 'np.array(a)', 'np.zeros((3, 2)) + a'))}",
        )
        for _ in range(rng.randrange(2, 7)):
            self.statement(0, 0.18)
        kept = [n for n in self.names if rng.random() < 0.6] or list(self.names)[:1]
        self.line(0, "return " + " + ".join(f"{k + 1.0} * np.sum({n} ** 2)" for k, n in enumerate(kept)))
        return HELPERS + "def program(a):\n" + "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        """Add a line."""
        self.lines.append("    " * (depth + 1) + text)

    def new(self, letter: str) -> str:
        """A name that there has not been."""
        self.count += 1
        name = f"{letter}{self.count}"
        self.names[name] = letter
        return name

    def some(self, letters: Sequence[str] = tuple(SHAPES)) -> str | None:
        """A name for an array of one of those shapes."""
        found = [n for n, letter in self.names.items() if letter in letters]
        return self.rng.choice(found) if found else None

    def statement(self, depth: int, control: float) -> None:
        """One statement, a branch or a loop with this probability."""
        q = self.rng.random()
        if q < control and depth < 3:
            self.control(depth)
        elif q < 0.45:
            self.take(depth)
        elif q < 0.58:
            self.hold(depth)
        else:
            self.write(depth)

    def take(self, depth: int) -> None:
        """A new name for all or a part of an array, or for a copy."""
        source = self.some() or "a"
        letter = self.names[source]
        ways = [(letter, way) for way in OF_ANY] + 2 * list(OF_ONE[letter])
        given, way = self.rng.choice(ways)
        self.line(depth, f"{self.new(given)} = {way.format(source)}")

    def hold(self, depth: int) -> None:
        """A list, dict, object, closure, or several names that hold rows."""
        source = self.some(("m", "w", "t")) or "a"
        row = {"m": "v", "w": "v", "t": "c"}[self.names[source]]
        self.count += 1
        held, names = f"q{self.count}", self.names
        how = self.rng.randrange(6)
        if how == 0:
            self.line(depth, f"{held} = list({source})")
            names |= {f"{held}[0]": row, f"{held}[1]": row}
        elif how == 1:
            self.line(depth, f"{held} = {{'all': {source}, 'row': {source}[1]}}")
            names |= {f"{held}['all']": names[source], f"{held}['row']": row}
        elif how == 2:
            self.line(depth, f"{held} = Holder()")
            self.line(depth, f"{held}.all, {held}.row = {source}, {source}[0]")
            names |= {f"{held}.all": names[source], f"{held}.row": row}
        elif how == 3:
            self.line(depth, f"{self.new(row)}, {self.new(row)} = {source}[0], {source}[1]")
        elif how == 4:
            self.line(depth, f"{held} = tuple(rows_of({source}))")
            names |= {f"{held}[1]": row}
        else:
            self.line(depth, f"{held} = [{source}[i] for i in range(2)]")
            names |= {f"{held}[0]": row}

    def write(self, depth: int) -> None:
        """Write to an array under one of its names."""
        name = self.some() or "a"
        parts = {"x": name, "n": self.number(), "v": self.value(self.names[name])}
        parts |= {"e": self.element(name), "o": self.element(name)}
        self.line(depth, self.rng.choice(WRITES).format(**parts))

    def element(self, name: str) -> str:
        """One element of an array."""
        return f"{name}[{', '.join(str(self.rng.randrange(-n, n)) for n in SHAPES[self.names[name]])}]"

    def number(self) -> str:
        """What is a number."""
        name, constant = self.some() or "a", f"{self.rng.uniform(0.5, 2):.1f}"
        return self.rng.choice(
            (f"np.sum({name})", self.element(name), constant, f"np.sin({self.element(name)})")
        )

    def value(self, letter: str) -> str:
        """What fits into an array of that shape."""
        ways = [self.number()]
        if (other := self.some((letter,))) is not None:
            ways += [
                f"{other} * {self.rng.uniform(0.3, 1.5):.1f}",
                f"np.sin({other})",
                other,
                f"{other} + {self.number()}",
            ]
        return self.rng.choice(ways)

    def control(self, depth: int) -> None:
        """A branch, or a loop over numbers or rows."""
        rng, saved = self.rng, dict(self.names)
        self.count += 1
        how, name = rng.randrange(4), self.some() or "a"
        if how == 0:
            self.line(depth, f"if np.sum({name}) > {rng.uniform(0, 10):.1f}:")
        elif how == 1:
            self.line(depth, f"for i{self.count} in range({rng.randrange(1, 4)}):")
        elif how == 2:
            rows = self.some(("m", "w")) or "a"
            self.line(depth, f"for {self.new('v')} in {rows}:")
        else:
            self.line(depth, f"k{self.count} = 0")
            self.line(depth, f"while k{self.count} < 3 and np.sum({name}) < {rng.uniform(2, 60):.1f}:")
            self.line(depth + 1, f"k{self.count} += 1")
        for _ in range(rng.randrange(1, 3)):
            self.statement(depth + 1, 0.12)
        self.names = {n: letter for n, letter in self.names.items() if n in saved}


def program(seed: int) -> str:
    """The text of a module with ``program(a)``, of an array of shape (3, 2)."""
    return Writer(seed).text()
