"""Binding: from the arguments of a call to the array inputs of one trace, by position, by name, or as plain arrays.

What is no array is part of the trace: it may be left out, and must otherwise be what it was.
"""

from __future__ import annotations

from typing import Any

from ...core.errors import at, user_location
from ...core.spec import TensorSpec
from ..structure import flatten, leaves_like, text
from .signature import ArgumentError, ConcreteTrace, value_key


def bound_arrays(trace: ConcreteTrace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arrays among the arguments of a call, in the order of the trace's inputs; ArgumentError if it is another."""
    if trace.arguments is None or trace.signature is None:
        raise _wrong(trace, f"{len(args)} arguments given for {len(trace.input_specs)} arrays")
    try:
        given = trace.signature.bind_partial(*args, **kwargs).arguments
    except TypeError as error:
        raise _wrong(trace, str(error)) from None
    own_args, own_kwargs = trace.structured_input_signature
    wanted = trace.signature.bind(*own_args, **own_kwargs).arguments
    extra = [name for name in given if name not in wanted]
    if extra:
        raise _wrong(trace, f"it was traced without {extra[0]!r}")
    arrays: list[Any] = []
    for name, traced in wanted.items():
        arrays += _parts(trace, name, traced, given)
    return arrays


def _parts(trace: ConcreteTrace, name: str, traced: Any, given: dict[str, Any]) -> list[Any]:
    """The arrays in one argument, whose other parts must be what they were when traced."""
    leaves, structure = flatten(traced)
    if name not in given:
        if any(isinstance(x, TensorSpec) for x in leaves):
            raise _wrong(trace, f"the argument {name!r} is missing")
        return []
    try:
        values = leaves_like(structure, given[name])
    except ValueError:
        raise _wrong(trace, f"{name!r} is {text(flatten(given[name])[1])}, not {text(structure)}") from None
    for old, new in zip(leaves, values, strict=True):
        if not isinstance(old, TensorSpec) and value_key(old) != value_key(new):
            raise _wrong(
                trace, f"it was traced with {old!r} for {name!r}, which is part of it, and got {new!r}"
            )
    return [new for old, new in zip(leaves, values, strict=True) if isinstance(old, TensorSpec)]


def _wrong(trace: ConcreteTrace, what: str) -> ArgumentError:
    return ArgumentError(f"{trace.name}{trace.outline()}: {what}{at(user_location())}")
