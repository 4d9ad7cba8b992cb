"""The parts that factoring and solving are compiled as: the factors of a matrix are values, worked out once.

Nobody calls these ops: what users call becomes these when its dtype is one that the compiler's library knows. They do
not fail; the state they return says what has gone wrong, and who uses them checks it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dim import same
from ...core.errors import require
from ...core.op import defop
from ...core.spec import TensorSpec, shape_text
from ..batch import by_lanes
from ..lowering import Library
from . import kernels

KNOWN = (np.dtype(np.float32), np.dtype(np.float64))
_TRAITS = ("expensive", "internal")
_STATE = TensorSpec((), kernels.INT64)


def _square(a: TensorSpec) -> TensorSpec:
    """Shape rule: a square matrix of a known dtype, which is what comes out."""
    fits = len(a.shape) == 2 and same(a.shape[0], a.shape[1]) and a.dtype in KNOWN
    require(fits, f"takes a square matrix of float32 or float64, got {a.dtype} of {shape_text(a.shape)}")
    return a


def _columns(a: TensorSpec, b: TensorSpec) -> TensorSpec:
    """Shape rule: right sides for the matrix, one in each column, which is what comes out."""
    fits = len(b.shape) == 2 and same(_square(a).shape[0], b.shape[0]) and a.dtype == b.dtype
    require(fits, f"takes columns of {a.shape[0]} {a.dtype}, got {b.dtype} of {shape_text(b.shape)}")
    return b


def _factors(lu: TensorSpec, pivots: TensorSpec, state: TensorSpec) -> TensorSpec:
    """Shape rule: the three results of `lu_factor`, the first of which is what comes out."""
    n = _square(lu).shape[0]
    fits = len(pivots.shape) == 1 and same(pivots.shape[0], n) and not state.shape
    fits = fits and pivots.dtype == state.dtype == kernels.INT64
    require(
        fits, f"takes a state and {n} pivots, got {shape_text(state.shape)} and {shape_text(pivots.shape)}"
    )
    return lu


def _order(a: Any, *others: Any, **attrs: Any) -> tuple[Any, ...]:
    return (a.shape[0],)


def _order_and_columns(a: Any, *others: Any, **flags: bool) -> tuple[Any, ...]:
    return (a.shape[0], others[-1].shape[1], *map(int, flags.values()))


@defop(
    vjp=(None,),
    kernel=kernels.cholesky,
    lower=Library("cholesky", _order),
    batch=by_lanes("cholesky_factor"),
    traits=(*_TRAITS, "multiple"),
)
def cholesky_factor(a: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    """The lower factor and a state, which is the number of a pivot that is not positive, or 0."""
    return _square(a), _STATE


@defop(
    vjp=(None, None),
    kernel=kernels.cholesky_pullback,
    lower=Library("cholesky_pullback", _order),
    batch=by_lanes("cholesky_backward"),
    traits=_TRAITS,
)
def cholesky_backward(factor: TensorSpec, g: TensorSpec) -> TensorSpec:
    """The symmetric cotangent of a matrix, from its factor and the cotangent of that."""
    return _columns(factor, g)


@defop(
    vjp=(None, None),
    kernel=lambda t, b, *, upper: kernels.triangular(t, b, upper),
    lower=Library("triangular", _order_and_columns),
    batch=by_lanes("substitute"),
    traits=(*_TRAITS, "multiple"),
)
def substitute(t: TensorSpec, b: TensorSpec, *, upper: bool) -> tuple[TensorSpec, TensorSpec]:
    """The x with ``t @ x = b`` of a triangle, and a state, which is the number of a zero on the diagonal, or 0."""
    return _columns(t, b), _STATE


@defop(
    vjp=(None,),
    kernel=kernels.lu,
    lower=Library("lu", _order),
    batch=by_lanes("lu_factor"),
    traits=(*_TRAITS, "multiple"),
)
def lu_factor(a: TensorSpec) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
    """L and U in one matrix, the row that each row changes places with, and a state.

    The state is the number of a pivot that is zero, -1 for a matrix with a NaN, or 0.
    """
    return _square(a), TensorSpec(a.shape[:1], kernels.INT64), _STATE


@defop(
    vjp=(None, None, None, None),
    kernel=lambda lu, pivots, state, b, *, transposed: kernels.lu_solve(lu, pivots, state, b, transposed),
    lower=Library("lu_solve", _order_and_columns),
    batch=by_lanes("lu_solve"),
    traits=_TRAITS,
)
def lu_solve(
    lu: TensorSpec, pivots: TensorSpec, state: TensorSpec, b: TensorSpec, *, transposed: bool
) -> TensorSpec:
    """Solutions for a matrix given by its factors, or for its transpose; NaN where it was lost to one."""
    return _columns(_factors(lu, pivots, state), b)


@defop(
    vjp=(None, None, None),
    kernel=kernels.lu_inverse,
    lower=Library("lu_inverse", _order),
    batch=by_lanes("lu_inverse"),
    traits=_TRAITS,
)
def lu_inverse(lu: TensorSpec, pivots: TensorSpec, state: TensorSpec) -> TensorSpec:
    """The inverse of a matrix given by its factors; NaN where it was lost to one."""
    return _factors(lu, pivots, state)
