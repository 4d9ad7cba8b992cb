"""Checkpointing in compiled form: one loop over the iterations, last to first, with a buffer of snapshots.

Everything is written with loops and updates of single rows, so the compiler updates the buffer in place and allocates
nothing per iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.dim import Dim, Size
from ..core.dispatch import apply, as_tensor
from ..core.op import defop, ops
from ..core.spec import TensorSpec
from ..core.tensor import Tensor
from ..core.trace import replay, trace
from .lowering import Nests
from .regions import INDEX, zeros_like
from .reversal import Reversal, chosen, divided, reversal, seeds
from .revolve import gap


@defop(
    vjp=(),
    kernel=lambda *, shape, dtype: np.zeros(shape, dtype),
    lower=Nests(lambda b, out, *, shape, dtype: b.empty(out)),
    traits=("view", "no_cse", "internal"),
)
def blank(*, shape: tuple[Size, ...], dtype: np.dtype) -> TensorSpec:
    """A tensor to be written before it is read: memory of its own, which nobody fills."""
    return TensorSpec(shape, dtype)


def _looped(
    body: Callable[..., Sequence[Tensor]],
    init: Sequence[Tensor],
    captured: Sequence[Tensor],
    *,
    rows: Sequence[Tensor] = (),
    count: Tensor | None = None,
    length: Size | None = None,
    cond: Callable[..., Sequence[Tensor]] | None = None,
    reverse: bool = False,
    **policy: int | str,
) -> tuple[Tensor, ...]:
    """A loop whose body and condition are written here; everything they use is among `captured`."""
    carried, held = [t.spec for t in init], [t.spec for t in captured]
    read = [TensorSpec(t.shape[1:], t.dtype) for t in rows]
    attrs = {
        "carries": len(init),
        "rows": len(rows),
        "length": length,
        "counted": count is not None,
        "body": trace(body, [INDEX, *carried, *read, *held], "body").graph,
        "cond": None if cond is None else trace(cond, [*carried, *held], "cond").graph,
        "reverse": reverse,
        **policy,
    }
    return apply(ops.loop, (*(() if count is None else (count,)), *init, *rows, *captured), attrs)


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
    last. What the loops use of the outside, `held`, is: the rows, the captured, the iteration, the number of them.
    """

    def __init__(self, plan: Reversal, attrs: Mapping[str, Any], rows: Size):
        self.plan, self.attrs, self.last = plan, attrs, rows - 1
        self.count = len(plan.kept)

    def start(self, init: Sequence[Tensor]) -> list[Tensor]:
        """The first carries are the first snapshot."""
        zero = _number(0)
        carries = [*(init[k] for k in self.plan.kept), zero]
        shapes = [(self.last + 1, *c.shape) for c in carries]
        blank = [ops.blank(shape=s, dtype=c.dtype) for s, c in zip(shapes, carries, strict=True)]
        return [*(_with_row(b, c, zero) for b, c in zip(blank, carries, strict=True)), zero]

    def filled(self, state: Sequence[Any], held: Sequence[Any]) -> list[Tensor]:
        """The state with the carries of iteration ``held[-2]`` at the top."""
        state = _looped(self.set_one, state, held, cond=self.is_far)[: len(state)]
        *buffers, where, top = state
        length = held[-2] - _row(where, top)
        found = _looped(self.set_next, [*buffers, where], [top, *held], count=length)
        return [*found[: len(buffers) + 1], ops.minimum(top + length, _number(self.last))]

    def is_far(self, *args: Any) -> list[Tensor]:
        """Are there more iterations to go than snapshots to set?"""
        where, top, step = args[self.count], args[self.count + 1], args[-2]
        free = _number(self.last - 1) - top
        far = ops.greater(step - _row(where, top), free + _number(1))
        return [ops.logical_and(far, ops.greater(free, _number(0)))]

    def set_one(self, i: Any, *args: Any) -> list[Tensor]:
        """Go as far as the schedule says and set a snapshot there."""
        buffers, (where, top) = args[: self.count], args[self.count : self.count + 2]
        held = args[self.count + 2 :]
        position = _row(where, top)
        length = gap(held[-2] - position + _number(1), _number(self.last) - top)

        def advance(j: Any, *inner: Any) -> Sequence[Tensor]:
            return self.stepped(inner[: self.count], inner[self.count] + j, inner[self.count + 1 :])

        carries = _looped(advance, [_row(b, top) for b in buffers], [position, *held], count=length)
        top = top + _number(1)
        new = [*carries[: self.count], position + length]
        return [*(_with_row(b, c, top) for b, c in zip((*buffers, where), new, strict=True)), top]

    def set_next(self, j: Any, *args: Any) -> list[Tensor]:
        """One iteration, and a snapshot of it; the last place is used again and again."""
        buffers, (where, top), held = (
            args[: self.count],
            args[self.count : self.count + 2],
            args[self.count + 2 :],
        )
        here = ops.minimum(top + j, _number(self.last))
        there = ops.minimum(here + _number(1), _number(self.last))
        step = _row(where, top) + j
        new = [*self.stepped([_row(b, here) for b in buffers], step, held), step + _number(1)]
        return [_with_row(b, c, there) for b, c in zip((*buffers, where), new, strict=True)]

    def stepped(self, carries: Sequence[Any], step: Any, held: Sequence[Any]) -> Sequence[Tensor]:
        """The carries after iteration `step`."""
        *held, _, total = held
        i = total - _number(1) - step if self.attrs["reverse"] else step
        m = self.attrs["rows"]
        return replay(self.plan.step, (i, *carries, *(_row(x, i) for x in held[:m]), *held[m:]))


def driver(*inputs: Tensor, **attrs: Any) -> list[Tensor]:
    """The gradient as one loop over the iterations, last to first, over a buffer of snapshots."""
    (count, init, xs, captured), gs = divided(inputs, attrs)
    plan, length, reverse = reversal(attrs), attrs["length"], attrs["reverse"]
    total = count[0] if count else _number(length)
    carried, g_rows = seeds(plan, attrs, gs)
    if length == 0:
        return chosen(plan, attrs, [*carried, total, *_no_rows(plan, len(carried))])
    filling = _Filling(plan, attrs, plan.rows(attrs["memory"], length))
    state = filling.start(init) if plan.kept else []
    m, a, s = len(xs), len(carried), len(state)

    def body(i: Any, *args: Any) -> list[Tensor]:
        take = _Parts(args)
        now, state = take(a), take(s)
        read, g_read = take(m), take(len(g_rows))
        whole, held, (total,) = take(m), take(len(captured)), take(1)
        carries: list[Tensor] = []
        if state:
            step = total - _number(1) - i if reverse else i
            state = filling.filled(state, [*whole, *held, step, total])
            top = state[-1]
            carries = [_row(b, top) for b in state[: len(plan.kept)]]
            state = [*state[:-1], top - _number(1)]
        out = replay(plan.back, (i, *now, *carries, *read, *g_read, *held))
        return [*out[:a], *state, *out[a:]]

    found = _looped(
        body,
        [*carried, *state],
        [*xs, *captured, total],
        rows=[*xs, *g_rows],
        count=total if count else None,
        length=length,
        reverse=not reverse,
        memory=attrs["memory"],
    )
    return chosen(plan, attrs, [*found[:a], *found[a + s :]])


def _no_rows(plan: Reversal, carried: int) -> list[Tensor]:
    """The cotangents of scanned arrays without rows."""
    specs = [v.spec for v in plan.back.outputs[carried:]]
    return [zeros_like(spec.with_shape((0, *spec.shape))) for spec in specs]


class _Parts:
    """Takes a sequence apart, some at a time."""

    def __init__(self, items: Sequence[Any]):
        self.items: Iterator[Any] = iter(items)

    def __call__(self, count: int) -> list[Any]:
        return [next(self.items) for _ in range(count)]
