"""Elimination as loops over columns, for dtypes without compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.dim import Size
from ...core.op import ops
from ...core.tensor import Tensor
from ...core.tracing.loop_form import INDEX, LoopForm
from ..arrays.shape import expand_dims
from .stacks import as_float

SINGULAR = "the matrix is singular"


def eliminated(a: Tensor, b: Tensor) -> Tensor:
    """Gaussian elimination with partial pivoting, then substitution from the last row up."""
    n = a.shape[0]
    if n == 0:
        return b
    rows = [(0, n, 1)]
    lost = ops.reduce_max(ops.is_nan(a))
    (whole,) = for_each(_eliminate, [ops.concat(a, b, axis=1)], [lost], n)
    left = ops.slice(whole, slices=(*rows, (0, n, 1)))
    right = ops.slice(whole, slices=(*rows, (n, b.shape[1], 1)))
    start = ops.fill(shape=b.shape, value=0.0, dtype=b.np_dtype)
    (solution,) = for_each(_substitute, [start], [left, right], n, reverse=True)
    return ops.where(lost, np.nan, solution)


def for_each(
    step: Callable[..., Sequence[Tensor]],
    carry: Sequence[Tensor],
    held: Sequence[Tensor],
    n: Size,
    reverse: bool = False,
) -> Sequence[Tensor]:
    """The last of ``carry = step(k, *carry, *held)``, for k from 0 to n - 1 or the other way."""

    def body(
        k: Tensor, carry: Sequence[Tensor], xs: Any, consts: Sequence[Tensor]
    ) -> tuple[Any, tuple[Any, ...]]:
        return step(k, *carry, *consts), ()

    names = (step.__name__, "cond")
    return LoopForm.written(body, carry, (), held, length=n, reverse=reverse, names=names).apply().carry


def _eliminate(k: Tensor, whole: Tensor, lost: Tensor) -> list[Tensor]:
    """Bring the largest element of column `k` to the diagonal and clear what is below; all is `lost` to a NaN."""
    below = ops.greater(ops.iota(size=whole.shape[0], dtype=INDEX.dtype), k)
    size = ops.abs(ops.gather(whole, k, axis=1))
    available = ops.logical_or(below, ops.equal(ops.iota(size=whole.shape[0], dtype=INDEX.dtype), k))
    best = ops.argmax(ops.where(available, size, -1.0), axis=0)
    pivot, other = ops.gather(whole, best, axis=0), ops.gather(whole, k, axis=0)
    whole = ops.dynamic_update_slice(whole, expand_dims(other, 0), (best, 0))
    whole = ops.dynamic_update_slice(whole, expand_dims(pivot, 0), (k, 0))
    on_diagonal = ops.gather(pivot, k, axis=0)
    regular = ops.logical_or(ops.not_equal(on_diagonal, 0), lost)
    ops.check(as_float(regular), message=SINGULAR, error="RuntimeError")
    factor = ops.divide(ops.gather(whole, k, axis=1), on_diagonal)
    cleared = ops.subtract(whole, ops.multiply(expand_dims(factor, 1), expand_dims(pivot, 0)))
    return [ops.where(expand_dims(below, 1), cleared, whole)]


def _substitute(k: Tensor, x: Tensor, left: Tensor, right: Tensor) -> list[Tensor]:
    """Row `k` of the solution, from the rows below."""
    row = ops.gather(left, k, axis=0)
    below = ops.greater(ops.iota(size=row.shape[0], dtype=INDEX.dtype), k)
    known = ops.reduce_sum(ops.multiply(expand_dims(ops.where(below, row, 0), 1), x), axis=(0,))
    solved = ops.divide(ops.subtract(ops.gather(right, k, axis=0), known), ops.gather(row, k, axis=0))
    return [ops.dynamic_update_slice(x, expand_dims(solved, 0), (k, 0))]
