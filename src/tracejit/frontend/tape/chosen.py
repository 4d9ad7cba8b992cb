"""Gradients of and by a name that a branch or a loop binds to one of several Variables or to a tensor.

A cotangent for it goes to the one that it stands for, and zeros to the others; its own is that of the same one. Which
that is, is known only when the compiled function runs. All of them are asked for in one pass backwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.op import ops
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ..state.either import Either
from ..structure import flatten, leaves_like, unflatten
from .unconnected import NONE, wants_zeros, zeros

if TYPE_CHECKING:
    from .gradient_tape import GradientTape


def parts(x: Either) -> list[Any]:
    """The Variables, and behind them the tensor, that it may stand for: at the positions that `which` counts."""
    return [*x.among, *(() if x.number is None else (as_tensor(x.number),))]


def gradient(
    tape: GradientTape, target: Any, sources: Any, output_gradients: Any, unconnected_gradients: Any
) -> Any:
    """What :meth:`GradientTape.gradient` returns where such names are among the targets or sources."""
    leaves, structure = flatten(target)
    targets: list[Any] = []
    weights: list[Any] = []
    for leaf, weight in zip(leaves, leaves_like(structure, output_gradients), strict=True):
        if not isinstance(leaf, Either):
            targets.append(leaf)
            weights.append(weight)
            continue
        given = ops.fill(shape=leaf.spec.shape, value=1, dtype=leaf.np_dtype) if weight is None else weight
        for k, part in enumerate(parts(leaf)):
            targets.append(part)
            weights.append(ops.where(ops.equal(leaf.which, k), as_tensor(given, leaf.np_dtype), zeros(leaf)))
    asked, structure = flatten(sources)
    each = [parts(x) if isinstance(x, Either) else [x] for x in asked]
    found = iter(tape.gradient(targets, [part for some in each for part in some], weights))
    grads = [_own(x, [next(found) for _ in some]) for x, some in zip(asked, each, strict=True)]
    if unconnected_gradients is not NONE and wants_zeros(unconnected_gradients):
        grads = [zeros(x) if g is None else g for g, x in zip(grads, asked, strict=True)]
    return unflatten(structure, grads)


def _own(x: Any, cotangents: list[Tensor | None]) -> Tensor | None:
    """The cotangent of a source, given those of what it may stand for."""
    if not isinstance(x, Either):
        return cotangents[0]
    if all(g is None for g in cotangents):
        return None
    *others, own = [zeros(x) if g is None else g for g in cotangents]
    for k, g in reversed(list(enumerate(others))):
        own = ops.where(ops.equal(x.which, k), g, own)
    return own
