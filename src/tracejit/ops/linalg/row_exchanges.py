"""LU factors of matrices of any shape by elimination with exchanges of rows, and the order of columns for QR factors.

Both are chosen as LAPACK does it. The choice has no derivative, the factors have one where no pivot is zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.autodiff.scattered import dense
from ...core.dim import Size, minimum
from ...core.errors import require
from ...core.op import Joint, defop, floating, ops
from ...core.spec import TensorSpec, shape_text
from ...core.tracing.dispatch import Record
from ...core.tracing.loop_form import INDEX
from ..arrays.shape import expand_dims
from ..lowering import Callback
from .products import swapped
from .stacks import KNOWN, by_stacks, one_by_one

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


def _sizes(numbers: np.ndarray) -> np.ndarray:
    """What pivots are chosen by: of complex numbers the sum of the sizes of both parts."""
    return np.abs(numbers.real) + np.abs(numbers.imag) if numbers.dtype.kind == "c" else np.abs(numbers)


def _eliminated(a: np.ndarray) -> tuple[np.ndarray, ...]:
    factors = np.array(a, np.float32 if a.dtype.itemsize == 2 else a.dtype)
    m, n = a.shape
    order, pivots = np.arange(m, dtype=_INT64), np.zeros(min(m, n), _INT32)
    with np.errstate(all="ignore"):
        for k in range(min(m, n)):
            pivots[k] = other = k + int(np.argmax(_sizes(factors[k:, k])))
            if other != k:
                factors[[k, other]], order[[k, other]] = factors[[other, k]], order[[other, k]]
            if factors[k, k] != 0:
                factors[k + 1 :, k] /= factors[k, k]
                factors[k + 1 :, k + 1 :] -= np.outer(factors[k + 1 :, k], factors[k, k + 1 :])
    return factors.astype(a.dtype), pivots, order


def triangles(packed: Any) -> tuple[Any, Any]:
    """The factors L, with ones on the diagonal, and U of what :func:`lu` packs into one matrix."""
    m, n = packed.shape[-2:]
    k = minimum(m, n)
    low, up = _part(packed, (0, m), (0, k)), _part(packed, (0, k), (0, n))
    row, column = _numbers(low)
    one, zero = (ops.cast(v, dtype=packed.dtype) for v in (1.0, 0.0))
    return ops.where(ops.equal(row, column), one, ops.where(ops.less(column, row), low, zero)), _upper(up)


def _numbers(x: Any) -> tuple[Any, Any]:
    """The numbers of the rows of a matrix, as a column, and of its columns."""
    rows, columns = (ops.iota(size=size, dtype=INDEX.dtype) for size in x.shape[-2:])
    return expand_dims(rows, 1), columns


def _strictly_lower(x: Any) -> Any:
    row, column = _numbers(x)
    return ops.where(ops.less(column, row), x, ops.cast(0.0, dtype=x.dtype))


def _upper(x: Any) -> Any:
    row, column = _numbers(x)
    return ops.where(ops.less(column, row), ops.cast(0.0, dtype=x.dtype), x)


def _part(x: Any, rows: tuple[Size, Size], columns: tuple[Size, Size]) -> Any:
    """Of matrices so many rows from one on, and so many columns."""
    if (rows, columns) == ((0, x.shape[-2]), (0, x.shape[-1])):
        return x
    lead = tuple([(0, size, 1) for size in x.shape[:-2]])
    return ops.slice(x, slices=(*lead, (*rows, 1), (*columns, 1)))


def _left(low: Any, x: Any) -> Any:
    """``low**-H @ x``."""
    return ops.triangular_solve(low, x, lower=True, adjoint=True)


def _right(x: Any, up: Any) -> Any:
    """``x @ up**-H``."""
    return swapped(ops.triangular_solve(up, swapped(x), lower=False))


def _lu_vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    """By the derivative of ``L @ U`` in its square part; rows below it or columns beside it are solutions of it."""
    packed, _, order = record.outputs
    if gs[0] is None:
        return [None]
    g: Any = dense(gs[0])
    m, n = packed.shape[-2:]
    k = minimum(m, n)
    low, up = triangles(packed)
    square, inner = (0, k), _part(g, (0, k), (0, k))
    of_low, of_up = _strictly_lower(inner), _upper(inner)
    below: Any = None
    beside: Any = None
    if m > n:
        below = _right(_part(g, (n, m - n), square), up)
        of_up = ops.subtract(of_up, _upper(ops.matmul(swapped(_part(low, (n, m - n), square)), below)))
        low = _part(low, square, square)
    elif n > m:
        beside = _left(low, _part(g, square, (m, n - m)))
        rest = swapped(_part(up, square, (m, n - m)))
        of_low = ops.subtract(of_low, _strictly_lower(ops.matmul(beside, rest)))
        up = _part(up, square, square)
    core = ops.add(_strictly_lower(ops.matmul(swapped(low), of_low)), _upper(ops.matmul(of_up, swapped(up))))
    found = _right(_left(low, core), up)
    if below is not None:
        found = ops.concat(found, below, axis=len(g.shape) - 2)
    if beside is not None:
        found = ops.concat(found, beside, axis=len(g.shape) - 1)
    axis = len(g.shape) - 2
    return [ops.gather(found, ops.row_order(order, count=m, inverse=True), axis=axis, batch_dims=axis)]


@defop(
    vjp=Joint(_lu_vjp),
    kernel=one_by_one(_eliminated),
    lower=Callback(),
    batch=by_stacks("lu"),
    traits=("expensive", "multiple"),
)
def lu(a: TensorSpec) -> tuple[TensorSpec, ...]:
    """L and U of matrices ``(..., m, n)`` in one, int32 numbers of the rows exchanged, and the int64 order of rows.

    ``L @ U`` are the rows of `a` in that order. Stacks are of float32 or float64. ShapeError for vectors.
    """
    known = len(floating(a).shape) == 2 or (len(a.shape) > 2 and a.dtype in KNOWN)
    require(known, f"takes a matrix, got {shape_text(a.shape)}")
    *lead, m, n = a.shape
    pivots = TensorSpec((*lead, minimum(m, n)), _INT32)
    return a, pivots, TensorSpec((*lead, m), _INT64)


# ---- columns --------------------------------------------------------------------------------------------


def _largest_first(a: np.ndarray) -> np.ndarray:
    """Columns by what is left of them when those before are taken off, by Householder's reflections."""
    rest: Any = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)
    m, n = a.shape
    order = np.arange(n, dtype=_INT32)
    with np.errstate(all="ignore"):
        for k in range(min(m, n)):
            other = k + int(np.argmax(np.linalg.norm(rest[k:, k:], axis=0)))
            order[[k, other]] = order[[other, k]]
            rest[:, [k, other]] = rest[:, [other, k]]
            v = rest[k:, k].copy()
            size = np.linalg.norm(v)
            if not 0.0 < size < np.inf:
                break  # the columns that are left are zero, or not finite
            v[0] += size * (v[0] / abs(v[0]) if v[0] else 1.0)
            v /= np.linalg.norm(v)
            rest[k:, k:] -= 2.0 * np.outer(v, v.conj() @ rest[k:, k:])
    return order


@defop(
    vjp=(None,),
    kernel=one_by_one(_largest_first),
    lower=Callback(),
    batch=by_stacks("column_order"),
    traits=("expensive", "internal"),
)
def column_order(a: TensorSpec) -> TensorSpec:
    """The int32 numbers of the columns of matrices ``(..., m, n)``, each time the one of which most is left.

    Stacks are of float32 or float64. ShapeError for vectors.
    """
    known = len(floating(a).shape) == 2 or (len(a.shape) > 2 and a.dtype in KNOWN)
    require(known, f"takes a matrix, got {shape_text(a.shape)}")
    return TensorSpec((*a.shape[:-2], a.shape[-1]), _INT32)


def _ordered(numbers: np.ndarray, *, count: int, inverse: bool = False) -> np.ndarray:
    if inverse:
        return np.argsort(numbers, axis=-1).astype(_INT64)
    order = np.broadcast_to(np.arange(count, dtype=_INT64), (*numbers.shape[:-1], count)).copy()
    for place in np.ndindex(*numbers.shape[:-1]):
        for k, other in enumerate(numbers[place]):
            order[(*place, [k, other])] = order[(*place, [other, k])]
    return order


@defop(
    vjp=(None,),
    kernel=_ordered,
    lower=Callback(),
    batch=lambda batch, numbers, *, count, inverse=False: ops.row_order(
        numbers, count=count, inverse=inverse
    ),
    traits=("internal", "may_fail"),
)
def row_order(numbers: TensorSpec, *, count: Size, inverse: bool = False) -> TensorSpec:
    """The order into which exchanges of rows bring so many rows, or the one that undoes an order."""
    require(numbers.dtype.kind == "i", f"takes integers, got {numbers}")
    return TensorSpec((*numbers.shape[:-1], count), _INT64)
