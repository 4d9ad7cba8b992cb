"""The binomial schedule of checkpointing: where the next snapshot goes, and what a budget of snapshots costs.

Reversing a loop of `n` iterations with room for `s` snapshots of its carries at a time means to run parts of it
again. The fewest iterations are run again when the snapshots are set at binomial positions (A. Griewank and
A. Walther, Algorithm 799: Revolve, ACM TOMS 26 (2000) 19-45). Knows counts only, no loops and no tensors' shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb
from typing import Any

import numpy as np

from ....core.ir.graph import Graph
from ....core.op import ops
from ....core.tensor import Tensor
from ....core.tracing.dispatch import as_tensor
from ....core.tracing.forms import CallForm
from ....core.tracing.loop_form import INDEX, LoopForm
from ....core.tracing.trace import trace


def runs_again(iterations: int, snapshots: int) -> int:
    """How many iterations are run again to reverse a loop, by the binomial schedule.

    With beta(s, r) = C(s + r, s), the number of iterations that `s` snapshots can reverse when none is run more
    than `r` times again, and `r` the least with beta(s, r) >= n, it is ``r * n - beta(s + 1, r - 1)``.
    """
    if iterations <= 1:
        return 0
    repeats = 1
    while comb(snapshots + repeats, snapshots) < iterations:
        repeats += 1
    return repeats * iterations - comb(snapshots + repeats, snapshots + 1)


def snapshots_for(iterations: int, repeats: int) -> int:
    """The least number of snapshots with which no iteration is run more than `repeats` times again."""
    few = 1
    while comb(few + repeats, few) < iterations:
        few += 1
    return few


def gap(steps: Tensor, snapshots: Tensor) -> Tensor:
    """How many iterations to go from a snapshot to where the next is set.

    `steps` iterations, at least 2, are to be reversed from the snapshot on, which is one of `snapshots`, at least
    2. With beta(s, r - 1) < steps <= beta(s, r), going m is optimal when beta(s, r - 2) <= m <= beta(s, r - 1)
    and beta(s - 1, r - 1) <= steps - m <= beta(s - 1, r); this is the smallest such m.
    """
    (distance,) = CallForm.make((steps, snapshots), gap_graph()).apply()
    return distance


@cache
def gap_graph() -> Graph:
    """The graph of :func:`gap`: beta(s, r) for one r after the other, by int64 arithmetic that stays exact."""

    def run(steps: Tensor, s: Tensor) -> list[Tensor]:
        zero, one = as_tensor(np.int64(0)), as_tensor(np.int64(1))
        loop = LoopForm.written(_next_beta, (one, zero, zero, zero), (), (steps, s), cond=_is_small)
        beta, before, twice_before, _ = loop.apply().carry
        beyond = steps - (beta - before)  # beta(s - 1, r) = beta(s, r) - beta(s, r - 1)
        return [ops.maximum(ops.maximum(beyond, twice_before), one)]

    return trace(run, [INDEX, INDEX], "gap").graph


def _is_small(carry: Sequence[Any], consts: Sequence[Any]) -> Tensor:
    return ops.less(carry[0], consts[0])


def _next_beta(
    i: Any, carry: Sequence[Any], xs: Any, consts: Sequence[Any]
) -> tuple[list[Tensor], Sequence[Tensor]]:
    beta, before, _, r = carry
    s, r = consts[1], r + as_tensor(np.int64(1))
    return [ops.floordiv(beta * (s + r), r), beta, before, r], ()
