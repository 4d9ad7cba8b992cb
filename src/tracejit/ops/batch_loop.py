"""The batch rule of loops.

Where all lanes go round equally often it is one loop whose carries have lanes, those of which a fixed point says so.
Else the loop runs as long as any lane goes on: a lane that has finished keeps its carries, and the number of its
iterations is counted. What such a loop stacks is as long as the longest lane; the rows a lane does not have
may only be read by a loop that runs as often in each lane, as the backward of the loop does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.batching import Batch, Ragged, Shared, batch_graph, closed, lane_specs
from ..core.dispatch import apply, as_tensor
from ..core.graph import Graph
from ..core.op import ops
from ..core.spec import TensorSpec
from ..core.tensor import Tensor
from ..core.trace import replay
from .batch import any_of, moved
from .batch_regions import harmless, sat_out, select, without_effects
from .regions import INDEX, loop_parts


@dataclass
class _Loop:
    """The parts of a loop that is batched; scanned arrays with lanes have the lanes second."""

    size: Any
    attrs: dict[str, Any]
    count: list[Tensor]
    init: list[Tensor]
    rows: list[Tensor]
    held: list[Tensor]
    carried: list[bool]
    scanned: list[bool]
    captured: list[bool]

    @property
    def flags(self) -> list[bool]:
        """Which inputs of the body have lanes."""
        return [False, *self.carried, *self.scanned, *self.captured]

    @property
    def row_specs(self) -> list[TensorSpec]:
        return [TensorSpec(x.shape[1:], x.dtype) for x in self.rows]

    def body(self, forced: Sequence[bool] | None = None) -> tuple[Graph, tuple[bool, ...]]:
        return batch_graph(self.attrs["body"], self.flags, self.size, forced)

    def cond(self) -> tuple[Graph, bool]:
        graph, (lanes,) = batch_graph(self.attrs["cond"], [*self.carried, *self.captured], self.size)
        return graph, lanes

    def spread_carries(self) -> None:
        """Give every carry lanes."""
        spread = Batch(self.size, ()).spread
        self.init = [x if f else spread(x) for x, f in zip(self.init, self.carried, strict=True)]
        self.carried = [True] * len(self.init)


def batch_loop(batch: Batch, *inputs: Tensor, **attrs: Any) -> tuple[Any, ...] | None:
    """One loop for all lanes."""
    ragged = batch.counts or (None,) * len(inputs)
    count, init, rows, held = (list(part) for part in loop_parts(inputs, attrs))
    flags = [list(part) for part in loop_parts(batch.flags, attrs)]
    counts = [list(part) for part in loop_parts(ragged, attrs)]
    known = batch.rows(attrs["length"])
    if known is not None:
        count, flags[0], attrs = [known.count], [True], {**attrs, "length": None, "counted": True}
    if not _rows_are_there(count, flags[0], counts):
        return None
    rows = [moved(x, 1, 0) if f else x for x, f in zip(rows, flags[2], strict=True)]
    loop = _Loop(batch.size, attrs, count, init, rows, held, *flags[1:])
    if flags[0] == [True]:
        return _counted(loop, batch)
    while True:
        found = loop.body()[1]
        grown = [a or b for a, b in zip(loop.carried, found, strict=False)]
        if grown == loop.carried:
            break
        spread = [new and not old for new, old in zip(grown, loop.carried, strict=True)]
        loop.init = [batch.spread(x) if s else x for x, s in zip(loop.init, spread, strict=True)]
        loop.carried = grown
    if attrs["cond"] is not None and loop.cond()[1]:
        return _while_any_goes_on(loop)
    return _together(loop)


def _rows_are_there(count: list[Tensor], own: list[bool], counts: list[list]) -> bool:
    """Is every ragged input scanned by a loop that runs as often in each lane as the lane has rows?"""
    init, rows, held = counts[1:]
    if any(c is not None for c in (*init, *held)):
        return False
    there = [c for c in rows if c is not None]
    return not there or (own == [True] and all(c is count[0] for c in there))


def _together(loop: _Loop) -> tuple[Any, ...]:
    """All lanes go round equally often."""
    c = len(loop.init)
    forced = [*loop.carried, *(False for _ in loop.attrs["body"].outputs[c:])]
    body, lanes = loop.body(forced)
    cond = None if loop.attrs["cond"] is None else loop.cond()[0]
    found = apply(
        ops.loop,
        (*loop.count, *loop.init, *loop.rows, *loop.held),
        {**loop.attrs, "body": body, "cond": cond},
    )
    carries = [y if f else Shared(y) for y, f in zip(found[:c], loop.carried, strict=True)]
    stacks = [
        moved(y, 1, 0) if f else Shared(y)
        for y, f in zip(found[c + 1 : 1 + len(lanes)], lanes[c:], strict=True)
    ]
    return (*carries, Shared(found[c]), *stacks)


def _stepped(loop: _Loop) -> Any:
    """``step(active, i, inputs) -> carries, stacked``: one iteration of the active lanes."""
    body = without_effects(loop.attrs["body"])
    everywhere, _ = loop.body([True] * len(body.outputs))
    own = harmless(body, loop.flags)
    c = len(loop.init)

    def step(active: Tensor, i: Tensor, inputs: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        found = replay(everywhere, (i, *sat_out(active, inputs, loop.flags[1:], own)))
        new = [select(active, y, x) for y, x in zip(found[:c], inputs[:c], strict=True)]
        return new, list(found[c:])

    return step


def _while_any_goes_on(loop: _Loop) -> tuple[Any, ...]:
    """Each lane goes round as long as its own condition holds."""
    loop.spread_carries()
    c, m = len(loop.init), len(loop.rows)
    cond, step = loop.cond()[0], _stepped(loop)

    def body(i: Tensor, *args: Tensor) -> list[Tensor]:
        carries, (active, done), rest = args[:c], args[c : c + 2], args[c + 2 :]
        new, stacked = step(active, i, (*carries, *rest))
        goes_on = ops.logical_and(active, replay(cond, (*new, *rest[m:]))[0])
        return [*new, goes_on, ops.add(done, ops.cast(active, dtype=INDEX.dtype)), *stacked]

    def any_goes_on(*args: Tensor) -> list[Tensor]:
        return [any_of(args[c])]

    start = (*loop.init, replay(cond, (*loop.init, *loop.held))[0], _zeros(loop.size))
    carried, held = [x.spec for x in start], [x.spec for x in loop.held]
    found = apply(
        ops.loop,
        (*start, *loop.rows, *loop.held),
        {
            **{k: v for k, v in loop.attrs.items() if k != "kept"},
            "carries": c + 2,
            "body": closed(body, [INDEX, *carried, *loop.row_specs, *held], loop.attrs["body"].name),
            "cond": closed(any_goes_on, [*carried, *held], loop.attrs["cond"].name),
        },
    )
    done, trips, *stacks = found[c + 1 : c + 3 + len(loop.attrs["body"].outputs) - c]
    return (*found[:c], done, *(Ragged(moved(y, 1, 0), done, trips) for y in stacks))


def _zeros(size: Any) -> Tensor:
    return ops.fill(shape=(size,), value=0, dtype=INDEX.dtype)


def _longest(counts: Tensor) -> Tensor:
    """The largest number of iterations of any lane; 0 where there is none."""
    return ops.maximum(ops.reduce_max(counts, axis=(0,)), as_tensor(np.int64(0)))


def _counted(loop: _Loop, batch: Batch) -> tuple[Any, ...]:
    """Each lane goes round its own number of times; the iterations of a lane are the first of all."""
    loop.spread_carries()
    c = len(loop.init)
    step = _stepped(loop)
    counts = loop.count[0]
    known = next((r for r in (batch.ragged or {}).values() if r.count is counts), None)
    done = ops.maximum(counts, as_tensor(np.int64(0))) if known is None else counts
    longest = _longest(done) if known is None else known.longest

    def body(i: Tensor, *args: Tensor) -> list[Tensor]:
        new, stacked = step(ops.less(i, args[-1]), i, args[:-1])
        return [*new, *stacked]

    specs = [INDEX, *(x.spec for x in loop.init), *loop.row_specs, *(x.spec for x in loop.held)]
    name = loop.attrs["body"].name
    found = apply(
        ops.loop,
        (longest, *loop.init, *loop.rows, *loop.held, done),
        {
            **{k: v for k, v in loop.attrs.items() if k != "kept"},
            "body": closed(body, [*specs, lane_specs(INDEX, loop.size)], name),
        },
    )
    trips, *stacks = found[c : 1 + len(loop.attrs["body"].outputs)]
    return (*found[:c], done, *(Ragged(moved(y, 1, 0), done, trips) for y in stacks))
