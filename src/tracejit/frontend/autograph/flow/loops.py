"""Loops whose length is known only when the compiled function runs, or that go over tensors: one `loop` op.

Which variables go round, and of what type, is a fixed point: Python numbers start as weak numbers and take the
type the body gives them, then the body is traced again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

from ....core.dataclass import dataclass
from ....core.errors import Untraceable, at, user_location
from ....core.spec import TensorSpec
from ....core.tensor import Tensor
from ....core.tracing.dispatch import as_tensor
from ....core.tracing.loop_form import Results
from ....core.tracing.trace import Trace
from ....core.tracing.transaction import Attempt
from ...recording.merged import MergedTensor
from ...regions.loop_builder import LoopBuilder
from ...regions.memory_policies import in_force
from ...regions.region import Region
from ...state.variable import tracer
from ...structure import flatten_values as flatten
from ..places.place import Places
from ..places.reachable import Change
from ..values.contents import ContainerSnapshot, copied, identities
from ..values.kinds import DynamicListNeeded, escaping, traced
from . import shared_lists
from .branches import truth
from .filling import run_filling
from .loop_variable import LoopTypeChanged, LoopVariable
from .moments import Moment, displaced
from .recursion import ending
from .surroundings import Surroundings, until_all_is_known
from .tensor_array import TensorArray
from .written import WrittenInLoop


@dataclass
class Steps:
    """How often a loop runs, and what its body is given.

    Attributes
    ----------
    body : callable
        ``body(i, rows)`` runs one iteration: `i` is the number of iterations done.
    test : callable, optional
        Whether to go on, asked before each iteration.
    rows : list of Tensor
        Scanned along their first axis.
    count : Tensor, optional
        Number of iterations, where it is known only at run time; with a test, the largest number.
    length : size, optional
        Number of iterations, where it is a size.
    surely_runs : bool
        There is at least one iteration.
    what : str
        How messages name it.
    """

    body: Callable[[Tensor, Sequence[Tensor]], None]
    test: Callable[[], Any] | None = None
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
                growing = [n for n, v in pairs if v is irregular.origin and n not in filled]
                if not growing or _made_further_out(irregular.origin):
                    raise
                attempt.rollback()
                irregular.places.clear()
        places.extend(more)
        filled += growing


def _made_further_out(x: Any) -> bool:
    """Is it a TensorArray of a trace around this one? Then a loop there makes it longer, too."""
    now = tracer()
    return isinstance(x, TensorArray) and x.home is not now and now is not None and now.parent is not None


def _complete(steps: Steps, places: Places, lists: Sequence[str]) -> None:
    lists = list(lists)

    def learn(changes: Sequence[Change]) -> None:
        places.learn(changes)
        lists.extend(c.place.name for c in changes if c.grows)

    until_all_is_known(lambda last: _run_loop(steps, places, lists, last), learn)
    try:
        shared_lists.settle()
    except Untraceable as error:  # names may stand for the same objects from the first iteration on
        raise LoopTypeChanged(error) from None


@ending
def _run_loop(steps: Steps, places: Places, lists: Sequence[str], last: bool) -> None:
    shared_lists.check()
    around = Surroundings(places, last=last)
    names = [
        LoopVariable(n, v, n in lists, steps.what) for n, v in zip(places.names, around.before, strict=True)
    ]
    try:
        with around:
            tracing = _LoopVariables(steps, names, around)
            outputs = tracing.run()
    except DynamicListNeeded as irregular:
        irregular.places += [c.place for c in around.unknown()]
        raise
    finally:
        around.restore()
    results = tracing.results(outputs)
    places.set(results)
    tracing.arrays.hand_on(results)


class _LoopVariables:
    """The variables of a statement as what goes round in its loop."""

    def __init__(self, steps: Steps, names: list[LoopVariable], around: Surroundings):
        self.steps = steps
        self.names = names
        self.around = around
        self.arrays = WrittenInLoop(around, steps.rows)
        self.changed = False
        self.values: list[Any] = []
        self.known = shared_lists.known_to(around)
        self.before = Moment(around.before, around.contents.containers)
        self.began: Moment = self.before  # of an iteration
        self.end: Moment = self.before
        self.compares = False  # asks whether lists or dicts are the same object
        now = tracer()
        self.sizes = 0 if now is None else now.trips.used  # so many have names before the loop

    def run(self) -> Results:
        """Add the loop."""
        steps = self.steps
        return LoopBuilder(
            self.step,
            self,
            f"a {steps.what}",
            test=None if steps.test is None else self.holds,
            rows=steps.rows,
            count=steps.count,
            length=steps.length,
            memory=in_force(),
            of=self.around.places.functions[0],
        ).build()

    def specs(self) -> list[TensorSpec]:
        return [k.spec for n in self.names for k in n.given()]

    def join(self, body: Region) -> bool:
        return self.changed

    def initial(self) -> list[Tensor]:
        self.around.arrays.restore()
        return [t for n in self.names for t in n.initial()]

    def attempt(self) -> Attempt:
        return self.around.attempt()

    def tested(self) -> bool:
        return any(n.waits for n in self.names)

    def start(self, carried: Sequence[Tensor]) -> None:
        """Give the variables their values at the start of an iteration."""
        self.around.restore()
        values = [n.value(own) for n, own in self._apart(carried)]
        self.around.places.set(values)
        self.arrays.begin(values)
        shared_lists.rewritten()

    def _apart(self, carried: Sequence[Tensor]) -> Iterator[tuple[LoopVariable, Sequence[Tensor]]]:
        """Each variable with what goes round for it."""
        k = 0
        for n in self.names:
            yield n, carried[k : k + n.count()]
            k += n.count()

    def step(
        self, i: Tensor, carried: Sequence[Tensor], rows: Sequence[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """One iteration; the carried tensors, and the rows of lists."""
        self.start(carried)
        begun = ContainerSnapshot(self.around.contents.containers)
        self.began = Moment(self.around.places.get(), self.around.contents.containers)
        compared = shared_lists.compared()
        try:
            self.steps.body(i, [self.arrays.row(k, r, i) for k, r in enumerate(rows)])
        except MergedTensor as error:
            raise LoopTypeChanged(error) from None
        except Exception as error:
            raise escaping(error, f"the body of a {self.steps.what}") from error
        self.around.handed_on = set().union(*(n.kept for n in self.names))
        self.around.check(f"the body of a {self.steps.what}")
        shared_lists.check()
        values = self.around.places.get()
        self.end = self.began.later(values)
        self.compares |= shared_lists.compared() > compared
        now = tracer()
        assert now is not None
        inside = now.trips.since(self.sizes)
        changes = [
            n.learn(v, self.steps.surely_runs, inside, displaced(self.began, self.end, [(was, v)]))
            for n, was, v in zip(self.names, self.began.values, values, strict=True)
        ]
        items = [v.items for n, v in zip(self.names, values, strict=True) if n.grows]
        self.changed = self.arrays.ends_with(values, items) or any(changes)
        if self.changed:
            return [], []
        if begun.changed(identities(values).union(*(n.kept for n in self.names))):
            raise Untraceable(
                f"a list or dict is changed in the {self.steps.what} under one name and appended to, or replaced, "
                f"under another: use one name{at(user_location())}"
            )
        if items:
            shared_lists.refuse_appended(
                self.around, [x for own in items for x in own], [*self.began.values, *values]
            )
        self.values = [copied(v) for v in values]
        self._watch(values, carried, now)
        pairs = list(zip(self.names, values, strict=True))
        return [t for n, v in pairs for t in n.outputs(v)], [t for n, v in pairs for t in n.appended(v)]

    def _watch(self, values: Sequence[Any], carried: Sequence[Tensor], now: Trace) -> None:
        """Look again at what tapes have watched, now that it is known what the next iteration begins with."""
        for (n, own), value in zip(self._apart(carried), values, strict=True):
            n.ends_with(value, own, now)
        try:
            for w in now.watched:
                w.check()
        except MergedTensor as error:
            raise LoopTypeChanged(error) from None

    def holds(self, carried: Sequence[Tensor]) -> Tensor:
        """Whether there is another iteration."""
        assert self.steps.test is not None
        self.start(carried)
        compared = shared_lists.compared()
        answer = self.steps.test()
        shared_lists.check()
        self.compares |= shared_lists.compared() > compared
        return truth(answer) if traced(answer) else as_tensor(bool(answer))

    def results(self, outputs: Results) -> list[Any]:
        """What the variables hold after the loop."""
        results, r = [], 0
        for (n, own), value in zip(self._apart(outputs.carry), self.values, strict=True):
            more = len(flatten(value.items[:1])[0]) if n.grows else 0
            results.append(n.result(own, outputs.ys[r : r + more]))
            r += more
        pairs = zip(self.names, self.around.before, self.end.values, strict=True)
        self.before.values = [end if n.unset else before for n, before, end in pairs]
        moments = (self.before, self.began, self.end)
        return shared_lists.after_loop(self.around, self.known, moments, results, self.compares)


__all__ = ["LoopTypeChanged", "Steps", "run_loop"]
