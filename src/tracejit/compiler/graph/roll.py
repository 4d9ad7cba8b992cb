"""Rolling: the repeated steps of a Python loop that tracing has unrolled become a loop again.

A run is a stretch of nodes in which the same ops follow each other again and again, each round wired as the round
before. What a round reads is its own, or of the last round, or was there before the run: the same value for all rounds
or one for each. One round is then the body of a loop: what it reads of the last round are carries, what there is one of
for each round are xs, and what is read behind the run are ys. What has effects stays written out, and what may fail
where messages would name other lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...core.ir import text
from ...core.ir.graph import Graph, Node, Value, has_effect, regions, walk
from ...core.op import Op, ops
from ...core.tracing.loop_form import INDEX, LoopForm
from ...core.tracing.prune import prune

#: Nodes of a graph from which runs are looked for: compiling fewer takes no time to speak of.
LONG = 2000
#: Rounds, and nodes, of a run that is worth a loop.
ROUNDS, NODES = 8, 100
#: Nodes of the longest rounds that are looked for, one time after the other.
PERIODS = (64, 512, 1 << 30)
#: Nodes that the beginning of a round is known by. Longer rounds, in many places of which the same few ops stand, are
#: known by as many as the longest rounds had that were looked for before.
KNOWN_BY = 8
#: Places at which a second round may begin that are tried for every node.
TRIED = 8
#: Nodes from which on the same repetition is tried.
PHASES = 4
#: How much fewer nodes there must be at the end: taking rows out of what loops have stacked costs some.
SHORTER = 2
#: Rounds that may stay written out so that all others read rows of one array.
UNEVEN = 4
#: Bytes of rows that are put together for a loop to read.
LARGEST = 1 << 20

Output = tuple[int, int]
"""Which node of a round, and which of its outputs."""


def roll(graph: Graph) -> Graph:
    """A valid graph of the same values, where long stretches that repeat are loops."""
    return _rolled(graph) if len(graph.nodes) >= LONG else graph


def _rolled(graph: Graph) -> Graph:
    """Short rounds first: where loops are in loops, a round of the outer one reads stacks of the inner one's then."""
    rolled, finder = graph, _Finder(_views_first(graph))
    for longest, known_by in zip(PERIODS, (KNOWN_BY, *PERIODS), strict=False):
        found = list(finder.runs(longest, known_by))
        if found:
            rolled = prune(_Roller(finder.graph, found).run())
            finder = _Finder(_views_first(rolled))
    return rolled if sum(1 for _ in walk(rolled)) * SHORTER < sum(1 for _ in walk(graph)) else graph


def _views_first(graph: Graph) -> Graph:
    """The graph with constants and parts of inputs in front: the round that reads one first is as the others then."""
    known, early, rest = set(graph.inputs), [], []
    for node in graph.nodes:
        first = node.op.literal or (
            "view" in node.op.traits and bool(node.inputs) and known.issuperset(node.inputs)
        )
        if first and "no_cse" not in node.op.traits:
            known.update(node.outputs)
            early.append(node)
        else:
            rest.append(node)
    return replace(graph, nodes=early + rest, derived={})


# ---- finding runs ---------------------------------------------------------------------------------------


class Run(NamedTuple):
    """Rounds of `period` nodes each, from the node `start` on, and what each operand of a round is.

    An operand is an output of the same round (``own``), of the round before (``last``), or, as None in both, what was
    there before the run.
    """

    start: int
    period: int
    rounds: int
    own: tuple[Output | None, ...] = ()
    last: tuple[Output | None, ...] = ()

    @property
    def end(self) -> int:
        return self.start + self.period * self.rounds

    @property
    def worth(self) -> bool:
        return self.rounds >= ROUNDS and self.rounds * self.period >= NODES


class _Finder:
    """Looks for the runs of a graph."""

    def __init__(self, graph: Graph):
        self.graph, self.nodes = graph, graph.nodes
        names: dict[Any, int] = {}
        self.keys = [names.setdefault(_key(node), len(names)) for node in self.nodes]
        self.made = {v: (i, o) for i, node in enumerate(self.nodes) for o, v in enumerate(node.outputs)}
        self.ends: dict[int, int] = {}  # by period, where the last repetition that was looked at ends
        self.attempts: dict[tuple[int, int], int] = {}  # by period and end, so that the work is linear

    def runs(self, longest: int, known_by: int) -> Iterator[Run]:
        """From first to last, none of which overlap, with rounds of at most `longest` nodes.

        Where a second round may begin, the `known_by` nodes that follow are those of the first one.
        """
        self.ends.clear()  # known from an earlier node on only
        self.attempts.clear()
        places: dict[int, list[int]] = {}
        ranks = []
        names = _windows(self.keys, known_by)
        for i, name in enumerate(names):
            ranks.append(len(places.setdefault(name, [])))
            places[name].append(i)
        start = 0
        while start < len(names):
            later = places[names[start]][ranks[start] + 1 : ranks[start] + 1 + TRIED]
            run = self.beginning(start, [at for at in later if at - start <= longest])
            if run is not None:
                yield run
            start = start + 1 if run is None else run.end

    def beginning(self, start: int, later: Sequence[int]) -> Run | None:
        """The run of the shortest rounds that begins there and whose second round begins at one of these nodes."""
        repeating = [self.repeating(start, at - start) for at in later]
        repeating.sort(key=lambda run: run.period)
        wired = (
            self.wired(run) for run in repeating if run.worth and self.computes(run) and self.may_try(run)
        )
        return next((run for run in wired if run is not None), None)

    def repeating(self, start: int, period: int) -> Run:
        end = self.ends.get(period, 0)
        if end < start + period:
            end = start + period
            while end < len(self.keys) and self.keys[end] == self.keys[end - period]:
                end += 1
            self.ends[period] = end
        return Run(start, period, (end - start) // period)

    def computes(self, run: Run) -> bool:
        """Is there more in a round than parts of arrays?"""
        return any("view" not in node.op.traits for node in self.nodes[run.start : run.start + run.period])

    def may_try(self, run: Run) -> bool:
        """Not too often the same repetition from other nodes on."""
        key = run.period, self.ends[run.period]
        self.attempts[key] = self.attempts.get(key, 0) + 1
        return self.attempts[key] <= PHASES

    def wired(self, run: Run) -> Run | None:
        """The longest part of a run whose rounds are wired as that in the middle; None where it is too short."""
        middle = run.rounds // 2
        own, last = self.wiring(run, middle)
        first = end = middle
        while first > 0 and self.wiring(run, first - 1) == (own, last):
            first -= 1
        while end < run.rounds and self.wiring(run, end) == (own, last):
            end += 1
        part = Run(run.start + first * run.period, run.period, end - first, own, last)
        return part if part.worth and all(self.is_before(part, v) for v in self.given(part)) else None

    def wiring(self, run: Run, number: int) -> tuple[tuple[Output | None, ...], tuple[Output | None, ...]]:
        """The own and the last of a round."""
        start = run.start + number * run.period
        own: list[Output | None] = []
        last: list[Output | None] = []
        for node in self.nodes[start : start + run.period]:
            for v in node.inputs:
                i, o = self.made.get(v, (-1, 0))
                own.append((i - start, o) if i >= start else None)
                before = i - start + run.period
                last.append((before, o) if 0 <= before < run.period and i >= 0 else None)
        return tuple(own), tuple(last)

    def given(self, run: Run) -> Iterator[Value]:
        """What rounds read that is neither their own nor of the round before."""
        for number in range(run.rounds):
            for v, own, last in zip(operands(self.nodes, run, number), run.own, run.last, strict=True):
                if own is None and (last is None or number == 0):
                    yield v

    def is_before(self, run: Run, v: Value) -> bool:
        return self.made.get(v, (-1, 0))[0] < run.start


def _windows(keys: Sequence[int], length: int) -> list[int]:
    """For each place a number that says which keys follow, `length` of them: a polynomial of them, modulo a prime."""
    prime, base = (1 << 61) - 1, 0x9E3779B97F4A7C15 % ((1 << 61) - 1)
    leaves = pow(base, length, prime)
    known, numbers = 0, [0] * len(keys)
    for i in range(len(keys) - 1, -1, -1):
        left = keys[i + length] + 1 if i + length < len(keys) else 0
        known = numbers[i] = (known * base + keys[i] + 1 - left * leaves) % prime
    return numbers


def _progression(rows: Sequence[Any], middle: int) -> tuple[int, int]:
    """Where rows of one array follow each other, up or down, around the middle; nowhere if they do not there."""
    here, after = rows[middle - 1 : middle + 1]
    if not isinstance(here, _Row) or not isinstance(after, _Row) or here.array is not after.array:
        return middle, middle
    step = after.number - here.number
    if abs(step) != 1:
        return middle, middle

    def fits(t: int) -> bool:
        return rows[t] == _Row(after.array, after.number + step * (t - middle))

    first, end = middle - 1, middle + 1
    while first > 0 and fits(first - 1):
        first -= 1
    while end < len(rows) and fits(end):
        end += 1
    return first, end


def operands(nodes: Sequence[Node], run: Run, number: int) -> list[Value]:
    """What the nodes of a round read, one after the other."""
    start = run.start + number * run.period
    return [v for node in nodes[start : start + run.period] for v in node.inputs]


def _key(node: Node) -> Any:
    """What nodes that may be one in a loop have in common."""
    specs = (*[v.spec for v in node.inputs], *[v.spec for v in node.outputs])
    alone = (
        not node.inputs
        or "no_cse" in node.op.traits
        or any(spec.symbolic for spec in specs)
        or has_effect(node)
    )
    if alone:
        return node
    if not node.op.runs_graphs and not any(isinstance(v, Graph) for v in node.attrs.values()):
        lines = (str(node.location),) if node.op.names_line else ()
        return node.op, len(node.inputs), specs, tuple(node.attrs.items()), lines
    return (node.op, len(node.inputs), specs, *_loop_key(node)) if _is_own_loop(node) else node


def _is_own_loop(node: Node) -> bool:
    """Was it made of a run? It has no line, since the program has none that says that it is a loop."""
    return node.location is None and LoopForm.of(node) is not None


def _loop_key(node: Node) -> tuple[Any, ...]:
    """What loops made of runs have in common: their bodies, and the lines in what is said when something fails."""
    attrs = tuple([(k, text.to_text(v) if isinstance(v, Graph) else v) for k, v in node.attrs.items()])
    inner = [n for region in regions(node.attrs) for _, n in walk(region)]
    return attrs, tuple([str(n.location) for n in inner if n.op.names_line])


# ---- writing loops --------------------------------------------------------------------------------------


class _Row(NamedTuple):
    """A value that is a row of an array."""

    array: Value
    number: int


class _Roller:
    """Copies a graph, with loops in place of runs."""

    def __init__(self, graph: Graph, runs: Sequence[Run]):
        self.old, self.runs = graph, runs
        self.new = Graph(graph.name, state=graph.state, guards=graph.guards, finished=True)
        self.env: dict[Value, Value] = {}
        self.row_of: dict[Value, _Row] = {}  # also of values that have been taken out
        self.read_last = {v: i for i, node in enumerate(graph.nodes) for v in node.inputs}
        self.read_last.update(dict.fromkeys(graph.outputs, len(graph.nodes)))

    def run(self) -> Graph:
        self.env.update((v, self.new.add_input(v.spec)) for v in self.old.inputs)
        position = 0
        for found in self.runs:
            self.copy(self.old.nodes[position : found.start])
            run = self.even(found)
            self.copy(self.old.nodes[found.start : run.start])
            if not self.loop(run):
                self.copy(self.old.nodes[run.start : run.end])
            position = run.end
        self.copy(self.old.nodes[position:])
        self.new.outputs = [self.value(v) for v in self.old.outputs]
        return self.new

    def copy(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            inputs = tuple([self.value(v) for v in node.inputs])
            specs = tuple([v.spec for v in node.outputs])
            self.env.update(
                zip(
                    node.outputs, self.new.add(node.op, inputs, node.attrs, specs, node.location), strict=True
                )
            )

    def value(self, v: Value) -> Value:
        """The new graph's value; a row is taken out of its array when it is first asked for."""
        found = self.env.get(v)
        if found is None:
            array, number = self.row_of[v]
            whole = [(0, n, 1) for n in v.spec.shape]
            row = self.make(ops.slice, array, slices=((number, 1, 1), *whole))
            found = self.env[v] = self.make(ops.reshape, row, shape=v.spec.shape)
        return found

    def make(self, op: Op, *values: Value, **attrs: Any) -> Value:
        return self.new.add(op, values, attrs, op.specs(tuple([v.spec for v in values]), attrs))[0]

    # -- one run --

    def even(self, run: Run) -> Run:
        """The run without first and last rounds for which an array has no row, where that has one for most."""
        rounds = [operands(self.old.nodes, run, number) for number in range(run.rounds)]
        middle, first, end = run.rounds // 2, 0, run.rounds
        for p in range(len(run.own)):
            if run.own[p] is not None or run.last[p] is not None:
                continue
            rows = [self.row_of.get(values[p]) for values in rounds]
            a, b = _progression(rows, middle)
            if b - a >= run.rounds - UNEVEN:
                first, end = max(first, a), min(end, b)
        part = run._replace(start=run.start + first * run.period, rounds=end - first)
        return part if part.worth else run

    def loop(self, run: Run) -> bool:
        """Add the loop of a run; False where what it reads would have to be put together and is too large."""
        nodes = self.old.nodes
        rounds = [operands(nodes, run, number) for number in range(run.rounds)]
        carries = {output: rounds[0][p] for p, output in enumerate(run.last) if output is not None}
        given = [p for p in range(len(run.own)) if run.own[p] is None and run.last[p] is None]
        per_round = {p: tuple([values[p] for values in rounds]) for p in given}
        fixed = list(dict.fromkeys(v[0] for v in per_round.values() if len(set(v)) == 1))
        scanned = list(dict.fromkeys(v for v in per_round.values() if len(set(v)) > 1))
        reverse = self.reverse(scanned)
        xs = [self.rows(values[::-1] if reverse else values) for values in scanned]
        if any(x is None for x in xs):
            return False
        kept = [output for output in self.outputs(run) if self.keeps(run, output, output in carries)]
        body = self.body(run, carries, per_round, scanned, fixed, kept)
        form = LoopForm.make(
            body,
            [self.value(v) for v in carries.values()],
            [x for x in xs if x is not None],
            [self.value(v) for v in fixed],
            length=run.rounds,
            reverse=reverse,
        )
        stacks = [v.spec.with_shape((run.rounds, *v.spec.shape)) for v in body.outputs[len(carries) :]]
        specs = (*[v.spec for v in body.outputs[: len(carries)]], INDEX, *stacks)
        outputs = self.new.add(form.op, tuple(form.inputs), form.attrs, specs)
        for output, final in zip(carries, outputs, strict=False):
            self.env[self.made(run, run.rounds - 1, output)] = final
        for output, stack in zip(kept, outputs[len(carries) + 1 :], strict=True):
            for number in range(run.rounds):
                row = run.rounds - 1 - number if reverse else number
                self.row_of[self.made(run, number, output)] = _Row(stack, row)
        return True

    def made(self, run: Run, number: int, output: Output) -> Value:
        return self.old.nodes[run.start + number * run.period + output[0]].outputs[output[1]]

    def outputs(self, run: Run) -> list[Output]:
        round_ = self.old.nodes[run.start : run.start + run.period]
        return [(j, o) for j, node in enumerate(round_) for o in range(len(node.outputs))]

    def keeps(self, run: Run, output: Output, carried: bool) -> bool:
        """Is it read behind the run, of other rounds than that of which a carry has it?"""
        numbers = range(run.rounds - 1 if carried else run.rounds)
        return any(self.read_last.get(self.made(run, t, output), -1) >= run.end for t in numbers)

    def reverse(self, scanned: Sequence[tuple[Value, ...]]) -> bool:
        """Are most of the arrays that rounds read row by row read from the last row on?"""
        steps = [self.step(values) for values in scanned]
        return steps.count(-1) > steps.count(1)

    def step(self, values: Sequence[Value]) -> int:
        """1 where these are rows of one array, one after the other, -1 where they go back, else 0."""
        rows: list[Any] = [self.row_of.get(v) for v in values]
        if _progression(rows, 1) != (0, len(rows)):
            return 0
        return int(rows[1].number - rows[0].number)

    def rows(self, values: Sequence[Value]) -> Value | None:
        """An array of these rows: that which has them, or one made of them, None where that is too large."""
        spec = values[0].spec
        if self.step(values) == 1:
            first = self.row_of[values[0]]
            if first.array.spec.shape[0] == len(values):
                return first.array
            whole = [(0, n, 1) for n in spec.shape]
            window = (first.number, len(values), 1)
            return self.make(ops.slice, first.array, slices=(window, *whole))
        if spec.size * spec.dtype.itemsize * len(values) > LARGEST:
            return None
        rows = [self.make(ops.reshape, self.value(v), shape=(1, *spec.shape)) for v in values]
        return self.make(ops.concat, *rows, axis=0)

    def body(
        self,
        run: Run,
        carries: dict[Output, Value],
        per_round: dict[int, tuple[Value, ...]],
        scanned: Sequence[tuple[Value, ...]],
        fixed: Sequence[Value],
        kept: Sequence[Output],
    ) -> Graph:
        """One round as a graph: ``(index, carries, rows, fixed) -> carries, ys``."""
        body = Graph("body", finished=True)
        body.add_input(INDEX)
        carried = {output: body.add_input(v.spec) for output, v in carries.items()}
        rows = {values: body.add_input(values[0].spec) for values in scanned}
        same = {v: body.add_input(v.spec) for v in fixed}
        made: dict[Output, Value] = {}
        p = 0
        for j, node in enumerate(self.old.nodes[run.start : run.start + run.period]):
            inputs = []
            for own, last in zip(
                run.own[p : p + len(node.inputs)], run.last[p : p + len(node.inputs)], strict=True
            ):
                if own is not None:
                    inputs.append(made[own])
                elif last is not None:
                    inputs.append(carried[last])
                else:
                    values = per_round[p]
                    inputs.append(rows[values] if values in rows else same[values[0]])
                p += 1
            specs = tuple([v.spec for v in node.outputs])
            outputs = body.add(node.op, tuple(inputs), node.attrs, specs, node.location)
            made.update(((j, o), v) for o, v in enumerate(outputs))
        body.outputs = [made[output] for output in (*carries, *kept)]
        return _rolled(body)
