"""Graph: a closed SSA program. A region of a control-flow op is a Graph among the node's attributes.

Knows nothing of how graphs are made, differentiated or compiled. Attributes hold canonical data only:
numbers, str, bool, None, dtype, Dim, tuple, Graph and Constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dataclass import dataclass
from ..dim import Dim, Size
from ..errors import Location, TracejitError
from ..lazy import Later
from ..op import Op, ops
from ..seams import graph_text, html
from ..spec import TensorSpec

if TYPE_CHECKING:
    from . import listing
else:
    listing = Later(".listing", __package__)


class InvalidGraph(TracejitError):
    """A graph that breaks the rules of its own structure: a fault of the pass that made it."""


class Value:
    """One SSA value: where it comes from is its `graph`; its spec is all that is known of it.

    Attributes
    ----------
    node : Node or None
        Which added it to the graph, None for inputs. For use while tracing: passes put other nodes in its place.
    """

    __slots__ = ("spec", "graph", "node")
    __array_ufunc__ = None  # NumPy must refuse it, not wrap it in an object array
    nbytes = 0  # no memory yet

    def __init__(self, spec: TensorSpec, graph: Graph):
        self.spec: TensorSpec = spec
        self.graph: Graph = graph
        self.node: Node | None = None

    def __array__(self, *args: object, **kwargs: object) -> np.ndarray:
        raise TypeError("a graph value has no array")


class Node:
    """One op call that will happen: the same five fields as a Record."""

    __slots__ = ("op", "inputs", "attrs", "outputs", "location")

    def __init__(
        self,
        op: Op,
        inputs: tuple[Value, ...],
        attrs: Mapping[str, Any],
        outputs: tuple[Value, ...],
        location: Location | None,
    ):
        self.op: Op = op
        self.inputs: tuple[Value, ...] = inputs
        self.attrs: Mapping[str, Any] = attrs
        self.outputs: tuple[Value, ...] = outputs
        self.location: Location | None = location


@dataclass(frozen=True, eq=False)
class Constant:
    """An array in a graph, known by the hash of its contents."""

    array: np.ndarray
    key: str

    @staticmethod
    def of(array: np.ndarray) -> Constant:
        array = np.ascontiguousarray(array).reshape(np.shape(array))
        head = f"{array.dtype.str if array.dtype.kind != 'V' else array.dtype}{array.shape}".encode()
        import hashlib  # a tenth of the time to import tracejit, and not needed before something is traced

        return Constant(array, hashlib.sha256(head + array.tobytes()).hexdigest()[:24])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def literal(value: Value) -> np.ndarray | None:
    """The array of a value that is a constant of its graph; None of any other."""
    node = value.node
    return node.attrs["value"].array if node is not None and node.op.literal else None


@dataclass(eq=False)
class Graph:
    """Inputs, nodes in an order they can run in, outputs.

    Attributes
    ----------
    state : tuple of (int, int)
        ``(input, output)`` positions: that output is the new value of the Variable read from that input.
    guards : tuple
        Relations between sizes that must hold for the graph to be valid, see ``core.dim``.
    finished : bool
        The trace that made the graph is over; its tensors must not be used any more.
    derived : dict
        What was computed from the graph (gradient graphs, compiled forms), so that it is computed once.
    function : str
        The user's function that it is traced from, for a branch or loop body the one around it; empty where unknown.
    """

    name: str
    inputs: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    state: tuple[tuple[int, int], ...] = ()
    guards: tuple[tuple[str, Size, Size], ...] = ()
    finished: bool = False
    derived: dict[Any, Any] = field(default_factory=dict, repr=False)
    function: str = ""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            about = ": graphs are not built or changed by hand; print one to see it, and walk its `nodes`"
            raise AttributeError(f"a Graph has no {name!r}{'' if name.startswith('_') else about}", name=name)

    def new_value(self, spec: TensorSpec) -> Value:
        return Value(spec, self)

    def add_input(self, spec: TensorSpec) -> Value:
        value = Value(spec, self)
        self.inputs.append(value)
        return value

    def add(
        self,
        op: Op,
        inputs: tuple[Value, ...],
        attrs: Mapping[str, Any],
        specs: tuple[TensorSpec, ...],
        location: Location | None = None,
    ) -> tuple[Value, ...]:
        """Append a node; returns its output values."""
        outputs = tuple([Value(s, self) for s in specs])
        node = Node(op, inputs, attrs, outputs, location)
        for value in outputs:
            value.node = node
        self.nodes.append(node)
        return outputs

    def add_copy(self, node: Node, env: dict[Value, Value]) -> tuple[Value, ...]:
        """Append a copy of another graph's node; `env` maps that graph's values to this one's, and grows."""
        inputs = tuple([env[v] for v in node.inputs])
        outputs = self.add(node.op, inputs, node.attrs, tuple([v.spec for v in node.outputs]), node.location)
        env.update(zip(node.outputs, outputs, strict=True))
        return outputs

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> listing.GraphListing:
        """Its nodes with names, a `GraphListing`; `from_version` and `add_shapes` are accepted, and change nothing.

        Examples
        --------
        >>> import tracejit as tf
        >>> f = tf.function(lambda x: tf.sin(x) + x)
        >>> [(node.name, node.input) for node in f.graph(1.0).as_graph_def().node]
        [('input', []), ('sin', ['input']), ('add', ['sin', 'input'])]
        """
        return listing.GraphListing(self)

    def __str__(self) -> str:
        return graph_text(self)

    def _repr_html_(self) -> str:
        return html(self)


def regions(attrs: Mapping[str, Any]) -> Iterator[Graph]:
    """The graphs among a node's attributes."""
    for value in attrs.values():
        if isinstance(value, Graph):
            yield value


def walk(graph: Graph) -> Iterator[tuple[Graph, Node]]:
    """Every node of the graph and of its regions, outer ones first."""
    stack = [graph]
    while stack:
        current = stack.pop()
        for node in current.nodes:
            yield current, node
            for (
                value
            ) in node.attrs.values():  # as `regions`, of which one for each node would take half the time
                if isinstance(value, Graph):
                    stack.append(value)


def has_effect(node: Node) -> bool:
    """Does it do anything besides its outputs, itself or in its regions, so that it must stay?"""
    if "effect" in node.op.traits:
        return True
    return any(has_effect(n) for region in regions(node.attrs) for n in region.nodes)


def silent(graph: Graph) -> Graph:
    """The graph without what prints: for running it somewhere else, or in another order."""
    return _rewritten(graph, "silent", "prints", lambda op, attrs: None)


def again(graph: Graph) -> Graph:
    """The graph for running it again on the same values, as derivatives do: silent, and without second calls.

    In place of a call that is made once stands the op that gives what a call with the same arguments has given; see
    :func:`noted`. A rule has not run before.
    """
    return _rewritten(silent(graph), "again", "once", _once_more)


def node_again(node: Node) -> Node:
    """The node of a graph that is run again, see :func:`again`; itself where it makes no calls."""
    op, attrs = _once_more(node.op, node.attrs) if "once" in node.op.traits else (node.op, node.attrs)
    graphs = [(k, again(v)) for k, v in attrs.items() if isinstance(v, Graph) and k != "rule"]
    if op is node.op and all(a is attrs[k] for k, a in graphs):
        return node
    return Node(op, node.inputs, {**attrs, **dict(graphs)}, node.outputs, node.location)


def noted(graph: Graph) -> Graph:
    """The graph, for a run that may be followed by one of :func:`again`: its calls note what they give."""
    return _rewritten(graph, "noted", "once", lambda op, attrs: (op, {**attrs, "noted": True}))


def _once_more(op: Op, attrs: Mapping[str, Any]) -> tuple[Op, Mapping[str, Any]]:
    return getattr(ops, op.name + "_again"), {k: v for k, v in attrs.items() if k != "noted"}


#: What stands for an op and its attributes; None for nothing.
_Change = Callable[[Op, Mapping[str, Any]], tuple[Op, Mapping[str, Any]] | None]


def _rewritten(graph: Graph, name: str, trait: str, change: _Change) -> Graph:
    """The graph with ops of a trait changed, in its regions too; itself where there are none."""
    if name not in graph.derived:
        found = any(trait in node.op.traits for _, node in walk(graph))
        graph.derived[name] = _with_changed(graph, name, trait, change) if found else graph
    return graph.derived[name]


def _with_changed(graph: Graph, name: str, trait: str, change: _Change) -> Graph:
    copy = Graph(graph.name, state=graph.state, guards=graph.guards, finished=True)
    env = {v: copy.add_input(v.spec) for v in graph.inputs}
    for node in graph.nodes:
        call = change(node.op, node.attrs) if trait in node.op.traits else (node.op, node.attrs)
        if call is None:
            for v in node.outputs:  # nobody reads them, but a loop may stack them
                if v in graph.outputs:
                    nothing = {"value": Constant.of(np.zeros(tuple(v.spec.shape), v.spec.dtype))}
                    (env[v],) = copy.add(ops.constant, (), nothing, (v.spec,), node.location)
            continue
        op, given = call
        attrs = {
            k: _rewritten(v, name, trait, change) if isinstance(v, Graph) and (name, k) != ("again", "rule") else v
            for k, v in given.items()
        }
        specs = tuple([v.spec for v in node.outputs])
        outputs = copy.add(op, tuple([env[v] for v in node.inputs]), attrs, specs, node.location)
        env.update(zip(node.outputs, outputs, strict=True))
    copy.outputs = [env[v] for v in graph.outputs]
    return copy


def binding_rows(node: Node) -> Sequence[Value]:
    """The stacked rows of a node that is the first to know their number: one of them says what that size is."""
    return () if node.op.binds is None else node.op.binds(node)


def note_sizes(item: Any, sizes: set[str]) -> None:
    """Add the size atoms that a spec, an attribute or a graph mentions."""
    if isinstance(item, TensorSpec):
        if item.symbolic:
            note_sizes(item.shape, sizes)
    elif isinstance(item, Dim):
        sizes.update(a.name for a in item.atoms())
    elif isinstance(item, tuple):
        for part in item:
            note_sizes(part, sizes)
    elif isinstance(item, Graph):
        for v in item.inputs:
            note_sizes(v.spec, sizes)
        for node in item.nodes:
            note_node_sizes(node, sizes)


def note_node_sizes(node: Node, sizes: set[str]) -> None:
    """Add the size atoms that a node's results and attributes mention."""
    for v in node.outputs:
        note_sizes(v.spec, sizes)
    for attr in node.attrs.values():
        note_sizes(attr, sizes)


def mentions(item: Any, sizes: Iterable[str]) -> bool:
    """Does a size, a spec, an attribute or a graph depend on one of the named atoms?"""
    names: set[str] = set()
    note_sizes(item, names)
    return not names.isdisjoint(sizes)


def _needed(graph: Graph, wanted: Iterable[Value]) -> tuple[list[Node], set[Value]]:
    """The nodes, last first, that the given values and their sizes depend on, and all values among these."""
    live = set(wanted)
    sizes: set[str] = set()
    kept: list[Node] = []
    symbolic = any(binding_rows(node) for node in graph.nodes)
    for v in live if symbolic else ():
        note_sizes(v.spec, sizes)
    for node in reversed(graph.nodes):
        rows = binding_rows(node) if symbolic else ()
        says = bool(rows) and mentions(rows[0].spec, sizes)
        if says or any(v in live for v in node.outputs) or has_effect(node):
            live.update(node.inputs)
            kept.append(node)
            if symbolic:
                note_node_sizes(node, sizes)
    return kept, live


def needed_nodes(graph: Graph) -> list[Node]:
    """The nodes that its outputs, and what is done besides, depend on, in order."""
    return _needed(graph, graph.outputs)[0][::-1]


def needed_inputs(graph: Graph, outputs: Iterable[Value]) -> set[Value]:
    """The inputs that the given outputs, and what is done besides, depend on."""
    live = _needed(graph, outputs)[1]
    return {v for v in graph.inputs if v in live}


def restricted(graph: Graph, inputs: Iterable[int], outputs: Iterable[int]) -> Graph:
    """A copy with only some inputs and outputs, and the nodes those outputs need."""
    inputs, wanted = list(inputs), [graph.outputs[i] for i in outputs]
    kept = _needed(graph, wanted)[0]
    copy = Graph(graph.name, guards=graph.guards, finished=True)
    env = {graph.inputs[i]: copy.add_input(graph.inputs[i].spec) for i in inputs}
    for node in reversed(kept):
        copy.add_copy(node, env)
    copy.outputs = [env[v] for v in wanted]
    return copy


def verify(graph: Graph) -> Graph:
    """Check single assignment, order, ownership, specs by shape rule, canonical attributes; returns it."""
    graphs = [graph]
    for current in graphs:  # which grows
        _verify_one(current)
        graphs += [region for node in current.nodes for region in regions(node.attrs)]
    for current in graphs:
        for node in current.nodes:
            _verify_specs(current, node)
    return graph


def _verify_one(graph: Graph) -> None:
    known: set[Value] = set()
    for value in graph.inputs:
        _claim(value, graph, known, "input")
    for node in graph.nodes:
        for value in node.inputs:
            if value not in known:
                raise InvalidGraph(
                    f"{graph.name}: {node.op} uses a value that is not defined before it\n{graph}"
                )
        for value in node.outputs:
            _claim(value, graph, known, node.op.name)
        for key, attr in node.attrs.items():
            if not is_canonical(attr):
                raise InvalidGraph(
                    f"{graph.name}: {node.op} has the attribute {key}={attr!r}, which is not data"
                )
    for value in graph.outputs:
        if value not in known:
            raise InvalidGraph(f"{graph.name} returns a value that is not defined in it")


def _claim(value: Value, graph: Graph, known: set[Value], what: str) -> None:
    if value in known:
        raise InvalidGraph(f"{graph.name}: a value is defined twice, again by {what}")
    if value.graph is not graph:
        raise InvalidGraph(f"{graph.name}: the value defined by {what} belongs to {value.graph.name}")
    known.add(value)


def _verify_specs(graph: Graph, node: Node) -> None:
    ins = tuple(v.spec for v in node.inputs)
    outs = tuple(v.spec for v in node.outputs)
    if any(s.symbolic for s in (*ins, *outs)):
        return  # shape rules of symbolic sizes record guards; they ran when the node was made
    inferred = node.op.specs(ins, node.attrs)
    if inferred != outs:
        raise InvalidGraph(f"{graph.name}: {node.op}{ins} gives {inferred}, the node says {outs}")


def is_canonical(attr: Any) -> bool:
    """Is this attribute plain data, printable and equal by content?"""
    if isinstance(attr, tuple):
        return all(is_canonical(a) for a in attr)
    return attr is None or isinstance(attr, (bool, int, float, complex, str, np.dtype, Dim, Graph, Constant))
