"""The op registry for users: every op under its type name, and a table of which have gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..compiler.codegen.math import NAMES, largest_error
from ..compiler.loopir.scalar_ops import SCALAR_OPS
from ..core.op import OPS, Joint, Op
from ..core.tracing.documentation import accepted
from ..image.adjust import adjust_contrast
from ..ops.lowering import Scalar


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


def accuracy_of(op: Op) -> str:
    """What an op's compiled code is off by at the most, in units in the last place; empty where no bound is known.

    That of real numbers, for any argument: ``3``, or ``5 (float32), 3 (float64)``.
    """
    scalar = SCALAR_OPS.get(op.lower.name) if isinstance(op.lower, Scalar) else None
    if scalar is None:
        return ""
    if scalar.name in NAMES:
        bounds = {dtype: largest_error(scalar.name, dtype) for dtype in ("float32", "float64")}
        if len(set(bounds.values())) == 1:
            return f"{bounds['float64']:g}"
        return ", ".join(f"{bound:g} ({dtype})" for dtype, bound in bounds.items() if math.isfinite(bound))
    if "elementary" in scalar.traits:
        return ""
    return "0.5" if "rounded" in scalar.traits else "0"


def dtypes_of(op: Op) -> str:
    """The kinds of elements that an op takes; empty where that depends on its attributes."""
    return ", ".join(accepted(op)) if op.elementwise and not op.keywords else ""


def gradient_table() -> str:
    """A Markdown table of all ops: type name, gradient, dtypes, accuracy in ULP, what it does."""
    lines = ["| op | gradient | dtypes | ULP | |", "|---|---|---|---|---|"]
    for op in sorted(OPS.values(), key=lambda op: op.type_name):
        about = op.doc.strip().partition("\n")[0].replace("|", "\\|").replace("``", "`")
        lines.append(
            f"| `{op.type_name}` | {gradient_of(op)} | {dtypes_of(op)} | {accuracy_of(op)} | {about} |"
        )
    return "\n".join(lines) + "\n"
