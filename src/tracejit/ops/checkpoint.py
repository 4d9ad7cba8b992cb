"""Checkpointing: the gradient of a loop that keeps few of its carries and computes the others again.

A loop with a memory policy is recorded as it is. Its vjp is the op `loop_gradient`, which walks the iterations last
to first with a bounded number of snapshots at binomial positions (`revolve`). Compiled, it becomes loops over one
buffer of snapshots that is updated in place. Its own derivatives are gradients of the loop's tangents, which are a loop
with the same policy, so that every order keeps to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.backprop import pull_back
from ..core.dim import Size
from ..core.dispatch import Record, apply
from ..core.graph import Graph
from ..core.op import Joint, defop, ops
from ..core.pushforward import jvp_graph
from ..core.scattered import dense
from ..core.spec import TensorSpec
from ..core.tensor import Tensor
from ..core.trace import trace
from .loop import stacked
from .lowering import Expand
from .regions import REGION, inputs_of_body, run_graph
from .reversal import chosen, divided, reversal, seeds
from .revolve import gap_graph
from .snapshots import driver

# ---- run by kernels -------------------------------------------------------------------------------------


class _Snapshots:
    """The carries at some iterations, no more than `rows` at a time; gives those at any earlier one."""

    def __init__(self, advance: Callable[[Any, int], Any], first: Any, rows: int):
        self.advance, self.rows = advance, rows
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
    (count, init, xs, captured), gs = divided(arrays, attrs)
    plan, reverse = reversal(attrs), attrs["reverse"]
    n = int(count[0]) if count else attrs["length"]

    def index(step: int) -> int:
        return n - 1 - step if reverse else step

    def advance(carries: Any, step: int) -> Any:
        i = index(step)
        return run_graph(plan.step, (np.asarray(i), *carries, *(np.asarray(x[i]) for x in xs), *captured))

    rows = plan.rows(attrs["memory"], attrs["length"])
    snapshots = _Snapshots(advance, [init[k] for k in plan.kept], int(rows))
    carried, g_rows = seeds(plan, attrs, [Tensor(g) for g in gs])
    now = [g.array for g in carried]
    emitted: list[Any] = [[] for _ in plan.back.outputs[len(now) :]]
    for step in reversed(range(n)):
        i = index(step)
        read = (np.asarray(a.array[i]) for a in g_rows)
        carries = snapshots.at(step) if plan.kept else ()
        out = run_graph(
            plan.back, (np.asarray(i), *now, *carries, *(np.asarray(x[i]) for x in xs), *read, *captured)
        )
        now = list(out[: len(now)])
        for row, y in zip(emitted, out[len(now) :], strict=True):
            row.append(y)
    specs = [v.spec for v in plan.back.outputs[len(now) :]]
    ys = [stacked(row, spec, not reverse) for row, spec in zip(emitted, specs, strict=True)]
    return tuple(t.array for t in chosen(plan, attrs, [Tensor(a) for a in (*now, np.int64(n), *ys)]))


# ---- derivatives ----------------------------------------------------------------------------------------


def _per_output(attrs: Mapping[str, Any], found: Sequence[Any]) -> list[Any]:
    """One entry per output of the loop, None for those without a cotangent, the trip count among them."""
    take = iter(found)
    every = [next(take) if s else None for s in attrs["seeded"]]
    return [*every[: attrs["carries"]], None, *every[attrs["carries"] :]]


def _per_input(attrs: Mapping[str, Any], found: Sequence[Any]) -> list[Any]:
    """One entry per input of the loop, None for those whose cotangent the op does not return."""
    take = iter(found)
    return [*(None,) * int(attrs["counted"]), *(next(take) if f else None for f in reversal(attrs).connected)]


def _dual(
    record: Record, tangents: Sequence[Any], gs: Sequence[Any], wanted: Sequence[bool]
) -> tuple[list[Any], list[Any]]:
    """The loop with its tangents as carries, and back through it with its policy.

    `tangents` are those of the loop's inputs, `gs` weigh its results. Returns the tangents of its results, and
    the gradient by the wanted inputs of the sum of ``g . tangent`` over the op's own cotangents, and of the `gs`.
    """
    attrs = record.attrs
    inputs = record.inputs[: len(tangents)]
    names = ("carries", "rows", "length", "counted", "body", "reverse", "memory")
    own = {**{k: attrs[k] for k in names}, "cond": None}
    loop = trace(lambda *xs: apply(ops.loop, xs, own), [t.spec for t in inputs], attrs["body"].name).graph
    dual, connected = jvp_graph(loop, tuple(t is not None for t in tangents))
    weights = _per_output(attrs, record.inputs[len(tangents) :])
    moving = [t for t in tangents if t is not None]
    results, found = pull_back(
        dual,
        (*inputs, *moving),
        [*gs, *(w for w, on in zip(weights, connected, strict=True) if on)],
        [*wanted, *(False for _ in moving)],
    )
    take, cotangents = iter(results[len(gs) :]), iter(found)
    return [next(take) if on else None for on in connected], [next(cotangents) if w else None for w in wanted]


def _vjp(record: Record, hs: list, needs: list[bool]) -> list:
    """What pairs with ``J(x)^T g`` is ``h``, and ``h . J(x)^T g = g . J(x) h``: the loop's tangents along h, weighed.

    So the derivative by g is the tangent, that by x the gradient of a loop again, and no more is kept than by it.
    """
    attrs = record.attrs
    tangents = _per_input(attrs, [dense(h) for h in hs])
    n = len(tangents)
    moved, found = _dual(record, tangents, _per_output(attrs, [None] * sum(attrs["seeded"])), needs[:n])
    ends = [*moved[: attrs["carries"]], *moved[attrs["carries"] + 1 :]]
    of_seeds = [t for t, s in zip(ends, attrs["seeded"], strict=True) if s]
    return [*found, *(t if need else None for t, need in zip(of_seeds, needs[n:], strict=True))]


def _jvp(record: Record, ts: list) -> list:
    """The tangent of ``J(x)^T g`` is the gradient by x of ``g . (J(x) t) + t_g . y(x)``: of the loop's own jvp."""
    attrs = record.attrs
    n = len(record.inputs) - sum(attrs["seeded"])
    wanted = [f is not None for f in _per_input(attrs, record.outputs)]
    found = _dual(record, ts[:n], _per_output(attrs, ts[n:]), wanted)[1]
    return [t for t, w in zip(found, wanted, strict=True) if w]


# ---- the op ---------------------------------------------------------------------------------------------


def _inputs_of_body(inputs: Sequence[TensorSpec], attrs: Mapping[str, Any]) -> Sequence[TensorSpec]:
    """Those of the loop's, whose inputs come before the cotangents."""
    own = len(attrs["body"].inputs) - 1 + int(attrs["counted"])
    return inputs_of_body(inputs[:own], attrs)


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
    attrs = {"carries": carries, "rows": rows, "body": body, "seeded": seeded, "wanted": wanted}
    plan = reversal(attrs)
    plan.rows(memory, length)
    own = inputs[int(counted) : int(counted) + len(wanted)]
    return tuple(spec for spec, f in zip(own, plan.connected, strict=True) if f)
