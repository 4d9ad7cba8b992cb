"""Scattered: a cotangent that is zero but for some entries, kept as the entries until somebody needs it dense.

Reading n elements of an array one by one costs n in the backward this way, and not n squared.
"""

from __future__ import annotations

from typing import Any

from ..op import ops
from ..spec import TensorSpec
from ..tensor import Tensor


class Scattered:
    """`base` (zeros when None) with pieces added to some of its entries.

    Pieces are ``("slice", slices, values)`` with static ``(start, size, step)`` per axis, or
    ``("gather", attributes, indices, values)``, or ``("window", starts, values)`` with a rank-1 tensor of starts.
    """

    __slots__ = ("spec", "pieces", "base")

    def __init__(self, spec: TensorSpec, pieces: tuple[tuple[Any, ...], ...], base: Tensor | None = None):
        self.spec: TensorSpec = spec
        self.pieces: tuple[tuple[Any, ...], ...] = pieces
        self.base: Tensor | None = base


def nothing(spec: TensorSpec) -> Scattered:
    """A cotangent that is zero everywhere: there is a path, and nothing passes."""
    return Scattered(spec, ())


def is_nothing(g: Any) -> bool:
    """Is it zero everywhere, for all that is known?"""
    return g.__class__ is Scattered and not g.pieces and g.base is None


def is_rows(g: Any) -> bool:
    """Does a cotangent consist of rows of its tensor and nothing else?"""
    return (
        isinstance(g, Scattered)
        and g.base is None
        and g.pieces != ()
        and all(p[0] == "gather" and p[1]["axis"] == 0 for p in g.pieces)
    )


def add_cotangents(a: Any, b: Any) -> Any:
    """The sum of two cotangents; entries stay apart from what they are added to, for others may follow."""
    if isinstance(b, Scattered):
        a, b = b, a
    if not isinstance(a, Scattered):
        return ops.add(a, b)
    more, base = (b.pieces, b.base) if isinstance(b, Scattered) else ((), b)
    if a.base is not None:
        base = a.base if base is None else ops.add(a.base, base)
    return Scattered(a.spec, a.pieces + more, base)


def dense(g: Any) -> Tensor | None:
    """The cotangent as a tensor (None stays None)."""
    if not isinstance(g, Scattered):
        return g
    slices = [p for p in g.pieces if p[0] == "slice"]
    total = g.base
    if slices:
        where, values = tuple(p[1] for p in slices), (p[2] for p in slices)
        if total is None:
            total = ops.place(*values, shape=g.spec.shape, slices=where)
        else:
            total = ops.slice_add(total, *values, slices=where)
    elif total is None:
        total = ops.fill(shape=g.spec.shape, value=0.0, dtype=g.spec.dtype)
    for piece in g.pieces:
        if piece[0] == "gather":
            _, attrs, indices, values = piece
            total = ops.scatter_add(total, indices, values, **attrs)
        elif piece[0] == "window":
            _, starts, values = piece
            total = ops.window_add(total, values, starts)
    return total
