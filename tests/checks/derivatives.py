"""Derivatives of a case: by the op's rules, and by finite differences.

Cotangents of complex inputs follow the steepest-ascent convention, so that everywhere the pairing of a
cotangent and a tangent is ``Re(sum(conj(g) * t))``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tracejit.core.autodiff.backprop import RecordList, backprop
from tracejit.core.autodiff.pushforward import pushforward
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.dispatch import recording
from tracejit.ops.elementwise.arithmetic import add

from .cases import Case

Arrays = list[np.ndarray]
Function = Callable[..., Sequence[Tensor]]

#: Step of the central differences: fourth order, so 1e-16 of truncation beside 1e-12 of rounding.
STEP = 1e-4


def pair(gs: Sequence[np.ndarray], ts: Sequence[np.ndarray]) -> float:
    """The real inner product of cotangents and tangents."""
    return float(sum(np.sum(np.conj(g) * t).real for g, t in zip(gs, ts, strict=True)))


def directions(arrays: Sequence[np.ndarray], seed: int) -> Arrays:
    """Random arrays of the same shapes and dtypes."""
    random = np.random.default_rng(seed)

    def draw(like: np.ndarray) -> np.ndarray:
        values = random.standard_normal(like.shape)
        if like.dtype.kind == "c":
            values = values + 1j * random.standard_normal(like.shape)
        return np.asarray(values, like.dtype)

    return [draw(a) for a in arrays]


def differentiable(outputs: Sequence[Tensor]) -> list[Tensor]:
    return [y for y in outputs if y.spec.differentiable]


def values(f: Function, xs: Sequence[np.ndarray]) -> Arrays:
    """The differentiable results of `f` as arrays."""
    return [y.array for y in differentiable(f(*map(Tensor, xs)))]


def pull_tensors(f: Function, xs: Sequence[Tensor], gs: Sequence[Tensor], active: Sequence[int]) -> list:
    """The vjp of `f`: the cotangent, or None, of each active input."""
    listing = RecordList()
    with recording(listing):
        ys = differentiable(f(*xs))
    seeds: dict[int, Tensor] = {}
    for y, g in zip(ys, gs, strict=True):  # one tensor may be two results
        seeds[y.serial] = add(seeds[y.serial], g) if y.serial in seeds else g
    return backprop(listing.records, seeds, [xs[i].serial for i in active])


def pull(f: Function, xs: Arrays, gs: Arrays, active: Sequence[int]) -> Arrays:
    """The vjp of `f` with zeros in place of None."""
    found = pull_tensors(f, [Tensor(x) for x in xs], [Tensor(g) for g in gs], active)
    return [np.zeros_like(xs[i]) if g is None else g.array for i, g in zip(active, found, strict=True)]


def push(f: Function, xs: Arrays, ts: Arrays, active: Sequence[int]) -> Arrays:
    """The jvp of `f` with zeros in place of None."""
    tensors = [Tensor(x) for x in xs]
    listing = RecordList()
    with recording(listing):
        ys = differentiable(f(*tensors))
    tangents = {tensors[i].serial: Tensor(t) for i, t in zip(active, ts, strict=True)}
    found = pushforward(listing.records, tangents, ys)
    return [np.zeros_like(y.array) if t is None else t.array for y, t in zip(ys, found, strict=True)]


def difference(f: Callable[[Arrays], Arrays], xs: Arrays, ts: Arrays, active: Sequence[int]) -> Arrays:
    """The derivative of ``f(arrays) -> arrays`` along `ts` by central differences of fourth order."""

    def at(steps: float) -> Arrays:
        moved = list(xs)
        for i, t in zip(active, ts, strict=True):
            moved[i] = np.asarray(xs[i] + steps * STEP * t, xs[i].dtype)
        return f(moved)

    near = [a - b for a, b in zip(at(1), at(-1), strict=True)]
    far = [a - b for a, b in zip(at(2), at(-2), strict=True)]
    return [(8 * n - w) / (12 * STEP) for n, w in zip(near, far, strict=True)]


def numeric_pull(f: Callable[[Arrays], Arrays], xs: Arrays, gs: Arrays, active: Sequence[int]) -> Arrays:
    """The vjp found element by element from finite differences."""
    found = [np.zeros_like(xs[i]) for i in active]
    for position, i in enumerate(active):
        for element in np.ndindex(xs[i].shape):
            for unit in (1.0, 1j) if xs[i].dtype.kind == "c" else (1.0,):
                t = np.zeros_like(xs[i])
                t[element] = unit
                found[position][element] += unit * pair(gs, difference(f, xs, [t], [i]))
    return found


def gradient_of(case: Case, gs: Arrays) -> Function:
    """``xs -> cotangents of the active inputs``, as tensors, recordable: what second order differentiates."""

    def gradient(*xs: Tensor) -> list[Tensor]:
        seeds = [Tensor(g) for g in gs]
        found = pull_tensors(case, xs, seeds, case.active)
        return [
            Tensor(np.zeros_like(xs[i].array)) if g is None else g
            for i, g in zip(case.active, found, strict=True)
        ]

    return gradient
