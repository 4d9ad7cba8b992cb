"""How the signature of a trace looks as text: in one line, and the listing that tutorials print."""

from __future__ import annotations

import inspect
from typing import Any

from ...core.spec import TensorSpec, dtype_name
from ..structure import in_order, kind_of
from .signature import ConcreteTrace


def outline(trace: ConcreteTrace) -> str:
    """``(x: float32[?], n: 2) -> float32[]``."""
    parameters = [f"{name}: {_short(x)}" for name, _, x in _parameters(trace)]
    return f"({', '.join(parameters)}) -> {_short(trace.structured_outputs)}"


def signature_text(trace: ConcreteTrace) -> str:
    """Parameters, result, and what comes from outside, each with its type, on lines of their own."""
    lines = ["Input Parameters:"]
    lines += [f"  {name} ({kind}): {type_text(x)}" for name, kind, x in _parameters(trace)] or ["  None"]
    lines += ["Output Type:", f"  {type_text(trace.structured_outputs)}", "Captures:"]
    captures = [
        f"  {getattr(x, 'name', 'a tensor')}: {type_text(TensorSpec(x.shape, x.dtype))}"
        for x in trace.captured_inputs
    ]
    return "\n".join(lines + (captures or ["  None"]))


class _Type:
    """A type by its text, as signatures show it."""

    def __init__(self, x: Any):
        self.text = type_text(x)

    def __repr__(self) -> str:
        return self.text


def function_type(trace: ConcreteTrace) -> inspect.Signature:
    """The parameters and the result, each with its type in place of an annotation."""
    parameters = [
        inspect.Parameter(name.replace(" ", "_"), getattr(inspect.Parameter, kind), annotation=_Type(x))
        for name, kind, x in _parameters(trace)
    ]
    return inspect.Signature(parameters, return_annotation=_Type(trace.structured_outputs))


def _parameters(trace: ConcreteTrace) -> list[tuple[str, str, Any]]:
    """Name, kind, and what it was traced with, of every parameter."""
    args, kwargs = trace.structured_input_signature
    if trace.signature is None or trace.arguments is None:
        named = [(f"argument {i}", "POSITIONAL_ONLY", x) for i, x in enumerate(args)]
        return [*named, *((name, "KEYWORD_ONLY", x) for name, x in kwargs.items())]
    bound = trace.signature.bind(*args, **kwargs).arguments
    return [(name, trace.signature.parameters[name].kind.name, x) for name, x in bound.items()]


def type_text(x: Any) -> str:
    """``TensorSpec(shape=(None, 3), dtype=tf.float32, name=None)``, ``Literal[2]``, ``List[...]``, ``Dict[[...]]``."""
    if isinstance(x, TensorSpec):
        return f"TensorSpec(shape={tuple(x.shape)}, dtype=tf.{dtype_name(x.dtype)}, name=None)"
    kind = kind_of(x)
    if kind is None or x is None:
        return f"Literal[{x!r}]"
    if issubclass(kind, dict):
        return f"{_titled(kind)}[{', '.join(f'[{k!r}, {type_text(x[k])}]' for k in in_order(x))}]"
    return f"{_titled(kind)}[{', '.join(map(type_text, x))}]"


def _titled(kind: type) -> str:
    return kind.__name__.capitalize() if kind in (list, tuple, dict) else kind.__name__


def _short(x: Any) -> str:
    kind = kind_of(x)
    if kind is None or x is None:
        return repr(x)
    if issubclass(kind, dict):
        return "{" + ", ".join(f"{k!r}: {_short(x[k])}" for k in in_order(x)) + "}"
    inner = ", ".join(map(_short, x))
    if kind is list:
        return f"[{inner}]"
    return f"({inner}{',' if len(x) == 1 else ''})" if kind is tuple else f"{kind.__name__}({inner})"
