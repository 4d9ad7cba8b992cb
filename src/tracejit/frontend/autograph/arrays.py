"""NumPy arrays that traced programs create and fill with tensors: ``np.zeros(n)``, ``np.array([x, y])``.

NumPy cannot write a tensor into an array without taking its value. An array that one name alone holds may become a
tensor instead, and nobody can tell; one that is known elsewhere may not, for who holds it waits for the change.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from ...core.dim import Dim
from ...core.op import ops
from ...core.seams import numpy_function
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor, state
from ...ops.tensor.memory.made import is_made
from ...ops.tensor.memory.storage import in_place, named
from ...ops.tensor.numpy_protocol import array_function, array_ufunc, needing
from .values.kinds import traced

#: Functions of NumPy's that are called from here compare sizes for the program, see `core.asking`.
COMPARES_FOR_CALLERS = True

MAKERS = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray")
MAKERS_OF_NEW = (
    *(
        "zeros",
        "ones",
        "empty",
        "full",
        "zeros_like",
        "ones_like",
        "empty_like",
        "full_like",
        "copy",
        "arange",
    ),
    *("linspace", "eye", "identity"),
)


def fillable(x: np.ndarray, value: Any) -> Any:
    """The tensor that an array becomes which nobody else holds, to hold `value`; the array where it has to stay one."""
    if not x.flags.writeable or x.dtype.kind not in "biufc":
        return x
    if x.base is not None and (x.base.__class__ is not np.ndarray or sys.getrefcount(x.base) > 2):
        return x  # a part of what another name holds
    if x.dtype.kind != "c" and getattr(value, "dtype", x.dtype).kind == "c":
        return x  # NumPy refuses it with its own words
    return _tensor_of(x) if state.interpreter is not None else ops.identity(x)


def _tensor_of(x: np.ndarray) -> Tensor:
    return in_place(ops.identity(x), x)


def _making(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy that makes an array of what it is given, which may be tensors whose values would not do."""

    @functools.wraps(make)
    def converted(*args: Any, **kwargs: Any) -> Any:
        if (
            needing((args, kwargs)) is None
            or not kwargs.keys() <= {"dtype", "copy", "order"}
            or len(args) > 2
        ):
            plain = make(*args, **kwargs)
            return plain if plain is args[0] or plain.base is not None else is_made(plain, _tensor_of)
        if make in (np.asarray, np.asanyarray) and isinstance(args[0], Tensor) and len(args) == 1 and not kwargs:
            return named(args[0])
        made = numpy_function("array")(*args, **{k: v for k, v in kwargs.items() if k == "dtype"})
        copies = make is np.array and kwargs.get("copy", True)
        return ops.identity(made) if made is args[0] or (copies and isinstance(args[0], Tensor)) else made

    return converted


def _noting(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy that makes an array of its own, which may have to be a tensor."""

    @functools.wraps(make)
    def noting(*args: Any, **kwargs: Any) -> Any:
        if state.interpreter is not None and any(map(_is_open, (*args, *kwargs.values()))):
            kwargs.pop("order", None)  # tensors have one order
            return numpy_function(make.__name__)(*args, **kwargs)
        return is_made(make(*args, **kwargs), _tensor_of)

    return noting


def _is_open(x: Any) -> bool:
    """Is `x` a size, or a shape with one, that is not known while tracing, or not the same in every call?"""
    if x.__class__ in (tuple, list):
        return any(map(_is_open, x))
    if isinstance(x, Dim) or not traced(x):
        return isinstance(x, Dim)
    tensor = as_tensor(x)
    return tensor.shape == () and tensor.np_dtype.kind in "iu"


#: What makes arrays, perhaps of tensors, and what converted functions call in its place.
MAKING = {getattr(np, name): _making(getattr(np, name)) for name in MAKERS} | {
    getattr(np, name): _noting(getattr(np, name)) for name in MAKERS_OF_NEW
}


@functools.cache
def of_lists(f: Any) -> Any:
    """A function of NumPy's as converted code calls it: of lists of tensors it is what it is of tensors."""

    @functools.wraps(f)
    def converted(*args: Any, **kwargs: Any) -> Any:
        nests = [x for x in (*args, *kwargs.values()) if _hides_tensors(x)]
        if not nests or needing(nests) is None:
            return f(*args, **kwargs)
        if isinstance(f, np.ufunc):
            return array_ufunc(None, f, "__call__", *args, **kwargs)
        return array_function(None, f, (), args, kwargs)

    return converted


def _hides_tensors(x: Any) -> bool:
    """May it be made of tensors, and NumPy does not ask them what its functions mean?"""
    return x.__class__ in (list, tuple) or (hasattr(x, "__tensor__") and not hasattr(x, "__array_function__"))


def copying(f: Any) -> Any:
    """What to call in place of a method that copies an array of NumPy's; of others `f` itself."""
    of_array = f.__class__ is BuiltinFunctionType and f.__self__.__class__ is np.ndarray
    return _noting(f) if of_array and f.__name__ in ("copy", "astype", "flatten") else f


#: What makes an array of its own, of whatever it is given.
FRESH = frozenset(getattr(np, name) for name in ("array", *MAKERS_OF_NEW))
