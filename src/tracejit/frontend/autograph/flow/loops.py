"""Loops whose length is known only when the compiled function runs, or that go over tensors: one `loop` op.

Which variables go round, and of what type, is a fixed point: Python numbers start as weak numbers and take the
type the body gives them, then the body is traced again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....core.errors import Untraceable, at, user_location
from ....core.op import ops
from ....core.tensor import Tensor
from ....core.tracing.dispatch import as_tensor
from ....core.tracing.trace import Trace
from ....core.tracing.transaction import Attempt
from ...recording.merged import MergedTensor
from ...regions.loop_builder import INDEX, add_loop
from ...regions.memory_policies import in_force
from ...regions.region import Region, assigned_in
from ...state.variable import Variable, tracer
from ...structure import LEAF, Nest, flatten
from ..places.place import Places
from ..places.reachable import Change
from ..values.contents import ContainerSnapshot, copied, identities
from ..values.kinds import DynamicListNeeded, escaping, traced
from .branches import truth
from .filling import run_filling
from .loop_variable import LoopTypeChanged, LoopVariable
from .recursion import ending
from .surroundings import Surroundings, until_all_is_known
from .tensor_array import TensorArray

_MAX_ATTEMPTS = 8


@dataclass
class Steps:
    """How often a loop runs, and what its body is given.

    Attributes
    ----------
    body : callable
        ``body(i, rows)`` runs one iteration: `i` is the number of iterations done.
    test : callable, optional
        Whether to go on, asked before each iteration; ``test(i)``.
    rows : list of Tensor
        Scanned along their first axis.
    count : Tensor, optional
        Number of iterations, where it is known only at run time.
    length : size, optional
        Number of iterations, where it is a size.
    surely_runs : bool
        There is at least one iteration.
    what : str
        How messages name it.
    """

    body: Callable[[Tensor, Sequence[Tensor]], None]
    test: Callable[[Tensor], Any] | None = None
    rows: list[Tensor] = field(default_factory=list)
    count: Tensor | None = None
    length: Any = None
    surely_runs: bool = False
    what: str = "loop"


def run_loop(steps: Steps, places: Places, lists: Sequence[str]) -> None:
    """Trace the loop and give `places` their values after it."""
    filled: list[str] = []

    while True:
        with Attempt() as attempt:
            try:
                regular = [n for n in lists if n not in filled]
                if filled:
                    run_filling(lambda p: _complete(steps, p, regular), places, filled)  # noqa: B023
                else:
                    _complete(steps, places, regular)
                return
            except DynamicListNeeded as irregular:
                known = [*irregular.places, *places.mentioned()]
                more = places.unknown([p for p in known if p.get() is irregular.origin])
                pairs = [*zip(places.names, places.get(), strict=True), *((p.name, p.get()) for p in more)]
                found = [n for n, v in pairs if v is irregular.origin and n not in filled]
                if not found or _made_further_out(irregular.origin):
                    raise
                attempt.rollback()
                irregular.places.clear()
        places.extend(more)
        filled += found


def _made_further_out(x: Any) -> bool:
    """Is it a TensorArray of a trace around this one? Then a loop there makes it longer, too."""
    now = tracer()
    return isinstance(x, TensorArray) and x.home is not now and now is not None and now.parent is not None


def _complete(steps: Steps, places: Places, lists: Sequence[str]) -> None:
    lists = list(lists)

    def learn(changes: Sequence[Change]) -> None:
        places.extend([c.place for c in changes])
        lists.extend(c.place.name for c in changes if c.grows)

    until_all_is_known(lambda last: _run_loop(steps, places, lists, last), learn)


@ending
def _run_loop(steps: Steps, places: Places, lists: Sequence[str], last: bool) -> None:
    around = Surroundings(places, last=last)
    names = [
        LoopVariable(n, v, n in lists, steps.what) for n, v in zip(places.names, around.before, strict=True)
    ]
    try:
        with around:
            tracing = _Tracing(steps, names, around)
            found = tracing.run()
    except DynamicListNeeded as irregular:
        irregular.places += [c.place for c in around.unknown()]
        raise
    finally:
        around.restore()
    places.set(tracing.results(*found))


class _Tracing:
    def __init__(self, steps: Steps, names: list[LoopVariable], around: Surroundings):
        self.steps, self.names, self.around = steps, names, around
        self.of = around.places.functions[0]
        self.changed = False
        self.values: list[Any] = []
        now = tracer()
        self.sizes = 0 if now is None else now.trips.used  # so many have names before the loop

    def start(self, carried: Sequence[Tensor]) -> None:
        """Give the variables their values at the start of an iteration."""
        values, k = [], 0
        self.around.restore()
        for n in self.names:
            values.append(n.value(carried[k : k + n.count()]))
            k += n.count()
        self.around.places.set(values)

    def step(self, i: Tensor, pair: tuple) -> list[Tensor]:
        """One iteration; the carried tensors, then the rows of lists."""
        carried, rows = pair
        self.start(carried)
        begun = ContainerSnapshot(self.around.contents.containers)
        try:
            self.steps.body(i, rows)
        except MergedTensor as error:
            raise LoopTypeChanged(error) from None
        except Exception as error:
            raise escaping(error, f"the body of a {self.steps.what}") from error
        self.around.check(f"the body of a {self.steps.what}")
        values = self.around.places.get()
        now = tracer()
        assert now is not None
        inside = now.trips.since(self.sizes)
        found = [n.learn(v, self.steps.surely_runs, inside) for n, v in zip(self.names, values, strict=True)]
        if begun.changed(identities(values).union(*(n.kept for n in self.names))):
            raise Untraceable(
                f"a list or dict is changed in the {self.steps.what} under one name and appended to, or replaced, "
                f"under another: use one name{at(user_location())}"
            )
        self.changed = any(found)
        if self.changed:
            return []
        self.values = [copied(v) for v in values]
        self._watch(values, carried, now)
        new = [t for n, v in zip(self.names, values, strict=True) for t in n.outputs(v)]
        return [*new, *(t for n, v in zip(self.names, values, strict=True) for t in n.appended(v))]

    def _watch(self, values: Sequence[Any], carried: Sequence[Tensor], now: Trace) -> None:
        """Look again at what tapes have watched, now that it is known what the next iteration begins with."""
        k = 0
        for n, value in zip(self.names, values, strict=True):
            n.ends_with(value, carried[k : k + n.count()], now)
            k += n.count()
        try:
            for w in now.watched:
                w.check()
        except MergedTensor as error:
            raise LoopTypeChanged(error) from None

    def holds(self, *carried: Tensor) -> Tensor:
        assert self.steps.test is not None
        own = carried[:-1] if self.counting else carried
        self.start(own)
        answer = self.steps.test(carried[-1]) if self.counting else self.steps.test(as_tensor(0))
        return truth(answer) if traced(answer) else as_tensor(bool(answer))

    @property
    def counting(self) -> bool:
        """Does the test ask how many iterations are done? Then the number goes round."""
        return self.steps.test is not None and (self.steps.count is not None or self.steps.length is not None)

    def body(self, carried: Sequence[Variable]) -> Region:
        for _ in range(_MAX_ATTEMPTS):
            specs = [k.spec for n in self.names for k in n.given()]
            row_specs = [r.spec.with_shape(r.shape[1:]) for r in self.steps.rows]
            leaves = [Nest(tuple, (), (LEAF,) * len(s)) for s in (specs, row_specs)]
            structure = Nest(tuple, (), (LEAF, Nest(tuple, (), tuple(leaves))))
            step = self.step
            if self.counting:
                specs, step = [*specs, INDEX], self.counted
                leaves[0] = Nest(tuple, (), (LEAF,) * len(specs))
                structure = Nest(tuple, (), (LEAF, Nest(tuple, (), tuple(leaves))))
            with self.around.attempt() as attempt:
                region = Region(step, structure, [INDEX, *specs, *row_specs], "body", carried, of=self.of)
                if self.changed:
                    attempt.rollback()
            if not self.changed:
                return region
        raise Untraceable(
            f"the types of the variables of a {self.steps.what} do not settle{at(user_location())}"
        )

    def counted(self, i: Tensor, pair: tuple) -> list[Tensor]:
        """An iteration of a loop whose counter goes round."""
        carried, rows = pair
        found = self.step(carried[-1], (carried[:-1], rows))
        if self.changed:
            return found
        n = sum(m.count() for m in self.names)
        return [*found[:n], ops.add(carried[-1], as_tensor(1, INDEX.dtype)), *found[n:]]

    def run(self) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        """Add the loop; the last values of what goes round, and the rows of lists."""
        steps, again = self.steps, True
        while again:
            with self.around.attempt() as attempt:
                body, test = self.body(()), self.test(())
                variables, again = assigned_in(body), any(n.waits for n in self.names)
                if variables or again:
                    attempt.rollback()
        if variables:
            body, test = self.body(variables), self.test(variables)
            if test is not None:
                del test.graph.outputs[1:]
        initial = [t for n in self.names for t in n.initial()]
        if self.counting:
            initial.append(as_tensor(0, INDEX.dtype))
        count, length = (steps.count, steps.length) if test is None else (None, None)
        found = add_loop(
            body, test, initial, steps.rows, variables, count=count, length=length, memory=in_force()
        )
        return found.carry, found.ys

    def test(self, carried: Sequence[Variable]) -> Region | None:
        if self.steps.test is None:
            return None
        specs = [k.spec for n in self.names for k in n.given()] + [INDEX] * self.counting
        structure = Nest(tuple, (), (LEAF,) * len(specs))
        found = Region(self.holds, structure, specs, "cond", carried, of=self.of)
        if not carried and found.assigned:
            raise Untraceable(
                f"the condition of a {self.steps.what} assigns {found.assigned[0].name!r}; do it in the body"
                f"{at(user_location())}"
            )
        return found

    def results(self, carried: Sequence[Tensor], rows: Sequence[Tensor]) -> list[Any]:
        """What the variables hold after the loop."""
        values, k, r = [], 0, 0
        for n, value in zip(self.names, self.values, strict=True):
            more = len(flatten(value.items[:1])[0]) if n.grows else 0
            values.append(n.result(carried[k : k + n.count()], rows[r : r + more]))
            k, r = k + n.count(), r + more
        return values


__all__ = ["LoopTypeChanged", "Steps", "run_loop"]
