"""Matrix ops on stacks with leading axes, where the compiler has kernels for the dtype.

Other dtypes, of which one matrix is worked out in loops, are done lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from ...core.autodiff.batching import Batch, by_rows
from ...core.dim import Size, product, same
from ...core.errors import FailedComputation, require
from ...core.op import OPS, ops
from ...core.spec import TensorSpec, shape_text
from ...core.tensor import Tensor
from ..batch import moved

KNOWN = (np.dtype(np.float32), np.dtype(np.float64))
"""The dtypes of the compiler's kernels."""


def square(a: TensorSpec) -> tuple[Size, ...]:
    """Shape rule: square matrices, stacks of them where their dtype is known; the axes that lead."""
    fits = len(a.shape) == 2 or (len(a.shape) > 2 and a.dtype in KNOWN)
    fits = fits and same(a.shape[-1], a.shape[-2])
    require(fits, f"takes a square matrix, got {shape_text(a.shape)}")
    return a.shape[:-2]


def right_sides(a: TensorSpec, b: TensorSpec) -> TensorSpec:
    """Shape rule: right sides for every matrix, one in each column; the solutions have their spec."""
    fits = len(b.shape) == len(a.shape) and all(map(same, a.shape[:-1], b.shape[:-1]))
    require(fits, f"right sides {shape_text(b.shape)} for a matrix {shape_text(a.shape)}; one per column")
    return b


def by_stacks(name: str) -> Callable[..., Any]:
    """The batch rule of an op that takes stacks."""

    def rule(batch: Batch, *inputs: Tensor, **attrs: Any) -> Any:
        if inputs[0].np_dtype in KNOWN:
            return OPS[name](*batch.all_spread(inputs), **attrs)
        return by_rows(OPS[name], batch, inputs, attrs)

    return rule


def by_columns(name: str) -> Callable[..., Any]:
    """That of systems of equations: the right sides of all lanes are columns of one where they share the matrix."""
    many = by_stacks(name)

    def rule(batch: Batch, a: Tensor, b: Tensor, **attrs: Any) -> Any:
        if batch.flags[0]:
            return many(batch, a, b, **attrs)
        columns = moved(b, 0, len(b.shape) - 2)
        flat = ops.reshape(columns, shape=(*columns.shape[:-2], product(columns.shape[-2:])))
        solved = ops.reshape(OPS[name](a, flat, **attrs), shape=columns.shape)
        return moved(solved, len(b.shape) - 2, 0)

    return rule


def check_state(state: Tensor, message: str) -> None:
    """Refuse matrices that could not be factored."""
    if state.shape:
        state = ops.reduce_max(state, axis=tuple(range(len(state.shape))))
    ops.check(as_float(ops.less_equal(state, 0)), message=message, error="RuntimeError")


def as_float(flag: Tensor) -> Tensor:
    """A truth as a number, which is what is checked."""
    return ops.cast(flag, dtype=np.dtype(np.float64))


def each(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """An eager kernel of stacks where all is finite, which takes matrices one by one where something is not.

    Also where one fails: the error says which.
    """

    @wraps(kernel)
    def run(*arrays: np.ndarray, **attrs: Any) -> Any:
        lead = arrays[0].shape[:-2]
        if not lead or all(np.isfinite(x).all() for x in arrays):
            try:
                return kernel(*arrays, **attrs)
            except FailedComputation:
                if not lead:
                    raise
        return _one_by_one(kernel, lead, arrays, attrs)

    return run


def one_by_one(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """An eager kernel of stacks from that of a matrix."""

    @wraps(kernel)
    def run(*arrays: np.ndarray, **attrs: Any) -> Any:
        lead = arrays[0].shape[:-2]
        return _one_by_one(kernel, lead, arrays, attrs) if lead else kernel(*arrays, **attrs)

    return run


def _one_by_one(
    kernel: Callable[..., Any], lead: tuple[int, ...], arrays: Sequence[np.ndarray], attrs: dict[Any, Any]
) -> Any:
    results = []
    for place in np.ndindex(*lead):
        try:
            results.append(kernel(*[x[place] for x in arrays], **attrs))
        except FailedComputation as error:
            raise FailedComputation(f"{error}: number {', '.join(map(str, place))} of the stack") from None
    if not results:  # a matrix of ones says which shapes and dtypes there would be
        results = [kernel(*[np.ones(x.shape[len(lead) :], x.dtype) for x in arrays], **attrs)]
    of_one = results[0]
    if isinstance(of_one, tuple):
        return tuple([_stacked(r, lead) for r in zip(*results, strict=True)])
    return _stacked(results, lead)


def _stacked(results: Sequence[np.ndarray], lead: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(lead))
    return np.reshape(np.stack(results)[:count], (*lead, *results[0].shape))
