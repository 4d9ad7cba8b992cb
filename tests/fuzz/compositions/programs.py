"""Programs: transforms of transforms of a small function, as text, with the shapes they take and return."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

from .around import AROUND
from .base import HEADER, Shape, small_function

#: Elements of a result, and of an argument, beyond which no further transform is put around.
_MOST_OUT, _MOST_IN = 40, 12


@dataclass
class Program:
    """Text that defines ``main(x)``.

    Attributes
    ----------
    given, returned : tuple of int
        Shapes.
    exact : bool
        Differences of values are its derivatives: no gradient is stopped or scaled by a rule.
    """

    lines: list[str] = field(default_factory=list)
    given: Shape = ()
    returned: Shape = ()
    names: int = 0
    used: list[str] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        return not any(word in "\n".join(self.lines) for word in ("stop_gradient", "3.0 *", "2.0 * pull"))

    @property
    def text(self) -> str:
        """The program, to run by hand."""
        body = "\n".join(self.lines)
        sizes = sorted({n for n in range(1, 13) if any(f"{c}{n}" in body for c in "WEM")})
        constants = "".join(HEADER.format(n=n) for n in sizes)
        variable = "V = tf.Variable(1.3, dtype=tf.float64)\n" if "V *" in body else ""
        return f"{constants}{variable}{body}\n"


def program(seed: int, depth: int = 3) -> Program:
    """A random program; the same for the same seed everywhere."""
    rng = random.Random(seed)
    made = Program()
    given: Shape = rng.choice([(), (), (2,), (3,), (3,)])
    lines, returned = small_function(rng, "f0", given)
    made.lines += [*lines, "", ""]
    made.given, made.returned = given, returned
    for k in range(1, rng.randint(1, depth) + 1):
        _wrap(rng, made, k)
    made.lines.append(f"main = f{made.names}")
    return made


def _wrap(rng: random.Random, made: Program, k: int) -> None:
    """Put a transform around what there is."""
    fits = [(a, s) for a in AROUND if (s := a.shapes(made.given, made.returned)) is not None and _small(*s)]
    if not fits:
        return
    around, shapes = rng.choices(fits, [a.weight for a, _ in fits])[0]
    inside, made.names = f"f{made.names}", made.names + 1
    text = around.text.replace("{unknown}", str([None] * len(made.given)))
    text = text.replace("{memory}", rng.choice(["'recompute'", "64", "200"]))
    made.lines += [*text.replace("{f}", inside).replace("{h}", f"f{made.names}").split("\n"), "", ""]
    made.given, made.returned = shapes
    made.used.append(around.name)


def _small(given: Shape, returned: Shape) -> bool:
    return math.prod(given) <= _MOST_IN and math.prod(returned) <= _MOST_OUT
