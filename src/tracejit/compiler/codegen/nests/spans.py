"""Loops over one line of a schedule: whole vectors and masked rests, and the lanes in force inside.

What runs inside, and what is carried from step to step, is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable

from ....core.dataclass import dataclass
from ...ir_text import Value, integer, iota
from ...loopir.passes.schedule import Line, Schedule
from ..writing.kernel import SCALAR, KernelWriter, Vector

Body = Callable[[Value, list[Value]], list[Value]]
Part = tuple[Value, Value]
"""Some iterations of a loop: the first, a multiple of whole vectors, and the one behind the last."""


@dataclass
class Span:
    """A stretch of a loop, ``range(start, stop, step)`` in `lanes` lanes; if `masked`, not all exist."""

    start: Value
    stop: Value
    step: int = 1
    lanes: int = 1
    masked: bool = False
    may_skip: bool = False

    @property
    def trips(self) -> float:
        if self.start.number is None or self.stop.number is None:
            return float("inf")
        return (self.stop.number - self.start.number) / self.step


def each(k: KernelWriter, span: Span, carried: list[Value], certain: bool, body: Body) -> list[Value]:
    """A loop over a span; straight-line code when it runs once, nothing when it never runs."""
    w = k.w
    if span.trips <= 1:
        if span.trips <= 0:
            return carried
        w.enter()
        values = body(span.start, carried)
        w.leave()
        return [w.define(v.text, v.kind, v.lanes) for v in values]
    loop = w.open_loop(span.start, span.stop, span.step, carried, certain, span.may_skip)
    return w.close_loop(loop, body(loop.var, loop.values))


def run(
    k: KernelWriter,
    plan: Schedule,
    line: Line,
    span: Span,
    carried: list[Value],
    body: Body,
    feeds: bool = False,
) -> list[Value]:
    """A loop over a span of `line`, its lanes in force inside; `feeds`: accumulators live across it."""
    before, certain = k.vector, not feeds or isinstance(line.size, int)

    def inside(var: Value, values: list[Value]) -> list[Value]:
        k.env[line.axis] = var
        if line.axis == plan.vector:
            mask = existing(k, span, var) if span.masked else None
            k.vector = Vector(line.axis, span.lanes, mask, feeds) if span.lanes > 1 else SCALAR
        return body(var, values)

    result = each(k, span, carried, certain, inside)
    k.vector = before
    return result


def existing(k: KernelWriter, span: Span, var: Value) -> Value:
    """Which lanes exist."""
    w, lanes = k.w, span.lanes
    kind = f"i{max(8, min(64, 8 * k.target.register_bytes // lanes))}"
    left = w.smallest(w.sub(span.stop, var), integer(lanes))
    if kind != "i64":
        left = w.convert("trunc", left, kind)
    return w.compare("ult", iota(kind, lanes), w.splat(left, lanes))


def spans(
    k: KernelWriter, plan: Schedule, line: Line, feeds: bool = False, part: Part | None = None
) -> list[Span]:
    """The stretches of a loop, or of a part of it, which is not empty: one, or whole vectors and the rest."""
    if part is not None:
        return partial(k, plan, line, *part)
    size, zero = k.size(line.size), integer(0)
    if line.axis != plan.vector:
        return [Span(zero, size, 1, k.vector.lanes, may_skip=feeds and size.number is None)]
    lanes, wide = plan.lanes, plan.lanes * plan.unroll
    if plan.masked:
        return [Span(zero, size, lanes, lanes, size.number is None or size.number % lanes != 0)]
    if size.number is None:
        whole = k.w.binary("and", size, integer(-wide))
        rest = Span(whole, size, lanes, lanes, True, may_skip=True)
        return [Span(zero, whole, wide, wide, may_skip=True), rest]
    head = [Span(zero, integer(plan.peel), lanes, lanes, True)] if plan.peel else []
    left = size.number - plan.peel
    start, whole = integer(plan.peel), integer(plan.peel + left // wide * wide)
    return [*head, Span(start, whole, wide, wide), Span(whole, size, lanes, lanes, left % lanes != 0)]


def partial(k: KernelWriter, plan: Schedule, line: Line, begin: Value, end: Value) -> list[Span]:
    """The stretches of a part of a loop; only the last part has a rest, so that parts do what the whole does."""
    if line.axis != plan.vector:
        return [Span(begin, end, 1, k.vector.lanes)]
    lanes, wide = plan.lanes, plan.lanes * plan.unroll
    if plan.masked:
        return [Span(begin, end, lanes, lanes, True)]
    w, left = k.w, line.size % wide if isinstance(line.size, int) else None
    if left == 0:
        return [Span(begin, end, wide, wide)]
    whole = w.add(begin, w.binary("and", w.sub(end, begin), integer(-wide)))
    masked = left is None or left % lanes != 0
    return [
        Span(begin, whole, wide, wide, may_skip=True),
        Span(whole, end, lanes, lanes, masked, may_skip=True),
    ]
