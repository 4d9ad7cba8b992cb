"""Comparisons, logic and selection, element by element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.errors import DtypeError
from ...core.op import Attrs, defop, ops, ordered, sample
from ...core.spec import TensorSpec, broadcast_shapes, dtype_name
from ...core.tracing.dispatch import as_tensor
from ..lowering import Compose, Scalar
from .arithmetic import ELEMENTWISE, broadcast, matched, matched_beyond, pairs

BOOL = np.dtype(bool)


def _compared(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    """Canonicalize: one dtype. An integer that it does not hold is larger, or smaller, than all that it holds."""
    return matched_beyond(inputs, lambda n: math.inf if n > 0 else -math.inf), attrs


_NONE = {"vjp": (None, None), "canonicalize": _compared, "traits": ELEMENTWISE}
_ORDER = {**_NONE, "samples": pairs(complex=False)}
_EQUALITY = {**_NONE, "samples": pairs(complex=True)}
_LOGIC = {"traits": ELEMENTWISE, "samples": pairs(complex=False, dtypes=("bool", "bool"))}


@defop(**_ORDER, kernel=np.less, lower=Scalar("lt"), sign="<")
def less(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """``x < y``; false where either is NaN."""
    return ordered(broadcast(x, y)).with_dtype(BOOL)


@defop(**_ORDER, kernel=np.less_equal, lower=Scalar("le"), sign="≤")
def less_equal(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """``x <= y``; false where either is NaN."""
    return ordered(broadcast(x, y)).with_dtype(BOOL)


@defop(**_ORDER, kernel=np.greater, lower=Scalar("gt"), sign=">")
def greater(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """``x > y``; false where either is NaN."""
    return ordered(broadcast(x, y)).with_dtype(BOOL)


@defop(**_ORDER, kernel=np.greater_equal, lower=Scalar("ge"), sign="≥")
def greater_equal(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """``x >= y``; false where either is NaN."""
    return ordered(broadcast(x, y)).with_dtype(BOOL)


@defop(**_EQUALITY, kernel=np.equal, lower=Scalar("eq"), sign="=")
def equal(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """``x == y``; false where either is NaN."""
    return broadcast(x, y).with_dtype(BOOL)


@defop(**_EQUALITY, kernel=np.not_equal, lower=Scalar("ne"), sign="≠")
def not_equal(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """``x != y``; true where either is NaN."""
    return broadcast(x, y).with_dtype(BOOL)


def _as_bools(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    tensors = [as_tensor(x) for x in inputs]
    if not all(t.np_dtype == BOOL for t in tensors):
        given = ", ".join(str(t.spec) for t in tensors)
        raise DtypeError(f"takes bools, got {given}; compare numbers first, e.g. x != 0")
    return tensors, attrs


@defop(vjp=(None, None), kernel=np.logical_and, lower=Scalar("and"), canonicalize=_as_bools, **_LOGIC)
def logical_and(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """Both hold."""
    return broadcast(x, y).with_dtype(BOOL)


@defop(vjp=(None, None), kernel=np.logical_or, lower=Scalar("or"), canonicalize=_as_bools, **_LOGIC)
def logical_or(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """Either holds."""
    return broadcast(x, y).with_dtype(BOOL)


@defop(
    vjp=(None,),
    kernel=np.logical_not,
    lower=Scalar("not"),
    canonicalize=_as_bools,
    traits=ELEMENTWISE,
    samples=(sample((2, 3), dtypes=("bool",)),),
)
def logical_not(x: TensorSpec) -> TensorSpec:
    """The opposite."""
    return x.with_dtype(BOOL)


@defop(
    vjp=(None,),
    kernel=np.isnan,
    lower=Compose(lambda a: ops.not_equal(a, a)),
    traits=ELEMENTWISE,
    samples=(sample((2, 3), complex=True),),
)
def is_nan(x: TensorSpec) -> TensorSpec:
    """True where `x` is not a number."""
    return x.with_dtype(BOOL)


def _selected(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    chosen, _ = matched(inputs[1:], {})
    condition = as_tensor(inputs[0])
    if condition.np_dtype != BOOL:
        raise DtypeError(
            f"takes a bool condition, got {dtype_name(condition.np_dtype)}: compare first, as in x != 0"
        )
    return (condition, *chosen), attrs


def _where_jvp(record: Any, ts: list[Any]) -> list[Any]:
    return [ops.where(record.inputs[0], *(0.0 if t is None else t for t in ts[1:]))]


def _other_is_chosen(record: Any, i: int) -> str:
    if i == 0:
        return "its condition has no derivative"
    which = "false" if i == 1 else "true"
    return f"the condition is {which} everywhere that this argument would matter, so the other one is chosen"


@defop(
    vjp=(None, lambda g, y, c, a, b: ops.where(c, g, 0.0), lambda g, y, c, a, b: ops.where(c, 0.0, g)),
    jvp=_where_jvp,
    vanishes_where=_other_is_chosen,
    kernel=lambda c, a, b: np.where(c, a, b),
    lower=Scalar("select"),
    canonicalize=_selected,
    traits=ELEMENTWISE,
    samples=(
        sample((2, 3), (2, 3), (2, 3), dtypes=("bool", "float", "float"), complex=True),
        sample((3,), (2, 1), (), dtypes=("bool", "float", "float"), complex=True),
    ),
)
def where(condition: TensorSpec, x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """`x` where the condition holds, else `y`; the three broadcast together.

    Parameters
    ----------
    condition : tensor-like of bools
    x, y : tensor-like

    Returns
    -------
    Tensor
        The shape to which the three broadcast, the dtype to which `x` and `y` are promoted.

    Raises
    ------
    DtypeError
        For a condition that is not bool, and for strings beside numbers.
    ShapeError
        Where the shapes do not broadcast.
    """
    return TensorSpec(broadcast_shapes(condition.shape, x.shape, y.shape), x.dtype)
