"""LU factorization and solving as separate ops, so that factors are computed once.

Nobody calls these ops: what users call becomes these when its dtype is one that the compiler's library knows. They do
not fail; the state they return says what has gone wrong, and who uses them checks it. Of stacks of matrices each.
"""

from __future__ import annotations

from typing import Any

from ...core.dim import Size, minimum
from ...core.errors import require
from ...core.op import defop
from ...core.spec import TensorSpec, shape_text
from ..batch import by_lanes
from ..lowering import Library
from . import kernels
from .stacks import KNOWN, by_stacks, one_by_one, right_sides, square

_TRAITS = ("expensive", "internal")


def _matrices(a: TensorSpec) -> TensorSpec:
    """Shape rule: square matrices of a known dtype, which is what comes out."""
    square(a)
    require(a.dtype in KNOWN, f"takes matrices of float32 or float64, got {a.dtype}")
    return a


def _state(a: TensorSpec) -> TensorSpec:
    return TensorSpec(a.shape[:-2], kernels.INT64)


def _pivots(a: TensorSpec) -> TensorSpec:
    return TensorSpec(a.shape[:-1], kernels.INT64)


def _columns(a: TensorSpec, b: TensorSpec) -> TensorSpec:
    """Shape rule: right sides for every matrix, one in each column, which is what comes out."""
    require(_matrices(a).dtype == b.dtype, f"takes columns of {a.dtype}, got {b.dtype}")
    return right_sides(a, b)


def _factors(lu: TensorSpec, pivots: TensorSpec, state: TensorSpec) -> TensorSpec:
    """Shape rule: the three results of `lu_factor`, the first of which is what comes out."""
    fits = (pivots, state) == (_pivots(_matrices(lu)), _state(lu))
    shown = f"{shape_text(state.shape)} and {shape_text(pivots.shape)}"
    require(fits, f"takes a state and {lu.shape[-1]} pivots, got {shown}")
    return lu


def _order(a: Any, *others: Any, **attrs: Any) -> tuple[Any, ...]:
    return (a.shape[-1],)


def _order_and_columns(a: Any, *others: Any, **flags: bool) -> tuple[Any, ...]:
    return (a.shape[-1], others[-1].shape[-1], *map(int, flags.values()))


@defop(
    vjp=(None,),
    kernel=one_by_one(kernels.cholesky),
    lower=Library("cholesky", _order),
    batch=by_stacks("cholesky_factor"),
    traits=(*_TRAITS, "multiple"),
)
def cholesky_factor(a: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    """The lower factor and a state, which is the number of a pivot that is not positive, or 0."""
    return _matrices(a), _state(a)


@defop(
    vjp=(None, None),
    kernel=one_by_one(kernels.cholesky_pullback),
    lower=Library("cholesky_pullback", _order),
    batch=by_stacks("cholesky_backward"),
    traits=_TRAITS,
)
def cholesky_backward(factor: TensorSpec, g: TensorSpec) -> TensorSpec:
    """The symmetric cotangent of a matrix, from its factor and the cotangent of that."""
    return _columns(factor, g)


@defop(
    vjp=(None, None),
    kernel=one_by_one(kernels.triangular),
    lower=Library("triangular", _order_and_columns),
    batch=by_stacks("substitute"),
    traits=(*_TRAITS, "multiple"),
)
def substitute(t: TensorSpec, b: TensorSpec, *, upper: bool) -> tuple[TensorSpec, TensorSpec]:
    """The x with ``t @ x = b`` of a triangle, and a state, which is the number of a zero on the diagonal, or 0."""
    return _columns(t, b), _state(t)


@defop(
    vjp=(None,),
    kernel=one_by_one(kernels.lu),
    lower=Library("lu", _order),
    batch=by_stacks("lu_factor"),
    traits=(*_TRAITS, "multiple"),
)
def lu_factor(a: TensorSpec) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
    """L and U in one matrix, the row that each row changes places with, and a state.

    The state is the number of a pivot that is zero, -1 for a matrix with a NaN, or 0.
    """
    return _matrices(a), _pivots(a), _state(a)


@defop(
    vjp=(None, None, None, None),
    kernel=one_by_one(kernels.lu_solve),
    lower=Library("lu_solve", _order_and_columns),
    batch=by_stacks("lu_solve"),
    traits=_TRAITS,
)
def lu_solve(
    lu: TensorSpec, pivots: TensorSpec, state: TensorSpec, b: TensorSpec, *, transposed: bool
) -> TensorSpec:
    """Solutions for a matrix given by its factors, or for its transpose; NaN where it was lost to one."""
    return _columns(_factors(lu, pivots, state), b)


@defop(
    vjp=(None, None, None),
    kernel=one_by_one(kernels.lu_inverse),
    lower=Library("lu_inverse", _order),
    batch=by_stacks("lu_inverse"),
    traits=_TRAITS,
)
def lu_inverse(lu: TensorSpec, pivots: TensorSpec, state: TensorSpec) -> TensorSpec:
    """The inverse of a matrix given by its factors; NaN where it was lost to one."""
    return _factors(lu, pivots, state)


REFLECTIONS = 32
"""Numbers that the kernel of QR keeps of each column."""


def _sizes_of_qr(a: Any, *, columns: Any) -> tuple[Any, ...]:
    return (*a.shape, minimum(*a.shape), columns, REFLECTIONS)


@defop(
    vjp=(None,),
    kernel=lambda a, *, columns: kernels.qr(a, columns, REFLECTIONS),
    lower=Library("qr", _sizes_of_qr),
    batch=by_lanes("qr_factor"),
    traits=(*_TRAITS, "multiple"),
)
def qr_factor(a: TensorSpec, *, columns: Size) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
    """Q with so many columns and R of one finite matrix, and what the kernel keeps of its reflections."""
    m, n = a.shape
    require(a.dtype in KNOWN, f"takes matrices of float32 or float64, got {a.dtype}")
    return a.with_shape((m, columns)), a.with_shape((columns, n)), a.with_shape((minimum(m, n), REFLECTIONS))
