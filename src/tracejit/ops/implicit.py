"""Unknowns defined by equations: the op that knows their derivatives, and the solvers which these take.

However a solution was found, its derivatives follow from the equations it solves, by the implicit function theorem:
where ``r(x, c) = 0``, the tangent of x solves ``A t = -(dr/dc) c'`` and the cotangents of c are ``-(dr/dc)^T v`` with
``A^T v = g``, where A is dr/dx. Both are written with public ops at the solution itself, so they can be
differentiated again. Knows nothing of how users state their equations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.backprop import pull_back
from ..core.batching import batch_replay
from ..core.dim import Size, product
from ..core.dispatch import Record, apply, as_tensor
from ..core.graph import Graph
from ..core.op import Joint, defop, ops
from ..core.pushforward import jvp_graph
from ..core.spec import TensorSpec
from ..core.tensor import Tensor
from ..core.trace import replay, trace
from .lowering import Expand
from .regions import INDEX, filled, inputs_of_op, zeros_like

FLOAT = np.dtype(np.float64)
#: States of an iteration.
GOING_ON, SETTLED, LOST = (np.int64(k) for k in range(3))

Step = Callable[[Sequence[Tensor], Sequence[Tensor]], Sequence[Tensor]]


# ---- solving --------------------------------------------------------------------------------------------


def fixed(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors, with nothing to be differentiated through: how a solution is found does not matter."""
    return [ops.stop_gradient(x) if x.spec.differentiable else x for x in tensors]


def iterate(
    step: Step,
    start: Sequence[Tensor],
    held: Sequence[Tensor],
    tolerance: float,
    limit: int,
    what: str,
    unit: float = 1.0,
) -> list[Tensor]:
    """Replace x by ``step(x, held)`` until no element moves by more than ``tolerance * (unit + max |x|)``.

    RuntimeError when one still does after `limit` steps, or x has become NaN or infinite. Without a `unit` the same
    equations in other units take the same steps, as linear ones must.
    """
    k = len(start)

    def body(i: Tensor, *args: Tensor) -> list[Tensor]:
        old, now = args[:k], step(args[:k], args[k + 2 :])
        moved = _largest([ops.subtract(a, b) for a, b in zip(now, old, strict=True)])
        size = _largest(now)
        allowed = ops.multiply(ops.add(size, unit), tolerance)
        settled = ops.logical_and(ops.less_equal(moved, allowed), ops.less(size, np.inf))
        lost = ops.logical_not(ops.less(ops.add(moved, size), np.inf))
        state = ops.where(settled, SETTLED, ops.where(lost, LOST, GOING_ON))
        return [*now, state, ops.add(i, 1)]

    def going_on(*args: Tensor) -> list[Tensor]:
        return [ops.logical_and(ops.equal(args[k], GOING_ON), ops.less(args[k + 1], limit))]

    specs = [*(x.spec for x in start), INDEX, INDEX]
    others = [x.spec for x in held]
    found = apply(
        ops.loop,
        (*start, as_tensor(np.int64(GOING_ON)), as_tensor(np.int64(0)), *held),
        {
            "carries": k + 2,
            "rows": 0,
            "length": None,
            "counted": False,
            "reverse": False,
            "body": trace(body, [INDEX, *specs, *others], "step").graph,
            "cond": trace(going_on, [*specs, *others], "going_on").graph,
        },
    )
    settled = ops.cast(ops.equal(found[k], SETTLED), dtype=FLOAT)
    message = f"{what} did not converge within {limit} iterations"
    ops.check(settled, message=message, error="RuntimeError")
    return list(found[:k])


def _largest(tensors: Sequence[Tensor]) -> Tensor:
    """The largest magnitude of any element; 0 where there is none, NaN where one is."""
    total = as_tensor(0.0, FLOAT)
    for x in tensors:
        if x.spec.size != 0:
            magnitude = ops.reduce_max(ops.abs(ops.cast(x, dtype=FLOAT)), axis=tuple(range(len(x.shape))))
            total = ops.maximum(total, magnitude)
    return total


def newton_step(residual: Graph) -> Step:
    """One step of Newton's method on ``residual(x, held) = 0``."""

    def step(x: Sequence[Tensor], held: Sequence[Tensor]) -> list[Tensor]:
        down = _solved_directly(_jacobian(residual, x, held), replay(residual, (*x, *held)))
        return [ops.subtract(a, b) for a, b in zip(x, down, strict=True)]

    return step


# ---- systems of linear equations in several tensors -----------------------------------------------------


def _flat(tensors: Sequence[Tensor], lead: tuple = ()) -> Tensor:
    """All elements in one axis, behind the `lead` axes."""
    dtype = np.result_type(*(x.dtype for x in tensors))
    rows = [
        ops.reshape(ops.cast(x, dtype=dtype), shape=(*lead, product(x.shape[len(lead) :]))) for x in tensors
    ]
    return rows[0] if len(rows) == 1 else ops.concat(*rows, axis=len(lead))


def _parted(flat: Tensor, like: Sequence[Any]) -> list[Tensor]:
    """The inverse of :func:`_flat`: the last axis as tensors of these shapes and dtypes."""
    lead, found = flat.shape[:-1], []
    start: Size = 0
    for x in like:
        size = product(x.shape)
        part = ops.slice(flat, slices=(*((0, d, 1) for d in lead), (start, size, 1)))
        found.append(ops.cast(ops.reshape(part, shape=(*lead, *x.shape)), dtype=x.dtype))
        start = start + size
    return found


def _jacobian(residual: Graph, x: Sequence[Tensor], held: Sequence[Tensor]) -> Tensor:
    """The matrix dr/dx: all its columns by forward mode at once."""
    k, m = len(x), len(residual.inputs) - len(x)
    pushed, connected = jvp_graph(residual, (True,) * k + (False,) * m)
    n = sum(product(v.shape) for v in x)
    rows = ops.iota(size=n, dtype=INDEX.dtype)
    unit = ops.equal(ops.reshape(rows, shape=(n, 1)), ops.reshape(rows, shape=(1, n)))
    directions = _parted(ops.cast(unit, dtype=np.result_type(*(v.dtype for v in x))), x)
    flags = (False,) * (k + m) + (True,) * k
    found, lanes = batch_replay(pushed, (*x, *held, *directions), flags, n)
    columns = iter(zip(found[k:], lanes[k:], strict=True))
    parts = []
    for y, on in zip(x, connected, strict=True):
        part, own = next(columns) if on else (zeros_like(y), False)
        parts.append(part if own else ops.broadcast_to(part, shape=(n, *y.shape)))
    return ops.transpose(_flat(parts, (n,)), perm=(1, 0))


def _solved_directly(matrix: Tensor, right: Sequence[Tensor]) -> list[Tensor]:
    b = _flat(right)
    if matrix.shape == (1, 1):
        return _parted(ops.divide(b, ops.reshape(matrix, shape=(1,))), right)
    column = ops.solve(matrix, ops.reshape(b, shape=(b.shape[0], 1)))
    return _parted(ops.reshape(column, shape=b.shape), right)


def _linear(residual: Graph, k: int, transposed: bool) -> Graph:
    """``(v, b, x, c) -> A v - b``, or with the transpose of A, which is dr/dx."""
    key = ("linear", k, transposed)
    if key not in residual.derived:
        m = len(residual.inputs) - k
        pushed, connected = jvp_graph(residual, (True,) * k + (False,) * m)

        def run(*args: Tensor) -> list[Tensor]:
            v, b, point = args[:k], args[k : 2 * k], args[2 * k :]
            if transposed:
                found = pull_back(residual, point, v, (True,) * k + (False,) * m)[1]
            else:
                take = iter(replay(pushed, (*point, *v))[k:])
                found = [next(take) if on else None for on in connected]
            return [
                ops.negative(y) if u is None else ops.subtract(u, y) for u, y in zip(found, b, strict=True)
            ]

        specs = [v.spec for v in residual.inputs]
        traced = trace(run, [*specs[:k], *specs[:k], *specs], residual.name + "_linear")
        residual.derived[key] = traced.graph
    return residual.derived[key]


def _solved(
    attrs: dict, x: Sequence[Tensor], held: Sequence[Tensor], b: Sequence[Tensor], transposed: bool
) -> list[Tensor]:
    """The v with ``A v = b``, or with the transpose of A, differentiable in everything."""
    residual, k = attrs["residual"], attrs["unknowns"]
    if attrs["direct"]:
        matrix = _jacobian(residual, x, held)
        return _solved_directly(ops.transpose(matrix, perm=(1, 0)) if transposed else matrix, b)
    linear = _linear(residual, k, transposed)

    def step(v: Sequence[Tensor], others: Sequence[Tensor]) -> list[Tensor]:
        return [ops.subtract(a, r) for a, r in zip(v, replay(linear, (*v, *others)), strict=True)]

    others = (*b, *x, *held)
    what = f"the derivative of {attrs['what']}"
    v = iterate(step, fixed(b), fixed(others), attrs["tolerance"], attrs["limit"], what, 0.0)
    return list(apply(ops.implicit, (*v, *others), {**attrs, "residual": linear}))


# ---- the op ---------------------------------------------------------------------------------------------


def _vjp(record: Record, gs: list, needs: list[bool]) -> list:
    attrs, x = dict(record.attrs), record.outputs
    k = attrs["unknowns"]
    held = record.inputs[k:]
    seeds = [filled(g, y) for g, y in zip(gs, x, strict=True)]
    v = _solved(attrs, x, held, [ops.negative(g) for g in seeds], True)
    wanted = needs[k:]
    found = iter(pull_back(attrs["residual"], (*x, *held), v, (False,) * k + tuple(wanted))[1])
    return [None] * k + [next(found) if w else None for w in wanted]


def _jvp(record: Record, ts: list) -> list:
    attrs, x = dict(record.attrs), record.outputs
    k = attrs["unknowns"]
    held, active = record.inputs[k:], [t is not None for t in ts[k:]]
    pushed, connected = jvp_graph(attrs["residual"], (False,) * k + tuple(active))
    if not any(connected):
        return [None] * k
    take = iter(replay(pushed, (*x, *held, *(t for t in ts[k:] if t is not None)))[k:])
    b = [ops.negative(next(take)) if on else zeros_like(y) for on, y in zip(connected, x, strict=True)]
    return _solved(attrs, x, held, b, False)


@defop(
    vjp=Joint(_vjp),
    jvp=_jvp,
    kernel=lambda *arrays, unknowns, **attrs: arrays[:unknowns],
    lower=Expand(lambda *tensors, unknowns, **attrs: tensors[:unknowns]),
    region_specs={"residual": inputs_of_op},
    traits=("multiple", "runs_graphs", "polls", "internal"),
)
def implicit(
    *inputs: TensorSpec,
    residual: Graph,
    unknowns: int,
    direct: bool,
    tolerance: float,
    limit: int,
    what: str,
) -> tuple[TensorSpec, ...]:
    """Unknowns that solve ``residual(unknowns, others) = 0``, passed on with the derivatives of the solution.

    The derivatives' linear systems are solved `direct`\\ ly, or else by iteration, which takes that ``x - r(x)`` draws
    near to the solution: to the relative `tolerance`, within `limit` steps. `what` names the solver in messages.
    """
    return inputs[:unknowns]
