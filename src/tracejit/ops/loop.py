"""The loop op: carries go round, rows are read and written one per iteration; closed under vjp and jvp.

Derivatives come from the body's own gradient and jvp graphs. A loop that is recorded also returns the carries it
went through, one row per iteration; its backward is a loop over these rows, last to first, that runs the body's
gradient, or, with a memory policy, `loop_gradient` of ``checkpoint``. Nothing here knows how loops are made from
Python or compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.backprop import gradient_graph, pull_back
from ..core.dim import Size, same
from ..core.dispatch import Record, apply
from ..core.errors import require
from ..core.graph import Graph
from ..core.op import Joint, defop, ops
from ..core.prune import trim_loop
from ..core.pushforward import jvp_graph
from ..core.scattered import add_cotangents
from ..core.spec import TensorSpec, shape_text
from ..core.tensor import Tensor
from ..core.trace import fresh_trip, replay, trace
from .batch_loop import batch_loop
from .lowering import Structure
from .regions import (
    INDEX,
    REGION,
    filled,
    given,
    inputs_of_body,
    inputs_of_test,
    loop_parts,
    positions,
    recorded_for_reverse,
    run_graph,
    zeros_like,
)


def _loop_kernel(*inputs: np.ndarray, **attrs: Any) -> tuple[np.ndarray, ...]:
    count, carry, xs, captured = loop_parts(inputs, attrs)
    body, cond, carries = attrs["body"], attrs["cond"], attrs["carries"]
    limit = int(count[0]) if count else attrs["length"]
    stacks: list[list[np.ndarray]] = [[] for _ in body.outputs[carries:]]
    done = 0
    while done < limit if cond is None else bool(run_graph(cond, (*carry, *captured))[0]):
        i = limit - 1 - done if attrs["reverse"] else done
        out = run_graph(body, (np.asarray(i, np.int64), *carry, *(np.asarray(x[i]) for x in xs), *captured))
        carry = out[:carries]
        for rows, y in zip(stacks, out[carries:], strict=True):
            rows.append(y)
        done += 1
    ys = [
        stacked(rows, v.spec, attrs["reverse"])
        for rows, v in zip(stacks, body.outputs[carries:], strict=True)
    ]
    return (*carry, np.asarray(done, np.int64), *ys)


def stacked(rows: list[np.ndarray], spec: TensorSpec, reverse: bool) -> np.ndarray:
    """The rows of a loop's further outputs, in order of their index, as one array."""
    if not rows:
        known = tuple(d if isinstance(d, int) else 0 for d in spec.shape)
        return np.zeros((0, *known), spec.dtype)
    return np.stack(rows[::-1] if reverse else rows)


def _keeping_carries(inputs: Sequence[Tensor], attrs: dict) -> dict:
    """The recorded form of a loop for reverse mode: its body also returns the carries it was given."""
    if attrs.get("kept") or "memory" in attrs or not recorded_for_reverse():
        return attrs
    body, carries = attrs["body"], attrs["carries"]
    if "kept" not in body.derived:
        kept = Graph(body.name, guards=body.guards, finished=True)
        env = {v: kept.add_input(v.spec) for v in body.inputs}
        for node in body.nodes:
            kept.add_copy(node, env)
        kept.outputs = [*(env[v] for v in body.outputs), *(env[v] for v in body.inputs[1 : 1 + carries])]
        body.derived["kept"] = kept
    return {**attrs, "body": body.derived["kept"], "kept": True}


def _loop_vjp(record: Record, gs: list, needs: list[bool]) -> list:
    """A loop over the kept carries in the other direction, running the body's gradient graph."""
    attrs = record.attrs
    if attrs["length"] == 0:  # nothing depends on what it captures, as eagerly
        count, init, *_ = loop_parts(record.inputs, attrs)
        behind = len(count) + len(init)
        return [*(None for _ in count), *gs[: len(init)], *(None for _ in record.inputs[behind:])]
    if "memory" in attrs:
        return _checkpointed_vjp(record, gs, needs)
    count, _, xs, captured = loop_parts(record.inputs, attrs)
    c, body = attrs["carries"], attrs["body"]
    outputs = record.outputs
    kept = outputs[len(outputs) - c :] if c else ()
    trips = outputs[c]
    g_carry, g_ys = gs[:c], gs[c + 1 :]
    plan = Activity(
        body, c, len(xs), [g is not None for g in g_carry], [g is not None for g in g_ys], needs[len(count) :]
    )
    back, places = plan.backward_body()
    seeds = [filled(g, y) for g, y, a in zip(g_carry, outputs[:c], plan.active, strict=True) if a]
    totals = [zeros_like(x) for x, a in zip(captured, plan.summed, strict=True) if a]
    rows = [*kept, *xs, *given(g_ys)]
    ends = {"counted": attrs["length"] is None, "length": attrs["length"], "cond": None}
    found = apply(
        ops.loop,
        (*((trips,) if ends["counted"] else ()), *seeds, *totals, *rows, *captured),
        {
            "carries": len(seeds) + len(totals),
            "rows": len(rows),
            **ends,
            "reverse": not attrs["reverse"],
            "body": back,
        },
    )
    return [None] * len(count) + places(found)


def _checkpointed_vjp(record: Record, gs: list, needs: list[bool]) -> list:
    """One op in place of the backward loop: it computes the carries again as its memory policy says."""
    attrs = record.attrs
    count, init, xs, captured = loop_parts(record.inputs, attrs)
    c, length = attrs["carries"], attrs["length"]
    trips = (record.outputs[c],) if length is None else ()
    seeds = [*gs[:c], *gs[c + 1 :]]
    seeded, wanted = tuple(g is not None for g in seeds), tuple(needs[len(count) :])
    plan = Activity(attrs["body"], c, len(xs), list(seeded[:c]), list(seeded[c:]), list(wanted))
    flags = [w and r for w, r in zip(wanted, plan.returned(), strict=True)]
    if not any(flags):
        return [None] * len(needs)
    chosen = {
        **{k: attrs[k] for k in ("carries", "rows", "length", "body", "reverse", "memory")},
        "counted": length is None,
        "seeded": seeded,
        "wanted": wanted,
    }
    found = iter(apply(ops.loop_gradient, (*trips, *init, *xs, *captured, *given(seeds)), chosen))
    return [None] * len(count) + [next(found) if f else None for f in flags]


class Activity:
    """Which cotangents a loop's backward carries: two fixed points over the body.

    A carry varies when it can depend on an input whose cotangent is needed. It is active when it varies and its
    cotangent can be non-zero in some iteration: it was given one, or an active output of the body depends on it.
    """

    def __init__(
        self,
        body: Graph,
        carries: int,
        rows: int,
        seeded: list[bool],
        seeded_rows: list[bool],
        needs: list[bool],
    ):
        self.body, self.carries, self.rows = body, carries, rows
        self.seeded_rows = seeded_rows
        able = self._varying(needs)
        self.active = [s and a for s, a in zip(seeded, able[:carries], strict=True)]
        while True:
            connected = self._gradients(able)
            back = [w and c for w, c in zip(able, connected, strict=True)]
            grown = [
                a or (b and d) for a, b, d in zip(self.active, back[:carries], able[:carries], strict=True)
            ]
            if grown == self.active:
                break
            self.active = grown
        wanted = [n and c for n, c in zip(needs, connected, strict=True)]
        self.emitted = wanted[carries : carries + rows]
        self.summed = wanted[carries + rows :]
        self.connected = connected

    def returned(self) -> list[bool]:
        """Per initial carry, scanned array and captured: does the backward return its cotangent?"""
        return [*self.active, *self.emitted, *self.summed]

    def _varying(self, needs: Sequence[bool]) -> list[bool]:
        """Per input of the body but the index: can it depend on what is needed?

        Of the others no cotangent is asked, which spares work, and errors where somebody says there is none.
        """
        inputs, c = self.body.inputs[1:], self.carries
        varying = [n and v.spec.differentiable for n, v in zip(needs, inputs, strict=True)]
        while True:
            reached = {v for v, on in zip(inputs, varying, strict=True) if on}
            for node in self.body.nodes:
                if not reached.isdisjoint(node.inputs):
                    reached.update(v for v in node.outputs if v.spec.differentiable)
            grown = [a or y in reached for a, y in zip(varying[:c], self.body.outputs[:c], strict=True)]
            if grown == varying[:c]:
                return varying
            varying[:c] = grown

    def _gradients(self, able: list[bool]) -> list[bool]:
        """Per input of the body but the index: does a cotangent reach it?"""
        seeded = tuple(self.active) + tuple(self.seeded_rows)
        flags = iter(gradient_graph(self.body, (False, *able), seeded)[1])
        return [a and next(flags) for a in able]

    def backward_body(self) -> tuple[Graph, Callable[[Sequence[Tensor]], list]]:
        """The body of the backward loop, and how its results become cotangents of the loop's inputs."""
        c, inputs = self.carries, self.body.inputs[1:]
        active, summed = positions(self.active), positions(self.summed)
        emitted = positions(self.emitted)
        g_rows = [self.body.outputs[c + i].spec for i in positions(self.seeded_rows)]
        captured = inputs[c + self.rows :]

        def body(i: Tensor, *args: Tensor) -> list[Tensor]:
            take = iter(args)
            g_carry = [next(take) for _ in active]
            totals = [next(take) for _ in summed]
            primals = [next(take) for _ in range(c + self.rows)]
            g_ys = [next(take) for _ in g_rows]
            held = [next(take) for _ in captured]
            grads = self._pulled((i, *primals, *held), iter(g_carry), iter(g_ys))
            back = [grads[k] if grads[k] is not None else zeros_like(inputs[k].spec) for k in active]
            sums = [
                t if grads[c + self.rows + k] is None else add_cotangents(t, grads[c + self.rows + k])
                for t, k in zip(totals, summed, strict=True)
            ]
            return given([*back, *sums, *(grads[c + k] for k in emitted)])

        specs = [
            INDEX,
            *(inputs[k].spec for k in active),
            *(captured[k].spec for k in summed),
            *(v.spec for v in inputs[: c + self.rows]),
            *g_rows,
            *(v.spec for v in captured),
        ]
        traced = trace(body, specs, self.body.name + "_back")

        def places(found: Sequence[Tensor]) -> list:
            take = iter((*found[: len(active) + len(summed)], *found[len(active) + len(summed) + 1 :]))
            per_carry = {k: next(take) for k in active}
            per_captured = {k: next(take) for k in summed}
            per_row = {k: next(take) for k in emitted}
            return [
                *(per_carry.get(k) for k in range(c)),
                *(per_row.get(k) for k in range(self.rows)),
                *(per_captured.get(k) for k in range(len(captured))),
            ]

        return traced.graph, places

    def _pulled(self, primals: Sequence[Tensor], g_carry: Iterator[Tensor], g_ys: Iterator[Tensor]) -> list:
        """Cotangents of the body's inputs but the index; scattered ones stay so: a sum over iterations
        then adds the few entries instead of the whole array."""
        seeds = [
            *(next(g_carry) if a else None for a in self.active),
            *(next(g_ys) if s else None for s in self.seeded_rows),
        ]
        found = iter(pull_back(self.body, primals, seeds, (False, *self.connected), scattered=True)[1])
        return [next(found) if c else None for c in self.connected]


def _loop_jvp(record: Record, ts: list) -> list:
    """The same loop over pairs of carries and their tangents."""
    attrs = record.attrs
    count, init, xs, captured = loop_parts(record.inputs, attrs)
    c, m, body = attrs["carries"], attrs["rows"], attrs["body"]
    t_init, t_xs, t_captured = ts[len(count) :][:c], ts[len(count) + c :][:m], ts[len(count) + c + m :]
    if attrs["length"] == 0:
        return [*t_init, *(None for _ in record.outputs[c:])]
    active = [t is not None for t in t_init]
    fixed = [t is not None for t in (*t_xs, *t_captured)]
    while True:
        dual, connected = jvp_graph(body, (False, *active, *fixed))
        grown = [a or b for a, b in zip(active, connected[:c], strict=True)]
        if grown == active:
            break
        active = grown
    dual_body = _dual_body(dual, body, connected, active, fixed, c, m)
    dual_cond = None if attrs["cond"] is None else _widened(attrs["cond"], body, active, fixed, c, m)
    tangents = [zeros_like(x) if t is None else t for x, t, a in zip(init, t_init, active, strict=True) if a]
    found = apply(
        ops.loop,
        (
            *count,
            *init,
            *tangents,
            *xs,
            *(t for t in t_xs if t is not None),
            *captured,
            *(t for t in t_captured if t is not None),
        ),
        {
            **{k: v for k, v in attrs.items() if k != "kept"},
            "carries": c + sum(active),
            "rows": m + sum(t is not None for t in t_xs),
            "body": dual_body,
            "cond": dual_cond,
        },
    )
    return _split_dual(found, connected, active, c, len(body.outputs) - c)


def _dual_order(active: list[bool], fixed: list[bool], c: int, m: int) -> list[int]:
    """Positions in a dual body's arguments (i, carries, tangents, rows, tangents, captured, tangents)
    of what a jvp graph takes (i, carries, rows, captured, then all tangents)."""
    a, r, k = sum(active), sum(fixed[:m]), len(fixed) - m
    carries = list(range(1, 1 + c))
    rows = list(range(1 + c + a, 1 + c + a + m))
    start = 1 + c + a + m + r
    captured = list(range(start, start + k))
    t_carry = list(range(1 + c, 1 + c + a))
    t_rows = list(range(1 + c + a + m, start))
    t_captured = list(range(start + k, start + k + sum(fixed[m:])))
    return [0, *carries, *rows, *captured, *t_carry, *t_rows, *t_captured]


def _dual_specs(body: Graph, active: list[bool], fixed: list[bool], c: int, m: int) -> list[TensorSpec]:
    specs = [v.spec for v in body.inputs]
    carries, rows, captured = specs[1 : 1 + c], specs[1 + c : 1 + c + m], specs[1 + c + m :]
    chosen = [
        [s for s, f in zip(group, flags, strict=True) if f]
        for group, flags in ((carries, active), (rows, fixed[:m]), (captured, fixed[m:]))
    ]
    return [specs[0], *carries, *chosen[0], *rows, *chosen[1], *captured, *chosen[2]]


def _dual_body(
    dual: Graph,
    body: Graph,
    connected: tuple[bool, ...],
    active: list[bool],
    fixed: list[bool],
    c: int,
    m: int,
) -> Graph:
    order = _dual_order(active, fixed, c, m)
    outs = len(body.outputs)

    def run(*args: Tensor) -> list[Tensor]:
        found = replay(dual, [args[p] for p in order])
        take = iter(found[outs:])
        tangents = [next(take) if f else None for f in connected]
        new = [
            zeros_like(y) if t is None else t
            for y, t, a in zip(found[:c], tangents[:c], active, strict=True)
            if a
        ]
        return [*found[:c], *new, *found[c:outs], *(t for t in tangents[c:] if t is not None)]

    return trace(run, _dual_specs(body, active, fixed, c, m), dual.name).graph


def _widened(cond: Graph, body: Graph, active: list[bool], fixed: list[bool], c: int, m: int) -> Graph:
    specs = _dual_specs(body, active, fixed, c, m)
    rows_end = 1 + c + sum(active) + m + sum(fixed[:m])
    captured = len(fixed) - m

    def run(*args: Tensor) -> Sequence[Tensor]:
        held = args[c + sum(active) :]
        return replay(cond, (*args[:c], *held[:captured]))

    return trace(run, [*specs[1 : 1 + c + sum(active)], *specs[rows_end:]], cond.name).graph


def _split_dual(
    found: Sequence[Tensor], connected: tuple[bool, ...], active: list[bool], c: int, ys: int
) -> list:
    a = sum(active)
    take = iter(found[c : c + a])
    t_carry = [next(take) if f else None for f in active]
    take = iter(found[c + a + 1 + ys :])
    return [*t_carry, None, *(next(take) if f else None for f in connected[c:])]


def _no_iteration_passes(record: Record, i: int) -> str:
    trips = record.outputs[record.attrs["carries"]].array
    return "no iteration passes the gradient on" if trips else "it runs for no iteration"


@defop(
    vjp=Joint(_loop_vjp),
    jvp=_loop_jvp,
    vanishes_where=_no_iteration_passes,
    kernel=_loop_kernel,
    lower=Structure("loop"),
    with_residuals=_keeping_carries,
    batch=batch_loop,
    region_specs={"body": inputs_of_body, "cond": inputs_of_test},
    trim=trim_loop,
    traits=(*REGION, "ragged_ok", "polls"),
)
def loop(
    *inputs: TensorSpec,
    carries: int,
    rows: int,
    length: Size | None,
    counted: bool,
    body: Graph,
    cond: Graph | None,
    reverse: bool,
    kept: bool = False,
    memory: int | str = "save",
) -> tuple[TensorSpec, ...]:
    """A sequential loop: carries go round, rows are read and written one per iteration.

    ``inputs`` are the count (when `counted`), the initial carries, the scanned arrays, the captured. The loop
    runs `length` times, or count times, or while `cond` holds. Returns the carries, the trip count, and the
    stacked rows of the body's further outputs. `memory` is what its backward may keep: all the carries
    ("save", and then it is not given), few ("recompute") or so many bytes.
    """
    _, init, xs, _ = loop_parts(inputs, {"counted": counted, "carries": carries, "rows": rows})
    for before, after in zip(init, body.outputs[:carries], strict=True):
        require(
            before == after.spec,
            f"a loop variable changes from {before} to {after.spec}; keep its shape and dtype",
        )
    for x in xs:
        fits = length is None or (len(x.shape) > 0 and same(x.shape[0], length))
        require(fits, f"an array of {shape_text(x.shape)} scanned by a loop of length {length}")
    if length is not None:
        rows_dim: Size = length
    else:
        rows_dim = xs[0].shape[0] if xs else fresh_trip()
    ys = (TensorSpec((rows_dim, *v.spec.shape), v.spec.dtype) for v in body.outputs[carries:])
    return (*init, INDEX, *ys)
