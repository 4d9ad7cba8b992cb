"""Checkpointing in compiled form: one loop over the iterations, last to first, with a buffer of snapshots.

Everything is written with loops and updates of single rows, so the compiler updates the buffer in place and allocates
nothing per iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....core.dim import Dim, Size
from ....core.op import defop, ops
from ....core.spec import TensorSpec
from ....core.tensor import Tensor
from ....core.tracing.dispatch import as_tensor
from ....core.tracing.loop_form import LoopForm, LoopGradientForm, Parts, Results
from ....core.tracing.trace import replay
from ...lowering import Nests
from ..regions import zeros_like
from .reversal import Reversal, reversal, seeds
from .schedule import gap


@defop(
    vjp=(),
    kernel=lambda *, shape, dtype: np.zeros(shape, dtype),
    lower=Nests(lambda b, out, *, shape, dtype: b.empty(out)),
    traits=("view", "no_cse", "internal"),
)
def blank(*, shape: tuple[Size, ...], dtype: np.dtype) -> TensorSpec:
    """A tensor to be written before it is read: memory of its own, which nobody fills."""
    return TensorSpec(shape, dtype)


def _row(x: Any, i: Any) -> Any:
    shape = x.shape[1:]
    starts = [i, *(0 for _ in shape)]
    return ops.reshape(ops.dynamic_slice(x, starts, sizes=(1, *shape)), shape=shape)


def _with_row(x: Tensor, row: Tensor, i: Tensor) -> Tensor:
    starts = [i, *(0 for _ in row.shape)]
    return ops.dynamic_update_slice(x, ops.reshape(row, shape=(1, *row.shape)), starts)


def _number(size: Size) -> Any:
    return ops.size_value(size=size) if isinstance(size, Dim) else as_tensor(np.int64(size))


class _Filling:
    """Brings the carries of one iteration to the top of the snapshots: two loops over their buffers.

    The state is the buffers, one per kept carry, then the iterations the snapshots belong to, then the place of the
    last. What the loops use of the outside, `held`, is: the xs, the consts, the iteration, the number of them.
    """

    def __init__(self, form: LoopGradientForm, rows: Size):
        self.plan = reversal(form)
        self.loop = form.loop
        self.last = rows - 1

    def start(self) -> list[Tensor]:
        """The first carries are the first snapshot."""
        zero = _number(0)
        carries = [*(self.loop.init[k] for k in self.plan.kept), zero]
        shapes = [(self.last + 1, *c.shape) for c in carries]
        blank = [ops.blank(shape=s, dtype=c.dtype) for s, c in zip(shapes, carries, strict=True)]
        return [*(_with_row(b, c, zero) for b, c in zip(blank, carries, strict=True)), zero]

    def filled(self, state: Sequence[Any], held: Sequence[Any]) -> list[Tensor]:
        """The state with the carries of iteration ``held[-2]`` at the top."""
        *buffers, where, top = LoopForm.written(self.set_one, state, (), held, cond=self.is_far).apply().carry
        length = held[-2] - _row(where, top)
        results = LoopForm.written(self.set_next, (*buffers, where), (), (top, *held), count=length).apply()
        return [*results.carry, ops.minimum(top + length, _number(self.last))]

    def is_far(self, state: Sequence[Any], held: Sequence[Any]) -> Tensor:
        """Are there more iterations to go than snapshots to set?"""
        *_, where, top = state
        free = _number(self.last - 1) - top
        far = ops.greater(held[-2] - _row(where, top), free + _number(1))
        return ops.logical_and(far, ops.greater(free, _number(0)))

    def set_one(
        self, i: Any, state: Sequence[Any], xs: Any, held: Sequence[Any]
    ) -> tuple[list[Tensor], tuple[Any, ...]]:
        """Go as far as the schedule says and set a snapshot there."""
        *buffers, where, top = state
        position = _row(where, top)
        length = gap(held[-2] - position + _number(1), _number(self.last) - top)

        def advance(
            j: Any, carry: Sequence[Any], xs: Any, consts: Sequence[Any]
        ) -> tuple[Sequence[Any], tuple[Any, ...]]:
            return self.stepped(carry, consts[0] + j, consts[1:]), ()

        first = [_row(b, top) for b in buffers]
        carries = LoopForm.written(advance, first, (), (position, *held), count=length).apply().carry
        top = top + _number(1)
        new = [*carries, position + length]
        return [*(_with_row(b, c, top) for b, c in zip((*buffers, where), new, strict=True)), top], ()

    def set_next(
        self, j: Any, state: Sequence[Any], xs: Any, held: Sequence[Any]
    ) -> tuple[list[Tensor], tuple[Any, ...]]:
        """One iteration, and a snapshot of it; the last place is used again and again."""
        *buffers, where = state
        top, *held = held
        here = ops.minimum(top + j, _number(self.last))
        there = ops.minimum(here + _number(1), _number(self.last))
        step = _row(where, top) + j
        new = [*self.stepped([_row(b, here) for b in buffers], step, held), step + _number(1)]
        return [_with_row(b, c, there) for b, c in zip(state, new, strict=True)], ()

    def stepped(self, carries: Sequence[Any], step: Any, held: Sequence[Any]) -> Sequence[Tensor]:
        """The carries after iteration `step`."""
        *held, _, total = held
        i = total - _number(1) - step if self.loop.reverse else step
        m = len(self.loop.xs)
        given = Parts(carries, [_row(x, i) for x in held[:m]], held[m:])
        return replay(self.plan.step, given.of_body(i))


def driver(*inputs: Tensor, **attrs: Any) -> list[Tensor]:
    """The gradient as one loop over the iterations, last to first, over a buffer of snapshots."""
    form = LoopGradientForm(inputs, attrs)
    plan, loop = reversal(form), form.loop
    total = _number(loop.times) if loop.count is None else loop.count
    carried, g_rows = seeds(form)
    if loop.length == 0:
        return plan.chosen(Results(carried, total, _no_rows(plan)))
    filling = _Filling(form, plan.rows(loop.memory, loop.length))
    state = filling.start() if plan.kept else []
    m, a = len(loop.xs), len(carried)

    def body(
        i: Any, carry: Sequence[Any], rows: Sequence[Any], consts: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        now, state, total = carry[:a], carry[a:], consts[-1]
        carries: list[Tensor] = []
        if state:
            step = total - _number(1) - i if loop.reverse else i
            *state, top = filling.filled(state, [*consts[:-1], step, total])
            carries = [_row(b, top) for b in state[: len(plan.kept)]]
            state = [*state, top - _number(1)]
        given = Parts(now, [*carries, *rows], consts[m:-1]).of_body(i)
        outputs = plan.back.split_rows(replay(plan.back.body, given))
        return [*outputs.carry, *state], outputs.ys

    results = LoopForm.written(
        body,
        (*carried, *state),
        (*loop.xs, *g_rows),
        (*loop.xs, *loop.consts, total),
        count=loop.count,
        length=loop.length,
        reverse=not loop.reverse,
        memory=loop.memory,
    ).apply()
    return plan.chosen(results._replace(carry=results.carry[:a]))


def _no_rows(plan: Reversal) -> list[Tensor]:
    """The cotangents of scanned arrays without rows."""
    specs = [v.spec for v in plan.back.ys_out]
    return [zeros_like(spec.with_shape((0, *spec.shape))) for spec in specs]
