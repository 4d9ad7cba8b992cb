"""The loop op: carries go round, rows are read and written one per iteration; closed under vjp and jvp.

Derivatives come from the body's own gradient and jvp graphs. A loop that is recorded also returns the carries it
went through, one row per iteration; its backward is a loop over these rows, last to first, that runs the body's
gradient, or, with a memory policy, `loop_gradient` of ``checkpoint``. Nothing here knows how loops are made from
Python or compiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core.autodiff.backprop import gradient_graph, pull_back
from ...core.autodiff.pushforward import jvp_graph
from ...core.autodiff.scattered import add_cotangents
from ...core.dim import Size, same
from ...core.errors import require
from ...core.ir.graph import Graph
from ...core.op import Joint, defop
from ...core.spec import TensorSpec, shape_text
from ...core.tensor import Tensor
from ...core.tracing.dispatch import Record
from ...core.tracing.loop_form import (
    INDEX,
    LoopForm,
    LoopGradientForm,
    Parts,
    Results,
    traced_body,
    traced_cond,
)
from ...core.tracing.prune import trim_loop
from ...core.tracing.trace import fresh_trip, replay
from ..lowering import Structure
from .batch_loop import batch_loop
from .kept_calls import given_what_is_kept, with_kept
from .regions import (
    REGION,
    filled,
    given,
    inputs_of_body,
    inputs_of_test,
    positions,
    recorded_for_reverse,
    run_graph,
    zeros_like,
)


def _loop_kernel(*inputs: np.ndarray, **attrs: Any) -> tuple[np.ndarray, ...]:
    loop = LoopForm(inputs, attrs)
    cond, carry = loop.cond, loop.init
    limit = int(loop.times) if cond is None else 0
    stacks: list[list[np.ndarray]] = [[] for _ in loop.ys_out]
    done = 0
    while done < limit if cond is None else bool(run_graph(cond, Parts(carry, (), loop.consts).of_cond())[0]):
        i = limit - 1 - done if loop.reverse else done
        given = Parts(carry, [x[i, ...] for x in loop.xs], loop.consts)
        carry, _, written = loop.split_rows(run_graph(loop.body, given.of_body(np.asarray(i, np.int64))))
        for rows, y in zip(stacks, written, strict=True):
            rows.append(y)
        done += 1
    ys = [stacked(rows, v.spec, loop.reverse) for rows, v in zip(stacks, loop.ys_out, strict=True)]
    return tuple(Results(carry, np.asarray(done, np.int64), ys).of_loop())


def stacked(rows: list[np.ndarray], spec: TensorSpec, reverse: bool) -> np.ndarray:
    """The rows of a loop's further outputs, in order of their index, as one array."""
    if not rows:
        known = tuple(d if isinstance(d, int) else 0 for d in spec.shape)
        return np.zeros((0, *known), spec.dtype)
    return np.stack(rows[::-1] if reverse else rows)


def _keeping_carries(inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The recorded form of a loop for reverse mode: its body also returns the carries it was given."""
    attrs = with_kept(LoopForm, inputs, attrs)
    loop = LoopForm(inputs, attrs)
    if loop.keeps_carries or loop.memory != "save" or not recorded_for_reverse():
        return attrs
    body = loop.body
    if "kept" not in body.derived:
        kept = Graph(body.name, guards=body.guards, finished=True)
        env = {v: kept.add_input(v.spec) for v in body.inputs}
        for node in body.nodes:
            kept.add_copy(node, env)
        kept.outputs = [*(env[v] for v in body.outputs), *(env[v] for v in loop.carry_in)]
        body.derived["kept"] = kept
    return loop.replace(body=body.derived["kept"], keeps_carries=True).attrs


def _loop_vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    given = given_what_is_kept(record)
    if given is record:
        return _given_vjp(record, gs, needs)
    own, further = (LoopForm(r.inputs, r.attrs) for r in (record, given))
    rows = len(own.xs)
    wanted = own.split(needs)
    flags = further.per_input(wanted._replace(xs=[*wanted.xs, *(False for _ in further.xs[rows:])]))
    found = further.split(_given_vjp(given, gs, [bool(f) for f in flags]))
    return own.per_input(found._replace(xs=found.xs[:rows]))


def _given_vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    """A loop over the kept carries in the other direction, running the body's gradient graph."""
    loop = LoopForm(record.inputs, record.attrs, record.outputs)
    given_to = loop.split_results(gs)
    if loop.length == 0:  # nothing depends on what it captures, as eagerly
        return loop.per_input(Parts(given_to.carry, [None] * len(loop.xs), [None] * len(loop.consts)))
    wanted, seeded = loop.split(needs), _seeded(given_to)
    if loop.memory != "save":
        return _checkpointed_vjp(loop, given_to, seeded, wanted)
    plan = Activity(loop, seeded, wanted)
    seeds = [filled(g, y) for g, y, a in zip(given_to.carry, loop.final, plan.active, strict=True) if a]
    totals = [zeros_like(x) for x, a in zip(loop.consts, plan.summed, strict=True) if a]
    back = plan.backward().replace(
        init=(*seeds, *totals),
        xs=(*loop.residuals, *loop.xs, *given(given_to.ys)),
        consts=loop.consts,
        count=loop.trips if loop.length is None else None,
        length=loop.length,
        reverse=not loop.reverse,
    )
    return loop.per_input(plan.placed(back.apply()))


def _seeded(gs: Results) -> Results:
    """Which results have a cotangent."""
    return Results([g is not None for g in gs.carry], False, [g is not None for g in gs.ys])


def _checkpointed_vjp(loop: LoopForm, gs: Results, seeded: Results, wanted: Parts) -> list[Any]:
    """One op in place of the backward loop: it computes the carries again as its memory policy says."""
    connected = Activity(loop, seeded, wanted).wanted()
    if not any(connected.flat()):
        return [None] * len(loop.inputs)
    own = loop.replace(count=loop.trips if loop.length is None else None, cond=None)
    gradients = LoopGradientForm.make(own, seeded, wanted, given(gs.of_body())).apply()
    return loop.per_input(connected.spread(gradients))


class Activity:
    """Which cotangents a loop's backward carries: two fixed points over the body.

    A carry varies when it can depend on an input whose cotangent is needed. It is active when it varies and its
    cotangent can be non-zero in some iteration: it was given one, or an active output of the body depends on it.
    """

    def __init__(self, loop: LoopForm, seeded: Results, wanted: Parts):
        self.body: Graph = loop.body
        self._asked = wanted
        specs = loop.split_body([v.spec for v in loop.body.inputs])
        self.loop: LoopForm = LoopForm.make(
            loop.body, *specs
        )  # which holds no tensors: it may live as long as the body
        self.seeded_ys: list[Any] = list(seeded.ys)
        able = self._varying(wanted)
        self.active: list[Any] = [s and a for s, a in zip(seeded.carry, able.carry, strict=True)]
        while True:
            self.connected: Parts = self._gradients(able)
            grown = [a or b for a, b in zip(self.active, self.connected.carry, strict=True)]
            if grown == self.active:
                break
            self.active = grown
        self.emitted: list[bool] = _both(wanted.xs, self.connected.xs)
        self.summed: list[bool] = _both(wanted.consts, self.connected.consts)

    def wanted(self) -> Parts:
        """Is it asked for a cotangent, and does the backward return one?"""
        return Parts(_both(self._asked.carry, self.active), self.emitted, self.summed)

    def _varying(self, wanted: Parts) -> Parts:
        """Can it depend on what is wanted?

        Of the others no cotangent is asked, which spares work, and errors where somebody says there is none.
        """
        loop = self.loop
        inputs = loop.split_body(self.body.inputs)
        pairs = zip(inputs, wanted, strict=True)
        varying = Parts(*([w and v.spec.differentiable for v, w in zip(*p, strict=True)] for p in pairs))
        while True:
            reached = {v for v, on in zip(inputs.flat(), varying.flat(), strict=True) if on}
            for node in self.body.nodes:
                if not reached.isdisjoint(node.inputs):
                    reached.update(v for v in node.outputs if v.spec.differentiable)
            grown = [a or y in reached for a, y in zip(varying.carry, loop.carry_out, strict=True)]
            if grown == varying.carry:
                return varying
            varying = varying._replace(carry=grown)

    def _gradients(self, able: Parts) -> Parts:
        """Does a cotangent reach it?"""
        seeded = tuple(Results(self.active, None, self.seeded_ys).of_body())
        flags = iter(gradient_graph(self.body, able.of_body(False), seeded)[1])
        return Parts(*([a and next(flags) for a in part] for part in able))

    def backward(self) -> LoopForm:
        """The backward loop, of specs: it carries the cotangents of active carries and the sums of those of consts,
        reads the loop's carries, its xs and the cotangents of its ys, and writes the cotangents of its xs."""
        loop = self.loop
        active, summed, emitted = (positions(part) for part in (self.active, self.summed, self.emitted))
        a, c, m = len(active), len(loop.init), len(loop.xs)

        def body(
            i: Any, carry: Sequence[Any], xs: Sequence[Any], consts: Sequence[Any]
        ) -> tuple[list[Any], list[Any]]:
            grads = self._pulled(Parts(xs[:c], xs[c : c + m], consts).of_body(i), carry[:a], xs[c + m :])
            back = [g if (g := grads.carry[k]) is not None else zeros_like(loop.init[k]) for k in active]
            sums = [
                t if (g := grads.consts[k]) is None else add_cotangents(t, g)
                for t, k in zip(carry[a:], summed, strict=True)
            ]
            return given([*back, *sums]), given([grads.xs[k] for k in emitted])

        g_ys = [v.spec for v, s in zip(loop.ys_out, self.seeded_ys, strict=True) if s]
        carried = [*(loop.init[k] for k in active), *(loop.consts[k] for k in summed)]
        specs = Parts(carried, [*loop.init, *loop.xs, *g_ys], loop.consts)
        return LoopForm.make(traced_body(body, specs, self.body.name + "_back"), *specs)

    def placed(self, results: Results) -> Parts:
        """The results of the backward loop as cotangents of the loop's operands."""
        carry, _, consts = Parts(self.active, (), self.summed).spread(results.carry)
        return Parts(carry, Parts((), self.emitted, ()).spread(results.ys).xs, consts)

    def _pulled(self, primals: Sequence[Tensor], g_carry: Sequence[Tensor], g_ys: Sequence[Tensor]) -> Parts:
        """Cotangents of the body's inputs but the index; scattered ones stay so: a sum over iterations
        then adds the few entries instead of the whole array."""
        seeds = Results(self.active, None, self.seeded_ys).spread([*g_carry, *g_ys]).of_body()
        cotangents = pull_back(self.body, primals, seeds, self.connected.of_body(False), scattered=True)[1]
        return self.connected.spread(cotangents)


def _both(a: Sequence[bool], b: Sequence[bool]) -> list[bool]:
    return [x and y for x, y in zip(a, b, strict=True)]


def _loop_jvp(record: Record, ts: list[Any]) -> list[Any]:
    """The same loop over pairs of carries and their tangents."""
    tangents = LoopForm(record.inputs, record.attrs).split(ts)
    given_again = given_what_is_kept(record)
    loop = LoopForm(given_again.inputs, given_again.attrs, record.outputs)
    tangents = tangents._replace(xs=[*tangents.xs, *(None for _ in loop.xs[len(tangents.xs) :])])
    if loop.length == 0:
        return Results(tangents.carry, None, [None] * len(loop.ys)).of_loop()
    fixed = [[t is not None for t in part] for part in (tangents.xs, tangents.consts)]
    moving = Parts([t is not None for t in tangents.carry], *fixed)
    while True:
        dual, connected = jvp_graph(loop.body, moving.of_body(False))
        flags = loop.split_rows(connected)
        grown = [a or b for a, b in zip(moving.carry, flags.carry, strict=True)]
        if grown == moving.carry:
            break
        moving = moving._replace(carry=grown)
    starts = [filled(t, x) for x, t, a in zip(loop.init, tangents.carry, moving.carry, strict=True) if a]
    body, cond = _dual_graphs(loop, dual, flags, moving)
    results = loop.replace(
        body=body,
        cond=cond,
        init=(*loop.init, *starts),
        xs=(*loop.xs, *given(tangents.xs)),
        consts=(*loop.consts, *given(tangents.consts)),
        keeps_carries=False,
    ).apply()
    moved = (*results.carry[len(loop.init) :], *results.ys[len(loop.ys_out) :])
    return flags._replace(carry=moving.carry).spread(moved).of_loop()


def _dual_graphs(loop: LoopForm, dual: Graph, flags: Results, moving: Parts) -> tuple[Graph, Graph | None]:
    """Body and condition of the loop over pairs: each part is followed by the tangents of those that have one."""
    own = loop.split_body([v.spec for v in loop.body.inputs])
    c, m, k = map(len, own)
    pairs = zip(own, moving, strict=True)
    specs = Parts(*([*p, *(s for s, f in zip(p, on, strict=True) if f)] for p, on in pairs))

    def body(
        i: Any, carry: Sequence[Any], xs: Sequence[Any], consts: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        primals = Parts(carry[:c], xs[:m], consts[:k]).of_body(i)
        outputs = replay(dual, (*primals, *carry[c:], *xs[m:], *consts[k:]))
        outs = len(loop.body.outputs)
        ends, _, ys = loop.split_rows(outputs[:outs])
        t_ends, _, t_ys = flags.spread(outputs[outs:])
        new = [filled(t, y) for t, y, a in zip(t_ends, ends, moving.carry, strict=True) if a]
        return [*ends, *new], [*ys, *given(t_ys)]

    def going_on(carry: Sequence[Any], consts: Sequence[Any]) -> Tensor:
        assert loop.cond is not None
        return replay(loop.cond, Parts(carry[:c], (), consts[:k]).of_cond())[0]

    cond = None if loop.cond is None else traced_cond(going_on, specs, loop.cond.name)
    return traced_body(body, specs, dual.name), cond


def _no_iteration_passes(record: Record, i: int) -> str:
    trips = LoopForm(record.inputs, record.attrs, record.outputs).trips.array
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
    binds=LoopForm.binding,
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
    names = {"carries": carries, "rows": rows, "length": length, "counted": counted, "reverse": reverse}
    form = LoopForm(inputs, {**names, "body": body})
    for before, after in zip(form.init, form.carry_out, strict=True):
        require(
            before == after.spec,
            f"a loop variable changes from {before} to {after.spec}; keep its shape and dtype",
        )
    for x in form.xs:
        fits = length is None or (len(x.shape) > 0 and same(x.shape[0], length))
        require(fits, f"an array of {shape_text(x.shape)} scanned by a loop of length {length}")
    if length is not None:
        rows_dim: Size = length
    else:
        rows_dim = form.xs[0].shape[0] if form.xs else fresh_trip()
    ys = [TensorSpec((rows_dim, *v.spec.shape), v.spec.dtype) for v in form.ys_out]
    return tuple(Results(form.init, INDEX, ys).of_loop())
