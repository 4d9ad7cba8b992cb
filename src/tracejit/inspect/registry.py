"""The registry as users see it: every op under its type name, and a page that says which have gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.op import OPS, Joint, Op
from ..image.adjust import adjust_contrast


def type_names() -> list[str]:
    """The type names of the ops that can be called, sorted."""
    return sorted(op.type_name for op in OPS.values() if "internal" not in op.traits)


def by_type_name(name: str) -> Callable[..., Any]:
    """The op with this type name; AttributeError when there is none.

    Examples
    --------
    >>> import tracejit as tf
    >>> float(tf.raw_ops.Multiply(2.0, 3.0))
    6.0
    """
    if name == "AdjustContrastv2":
        return adjust_contrast  # the op itself is its last step
    for op in OPS.values():
        if op.type_name == name and "internal" not in op.traits:
            return op
    raise AttributeError(f"no op has the type name {name!r}")


def gradient_of(op: Op) -> str:
    """What is known of an op's derivative: ``yes``, ``None`` (no gradient flows) or ``missing`` (an error)."""
    if not op.differentiable:
        return "missing"
    rules: Any = op.partial if op.partial is not None else op.vjp
    if isinstance(rules, Joint):
        return "yes"
    return "yes" if any(rule is not None for rule in rules) else "None"


def gradient_table() -> str:
    """A Markdown table of all ops: type name, whether it has a gradient, what it does."""
    lines = ["| op | gradient | |", "|---|---|---|"]
    for op in sorted(OPS.values(), key=lambda op: op.type_name):
        about = op.doc.strip().splitlines()[0] if op.doc.strip() else ""
        lines.append(f"| `{op.type_name}` | {gradient_of(op)} | {about.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"
