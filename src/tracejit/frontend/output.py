"""tracejit.print: what users write, as one template and the tensors that fill it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..core.errors import at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..ops.prints import array_summary
from .structure import kind_of


def print_(
    *inputs: Any,
    output_stream: Any = None,
    summarize: int = 3,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> None:
    """Print when the program runs: in compiled functions too, each time, also in loops and branches.

    Python's own ``print`` in a compiled function prints once, while the function is traced, and shows a tensor's shape
    and dtype in place of its elements.

    Parameters
    ----------
    *inputs : anything
        Tensors, Variables, arrays and nests of them show their elements; anything else is its ``str``, as it is when
        the function is traced.
    output_stream : sys.stderr, sys.stdout or str, optional
        Where to; by default ``sys.stderr``. ``"file://"`` and a path appends to a file.
    summarize : int
        How many elements to show at each end of an axis; -1 for all.
    sep, end : str
        What stands between and behind the inputs.
    name : str, optional
        Accepted for programs written for other libraries, and ignored.

    Raises
    ------
    ValueError
        For another stream.

    Notes
    -----
    Prints keep their order. What is differentiated prints once, when its value is computed; under :func:`vmap` each
    example prints. Floats show 6 significant digits, or 15 in float64, where that is exact, else all of them; bools
    are 1 and 0.

    Examples
    --------
    >>> import sys
    >>> import tracejit as tf
    >>> @tf.function
    ... def halve(x):
    ...     while x > 1.0:
    ...         x = x / 2.0
    ...         tf.print("now", x, output_stream=sys.stdout)
    ...     return x
    >>> y = halve(tf.constant(5.0))
    now 2.5
    now 1.25
    now 0.625
    """
    if summarize.__class__ is not int or summarize < -1:
        raise ValueError(
            f"summarize is a number of elements, or -1 for all; got {summarize!r}{at(user_location())}"
        )
    tensors: list[Tensor] = []
    text = _escaped(sep).join(_template(x, tensors, True) for x in inputs)
    template = text + _escaped(end)
    ops.print(*tensors, template=template, summarize=summarize, stream=_stream(output_stream))


print_.__module__, print_.__name__, print_.__qualname__ = "tracejit", "print", "print"  # as errors call it


def _template(x: Any, tensors: list[Tensor], top: bool = False) -> str:
    """The text of an input, with ``{}`` for each tensor, which goes to `tensors`."""
    if isinstance(x, (Tensor, np.ndarray)) or hasattr(x, "__tensor__"):
        tensor = as_tensor(x)
        if tensor.np_dtype.kind == "O" and not tensor.is_symbolic:
            return _escaped(_strings(tensor.array, top))
        tensors.append(tensor)
        return '"{}"' if tensor.np_dtype.kind == "O" and not top and not tensor.shape else "{}"
    kind = None if x is None else kind_of(x)
    if kind is None:
        return _escaped(str(x) if top else repr(x))
    if issubclass(kind, dict):
        return "{{" + ", ".join(f"{_template(k, [])}: {_template(v, tensors)}" for k, v in x.items()) + "}}"
    inner = ", ".join(_template(v, tensors) for v in x)
    if kind is list:
        return f"[{inner}]"
    return f"({inner},)" if len(x) == 1 else f"({inner})"


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _strings(array: np.ndarray, bare: bool) -> str:
    """Strings as they are shown: one alone without quotes, several in rows."""
    shown = array_summary(array, -1)
    return shown if bare or array.ndim else f'"{shown}"'


def _stream(given: Any) -> str:
    for stream in ("stdout", "stderr"):
        if given is getattr(sys, stream) or given is getattr(sys, f"__{stream}__") or given == stream:
            return stream
    if given is None:
        return "stderr"
    if isinstance(given, str) and given.startswith("file://"):
        return given
    raise ValueError(
        f"output_stream is sys.stdout, sys.stderr or 'file://' and a path, not {given!r}{at(user_location())}"
    )
