"""Scatter of minima and maxima: elements of a vector combined with values written at integer positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.autodiff.batching import Batch
from ...core.autodiff.scattered import dense
from ...core.errors import require
from ...core.op import Joint, defop, ops, ordered
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ..lowering import Compose
from .gather import INT64, canonical_scatter, scatter_sample
from .sort import descending


def _kernel(x: np.ndarray, indices: np.ndarray, values: np.ndarray, *, largest: bool) -> np.ndarray:
    result = x.copy()
    (np.maximum if largest else np.minimum).at(result, indices, values)
    return result


def _in_order(x: Any, indices: Any, values: Any, *, largest: bool) -> Any:
    """Written in the order of their values, so that of those that share a place the last one is the one to stay."""
    wanted = (ops.maximum if largest else ops.minimum)(ops.gather(x, indices, axis=0), values)
    order = ops.argsort(wanted if largest else descending(wanted), axis=0)
    return ops.scatter_set(x, ops.gather(indices, order, axis=0), ops.gather(wanted, order, axis=0), axis=0)


def _evenly(record: Any, gs: list[Any], needs: list[bool]) -> list[Any]:
    """Each cotangent in equal parts to all that are equal to the result."""
    (x, indices, values), (y,) = record.inputs, record.outputs
    among = ops.equal(x, y)
    chosen = ops.equal(values, ops.gather(y, indices, axis=0))
    count = ops.scatter_add(
        ops.cast(among, dtype=y.np_dtype), indices, ops.cast(chosen, dtype=y.np_dtype), axis=0
    )
    share = ops.divide(dense(gs[0]), count)
    return [
        ops.where(among, share, 0.0) if needs[0] else None,
        None,
        ops.where(chosen, ops.gather(share, indices, axis=0), 0.0) if needs[2] else None,
    ]


def _batch(batch: Batch, x: Tensor, indices: Tensor, values: Tensor, *, largest: bool) -> Any:
    """The vectors of all lanes as one, where the positions of each begin behind those of the lane before."""
    x, indices, values = batch.all_spread((x, indices, values))
    lanes, size = x.shape
    first = ops.reshape(ops.iota(size=lanes, dtype=INT64), shape=(lanes, 1)) * np.int64(size)
    parts = (x, ops.add(first, indices), values)
    flat = [ops.reshape(t, shape=(t.shape[0] * t.shape[1],)) for t in parts]
    return ops.reshape(ops.scatter_extreme(*flat, largest=largest), shape=(lanes, size))


@defop(
    vjp=Joint(_evenly),
    vanishes_where="other elements go further, or the indices name no element that depends on it",
    kernel=_kernel,
    lower=Compose(_in_order),
    canonicalize=lambda inputs, attrs: (canonical_scatter(inputs, {})[0], attrs),
    batch=_batch,
    traits=("may_fail", "internal"),
    samples=(
        scatter_sample((4,), (6,), (6,), largest=True),
        scatter_sample((4,), (3,), (3,), largest=False),
    ),
)
def scatter_extreme(x: TensorSpec, indices: TensorSpec, values: TensorSpec, *, largest: bool) -> TensorSpec:
    """A vector whose elements at `indices`, from 0 on, are no smaller than `values`, or no larger.

    The gradient of an element goes in equal parts to all that are equal to it.
    """
    require(
        len(x.shape) == 1 and values.shape == indices.shape, "takes vectors, and a value for each position"
    )
    return ordered(x)
