"""Systems of equations with a triangle, of which nothing else is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.autodiff.scattered import dense
from ...core.op import Joint, defop, ops
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import Record
from ...core.tracing.loop_form import INDEX
from ..arrays.shape import expand_dims
from ..batch import by_columns
from ..lowering import Expand
from .lu import KNOWN
from .products import (
    SINGULAR,
    check_state,
    eliminated,
    of_matrix,
    of_right_side,
    solve_kernel,
    swapped,
    system,
    system_of,
    turned,
)


def triangle(a: Any, lower: bool) -> Any:
    """The triangle of a matrix, zero elsewhere."""
    number = ops.iota(size=a.shape[0], dtype=INDEX.dtype)
    row = expand_dims(number, 1)
    return ops.where(ops.less_equal(number, row) if lower else ops.less_equal(row, number), a, 0)


def _kernel(a: np.ndarray, b: np.ndarray, *, lower: bool = True, adjoint: bool = False) -> np.ndarray:
    return solve_kernel(np.tril(a) if lower else np.triu(a), b, adjoint)


def _substituted(a: Tensor, b: Tensor, *, lower: bool = True, adjoint: bool = False) -> list[Tensor]:
    if a.dtype not in KNOWN:
        part = triangle(a, lower)
        return [eliminated(swapped(part) if adjoint else part, b)]
    x, state = ops.substitute(turned(a) if adjoint else a, b, upper=lower == adjoint)
    check_state(state, SINGULAR)
    return [x]


def _vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    (a, _), (x,) = record.inputs, record.outputs
    lower, adjoint = record.attrs.get("lower", True), record.attrs.get("adjoint", False)
    g = ops.triangular_solve(a, dense(gs[0]), lower=lower, adjoint=not adjoint)
    return [triangle(of_matrix(g, x, adjoint), lower) if needs[0] else None, g]


def _jvp(record: Record, ts: list[Any]) -> list[Any]:
    of_a, of_b = ts
    lower, adjoint = record.attrs.get("lower", True), record.attrs.get("adjoint", False)
    if of_a is not None:
        part = triangle(of_a, lower)
        of_b = of_right_side(swapped(part) if adjoint else part, of_b, record.outputs[0])
    return [ops.triangular_solve(record.inputs[0], of_b, lower=lower, adjoint=adjoint)]


@defop(
    vjp=Joint(_vjp),
    jvp=_jvp,
    kernel=_kernel,
    lower=Expand(_substituted),
    canonicalize=system,
    batch=by_columns("triangular_solve"),
    traits=("expensive", "may_fail", "polls"),
)
def triangular_solve(
    a: TensorSpec, b: TensorSpec, *, lower: bool = True, adjoint: bool = False
) -> TensorSpec:
    """The matrix x with ``a @ x = b``, for the lower or the upper triangle of `a`, of which nothing else is read.

    With `adjoint` that of its conjugate transpose. NaN if the triangle has one; RuntimeError where it is singular.
    """
    return system_of(a, b)
