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
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...core.dim import Dim
from ...core.errors import PACKAGE, is_internal
from ...core.op import ops
from ...core.seams import numpy_function
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor, state
from ...ops.tensor.made import Site, is_made, traced_with_tensors
from ...ops.tensor.numpy_protocol import array_function, array_ufunc, needing
from ...ops.tensor.storage import in_place
from .places.reachable import attempt_with
from .source.origins import LIBRARIES, is_users_class
from .values.kinds import traced

#: Functions of NumPy's that are called from here compare sizes for the program, see `core.asking`.
COMPARES_FOR_CALLERS = True

T = TypeVar("T")

_STORES = frozenset(opcode.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in opcode.opmap)


def _instructions(code: CodeType) -> Iterator[tuple[int, int]]:
    return zip(code.co_code[::2], code.co_code[1::2], strict=True)


_LIST = opcode.opmap["BUILD_LIST"]
_BINARY = opcode.opmap["BINARY_OP"]
_IN_PLACE = frozenset(
    how
    for sign in "+ - * / // % ** @ & | ^ << >>".split()
    for op, how in _instructions(compile(f"a {sign}= b", "", "exec"))
    if op == _BINARY
)
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

_WRITERS = frozenset((*_MAKERS, "fill_diagonal", "place", "put", "put_along_axis", "copyto", "putmask"))
_MADE_BY = frozenset((*_MAKERS, *_FRESH))


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
FRESH = frozenset(getattr(np, name) for name in ("array", *_FRESH))

_facts: dict[int, tuple[weakref.ref[CodeType], _Facts]] = {}


def fills_arrays(f: Any) -> bool:
    """May a function of the user's, or one that it calls by name, write into arrays or make them of tensors?

    Functions of NumPy's make arrays of the lists that they are given, too.
    """
    adds = makes = False
    for g in _reached(f, set()):
        facts = _facts_of(g.__code__)
        adds, makes = adds or facts.adds, makes or facts.makes
        if facts.writes or (adds and makes) or ((facts.lists or facts.adds) and _names_numpy(g)):
            return True
    return False


def traced_with_arrays(once: Callable[[], T], f: Any, given: Sequence[Any], tensors: set[Site]) -> T:
    """``once()``, which traces `f`, given these values, until arrays that have to be `tensors` are."""
    if not any(_facts_of(g.__code__).makes for g in _reached(f, set())):
        return once()
    return traced_with_tensors(once, lambda: attempt_with(f, given), tensors)


def _reached(f: Any, seen: set[int]) -> Iterator[FunctionType]:
    """The function and those of the user's that it names, each once: also of modules, and all of a class's."""
    f = f.__func__ if f.__class__ in (staticmethod, classmethod) else f
    f = f.func if f.__class__ is functools.partial else f.fget if f.__class__ is property else f
    if f.__class__ is MethodType:
        yield from _of_class(f.__self__.__class__, seen)
        f = f.__func__
    if f.__class__ is not FunctionType:
        yield from _of_class(f if isinstance(f, type) else f.__class__, seen)
        return
    code = f.__code__
    if id(f) in seen or code.co_filename.startswith(LIBRARIES):
        return
    seen.add(id(f))
    if not is_internal(code):
        yield f
        for value in _named(code, f.__globals__):
            yield from _reached(value, seen)
    for cell in f.__closure__ or ():
        try:
            yield from _reached(cell.cell_contents, seen)
        except ValueError:  # not assigned yet
            continue


def _of_class(kind: type, seen: set[int]) -> Iterator[FunctionType]:
    """The functions of a class of the user's, and of those that it is derived from."""
    if id(kind) in seen or not is_users_class(kind):
        return
    seen.add(id(kind))
    for member in list(vars(kind).values()):
        if member.__class__ in _MEMBERS:
            yield from _reached(member, seen)
    for base in kind.__bases__:
        yield from _of_class(base, seen)


_MEMBERS = (FunctionType, staticmethod, classmethod, property)


def _named(code: CodeType, namespace: dict[str, Any]) -> Iterator[Any]:
    """What the names in code stand for, and in functions defined in it; of a module of the user's its members."""
    for name in code.co_names:
        value = namespace.get(name)
        if value.__class__ is not ModuleType:
            yield value
        elif not (getattr(value, "__file__", None) or LIBRARIES[0]).startswith((*LIBRARIES, PACKAGE)):
            members = vars(value)
            yield from (members.get(n) for n in code.co_names if n != name)
    for inner in code.co_consts:
        if inspect.iscode(inner):
            yield from _named(inner, namespace)


def _names_numpy(f: FunctionType) -> bool:
    return any(f.__globals__.get(name) is np for name in f.__code__.co_names)


def is_for_numpy(f: FunctionType) -> bool:
    """Does a function name NumPy, and nothing of this package?"""
    known = [f.__globals__.get(name) for name in f.__code__.co_names]
    return _names_numpy(f) and not any(
        str(getattr(x, "__module__", None) or getattr(x, "__name__", "")).startswith("tracejit")
        for x in known
    )


class _Facts(NamedTuple):
    """What code does, that of functions in it included.

    Attributes
    ----------
    writes : bool
        It assigns items, makes arrays of what it is given, or names functions of NumPy's that write into them.
    makes : bool
        It names functions of NumPy's that make arrays.
    adds : bool
        There is an ``a += b`` or the like.
    lists : bool
        It builds lists, or may call ``np.add.at``.
    """

    writes: bool
    makes: bool
    adds: bool
    lists: bool


def _facts_of(code: CodeType) -> _Facts:
    entry = _facts.get(id(code))
    if entry is not None and entry[0]() is code:
        return entry[1]
    instructions = list(_instructions(code))
    operations = {op for op, _ in instructions}
    inner = [_facts_of(c) for c in code.co_consts if inspect.iscode(c)]
    own = _Facts(
        not (_STORES.isdisjoint(operations) and _WRITERS.isdisjoint(code.co_names)),
        not _MADE_BY.isdisjoint(code.co_names),
        any(op == _BINARY and how in _IN_PLACE for op, how in instructions),
        _LIST in operations or "at" in code.co_names,
    )
    found = _Facts(*map(any, zip(own, *inner, strict=True)))
    _facts[id(code)] = (weakref.ref(code, functools.partial(_facts.pop, id(code))), found)
    return found
