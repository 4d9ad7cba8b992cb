"""Python values as arrays: which dtype numbers and lists get, what can be a tensor and what cannot. Knows no op."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import settings
from .dtype import bfloat16, is_bfloat16
from .errors import DtypeError, ShapeError, at, user_location


def to_array(x: Any, dtype: Any = None) -> np.ndarray:
    """A fresh, native, read-only ndarray of `x`; Python numbers get the default dtypes, NumPy's keep theirs."""
    chosen = dtype is not None
    _refuse_mask(x)
    if not chosen:
        dtype = default_dtype(x)
    elif np.dtype(dtype).kind in "iu" and python_kind(x) in (float, complex) and np.size(x):
        raise DtypeError(
            f"{x!r} has a fraction, or may have one, and {np.dtype(dtype).name} has none: write integers, or "
            f"tracejit.cast(x, tracejit.{np.dtype(dtype).name}) to round towards zero{at(user_location())}"
        )
    elif np.dtype(dtype).kind in "iufV" and isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind == "c":
        raise DtypeError(
            f"{x.dtype.name} has an imaginary part, which {np.dtype(dtype).name} does not hold: write x.real, or "
            f"tracejit.cast(x, tracejit.{np.dtype(dtype).name}) to drop it{at(user_location())}"
        )
    elif np.dtype(dtype).kind != "O" and _begins_with_text(x):
        raise DtypeError(
            f"{x!r} is text and no {np.dtype(dtype).name}: tracejit.strings.to_number reads numbers"
            f"{at(user_location())}"
        )
    try:
        array = np.array(x, dtype=dtype, order="C") if chosen else _filled(x, dtype)
    except (ValueError, TypeError, OverflowError) as error:
        if "inhomogeneous" in str(error):
            raise ShapeError(
                f"a tensor is rectangular, and the parts of this {type(x).__name__} differ in length or depth: "
                f"{reprlib.repr(x)}; pad the shorter ones, or make a tensor of each{at(user_location())}"
            ) from None
        wider = "; take a wider dtype, which tracejit.cast(x, dtype) gives tensors that it meets"
        remedy = wider if isinstance(error, OverflowError) else ""
        raise DtypeError(
            f"cannot make a tensor of {type(x).__name__}: {error}{remedy}{at(user_location())}"
        ) from None
    if array.dtype.kind in "SUO":
        array = _text(x, array)
    elif is_bfloat16(array.dtype):
        array = array.view(bfloat16())  # of the one object, whatever byte order was asked for
    elif array.dtype.kind not in "biufc" or array.dtype.isbuiltin == 2:  # 2: of another package
        raise DtypeError(
            f"cannot make a tensor of dtype {array.dtype} (from {type(x).__name__}); tensors hold numbers and "
            f"bools: convert with np.asarray(x, dtype=float) first{at(user_location())}"
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    array.flags.writeable = False
    return array


def plain_array(x: Any) -> np.ndarray:
    """What ``np.asarray`` makes of it; DtypeError where that would lose a mask."""
    _refuse_mask(x)
    return np.asarray(x)


def _refuse_mask(x: Any) -> None:
    """DtypeError for a masked array of NumPy's with masked elements: a tensor would show the numbers below the mask."""
    if x.__class__ in (list, tuple) and x and isinstance(x[0], np.ndarray):
        for part in x:
            _refuse_mask(part)
    mask = getattr(x, "mask", False) if isinstance(x, np.ndarray) and x.__class__ is not np.ndarray else False
    if mask is not False and np.any(mask):
        raise DtypeError(
            f"a tensor has no mask, and {np.sum(mask)} of {x.size} elements are masked: write x.filled(value), or "
            f"pass x.data and x.mask on their own{at(user_location())}"
        )


def _filled(x: Any, dtype: np.dtype | None) -> np.ndarray:
    """An array of the default dtype."""
    try:
        return np.array(x, dtype=dtype, order="C")
    except OverflowError:
        if dtype != np.int32 or python_kind(x) is not int:
            raise
        return np.array(x, dtype=np.int64, order="C")  # Python integers that int32 does not hold


def _text(x: Any, array: np.ndarray) -> np.ndarray:
    """Strings as an array of Python bytes: they are held, printed and compared, eagerly."""
    if array.dtype.kind != "O" and not _only_text(x):
        raise DtypeError(f"cannot make one tensor of strings and other values, {x!r}{at(user_location())}")
    if not isinstance(x, (np.ndarray, np.generic)):
        array = np.array(x, object)  # NumPy's own strings end before their last zero bytes
    strings = np.empty(array.shape, object)
    for place, value in np.ndenumerate(array):
        if not isinstance(value, (str, bytes)):
            raise DtypeError(
                f"cannot make a tensor of {type(x).__name__} that holds {type(value).__name__}; tensors hold numbers, "
                f"bools or strings: convert with np.asarray(x, dtype=float) first{at(user_location())}"
            )
        strings[place] = value.encode() if isinstance(value, str) else bytes(value)
    return strings


def _begins_with_text(x: Any) -> bool:
    while isinstance(x, (list, tuple)) and x:
        x = x[0]
    return isinstance(x, (str, bytes)) or (isinstance(x, np.ndarray) and x.dtype.kind in "SU")


def _only_text(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return all(_only_text(e) for e in x)
    return isinstance(x, (str, bytes, np.ndarray))


def default_dtype(x: Any) -> np.dtype | None:
    """The dtype for Python data: None keeps what NumPy finds (arrays keep theirs)."""
    if isinstance(x, (np.ndarray, np.generic)) or hasattr(x, "__array__"):
        return None
    kind = python_kind(x)
    if kind is None:
        return _beside_numpy(x)
    wide = settings.current().default_dtype == "float64"
    if kind is float:
        return np.dtype("float64" if wide else "float32")
    if kind is complex:
        return np.dtype("complex128")
    return np.dtype("int32") if kind is int else None


def _beside_numpy(x: Any) -> np.dtype | None:
    """The dtype of floats of NumPy's in a list with Python numbers, which take theirs; else None."""
    leaves = list(_leaves(x))
    numbers = [v for v in leaves if v.__class__ in (bool, int, float, complex)]
    others = [v.dtype for v in leaves if isinstance(v, (np.ndarray, np.generic))]
    if not numbers or not others or len(numbers) + len(others) < len(leaves):
        return None
    dtype = np.result_type(*others, *{kind(0) for kind in {n.__class__ for n in numbers}})
    return dtype if dtype.kind in "fc" else None


def _leaves(x: Any) -> Iterator[Any]:
    for part in x if isinstance(x, (list, tuple)) else ():
        if isinstance(part, (list, tuple)):
            yield from _leaves(part)
        else:
            yield part


def python_kind(x: Any) -> type | None:
    """float, complex, int or bool for (nests of) Python numbers; None as soon as anything else is inside."""
    if isinstance(x, (list, tuple, range)):
        if isinstance(x, range) or not x:
            return int if x.__class__ is range else float
        kinds = [python_kind(e) for e in x]
        order = [complex, float, int, bool]
        return next((k for k in order if k in kinds), None) if None not in kinds else None
    for kind in (bool, int, float, complex):
        if x.__class__ is kind:
            return kind
    return getattr(x, "weak_kind", None)


def is_weak(x: Any) -> bool:
    """A Python number or a list of them: it takes the dtype of what it meets."""
    return python_kind(x) is not None
