"""Batching: run a graph on many examples at once, by replaying it with values that have one entry per lane.

Inside a replay under `Batching` a tensor is either the same for all lanes or stands for one value per lane; then
the tensor behind it has the lanes as its first axis. An op without such inputs is applied as it is, else its
`batch` rule says how, with the public ops and under the interpreter and the recorders that were in charge before.
So tapes, traces and derivatives see the ops on whole batches and need not know of lanes. Knows no op by name but
those with which it makes axes, and `loop` for ops that have no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..dataclass import dataclass
from ..dim import Dim, Size
from ..errors import Location, ShapeError, TracejitError, as_explained, at
from ..ir.graph import Graph, mentions, walk
from ..op import Op, ops
from ..spec import TensorSpec
from ..tensor import Tensor
from ..tracing.dispatch import apply, as_tensor, interpreting, resuming, state
from ..tracing.loop_form import LoopForm
from ..tracing.trace import replay, resize, trace


class Lanes:
    """What stands behind a tensor with one value per lane: all of them, lanes first."""

    __slots__ = ("tensor",)
    nbytes = 0

    def __init__(self, tensor: Tensor):
        self.tensor: Tensor = tensor


@dataclass(frozen=True)
class Shared:
    """A result of a batch rule that is the same for all lanes."""

    tensor: Tensor


@dataclass(frozen=True)
class Ragged:
    """A result of a batch rule with a number of rows per lane: ``tensor[lane, row]`` means nothing where
    ``row >= count[lane]``. `longest` is the number of rows that it has room for."""

    tensor: Tensor
    count: Tensor
    longest: Tensor


@dataclass(frozen=True)
class Batch:
    """What a batch rule is told beside the inputs, which have the lanes as their first axis where `flags` says so.

    Attributes
    ----------
    size : int or Dim
        The number of lanes.
    flags : tuple of bool
        Which inputs have one value per lane.
    ragged : mapping
        Numbers of rows that differ between lanes, by the atom that stands for them in shapes and attributes.
    counts : tuple
        Per input these numbers where it has such rows, else None.
    """

    size: Size
    flags: tuple[bool, ...]
    ragged: Mapping[str, Ragged] | None = None
    counts: tuple[Tensor | None, ...] = ()

    def spread(self, tensor: Tensor) -> Tensor:
        """A tensor that is the same for all lanes, as one with lanes: a view."""
        return ops.broadcast_to(tensor, shape=(self.size, *tensor.shape))

    def all_spread(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The inputs, all with lanes."""
        return [x if f else self.spread(x) for x, f in zip(inputs, self.flags, strict=True)]

    def rows(self, size: Any) -> Ragged | None:
        """The numbers of rows that `size` stands for, when it is just that."""
        atom = size.atom if isinstance(size, Dim) else None
        return None if atom is None or self.ragged is None else self.ragged.get(atom.name)

    def rank(self, position: int, inputs: Sequence[Tensor]) -> int:
        """The rank of an input as one lane has it."""
        return len(inputs[position].shape) - self.flags[position]


def aligned(x: Tensor, rank: int) -> Tensor:
    """Lanes of lower rank with axes of size 1 behind the lanes, so that they broadcast as one lane would."""
    missing = rank + 1 - len(x.shape)
    return x if missing <= 0 else ops.reshape(x, shape=(x.shape[0], *(1,) * missing, *x.shape[1:]))


class Batching:
    """The interpreter under which a graph is replayed to run for all lanes.

    Attributes
    ----------
    size : int or Dim
        The number of lanes.
    ragged : dict
        Atoms that stand for a number of rows which differs between lanes, with these numbers.
    """

    def __init__(self, size: Size):
        self.size = size
        self.outer: Any = state.interpreter
        self.recorders: Any = state.recorders
        self.ragged: dict[str, Ragged] = {}

    def constant(self, array: np.ndarray) -> Tensor:
        """A literal, the same for all lanes."""
        with resuming(self.outer, self.recorders):
            return as_tensor(array)

    def lanes(self, tensor: Tensor, rows: Size | None = None) -> Tensor:
        """A tensor that has its lanes first, as one lane sees it; `rows` is its number of rows when ragged."""
        shape = tensor.shape[1:] if rows is None else (rows, *tensor.shape[2:])
        return Tensor(Lanes(tensor), TensorSpec(shape, tensor.np_dtype))

    def run(
        self, op: Op, inputs: tuple[Tensor, ...], attrs: Mapping[str, Any], location: Location | None
    ) -> tuple[Tensor, ...]:
        flags = tuple([x._payload.__class__ is Lanes for x in inputs])
        behind = [x._payload.tensor if f else x for x, f in zip(inputs, flags, strict=True)]
        with resuming(self.outer, self.recorders):
            if self.ragged and self._mentioned(inputs, attrs):
                return self._run_ragged(op, inputs, behind, flags, attrs, location)
            if not any(flags):
                return _tuple(apply(op, inputs, attrs))
            return self._wrapped(batched_call(op, Batch(self.size, flags), behind, inputs, attrs))

    def _wrapped(self, results: Any) -> tuple[Tensor, ...]:
        return tuple([self._wrap(y) for y in _tuple(results)])

    def _wrap(self, y: Any) -> Tensor:
        if y.__class__ is Shared:
            return y.tensor
        if y.__class__ is Ragged:
            return self.lanes(y.tensor, self._atom(y))
        return self.lanes(y)

    # ---- rows whose number differs between lanes ------------------------------------------------------------

    def _atom(self, rows: Ragged) -> Size:
        """The size that stands for the numbers of rows: the same one for the same numbers."""
        for name, known in self.ragged.items():
            if known.count is rows.count:
                return Dim.of(name)
        name = f"rows_of_lane_{len(self.ragged)}"
        self.ragged[name] = rows
        return Dim.of(name)

    def _mentioned(self, inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> bool:
        return any(mentions(x.shape, self.ragged) for x in inputs if x.spec.symbolic) or any(
            mentions(v, self.ragged) for v in attrs.values()
        )

    def _run_ragged(
        self,
        op: Op,
        inputs: tuple[Tensor, ...],
        behind: list[Tensor],
        flags: tuple[bool, ...],
        attrs: Mapping[str, Any],
        location: Location | None,
    ) -> tuple[Tensor, ...]:
        """Ops that neither mix rows nor drop them, and those that ask for their number; others are refused."""
        batch = Batch(self.size, flags, self.ragged)
        rows = [batch.rows(x.shape[0]) if x.shape else None for x in inputs]
        batch = replace(batch, counts=tuple([None if r is None else r.count for r in rows]))
        if self._keeps_rows(op, inputs, rows, attrs):
            like = next(r for r in rows if r is not None)
            results = _tuple(batched_call(op, batch, behind, inputs, attrs))
            return self._wrapped([replace(like, tensor=y) for y in results])
        if op in (ops.transpose, ops.with_sizes, ops.fill) and self._keeps_sizes(op, inputs, attrs):
            (spec,) = op.specs(tuple([x.spec for x in inputs]), attrs)
            room = {name: r.tensor.shape[1] for name, r in self.ragged.items()}
            whole = {k: resize(v, room) for k, v in attrs.items()}
            return (Tensor(Lanes(batched_call(op, batch, behind, inputs, whole)), spec),)
        inside = any(isinstance(v, Graph) and mentions(v, self.ragged) for v in attrs.values())
        if "ragged_ok" in op.traits and op.batch is not None and self._only_leading(inputs) and not inside:
            results = op.batch(batch, *behind, **attrs)
            if results is not None:
                return self._wrapped(results)
        raise refused(f"{op} reads", location)

    def _keeps_rows(
        self, op: Op, inputs: Sequence[Tensor], rows: Sequence[Ragged | None], attrs: Mapping[str, Any]
    ) -> bool:
        """Does every row of the result depend on the same rows of the inputs alone?"""
        different = {id(r.count) for r in rows if r is not None}
        if len(different) != 1 or not (op.elementwise or "row_local" in op.traits):
            return False
        rank = max(len(x.shape) for x in inputs)
        fits = all(
            len(x.shape) == rank if r is not None else len(x.shape) < rank or x.shape[0] == 1
            for x, r in zip(inputs, rows, strict=True)
        )
        return (
            fits and self._only_leading(inputs) and not any(mentions(v, self.ragged) for v in attrs.values())
        )

    def _keeps_sizes(self, op: Op, inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> bool:
        """Do the sizes of the result say which rows there are, be it along another axis?"""
        pairs = zip(inputs[0].shape, attrs["shape"], strict=True) if op is ops.with_sizes else ()
        return all(mentions(a, self.ragged) == mentions(b, self.ragged) for a, b in pairs)

    def _only_leading(self, inputs: Sequence[Tensor]) -> bool:
        return not any(mentions(x.shape[1:], self.ragged) for x in inputs)


def refused(what: str, location: Location | None) -> TracejitError:
    """The error about rows that not all lanes have."""
    error = ShapeError(
        f"{what} rows that a loop stacked, and under vmap that loop runs another number of times in each example, so "
        "that their number differs: keep what you need of them in a loop variable, or give the loop a fixed number "
        f"of iterations{at(location)}"
    )
    return as_explained(error)


def batched_call(
    op: Op, batch: Batch, behind: Sequence[Tensor], inputs: Sequence[Tensor], attrs: Mapping[str, Any]
) -> Any:
    """What an op returns for all lanes."""
    if op.batch is not None:
        return op.batch(batch, *behind, **attrs)
    if op.elementwise:
        rank = max(len(x.shape) for x in inputs)
        pairs = zip(behind, batch.flags, strict=True)
        return apply(op, tuple([aligned(x, rank) if f else x for x, f in pairs]), attrs)
    return by_rows(op, batch, behind, attrs)


def by_rows(op: Op, batch: Batch, behind: Sequence[Tensor], attrs: Mapping[str, Any]) -> tuple[Tensor, ...]:
    """One lane after the other: right for every op."""
    rows = [x for x, f in zip(behind, batch.flags, strict=True) if f]
    held = [x for x, f in zip(behind, batch.flags, strict=True) if not f]

    def body(
        i: Tensor, carry: tuple[Any, ...], xs: Sequence[Tensor], consts: Sequence[Tensor]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        row, whole = iter(xs), iter(consts)
        return (), _tuple(apply(op, tuple([next(row) if f else next(whole) for f in batch.flags]), attrs))

    names = (f"{op.name}_of_lane", "cond")
    return tuple(LoopForm.written(body, (), rows, held, length=batch.size, names=names).apply().ys)


def _tuple(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


# ---- graphs ---------------------------------------------------------------------------------------------


def batch_replay(
    graph: Graph, tensors: Sequence[Tensor], flags: Sequence[bool], size: Size
) -> tuple[list[Tensor], list[bool]]:
    """Run the graph for all lanes.

    Parameters
    ----------
    tensors : sequence of Tensor
        Its inputs, with the lanes as their first axis where `flags` says so.

    Returns
    -------
    list of Tensor, list of bool
        Its outputs likewise, and which have lanes.
    """
    batching = Batching(size)
    given = [batching.lanes(x) if f else x for x, f in zip(tensors, flags, strict=True)]
    with interpreting(batching):
        outputs = replay(graph, given)
    for position, y in enumerate(outputs):
        if mentions(y.shape, batching.ragged):
            raise refused(f"{graph.name} returns", _maker(graph, position))
    lanes = [y._payload.__class__ is Lanes for y in outputs]
    return [y._payload.tensor if f else y for y, f in zip(outputs, lanes, strict=True)], lanes


def _maker(graph: Graph, output: int) -> Location | None:
    """Where an output of the graph was made."""
    value = graph.outputs[output]
    return next((n.location for n in graph.nodes if value in n.outputs), None)


def closed(f: Callable[..., Any], specs: Sequence[TensorSpec], name: str) -> Graph:
    """The graph of a function that uses nothing but its arguments."""
    traced = trace(f, specs, name)
    assert not traced.captured, "a batched region takes everything as an argument"
    return traced.graph


def batch_graph(
    graph: Graph, flags: Sequence[bool], size: Size, forced: Sequence[bool] | None = None
) -> tuple[Graph, tuple[bool, ...]]:
    """The graph for all lanes, and which of its outputs have lanes; the `forced` ones do in any case."""
    key = ("batch", tuple(flags), size, None if forced is None else tuple(forced))
    if key not in graph.derived:
        graph.derived[key] = _batch_graph(graph, tuple(flags), size, forced)
    return graph.derived[key]


def _batch_graph(
    graph: Graph, flags: tuple[bool, ...], size: Size, forced: Sequence[bool] | None
) -> tuple[Graph, tuple[bool, ...]]:
    batch = Batch(size, flags)
    lanes: list[bool] = []

    def run(*args: Tensor) -> list[Tensor]:
        outputs, has = batch_replay(graph, args, flags, size)
        wanted = [h or (forced is not None and forced[k]) for k, h in enumerate(has)]
        lanes[:] = wanted
        return [batch.spread(y) if w and not h else y for y, w, h in zip(outputs, wanted, has, strict=True)]

    specs = [lane_specs(v.spec, size) if f else v.spec for v, f in zip(graph.inputs, flags, strict=True)]
    return closed(run, specs, graph.name), tuple(lanes)


def lane_specs(spec: TensorSpec, size: Size) -> TensorSpec:
    """The spec of one lane, for all of them."""
    return TensorSpec((size, *spec.shape), spec.dtype)


def is_total(graph: Graph) -> bool:
    """Can the graph be run on any values: does it always end, and refuse none?"""
    return not any(n.op.runs_graphs or n.op.traits & {"effect", "may_fail"} for _, n in walk(graph))
