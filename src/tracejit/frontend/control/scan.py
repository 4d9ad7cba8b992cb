"""Folds over rows: `scan` with its arguments in either of the two orders in use, `foldl` and `foldr`.

Written with `control.scan`, which makes one loop of them in a trace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.dim import same
from ...core.errors import ShapeError, at, user_location
from ...core.op import ops
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...core.tracing.trace import trace
from ...core.tracing.transaction import Unwinding
from ...ops.arrays.shape import expand_dims
from ...ops.tensor.indexing import get
from ..autograph.operators import callee
from ..autograph.places.reachable import attempt_with
from ..structure import alike, flatten, map_structure, unflatten
from . import loop_functions as control

_MISSING: Any = object()


def scan(
    f: Callable[[Any, Any], Any] = _MISSING,
    init: Any = _MISSING,
    xs: Any = None,
    length: Any = None,
    reverse: bool = False,
    memory: int | str | None = None,
    *,
    fn: Callable[[Any, Any], Any] = _MISSING,
    elems: Any = _MISSING,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """Run ``carry, y = f(carry, x)`` over the rows ``x`` of `xs`, and stack the ``y``.

    Also in TensorFlow's order, ``scan(fn, elems, initializer)``: ``fn(carry, x)`` returns the new carry alone, and all
    of them are stacked.

    Parameters
    ----------
    f : callable
        ``f(carry, x) -> (carry, y)``; ``y`` may be any nest, or None.
    init : nest of tensors
        The first carry.
    xs : nest of tensors, optional
        All of one size along their first axis, which is the number of iterations. Without it, ``x`` is None.
    length : int, optional
        The number of iterations where there is no `xs`; beside one, it says that the arguments stand in this order.
    reverse : bool
        From the last row to the first; ``y`` stands where its ``x`` stood.
    memory : int or str, optional
        What the gradient may keep, as in :func:`function`; by default what the traced function says.
    elems, initializer : nest of tensors
        Rows and first carry in TensorFlow's order; without `initializer` the first row is the first carry.

    Returns
    -------
    carry, ys : nests of tensors
        In TensorFlow's order only the carries, stacked.

    Notes
    -----
    The order of two arguments is that in which `f` can take them: `init` and `xs` if it then returns a pair whose first
    part is like `init`, else `elems` and `initializer`. The arguments after `initializer` are ignored.

    Examples
    --------
    >>> import tracejit as tf
    >>> total, sums = tf.scan(lambda c, x: (c + x, c + x), 0.0, tf.constant([1.0, 2.0, 3.0]))
    >>> print(sums)
    tf.Tensor([1. 3. 6.], shape=(3,), dtype=float32)
    >>> print(tf.scan(lambda c, x: c + x, tf.constant([1.0, 2.0, 3.0])))
    tf.Tensor([1. 3. 6.], shape=(3,), dtype=float32)
    """
    if fn is not _MISSING:
        f = fn
    if elems is not _MISSING:
        first = init if initializer is None and init is not _MISSING else initializer
        return _running(f, elems, first, reverse)
    if initializer is not None or (xs is None and length is None and _has_rows(init)):
        return _running(f, init, initializer, reverse)
    if xs is None or _is_length(length, xs):
        return control.scan(f, init, xs, length, reverse, memory)
    return _in_either_order(f, init, xs, length, reverse, memory)


def _in_either_order(
    f: Callable[[Any, Any], Any], init: Any, xs: Any, length: Any, reverse: bool, memory: Any
) -> Any:
    if not _has_rows(init):
        return control.scan(f, init, xs, length, reverse, memory)
    if not _has_rows(xs):
        return _running(f, init, xs, reverse)
    returned = _returned(f, init, xs)
    if returned.__class__ in (tuple, list) and len(returned) == 2 and _like(returned[0], init):
        return control.scan(f, init, xs, length, reverse, memory)
    if _like(_returned(f, xs, init), xs):
        return _running(f, init, xs, reverse)
    return control.scan(f, init, xs, length, reverse, memory)  # its error is about the documented order


def _is_length(length: Any, rows: Any) -> bool:
    """Is it the number of rows?"""
    return length is not None and _has_rows(rows) and same(as_tensor(flatten(rows)[0][0]).shape[0], length)


def _has_rows(nest: Any) -> bool:
    """Could one go along the first axis of everything in a nest?"""
    shapes = [as_tensor(x).shape for x in flatten(nest)[0]]
    return bool(shapes) and all(s and s[0] == shapes[0][0] for s in shapes)


def _returned(f: Callable[[Any, Any], Any], carry: Any, rows: Any) -> Any:
    """What `f` would return for this carry and a row, in an attempt that is taken back; None where it cannot.

    Nothing else tells the orders apart: in both `f` takes a carry and a row, whatever it calls them, and where both
    arguments have rows either may be the carry. Only whether it returns the carry alone or a pair says which.
    """
    (first, structure), (leaves, row_structure) = flatten(carry), flatten(rows)
    tensors, stacked = [as_tensor(x) for x in first], [as_tensor(x) for x in leaves]
    specs = [*(t.spec for t in tensors), *(TensorSpec(r.shape[1:], r.np_dtype) for r in stacked)]
    returned: list[Any] = []

    def run(*xs: Tensor) -> list[Tensor]:
        given = unflatten(structure, xs[: len(tensors)]), unflatten(row_structure, xs[len(tensors) :])
        returned.append(map_structure(as_tensor, callee(f)(*given)))
        return []

    with attempt_with(f) as attempt:
        try:
            trace(run, specs)
        except (Exception, Unwinding):
            returned = [None]
        attempt.rollback()
    return returned[0]


def _like(value: Any, model: Any) -> bool:
    (a, left), (b, right) = flatten(value), flatten(model)
    return alike(left, right) and all(
        as_tensor(x).shape == as_tensor(y).shape for x, y in zip(a, b, strict=True)
    )


def _running(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any, reverse: bool) -> Any:
    """All carries of ``carry = fn(carry, row)``, stacked."""

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        new = fn(carry, x)
        return new, new

    first, rest = _start(elems, initializer, reverse, "scan")
    stacked = control.scan(step, first, rest, reverse=reverse)[1]
    if initializer is not None:
        return stacked

    def joined(a: Tensor, rows: Tensor) -> Tensor:
        row = expand_dims(a, 0)
        return ops.concat(*((rows, row) if reverse else (row, rows)), axis=0)

    return map_structure(joined, first, stacked)


def _start(elems: Any, initializer: Any, reverse: bool, what: str) -> tuple[Any, Any]:
    """The first carry, and the rows that are left."""
    leaves, structure = flatten(elems)
    rows = [as_tensor(x) for x in leaves]
    for row in rows:
        if not row.shape:
            raise ShapeError(f"{what} goes along the first axis; {row.spec} has none{at(user_location())}")
    if initializer is not None:
        return initializer, unflatten(structure, rows)
    first, rest = (-1, slice(None, -1)) if reverse else (0, slice(1, None))
    return unflatten(structure, [get(r, first) for r in rows]), unflatten(
        structure, [get(r, rest) for r in rows]
    )


def foldl(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Run ``carry = fn(carry, row)`` over the rows of `elems`, from the first to the last; returns the last carry.

    Parameters
    ----------
    fn : callable
        ``fn(carry, row)`` returns the new carry, of the same structure, shapes and dtypes.
    elems : nest of tensors
        All of one size along their first axis.
    initializer : nest of tensors, optional
        The first carry; without it, the first row.

    Notes
    -----
    The other arguments are accepted for programs written for other libraries, and ignored.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.foldl(lambda a, x: 2 * a + x, tf.constant([1, 0, 1, 1])))
    tf.Tensor(11, shape=(), dtype=int32)
    """
    return _fold(fn, elems, initializer, False, "foldl")


def foldr(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """Run ``carry = fn(carry, row)`` over the rows of `elems`, from the last to the first; returns the last carry.

    `initializer` and the other arguments are those of :func:`foldl`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.foldr(lambda a, x: 2 * a + x, tf.constant([1, 0, 1, 1])))
    tf.Tensor(13, shape=(), dtype=int32)
    """
    return _fold(fn, elems, initializer, True, "foldr")


def _fold(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any, reverse: bool, what: str) -> Any:
    first, rest = _start(elems, initializer, reverse, what)
    return control.scan(lambda carry, x: (fn(carry, x), ()), first, rest, reverse=reverse)[0]
