"""Loops as functions: while_loop, fori_loop, scan.

Eagerly they are plain Python loops, so tapes see every op. In a trace each is one op that holds its bodies as
graphs: tensors and Variables of the surroundings may be used in them, and Variables assigned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.dim import Dim, Size, known, same
from ...core.errors import ShapeError, at, user_location
from ...core.op import ops
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...ops.arrays.shape import stack
from ...ops.tensor.indexing import get
from ...runtime import watch
from ..regions.loop_builder import INDEX
from ..regions.memory_policies import Policy, in_force
from ..state.variable import tracer
from ..structure import Structure, flatten, text, unflatten
from .carried_numbers import CarriedNest, alike_numbers
from .cond import require_choice


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    maximum_iterations: Any = None,
    memory: int | str | None = None,
    free_shapes: bool = False,
) -> Any:
    """Run ``loop_vars = body(*loop_vars)`` while ``cond(*loop_vars)`` holds.

    What ``tracejit.while_loop`` does with tensors, and explains. With `free_shapes` they may change their shapes in
    eager mode.

    Examples
    --------
    >>> i, x = while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), (0, 1.0))
    >>> float(x)
    8.0
    """
    policy = in_force(memory)
    several = loop_vars.__class__ in (list, tuple)
    start = tuple(loop_vars) if several else (loop_vars,)
    carried = CarriedNest("the body of while_loop", start, cond, body)

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        new = body(*state)
        return tuple(new) if several and new.__class__ in (list, tuple) else (new,)

    if tracer() is None:
        result = _eager_while(cond, step, carried, maximum_iterations, free_shapes)
    else:
        result = _traced_while(cond, step, carried, maximum_iterations, policy)
    return loop_vars.__class__(result) if several else result[0]


def _eager_while(
    cond: Callable[..., Any],
    step: Callable[[tuple[Any, ...]], tuple[Any, ...]],
    carried: CarriedNest,
    limit: Any,
    free_shapes: bool,
) -> Any:
    done = 0
    limit = None if limit is None else int(limit)
    watched = watch.eager(user_location()) if limit is None else None
    carried.begin()
    while (limit is None or done < limit) and _goes_on(cond(*carried.given())):
        carried.take(step(carried.given()), free_shapes)
        done += 1
        if watched is not None:
            watched(done)
    return carried.last()


def _goes_on(going: Any) -> bool:
    if going.__class__ is bool:
        return going
    return bool(require_choice(going, "the condition of while_loop returns"))


def _traced_while(
    cond: Callable[..., Any],
    step: Callable[[tuple[Any, ...]], tuple[Any, ...]],
    carried: CarriedNest,
    limit: Any,
    memory: Policy,
) -> Any:
    def holds(carry: Sequence[Tensor]) -> Tensor:
        return require_choice(cond(*carried.nest(carry)), "the condition of while_loop returns")

    count = None if limit is None else ops.cast(as_tensor(limit), dtype=INDEX.dtype)
    return carried.loop(
        lambda i, state, rows: (step(state), ()), "while_loop", test=holds, count=count, memory=memory
    )[0]


# ---- counted loops --------------------------------------------------------------------------------------


def fori_loop(
    lower: Any,
    upper: Any,
    body: Callable[[Tensor, Any], Any],
    init: Any,
    memory: int | str | None = None,
) -> Any:
    """Run ``value = body(i, value)`` for ``i`` from `lower` to `upper - 1`.

    Parameters
    ----------
    lower, upper : int or integer scalar
        Python integers make the number of iterations part of the program.
    body : callable
        Takes the int64 scalar ``i`` and the value; returns the new value, of the same structure.
    init : nest of tensors
    memory : int or str, optional
        What the gradient may keep, as in :func:`function`; by default what the traced function says.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.fori_loop(0, 3, lambda i, x: x * 2.0, 1.0))
    8.0
    """
    policy = in_force(memory)
    carried = CarriedNest("the body of fori_loop", init, body)
    if tracer() is None:
        carried.begin()
        for i in range(int(lower), int(upper)):
            carried.take(body(as_tensor(np.int64(i)), carried.given()))
        return carried.last()
    start = (
        as_tensor(np.int64(lower))
        if isinstance(lower, int)
        else ops.cast(as_tensor(lower), dtype=INDEX.dtype)
    )
    plain = isinstance(lower, int) and lower == 0

    def step(i: Tensor, value: Any, rows: Sequence[Tensor]) -> tuple[Any, Any]:
        return body(i if plain else ops.add(i, start), value), ()

    count, length = _trips(lower, upper, start)
    return carried.loop(step, "fori_loop", count=count, length=length, memory=policy)[0]


def _trips(lower: Any, upper: Any, start: Tensor) -> tuple[Tensor | None, Size | None]:
    """The number of iterations: as a tensor, or as a size that is known while tracing."""
    if isinstance(lower, int) and isinstance(upper, int):
        return None, max(upper - lower, 0)
    if isinstance(upper, Dim) and lower == 0:
        return None, upper
    end = (
        ops.size_value(size=upper)
        if isinstance(upper, Dim)
        else ops.cast(as_tensor(upper), dtype=INDEX.dtype)
    )
    return ops.maximum(end - start, as_tensor(np.int64(0))), None


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: Any = None,
    reverse: bool = False,
    memory: int | str | None = None,
) -> tuple[Any, Any]:
    """Run ``carry, y = f(carry, x)`` over the rows ``x`` of `xs`, and stack the ``y``.

    What ``tracejit.scan`` does with its arguments in this order, and explains.

    Examples
    --------
    >>> import tracejit as tf
    >>> total, sums = scan(lambda c, x: (c + x, c + x), 0.0, tf.constant([1.0, 2.0, 3.0]))
    >>> print(sums)
    tf.Tensor([1. 3. 6.], shape=(3,), dtype=float32)
    """
    policy = in_force(memory)
    carried = CarriedNest("the function given to scan", init, f)
    leaves, structure = flatten(xs)
    rows = [as_tensor(x) for x in leaves]
    size = _scan_length(rows, length)

    def step(i: Any, carry: Any, row: Sequence[Tensor]) -> tuple[Any, Any]:
        result = f(carry, unflatten(structure, row))
        if result.__class__ not in (tuple, list) or len(result) != 2:
            raise ShapeError(f"the function given to scan returns a pair (carry, y){at(user_location())}")
        return result[0], result[1]

    if tracer() is None and size:
        return _eager_scan(step, carried, rows, known(size), reverse)
    return carried.loop(step, "scan", rows=rows, length=size, reverse=reverse, memory=policy)


def _scan_length(rows: list[Tensor], length: Any) -> Size:
    sizes = [] if length is None else [length if isinstance(length, Dim) else int(length)]
    for row in rows:
        if not row.shape:
            raise ShapeError(
                f"scan takes its steps along the first axis; {row.spec} has none{at(user_location())}"
            )
        sizes.append(row.shape[0])
    if not sizes:
        raise ValueError(f"scan needs xs or a length{at(user_location())}")
    if not all(same(s, sizes[0]) for s in sizes):
        raise ShapeError(f"the arrays that scan goes along differ in size: {sizes}{at(user_location())}")
    return sizes[0]


def _eager_scan(
    step: Callable[[Any, Any, Sequence[Tensor]], tuple[Any, Any]],
    carried: CarriedNest,
    rows: list[Tensor],
    size: int,
    reverse: bool,
) -> tuple[Any, Any]:
    carried.begin(rows)
    collected: list[list[Any]] = []
    structure: Structure | None = None
    for i in range(size - 1, -1, -1) if reverse else range(size):
        new, y = step(i, carried.given(), [get(r, i) for r in rows])
        carried.take(new)
        leaves, nest = flatten(y)
        if structure is not None and nest != structure:
            raise ShapeError(
                f"scan got {text(structure)} and then {text(nest)} to stack{at(user_location())}"
            )
        structure = nest
        collected.append(leaves)
    collected = collected[::-1] if reverse else collected
    assert structure is not None
    stacks = [stack(alike_numbers(column)) for column in zip(*collected, strict=True)]
    return carried.last(), unflatten(structure, stacks)
