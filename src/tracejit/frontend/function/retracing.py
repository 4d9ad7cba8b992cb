"""A warning, once per function, when nearly every call traces again; it names the argument that changes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ...core.errors import stack_level
from ...core.spec import TensorSpec
from ..structure import Nest, count_leaves
from .signature import Call

#: Traces in a row, no call between them served by an earlier one, before a function warns.
PATIENCE = 8


class RetracingWarning(UserWarning):
    """A function is traced and compiled again and again."""


class Retracing:
    """Counts the traces in a row of one function."""

    __slots__ = ("streak", "before", "warned")
    streak: int

    def __init__(self) -> None:
        self.streak = 0
        self.before: Call | None = None
        self.warned: bool = False

    def served(self) -> None:
        """A call found its trace."""
        self.streak = 0

    def traced(self, name: str, call: Call, parameters: Sequence[str]) -> None:
        """A call had to be traced."""
        self.streak += 1
        before, self.before = self.before, _without_objects(call)
        if self.streak < PATIENCE or self.warned or before is None:
            return
        self.warned = True
        warnings.warn(
            f"{name} was traced {self.streak} times for as many calls, and each trace is compiled. "
            f"From the last call to this one {changed(before, call, parameters)}",
            RetracingWarning,
            stacklevel=stack_level(),
        )


_PLAIN = (int, float, complex, bool, str, type(None))


def _without_objects(call: Call) -> Call:
    """The call without the arrays and objects in it, which it would keep alive."""
    plain = [x if x.__class__ in _PLAIN else None for x in call.leaves]
    places = [(i, None) for i, _ in call.arrays]
    return Call(call.structure, plain, places, call.specs, call.values, call.floats)


def changed(before: Call, now: Call, parameters: Sequence[str]) -> str:
    """What differs between two calls, and what to write instead."""
    if before.structure != now.structure:
        return "the structure of the arguments changed: pass nests of the same structure."
    places = [i for i, _ in now.arrays]
    if [i for i, _ in before.arrays] != places:
        return "an argument changed between an array and a Python value: pass a tensor each time."
    for i, a, b in zip(places, before.specs, now.specs, strict=True):
        if a.dtype != b.dtype:
            return f"{_leaf_name(now, i, parameters)} changed from {a} to {b}: cast it to one dtype."
        if a.shape != b.shape:
            wanted = TensorSpec([x if x == y else None for x, y in zip(a.shape, b.shape)], a.dtype)
            remedy = (
                f"reduce_retracing=True, or an input_signature with {_spec_text(wanted)}, makes one trace serve all."
                if len(a.shape) == len(b.shape)
                else "bring it to one rank."
            )
            return f"{_leaf_name(now, i, parameters)} changed from {a} to {b}: {remedy}"
    others = [i for i in range(len(now.leaves)) if i not in places]
    for i, a, b in zip(others, before.values, now.values):
        if a != b:
            name, old, new = _leaf_name(now, i, parameters), before.leaves[i], now.leaves[i]
            if new.__class__ not in _PLAIN:
                return f"{name} was another {type(new).__name__}: an object is part of the trace; pass the same one."
            return (
                f"{name} changed from {old!r} to {new!r}: a Python value is part of the trace; pass a tensor, "
                "tracejit.constant(...), where the value may change."
            )
    return "sizes changed in a way that an assumption of the trace excludes."


def _spec_text(spec: TensorSpec) -> str:
    return f"TensorSpec({list(spec.shape)}, {spec.dtype.name!r})"


def _leaf_name(call: Call, leaf: int, parameters: Sequence[str]) -> str:
    """The parameter that a leaf belongs to, as the user calls it."""
    assert isinstance(call.structure, Nest)
    args, kwargs = call.structure.children
    assert isinstance(args, Nest) and isinstance(kwargs, Nest)
    names = [*parameters, *(f"argument {k}" for k in range(len(parameters), len(args.children)))]
    named = [*zip(names, args.children), *zip(sorted(map(str, kwargs.keys)), kwargs.children)]
    for name, child in named:
        count = count_leaves(child)
        if leaf < count:
            return repr(name) if count == 1 else f"a part of {name!r}"
        leaf -= count
    return "an argument"
