"""Linear algebra: the matrix product and what is written with it, and systems of linear equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.autodiff.scattered import dense
from ...core.dim import Size, product, same
from ...core.errors import require
from ...core.failures import FailedComputation
from ...core.op import Attrs, Joint, defop, floating, numeric, ops, sample
from ...core.spec import TensorSpec, broadcast_shapes, shape_text
from ...core.tensor import Tensor
from ...core.tracing.dispatch import Record
from ...core.tracing.loop_form import INDEX, LoopForm
from ..arrays.shape import expand_dims, squeeze
from ..batch import batch_matmul, by_columns
from ..elementwise.arithmetic import matched, one_factor_is_zero
from ..lowering import Expand, Structure
from .lu import KNOWN

_TURNS = ("transpose_a", "transpose_b", "adjoint_a", "adjoint_b")


def _matrices(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    """Two matrices of one dtype, turned as asked, which is a view and no attribute."""
    pair = matched(inputs[:2], {})[0]
    if len(inputs) == 2 and not attrs:
        return pair, {}
    asked = {**dict(zip(_TURNS, inputs[2:])), **attrs}
    return [
        _turned(x, asked.get(f"transpose_{s}"), asked.get(f"adjoint_{s}")) for x, s in zip(pair, "ab")
    ], {}


def _turned(x: Any, transposed: bool | None, adjoint: bool | None) -> Any:
    if adjoint:
        return swapped(x)
    rank = len(x.shape)
    return ops.transpose(x, perm=(*range(rank - 2), rank - 1, rank - 2)) if transposed else x


def _matmul_kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.ndim < 2 or b.ndim < 2:  # NumPy would take vectors
        raise ValueError("takes matrices")
    return np.matmul(a, b)


def turned(x: Any) -> Any:
    """The last two axes exchanged."""
    rank = len(x.shape)
    return ops.transpose(x, perm=(*range(rank - 2), rank - 1, rank - 2))


def swapped(x: Any) -> Any:
    """The last two axes exchanged; complex numbers conjugated, as the derivative of a product needs."""
    return ops.conj(turned(x)) if x.dtype.kind == "c" else turned(x)


def _by_right_operand(g: Tensor, y: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """One product over the rows of the whole batch where its matrices share `b`, in place of a sum of products."""
    if len(b.shape) == 2 < len(a.shape):
        a, g = (ops.reshape(x, shape=(product(x.shape[:-1]), x.shape[-1])) for x in (a, g))
    return ops.matmul(swapped(a), g)


@defop(
    vjp=(lambda g, y, a, b: ops.matmul(g, swapped(b)), _by_right_operand),
    linear=True,
    vanishes_where=one_factor_is_zero,
    kernel=_matmul_kernel,
    lower=Structure("matmul"),
    canonicalize=_matrices,
    extra_keywords=_TURNS,
    batch=batch_matmul,
    work=lambda inputs, outputs: outputs[0].array.size * inputs[0].array.shape[-1],
    sign="@",
    traits=("expensive",),
    samples=(
        sample((2, 3), (3, 4), complex=True),
        sample((5, 2, 3), (3, 4)),
        sample((2, 1, 2, 3), (4, 3, 1)),
        sample((1, 3), (3, 1), complex=True),
    ),
)
def matmul(a: TensorSpec, b: TensorSpec) -> TensorSpec:
    """Matrix product over the last two axes; leading axes broadcast. Both have at least two axes.

    The derivatives are products with the other operand turned; `backprop` sums a cotangent over axes that broadcast.

    Parameters
    ----------
    a : tensor-like, ``(..., m, k)``
    b : tensor-like, ``(..., k, n)``

    Returns
    -------
    Tensor
        ``(..., m, n)``, of the dtype to which they are promoted.

    Raises
    ------
    ShapeError
        Where an operand is no matrix, or sizes do not fit.
    DtypeError
        For two bools, and for strings.
    """
    numeric(a)
    require(
        len(a.shape) >= 2 and len(b.shape) >= 2,
        f"takes matrices, got {shape_text(a.shape)} and {shape_text(b.shape)}; use tracejit.linalg.matvec or @",
    )
    require(
        same(a.shape[-1], b.shape[-2]),
        f"inner sizes differ: {a.shape[-1]} and {b.shape[-2]}, "
        f"in {shape_text(a.shape)} and {shape_text(b.shape)}",
    )
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return TensorSpec((*lead, a.shape[-2], b.shape[-1]), a.dtype)


def dot(a: Any, b: Any) -> Any:
    """``a @ b`` as NumPy has it: a vector `a` counts as a row, a vector `b` as a column, and their axis falls away.

    The sizes summed over agree and leading axes broadcast, or it is a ShapeError; scalars are one too. The dtype is
    that to which they are promoted; DtypeError for two bools, and for strings.
    """
    (a, b), _ = matched((a, b), {})
    require(len(a.shape) >= 1 and len(b.shape) >= 1, "@ takes tensors of rank 1 and more; use * for scalars")
    left = expand_dims(a, 0) if len(a.shape) == 1 else a
    right = expand_dims(b, 1) if len(b.shape) == 1 else b
    product = matmul(left, right)
    if len(b.shape) == 1:
        product = squeeze(product, -1)
    return squeeze(product, -1 if len(b.shape) == 1 else -2) if len(a.shape) == 1 else product


def norm(x: Any) -> Any:
    """Square root of the sum of squares of all elements."""
    return ops.sqrt(
        ops.reduce_sum(ops.square(ops.abs(x) if getattr(x, "dtype", np.dtype(float)).kind == "c" else x))
    )


# ---- systems of linear equations ------------------------------------------------------------------------

SINGULAR = "the matrix is singular"


def solve_kernel(a: np.ndarray, b: np.ndarray, adjoint: bool = False) -> np.ndarray:
    """The solution by LAPACK, NaN where the matrix has one."""
    a = a.conj().T if adjoint else a
    if np.isnan(a).any():  # LAPACK would take it for singular
        return np.full(b.shape, np.nan, b.dtype)
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        raise FailedComputation(SINGULAR) from None


def _solve_vjp(record: Record, gs: list[Any], needs: list[bool]) -> list[Any]:
    adjoint = record.attrs.get("adjoint", False)
    g = ops.solve(record.inputs[0], dense(gs[0]), adjoint=not adjoint)
    return [of_matrix(g, record.outputs[0], adjoint) if needs[0] else None, g]


def of_matrix(g: Any, x: Any, adjoint: bool) -> Any:
    """The cotangent of a matrix from that of the right sides, `g`, and the solutions: minus their product."""
    left, right = (x, g) if adjoint else (g, x)
    if x.shape[1] == 1:  # an outer product is element-wise
        return ops.negative(ops.multiply(left, swapped(right)))
    return ops.negative(ops.matmul(left, swapped(right)))


def _solve_jvp(record: Record, ts: list[Any]) -> list[Any]:
    of_a, of_b = ts
    adjoint = record.attrs.get("adjoint", False)
    if of_a is not None:
        of_b = of_right_side(swapped(of_a) if adjoint else of_a, of_b, record.outputs[0])
    return [ops.solve(record.inputs[0], of_b, adjoint=adjoint)]


def of_right_side(of_a: Any, of_b: Any, x: Any) -> Any:
    """The tangent of a right side that has the effect of those of the matrix and of the right side."""
    moved = ops.negative(ops.matmul(of_a, x))
    return moved if of_b is None else ops.add(of_b, moved)


def _solved(a: Tensor, b: Tensor, *, adjoint: bool = False) -> list[Tensor]:
    """By the factors, which are the same for all right sides and for the adjoint, or by loops."""
    if a.dtype not in KNOWN:
        return [eliminated(swapped(a) if adjoint else a, b)]
    lu, pivots, state = ops.lu_factor(a)
    check_state(state, SINGULAR)
    return [ops.lu_solve(lu, pivots, state, b, transposed=adjoint)]


def check_state(state: Tensor, message: str) -> None:
    """Refuse a matrix that could not be factored."""
    ops.check(as_float(ops.less_equal(state, 0)), message=message, error="RuntimeError")


def eliminated(a: Tensor, b: Tensor) -> Tensor:
    """Gaussian elimination with partial pivoting, then substitution from the last row up."""
    n = a.shape[0]
    if n == 0:
        return b
    rows = [(0, n, 1)]
    lost = ops.reduce_max(ops.is_nan(a))
    (whole,) = for_each(_eliminate, [ops.concat(a, b, axis=1)], [lost], n)
    left = ops.slice(whole, slices=(*rows, (0, n, 1)))
    right = ops.slice(whole, slices=(*rows, (n, b.shape[1], 1)))
    start = ops.fill(shape=b.shape, value=0.0, dtype=b.dtype)
    (solution,) = for_each(_substitute, [start], [left, right], n, reverse=True)
    return ops.where(lost, np.nan, solution)


def for_each(
    step: Callable[..., Sequence[Tensor]],
    carry: Sequence[Tensor],
    held: Sequence[Tensor],
    n: Size,
    reverse: bool = False,
) -> Sequence[Tensor]:
    """The last of ``carry = step(k, *carry, *held)``, for k from 0 to n - 1 or the other way."""

    def body(
        k: Tensor, carry: Sequence[Tensor], xs: Any, consts: Sequence[Tensor]
    ) -> tuple[Any, tuple[Any, ...]]:
        return step(k, *carry, *consts), ()

    names = (step.__name__, "cond")
    return LoopForm.written(body, carry, (), held, length=n, reverse=reverse, names=names).apply().carry


def _eliminate(k: Tensor, whole: Tensor, lost: Tensor) -> list[Tensor]:
    """Bring the largest element of column `k` to the diagonal and clear what is below; all is `lost` to a NaN."""
    below = ops.greater(ops.iota(size=whole.shape[0], dtype=INDEX.dtype), k)
    size = ops.abs(ops.gather(whole, k, axis=1))
    available = ops.logical_or(below, ops.equal(ops.iota(size=whole.shape[0], dtype=INDEX.dtype), k))
    best = ops.argmax(ops.where(available, size, -1.0), axis=0)
    pivot, other = ops.gather(whole, best, axis=0), ops.gather(whole, k, axis=0)
    whole = ops.dynamic_update_slice(whole, expand_dims(other, 0), (best, 0))
    whole = ops.dynamic_update_slice(whole, expand_dims(pivot, 0), (k, 0))
    on_diagonal = ops.gather(pivot, k, axis=0)
    regular = ops.logical_or(ops.not_equal(on_diagonal, 0), lost)
    ops.check(as_float(regular), message=SINGULAR, error="RuntimeError")
    factor = ops.divide(ops.gather(whole, k, axis=1), on_diagonal)
    cleared = ops.subtract(whole, ops.multiply(expand_dims(factor, 1), expand_dims(pivot, 0)))
    return [ops.where(expand_dims(below, 1), cleared, whole)]


def _substitute(k: Tensor, x: Tensor, left: Tensor, right: Tensor) -> list[Tensor]:
    """Row `k` of the solution, from the rows below."""
    row = ops.gather(left, k, axis=0)
    below = ops.greater(ops.iota(size=row.shape[0], dtype=INDEX.dtype), k)
    known = ops.reduce_sum(ops.multiply(expand_dims(ops.where(below, row, 0), 1), x), axis=(0,))
    solved = ops.divide(ops.subtract(ops.gather(right, k, axis=0), known), ops.gather(row, k, axis=0))
    return [ops.dynamic_update_slice(x, expand_dims(solved, 0), (k, 0))]


def as_float(flag: Tensor) -> Tensor:
    """A truth as a number, which is what is checked."""
    return ops.cast(flag, dtype=np.dtype(np.float64))


def system(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    """A matrix and right sides of one dtype; of the attributes those that are not as usual."""
    usual = {"adjoint": False, "lower": True}
    return matched(inputs, {})[0], {k: bool(v) for k, v in attrs.items() if bool(v) is not usual[k]}


@defop(
    vjp=Joint(_solve_vjp),
    jvp=_solve_jvp,
    kernel=solve_kernel,
    lower=Expand(_solved),
    canonicalize=system,
    batch=by_columns("solve"),
    traits=("expensive", "may_fail", "polls"),
)
def solve(a: TensorSpec, b: TensorSpec, *, adjoint: bool = False) -> TensorSpec:
    """The matrix x with ``a @ x = b``, NaN if `a` has one; RuntimeError where the square matrix `a` is singular.

    With `adjoint` that of the conjugate transpose of `a`.
    """
    return system_of(a, b)


def square(a: TensorSpec) -> TensorSpec:
    """Shape rule: a square matrix, of which the spec of one element is given."""
    fits = len(a.shape) == 2 and same(a.shape[0], a.shape[1])
    require(fits, f"takes a square matrix, got {shape_text(a.shape)}")
    return a.with_shape(())


def system_of(a: TensorSpec, b: TensorSpec) -> TensorSpec:
    """Shape rule: a square matrix and right sides, of which the solutions have the spec."""
    floating(a)
    square(a)
    fits = len(b.shape) == 2 and same(a.shape[0], b.shape[0])
    require(fits, f"right sides {shape_text(b.shape)} for a matrix {shape_text(a.shape)}; one per column")
    return b
