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

from ...core.autodiff.backprop import pull_back
from ...core.autodiff.batching import batch_replay
from ...core.autodiff.pushforward import jvp_graph
from ...core.dim import Size, product
from ...core.ir.graph import Graph
from ...core.op import Joint, defop, ops
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import Record, as_tensor
from ...core.tracing.forms import ImplicitForm
from ...core.tracing.loop_form import INDEX, LoopForm
from ...core.tracing.promotion import joint_dtype
from ...core.tracing.trace import replay, trace
from ..lowering import Expand
from .regions import filled, inputs_of_op, zeros_like

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

    def body(
        i: Tensor, carry: Sequence[Any], xs: Any, held: Sequence[Any]
    ) -> tuple[list[Tensor], tuple[Any, ...]]:
        *old, _, _ = carry
        now = step(old, held)
        moved = _largest([ops.subtract(a, b) for a, b in zip(now, old, strict=True)])
        size = _largest(now)
        allowed = ops.multiply(ops.add(size, unit), tolerance)
        settled = ops.logical_and(ops.less_equal(moved, allowed), ops.less(size, np.inf))
        lost = ops.logical_not(ops.less(ops.add(moved, size), np.inf))
        state = ops.where(settled, SETTLED, ops.where(lost, LOST, GOING_ON))
        return [*now, state, ops.add(i, 1)], ()

    def going_on(carry: Sequence[Any], held: Sequence[Any]) -> Tensor:
        *_, state, done = carry
        return ops.logical_and(ops.equal(state, GOING_ON), ops.less(done, limit))

    first = (*start, as_tensor(np.int64(GOING_ON)), as_tensor(np.int64(0)))
    names = ("step", "going_on")
    *solution, state, _ = LoopForm.written(body, first, (), held, cond=going_on, names=names).apply().carry
    settled = ops.cast(ops.equal(state, SETTLED), dtype=FLOAT)
    message = f"{what} did not converge within {limit} iterations"
    ops.check(settled, message=message, error="RuntimeError")
    return solution


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


def _flat(tensors: Sequence[Tensor], lead: tuple[Any, ...] = ()) -> Tensor:
    """All elements in one axis, behind the `lead` axes."""
    dtype = joint_dtype(*(x.np_dtype for x in tensors))
    rows = [
        ops.reshape(ops.cast(x, dtype=dtype), shape=(*lead, product(x.shape[len(lead) :]))) for x in tensors
    ]
    return rows[0] if len(rows) == 1 else ops.concat(*rows, axis=len(lead))


def _parted(flat: Tensor, like: Sequence[Any]) -> list[Tensor]:
    """The inverse of :func:`_flat`: the last axis as tensors of these shapes and dtypes."""
    lead, parts = flat.shape[:-1], []
    start: Size = 0
    for x in like:
        size = product(x.shape)
        part = ops.slice(flat, slices=(*((0, d, 1) for d in lead), (start, size, 1)))
        parts.append(ops.cast(ops.reshape(part, shape=(*lead, *x.shape)), dtype=x.dtype))
        start = start + size
    return parts


def _jacobian(residual: Graph, x: Sequence[Tensor], held: Sequence[Tensor]) -> Tensor:
    """The matrix dr/dx: all its columns by forward mode at once."""
    k, m = len(x), len(residual.inputs) - len(x)
    pushed, connected = jvp_graph(residual, (True,) * k + (False,) * m)
    n = sum(product(v.shape) for v in x)
    rows = ops.iota(size=n, dtype=INDEX.dtype)
    unit = ops.equal(ops.reshape(rows, shape=(n, 1)), ops.reshape(rows, shape=(1, n)))
    directions = _parted(ops.cast(unit, dtype=joint_dtype(*(v.np_dtype for v in x))), x)
    flags = (False,) * (k + m) + (True,) * k
    outputs, lanes = batch_replay(pushed, (*x, *held, *directions), flags, n)
    columns = iter(zip(outputs[k:], lanes[k:], strict=True))
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
                products = pull_back(residual, point, v, (True,) * k + (False,) * m)[1]
            else:
                take = iter(replay(pushed, (*point, *v))[k:])
                products = [next(take) if on else None for on in connected]
            return [
                ops.negative(y) if u is None else ops.subtract(u, y) for u, y in zip(products, b, strict=True)
            ]

        specs = [v.spec for v in residual.inputs]
        traced = trace(run, [*specs[:k], *specs[:k], *specs], residual.name + "_linear")
        residual.derived[key] = traced.graph
    return residual.derived[key]


def _solved(form: ImplicitForm, b: Sequence[Tensor], transposed: bool) -> Sequence[Tensor]:
    """The v with ``A v = b``, or with the transpose of A, at the solution, differentiable in everything."""
    residual, x, held = form.residual, form.outputs, form.others
    if form.direct:
        matrix = _jacobian(residual, x, held)
        return _solved_directly(ops.transpose(matrix, perm=(1, 0)) if transposed else matrix, b)
    linear = _linear(residual, len(x), transposed)

    def step(v: Sequence[Tensor], others: Sequence[Tensor]) -> list[Tensor]:
        return [ops.subtract(a, r) for a, r in zip(v, replay(linear, (*v, *others)), strict=True)]

    others = (*b, *x, *held)
    what = f"the derivative of {form.what}"
    v = iterate(step, fixed(b), fixed(others), form.tolerance, form.limit, what, 0.0)
    return form.replace(unknowns=v, others=others, residual=linear).apply()


# ---- the op ---------------------------------------------------------------------------------------------


def _vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    form = ImplicitForm(record.inputs, record.attrs, record.outputs)
    seeds = [filled(g, y) for g, y in zip(gs, form.outputs, strict=True)]
    v = _solved(form, [ops.negative(g) for g in seeds], True)
    _, wanted = form.split(needs)
    asked = (*(False for _ in form.unknowns), *wanted)
    gradients = iter(pull_back(form.residual, (*form.outputs, *form.others), v, asked)[1])
    return [*(None for _ in form.unknowns), *(next(gradients) if w else None for w in wanted)]


def _jvp(record: Record, ts: list[Any]) -> list[Any]:
    form = ImplicitForm(record.inputs, record.attrs, record.outputs)
    x, (_, tangents) = form.outputs, form.split(ts)
    active = (*(False for _ in x), *(t is not None for t in tangents))
    pushed, connected = jvp_graph(form.residual, active)
    if not any(connected):
        return [None for _ in x]
    moved = replay(pushed, (*x, *form.others, *(t for t in tangents if t is not None)))
    take = iter(moved[len(x) :])
    b = [ops.negative(next(take)) if on else zeros_like(y) for on, y in zip(connected, x, strict=True)]
    return list(_solved(form, b, False))


@defop(
    vjp=Joint(_vjp),
    jvp=_jvp,
    kernel=lambda *arrays, **attrs: ImplicitForm(arrays, attrs).unknowns,
    lower=Expand(lambda *tensors, **attrs: ImplicitForm(tensors, attrs).unknowns),
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
