"""cond: one of two functions, chosen by a condition.

Eagerly the chosen one just runs. In a trace both become graphs of one op: tensors and Variables of the surroundings may
be used in them, and Variables assigned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.errors import DtypeError, ShapeError, at, user_location
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...core.tracing.forms import BranchForm
from ..autograph.places.reachable import Reachable
from ..autograph.values.kinds import traced
from ..recording.merged import merge
from ..regions.region import Region, assigned_in, share_captures
from ..state.variable import Variable, tracer
from ..structure import flatten, text, unflatten
from .carried_numbers import takes

_CHOICE = TensorSpec((), np.dtype(bool))


def cond(
    pred: Any,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    *operands: Any,
    name: str | None = None,
) -> Any:
    """``true_fn(*operands)`` where `pred` holds, else ``false_fn(*operands)``; only one of them runs.

    Parameters
    ----------
    pred : bool or scalar bool tensor
        In a compiled function a Python bool decides while tracing, a tensor when the function runs. DtypeError for
        other tensors.
    true_fn, false_fn : callable
        Must return the same structure, shapes and dtypes. TypeError where one is not a function.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.cond(tf.constant(2.0) > 1.0, lambda: 10.0, lambda: 20.0))
    10.0
    """
    wrong = next((f for f in (true_fn, false_fn) if not callable(f)), None)
    if wrong is not None:
        raise TypeError(
            f"cond takes two functions, got one that is a {type(wrong).__name__}: write lambda: ..."
            f"{at(user_location())}"
        )
    if isinstance(pred, Tensor | Variable | np.ndarray | np.generic):
        pred = require_choice(pred, "the condition of cond is")
    if tracer() is None or not traced(pred):
        chosen = true_fn if bool(pred) else false_fn
        leaves, structure = flatten(chosen(*operands))
        return unflatten(structure, [as_tensor(y) for y in leaves])
    leaves, structure = flatten(operands)
    tensors = [as_tensor(x) for x in leaves]
    specs, around = [t.spec for t in tensors], Reachable((), (true_fn, false_fn))
    dtypes: list[Any] | None = None

    def branches(carried: Sequence[Variable]) -> list[Region]:
        return [
            Region(f, specs, name, structure, carried, given=False, of=around, dtypes=dtypes)
            for f, name in ((true_fn, "then"), (false_fn, "orelse"))
        ]

    for _ in range(2):
        with around.attempt() as attempt:
            both = branches(())
            agreed = _agreed(*both) if dtypes is None else None
            if agreed is None:
                _check_branches(*both)
                around.refuse_changes("a branch of cond")
            variables = assigned_in(*both)
            if agreed or variables:
                attempt.rollback()
        if agreed is None:
            break
        dtypes = agreed
    if variables:
        both = branches(variables)
    passed = [_passed_on(side, tensors) for side in both]
    captured = share_captures(*both)
    for v in variables:
        v.announce()
    then, orelse = (side.graph for side in both)
    outputs = BranchForm.make(as_tensor(pred), (*tensors, *captured), then, orelse).apply()
    for y, *candidates in zip(outputs, *passed, strict=True):
        merge(y, candidates)
    for v, value in zip(variables, outputs[len(outputs) - len(variables) :], strict=True):
        v.store(value)
    return unflatten(both[0].structure, list(outputs))


def require_choice(value: Any, what: str) -> Tensor:
    """The scalar bool that decides something, eagerly as in a trace; DtypeError for all else."""
    decides = as_tensor(value)
    if decides.spec != _CHOICE:
        raise DtypeError(
            f"{what} {decides.spec}; it must be a scalar bool, such as x != 0{at(user_location())}"
        )
    return decides


def _passed_on(side: Region, operands: Sequence[Tensor]) -> list[Any]:
    """What a branch returns: tensors from outside where it hands these on, else its own values."""
    outer = {value: source for source, value in side.captures if isinstance(source, Tensor)}
    outer.update(zip(side.graph.inputs, operands, strict=False))
    return [outer.get(y, y) for y in side.graph.outputs]


def _agreed(then: Region, orelse: Region) -> list[Any] | None:
    """The dtypes of Python numbers that one branch returns where the other has another dtype; None if they agree."""
    if then.structure != orelse.structure or then.outputs == orelse.outputs:
        return None
    dtypes: list[Any] = [None] * len(then.outputs)
    for i, (a, b) in enumerate(zip(then.outputs, orelse.outputs, strict=True)):
        p, q = then.numbers[i], orelse.numbers[i]
        if a.dtype != b.dtype and (takes(p, b.dtype) or takes(q, a.dtype)):
            wider = max(a.dtype, b.dtype, key=lambda d: "biufcV".index(d.kind))  # of two numbers
            dtypes[i] = wider if p and q else b.dtype if p else a.dtype
    return dtypes if any(d is not None for d in dtypes) else None


def _check_branches(then: Region, orelse: Region) -> None:
    if then.structure != orelse.structure or then.outputs != orelse.outputs:
        a, b = ([str(s) for s in r.outputs] for r in (then, orelse))
        raise ShapeError(
            f"the branches of cond return {text(then.structure)} of {', '.join(a)} and {text(orelse.structure)} of "
            f"{', '.join(b)}; they must agree in structure, shapes and dtypes{at(user_location())}"
        )
