"""Determinants, the inverse and the Cholesky factor of one matrix; of dtypes without kernels as loops over columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.autodiff.scattered import dense
from ...core.errors import FailedComputation
from ...core.op import Joint, defop, floating, ops
from ...core.op import real as floats
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.loop_form import INDEX
from ..arrays.shape import expand_dims
from ..lowering import Expand
from .elimination import SINGULAR, eliminated, for_each
from .kernels import cholesky_pullback as cholesky_pullback_kernel
from .products import swapped
from .stacks import KNOWN, as_float, by_stacks, check_state, each, one_by_one, square
from .systems import solve_kernel, triangle

NOT_POSITIVE = "the matrix is not positive definite"
_WRITTEN_OUT = 16
"""Factors of a product that is no loop."""
_FEW = 3
"""Rows of a matrix whose cofactors are written out."""


def identity_of(a: Any) -> Any:
    """The identity matrix of the size and dtype of `a`."""
    n = a.shape[-1]
    here = ops.iota(size=n, dtype=INDEX.dtype)
    return ops.cast(ops.equal(expand_dims(here, 1), here), dtype=a.np_dtype)


# ---- determinants ---------------------------------------------------------------------------------------


def _eliminated(k: Tensor, whole: Tensor, sign: Tensor) -> list[Tensor]:
    """Clear what is below the diagonal of column `k`; `sign` turns where rows change places."""
    number = ops.iota(size=whole.shape[0], dtype=INDEX.dtype)
    below = ops.greater(number, k)
    size = ops.abs(ops.gather(whole, k, axis=1))
    size = ops.where(ops.is_nan(size), np.inf, size)
    best = ops.argmax(ops.where(ops.less(number, k), -1.0, size), axis=0)
    pivot, other = ops.gather(whole, best, axis=0), ops.gather(whole, k, axis=0)
    whole = ops.dynamic_update_slice(whole, expand_dims(other, 0), (best, 0))
    whole = ops.dynamic_update_slice(whole, expand_dims(pivot, 0), (k, 0))
    diagonal = ops.gather(pivot, k, axis=0)
    none = ops.equal(diagonal, 0)  # then nothing is below it either
    factor = ops.divide(ops.gather(whole, k, axis=1), ops.where(none, 1, diagonal))
    cleared = ops.subtract(whole, ops.multiply(expand_dims(factor, 1), expand_dims(pivot, 0)))
    return [
        ops.where(expand_dims(below, 1), cleared, whole),
        ops.where(ops.equal(best, k), sign, ops.negative(sign)),
    ]


def _triangle(a: Tensor) -> tuple[Tensor, Tensor]:
    """The diagonal after elimination, and the sign of the exchange of rows."""
    if a.np_dtype in KNOWN:
        return _pivots(a)
    start = [a, ops.fill(shape=(), value=1, dtype=a.np_dtype)]
    whole, sign = for_each(_eliminated, start, [], a.shape[0])
    return ops.reduce_sum(ops.where(ops.not_equal(identity_of(a), 0), whole, 0), axis=(1,)), sign


def _pivots(a: Tensor) -> tuple[Tensor, Tensor]:
    """The same from the factors of the matrix."""
    lu, exchanged, _ = ops.lu_factor(a)
    number = ops.iota(size=a.shape[-1], dtype=INDEX.dtype)
    turns = ops.where(ops.equal(exchanged, number), 1.0, -1.0)
    return _diagonal(lu), _product(ops.cast(turns, dtype=a.np_dtype), _one(a))


def _diagonal(a: Tensor) -> Tensor:
    n, lead = a.shape[-1], a.shape[:-2]
    flat = ops.reshape(a, shape=(*lead, n * n))
    if isinstance(n, int):
        return ops.slice(flat, slices=(*[(0, d, 1) for d in lead], (0, n, n + 1)))
    places = ops.multiply(ops.iota(size=n, dtype=INDEX.dtype), ops.add(ops.size_value(size=n), 1))
    return ops.gather(flat, places, axis=len(lead))


def _times(k: Tensor, product: Tensor, factors: Tensor) -> list[Tensor]:
    return [ops.multiply(product, ops.gather(factors, k, axis=len(factors.shape) - 1))]


def _product(factors: Tensor, start: Tensor) -> Tensor:
    """Of the elements of the last axis, one after the other."""
    n, lead = factors.shape[-1], factors.shape[:-1]
    if not isinstance(n, int) or n > _WRITTEN_OUT:
        return for_each(_times, [start], [factors], n)[0]
    for k in range(n):
        factor = ops.slice(factors, slices=(*[(0, d, 1) for d in lead], (k, 1, 1)))
        start = ops.multiply(start, ops.reshape(factor, shape=lead))
    return start


def _cofactors(a: Any) -> Any:
    """The inverse, transposed and conjugated: the derivative of the logarithm of the determinant."""
    return swapped(ops.inverse(a))


def _rolled(a: Any, axis: int, by: int) -> Any:
    """The matrices with the first `by` rows (`axis` -2) or columns (-1) last."""
    axis += len(a.shape)
    n = a.shape[axis]
    whole = [(0, d, 1) for d in a.shape]
    parts = [(by, n - by, 1), (0, by, 1)]
    return ops.concat(
        *[ops.slice(a, slices=(*whole[:axis], part, *whole[axis + 1 :])) for part in parts], axis=axis
    )


def _minors(a: Any) -> Any:
    """The cofactors of matrices of up to three rows: products of elements, also where the determinant is 0."""
    n = a.shape[-1]
    if n == 1:
        return ops.fill(shape=a.shape, value=1, dtype=a.np_dtype)
    if n == 2:
        other = _rolled(_rolled(a, -2, 1), -1, 1)
        return ops.where(ops.not_equal(identity_of(a), 0), other, ops.negative(other))
    next_row, last_row = _rolled(a, -2, 1), _rolled(a, -2, 2)
    return ops.subtract(
        ops.multiply(_rolled(next_row, -1, 1), _rolled(last_row, -1, 2)),
        ops.multiply(_rolled(next_row, -1, 2), _rolled(last_row, -1, 1)),
    )


def _det_vjp(g: Any, y: Any, a: Any) -> Any:
    """The cofactors; of more than three rows as the determinant times the inverse, and refused where it is 0.

    Rounding decides if `solve` finds that out.
    """
    if isinstance(a.shape[-1], int) and 1 <= a.shape[-1] <= _FEW:
        minors = _minors(a)
        return _scaled(g, ops.conj(minors) if y.dtype.kind == "c" else minors)
    check_state(ops.cast(ops.equal(y, 0), dtype=INDEX.dtype), SINGULAR)
    return _scaled(ops.multiply(g, ops.conj(y) if y.dtype.kind == "c" else y), _cofactors(a))


def _scaled(g: Any, matrices: Any) -> Any:
    """A number times each matrix."""
    return ops.multiply(expand_dims(expand_dims(g, -1), -1) if g.shape else g, matrices)


def _undetermined(a: np.ndarray, y: Any) -> bool:
    """Is there a NaN, or an infinite element in what looks singular? LAPACK calls some of these matrices singular."""
    return not np.isfinite(a).all() and bool(np.isnan(a).any() or y == 0)


def _det_kernel(a: np.ndarray) -> np.ndarray:
    y = np.linalg.det(a)
    return np.asarray(_nan_of(a) if _undetermined(a, y) else y, a.dtype)


def _nan_of(a: np.ndarray) -> complex:
    return complex(np.nan, np.nan) if a.dtype.kind == "c" else np.nan


@defop(
    vjp=(_det_vjp,),
    kernel=each(_det_kernel),
    lower=Expand(lambda a: [_product(*_triangle(a))] if a.shape[-1] != 0 else [_one(a)]),
    batch=by_stacks("det"),
    traits=("expensive", "polls"),
)
def det(a: TensorSpec) -> TensorSpec:
    """Determinant of a square matrix, NaN where an element is.

    Its derivative is known for matrices of up to three rows, and for others where they are not singular.

    Compiled it is the product of the pivots, eagerly the exponential of the sum of their logarithms: the product may
    overflow, or vanish, on its way to a number that float64 holds.
    """
    return TensorSpec(square(floating(a)), a.dtype)


def _one(a: Any) -> Any:
    return ops.fill(shape=a.shape[:-2], value=1, dtype=a.np_dtype)


def _slogdet_kernel(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sign, size = np.linalg.slogdet(a)
    if _undetermined(a, sign):
        size = np.nan
    sign = np.where(np.isnan(size), np.nan, sign)
    return np.asarray(sign, a.dtype), np.asarray(size, a.dtype)


def _slogdet_vjp(record: Any, gs: list[Any], needs: list[bool]) -> list[Any]:
    return [None if gs[1] is None else _scaled(gs[1], _cofactors(record.inputs[0]))]


def _slogdet(a: Tensor) -> list[Tensor]:
    if a.shape[-1] == 0:
        return [_one(a), ops.fill(shape=a.shape[:-2], value=0, dtype=a.np_dtype)]
    diagonal, sign = _triangle(a)
    size = ops.reduce_sum(ops.log(ops.abs(diagonal)), axis=(len(diagonal.shape) - 1,))
    return [ops.where(ops.is_nan(size), np.nan, _product(ops.sign(diagonal), sign)), size]


@defop(
    vjp=Joint(_slogdet_vjp),
    kernel=each(_slogdet_kernel),
    lower=Expand(_slogdet),
    batch=by_stacks("slogdet"),
    traits=("expensive", "multiple", "polls"),
)
def slogdet(a: TensorSpec) -> tuple[TensorSpec, TensorSpec]:
    """Sign of the determinant of a real square matrix, and the logarithm of its size; NaN where an element is."""
    return (TensorSpec(square(floats(a)), a.dtype),) * 2


# ---- the inverse ----------------------------------------------------------------------------------------


def _inverse_vjp(g: Any, y: Any, a: Any) -> Any:
    return ops.negative(ops.matmul(swapped(y), ops.matmul(g, swapped(y))))


def _inverse_jvp(record: Any, ts: list[Any]) -> list[Any]:
    (y,) = record.outputs
    return [ops.negative(ops.matmul(y, ops.matmul(ts[0], y)))]


def _inverse_kernel(a: np.ndarray) -> np.ndarray:
    return solve_kernel(a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape))


def _inverted(a: Tensor) -> list[Tensor]:
    if a.np_dtype not in KNOWN:
        return [eliminated(a, identity_of(a))]
    factors = ops.lu_factor(a)
    check_state(factors[2], SINGULAR)
    return [ops.lu_inverse(*factors)]


@defop(
    vjp=(_inverse_vjp,),
    jvp=_inverse_jvp,
    kernel=each(_inverse_kernel),
    lower=Expand(_inverted),
    batch=by_stacks("inverse"),
    traits=("expensive", "may_fail", "polls"),
)
def inverse(a: TensorSpec) -> TensorSpec:
    """The inverse of a square matrix, NaN if it has one; RuntimeError where it is singular."""
    square(floating(a))
    return a


# ---- Cholesky -------------------------------------------------------------------------------------------


def _cholesky_kernel(a: np.ndarray) -> np.ndarray:
    if not np.isfinite(np.tril(a)).all():
        return np.tril(np.full(a.shape, np.nan, a.dtype))
    try:
        return np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        raise FailedComputation(NOT_POSITIVE) from None


def _lower_half(x: Any) -> Any:
    """What is below the diagonal, and half of what is on it."""
    number = ops.iota(size=x.shape[-1], dtype=INDEX.dtype)
    row = expand_dims(number, 1)
    return ops.where(
        ops.greater(row, number), x, ops.where(ops.equal(row, number), ops.multiply(x, 0.5), 0.0)
    )


def _symmetric(x: Any) -> Any:
    return ops.multiply(ops.add(x, swapped(x)), 0.5)


def _by_factor(y: Any, x: Any) -> Any:
    """``L^-1 X L^-T`` for a symmetric X."""
    left = ops.triangular_solve(y, x)
    return swapped(ops.triangular_solve(y, swapped(left)))


def _cholesky_vjp(g: Any, y: Any, a: Any) -> Any:
    return ops.cholesky_pullback(y, dense(g))


def _cholesky_jvp(record: Any, ts: list[Any]) -> list[Any]:
    """``L Phi(L^-1 dA L^-T)``."""
    (y,) = record.outputs
    return [ops.matmul(y, _lower_half(_by_factor(y, _symmetric(ts[0]))))]


def _pulled_back(y: Tensor, g: Tensor) -> list[Tensor]:
    """By the kernel, or as Murray, Differentiation of the Cholesky decomposition, 2016: L^-T Phi(L^T G) L^-1."""
    if y.np_dtype in KNOWN:
        return [ops.cholesky_backward(y, g)]
    inner = _lower_half(ops.matmul(swapped(y), triangle(g, True)))
    left = ops.triangular_solve(y, inner, adjoint=True)
    return [_symmetric(ops.triangular_solve(y, swapped(left), adjoint=True))]


def _pullback_vjp(record: Any, gs: list[Any], needs: list[bool]) -> list[Any]:
    """With M the result, H what comes for it and Q = L^-1 H L^-T: G Phi(Q)^T - 2 M H L^-T for L, L Phi(Q) for G."""
    (y, g), (result,) = record.inputs, record.outputs
    h = _symmetric(dense(gs[0]))
    inner = _lower_half(_by_factor(y, h))
    of_factor = None
    if needs[0]:
        first = ops.matmul(triangle(g, True), swapped(inner))
        second = swapped(ops.triangular_solve(y, ops.matmul(h, result)))
        of_factor = triangle(ops.subtract(first, ops.multiply(second, 2.0)), True)
    return [of_factor, triangle(ops.matmul(y, inner), True) if needs[1] else None]


@defop(
    vjp=Joint(_pullback_vjp),
    kernel=one_by_one(cholesky_pullback_kernel),
    lower=Expand(_pulled_back),
    batch=by_stacks("cholesky_pullback"),
    traits=("expensive", "may_fail", "polls", "internal"),
)
def cholesky_pullback(factor: TensorSpec, g: TensorSpec) -> TensorSpec:
    """The symmetric cotangent of a matrix, from its factor and the cotangent of that; both lower triangles."""
    square(factor)
    return factor


def _factored(k: Tensor, y: Tensor, a: Tensor, lost: Tensor) -> list[Tensor]:
    """Column `k` of the factor, from those before; nothing is refused where all is `lost` to a NaN."""
    number = ops.iota(size=a.shape[0], dtype=INDEX.dtype)
    known = ops.reduce_sum(ops.multiply(y, expand_dims(ops.gather(y, k, axis=0), 0)), axis=(1,))
    rest = ops.subtract(ops.gather(a, k, axis=1), known)
    diagonal = ops.gather(rest, k, axis=0)
    bad = ops.logical_and(ops.less_equal(diagonal, 0.0), ops.logical_not(lost))
    ops.check(as_float(ops.logical_not(bad)), message=NOT_POSITIVE, error="RuntimeError")
    column = ops.where(ops.less(number, k), 0.0, ops.divide(rest, ops.sqrt(diagonal)))
    return [ops.dynamic_update_slice(y, expand_dims(column, 1), (0, k))]


def _cholesky(a: Tensor) -> list[Tensor]:
    if a.shape[-1] == 0:
        return [a]
    if a.np_dtype in KNOWN:
        y, state = ops.cholesky_factor(a)
        check_state(state, NOT_POSITIVE)
        return [y]
    number = ops.iota(size=a.shape[0], dtype=INDEX.dtype)
    lower = ops.less_equal(number, expand_dims(number, 1))
    finite = ops.less(ops.abs(ops.where(lower, a, 0.0)), np.inf)
    lost = ops.logical_not(ops.reduce_min(finite))
    start = ops.fill(shape=a.shape, value=0.0, dtype=a.np_dtype)
    (y,) = for_each(_factored, [start], [a, lost], a.shape[0])
    return [ops.where(ops.logical_and(lost, lower), np.nan, ops.where(lost, 0.0, y))]


@defop(
    vjp=(_cholesky_vjp,),
    jvp=_cholesky_jvp,
    kernel=each(_cholesky_kernel),
    lower=Expand(_cholesky),
    batch=by_stacks("cholesky"),
    traits=("expensive", "may_fail", "polls"),
)
def cholesky(a: TensorSpec) -> TensorSpec:
    """The lower triangular L with ``L @ L.T = a``, for a symmetric positive definite matrix.

    What is above the diagonal is not read; NaN if there is a NaN or an infinity in the rest. The gradient is that
    along symmetric changes of `a`. RuntimeError where `a` is not positive definite.
    """
    square(floats(a))
    return a
