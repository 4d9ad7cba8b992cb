"""Systems of linear equations with a square or a triangular matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.autodiff.scattered import dense
from ...core.errors import FailedComputation
from ...core.op import OPS, Joint, defop, floating, ops
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import Record
from ...core.tracing.loop_form import INDEX
from ..arrays.shape import expand_dims
from ..elementwise.arithmetic import matched
from ..lowering import Expand
from .elimination import SINGULAR, eliminated
from .products import swapped, turned
from .stacks import KNOWN, by_columns, check_state, each, right_sides, square

# ---- what both have in common ---------------------------------------------------------------------------


def solve_kernel(a: np.ndarray, b: np.ndarray, adjoint: bool = False) -> np.ndarray:
    """The solution by LAPACK, NaN where the matrix has one."""
    a = np.swapaxes(a.conj(), -1, -2) if adjoint else a
    if np.isnan(a).any():  # LAPACK would take it for singular
        return np.full(b.shape, np.nan, b.dtype)
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        raise FailedComputation(SINGULAR) from None


def _derivatives(name: str, part: Callable[..., Any]) -> dict[str, Any]:
    """The rules of an op that solves with what `part` gives of a matrix, from the op's attributes."""

    def vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
        (a, _), (x,), attrs = record.inputs, record.outputs, record.attrs
        adjoint = attrs.get("adjoint", False)
        g = OPS[name](a, dense(gs[0]), **{**attrs, "adjoint": not adjoint})
        return [part(_of_matrix(g, x, adjoint), **attrs) if needs[0] else None, g]

    def jvp(record: Record, ts: list[Any]) -> list[Any]:
        (of_a, of_b), attrs = ts, record.attrs
        if of_a is not None:
            used = part(of_a, **attrs)
            moved = ops.negative(
                ops.matmul(swapped(used) if attrs.get("adjoint") else used, record.outputs[0])
            )
            of_b = moved if of_b is None else ops.add(of_b, moved)
        return [OPS[name](record.inputs[0], of_b, **attrs)]

    return {"vjp": Joint(vjp), "jvp": jvp}


def _of_matrix(g: Any, x: Any, adjoint: bool) -> Any:
    """The cotangent of a matrix from that of the right sides, `g`, and the solutions: minus their product."""
    left, right = (x, g) if adjoint else (g, x)
    if x.shape[-1] == 1:  # an outer product is element-wise
        return ops.negative(ops.multiply(left, swapped(right)))
    return ops.negative(ops.matmul(left, swapped(right)))


def _system(inputs: Sequence[Any], attrs: dict[Any, Any]) -> tuple[Sequence[Any], dict[Any, Any]]:
    """A matrix and right sides of one dtype; of the attributes those that are not as usual."""
    usual = {"adjoint": False, "lower": True}
    return matched(inputs, {})[0], {k: bool(v) for k, v in attrs.items() if bool(v) is not usual[k]}


def _solutions(a: TensorSpec, b: TensorSpec) -> TensorSpec:
    square(floating(a))
    return right_sides(a, b)


_TRAITS = ("expensive", "may_fail", "polls")

# ---- square matrices ------------------------------------------------------------------------------------


def _solved(a: Tensor, b: Tensor, *, adjoint: bool = False) -> list[Tensor]:
    """By the factors, which are the same for all right sides and for the adjoint, or by loops."""
    if a.np_dtype not in KNOWN:
        return [eliminated(swapped(a) if adjoint else a, b)]
    lu, pivots, state = ops.lu_factor(a)
    check_state(state, SINGULAR)
    return [ops.lu_solve(lu, pivots, state, b, transposed=adjoint)]


@defop(
    **_derivatives("solve", lambda a, **attrs: a),
    kernel=each(solve_kernel),
    lower=Expand(_solved),
    canonicalize=_system,
    batch=by_columns("solve"),
    traits=_TRAITS,
)
def solve(a: TensorSpec, b: TensorSpec, *, adjoint: bool = False) -> TensorSpec:
    """The matrix x with ``a @ x = b``, NaN if `a` has one; RuntimeError where the square matrix `a` is singular.

    With `adjoint` that of the conjugate transpose of `a`. Of stacks of float32 or float64 each.
    """
    return _solutions(a, b)


# ---- triangles ------------------------------------------------------------------------------------------


def triangle(a: Any, lower: bool = True, adjoint: bool = False) -> Any:
    """The triangle of a matrix, zero elsewhere."""
    number = ops.iota(size=a.shape[-1], dtype=INDEX.dtype)
    row = expand_dims(number, 1)
    return ops.where(ops.less_equal(number, row) if lower else ops.less_equal(row, number), a, 0)


def _triangular_kernel(
    a: np.ndarray, b: np.ndarray, *, lower: bool = True, adjoint: bool = False
) -> np.ndarray:
    return solve_kernel(np.tril(a) if lower else np.triu(a), b, adjoint)


def _substituted(a: Tensor, b: Tensor, *, lower: bool = True, adjoint: bool = False) -> list[Tensor]:
    if a.np_dtype not in KNOWN:
        part = triangle(a, lower)
        return [eliminated(swapped(part) if adjoint else part, b)]
    x, state = ops.substitute(turned(a) if adjoint else a, b, upper=lower == adjoint)
    check_state(state, SINGULAR)
    return [x]


@defop(
    **_derivatives("triangular_solve", triangle),
    kernel=each(_triangular_kernel),
    lower=Expand(_substituted),
    canonicalize=_system,
    batch=by_columns("triangular_solve"),
    traits=_TRAITS,
)
def triangular_solve(
    a: TensorSpec, b: TensorSpec, *, lower: bool = True, adjoint: bool = False
) -> TensorSpec:
    """The matrix x with ``a @ x = b``, for the lower or the upper triangle of `a`, of which nothing else is read.

    With `adjoint` that of its conjugate transpose. NaN if the triangle has one; RuntimeError where it is singular.
    Of stacks of float32 or float64 each.
    """
    return _solutions(a, b)
