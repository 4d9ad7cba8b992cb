"""Why is my gradient None, zero or NaN? Answers from the history of a tape: the cause, the user's line, the remedy.

Data that flows from source to target is followed twice: as values flow, and as gradients would. Where the second
stops and the first goes on, the path broke. Where values do not flow either, what took them out of sight is looked
for among the events: a conversion to NumPy, an assignment, a pause, a reset.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...core.errors import Location
from ...core.ir.graph import Graph
from ...core.op import ops
from ...core.spec import DIFFERENTIABLE
from ...core.tensor import Tensor
from ...core.tracing.forms import CallForm
from ..recording.losses import Flow, call_flows
from ..recording.recorder import carries
from .history import Event, Step

REMEDIES = {
    "connected": "nothing is wrong",
    "not watched": "call tape.watch(source) first, or make it a tracejit.Variable",
    "replaced": "write v.assign_add(1.0) and the like instead of v = v + 1.0, so that v stays a Variable",
    "partly lost": "use the tracejit function instead of NumPy's and stay with tensors, or say tracejit.stop_gradient",
    "numpy": "use the tracejit function instead of NumPy's, or stay with tensors: gradients do not pass arrays",
    "integer": "use a float dtype: integers, bools and strings carry no gradient",
    "state": "use the tensor itself instead of assigning it to a Variable and reading that",
    "stop_gradient": "leave stop_gradient out",
    "stop_recording": "do this step outside of tape.stop_recording()",
    "reset": "do not call tape.reset() between the source and the target",
    "not differentiable": "use a smooth function in its place, or give it a gradient with tracejit.custom_gradient",
    "no gradient registered": "give it a gradient with tracejit.custom_gradient",
    "before the tape": "compute it inside of the with block",
    "not connected": "check that the target is computed from the source",
    "zero": "the derivative is zero there",
    "nan": "keep the arguments inside of the function's domain, with tracejit.where before the function too",
}


class Explanation(NamedTuple):
    """Why a gradient is what it is; printed, it is a sentence, a place and a remedy.

    Attributes
    ----------
    cause : str
        One of ``connected``, ``not watched``, ``replaced``, ``numpy``, ``integer``, ``state``, ``stop_gradient``,
        ``stop_recording``, ``reset``, ``not differentiable``, ``no gradient registered``, ``before the tape``,
        ``not connected``, ``partly lost``, ``zero``, ``nan``.
    text : str
        What happened.
    location : Location or None
        Where in the user's program.
    nearest : str
        The value nearest to the target that does depend on the source, as the op that made it and its line;
        empty where there is none.
    """

    cause: str
    text: str
    location: Location | None = None
    nearest: str = ""

    @property
    def file(self) -> str | None:
        """The user's file."""
        return None if self.location is None else self.location.file

    @property
    def line(self) -> int | None:
        """The line in it."""
        return None if self.location is None else self.location.line

    @property
    def remedy(self) -> str:
        """What to write instead."""
        return REMEDIES[self.cause]

    def __str__(self) -> str:
        where = "" if self.location is None else f"\n  at {self.location}"
        nearest = f"\n  nearest value that depends on the source: {self.nearest}" if self.nearest else ""
        return f"{self.text}{where}{nearest}\n  remedy: {self.remedy}"


class Question(NamedTuple):
    """What an explanation starts from.

    Attributes
    ----------
    target, source : Tensor
        As tapes know them.
    steps : list of Step
        Everything seen, in order.
    events : sequence of Event
    tracked : set of int
        What the tape followed.
    started : int
        The first serial number after the tape was entered.
    name : str
        The source's name, for messages.
    replaced : (str, Location) or None
        The Variable that the source was computed from outside of tapes.
    """

    target: Tensor
    source: Tensor
    steps: list[Step]
    events: Sequence[Event]
    tracked: set[int]
    started: int
    name: str
    replaced: tuple[str, Location | None] | None = None


def explain(q: Question) -> Explanation:
    """Why the gradient of the target with respect to the source is None; ``connected`` where it is not."""
    for x, what in ((q.source, q.name), (q.target, "the target")):
        if x.np_dtype.kind not in DIFFERENTIABLE:
            made = next((s for s in q.steps if x.serial in s.outputs), None)
            return Explanation(
                "integer", f"{what} is {x.spec}, which has no gradient", made and made.location
            )
    values = reach(q.steps, {q.source.serial}, gradients=False)
    slopes = reach(q.steps, {q.source.serial}, gradients=True)
    if q.target.serial in slopes:
        return _unfollowed(q)
    if q.target.serial in values:
        return _broken(q, values, slopes)
    return _out_of_sight(q, values)


# ---- following ------------------------------------------------------------------------------------------


def reach(steps: Iterable[Step], sources: Iterable[int], gradients: bool) -> dict[int, Step | None]:
    """Everything that depends on the sources, with the step it comes from; or only what gradients flow through."""
    reached: dict[int, Step | None] = dict.fromkeys(sources)
    for step in steps:
        if gradients and step.dtype.kind not in DIFFERENTIABLE and len(step.outputs) == 1:
            continue
        if any(s in reached and (not gradients or carries(step, i)) for i, s in enumerate(step.inputs)):
            for out in step.outputs:
                reached.setdefault(out, step)
    return reached


# ---- what broke -----------------------------------------------------------------------------------------


def _unfollowed(q: Question) -> Explanation:
    """Gradients would flow all the way: does the tape follow the source?"""
    dropped = _reset(q)
    if dropped is not None:
        return dropped
    if q.source.serial in q.tracked:
        return Explanation("connected", f"the target is connected to {q.name}")
    used = next((s for s in q.steps if q.source.serial in s.inputs), None)
    where = used and used.location
    if q.replaced is not None:
        name, computed = q.replaced
        text = (
            f"the source is a tensor that was computed from the Variable {name!r}, and no Variable any more"
        )
        return Explanation("replaced", text, computed)
    return Explanation("not watched", f"the tape does not watch {q.name}, which is first used here", where)


def _reset(q: Question) -> Explanation | None:
    for event in q.events:
        if event.kind == "reset" and (
            q.source.serial in event.owner or any(s.outputs[0] < event.serial for s in _path(q))
        ):
            return Explanation("reset", "the tape forgot the way between source and target", event.location)
    return None


def _path(q: Question) -> list[Step]:
    """The steps from source to target, last first."""
    came = reach(q.steps, {q.source.serial}, gradients=True)
    path, at = [], q.target.serial
    while (step := came.get(at)) is not None:
        path.append(step)
        at = next(s for s in step.inputs if s in came)
    return path


def _broken(q: Question, values: dict[int, Step | None], slopes: dict[int, Step | None]) -> Explanation:
    """Values flow from source to target and gradients do not: find the last step they reach."""
    at, step = q.target.serial, values[q.target.serial]
    while step is not None:
        entry = next((s for s in step.inputs if s in slopes), None)
        if entry is not None:
            return _blocked(step, slopes)
        at = next(s for s in step.inputs if s in values)
        step = values[at]
    raise AssertionError("a path that no step breaks is connected")


def _blocked(step: Step, slopes: dict[int, Step | None]) -> Explanation:
    """Gradients reach this step, and do not pass it."""
    entries = [i for i, s in enumerate(step.inputs) if s in slopes]
    before = slopes[step.inputs[entries[0]]]
    nearest = "" if before is None else f"the result of {before.op} at {_place(before.location)}"
    op = step.op
    call = CallForm.of(step)
    inner = None if call is None else _inside(call.graph, entries)
    if inner is not None:
        return inner
    if "takes_out" in op.traits:
        text = "what depends on the source was converted to a Python number here"
        return Explanation("numpy", text, step.location, nearest)
    if op is ops.stop_gradient:
        return Explanation("stop_gradient", "stop_gradient ends the way here", step.location, nearest)
    if op.vjp is None and op.partial is None:
        return Explanation(
            "no gradient registered", f"{op} has no gradient registered", step.location, nearest
        )
    if step.dtype.kind not in DIFFERENTIABLE:
        return Explanation(
            "integer", f"{op} gives {step.dtype.name} here, which has no gradient", step.location, nearest
        )
    return Explanation(
        "not differentiable",
        f"no gradient flows through {op}, which is flat or jumps",
        step.location,
        nearest,
    )


def _place(location: Location | None) -> str:
    return "an unknown line" if location is None else f"{location.file}:{location.line}"


def _inside(graph: Graph, entries: Sequence[int]) -> Explanation | None:
    """The same question inside of a compiled function: from some of its inputs to its outputs."""
    number = {v: i + 1 for i, v in enumerate((*graph.inputs, *(v for n in graph.nodes for v in n.outputs)))}
    steps = [
        Step(
            n.op,
            tuple(number[v] for v in n.inputs),
            tuple(number[v] for v in n.outputs),
            n.outputs[0].spec.dtype,
            n.attrs,
            n.location,
        )
        for n in graph.nodes
        if n.outputs
    ]
    sources = {number[graph.inputs[i]] for i in entries}
    values, slopes = (reach(steps, sources, gradients=g) for g in (False, True))
    for y in graph.outputs:
        at = number[y]
        if at in slopes or at not in values:
            continue
        while (step := values[at]) is not None:
            entry = next((s for s in step.inputs if s in slopes), None)
            if entry is not None:
                return _blocked(step, slopes)
            at = next(s for s in step.inputs if s in values)
    return None


# ---- what went out of sight -----------------------------------------------------------------------------


def _out_of_sight(q: Question, values: dict[int, Step | None]) -> Explanation:
    """No values flow from source to target as far as the tape saw."""
    behind, leaves = _behind(q)
    dropped = _reset(q)
    if dropped is not None and not behind & q.tracked:
        return dropped
    for event in reversed(q.events):
        if event.kind == "assign" and event.serial in values and event.owner in behind:
            return Explanation(
                "state",
                "what depends on the source was assigned to a Variable, and read again",
                event.location,
            )
        if (
            event.kind in ("value", "choice")
            and event.serial in values
            and any(s > event.when for s in leaves)
        ):
            text = "what depends on the source was converted to NumPy or a Python number here"
            return Explanation("numpy", text, event.location, _about(values[event.serial]))
    paused = _paused(q.events, leaves)
    if paused is not None:
        return Explanation(
            "stop_recording", "a part of the way was done while the tape was not recording", paused.location
        )
    early = [s for s in leaves if s < q.started and s not in q.tracked and s > q.source.serial]
    if early:
        used = next((s for s in q.steps if early[0] in s.inputs), None)
        text = "the target depends on a tensor that was computed before the tape was entered, used here"
        return Explanation("before the tape", text, used and used.location)
    made = next((s for s in q.steps if q.target.serial in s.outputs), None)
    return Explanation("not connected", f"the target does not depend on {q.name}", made and made.location)


def _behind(q: Question) -> tuple[set[int], set[int]]:
    """All that the target depends on, and what of it no step made."""
    made = {out: step for step in q.steps for out in step.outputs}
    seen: set[int] = set()
    leaves: set[int] = set()
    todo = [q.target.serial]
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        if at in made:
            step = made[at]
            todo += (
                step.inputs if step.op is not ops.read else step.inputs[1:]
            )  # the handle, not what it held
            if not step.inputs:
                leaves.add(at)
        else:
            leaves.add(at)
    return seen, leaves


def partly_lost(q: Question) -> Explanation | None:
    """What took a part of the way out of sight, where another part is connected; None where nothing did."""
    slopes = reach(q.steps, {q.source.serial}, gradients=True)
    behind, leaves = _behind(q)
    for event in q.events:
        if event.serial not in slopes:
            continue
        if event.kind == "assign" and event.owner in behind:
            text = (
                "a part is lost: what depends on the source was assigned to a Variable here, and read again"
            )
            return Explanation("partly lost", text, event.location, _about(slopes[event.serial]))
        if event.kind == "value" and any(s > event.when for s in leaves):
            text = (
                "a part is lost, or may be: what depends on the source was converted to NumPy or a Python number here, "
                "and the target depends on numbers that came later"
            )
            return Explanation("partly lost", text, event.location, _about(slopes[event.serial]))
    for step in q.steps:
        if (
            (step.op.runs_graphs or "takes_out" in step.op.traits)
            and any(s in slopes for s in step.inputs)
            and behind.intersection(step.outputs)
        ):
            flows = call_flows(step, [Flow(s in slopes, None) for s in step.inputs])
            lost = next(
                (f.lost for s, f in zip(step.outputs, flows, strict=False) if s in behind and f.lost), None
            )
            if lost is not None:
                text = "a part is lost: what depends on the source is taken out here, as a number or to a Variable"
                return Explanation("partly lost", text, lost)
    return None


def vanished_unseen(q: Question) -> tuple[str, str, Location | None]:
    """The gradient was zero or NaN, and the values that tell why are gone."""
    made = next((s for s in q.steps if q.target.serial in s.outputs), None)
    text = (
        "the gradient was zero or NaN; why, only the values tell, of which the tape has given large ones away: ask a "
        "persistent tape"
    )
    return "zero", text, made and made.location


def _about(step: Step | None) -> str:
    return "" if step is None else f"the result of {step.op} at {_place(step.location)}"


def _paused(events: Sequence[Event], leaves: set[int]) -> Event | None:
    start: Event | None = None
    for event in events:
        if event.kind == "pause":
            start = event
        elif event.kind == "resume" and start is not None:
            if any(start.serial <= s < event.serial for s in leaves):
                return start
            start = None
    return None
