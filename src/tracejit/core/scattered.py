"""Scattered: a cotangent that is zero but for some entries, kept as the entries until somebody needs it dense.

Reading n elements of an array one by one costs n in the backward this way, and not n squared.
"""

from __future__ import annotations

from typing import Any

from .op import ops
from .spec import TensorSpec
from .tensor import Tensor


class Scattered:
    """A sum of pieces, each added into zeros of `spec`.

    Pieces are ``("slice", slices, values)`` with static ``(start, stop, step)`` per axis, or
    ``("gather", axis, indices, values)``, or ``("window", starts, values)`` with a rank-1 tensor of starts.
    """

    __slots__ = ("spec", "pieces")

    def __init__(self, spec: TensorSpec, pieces: tuple[tuple, ...]):
        self.spec = spec
        self.pieces = pieces


def add_cotangents(a: Any, b: Any) -> Any:
    """The sum of two cotangents, scattered as long as both are."""
    if isinstance(a, Scattered) and isinstance(b, Scattered):
        return Scattered(a.spec, a.pieces + b.pieces)
    if isinstance(a, Scattered):
        a, b = b, a
    if isinstance(b, Scattered):
        return _add_pieces(a, b)
    return ops.add(a, b)


def dense(g: Any) -> Tensor | None:
    """The cotangent as a tensor (None stays None)."""
    if not isinstance(g, Scattered):
        return g
    slices = [p for p in g.pieces if p[0] == "slice"]
    others = Scattered(g.spec, tuple(p for p in g.pieces if p[0] != "slice"))
    if slices:
        total = ops.place(*(p[2] for p in slices), shape=g.spec.shape, slices=tuple(p[1] for p in slices))
    else:
        total = ops.fill(shape=g.spec.shape, value=0.0, dtype=g.spec.dtype)
    return _add_pieces(total, others) if others.pieces else total


def _add_pieces(total: Tensor, scattered: Scattered) -> Tensor:
    static = [p for p in scattered.pieces if p[0] == "slice"]
    if len(static) == 1:
        return _add_pieces(ops.slice_add(total, static[0][2], slices=static[0][1]), _without(scattered, static))
    if static:
        placed = ops.place(
            *(p[2] for p in static), shape=scattered.spec.shape, slices=tuple(p[1] for p in static)
        )
        total = ops.add(total, placed)
    for piece in scattered.pieces:
        if piece[0] == "gather":
            _, axis, indices, values = piece
            total = ops.scatter_add(total, indices, values, axis=axis)
        elif piece[0] == "window":
            _, starts, values = piece
            total = ops.window_add(total, values, starts)
    return total


def _without(scattered: Scattered, pieces: list[tuple]) -> Scattered:
    return Scattered(scattered.spec, tuple(p for p in scattered.pieces if not any(p is q for q in pieces)))
