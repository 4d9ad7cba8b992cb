"""Parts of an op's docstring that follow from its declaration: parameters, shapes, dtypes and errors.

Dtypes are not told but asked: the shape rule is run on one of each kind, and says what it makes of it.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

from ..errors import DtypeError, ShapeError
from ..settings import settings
from ..spec import TensorSpec
from .dispatch import at_once_in_a_kernel, interpreting, require_text

#: Kinds of elements, and the dtype that stands for each.
_KINDS = {"bool": "bool", "integers": "int32", "float": "float32", "complex": "complex64", "strings": "O"}
_PRECISE = {
    ("complex64", "float32"): "float of its precision",
    ("float32", "complex64"): "complex of its precision",
}


@functools.cache
def documented(op: Any) -> str:
    """The documentation of an op: what its declaration says, and the sections that it leaves out."""
    text = inspect.cleandoc(op.doc)
    sections = {"Parameters": _parameters(op)}
    if op.elementwise and not op.keywords and "Returns" not in text:
        with interpreting(None):  # whoever asks, and if it is a wrapper that is made while tracing
            sections |= _elementwise(op) | {"Examples": _example(op)}
    missing = {title: body for title, body in sections.items() if body and f"{title}\n---" not in text}
    said, *examples = text.partition("\nExamples\n---")
    made = [f"\n{title}\n{'-' * len(title)}\n{body}" for title, body in missing.items()]
    return "\n".join([said.rstrip(), *made]) + ("\n" + "".join(examples) if examples[0] else "")


def accepted(op: Any) -> list[str]:
    """The kinds of elements that an elementwise op takes."""
    with interpreting(None):
        results, _ = _answers(op)
    return [kind for kind in _KINDS if any(kind in kinds for kinds in results.values())]


def _parameters(op: Any) -> str:
    lines = []
    for p in inspect.signature(op.infer).parameters.values():
        attribute = p.kind is p.KEYWORD_ONLY
        lines.append(f"{str(p).split(':')[0]} : {p.annotation if attribute else 'tensor-like'}")
    return "\n".join(lines)


def _elementwise(op: Any) -> dict[str, str]:
    """What is returned and raised: shapes as they broadcast, dtypes as the rule answers."""
    results, errors = _answers(op)
    usual, *others = sorted(results, key=lambda said: -len(results[said]))
    dtypes = "; ".join([usual, *(f"{said} of {' and '.join(results[said])}" for said in others)])
    shape = f"of `{op.tensors[0]}`"
    if len(op.tensors) > 1:
        shape = "to which they broadcast"
        errors.setdefault("ShapeError", []).append("shapes that do not broadcast")
    raised = "\n".join(f"{name}\n    For {', '.join(refused)}." for name, refused in errors.items())
    return {"Returns": f"Tensor\n    The shape {shape}, {dtypes}.", "Raises": raised}


#: Two elements for a first tensor and for a second: the first pair that an op takes, and makes numbers of, is shown.
_SHOWN: tuple[Any, ...] = (
    ([-1.5, 2.25], [2.0, 2.25]),
    ([0.25, 0.5], [2.0, 3.0]),
    ([1.5, 2.0], [2.0, 3.0]),
    ([6, 3], [2, 1]),
    ([True, False], [True, True]),
)


def _example(op: Any) -> str:
    """A call and what it prints: found out by making it."""
    home = "tf.bitwise" if op.infer.__module__.endswith(".bits") else "tf.math"
    for shown in _SHOWN:
        given = shown[: len(op.tensors)]
        try:
            with (
                settings(nans=False, dtype_promotion="numpy"),
                at_once_in_a_kernel(),
            ):  # whoever asks, and where
                made = op(*given)
        except (DtypeError, ShapeError):
            continue
        if len(given) == len(op.tensors) and np.all(np.isfinite(made.numpy())):
            home = "tf" if made.dtype.kind == "c" else home  # what makes complex numbers of real ones
            call = f"{home}.{op.name}({', '.join(map(str, given))})"
            return f">>> import tracejit as tf\n>>> print({call})\n{made!s}"
    return ""


def _answers(op: Any) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The kinds of elements by the dtype they give, in words, and by the error that refuses them."""
    same = "the dtype to which they are promoted" if len(op.tensors) > 1 else "the same dtype"
    results: dict[str, list[str]] = {}
    errors: dict[str, list[str]] = {}
    for kind, dtype in _KINDS.items():
        try:
            made = _made(op, dtype)
        except (DtypeError, ShapeError) as error:
            errors.setdefault(type(error).__name__, []).append(kind)
        else:
            said = _PRECISE.get((dtype, made), same if made == dtype != "bool" else made)
            results.setdefault(said, []).append(kind)
    if same in results and "bool" in results.get("bool", []):  # of bools a bool is the same dtype
        results[same] += results.pop("bool")
    return results, errors


def _made(op: Any, dtype: str) -> str:
    """The dtype that the op makes of one; DtypeError, or ShapeError, where it refuses it."""
    inputs: Any = [np.full((), b"" if dtype == "O" else 1, dtype) for _ in op.tensors]
    if op.canonicalize is not None:
        inputs, _ = op.canonicalize(inputs, {})
    if any(x.dtype.kind == "O" for x in inputs):
        require_text(op)
    (spec,) = op.specs(tuple([TensorSpec((), x.dtype) for x in inputs]), {})
    return spec.dtype.name
