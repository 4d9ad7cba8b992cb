"""Printing at run time: the text of the elements of a tensor, and the op that prints.

Compiled code calls the op's kernel, so text is made in one place. Knows arrays and streams, not how users say what
to print.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..core.op import defop
from ..core.spec import TensorSpec
from .lowering import Nests

#: Significant digits by float dtype: what is enough for most numbers, and for every number.
DIGITS = {"float16": (4, 5), "float32": (6, 9), "float64": (15, 17)}


def array_summary(array: np.ndarray, summarize: int) -> str:
    """The elements of an array, `summarize` at each end of every axis (-1: all), rows on lines of their own.

    Strings of an array are in quotes, and one alone is not.
    """
    if array.dtype.kind == "O" and not array.ndim:
        return _text(array[()])
    return _summary(array, summarize, 0)


def _text(x: Any) -> str:
    return bytes(x).decode("utf-8", "replace")


def _summary(array: Any, ends: int, depth: int) -> str:
    if array.__class__ is bytes:  # a row of one string
        return _element(array)
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
    if isinstance(x, bytes):
        return f'"{_text(x)}"'
    if isinstance(x, np.complexfloating):
        return f"({_element(x.real)},{_element(x.imag)})"
    if isinstance(x, np.floating):
        few, enough = DIGITS[x.dtype.name]
        text = f"{x:.{few}g}"
        return text if type(x)(text) == x or x != x else f"{x:.{enough}g}"
    return str(int(x))


_PLACE = r"\{\{|\}\}|\{\}|[{}]"
_STREAMS = ("stdout", "stderr")
_FILE = "file://"


@lru_cache(maxsize=256)
def pieces(template: str) -> tuple[str, ...]:
    """The text before, between and behind the places of a template.

    A place is ``{}`` and nothing else: no names, no attributes, no formats, which `str.format` would follow into
    objects. ``{{`` and ``}}`` are braces. ValueError for anything else.
    """
    parts, text, start = [], "", 0
    for mark in re.finditer(_PLACE, template):
        text += template[start : mark.start()]
        start = mark.end()
        match mark[0]:
            case "{}":
                parts.append(text)
                text = ""
            case "{{" | "}}" as twice:
                text += twice[0]
            case _:
                raise ValueError(
                    f"a template has places {{}} and braces {{{{ }}}}, not {template[mark.start() :][:40]!r}"
                )
    return (*parts, text + template[start:])


def _check(template: Any, summarize: Any, stream: Any, places: int) -> None:
    parts = pieces(template)
    if len(parts) != places + 1:
        raise ValueError(f"{template!r} has {len(parts) - 1} places for {places} values")
    if summarize.__class__ is not int or summarize < -1:
        raise ValueError(f"summarize is a number of elements, or -1 for all, got {summarize!r}")
    if stream not in _STREAMS and not stream.startswith(_FILE):
        raise ValueError(f"a stream is stdout, stderr or file:// and a path, got {stream!r}")


def _write(text: str, stream: str) -> None:
    if stream.startswith(_FILE):
        with open(stream[len(_FILE) :], "a", encoding="utf-8") as file:
            file.write(text)
        return
    target = sys.stdout if stream == "stdout" else sys.stderr
    target.write(text)
    target.flush()


def _kernel(*arrays: np.ndarray, template: str, summarize: int, stream: str) -> np.ndarray:
    _check(template, summarize, stream, len(arrays))
    first, *rest = pieces(template)
    shown = [array_summary(a, summarize) + after for a, after in zip(arrays, rest, strict=True)]
    _write(first + "".join(shown), stream)
    return np.asarray(True)


def host_effect(call: str) -> Nests:
    """How an op is lowered that is told to the host by a call of that name, and gives True."""

    def nests(b: Any, out: TensorSpec, *views: Any, **attrs: Any) -> Any:
        b.host_call(call, views, attrs)
        return b.scalar_constant(True, out.dtype)

    return Nests(nests)


def no_tangent(record: Any, tangents: Sequence[Any]) -> list[None]:
    return [None]


@defop(
    vjp=(None,),
    jvp=no_tangent,
    kernel=_kernel,
    lower=host_effect("print"),
    traits=("effect", "prints", "may_fail", "takes_text"),
)
def print_(*values: TensorSpec, template: str, summarize: int, stream: str) -> TensorSpec:
    """Write `template`, with a place ``{}`` for each value, to ``sys.stdout``, ``sys.stderr`` or a file.

    Results in True: what happens is all that matters.
    """
    _check(template, summarize, stream, len(values))
    return TensorSpec((), np.dtype(bool))
