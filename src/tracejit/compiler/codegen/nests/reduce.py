"""Accumulators: how two states combine, where one starts, how lanes become one, how float sums stay exact.

Long float sums run in blocks whose sums go to a compensated total (Knuth's two-sum), so that the error does
not grow with the length. Infinities and NaN come out as in a plain sum.
"""

from __future__ import annotations

import numpy as np

from ....core.dataclass import dataclass
from ...ir_text import Value, constant, kind_of
from ...loopir.ir import Combine, Nest, walk
from ...loopir.operands import Acc, Name
from ...loopir.statement import Statement
from ..writing import scalars
from ..writing.kernel import KernelWriter

State = list[Value]


@dataclass
class Group:
    """Accumulators that one rule folds together; `compensated` sums carry a second value, the error."""

    rule: str
    accs: list[Acc]
    compensated: bool = False


def groups(nest: Nest, block: int) -> list[Group]:
    """The accumulators of a nest by the statement that folds them, in order of the accumulators."""
    rules: dict[Name, tuple[str, tuple[Name, ...]]] = {}
    for s in walk(nest.body):
        if isinstance(s, Combine):
            rules[s.accs[0]] = (s.rule, s.accs)
    by_name = {a.name: a for a in nest.accs}
    found: list[Group] = []
    done: set[Name] = set()
    for acc in nest.accs:
        rule, names = rules.get(acc.name, ("", (acc.name,)))
        if acc.name in done or (not rule and any(acc.name in n for _, n in rules.values())):
            continue
        done.update(names)
        compensated = bool(block) and rule == "add" and acc.dtype.kind == "f"
        found.append(Group(rule, [by_name[n] for n in names], compensated))
    return found


def combine(k: KernelWriter, s: Combine) -> None:
    """Fold values into the accumulators; lanes that do not exist leave them alone."""
    dtypes = [k.acc_types[name] for name in s.accs]
    old = [recall(k, n) if n in k.memory_accs else k.env[n] for n in s.accs]
    lanes = old[0].lanes
    values = [k.w.splat(k.operand(v), lanes) for v in s.values]
    new = merged(k, s.rule, old, values, dtypes, k.ordered)
    mask = k.vector.mask
    if mask is not None and k.vector.reducing:
        new = [k.w.select(mask, a, b) for a, b in zip(new, old, strict=True)]
    for name, value in zip(s.accs, new, strict=True):
        if name in k.memory_accs:
            k.w.store(value, k.memory_accs[name])
        k.env[name] = value


def recall(k: KernelWriter, name: Name) -> Value:
    """An accumulator that lives in memory, because a structure inside its nest folds into it."""
    return k.w.load(kind_of(k.acc_types[name]), k.memory_accs[name])


def merged(
    k: KernelWriter, rule: str, old: State, new: State, dtypes: list[np.dtype], ordered: bool = False
) -> State:
    """The state of both. `ordered`: positions of `new` are behind those of `old`, so ties are decided."""
    if rule not in ("argmax", "argmin"):
        return [scalars.apply(k, rule, [old[0], new[0]], dtypes[0], dtypes[0])]
    (best, at), (value, position) = old, new
    dtype = dtypes[0]
    better = scalars.apply(k, "gt" if rule == "argmax" else "lt", [value, best], dtype, dtype)
    first = None if ordered else scalars.apply(k, "lt", [position, at], dtypes[1], dtypes[1])
    if first is not None:
        tied = scalars.apply(k, "eq", [value, best], dtype, dtype)
        better = k.w.binary("or", better, k.w.binary("and", tied, first))
    if dtype.kind == "f":
        missing = k.w.compare("uno", value, value)
        usable = k.w.compare("ord", best, best)
        usable = usable if first is None else k.w.binary("or", usable, first)
        better = k.w.binary("or", better, k.w.binary("and", missing, usable))
    return [k.w.select(better, value, best), k.w.select(better, position, at)]


def neutral(rule: str, acc: Acc, place: int) -> Value:
    """What changes nothing when folded in."""
    dtype = acc.dtype
    if rule in ("argmax", "argmin"):
        if place == 1:
            return constant(np.iinfo(np.int64).max, dtype)
        rule = rule[3:]
    if rule == "add":
        return constant(-0.0 if dtype.kind == "f" else 0, dtype)
    if rule == "mul":
        return constant(1, dtype)
    if rule in ("and", "or"):
        return constant(0 if rule == "or" else True if dtype.kind == "b" else _limits(dtype)[2], dtype)
    if rule in ("min", "max"):
        return constant(_limits(dtype)[rule == "max"], dtype)
    return constant(acc.init.value, dtype)


def _limits(dtype: np.dtype) -> tuple[float | int | bool, float | int | bool, int]:
    """The largest value, the smallest, and all bits set."""
    if dtype.kind == "f":
        return float("inf"), float("-inf"), 0
    if dtype.kind == "b":
        return True, False, 1
    info = np.iinfo(dtype)
    return int(info.max), int(info.min), -1 if dtype.kind == "i" else int(info.max)


class Reduction:
    """The accumulators of one nest while its reduce loops run, in `lanes` lanes.

    Between the innermost loops their state is a list of values: two for a compensated sum, one for others.
    """

    def __init__(self, k: KernelWriter, nest: Nest, block: int, lanes: int):
        self.k = k
        self.accs: list[Acc] = nest.accs
        self.lanes = lanes
        self.groups: list[Group] = groups(nest, block)
        self.names: list[Name] = [a.name for g in self.groups for a in g.accs]
        self.compensated: bool = any(g.compensated for g in self.groups)

    def fresh(self, lanes: int) -> State:
        """Neutral accumulators, one value each."""
        return [
            self.k.w.splat(neutral(g.rule, acc, p), lanes)
            for g in self.groups
            for p, acc in enumerate(g.accs)
        ]

    def start(self) -> State:
        """The neutral state."""
        state: State = []
        for g in self.groups:
            state += [self.k.w.splat(neutral(g.rule, acc, p), self.lanes) for p, acc in enumerate(g.accs)]
            if g.compensated:
                state.append(self.k.w.splat(constant(0.0, g.accs[0].dtype), self.lanes))
        return state

    def fold(self, state: State, partial: State) -> State:
        """The state with the accumulators of a finished inner loop."""
        state, partial, result = list(state), self.narrowed(partial, self.lanes), []
        for g in self.groups:
            count = len(g.accs)
            new, partial = partial[:count], partial[count:]
            if g.compensated:
                result += self.two_sum(state[0], state[1], new[0])
                state = state[2:]
            else:
                result += merged(self.k, g.rule, state[:count], new, [a.dtype for a in g.accs])
                state = state[count:]
        return result

    def two_sum(self, total: Value, error: Value, x: Value) -> State:
        up = self.k.w.binary("fadd", total, x)
        part = self.k.w.binary("fsub", up, total)
        lost = self.k.w.binary(
            "fadd",
            self.k.w.binary("fsub", total, self.k.w.binary("fsub", up, part)),
            self.k.w.binary("fsub", x, part),
        )
        return [up, self.k.w.binary("fadd", error, lost)]

    def narrowed(self, partial: State, lanes: int) -> State:
        """Accumulators folded in halves until `lanes` lanes are left."""
        while partial and partial[0].lanes > lanes:
            half = partial[0].lanes // 2
            low = [self.k.w.lanes_of(v, 0, half) for v in partial]
            high = [self.k.w.lanes_of(v, half, half) for v in partial]
            folded: State = []
            for g in self.groups:
                p, count = len(folded), len(g.accs)
                folded += merged(
                    self.k, g.rule, low[p : p + count], high[p : p + count], [a.dtype for a in g.accs]
                )
            partial = folded
        return partial

    def finish(self, state: State, lanes: int) -> dict[Name, Value]:
        """The accumulators' final values in `lanes` lanes, with their initial values folded in."""
        return self.with_initial(self.totals(state, lanes), lanes)

    def totals(self, state: State, lanes: int) -> State:
        """What was folded, in `lanes` lanes, one value for each accumulator."""
        sums, errors = [], {}
        for g in self.groups:
            count = len(g.accs)
            sums += state[:count]
            if g.compensated:
                errors[len(sums) - 1] = state[count]
            state = state[count + g.compensated :]
        sums = self.narrowed(sums, lanes)
        for p, error in errors.items():
            sums[p] = self.k.w.binary("fadd", sums[p], self.finite(self.summed(error, lanes)))
        return sums

    def summed(self, error: Value, lanes: int) -> Value:
        while error.lanes > lanes:
            half = error.lanes // 2
            error = self.k.w.binary(
                "fadd", self.k.w.lanes_of(error, 0, half), self.k.w.lanes_of(error, half, half)
            )
        return error

    def finite(self, error: Value) -> Value:
        """An infinite or missing error means the total is so itself."""
        k, dtype = self.k, np.dtype({"half": "f2", "float": "f4", "double": "f8"}[error.kind])
        size = k.w.intrinsic("fabs", error)
        usable = k.w.compare("olt", size, scalars.splat_of(k, float("inf"), dtype, error.lanes))
        return k.w.select(usable, error, scalars.splat_of(k, 0.0, dtype, error.lanes))

    def with_initial(self, values: State, lanes: int) -> dict[Name, Value]:
        result: dict[Name, Value] = {}
        for g in self.groups:
            new, values = values[: len(g.accs)], values[len(g.accs) :]
            old = [self.k.w.splat(constant(a.init.value, a.dtype), lanes) for a in g.accs]
            if g.rule:
                new = merged(self.k, g.rule, old, new, [a.dtype for a in g.accs])
            result.update((a.name, v) for a, v in zip(g.accs, new, strict=True))
        return result


def folds_inside(nest: Nest) -> bool:
    """Does a structure inside the body fold into an accumulator of this nest?"""
    own, direct = {a.name for a in nest.accs}, {id(s) for s in nest.body}
    inside: list[Statement] = [s for s in walk(nest.body) if id(s) not in direct]
    return any(isinstance(s, Combine) and s.accs[0] in own for s in inside)
