"""The kinds of lowering that an op may declare.

Declarations only. A `Nests` rule is a function of a builder that the compiler passes in, so ops never import
the compiler. A view argument has ``shape`` and the methods ``sliced``, ``transposed``, ``reshaped`` …
These are plain classes: writing them as dataclasses would be most of what importing the ops costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Rule = Callable[..., Any]


class Scalar:
    """Element by element, by the scalar operation `name` of the loop IR."""

    __slots__ = __match_args__ = ("name",)

    def __init__(self, name: str):
        self.name: str = name


class Formula:
    """Element by element, by the scalar operation ``name(**attrs)`` of numbers ``leading(**attrs)`` and the inputs.

    Attributes for which that is None leave it to the kernel, as `Callback` does.
    """

    __slots__ = __match_args__ = ("name", "leading")

    def __init__(self, name: Rule, leading: Rule | None = None):
        self.name: Rule = name
        self.leading: Rule | None = leading


class Compose:
    """Written with other ops: ``rule(*tensors, **attrs)`` is traced in place of the op."""

    __slots__ = __match_args__ = ("rule",)

    def __init__(self, rule: Rule):
        self.rule: Rule = rule


class Expand:
    """Written with other ops, as `Compose`, but before the compiler simplifies: for what holds graphs."""

    __slots__ = __match_args__ = ("rule",)

    def __init__(self, rule: Rule):
        self.rule: Rule = rule


class Reduce:
    """Fold over ``axis`` with a Combine rule of the loop IR; ``init`` takes the dtype."""

    __slots__ = __match_args__ = ("rule", "init")

    def __init__(self, rule: str, init: Callable[[Any], Any]):
        self.rule: str = rule
        self.init: Callable[[Any], Any] = init


class Reindex:
    """A view: ``rule(view, out_spec, **attrs) -> view`` and no code at all (None: copy first, then again)."""

    __slots__ = __match_args__ = ("rule",)

    def __init__(self, rule: Rule):
        self.rule: Rule = rule


class Nests:
    """Loops written out: ``rule(builder, out_spec, *views, **attrs) -> view`` or a tuple of them.

    `updates` names the input whose buffer the result may take over when nothing reads it afterwards; `parts`
    gives, from the attributes, the static slices of it that are written.
    """

    __slots__ = __match_args__ = ("rule", "updates", "parts")

    def __init__(self, rule: Rule, updates: int | None = None, parts: Rule | None = None):
        self.rule: Rule = rule
        self.updates: int | None = updates
        self.parts: Rule | None = parts


class Library:
    """A kernel of the compiler's library, by `name`, for float32 and float64.

    ``sizes(*views, **attrs)`` are the sizes it is called with; it reads the inputs and writes the outputs.
    """

    __slots__ = __match_args__ = ("name", "sizes")

    def __init__(self, name: str, sizes: Rule):
        self.name: str = name
        self.sizes: Rule = sizes


class Callback:
    """By the kernel itself: machine code calls it, in Python, with whole arrays. Not for programs that leave Python."""

    __slots__ = ()


def is_by_kernel(op: Any, dtype: Any, attrs: Mapping[str, Any]) -> bool:
    """Does machine code call the kernel of the op for results of this dtype?"""
    lower = op.lower
    if isinstance(lower, Formula):
        return lower.name(**attrs) is None
    return isinstance(lower, Callback) or ("complex_by_kernel" in op.traits and dtype.kind == "c")


class Structure:
    """Control flow, state and literals, which the compiler knows by this name."""

    __slots__ = __match_args__ = ("name",)

    def __init__(self, name: str):
        self.name: str = name
