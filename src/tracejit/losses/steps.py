"""Which steps of sequences count: what layers say of tensors, and losses and metrics ask. It knows no layer."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any

import tracejit as tf

#: By the serial number of a tensor of sequences: which of its steps count. An entry goes with its tensor.
_masks: dict[int, tuple[weakref.ref[Any], Any]] = {}


def mask_of(x: Any) -> Any:
    """Which steps of `x`, a tensor that layers made, count; None where all do."""
    known = _masks.get(x.serial) if _masks and isinstance(x, tf.Tensor) else None
    return None if known is None else known[1]


def masks_of(nest: Any) -> Any:
    """The masks of all tensors of a nest, in a nest like it; None where none of them has any."""
    if not _masks or isinstance(nest, tf.Tensor):
        return mask_of(nest)
    if all(mask_of(x) is None for x in tf.nest.flatten(nest, none_is_leaf=False)):
        return None
    return tf.nest.map_structure(mask_of, nest, none_is_leaf=False)


def give_mask(x: Any, mask: Any) -> None:
    """Say which steps of `x` count: those where `mask`, ``(batch, steps)`` of bools, is True; of nests pair by pair."""
    pairs = zip(tf.nest.flatten(x, none_is_leaf=True), tf.nest.flatten(mask, none_is_leaf=True), strict=False)
    for tensor, own in pairs:
        if own is not None and isinstance(tensor, tf.Tensor):
            _keep(tensor, own)


def _keep(x: Any, mask: Any) -> None:
    _masks[x.serial] = weakref.ref(x, partial(_masks.pop, x.serial)), mask


def both(a: Any, b: Any) -> Any:
    """The steps that count by two masks, each of which may be None: all."""
    return b if a is None else a if b is None else tf.logical_and(a, b)


def beyond_scores(dtype: Any) -> float:
    """What no score of a softmax reaches, as a float of this dtype."""
    return 3e4 if dtype == "float16" else 1e9


def weight_in_a_mean(weight: Any, mask: Any) -> Any:
    """How much each step counts in a mean over all: those that a mask leaves out nothing, the others more for it."""
    counts: Any = tf.cast(mask, dtype=float)
    more = tf.cast(tf.size(mask), dtype=float) / tf.maximum(tf.reduce_sum(counts), 1e-7)
    return weight_of_steps(weight, counts * more)


def weight_of_steps(weight: Any, counts: Any) -> Any:
    """How much each step counts, by the `weight` of examples, or of steps, and by what a mask says of the steps."""
    if counts is None:
        return weight
    counts = tf.cast(counts, dtype=float)
    if weight is None:
        return counts
    weight = tf.convert_to_tensor(weight)
    return counts * tf.reshape(
        weight, shape=(*weight.shape, *([1] * (len(counts.shape) - len(weight.shape))))
    )
