"""The batch rule of loops.

Where all lanes go round equally often it is one loop whose carries have lanes, those of which a fixed point says so.
Else the loop runs as long as any lane goes on: a lane that has finished keeps its carries, and the number of its
iterations is counted. What such a loop stacks is as long as the longest lane; the rows a lane does not have
may only be read by a loop that runs as often in each lane, as the backward of the loop does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.autodiff.batching import Batch, Ragged, Shared, batch_graph, lane_specs
from ...core.ir.graph import Graph
from ...core.op import ops
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...core.tracing.loop_form import INDEX, LoopForm, Parts, traced_body, traced_cond
from ...core.tracing.trace import replay
from ..batch import any_of, moved
from .batch_regions import harmless, sat_out, select, without_effects

#: ``(active, index, parts) -> carries, ys``: one iteration of the active lanes.
Step = Callable[[Tensor, Tensor, Parts], tuple[list[Tensor], Sequence[Tensor]]]


class _Lanes:
    """A loop that is batched, and which of its operands have lanes; scanned arrays have theirs second."""

    def __init__(self, size: Any, loop: LoopForm, flags: Parts):
        self.size = size
        self.loop = loop
        self.flags = flags

    def body(self, forced: Sequence[bool] | None = None) -> tuple[Graph, tuple[bool, ...]]:
        return batch_graph(self.loop.body, self.flags.of_body(False), self.size, forced)

    def cond(self) -> tuple[Graph, bool]:
        assert self.loop.cond is not None
        graph, (lanes,) = batch_graph(self.loop.cond, self.flags.of_cond(), self.size)
        return graph, lanes

    def spread(self, carried: Sequence[bool]) -> None:
        """Give these carries lanes."""
        spread = Batch(self.size, ()).spread
        triples = zip(self.loop.init, self.flags.carry, carried, strict=True)
        self.loop = self.loop.replace(init=[spread(x) if f and not old else x for x, old, f in triples])
        self.flags = self.flags._replace(carry=carried)


def batch_loop(batch: Batch, *inputs: Tensor, **attrs: Any) -> tuple[Any, ...] | None:
    """One loop for all lanes."""
    loop = LoopForm(inputs, attrs)
    flags, counts = loop.split(batch.flags), loop.split(batch.counts or (None,) * len(inputs))
    per_lane = loop.count is not None and batch.flags[0]
    known = batch.rows(loop.length)
    if known is not None:
        loop, per_lane = loop.replace(length=None, count=known.count), True
    if not _rows_are_there(loop.count if per_lane else None, counts):
        return None
    xs = [moved(x, 1, 0) if f else x for x, f in zip(loop.xs, flags.xs, strict=True)]
    lanes = _Lanes(batch.size, loop.replace(xs=xs), flags)
    if per_lane:
        return _counted(lanes, batch)
    while True:
        with_lanes = loop.split_rows(lanes.body()[1]).carry
        grown = [a or b for a, b in zip(lanes.flags.carry, with_lanes, strict=True)]
        if grown == list(lanes.flags.carry):
            break
        lanes.spread(grown)
    if loop.cond is not None and lanes.cond()[1]:
        return _while_any_goes_on(lanes)
    return _together(lanes)


def _rows_are_there(count: Tensor | None, counts: Parts) -> bool:
    """Is every ragged operand scanned by a loop that runs as often in each lane, by `count`, as the lane has rows?"""
    if any(c is not None for c in (*counts.carry, *counts.consts)):
        return False
    there = [c for c in counts.xs if c is not None]
    return not there or (count is not None and all(c is count for c in there))


def _together(lanes: _Lanes) -> tuple[Any, ...]:
    """All lanes go round equally often."""
    loop, carried = lanes.loop, lanes.flags.carry
    body, flags = lanes.body([*carried, *(False for _ in loop.ys_out)])
    results = loop.replace(body=body, cond=None if loop.cond is None else lanes.cond()[0]).apply()
    carry = [y if f else Shared(y) for y, f in zip(results.carry, carried, strict=True)]
    pairs = zip(results.ys, loop.split_rows(flags).ys, strict=True)
    return (*carry, Shared(results.trips), *(moved(y, 1, 0) if f else Shared(y) for y, f in pairs))


def _stepped(lanes: _Lanes) -> Step:
    loop = lanes.loop
    body = without_effects(loop.body)
    everywhere, _ = lanes.body([True] * len(body.outputs))
    own = harmless(body, lanes.flags.of_body(False))

    def step(active: Tensor, i: Tensor, parts: Parts) -> tuple[list[Tensor], Sequence[Tensor]]:
        inputs = sat_out(active, parts.flat(), lanes.flags.flat(), own)
        results = loop.split_rows(replay(everywhere, (i, *inputs)))
        new = [select(active, y, x) for y, x in zip(results.carry, parts.carry, strict=True)]
        return new, results.ys

    return step


def _while_any_goes_on(lanes: _Lanes) -> tuple[Any, ...]:
    """Each lane goes round as long as its own condition holds."""
    lanes.spread([True] * len(lanes.flags.carry))
    loop, cond, step = lanes.loop, lanes.cond()[0], _stepped(lanes)

    def goes_on(carry: Sequence[Tensor], consts: Sequence[Tensor]) -> Tensor:
        return replay(cond, Parts(carry, (), consts).of_cond())[0]

    def body(
        i: Tensor, carry: Sequence[Tensor], xs: Sequence[Tensor], consts: Sequence[Tensor]
    ) -> tuple[list[Tensor], Sequence[Tensor]]:
        *own, active, done = carry
        new, ys = step(active, i, Parts(own, xs, consts))
        still = ops.logical_and(active, goes_on(new, consts))
        return [*new, still, ops.add(done, ops.cast(active, dtype=INDEX.dtype))], ys

    start = loop.replace(init=(*loop.init, goes_on(loop.init, loop.consts), _zeros(lanes.size)))
    assert loop.cond is not None
    results = start.replace(
        body=traced_body(body, start.specs, loop.body.name),
        cond=traced_cond(lambda carry, consts: any_of(carry[-2]), start.specs, loop.cond.name),
        keeps_carries=False,
    ).apply()
    *carry, _, done = results.carry
    return (*carry, done, *(Ragged(moved(y, 1, 0), done, results.trips) for y in results.ys))


def _zeros(size: Any) -> Tensor:
    return ops.fill(shape=(size,), value=0, dtype=INDEX.dtype)


def _longest(counts: Tensor) -> Tensor:
    """The largest number of iterations of any lane; 0 where there is none."""
    return ops.maximum(ops.reduce_max(counts, axis=(0,)), as_tensor(np.int64(0)))


def _counted(lanes: _Lanes, batch: Batch) -> tuple[Any, ...]:
    """Each lane goes round its own number of times; the iterations of a lane are the first of all."""
    lanes.spread([True] * len(lanes.flags.carry))
    loop, step = lanes.loop, _stepped(lanes)
    known = next((r for r in (batch.ragged or {}).values() if r.count is loop.count), None)
    done = ops.maximum(loop.count, as_tensor(np.int64(0))) if known is None else loop.count
    longest = _longest(done) if known is None else known.longest

    def body(
        i: Tensor, carry: Sequence[Tensor], xs: Sequence[Tensor], consts: Sequence[Tensor]
    ) -> tuple[list[Tensor], Sequence[Tensor]]:
        return step(ops.less(i, consts[-1]), i, Parts(carry, xs, consts[:-1]))

    specs = loop.specs
    specs = specs._replace(consts=[*specs.consts, lane_specs(INDEX, lanes.size)])
    graph = traced_body(body, specs, loop.body.name)
    results = loop.replace(
        count=longest, consts=(*loop.consts, done), body=graph, keeps_carries=False
    ).apply()
    return (*results.carry, done, *(Ragged(moved(y, 1, 0), done, results.trips) for y in results.ys))
