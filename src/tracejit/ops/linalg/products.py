"""Linear algebra: the matrix product and what is written with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.dim import product, same
from ...core.errors import ShapeError, at, require, user_location
from ...core.op import Attrs, defop, numeric, ops, sample
from ...core.spec import TensorSpec, broadcast_shapes, shape_text
from ...core.tensor import Tensor
from ...core.tracing.dispatch import NO_ATTRS, apply
from ..arrays.shape import expand_dims, squeeze
from ..batch import batch_matmul
from ..elementwise.arithmetic import matched, one_factor_is_zero
from ..lowering import Structure

_TURNS = ("transpose_a", "transpose_b", "adjoint_a", "adjoint_b")


def _matrices(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    """Two matrices of one dtype, turned as asked, which is a view and no attribute."""
    pair = matched(inputs[:2], {})[0]
    if len(inputs) == 2 and not attrs:
        return pair, {}
    asked = {**dict(zip(_TURNS, inputs[2:])), **attrs}
    return tuple(
        [_turned(x, asked.get(f"transpose_{s}"), asked.get(f"adjoint_{s}")) for x, s in zip(pair, "ab")]
    ), {}


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

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.matmul([[1.0, 2.0]], [[3.0], [4.0]]))
    tf.Tensor([[11.]], shape=(1, 1), dtype=float32)
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

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.dot([[1.0, 2.0]], [3.0, 4.0]))
    tf.Tensor([11.], shape=(1,), dtype=float32)
    """
    (a, b), _ = matched((a, b), {})
    if len(a.shape) > 1 < len(b.shape):
        return apply(matmul, (a, b), NO_ATTRS)
    if not (a.shape and b.shape):
        raise ShapeError(
            f"@ takes tensors of rank 1 and more, got {a.spec} and {b.spec}; use * for scalars{at(user_location())}"
        )
    left = expand_dims(a, 0) if len(a.shape) == 1 else a
    right = expand_dims(b, 1) if len(b.shape) == 1 else b
    product = matmul(left, right)
    if len(b.shape) == 1:
        product = squeeze(product, -1)
    return squeeze(product, -1 if len(b.shape) == 1 else -2) if len(a.shape) == 1 else product


def squared_sizes(x: Any) -> Any:
    """``abs(x)**2``, whose second derivative is 2 where an element is 0, too: that of ``abs`` is none there."""
    if getattr(x, "dtype", np.dtype(float)).kind != "c":
        return ops.square(x)
    return ops.square(ops.real(x)) + ops.square(ops.imag(x))


def norm(x: Any) -> Any:
    """Square root of the sum of squares of all elements."""
    return ops.sqrt(ops.reduce_sum(squared_sizes(x)))
