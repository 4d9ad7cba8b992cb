"""Graphs from files: their text is validated by tracing it again through the ops.

Compiled code believes its graph: a size that is too large in a file would let it read memory that is nobody's. So
nothing in the text is believed but which ops are called on what, with which attributes. All of it is called again
through the door: every spec is what the shape rules say, of arrays as they are. What reaches outside of the program,
and what is larger than anything sensible, is refused. Knows no file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..dim import Assumptions, Size, substitute
from ..ir.attributes import NotAdmitted, check_attributes, need
from ..ir.graph import Graph, Node, Value, note_sizes
from ..ir.text import parse
from ..op import Op, ops
from ..spec import TensorSpec
from ..tensor import Tensor
from .dispatch import apply, state
from .loop_form import LoopForm
from .trace import Trace, bind, resize, trace

_PACKAGE = __name__.partition(".")[0] + "."
#: Bytes that a value may take, by default, where its size is in a file.
LIMIT = 1 << 30
_MAX_DEPTH = 32  # regions in regions


def admitted(
    text: str, table: Mapping[str, np.ndarray], specs: Sequence[TensorSpec], limit: int = 1 << 62
) -> Graph:
    """The graph in a text whose inputs are arrays of the given specs.

    Parameters
    ----------
    text : str
        As :func:`core.text.to_text` writes it; from anywhere.
    table : mapping
        Its constants by their hashes, which are right.
    specs : sequence of TensorSpec
        What its inputs will be. Each size that is not known before the call has a name of its own.
    limit : int
        Bytes that a value of known size may take.

    Raises
    ------
    NotAdmitted
        The text is damaged, its graph is not valid, or it says something that it must not.
    """
    try:
        graph = parse(text, table)
        taken = [v.spec for v in graph.inputs]
        need(taken == list(specs), f"it takes {taken}, and is to be given {list(specs)}")
        return _Admission(graph, limit).run(specs)
    except NotAdmitted:
        raise
    except RecursionError:
        raise NotAdmitted("the graph is nested too deeply") from None
    except (Exception, StopIteration) as error:  # rules meet attributes here that no trace would give them
        raise NotAdmitted(f"the graph is not valid: {type(error).__name__}: {error}") from error


class _Admission:
    """One graph on its way in."""

    def __init__(self, graph: Graph, limit: int):
        self.graph = graph
        self.limit = limit

    def run(self, specs: Sequence[TensorSpec]) -> Graph:
        known: set[str] = set()
        for spec in specs:
            note_sizes(spec, known)
        for guard in self.graph.guards:
            mentioned: set[str] = set()
            note_sizes(guard, mentioned)
            need(mentioned <= known, "a guard is about a size that is not known before the call")
        context = Assumptions(settled=frozenset(self.graph.guards))
        new = self.traced(self.graph, specs, known, 0, context)
        new.guards = self.graph.guards
        new.state = self.state(new)
        return new

    def state(self, new: Graph) -> tuple[tuple[int, int], ...]:
        """Which outputs are new values of which inputs, each of its own."""
        pairs = self.graph.state
        first = len(new.outputs) - len(pairs)
        need(
            first >= 0 and [o for _, o in pairs] == [*range(first, len(new.outputs))],
            "its state is not in order",
        )
        need(len({i for i, _ in pairs}) == len(pairs), "a Variable is given two values")
        for i, o in pairs:
            need(0 <= i < len(new.inputs), f"there is no input {i}")
            need(new.inputs[i].spec == new.outputs[o].spec, f"input {i} changes its shape or dtype")
        return pairs

    def traced(
        self,
        graph: Graph,
        specs: Sequence[TensorSpec],
        known: set[str],
        depth: int,
        context: Assumptions | None = None,
    ) -> Graph:
        """A graph called again on values of these specs; `known` are the sizes that have a value where it runs."""
        need(depth <= _MAX_DEPTH, "the graph is nested too deeply")
        need(
            len(graph.inputs) == len(specs),
            f"{graph.name} takes {len(graph.inputs)} values, not {len(specs)}",
        )
        traced = trace(lambda *xs: self.again(graph, xs, set(known), depth), specs, graph.name, context)
        need(not traced.captured and not traced.held, f"{graph.name} uses values from outside")
        return traced.graph

    def again(self, graph: Graph, tensors: Sequence[Tensor], known: set[str], depth: int) -> list[Tensor]:
        env: dict[Value, Tensor] = dict(zip(graph.inputs, tensors, strict=True))
        sizes: dict[str, Size] = {}
        bound: set[str] = set()
        for value, tensor in env.items():
            _bind_input(value.spec, tensor.spec, sizes, bound)
        for node in graph.nodes:
            outputs = self.call(node, tuple([env[v] for v in node.inputs]), sizes, known, depth)
            need(len(outputs) == len(node.outputs), f"{node.op} has {len(outputs)} results")
            for value, tensor in zip(node.outputs, outputs, strict=True):
                if value.spec.symbolic and not bind(value.spec, tensor.shape, sizes, bound):
                    tensor = _renamed(tensor, [substitute(s, sizes) for s in value.spec.shape], known)
                env[value] = tensor
        return [env[v] for v in graph.outputs]

    def call(
        self, node: Node, inputs: tuple[Tensor, ...], sizes: Mapping[str, Size], known: set[str], depth: int
    ) -> Sequence[Tensor]:
        """One node, called again."""
        op = node.op
        _check_op(op)
        attrs: dict[str, Any] = {}
        for key, value in node.attrs.items():
            attrs[key] = resize(value, sizes) if sizes else value
        check_attributes(op, inputs, attrs)
        _check_canonical(op, inputs, attrs)
        self.call_regions(op, [t.spec for t in inputs], attrs, known, depth)
        for value in attrs.values():
            _check_known(value, known)
        if op is ops.with_sizes:
            return (_renamed(inputs[0], attrs["shape"], known),)
        if op is ops.loop:
            _check_rows(inputs, attrs)
        trips = _trips()
        out = apply(op, inputs, attrs)
        outputs = out if isinstance(out, tuple) else (out,)
        known |= trips()
        for t in outputs:
            _check_known(t.spec, known)
            self.check_size(t.spec)
        return outputs

    def call_regions(
        self, op: Op, inputs: Sequence[TensorSpec], attrs: dict[str, Any], known: set[str], depth: int
    ) -> None:
        """Replace the graphs among the attributes by what they are when called on what the op gives them."""
        held = [k for k, v in attrs.items() if isinstance(v, Graph)]
        need(not held or op.region_specs is not None, f"{op} is not called in files")
        for key in held and sorted(held, key=list(op.region_specs or ()).index):
            assert op.region_specs is not None
            attrs[key] = self.traced(attrs[key], list(op.region_specs[key](inputs, attrs)), known, depth + 1)

    def check_size(self, spec: TensorSpec) -> None:
        """Is a value, as far as its size is known, no larger than the limit?"""
        size = math.prod([max(s, 1) for s in spec.shape if isinstance(s, int)]) * spec.dtype.itemsize
        need(size <= self.limit, f"a value of {spec} takes more than {self.limit} bytes, see max_bytes")


def _bind_input(spec: TensorSpec, given: TensorSpec, sizes: dict[str, Size], bound: set[str]) -> None:
    """Note what the sizes in the spec of an input are called here; it must be what is given."""
    fits = spec.dtype == given.dtype and len(spec.shape) == len(given.shape)
    need(fits, f"an input of {spec} where {given} is given")
    agreed = bind(spec, given.shape, sizes, bound)
    for old, new in zip(spec.shape, given.shape, strict=True):
        need(agreed and substitute(old, sizes) == new, f"an input of {spec} where {given} is given")


def _renamed(tensor: Tensor, shape: Sequence[Size], known: set[str]) -> Tensor:
    """The tensor with its sizes by other names, which is true when it runs, or it ends there."""
    shape = tuple(shape)
    _check_known(shape, known)
    need(len(shape) == len(tensor.shape), f"{tensor.spec} is given other sizes")
    for old, new in zip(tensor.shape, shape, strict=True):
        if old != new:
            same = ops.equal(ops.size_value(size=old), ops.size_value(size=new))
            _holds(same, f"a size that is {old} is called {new}")
    return ops.with_sizes(tensor, shape=shape)


def _holds(test: Tensor, message: str) -> None:
    ops.check(ops.cast(test, dtype=np.dtype(np.float64)), message=message, error="ValueError")


def _check_rows(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> None:
    """Every iteration has a row of each array that it reads: asserted when the loop runs, where it is not plain."""
    need(LoopForm.fits(inputs, attrs), "a loop with more or fewer operands than it says")
    loop = LoopForm(inputs, attrs)
    need(all(t.shape for t in loop.xs), "a loop that reads rows that are not there")
    if loop.length is not None or not loop.xs:
        return
    need(loop.count is not None, "a loop that reads rows until a condition fails")
    need(loop.count.shape == () and loop.count.dtype == np.int64, "the count of a loop is an int64")
    for size in dict.fromkeys(t.shape[0] for t in loop.xs):
        enough = ops.less_equal(loop.count, ops.size_value(size=size))
        _holds(enough, f"a loop reads more rows than the {size} there are")


def _trips() -> Callable[[], set[str]]:
    """A function that gives the names made for trip counts since now."""
    tracer = state.interpreter
    assert isinstance(tracer, Trace)
    used = tracer.trips.used
    return lambda: tracer.trips.since(used)


def _check_canonical(op: Op, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> None:
    """Is it a call as `canonicalize` leaves it? Shape rules do not look again at what that has seen to."""
    if op.canonicalize is None or op.region_specs is not None:
        return
    canonical, same = op.canonicalize(inputs, dict(attrs))
    kept = len(canonical) == len(inputs) and all(a is b for a, b in zip(canonical, inputs, strict=True))
    need(kept and {**attrs, **same} == attrs, f"{op} is not called as in a trace")


def _check_known(item: Any, known: set[str]) -> None:
    if isinstance(item, Graph):
        return  # called again with what is known there
    mentioned: set[str] = set()
    note_sizes(item, mentioned)
    need(mentioned <= known, f"the size {', '.join(sorted(mentioned - known))} is not known here")


def _check_op(op: Op) -> None:
    """Only what computes, and only ours: no op prints, writes, or calls functions of the program."""
    own = (op.infer.__module__ or "").startswith(_PACKAGE)
    need(
        own and op.traits.isdisjoint(("prints", "this_process")),
        f"{op} is not called in files: it reaches outside of the program",
    )
