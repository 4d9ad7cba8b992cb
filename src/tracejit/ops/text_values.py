"""Strings, which tensors hold as Python bytes: functions of them, eagerly or in compiled functions.

Ops that move elements take text as it is; all else Python computes: of tensors that have values at once, else by a
`text_call`, each time that the code comes by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.dim import Size, UnknownSize
from ..core.errors import DtypeError, ShapeError, at, user_location
from ..core.op import ops
from ..core.spec import broadcast_shapes
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from .arrays import shape
from .python_calls import number_of


def as_text(x: Any) -> Tensor:
    """`x` as a tensor of text; DtypeError for anything else."""
    text = as_tensor(x)
    if text.np_dtype.kind != "O":
        raise DtypeError(f"takes strings, got {text.spec}{at(user_location())}")
    return text


def is_text(x: Any) -> bool:
    """Is it text, or a tensor of text?"""
    return isinstance(x, (str, bytes)) or (isinstance(x, Tensor) and x.np_dtype.kind == "O")


def frozen(values: Any) -> np.ndarray:
    """An array of Python bytes, given as an array or a list, that nobody writes to."""
    array = values if isinstance(values, np.ndarray) else np.array(values, object)
    array.flags.writeable = False
    return array


def each(f: Callable[[bytes], Any], array: np.ndarray, dtype: Any = object) -> np.ndarray:
    """What `f` gives for every string of an array."""
    results = np.empty(array.shape, dtype)
    for place, value in np.ndenumerate(array):
        results[place] = f(value)
    return frozen(results)


class _Computed:
    """A function of arrays to one array, as the op calls it."""

    def __init__(self, f: Callable[..., np.ndarray]):
        self.f: Callable[..., np.ndarray] = f

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray]:
        return (self.f(*arrays),)

    def __repr__(self) -> str:
        return "an op on strings"


def computed(
    f: Callable[..., np.ndarray],
    tensors: Sequence[Tensor],
    dtype: Any = object,
    sizes: Sequence[Size] | None = None,
) -> Tensor:
    """``f(*arrays)`` of tensors: now, or where one has no value yet, whenever the compiled code comes by.

    The result has the shape `sizes`, or where they are not given that of the first tensor.
    """
    if not any(t.is_symbolic for t in tensors):
        return Tensor(f(*[t.array for t in tensors]))
    announced: Any = 0
    if sizes is not None and tuple(sizes) != tuple(tensors[0].shape):
        announced = tuple(sizes)
        if not all(isinstance(s, int) for s in announced):
            raise UnknownSize(
                f"an op on strings of a compiled function gives the shape {announced}, which is known only when it runs"
                f"{at(user_location())}"
            )
    name = "string" if np.dtype(dtype).kind == "O" else np.dtype(dtype).name
    function = number_of(_Computed(f))
    return ops.text_call(*tensors, function=function, dtypes=(name,), shapes=(announced,))[0]


def broadcast(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors of one shape; ShapeError where there is none."""
    sizes = broadcast_shapes(*[t.shape for t in tensors])
    return [t if tuple(t.shape) == sizes else shape.broadcast_to(t, shape=sizes) for t in tensors]


def joined(tensors: Sequence[Any], separator: str = "") -> Tensor:
    """The strings joined element by element, with broadcasting, and `separator` between them."""
    between = separator.encode()

    def join(*arrays: np.ndarray) -> np.ndarray:
        texts = np.empty(arrays[0].shape, object)
        for place in np.ndindex(texts.shape):
            texts[place] = between.join([bytes(part[place]) for part in arrays])
        return frozen(texts)

    try:
        return computed(join, broadcast([as_text(x) for x in tensors]))
    except ShapeError as error:
        raise ValueError(f"{error}{at(user_location())}") from None
