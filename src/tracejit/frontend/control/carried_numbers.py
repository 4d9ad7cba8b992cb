"""Python numbers that go round in a loop take the dtype of what they meet, as they do elsewhere.

In a trace the body tells: it is traced again with the number in the dtype that it gave. Eagerly the first iteration
tells, and it gets the number as a `Weak` where something wider is in sight, so that no digit is lost. Knows no loop.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ...core.arrays import default_dtype
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ..autograph.places.reachable import attempt_with
from ..autograph.values.weak import WIDE, Weak
from ..regions.region import Region, assigned_in
from ..state.variable import Variable

#: The kinds of dtype that a number takes in place of its own.
_TAKES = {int: "iufc", float: "fc", complex: "c"}


def takes(kind: Any, dtype: np.dtype) -> bool:
    """May a Python number of that type be one of `dtype`?"""
    return kind in _TAKES and dtype.kind in _TAKES[kind]


def _becomes(x: Any, before: TensorSpec, after: TensorSpec) -> bool:
    """Is `x` a number that went round as `before` and becomes another kind or width of number?"""
    return before.shape == after.shape == () and takes(getattr(x, "weak_kind", x.__class__), after.dtype)


def in_dtypes(leaves: Sequence[Any], tensors: Sequence[Tensor], dtypes: Sequence[np.dtype]) -> list[Tensor]:
    """The tensors, with numbers made anew where they have other dtypes now."""
    return [
        t if t.dtype == d else x.as_dtype(d) if hasattr(x, "weak_kind") else as_tensor(x, d)
        for x, t, d in zip(leaves, tensors, dtypes, strict=True)
    ]


def settled(
    functions: Sequence[Any],
    leaves: Sequence[Any],
    tensors: list[Tensor],
    trace_body: Callable[[Sequence[TensorSpec], Sequence[Variable]], Region],
    check: Callable[[Region, Sequence[TensorSpec]], None],
) -> tuple[Region, list[Tensor], list[Variable]]:
    """The body of a loop, what goes round first, and the Variables that the body assigns.

    The first results of a body are what goes round; `functions` are the user's, as an attempt at tracing takes back
    what they did.
    """
    for left in range(len(_TAKES), -1, -1):
        specs = [t.spec for t in tensors]
        with attempt_with(*functions) as attempt:
            body = trace_body(specs, ())
            dtypes = _changed(leaves, specs, body.outputs) if left else None
            if dtypes is None:
                check(body, specs)
                attempt.refuse_changes("the body of a loop")
            variables = assigned_in(body)
            if dtypes or variables:
                attempt.rollback()
        if dtypes is None:
            break
        tensors = in_dtypes(leaves, tensors, dtypes)
    return trace_body(specs, variables) if variables else body, tensors, variables


def _changed(
    leaves: Sequence[Any], specs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
) -> list[np.dtype] | None:
    """The dtypes that what goes round has from now on; None if they are those that it has."""
    if len(outputs) < len(specs):
        return None
    wanted = zip(leaves, specs, outputs, strict=False)
    found = [b.dtype if _becomes(x, a, b) else a.dtype for x, a, b in wanted]
    return None if found == [s.dtype for s in specs] else found


def first_state(
    body: Any, leaves: Sequence[Any], tensors: Sequence[Tensor], beside: Sequence[Tensor] = ()
) -> list:
    """What the first eager iteration gets: numbers that stay as exact as Python's where something wide is in sight."""
    kinds = {x.__class__ for x in leaves} & set(_TAKES)
    if not kinds:
        return list(tensors)
    others = [t.dtype for x, t in zip(leaves, tensors, strict=True) if x.__class__ not in _TAKES]
    seen = {*others, *(t.dtype for t in beside), *_dtypes_in(body)}
    return [
        Weak(as_tensor(x, WIDE[x.__class__])) if x.__class__ in _TAKES and _is_wider(seen, x) else t
        for x, t in zip(leaves, tensors, strict=True)
    ]


def _is_wider(seen: set[np.dtype], x: Any) -> bool:
    own = default_dtype(x)
    return any(d.kind in _TAKES[x.__class__] and np.result_type(d, own) != own for d in seen)


def _dtypes_in(f: Any, depth: int = 3) -> Iterator[np.dtype]:
    """The dtypes of what a function holds or names, and the functions that it holds."""
    if isinstance(f, functools.partial):
        yield from (v.dtype for v in (*f.args, *f.keywords.values()) if isinstance(v, _ARRAYS) or _is_read(v))
        f = f.func
    f = getattr(f, "__func__", f)
    code = getattr(f, "__code__", None)
    if code is None:
        return
    held = [cell.cell_contents for cell in f.__closure__ or () if _is_set(cell)]
    named = [f.__globals__[name] for name in code.co_names if name in f.__globals__]
    for v in (*held, *named, *(f.__defaults__ or ())):
        if isinstance(v, _ARRAYS) or _is_read(v):
            yield v.dtype
        elif depth and isinstance(v, (FunctionType, MethodType, functools.partial)):
            yield from _dtypes_in(v, depth - 1)


_ARRAYS = (Tensor, np.ndarray, np.generic)


def _is_read(v: Any) -> bool:
    return hasattr(v.__class__, "__tensor__") and hasattr(v, "dtype")


def _is_set(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def after_first(
    leaves: Sequence[Any], before: Sequence[Tensor], given: Sequence[Any], after: Sequence[Tensor]
) -> list[TensorSpec]:
    """What goes round from the first iteration on: numbers as they came back, if no digit of them was lost."""
    return [
        b.spec if _becomes(x, a.spec, b.spec) and (g is not a or _is_exact(x, a)) else a.spec
        for x, a, g, b in zip(leaves, before, given, after, strict=True)
    ]


def alike_numbers(values: Sequence[Any]) -> list[Tensor]:
    """Tensors of one dtype from what iterations gave: numbers of the first take the dtype of the others."""
    others = [as_tensor(v).dtype for v in values if v.__class__ is not Weak]
    return [v.as_dtype(others[0]) if v.__class__ is Weak and others else as_tensor(v) for v in values]


def _is_exact(x: Any, t: Tensor) -> bool:
    return not t.is_symbolic and t.array.item() == x
