"""Products and norms of tensors over any axes, written with the matrix product.

``einsum`` and ``tensordot`` bring their operands into the form of one batched matrix product and back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.dim import Size, product, same
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..core.tracing.recipes import by_recipe
from ..frontend.control.reductions import reduce_max, reduce_min, reduce_sum
from ..ops.arrays.reduce import one_axis
from ..ops.arrays.shape import expand_dims, squeeze
from ..ops.elementwise.arithmetic import matched
from ..ops.linalg import products
from .diagonals import diag_part

#: The first letter for an axis behind dots: above all those that users may write.
_DOTS = "\N{GREEK CAPITAL LETTER ALPHA}"


def norm(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The norm of vectors along an axis, or of all elements, in the dtype of `tensor`, also where that is complex.

    Parameters
    ----------
    tensor : tensor-like
    ord : str or number
        Of vectors ``"euclidean"`` (or 2), 1, ``inf``, or any positive number p: the p-th root of the sum of p-th
        powers. Of matrices ``"fro"`` (or ``"euclidean"``), 1 and ``inf``: the largest sum of sizes of a column,
        and of a row; -1 and ``-inf``: the smallest.
    axis : int or pair of int, optional
        None is all axes, taken as one vector; a pair means matrices.
    keepdims : bool

    Raises
    ------
    ValueError
        For an `ord` that is not known.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.norm([[3.0, 4.0], [6.0, 8.0]], axis=1))
    tf.Tensor([ 5. 10.], shape=(2,), dtype=float32)
    """
    x: Any = as_tensor(tensor)
    norms = _norm(x, {"inf": np.inf, "fro": "euclidean"}.get(ord, ord), axis, keepdims)
    return ops.cast(norms, dtype=x.dtype) if x.dtype.kind == "c" else norms


def _norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Tensor:
    if isinstance(axis, (tuple, list)) and len(axis) == 2:
        return matrix_norm(x, ord, axis, keepdims)
    if ord != "euclidean" and not (isinstance(ord, (int, float, np.integer, np.floating)) and ord > 0):
        raise ValueError(f"ord is 'euclidean', inf or a positive number, got {ord!r}{at(user_location())}")
    return vector_norm(x, 2 if ord == "euclidean" else ord, axis, keepdims)


def vector_norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Tensor:
    """The norm of what the axes hold (None: all), taken as one vector, for any number but 0."""
    if ord == 2 and axis is None and not keepdims:
        return products.norm(x)
    if ord == 2:
        return ops.sqrt(reduce_sum(products.squared_sizes(x), axis, keepdims))
    sizes = ops.abs(x)
    if ord in (np.inf, -np.inf):
        return (reduce_max if ord > 0 else reduce_min)(sizes, axis, keepdims)
    if ord == 1:
        return reduce_sum(sizes, axis, keepdims)
    return ops.pow(reduce_sum(ops.pow(sizes, float(ord)), axis, keepdims), 1.0 / float(ord))


#: Norms of matrices that are sums, largest or smallest ones of their singular values.
_OF_SINGULAR_VALUES = {2: reduce_max, -2: reduce_min, "nuc": reduce_sum}


def matrix_norm(x: Any, ord: Any, axes: Sequence[int], keepdims: bool) -> Tensor:
    """The norm of matrices whose rows and columns are numbered by two axes."""
    rows, columns = (one_axis(int(k), len(x.shape)) for k in axes)
    sizes = ops.abs(x)
    if ord == "euclidean":
        return ops.sqrt(reduce_sum(products.squared_sizes(x), (rows, columns), keepdims))
    if ord in _OF_SINGULAR_VALUES:
        others = [k for k in range(len(x.shape)) if k not in (rows, columns)]
        values = ops.svd(ops.transpose(x, perm=(*others, rows, columns)), full_matrices=False)[1]
        found = _OF_SINGULAR_VALUES[ord](values, -1)
        kept = tuple([1 if k in (rows, columns) else d for k, d in enumerate(x.shape)])
        return ops.reshape(found, shape=kept) if keepdims else found
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError(
            f"of matrices the norms 'fro', 'nuc', 1, -1, 2, -2, inf and -inf are known, not {ord!r}; for the Euclidean "
            f"norm of all elements write ord='fro'{at(user_location())}"
        )
    summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
    norms = (reduce_max if ord > 0 else reduce_min)(reduce_sum(sizes, summed, True), chosen, True)
    return norms if keepdims else squeeze(norms, (rows, columns))


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """`tensor` over its :func:`norm`, and the norm, with its axes kept; both of floats.

    `ord`, `axis` and errors, ValueError and ShapeError, are those of :func:`norm`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(*tf.linalg.normalize([3.0, 4.0]))
    tf.Tensor([0.6 0.8], shape=(2,), dtype=float32) tf.Tensor([5.], shape=(1,), dtype=float32)
    """
    x: Any = as_tensor(tensor)
    length = norm(x, ord, axis, keepdims=True)
    return ops.divide(x, ops.cast(length, dtype=x.dtype)), length


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Matrices times vectors, over the last axes; leading axes broadcast.

    Parameters
    ----------
    a, b : tensor-like
    transpose_a, adjoint_a : bool
        Take the (conjugate) transposes of the matrices.
    a_is_sparse, b_is_sparse, name
        Accepted and ignored.

    Returns
    -------
    Tensor
        ``(..., m)`` of matrices ``(..., m, n)`` and vectors ``(..., n)``, of the promoted dtype.

    Raises
    ------
    ShapeError
        Where sizes do not fit.
    DtypeError
        For two bools, and for strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]))
    tf.Tensor([3. 7.], shape=(2,), dtype=float32)
    """
    column = expand_dims(as_tensor(b), -1)
    return squeeze(products.matmul(a, column, transpose_a=transpose_a, adjoint_a=adjoint_a), -1)


def matrix_transpose(a: Any, name: str | None = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """The last two axes of `a` exchanged, and with `conjugate` the signs of imaginary parts; the dtype stays.

    ShapeError for fewer axes.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.matrix_transpose(tf.ones([4, 2, 3])).shape)
    (4, 3, 2)
    """
    x = as_tensor(a)
    rank = len(x.shape)
    turned = ops.transpose(x, perm=(*range(rank - 2), rank - 1, rank - 2))
    return ops.conj(turned) if conjugate and x.dtype.kind == "c" else turned


def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """The conjugate transpose of matrices, the last two axes of `matrix`; same dtype, ShapeError for fewer axes.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.linalg.adjoint([[1.0 + 1.0j, 2.0]]).shape)
    (2, 1)
    """
    return matrix_transpose(matrix, conjugate=True)


# ---- over any axes --------------------------------------------------------------------------------------


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """Sum of products over some axes of `a` and as many of `b`.

    Parameters
    ----------
    a, b : tensor-like
    axes : int or pair of int or of sequences of int
        An int is so many last axes of `a` and first axes of `b`; a pair names those of `a` and those of `b`.

    Returns
    -------
    Tensor
        The other axes of `a`, then those of `b`.

    Raises
    ------
    ShapeError
        Where the axes differ in number or size.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.tensordot([1.0, 2.0], [3.0, 4.0], 1))
    11.0
    """
    a, b = matched((a, b), {})[0]
    mine, theirs = _paired_axes(axes, len(a.shape), len(b.shape))
    for i, j in zip(mine, theirs, strict=True):
        if not same(a.shape[i], b.shape[j]):
            raise ShapeError(
                f"axis {i} of {a.spec} and axis {j} of {b.spec} differ in size: they cannot be summed over together"
                f"{at(user_location())}"
            )
    free_a = [i for i in range(len(a.shape)) if i not in mine]
    free_b = [j for j in range(len(b.shape)) if j not in theirs]
    return _product(a, b, ([], free_a, mine), ([], free_b, theirs))


def _paired_axes(axes: Any, rank_a: int, rank_b: int) -> tuple[list[int], list[int]]:
    if isinstance(axes, (int, np.integer)):
        if not 0 <= axes <= min(rank_a, rank_b):
            raise ShapeError(f"{axes} axes are asked of ranks {rank_a} and {rank_b}{at(user_location())}")
        return list(range(rank_a - int(axes), rank_a)), list(range(int(axes)))
    mine, theirs = ([x] if isinstance(x, (int, np.integer)) else list(x) for x in axes)
    if len(mine) != len(theirs):
        raise ShapeError(f"{len(mine)} axes of one and {len(theirs)} of the other{at(user_location())}")
    return [one_axis(int(i), rank_a) for i in mine], [one_axis(int(j), rank_b) for j in theirs]


def _product(a: Any, b: Any, axes_a: Sequence[Sequence[int]], axes_b: Sequence[Sequence[int]]) -> Any:
    """One matrix product: axes of both kinds given as (shared, free, summed); the result has shared, free, free."""
    shared = [a.shape[i] for i in axes_a[0]]
    rows, columns = [a.shape[i] for i in axes_a[1]], [b.shape[j] for j in axes_b[1]]
    inner = [a.shape[i] for i in axes_a[2]]
    left = ops.transpose(a, perm=(*axes_a[0], *axes_a[1], *axes_a[2]))
    right = ops.transpose(b, perm=(*axes_b[0], *axes_b[2], *axes_b[1]))
    m, n, k = product(rows), product(columns), product(inner)
    left = ops.reshape(left, shape=(*shared, m, k))
    right = ops.reshape(right, shape=(*shared, k, n))
    return ops.reshape(ops.matmul(left, right), shape=(*shared, *rows, *columns))


def einsum(equation: str, *inputs: Any, name: str | None = None) -> Tensor:
    """Sums of products, with axes named by letters.

    Parameters
    ----------
    equation : str
        ``"ij,jk->ik"``: letters for the axes of each operand, and for those of the result; the others are summed
        over. Without ``->`` the result has the letters that occur once, in order. ``...`` stands for leading axes
        that broadcast.
    *inputs : tensor-like
        One per group of letters, multiplied from left to right.

    Raises
    ------
    ValueError
        When letters and axes do not go together.

    Examples
    --------
    >>> import tracejit as tf
    >>> x, y = tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])
    >>> print(tf.einsum("bi,bi->b", x, y))
    tf.Tensor([11.], shape=(1,), dtype=float32)
    """
    tensors = matched(inputs, {})[0] if len(inputs) > 1 else [as_tensor(x) for x in inputs]
    return by_recipe(sums_of_products, tensors, equation)


def sums_of_products(tensors: Sequence[Tensor], equation: str, stretched: bool = False) -> Tensor:
    """The operands contracted one by one, from the left; with `stretched` every axis of size 1 fits any size."""
    terms, result = _letters(equation, tensors)
    sizes = _sizes(equation, terms, tensors, stretched)
    operands = [_without_single(*_once(term, x), sizes) for term, x in zip(terms, tensors, strict=True)]
    while len(operands) > 1:
        kept = set(result).union(*(set(term) for term, _ in operands[2:]))
        operands[:2] = [_contracted(operands[0], operands[1], kept)]
    term, x = _summed(*operands[0], set(result))
    return ops.transpose(x, perm=tuple([term.index(letter) for letter in result]))


def _letters(equation: str, tensors: Sequence[Any]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with capital Greek ones in place of dots."""
    text = equation.replace(" ", "")
    if not re.fullmatch(r"[A-Za-z.]*(,[A-Za-z.]*)*(->[A-Za-z.]*)?", text):
        raise ValueError(f"{equation!r} is no equation like 'ij,jk->ik'{at(user_location())}")
    left, arrow, result = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        raise ValueError(
            f"{equation!r} is for {len(terms)} operands, got {len(tensors)}{at(user_location())}"
        )
    counts = [len(x.shape) - len(t.replace("...", "")) for t, x in zip(terms, tensors, strict=True)]
    dots = max([c for c, t in zip(counts, terms, strict=True) if "..." in t], default=0)
    names = [chr(ord(_DOTS) + i) for i in range(dots)]
    for position, (term, count, x) in enumerate(zip(terms, counts, tensors, strict=True)):
        if count < 0 or (count and "..." not in term) or "." in term.replace("...", "", 1):
            raise ShapeError(
                f"einsum: {term!r} of {equation!r} does not name the {len(x.shape)} axes of {x.spec}"
                f"{at(user_location())}"
            )
        terms[position] = term.replace("...", "".join(names[dots - count :]))
    if not arrow:
        letters = "".join(terms)
        result = "".join(sorted(c for c in set(letters) - set(names) if letters.count(c) == 1))
        result = "".join(names) + result
    result = result.replace("...", "".join(names))
    if set(result) - set("".join(terms)) or len(set(result)) != len(result):
        raise ValueError(
            f"the result of {equation!r} has letters twice, or of no operand{at(user_location())}"
        )
    return terms, result


def _sizes(equation: str, terms: Sequence[str], tensors: Sequence[Any], stretched: bool) -> dict[str, Size]:
    """The size that each letter stands for; axes behind dots may also have size 1, with `stretched` all of them."""
    sizes: dict[str, Size] = {}
    pairs = [pair for term, x in zip(terms, tensors, strict=True) for pair in zip(term, x.shape, strict=True)]
    for letter, size in pairs:
        before, may_stretch = sizes.setdefault(letter, size), stretched or letter >= _DOTS
        if may_stretch and _is_single(before):
            sizes[letter] = size
        elif not (same(before, size) or (may_stretch and _is_single(size))):
            raise ShapeError(
                f"einsum: {'an axis behind dots' if letter >= _DOTS else repr(letter)} is {before} and {size} in "
                f"{equation!r} of {', '.join(str(t.spec) for t in tensors)}{at(user_location())}"
            )
    return sizes


def _is_single(size: Size) -> bool:
    return isinstance(size, int) and size == 1


def _without_single(term: str, x: Any, sizes: dict[str, Size]) -> tuple[str, Any]:
    """An operand without the axes of size 1 that broadcast: another operand has a size for their letter."""
    single = tuple(
        [
            i
            for i, (c, n) in enumerate(zip(term, x.shape, strict=True))
            if _is_single(n) and not _is_single(sizes[c])
        ]
    )
    return "".join(c for i, c in enumerate(term) if i not in single), squeeze(x, single) if single else x


def _once(term: str, x: Any) -> tuple[str, Any]:
    """An operand in which no letter comes twice: of axes with one letter the diagonal is taken."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            i, j = term.index(letter), term.rindex(letter)
            if not same(x.shape[i], x.shape[j]):
                raise ShapeError(
                    f"{letter!r} is {x.shape[i]} and {x.shape[j]} in one operand{at(user_location())}"
                )
            others = [a for a in range(len(term)) if a not in (i, j)]
            x = diag_part(ops.transpose(x, perm=(*others, i, j)))
            term = "".join(term[a] for a in others) + letter
    return term, x


def _summed(term: str, x: Any, kept: set[str]) -> tuple[str, Any]:
    """An operand without the letters that nothing else needs."""
    axes = tuple([i for i, letter in enumerate(term) if letter not in kept])
    return "".join(c for c in term if c in kept), ops.reduce_sum(x, axis=axes) if axes else x


def _contracted(one: tuple[str, Any], other: tuple[str, Any], kept: set[str]) -> tuple[str, Any]:
    """Two operands multiplied, and summed over the letters that are needed no more."""
    a, x = _summed(*one, kept | set(other[0]))
    b, y = _summed(*other, kept | set(one[0]))
    shared = [c for c in a if c in b and c in kept]
    summed = [c for c in a if c in b and c not in kept]
    rows, columns = [c for c in a if c not in b], [c for c in b if c not in a]
    left, right = (
        [[t.index(c) for c in part] for part in (shared, free, summed)]
        for t, free in ((a, rows), (b, columns))
    )
    return "".join([*shared, *rows, *columns]), _product(x, y, left, right)
