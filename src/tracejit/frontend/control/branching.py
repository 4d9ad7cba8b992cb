"""Forms built on `cond` and `scan`: choices among several branches, maps over rows, prefix scans.

Nothing here knows graphs; eager mode and traces differ only in what `cond` and `scan` do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...core.dim import Dim
from ...core.errors import ShapeError, at, user_location
from ...core.op import ops
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...ops.arrays.reduce import one_axis
from ..structure import flatten, map_structure, unflatten
from .cond import cond
from .loop_functions import scan


def case(
    pred_fn_pairs: Sequence[tuple[Any, Callable[[], Any]]],
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str | None = None,
) -> Any:
    """Run the function of the first condition that holds.

    Parameters
    ----------
    pred_fn_pairs : sequence of (scalar bool, callable)
    default : callable, optional
        Run when none holds; by default the last function, then assumed to apply.
    exclusive : bool
        Check that no more than one condition holds.

    Returns
    -------
    What the function returns; all return the same structure, shapes and dtypes.

    Raises
    ------
    ValueError
        For no pair, or a default that is missing where no condition need hold.
    AssertionError
        With `exclusive`, when several conditions hold.

    Notes
    -----
    The other arguments are accepted for programs written for other libraries, and ignored.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.constant(3.0)
    >>> print(tf.case([(x < 1.0, lambda: x), (x < 5.0, lambda: 10.0 * x)], default=lambda: -x))
    tf.Tensor(30.0, shape=(), dtype=float32)
    """
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, Mapping) else list(pred_fn_pairs)
    if not pairs:
        raise ValueError(f"case takes at least one pair of a condition and a function{at(user_location())}")
    if exclusive:
        _check_exclusive([pred for pred, _ in pairs])
    if default is None:
        default = pairs.pop()[1]
    chosen = default
    for pred, branch in reversed(pairs):
        chosen = _choice(pred, branch, chosen)
    return chosen()


def _check_exclusive(preds: Sequence[Any]) -> None:
    one = np.dtype(np.float32)
    holding = functools.reduce(ops.add, [ops.cast(as_tensor(p), dtype=one) for p in preds])
    ops.check(
        ops.cast(ops.less(holding, 2.0), dtype=one), message="several conditions of an exclusive case hold"
    )


def _choice(pred: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: cond(pred, then, orelse)


def switch_case(
    branch_index: Any,
    branch_fns: Sequence[Any] | Mapping[int, Callable[[], Any]],
    default: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Run the function of number `branch_index`.

    Parameters
    ----------
    branch_index : scalar integer
    branch_fns : sequence of callables or of (int, callable), or mapping of int to callable
    default : callable, optional
        Run for other numbers; by default the function of the largest number.
    name : str, optional
        Ignored.

    Raises
    ------
    ValueError
        For no function.
    ShapeError
        For an index that is no scalar integer.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.switch_case(tf.constant(1), [lambda: tf.constant(0.0), lambda: tf.constant(7.0)]))
    tf.Tensor(7.0, shape=(), dtype=float32)
    """
    numbered = isinstance(branch_fns, Mapping) or any(isinstance(f, tuple) for f in branch_fns)
    table: dict[int, Callable[[], Any]] = dict(branch_fns if numbered else enumerate(branch_fns))
    if not table:
        raise ValueError(f"switch_case takes at least one function{at(user_location())}")
    index = as_tensor(branch_index)
    if index.dtype.kind not in "iu" or index.shape != ():
        raise ShapeError(f"switch_case takes a scalar integer, got {index.spec}{at(user_location())}")
    last = default or table[max(table)]
    numbers = [k for k in table if default is not None or k != max(table)]
    pairs = [(ops.equal(index, k), table[k]) for k in numbers]
    return case(pairs, last) if pairs else last()


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """Apply `fn` to each row of `elems` and stack the results.

    Parameters
    ----------
    fn : callable
        From a nest of rows to a nest of tensors.
    elems : nest of tensors
        All of one size along their first axis.

    Notes
    -----
    The other arguments are accepted for programs written for other libraries, and ignored: what `fn` returns says
    structure and dtypes.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.map_fn(lambda x: x * x, tf.constant([1.0, 2.0])))
    tf.Tensor([1. 4.], shape=(2,), dtype=float32)
    """
    return scan(lambda carry, x: (carry, fn(x)), (), elems)[1]


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All prefixes combined by an associative function, in a number of steps logarithmic in their number.

    Parameters
    ----------
    fn : callable
        ``fn(a, b)`` on nests like `elems`, element-wise along `axis`, associative.
    elems : nest of tensors
        All of one known size along `axis`.
    reverse : bool
        Suffixes instead.
    axis : int

    Returns
    -------
    nest of tensors
        At position i the combination of elements 0 to i. Formula: Blelloch, "Prefix sums and their
        applications" (1990).

    Raises
    ------
    ShapeError
        For trees without leaves, and sizes that differ or are not known.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.associative_scan(tf.multiply, tf.constant([1.0, 2.0, 3.0, 4.0])))
    tf.Tensor([ 1.  2.  6. 24.], shape=(4,), dtype=float32)
    """
    leaves, structure = flatten(map_structure(as_tensor, elems))
    axes = [one_axis(axis, len(x.shape)) for x in leaves]
    sizes = {x.shape[a] for x, a in zip(leaves, axes, strict=True)}
    if len(sizes) != 1 or any(isinstance(s, Dim) for s in sizes):
        raise ShapeError(
            f"associative_scan needs one size, known when tracing, along axis {axis}; got {sorted(map(str, sizes))}. "
            f"tracejit.scan takes sizes that are not known{at(user_location())}"
        )

    def combine(a: list[Tensor], b: list[Tensor]) -> list[Tensor]:
        combined = fn(unflatten(structure, a), unflatten(structure, b))
        return [as_tensor(x) for x in flatten(combined)[0]]

    if reverse:
        leaves = [_part(x, a, x.shape[a] - 1, -1) for x, a in zip(leaves, axes, strict=True)]
    prefixes = _prefixes(lambda a, b: combine(b, a) if reverse else combine(a, b), leaves, axes)
    if reverse:
        prefixes = [_part(x, a, x.shape[a] - 1, -1) for x, a in zip(prefixes, axes, strict=True)]
    return unflatten(structure, prefixes)


def _prefixes(
    combine: Callable[[list[Any], list[Any]], list[Any]], xs: list[Tensor], axes: list[int]
) -> list[Tensor]:
    """Combine neighbours, scan those, fill in between; one round per halving."""
    size = xs[0].shape[axes[0]]
    if size < 2:
        return xs
    even, odd = ([_part(x, a, k, 2) for x, a in zip(xs, axes, strict=True)] for k in (0, 1))
    pairs = combine(_head(even, axes, size // 2), odd)
    at_odd = _prefixes(combine, pairs, axes)
    rest = [_part(x, a, 1, 1) for x, a in zip(even, axes, strict=True)]
    first = _head(even, axes, 1)
    if (size + 1) // 2 > 1:
        filled = combine(_head(at_odd, axes, (size + 1) // 2 - 1), rest)
        at_even = [ops.concat(f, g, axis=a) for f, g, a in zip(first, filled, axes, strict=True)]
    else:
        at_even = first
    return [_interleaved(e, o, a) for e, o, a in zip(at_even, at_odd, axes, strict=True)]


def _part(x: Tensor, axis: int, start: int, step: int) -> Tensor:
    size = x.shape[axis]
    count = size if step == -1 else max(0, -(-(size - start) // step))
    slices = tuple((start, count, step) if k == axis else (0, d, 1) for k, d in enumerate(x.shape))
    return ops.slice(x, slices=slices)


def _head(xs: list[Tensor], axes: list[int], count: int) -> list[Tensor]:
    return [
        ops.slice(x, slices=tuple((0, count if k == a else d, 1) for k, d in enumerate(x.shape)))
        for x, a in zip(xs, axes, strict=True)
    ]


def _interleaved(even: Tensor, odd: Tensor, axis: int) -> Tensor:
    """Elements of `even` and `odd` in turn along `axis`; `even` may have one more."""
    shape = list(even.shape)
    shape[axis] = even.shape[axis] + odd.shape[axis]
    slices = tuple(
        tuple((first, part.shape[axis], 2) if k == axis else (0, d, 1) for k, d in enumerate(shape))
        for first, part in ((0, even), (1, odd))
    )
    whole = ops.fill(shape=tuple(shape), value=0, dtype=even.np_dtype)
    for part, where in zip((even, odd), slices, strict=True):
        whole = ops.slice_set(whole, part, slices=where)
    return whole
