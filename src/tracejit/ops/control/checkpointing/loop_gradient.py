"""Checkpointing: the gradient of a loop that keeps few of its carries and computes the others again.

A loop with a memory policy is recorded as it is. Its vjp is the op `loop_gradient`, which walks the iterations last
to first with a bounded number of snapshots at binomial positions (`schedule`). Compiled, it becomes loops over one
buffer of snapshots that is updated in place. Its own derivatives are gradients of the loop's tangents, which are a loop
with the same policy, so that every order keeps to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ....core.autodiff.backprop import pull_back
from ....core.autodiff.pushforward import jvp_graph
from ....core.autodiff.scattered import dense
from ....core.dim import Size
from ....core.ir.graph import Graph
from ....core.op import Joint, defop
from ....core.spec import TensorSpec
from ....core.tensor import Tensor
from ....core.tracing.dispatch import Record
from ....core.tracing.loop_form import INDEX, LoopGradientForm, Parts, Results
from ....core.tracing.trace import trace
from ...lowering import Expand
from ..loop import stacked
from ..regions import REGION, run_graph
from .reversal import reversal, seeds
from .schedule import gap_graph
from .snapshots import driver

# ---- run by kernels -------------------------------------------------------------------------------------


class _Snapshots:
    """The carries at some iterations, no more than `rows` at a time; gives those at any earlier one."""

    def __init__(self, advance: Callable[[Any, int], Any], first: Any, rows: int):
        self.advance = advance
        self.rows = rows
        self.held = [(0, first)]

    def at(self, step: int) -> Any:
        """The carries that iteration `step` was given; later ones are forgotten."""
        while self._free and step - self.held[-1][0] > self._free + 1:
            position, carries = self.held[-1]
            asked = np.int64(step - position + 1), np.int64(self._free + 1)
            length = int(run_graph(gap_graph(), [np.asarray(a) for a in asked])[0])
            self._go(position, carries, position + length, every=False)
        position, carries = self.held[-1]
        carries = self._go(position, carries, step, every=True)
        assert len(self.held) <= self.rows
        if self.held[-1][0] == step:
            self.held.pop()
        return carries

    @property
    def _free(self) -> int:
        return max(self.rows - 1 - len(self.held), 0)

    def _go(self, position: int, carries: Any, end: int, every: bool) -> Any:
        """Run the iterations from `position` to `end`, keeping the carries after each or after the last."""
        for k in range(position, end):
            carries = self.advance(carries, k)
            if (every or k == end - 1) and self._free:
                self.held.append((k + 1, carries))
        return carries


def _kernel(*arrays: np.ndarray, **attrs: Any) -> tuple[np.ndarray, ...]:
    form = LoopGradientForm(arrays, attrs)
    plan, loop = reversal(form), form.loop
    n = int(loop.times)

    def run(
        graph: Graph, step: int, carry: Any, saved: Any = (), cotangents: Any = ()
    ) -> tuple[np.ndarray, ...]:
        i = n - 1 - step if loop.reverse else step
        rows = [np.asarray(x[i]) for x in (*loop.xs, *cotangents)]
        return run_graph(graph, Parts(carry, [*saved, *rows], loop.consts).of_body(np.asarray(i)))

    def advance(carry: Any, step: int) -> Any:
        return run(plan.step, step, carry)

    rows = plan.rows(loop.memory, loop.length)
    snapshots = _Snapshots(advance, [loop.init[k] for k in plan.kept], int(rows))
    seeded = LoopGradientForm.make(loop, form.seeded, form.wanted, [Tensor(g) for g in form.cotangents])
    carried, g_rows = seeds(seeded)
    now: Sequence[np.ndarray] = [g.array for g in carried]
    g_arrays, back = [g.array for g in g_rows], plan.back
    emitted: list[Any] = [[] for _ in back.ys_out]
    for step in reversed(range(n)):
        carries = snapshots.at(step) if plan.kept else ()
        now, _, out = back.split_rows(run(back.body, step, now, carries, g_arrays))
        for row, y in zip(emitted, out, strict=True):
            row.append(y)
    ys = [stacked(row, v.spec, not loop.reverse) for row, v in zip(emitted, back.ys_out, strict=True)]
    results = Results([Tensor(a) for a in now], None, [Tensor(a) for a in ys])
    return tuple(t.array for t in plan.chosen(results))


# ---- derivatives ----------------------------------------------------------------------------------------


def _spread(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """One entry per flag, None where it is not set."""
    take = iter(values)
    return [next(take) if f else None for f in flags]


def _per_output(form: LoopGradientForm, values: Sequence[Any]) -> list[Any]:
    """One entry per output of the loop, None for those without a cotangent, the trip count among them."""
    return form.seeded.spread(values).of_loop()


def _per_input(form: LoopGradientForm, values: Sequence[Any]) -> list[Any]:
    """One entry per input of the loop, None for those whose cotangent the op does not return."""
    return form.loop.per_input(reversal(form).connected.spread(values))


def _dual(
    form: LoopGradientForm, tangents: Sequence[Any], gs: Sequence[Any], wanted: Sequence[bool]
) -> tuple[list[Any], list[Any]]:
    """The loop with its tangents as carries, and back through it with its policy.

    `tangents` are those of the loop's inputs, `gs` weigh its results. Returns the tangents of its results, and
    the gradient by the wanted inputs of the sum of ``g . tangent`` over the op's own cotangents, and of the `gs`.
    """
    own = form.loop

    def run(*xs: Tensor) -> list[Any]:
        count = None if own.count is None else xs[0]
        init, scanned, consts = own.split(xs)
        return own.replace(count=count, init=init, xs=scanned, consts=consts).apply().of_loop()

    loop = trace(run, [t.spec for t in own.inputs], own.body.name).graph
    dual, connected = jvp_graph(loop, tuple(t is not None for t in tangents))
    weights = _per_output(form, form.cotangents)
    moving = [t for t in tangents if t is not None]
    results, gradients = pull_back(
        dual,
        (*own.inputs, *moving),
        [*gs, *(w for w, on in zip(weights, connected, strict=True) if on)],
        [*wanted, *(False for _ in moving)],
    )
    return _spread(results[len(gs) :], connected), _spread(gradients, wanted)


def _vjp(record: Record, hs: list[Any], needs: list[bool]) -> list[Any]:
    """What pairs with ``J(x)^T g`` is ``h``, and ``h . J(x)^T g = g . J(x) h``: the loop's tangents along h, weighed.

    So the derivative by g is the tangent, that by x the gradient of a loop again, and no more is kept than by it.
    """
    form = LoopGradientForm(record.inputs, record.attrs)
    own, of_cotangents = form.split(needs)
    tangents = _per_input(form, [dense(h) for h in hs])
    nothing = _per_output(form, [None] * len(form.cotangents))
    moved, gradients = _dual(form, tangents, nothing, own)
    ends = form.loop.split_results(moved).of_body()
    of_seeds = [t for t, s in zip(ends, form.seeded.of_body(), strict=True) if s]
    return [*gradients, *(t if need else None for t, need in zip(of_seeds, of_cotangents, strict=True))]


def _jvp(record: Record, ts: list[Any]) -> list[Any]:
    """The tangent of ``J(x)^T g`` is the gradient by x of ``g . (J(x) t) + t_g . y(x)``: of the loop's own jvp."""
    form = LoopGradientForm(record.inputs, record.attrs)
    tangents, of_cotangents = form.split(ts)
    wanted = [f is not None for f in _per_input(form, record.outputs)]
    gradients = _dual(form, tangents, _per_output(form, of_cotangents), wanted)[1]
    return [t for t, w in zip(gradients, wanted, strict=True) if w]


# ---- the op ---------------------------------------------------------------------------------------------


def _inputs_of_body(inputs: Sequence[TensorSpec], attrs: Mapping[str, Any]) -> Sequence[TensorSpec]:
    """Those of the loop's, whose inputs come before the cotangents."""
    return LoopGradientForm(inputs, attrs).loop.specs.of_body(INDEX)


@defop(
    vjp=Joint(_vjp),
    jvp=_jvp,
    kernel=_kernel,
    lower=Expand(driver),
    region_specs={"body": _inputs_of_body},
    traits=(*REGION, "polls"),
)
def loop_gradient(
    *inputs: TensorSpec,
    carries: int,
    rows: int,
    length: Size | None,
    counted: bool,
    body: Graph,
    reverse: bool,
    memory: int | str,
    seeded: tuple[bool, ...],
    wanted: tuple[bool, ...],
) -> tuple[TensorSpec, ...]:
    """The vjp of a loop that keeps no more of its carries at a time than `memory` says.

    ``inputs`` are those of the loop, with the count when `counted`, and the cotangents of the `seeded` ones among its
    carries and rows. Returns the cotangents of the `wanted` inputs that are connected.
    """
    names = {"carries": carries, "rows": rows, "length": length, "counted": counted, "reverse": reverse}
    form = LoopGradientForm(inputs, {**names, "body": body, "seeded": seeded, "wanted": wanted})
    plan = reversal(form)
    plan.rows(memory, length)
    own = Parts(form.loop.init, form.loop.xs, form.loop.consts).flat()
    return tuple(spec for spec, f in zip(own, plan.connected.flat(), strict=True) if f)
