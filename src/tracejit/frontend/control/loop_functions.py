"""Loops as functions: while_loop, fori_loop, scan.

Eagerly they are plain Python loops, so tapes see every op. In a trace each is one op that holds its bodies as
graphs: tensors and Variables of the surroundings may be used in them, and Variables assigned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...core.dim import Dim, Size, known, same
from ...core.errors import DtypeError, ShapeError, TracejitError, at, user_location
from ...core.op import ops
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...core.tracing.loop_form import Results
from ...ops.arrays.shape import stack
from ...ops.tensor.indexing import get
from ...runtime import watch
from ..regions.loop_builder import INDEX, add_loop
from ..regions.memory_policies import Policy, in_force
from ..regions.region import Region, check_carry
from ..state.variable import Variable, tracer
from ..structure import LEAF, Nest, Structure, flatten, text, unflatten
from .carried_numbers import after_first, alike_numbers, first_state, settled


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
    leaves, structure = flatten(start)
    tensors = [as_tensor(x) for x in leaves]

    def step(*state: Any) -> Any:
        new = body(*state)
        return tuple(new) if several and new.__class__ in (list, tuple) else (new,)

    if tracer() is None:
        first = first_state(body, leaves, tensors)
        found = _eager_while(cond, step, structure, leaves, first, tensors, maximum_iterations, free_shapes)
    else:
        found = _traced_while(cond, step, structure, leaves, tensors, maximum_iterations, policy)
    result = unflatten(structure, found)
    return loop_vars.__class__(result) if several else result[0]


def _eager_while(
    cond: Callable[..., Any],
    step: Callable[..., Any],
    structure: Structure,
    leaves: list[Any],
    first: list[Any],
    tensors: list[Tensor],
    limit: Any,
    free_shapes: bool,
) -> list[Tensor]:
    done, state = 0, first
    limit = None if limit is None else int(limit)
    watched = watch.eager(user_location()) if limit is None else None
    while (limit is None or done < limit) and bool(cond(*unflatten(structure, state))):
        new = step(*unflatten(structure, state))
        numbers = None if done else (leaves, first)
        state = tensors = _checked_step(
            "the body of while_loop", new, structure, tensors, free_shapes, numbers
        )
        done += 1
        if watched is not None:
            watched(done)
    return tensors


def _checked_step(
    what: str,
    new: Any,
    structure: Structure,
    before: list[Tensor],
    free_shapes: bool = False,
    numbers: tuple[list[Any], list[Any]] | None = None,
) -> list[Tensor]:
    """What an eager iteration gave, which is like what it got; `numbers` are leaves and what the first one got."""
    leaves, found = flatten(new)
    tensors = [as_tensor(y) for y in leaves]
    specs = [t.spec for t in before]
    if numbers is not None and found == structure:
        specs = after_first(numbers[0], before, numbers[1], tensors)
    if (
        free_shapes
        and found == structure
        and all(a.dtype == b.dtype for a, b in zip(specs, tensors, strict=True))
    ):
        return tensors
    if found != structure or any(a is not b.spec for a, b in zip(specs, tensors, strict=True)):
        check_carry(what, structure, specs, found, [t.spec for t in tensors])
    return tensors


def _traced_while(
    cond: Callable[..., Any],
    step: Callable[..., Any],
    structure: Structure,
    leaves: list[Any],
    tensors: list[Tensor],
    limit: Any,
    memory: Policy,
) -> list[Tensor]:
    count = len(tensors)
    if limit is not None:
        end = ops.cast(as_tensor(limit), dtype=INDEX.dtype)
        structure = Nest(tuple, (), (*_children(structure), LEAF))
        leaves, tensors = [*leaves, None], [*tensors, as_tensor(np.int64(0))]
        cond, step = _counting(cond, step, end)

    of = object()

    def holds(*state: Any) -> Tensor:
        return as_tensor(cond(*state))

    tests: list[Region] = []

    def trace_body(specs: Sequence[TensorSpec], carried: Sequence[Variable]) -> Region:
        tests[:] = [Region(holds, structure, specs, "cond", carried, of=of)]
        if not carried:
            _require_bool("while_loop", tests[0])
        return Region(
            lambda i, state: step(*state), _indexed(structure), [INDEX, *specs], "body", carried, of=of
        )

    def check(body: Region, specs: Sequence[TensorSpec]) -> None:
        check_carry("the body of while_loop", structure, specs, body.structure, body.outputs)

    body, tensors, carried = settled((cond, step), leaves, tensors, trace_body, check)
    (test,) = tests
    if carried:
        del test.graph.outputs[1:]
    return list(add_loop(body, test, tensors, variables=carried, memory=memory).carry[:count])


def _counting(cond: Callable[..., Any], step: Callable[..., Any], end: Tensor) -> tuple[Callable, Callable]:
    """Loop over one variable more, the number of iterations done, and stop at `end`."""

    def counted_cond(*state: Any) -> Tensor:
        return ops.logical_and(state[-1] < end, cond(*state[:-1]))

    def counted_step(*state: Any) -> tuple:
        return (*step(*state[:-1]), state[-1] + as_tensor(np.int64(1)))

    return counted_cond, counted_step


def _indexed(structure: Structure) -> Structure:
    """The structure of ``(i, state)``."""
    return Nest(tuple, (), (LEAF, structure))


def _children(structure: Structure) -> tuple:
    return structure.children if isinstance(structure, Nest) else ()


def _require_bool(what: str, region: Region) -> None:
    if region.outputs != [TensorSpec((), np.dtype(bool))]:
        given = ", ".join(map(str, region.outputs))
        raise DtypeError(
            f"the condition of {what} returns {given}; it must be a scalar bool{at(user_location())}"
        )
    if region.assigned:
        raise TracejitError(
            f"the condition of {what} assigns {region.assigned[0].name!r}; do it in the body"
            f"{at(user_location())}"
        )


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
    leaves, structure = flatten(init)
    carry = [as_tensor(x) for x in leaves]
    what = "the body of fori_loop"
    if tracer() is None:
        state = first = first_state(body, leaves, carry)
        for i in range(int(lower), int(upper)):
            new = body(as_tensor(np.int64(i)), unflatten(structure, state))
            numbers = (leaves, first) if state is first else None
            state = carry = _checked_step(what, new, structure, carry, numbers=numbers)
        return unflatten(structure, carry)
    start = (
        as_tensor(np.int64(lower))
        if isinstance(lower, int)
        else ops.cast(as_tensor(lower), dtype=INDEX.dtype)
    )
    plain = isinstance(lower, int) and lower == 0

    def step(i: Tensor, value: Any) -> Any:
        return body(i if plain else ops.add(i, start), value)

    of = object()

    def trace_body(specs: Sequence[TensorSpec], carried: Sequence[Variable]) -> Region:
        return Region(step, _indexed(structure), [INDEX, *specs], "body", carried, of=of)

    def check(region: Region, specs: Sequence[TensorSpec]) -> None:
        check_carry(what, structure, specs, region.structure, region.outputs)

    region, carry, variables = settled((body,), leaves, carry, trace_body, check)
    count, length = _trips(lower, upper, start)
    found = add_loop(region, None, carry, variables=variables, count=count, length=length, memory=policy)
    return unflatten(structure, list(found.carry))


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
    leaves, structure = flatten(init)
    carry = [as_tensor(x) for x in leaves]
    row_leaves, row_structure = flatten(xs)
    rows = [as_tensor(x) for x in row_leaves]
    size = _scan_length(rows, length)
    if tracer() is None and size:
        return _eager_scan(f, structure, leaves, carry, row_structure, rows, known(size), reverse)
    add = partial(add_loop, length=size, reverse=reverse, memory=policy)
    return _traced_scan(f, structure, leaves, carry, row_structure, rows, add)


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


def _pair(result: Any) -> tuple[Any, Any]:
    if result.__class__ not in (tuple, list) or len(result) != 2:
        raise ShapeError(f"the function given to scan returns a pair (carry, y){at(user_location())}")
    return result[0], result[1]


def _eager_scan(
    f: Callable[..., Any],
    structure: Structure,
    leaves_: list[Any],
    carry: list[Tensor],
    row_structure: Structure,
    rows: list[Tensor],
    size: int,
    reverse: bool,
) -> tuple[Any, Any]:
    state = first = first_state(f, leaves_, carry, rows)
    collected: list[list[Any]] = []
    y_structure: Structure | None = None
    for i in range(size - 1, -1, -1) if reverse else range(size):
        new, y = _pair(f(unflatten(structure, state), unflatten(row_structure, [get(r, i) for r in rows])))
        numbers = (leaves_, first) if state is first else None
        state = carry = _checked_step("the function given to scan", new, structure, carry, numbers=numbers)
        leaves, found = flatten(y)
        if y_structure is not None and found != y_structure:
            raise ShapeError(
                f"scan got {text(y_structure)} and then {text(found)} to stack{at(user_location())}"
            )
        y_structure = found
        collected.append(leaves)
    collected = collected[::-1] if reverse else collected
    assert y_structure is not None
    stacks = [stack(alike_numbers(column)) for column in zip(*collected, strict=True)]
    return unflatten(structure, carry), unflatten(y_structure, stacks)


def _traced_scan(
    f: Callable[..., Any],
    structure: Structure,
    leaves: list[Any],
    carry: list[Tensor],
    row_structure: Structure,
    rows: list[Tensor],
    add: Callable[..., Results],
) -> tuple[Any, Any]:
    row_specs = [TensorSpec(r.shape[1:], r.dtype) for r in rows]
    whole, of = _indexed(Nest(tuple, (), (structure, row_structure))), object()

    def step(i: Tensor, pair: tuple[Any, Any]) -> tuple[Any, Any]:
        return _pair(f(*pair))

    def trace_body(specs: Sequence[TensorSpec], carried: Sequence[Variable]) -> Region:
        return Region(step, whole, [INDEX, *specs, *row_specs], "body", carried, of=of)

    def check(body: Region, specs: Sequence[TensorSpec]) -> None:
        new = _children(body.structure)[0]
        check_carry("the function given to scan", structure, specs, new, body.outputs[: len(carry)])

    body, carry, variables = settled((f,), leaves, carry, trace_body, check)
    y_structure = _children(body.structure)[1]
    found = add(body, None, carry, rows, variables)
    return unflatten(structure, found.carry), unflatten(y_structure, found.ys)
