"""Type promotion: the common dtype of tensors, arrays and Python numbers; the latter adopt the dtype of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import settings
from ..arrays import default_dtype, is_weak, python_kind
from ..dtype import BFLOAT16
from ..errors import DtypeError, at, user_location
from ..op import Op, ops
from ..tensor import Tensor
from .dispatch import apply, as_tensor, scalars, state

#: Python number to the kinds of dtype it takes over from a tensor it meets.
_TAKES_DTYPE = {bool: "biufcV", int: "iufcV", float: "fcV", complex: "c"}

_HALF, _FLOAT32 = np.dtype(np.float16), np.dtype(np.float32)


def weak_scalar(x: Any, dtype: np.dtype) -> Tensor:
    """A Python number as a tensor of `dtype`; eager ones are remembered, there are few different ones."""
    if state.interpreter is not None:
        return as_tensor(x, dtype)
    key = (x.__class__, x, dtype.num) if x else (repr(x), dtype.num)  # 0.0 and -0.0 are equal
    scalar = scalars.get(key)
    if scalar is None:
        if len(scalars) >= 1024:
            scalars.clear()
        scalar = scalars[key] = as_tensor(x, dtype)
    return scalar


#: ``(class, number other than zero, number of the dtype)`` to what `weak_scalar` remembers, or None.
known_scalar: Callable[[tuple[Any, ...]], Tensor | None] = scalars.get


def promote(inputs: Sequence[Any], cast: Callable[[Tensor, np.dtype], Tensor]) -> tuple[Tensor, ...]:
    """Tensors of one dtype from tensors, arrays and Python numbers, as NumPy 2 promotes them; see `_that_count`."""
    if len(inputs) == 2:
        inputs = a, b = [
            x if x.__class__ is Tensor or x.__class__ in _TAKES_DTYPE else read_variable(x) for x in inputs
        ]
        if a.__class__ is Tensor:
            if b.__class__ is Tensor and b.np_dtype is a.np_dtype:
                return a, b
            if b.__class__ in _TAKES_DTYPE and a.np_dtype.kind in _TAKES_DTYPE[b.__class__]:
                return a, weak_scalar(b, a.np_dtype)
        elif (
            b.__class__ is Tensor
            and a.__class__ in _TAKES_DTYPE
            and b.np_dtype.kind in _TAKES_DTYPE[a.__class__]
        ):
            return weak_scalar(a, b.np_dtype), b
    weak = [is_weak(x) if x.__class__ is not Tensor else False for x in inputs]
    strong = [as_tensor(x) for x, w in zip(inputs, weak, strict=True) if not w]
    if not strong:
        whole = [default_dtype(x) or np.dtype(bool) for x in inputs]
        dtype = np.result_type(*whole)
        if dtype.kind == "f":  # int32 with float32 of two literals: the float's own width
            dtype = max((d for d in whole if d.kind == "f"), key=lambda d: d.itemsize)
        return tuple(as_tensor(x, dtype) for x in inputs)
    dtypes = [t.np_dtype for t in strong]
    if any(d.kind == "O" for d in dtypes):
        if len(strong) == len(inputs) and len(set(dtypes)) == 1:
            return tuple(strong)
        raise DtypeError(
            "arithmetic takes numbers and bools, not strings; see tracejit.strings for what strings can do"
            f"{at(user_location())}"
        )
    given = [x for x, w in zip(inputs, weak, strict=True) if not w]
    dtype = joint_dtype(
        *_that_count(given, dtypes), *(_weak_example(x) for x, w in zip(inputs, weak, strict=True) if w)
    )
    if any(d != dtype for d in dtypes) and settings.current().dtype_promotion == "strict":
        numbers = {kind.__name__ for kind in map(python_kind, inputs) if kind is not None}
        names = (*(d.name for d in dict.fromkeys(dtypes)), *(f"a Python {n}" for n in sorted(numbers)))
        raise DtypeError(
            f"mixed dtypes {' and '.join(names)}: write tracejit.cast(x, tracejit.{dtype.name}) on the narrower one, "
            f"or set dtype_promotion to 'numpy'{at(user_location())}"
        )
    take = iter(strong)
    same = [as_tensor(x, dtype) if w else next(take) for x, w in zip(inputs, weak, strict=True)]
    return tuple(t if t.np_dtype == dtype else cast(t, dtype) for t in same)


def _that_count(given: Sequence[Any], dtypes: list[np.dtype]) -> list[np.dtype]:
    """The dtypes that decide: NumPy's integers take the dtype of floating tensors that they meet, as in TensorFlow."""
    of_numpy = [isinstance(x, (np.ndarray, np.generic)) for x in given]
    pairs = list(zip(dtypes, of_numpy, strict=True))
    if not any(d.kind in "fcV" and not theirs for d, theirs in pairs):
        return dtypes
    return [d for d, theirs in pairs if not (theirs and d.kind in "iu")]


def joint_dtype(*given: Any) -> np.dtype:
    """The dtype in which dtypes and examples of Python numbers meet: NumPy's. Of bfloat16 it is that of float16.

    Which both are in float32, as neither holds the numbers of the other.
    """
    if not BFLOAT16 or not any(x is BFLOAT16[0] for x in given):
        return np.result_type(*given)
    dtype = np.result_type(*(_HALF if x is BFLOAT16[0] else x for x in given))
    if dtype != _HALF:
        return dtype
    return np.dtype(np.float32) if any(x is _HALF for x in given) else BFLOAT16[0]


def widens(op: Op, inputs: Sequence[Tensor]) -> bool:
    """Does `op` compute these inputs, some of which are bfloat16, in float32? Not where it only moves elements."""
    return not op.takes_bfloat16 and any(t.np_dtype.kind == "V" for t in inputs)


def in_float32(op: Op, inputs: Sequence[Tensor], attrs: Mapping[str, Any]) -> Any:
    """The results of `op` on bfloat16: computed in float32, and each rounded once.

    They stay float32 where an input was, or where the call asks for it by name.
    """
    wide = tuple([ops.cast(t, dtype=_FLOAT32) if t.np_dtype.kind == "V" else t for t in inputs])
    made = apply(op, wide, attrs)
    if attrs.get("dtype") == _FLOAT32 or any(t.np_dtype is _FLOAT32 for t in inputs):
        return made
    if made.__class__ is tuple:
        return tuple([_rounded(y) for y in made])
    return _rounded(made)


def _rounded(y: Tensor) -> Tensor:
    rounded: Tensor = ops.cast(y, dtype=BFLOAT16[0]) if y.np_dtype is _FLOAT32 else y
    return rounded


def read_variable(x: Any) -> Any:
    """The tensor of a Variable; anything else, and what stands for a Python number, as it is."""
    read = getattr(x, "__tensor__", None)
    return x if read is None or hasattr(x, "weak_kind") else read()


def _weak_example(x: Any) -> Any:
    kind = python_kind(x)
    return kind(0) if kind is not None else 0
