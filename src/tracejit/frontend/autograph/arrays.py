"""NumPy arrays that traced programs create and fill with tensors: ``np.zeros(n)``, ``np.array([x, y])``.

NumPy cannot write a tensor into an array without taking its value. An array that one name alone holds may become a
tensor instead, and nobody can tell; one that is known elsewhere may not, for who holds it waits for the change.
"""

from __future__ import annotations

import functools
import inspect
import opcode
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any, TypeVar

import numpy as np

from ...core.dim import Dim
from ...core.errors import is_internal
from ...core.op import ops
from ...core.seams import numpy_function
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor, state
from ...ops.tensor.made import Site, is_made, traced_with_tensors
from ...ops.tensor.numpy_protocol import needing
from ...ops.tensor.storage import in_place
from .places.reachable import attempt_with
from .source.origins import LIBRARIES
from .values.kinds import traced

T = TypeVar("T")

_STORES = frozenset(opcode.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in opcode.opmap)
_MAKERS = ("array", "asarray", "asanyarray", "ascontiguousarray")
_FRESH = (
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
    return in_place(ops.identity(x))


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
        made = numpy_function("array")(*args, **{k: v for k, v in kwargs.items() if k == "dtype"})
        return ops.identity(made) if made is args[0] else made

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
MAKING = {getattr(np, name): _making(getattr(np, name)) for name in _MAKERS} | {
    getattr(np, name): _noting(getattr(np, name)) for name in _FRESH
}

_MADE_BY = frozenset((*_MAKERS, *_FRESH))


def copying(f: Any) -> Any:
    """What to call in place of a method that copies an array of NumPy's; of others `f` itself."""
    of_array = f.__class__ is BuiltinFunctionType and f.__self__.__class__ is np.ndarray
    return _noting(f) if of_array and f.__name__ in ("copy", "astype", "flatten") else f


#: What makes an array of its own, of whatever it is given.
FRESH = frozenset(getattr(np, name) for name in ("array", *_FRESH))

_facts: dict[int, tuple[weakref.ref[CodeType], bool]] = {}


def fills_arrays(f: Any) -> bool:
    """May a function of the user's, or one that it calls by name, write into arrays or make them of tensors?"""
    return any(_writes(g.__code__) for g in _reached(f, set()))


def traced_with_arrays(once: Callable[[], T], f: Any, given: Sequence[Any], tensors: set[Site]) -> T:
    """``once()``, which traces `f`, given these values, until arrays that have to be `tensors` are."""
    if not any(_names_makers(g.__code__) for g in _reached(f, set())):
        return once()
    return traced_with_tensors(once, lambda: attempt_with(f, given), tensors)


def _names_makers(code: CodeType) -> bool:
    named = not _MADE_BY.isdisjoint(code.co_names)
    return named or any(_names_makers(c) for c in code.co_consts if inspect.iscode(c))


def _reached(f: Any, seen: set[int]) -> Iterator[FunctionType]:
    """The function and those of the user's that it names, each once."""
    f = f.__func__ if f.__class__ is MethodType else f.func if f.__class__ is functools.partial else f
    if f.__class__ is not FunctionType or id(f) in seen:
        return
    code = f.__code__
    if code.co_filename.startswith(LIBRARIES):
        return
    seen.add(id(f))
    if not is_internal(code):
        yield f
        for name in code.co_names:
            yield from _reached(f.__globals__.get(name), seen)
    for cell in f.__closure__ or ():
        try:
            yield from _reached(cell.cell_contents, seen)
        except ValueError:  # not assigned yet
            continue


def _writes(code: CodeType) -> bool:
    entry = _facts.get(id(code))
    if entry is not None and entry[0]() is code:
        return entry[1]
    found = not _STORES.isdisjoint(code.co_code[::2]) or not set(_MAKERS).isdisjoint(code.co_names)
    found = found or any(_writes(c) for c in code.co_consts if inspect.iscode(c))
    _facts[id(code)] = (weakref.ref(code, functools.partial(_facts.pop, id(code))), found)
    return found
