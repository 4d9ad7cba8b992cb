"""Tracing: run Python once on symbolic tensors to get a graph. Replaying: run a graph under the current interpreter.

`replay` is the only graph walker: inlining, differentiating, counting and perturbing are replays under
another interpreter or recorder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ..dataclass import dataclass
from ..dim import Assumptions, Dim, Size, assuming, substitute
from ..errors import Location, enters_trace
from ..ir.graph import Constant, Graph, Node, Value, mentions
from ..op import Op, defop, ops
from ..spec import TEXT, TensorSpec
from ..tensor import Tensor, no_value, twin
from .depth import too_deep
from .dispatch import apply, as_tensor, explain, interpreting, require_text, state


@defop(
    vjp=(),
    kernel=lambda *, value: value.array if isinstance(value, Constant) else value,
    lower="constant",
    size_rule=lambda node, inputs: tuple(np.ravel(node.attrs["value"].array).tolist()),
    traits=("literal", "view", "internal"),
)
def constant(*, value: Constant) -> TensorSpec:
    """A literal array."""
    return TensorSpec(value.array.shape, value.array.dtype)


@dataclass
class VariableState:
    """A Variable inside a trace: `entry` is its value at the start, `now` its value at this point.

    What is `local` was made in the trace and ends with it: no new value leaves.
    """

    owner: Any
    entry: Tensor
    now: Tensor
    assigned: bool = False
    local: bool = False


@dataclass
class Taken:
    """Arrays that each call of a compiled function takes from outside before it runs.

    Attributes
    ----------
    take : callable
        Gives them.
    tensors : list of Tensor
        What they are in the trace, by their specs.
    source : object
        What they are taken from.
    """

    take: Callable[[], Sequence[np.ndarray]]
    tensors: list[Tensor]
    source: object


class Trace:
    """The interpreter that adds every call to a graph.

    Attributes
    ----------
    graph : Graph
        What has been traced so far.
    captures : dict
        Serial of an outer tensor to ``(tensor, input value)``, in order of first use: they become inputs.
    held : dict
        Variables read or assigned, by identity, see :class:`VariableState`.
    counting : set of Node
        Loops that make sizes of numbers.
    bodies : dict
        What was traced into regions of the graph, by identity: each body is traced once, or taken back before.
    watched : list
        What tapes have watched here.
    merged : dict
        What tensors that branches and loops give may be, in all of the function.
    viewing : callable, optional
        ``viewing(op, inputs, attrs, result)`` is told of every call, once anybody asks for that.
    overlaps : list
        What a program for NumPy has written to, in all of the function, once it has; see `ops.tensor.memory.overlaps`.
    reading : callable, optional
        ``reading(op, inputs, attrs)`` is told of every call in a function that has `overlaps`, and of its results.
    bodies_run : dict
        What calls of compiled functions have come to, in all of the function.
    heard : list or None
        The ops that are applied, noted while somebody listens.
    taken : list of Taken
        What each call takes from outside, in the order of the program.
    """

    viewing: ClassVar[Callable[[Op, Sequence[Tensor], Mapping[str, Any], Tensor], None] | None] = None
    reading: ClassVar[Callable[[Op | None, Sequence[Tensor], Mapping[str, Any]], None]]

    def __init__(self, name: str, parent: Trace | None = None, of_parent: bool = False):
        self.graph: Graph = Graph(name, function=parent.graph.function if parent and of_parent else name)
        self.parent = parent
        self.captures: dict[int, tuple[Tensor, Value]] = {}
        self.held: dict[int, VariableState] = {}
        self.constants: dict[str, Tensor] = {}
        self.counting: set[Node] = set()
        self.bodies: dict[tuple[Any, ...], object] = {}
        self.watched: list[Any] = []
        self.merged: dict[Any, set[Any]] = {} if parent is None else parent.merged
        self.overlaps: list[Any] = [] if parent is None else parent.overlaps
        self.bodies_run: dict[Any, Any] = {} if parent is None else parent.bodies_run
        self.heard: list[tuple[Any, ...]] | None = None
        self.taken: list[Taken] = []
        self.trips: _Counter = parent.trips if parent is not None else _Counter()

    def add_input(self, spec: TensorSpec) -> Tensor:
        if spec.symbolic:
            self.trips.taken.update(a.name for s in spec.shape if isinstance(s, Dim) for a in s.atoms())
        return Tensor(self.graph.add_input(spec), spec)

    def constant(self, array: np.ndarray) -> Tensor:
        if array.dtype is TEXT:
            return Tensor(array)  # known while it is traced; an input where the graph needs it
        held = Constant.of(array)
        if held.key not in self.constants:
            self.constants[held.key] = self.run(constant, (), {"value": held}, None)[0]
        return twin(
            self.constants[held.key]
        )  # two constants of the program are two arrays, whatever they hold

    def value(self, tensor: Tensor) -> Value:
        """The value of a tensor in this graph; tensors from outside are captured as inputs."""
        payload = tensor._payload
        if payload.__class__ is Value:
            if payload.graph is self.graph:
                return payload
            if not self._is_outer(payload):
                raise no_value(tensor)
        capture = self.captures.get(tensor.serial)
        if capture is None:
            capture = self.captures[tensor.serial] = (tensor, self.graph.add_input(tensor.spec))
        return capture[1]

    def _is_outer(self, value: Value) -> bool:
        outer = self.parent
        while outer is not None:
            if outer.graph is value.graph:
                return True
            outer = outer.parent
        return False

    def run(
        self, op: Op, inputs: tuple[Tensor, ...], attrs: Mapping[str, Any], location: Location | None
    ) -> tuple[Tensor, ...]:
        if self.overlaps:
            Trace.reading(op, inputs, attrs)
        values = tuple([self.value(t) for t in inputs])
        try:
            for v in values:
                if v.spec.dtype is TEXT:
                    require_text(op)
            specs = op.specs(tuple([v.spec for v in values]), attrs)
        except Exception as error:
            raise explain(op, inputs, attrs, error, location) from None
        outputs = tuple([Tensor(v, v.spec) for v in self.graph.add(op, values, attrs, specs, location)])
        if Trace.viewing is not None and inputs and outputs:
            Trace.viewing(op, inputs, attrs, outputs[0])
        if self.heard is not None and not op.literal:
            self.heard.append((op, inputs, attrs, outputs, location))
        return outputs

    def hold(self, owner: Any, spec: TensorSpec) -> VariableState:
        """The state of a Variable in this trace; its value at entry becomes an input on first use."""
        held = self.held.get(id(owner))
        if held is None:
            entry = self.add_input(spec)
            held = self.held[id(owner)] = VariableState(owner, entry, entry)
        return held

    def lift(self, tensor: Tensor) -> Tensor:
        """The tensor as one of this trace: outer ones become the input that captures them."""
        value = self.value(tensor)
        return tensor if tensor._payload is value else Tensor(value, value.spec)


class _Counter:
    """Names for trip counts; `taken` are those that sizes of inputs have, of a seed for example."""

    next_number: int

    def __init__(self) -> None:
        self.given: list[str] = []
        self.next_number = 0
        self.taken: set[str] = set()

    def next(self) -> str:
        while (name := f"t{self.next_number}") in self.taken:
            self.next_number += 1
        self.next_number += 1
        self.given.append(name)
        return name

    @property
    def used(self) -> int:
        """How many names were given."""
        return len(self.given)

    def since(self, used: int) -> set[str]:
        """The names given since `used` of them were."""
        return set(self.given[used:])


def fresh_trip() -> Size:
    """A new atom for a loop whose trip count is known only when it has run."""
    tracer = state.interpreter
    return Dim.of(tracer.trips.next()) if isinstance(tracer, Trace) else Dim.of("t")


@dataclass
class Traced:
    """A finished trace.

    Attributes
    ----------
    graph : Graph
        Inputs are the arguments, then what is taken in each call, the captured tensors, and the Variables read (in
        order of first use).
    captured : list of Tensor
        The outer tensors behind the inputs that follow the arguments, Variables excepted.
    held : list of Held
        The Variables, in the order of their inputs.
    taken : sequence of Taken
        What each call takes from outside.
    """

    graph: Graph
    captured: list[Tensor]
    held: list[VariableState]
    taken: Sequence[Taken] = ()


def trace(
    f: Callable[..., Any],
    specs: Sequence[TensorSpec],
    name: str = "f",
    assumptions: Assumptions | None = None,
    is_part: bool = False,
) -> Traced:
    """Run ``f(*symbolic tensors) -> sequence of tensors`` once and return its graph.

    What `is_part` of the function that is being traced, as a branch is, goes by the name of that in messages.
    """
    outer = state.interpreter if isinstance(state.interpreter, Trace) else None
    tracer = Trace(name, outer, is_part)
    try:
        if assumptions is None and outer is not None:
            return _trace(tracer, f, specs)
        with assuming(assumptions or Assumptions()) as context:
            traced = _trace(tracer, f, specs)
            assert context is not None
            traced.graph.guards = tuple(context.guards)
            return traced
    except RecursionError as error:
        raise too_deep(error) from None


@enters_trace
def _trace(tracer: Trace, f: Callable[..., Any], specs: Sequence[TensorSpec]) -> Traced:
    graph, in_charge = tracer.graph, interpreting(tracer)
    try:
        with in_charge:
            arguments = [tracer.add_input(s) for s in specs]
            tensors = [as_tensor(o) for o in f(*arguments)]
            if tracer.overlaps and tracer.parent is None:
                Trace.reading(None, tensors, {})
            results = list(map(tracer.value, tensors))
            held = list(tracer.held.values())
            for h in held:
                h.assigned = h.assigned and not h.local
            updates = [(h, tracer.value(h.now)) for h in held if h.assigned]
    except BaseException:
        in_charge.__exit__()  # a signal may have come between the end of the block and what puts all back
        raise
    finally:
        graph.finished = True
    captured = list(tracer.captures.values())
    taken = [t.value for each in tracer.taken for t in each.tensors]
    graph.inputs = [
        *(a.value for a in arguments),
        *taken,
        *(v for _, v in captured),
        *(h.entry.value for h in held),
    ]
    graph.outputs = [*results, *(v for _, v in updates)]
    position = {v: i for i, v in enumerate(graph.inputs)}
    graph.state = tuple((position[h.entry.value], len(results) + i) for i, (h, _) in enumerate(updates))
    return Traced(graph, [t for t, _ in captured], held, tracer.taken)


def replay(graph: Graph, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Run the graph on `tensors` under the current interpreter; returns its outputs.

    Sizes the graph was traced with are replaced by the sizes found here, in attributes and regions too.
    """
    env: dict[Value, Tensor] = dict(zip(graph.inputs, tensors, strict=True))
    sizes: dict[str, Size] = {}
    bound: set[str] = set()
    for value, tensor in env.items():
        if value.spec.symbolic:
            bind(value.spec, tensor.shape, sizes, bound)
    saved = state.location
    try:
        for node in graph.nodes:
            state.location = saved or node.location
            attrs = {k: resize(v, sizes) for k, v in node.attrs.items()} if sizes else node.attrs
            out = apply(node.op, tuple([env[v] for v in node.inputs]), attrs)
            if out.__class__ is not tuple:
                env[node.outputs[0]] = out
                continue
            for value, tensor in zip(node.outputs, out, strict=False):  # a recorded form may return more
                if value.spec.symbolic and not bind(value.spec, tensor.shape, sizes, bound):
                    shape = tuple([substitute(s, sizes) for s in value.spec.shape])
                    tensor = ops.with_sizes(tensor, shape=shape)
                env[value] = tensor
    finally:
        state.location = saved
    return tuple([env[v] for v in graph.outputs])


def bind(spec: TensorSpec, shape: Sequence[Size], sizes: dict[str, Size], bound: set[str]) -> bool:
    """Note what the sizes of `spec` are here; False where one that is known already goes by another name.

    A graph may know the trip count of a loop from an input as well: each run of a loop names its own anew.
    """
    agreed = True
    for old, new in zip(spec.shape, shape, strict=True):
        if not isinstance(old, Dim) or old.atom is None or old.atom.recipe:
            continue
        name = old.atom.name
        if name not in bound:
            bound.add(name)
            if old != new:
                sizes[name] = new
        elif isinstance(new, Dim) and sizes.get(name, old) != new:
            agreed = False
    return agreed


def resize(attr: Any, sizes: Mapping[str, Size]) -> Any:
    """An attribute with its symbolic sizes replaced, regions included."""
    if isinstance(attr, Dim):
        return substitute(attr, sizes)
    if isinstance(attr, tuple):
        return tuple(resize(a, sizes) for a in attr)
    if isinstance(attr, Graph):
        return resize_graph(attr, sizes)
    return attr


def resize_graph(graph: Graph, sizes: Mapping[str, Size]) -> Graph:
    """The graph with its symbolic sizes replaced; itself when it mentions none of them."""
    if not mentions(graph, sizes):
        return graph
    copy = Graph(graph.name, state=graph.state, guards=graph.guards, finished=graph.finished)
    env = {v: copy.add_input(resized(v.spec, sizes)) for v in graph.inputs}
    for node in graph.nodes:
        attrs = {k: resize(v, sizes) for k, v in node.attrs.items()}
        specs = tuple(resized(v.spec, sizes) for v in node.outputs)
        outputs = copy.add(node.op, tuple(env[v] for v in node.inputs), attrs, specs, node.location)
        env.update(zip(node.outputs, outputs, strict=True))
    copy.outputs = [env[v] for v in graph.outputs]
    return copy


def resized(spec: TensorSpec, sizes: Mapping[str, Size]) -> TensorSpec:
    """A spec with its symbolic sizes replaced."""
    return TensorSpec([substitute(s, sizes) for s in spec.shape], spec.dtype) if spec.symbolic else spec
