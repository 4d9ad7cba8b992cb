"""Printing while a program runs: how the elements of a tensor look, and the op that writes them.

Compiled code calls the op's kernel, so text is made in one place. Knows arrays and streams, not how users say what
to print.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.op import defop
from ..core.spec import TensorSpec
from .lowering import Nests

#: Significant digits by float dtype: what is enough for most numbers, and for every number.
DIGITS = {"float16": (4, 5), "float32": (6, 9), "float64": (15, 17)}


def array_summary(array: np.ndarray, summarize: int) -> str:
    """The elements of an array, `summarize` at each end of every axis (-1: all), rows on lines of their own."""
    return _summary(array, summarize, 0)


def _summary(array: np.ndarray, ends: int, depth: int) -> str:
    if array.ndim == 0:
        return _element(array[()])
    size = len(array)
    long = ends >= 0 and size > 2 * ends
    shown = [*range(ends), *range(size - ends, size)] if long else range(size)
    parts = [_summary(array[i], ends, depth + 1) for i in shown]
    if long:
        parts.insert(ends, "...")
    between = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " " * (depth + 1)
    return f"[{between.join(parts)}]"


def _element(x: Any) -> str:
    if isinstance(x, np.complexfloating):
        return f"({_element(x.real)},{_element(x.imag)})"
    if isinstance(x, np.floating):
        few, enough = DIGITS[x.dtype.name]
        text = f"{x:.{few}g}"
        return text if type(x)(text) == x or x != x else f"{x:.{enough}g}"
    return str(int(x))


def _write(text: str, stream: str) -> None:
    if stream.startswith("file://"):
        with open(stream[len("file://") :], "a", encoding="utf-8") as file:
            file.write(text)
        return
    target = getattr(sys, stream)
    target.write(text)
    target.flush()


def _kernel(*arrays: np.ndarray, template: str, summarize: int, stream: str) -> np.ndarray:
    _write(template.format(*(array_summary(a, summarize) for a in arrays)), stream)
    return np.asarray(True)


def _nests(b: Any, out: TensorSpec, *views: Any, **attrs: Any) -> Any:
    b.host_call("print", views, attrs)
    return b.scalar_constant(True, out.dtype)


def _no_tangent(record: Any, tangents: Sequence[Any]) -> list[None]:
    return [None]


@defop(
    kernel=_kernel,
    vjp=(None,),
    jvp=_no_tangent,
    lower=Nests(_nests),
    traits=("effect", "prints", "may_fail"),
)
def print_(*values: TensorSpec, template: str, summarize: int, stream: str) -> TensorSpec:
    """Write `template`, a format string with a place for each value, to ``sys.stdout``, ``sys.stderr`` or a file.

    Results in True: what happens is all that matters.
    """
    return TensorSpec((), np.dtype(bool))
