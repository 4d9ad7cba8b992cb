"""Reverse mode, once: `backprop` walks records backwards; tapes and graphs both hand it records.

Rules are written with public ops, so they run eagerly, on an outer tape, or into a graph. None is the only
zero. Broadcasting is undone here, decided from specs, so no rule has to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from ..dim import Dim, Size, UnknownSize, same
from ..errors import BackwardLocation, GradientError, ShapeError, TracejitError, at, take
from ..ir.graph import Graph, again
from ..op import Joint, ops
from ..spec import DIFFERENTIABLE, TensorSpec
from ..tensor import Overwritten, Tensor, as_recorded
from ..tracing.depth import too_deep
from ..tracing.dispatch import Record, recording, state
from ..tracing.trace import replay, trace
from .scattered import Scattered, add_cotangents, dense, is_nothing, nothing

Cotangent = Any  # Tensor | Scattered | None

#: A serial number that no tensor has: as a source it stands for what nothing connects.
NOBODY = 0


class NoGradient(TracejitError, LookupError):
    """An op without any derivative rule lies between target and source.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.Variable([[[0.5]]])
    >>> with tf.GradientTape() as tape:
    ...     y = tf.image.adjust_contrast(x, 0.5)
    >>> try:
    ...     tape.gradient(y, x)
    ... except tf.errors.NoGradient as error:
    ...     print(type(error).__name__)
    LookupError
    """

    __module__ = "tracejit.errors"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, self.args, vars(self)  # the name leads to Python's own


def _restored(*args: Any) -> NoGradient:
    return NoGradient(*args)


NoGradient.__name__ = NoGradient.__qualname__ = "LookupError"  # programs print the name of what they catch


class RecordList:
    """The recorder that keeps every call, in order."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def record(self, record: Record) -> None:
        self.records.append(record)


def backprop(
    records: list[Record],
    cotangents: dict[int, Cotangent],
    sources: Sequence[int],
    consume: bool = False,
    scattered: bool = False,
) -> list[Cotangent]:
    """Carry cotangents from outputs back to `sources`.

    Parameters
    ----------
    records : list of Record
        What happened, in order; with `consume` each is dropped as it is passed.
    cotangents : dict
        Serial number of a tensor to its cotangent. Emptied as the walk proceeds.
    sources : sequence of int
        Serial numbers whose cotangents are wanted.
    scattered : bool
        Leave cotangents that are zero but for some entries in that form.

    Returns
    -------
    list
        Per source a Tensor, or None where nothing connects it.
    """
    restore_overwritten(records)
    reached = _reached(records, sources)
    wanted = set(sources)
    inherited = state.location
    try:
        for position in range(len(records) - 1, -1, -1):
            record = records.pop() if consume else records[position]
            outputs = record.outputs
            if len(outputs) == 1:
                serial = outputs[0].serial
                g = cotangents.get(serial) if serial in wanted else cotangents.pop(serial, None)
                if g is None:
                    continue
                gs = [g]
            else:
                gs = [
                    cotangents.get(t.serial) if t.serial in wanted else cotangents.pop(t.serial, None)
                    for t in outputs
                ]
                if not any(g is not None for g in gs):
                    continue
            needs = [t.serial in reached and t.np_dtype.kind in DIFFERENTIABLE for t in record.inputs]
            if True in needs:
                place = record.location or inherited
                state.location = place and BackwardLocation(place)
                _propagate(record, gs, needs, cotangents)
    except RecursionError as error:
        raise too_deep(error) from None
    finally:
        state.location = inherited
    gradients = [cotangents.get(s) for s in sources]
    return gradients if scattered else [dense(g) for g in gradients]


def restore_overwritten(records: Iterable[Record]) -> None:
    """Replace tensors that a program has overwritten since by the values that the recorded calls took and gave."""
    if Overwritten.exist:
        for record in records:
            record.inputs = tuple([as_recorded(t) for t in record.inputs])
            record.outputs = tuple([as_recorded(t) for t in record.outputs])


def _reached(records: Iterable[Record], sources: Iterable[int]) -> set[int]:
    """Serials of the tensors that depend on the sources by ops that have a derivative."""
    reached = set(sources)
    for record in records:
        if record.op.severs:
            continue
        for t in record.inputs:
            if t.serial in reached:
                for o in record.outputs:
                    reached.add(o.serial)
                break
    return reached


def _propagate(
    record: Record, gs: list[Cotangent], needs: list[bool], cotangents: dict[int, Cotangent]
) -> None:
    inputs = record.inputs
    for i, g in enumerate(input_cotangents(record, gs, needs)):
        if g is not None:
            t = inputs[i]
            if g.__class__ is not Tensor or g.np_dtype is not t.np_dtype or g.shape != t.shape:
                g = _fit(g, t.spec, record)
            old = cotangents.get(t.serial)
            cotangents[t.serial] = g if old is None else add_cotangents(old, g)


def input_cotangents(record: Record, gs: list[Cotangent], needs: list[bool]) -> list[Cotangent]:
    """Apply the op's rules: one cotangent, or None, per input."""
    op = record.op
    if isinstance(op.vjp, Joint):
        return op.vjp.rule(record, gs, needs)
    g, y = gs[0], record.outputs[0]
    if g.__class__ is not Tensor:
        if is_nothing(g):
            return _nothing_to(record, needs)
        g = dense(g)
    inputs, attrs = record.inputs, record.attrs
    if op.partial is not None:
        return [
            scaled(g, rule(y, *inputs, **attrs)) if need and rule is not None else None
            for rule, need in zip(op.partial, needs, strict=True)
        ]
    if op.vjp is None:
        raise _no_gradient(record)
    rules = op.vjp if len(op.vjp) == len(needs) else (op.vjp[0],) * len(needs)
    return [
        rule(g, y, *inputs, **attrs) if need and rule is not None else None
        for rule, need in zip(rules, needs, strict=True)
    ]


def _nothing_to(record: Record, needs: list[bool]) -> list[Cotangent]:
    """The cotangents of the inputs where that of the result is zero everywhere: no rule need multiply by it."""
    op, inputs = record.op, record.inputs
    rules: Any = op.vjp if op.partial is None else op.partial
    if rules is None:
        raise _no_gradient(record)
    passes = rules if len(rules) == len(needs) else (rules[0],) * len(needs)
    return [
        nothing(t.spec) if need and rule is not None else None
        for t, rule, need in zip(inputs, passes, needs, strict=True)
    ]


def _no_gradient(record: Record) -> NoGradient:
    return NoGradient(f"gradient registry has no entry for: {record.op.type_name}{at(record.location)}")


def scaled(g: Any, partial: Any) -> Tensor:
    """``g * conj(partial)``; the constant partials 1 and -1 cost no multiplication."""
    if partial.__class__ is float:
        return g if partial == 1.0 else ops.negative(g) if partial == -1.0 else ops.multiply(g, partial)
    return ops.multiply(g, ops.conj(partial) if partial.dtype.kind == "c" else partial)


def _fit(g: Cotangent, spec: TensorSpec, record: Record) -> Cotangent:
    """Undo broadcasting and complex promotion, so that a cotangent has its input's spec."""
    if isinstance(g, Scattered):
        return g
    if g.dtype != spec.dtype:
        if g.dtype.kind == "c" and spec.dtype.kind != "c":
            g = ops.real(g)
        if g.dtype != spec.dtype:
            g = ops.cast(g, dtype=spec.dtype)
    return g if g.shape == spec.shape else sum_to(g, spec, record)


def sum_to(g: Tensor, spec: TensorSpec, record: Record) -> Tensor:
    """Sum over the axes that broadcasting added or stretched."""
    lead = len(g.shape) - len(spec.shape)
    if lead < 0:
        raise _misfit(g, spec, record)
    stretched = [i for i, d in enumerate(spec.shape) if d == 1 and g.shape[lead + i] != 1]
    rest = [g.shape[lead + i] for i in range(len(spec.shape)) if i not in stretched]
    if rest != [d for i, d in enumerate(spec.shape) if i not in stretched]:
        if not any(isinstance(d, Dim) for d in (*g.shape, *spec.shape)):
            raise _misfit(g, spec, record)
        stretched = [i for i, d in enumerate(spec.shape) if _was_stretched(d, g.shape[lead + i])]
    axes = (*range(lead), *(lead + i for i in stretched))
    try:
        summed = ops.reduce_sum(g, axis=axes) if axes else g
        return summed if summed.shape == spec.shape else ops.reshape(summed, shape=spec.shape)
    except ShapeError as error:
        raise GradientError(f"the gradient rule of {record.op} does not fit its input: {error}") from error


def _was_stretched(size: Size, to: Size) -> bool:
    """Was it 1, and is repeated? Of a size that is not known that is decided by the call being traced."""
    if isinstance(size, int):
        return size == 1 and to != 1
    try:
        return not same(size, to) and same(size, 1)
    except UnknownSize as error:  # known only while it runs: another name of the same size
        take(error)
        return False


def _misfit(g: Tensor, spec: TensorSpec, record: Record) -> GradientError:
    return GradientError(
        f"the gradient rule of {record.op} returned {g.spec} for an input of {spec}{at(record.location)}"
    )


def linearize(
    graph: Graph, tensors: Sequence[Tensor], first: bool = False
) -> tuple[tuple[Tensor, ...], list[Record]]:
    """Replay the graph on `tensors` and return its outputs with the records of what happened.

    Unless this is the `first` run of it on these tensors nothing is printed, nor is Python called anew.
    """
    listing = RecordList()
    with recording(listing):
        outputs = replay(graph if first else again(graph), tensors)
    return outputs, listing.records


def _distinct(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors, those that come again with new identities: a tensor given twice is two inputs."""
    seen: set[int] = set()
    distinct = []
    for t in tensors:
        distinct.append(ops.identity(t) if t.serial in seen else t)
        seen.add(t.serial)
    return distinct


def with_sizes_of(t: Tensor, y: Tensor) -> Tensor:
    """A cotangent or tangent of `y`, its sizes by the names they have in `y`.

    Trip counts that become sizes have names of their own in each run of a loop, and in a seed.
    """
    return (
        t
        if t.shape == y.shape or not (t.spec.symbolic or y.spec.symbolic)
        else ops.with_sizes(t, shape=y.shape)
    )


def pull_back(
    graph: Graph,
    primals: Sequence[Tensor],
    seeds: Sequence[Cotangent],
    wanted: Sequence[bool],
    scattered: bool = False,
    first: bool = False,
) -> tuple[tuple[Tensor, ...], list[Cotangent]]:
    """Replay the graph on `primals` and carry `seeds` (one per output, or None) back to the wanted inputs.

    Returns the outputs and the cotangents. `first` is that of :func:`linearize`.
    """
    primals = _distinct(primals)
    ys, records = linearize(graph, primals, first)
    cotangents: dict[int, Cotangent] = {}
    for y, g in zip(ys, seeds, strict=True):
        if g is not None:
            g = with_sizes_of(g, y) if g.__class__ is Tensor else g
            old = cotangents.get(y.serial)
            cotangents[y.serial] = g if old is None else add_cotangents(old, g)
    chosen = [x.serial for x, w in zip(primals, wanted, strict=True) if w]
    return ys, backprop(records, cotangents, chosen, consume=True, scattered=scattered)


def gradient_graph(
    graph: Graph, wanted: tuple[bool, ...] | None = None, seeded: tuple[bool, ...] | None = None
) -> tuple[Graph, tuple[bool, ...]]:
    """The reverse-mode transform of a graph.

    ``graph: xs -> ys`` becomes ``(xs, cotangents of the seeded ys) -> cotangents of the wanted xs``.

    Parameters
    ----------
    graph : Graph
    wanted : tuple of bool, optional
        Which inputs to differentiate with respect to; by default every differentiable one.
    seeded : tuple of bool, optional
        Which outputs get a cotangent; by default every differentiable one.

    Returns
    -------
    Graph, tuple of bool
        The gradient graph, whose outputs are the cotangents of the inputs that are connected, and per
        wanted input whether it is connected.
    """
    wanted = wanted or tuple(v.spec.differentiable for v in graph.inputs)
    seeded = seeded or tuple(v.spec.differentiable for v in graph.outputs)
    key = ("gradient", wanted, seeded)
    if key not in graph.derived:
        graph.derived[key] = _gradient_graph(graph, wanted, seeded)
    return graph.derived[key]


def _gradient_graph(
    graph: Graph, wanted: tuple[bool, ...], seeded: tuple[bool, ...]
) -> tuple[Graph, tuple[bool, ...]]:
    n = len(graph.inputs)
    connected: list[bool] = []

    def rule(*args: Tensor) -> list[Tensor]:
        take = iter(args[n:])
        _, grads = pull_back(graph, args[:n], [next(take) if s else None for s in seeded], wanted)
        connected[:] = [g is not None for g in grads]
        return [g for g in grads if g is not None]

    specs = [*(v.spec for v in graph.inputs), *seed_specs(graph, seeded)]
    traced = trace(rule, specs, graph.name + "_grad")
    return traced.graph, tuple(connected)


def seed_specs(graph: Graph, seeded: Sequence[bool]) -> list[TensorSpec]:
    """The specs of the cotangents that a gradient graph takes for the seeded outputs.

    Sizes that no input tells get names of their own: the loops that the gradient graph runs tell theirs.
    """
    told = {a for v in graph.inputs for s in v.spec.shape if isinstance(s, Dim) for a in s.atoms()}
    names = {a.name for a in told}
    renamed: dict[Size, Size] = {}

    def named(size: Size) -> Size:
        if isinstance(size, int) or told.issuperset(size.atoms()):
            return size
        if size not in renamed:
            name = next(n for k in count() if (n := f"g{k}") not in names)
            names.add(name)
            renamed[size] = Dim.of(name)
        return renamed[size]

    specs = [v.spec for v, s in zip(graph.outputs, seeded, strict=True) if s]
    return [s.with_shape(map(named, s.shape)) if s.symbolic else s for s in specs]
