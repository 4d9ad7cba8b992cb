"""An analysis of nests for the schedule: accesses, which values vary with which axis, what is live.

Found in one walk over the statements. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...core.dim import Size
from .ir import Combine, Compute, Fail, Load, Nest, Size_, Store, walk
from .operands import Axis, Buffer, Name
from .scalar_ops import ELEMENTARY
from .statement import Statement


class NestAnalysis:
    """What scheduling asks of a nest, found in one walk.

    Attributes
    ----------
    simple, simple_body : bool
        No structure inside; none in the body.
    indices : list of dict
        Symbol to coefficient, of every access anywhere inside.
    body, tail : Part
        Work done for every index, and once per parallel index.
    counted : set of str
        Names used as numbers, not only in indices.
    varies : dict
        Scalar to a bit mask of the axes it depends on.
    """

    body: Part
    part: Part
    tail: Part
    has_add: bool

    def __init__(self, nest: Nest):
        self.nest = nest
        self.bits: dict[Name, int] = {a.name: 1 << p for p, a in enumerate(nest.axes)}
        self.varies: dict[Name, int] = dict(self.bits)
        self.simple: bool = True
        self.has_add = False
        self.indices: list[dict[Name, Size]] = []
        self.counted: set[Name] = set()
        self.buffers: set[Buffer] = set()
        self.rules: dict[Name, str] = {}
        self.body = self.part = Part()
        self.part.kinds.update(a.dtype for a in nest.accs)
        self.scan(nest.body)
        self.simple_body = self.simple
        self.tail = self.part = Part() if nest.tail else self.body
        self.scan(nest.tail)

    @property
    def statements(self) -> int:
        return self.body.statements + (self.tail.statements if self.tail is not self.body else 0)

    def scan(self, block: list[Statement]) -> None:
        for s in walk(block):
            self.part.statements += 1
            self.visit(s)

    def parts(self, axis: Axis) -> tuple[Part, ...]:
        """The parts that run once for every index of `axis`."""
        twice = axis.kind == "parallel" and self.tail is not self.body
        return (self.body, self.tail) if twice else (self.body,)

    def visit(self, s: Statement) -> None:
        match s:
            case Compute():
                self.note_compute(s)
            case Load() | Store():
                self.note_access(s)
            case Combine():
                self.rules.update(dict.fromkeys(s.accs, s.rule))
                self.simple &= all(any(a.name == name for a in self.nest.accs) for name in s.accs)
            case Size_():
                self.varies[s.out] = 0
            case Fail():
                pass
            case _:
                self.simple = False
                self.indices.extend(dict(index.terms) for index in s.indices())
                self.buffers.update(s.buffers())

    def mask(self, names: Iterable[Name]) -> int:
        bits = 0
        for name in names:
            bits |= self.varies.get(name, 0)
        return bits

    def note_compute(self, s: Compute) -> None:
        self.varies[s.out] = self.mask(s.uses())
        part = self.part
        part.computes += 1
        part.elementary += s.op in ELEMENTARY
        part.kinds.add(s.dtype)
        part.kinds.add(s.argtype)
        if s.op == "index":
            self.counted.add(s.args[0])  # type: ignore[arg-type]

    def note_access(self, s: Load | Store) -> None:
        terms = dict(s.index.terms)
        self.indices.append(terms)
        self.buffers.add(s.buffer)
        self.part.kinds.add(s.buffer.dtype)
        loaded = self.mask(name for name in terms if name not in self.bits)
        if loaded:
            self.part.kinds.add(np.dtype(np.int64))
        self.part.accesses.append((s, terms, loaded))
        if isinstance(s, Load):
            self.varies[s.out] = self.mask(s.uses())
        else:
            self.has_add |= s.add


class Part:
    """A body or a tail: how many statements, computations and elementary functions, the dtypes, the accesses.

    An access is (statement, symbol to coefficient, mask of the axes its loaded symbols depend on).
    """

    def __init__(self) -> None:
        self.statements = self.computes = self.elementary = 0
        self.kinds: set[np.dtype] = set()
        self.accesses: list[tuple[Load | Store, dict[Name, Size], int]] = []


def live_values(facts: NestAnalysis) -> int:
    """How many scalars of the body are alive at once, at most."""
    last: dict[Name, int] = {}
    body = facts.nest.body
    for p, s in enumerate(body):
        last.update(dict.fromkeys(s.operands(), p))
    ends = [0] * (len(body) + 1)
    for p in last.values():
        ends[p] += 1
    alive = most = 0
    for p, s in enumerate(body):
        alive += isinstance(s, (Load, Compute)) and last.get(s.out, -1) > p
        most = max(most, alive)
        alive = max(0, alive - ends[p])
    return max(most, 1)
