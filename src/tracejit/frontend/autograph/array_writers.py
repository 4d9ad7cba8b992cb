"""Which functions may fill NumPy's arrays: those that assign items, and those that make arrays of what they are given.

Eager transforms ask at each call, as names may stand for other functions by then. So an answer is kept with all that
names and cells stood for, and holds while they stand for the same. What they stood for is known by its identity, of
which a weak reference tells when it ends, or by its class where nothing else counts: nothing lives longer for it.
"""

from __future__ import annotations

import functools
import inspect
import opcode
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...core.errors import PACKAGE, is_internal
from ...core.op import Op
from ...core.tensor import Tensor
from ...ops.tensor.memory.made import Site, traced_with_tensors
from ...ops.tensor.operators import IN_PLACE as OPERATORS_IN_PLACE
from .arrays import MAKERS, MAKERS_OF_NEW
from .places.reachable import attempt_with
from .source.origins import LIBRARIES, is_users_class
from .source.rewriting import IN_PLACE as METHODS_IN_PLACE
from .values.contents import held

T = TypeVar("T")

# ---- what code does -------------------------------------------------------------------------------------


def _instructions(code: CodeType) -> Iterator[tuple[int, int]]:
    return zip(code.co_code[::2], code.co_code[1::2], strict=True)


_STORES = frozenset(opcode.opmap[name] for name in ("STORE_SUBSCR", "STORE_SLICE") if name in opcode.opmap)
_LIST = opcode.opmap["BUILD_LIST"]
_BINARY = opcode.opmap["BINARY_OP"]
_IN_PLACE = frozenset(
    how
    for sign in "+ - * / // % ** @ & | ^ << >>".split()
    for op, how in _instructions(compile(f"a {sign}= b", "", "exec"))
    if op == _BINARY
)
_WRITERS = frozenset(
    (
        *MAKERS,
        *("fill_diagonal", "place", "put", "put_along_axis", "copyto", "putmask", "nan_to_num"),
        *METHODS_IN_PLACE,
        *(name.strip("_") for name in OPERATORS_IN_PLACE),  # functions of `operator`
    )
)
_MADE_BY = frozenset((*MAKERS, *MAKERS_OF_NEW))

_USER, _PACKAGE, _LIBRARY = range(3)


class _Facts(NamedTuple):
    """What code does, that of functions in it included.

    Attributes
    ----------
    origin : int
        Whose it is.
    names : tuple of str
        The names of variables and attributes in it.
    writes : bool
        It assigns items, makes arrays of what it is given, or names functions of NumPy's that write into them.
    makes : bool
        It names functions of NumPy's that make arrays.
    adds : bool
        There is an ``a += b`` or the like.
    lists : bool
        It builds lists, or may call ``np.add.at``.
    """

    origin: int
    names: tuple[str, ...]
    writes: bool
    makes: bool
    adds: bool
    lists: bool


_facts: dict[int, tuple[weakref.ref[CodeType], _Facts]] = {}


def _facts_of(code: CodeType) -> _Facts:
    entry = _facts.get(id(code))
    if entry is not None and entry[0]() is code:
        return entry[1]
    instructions = list(_instructions(code))
    operations = {op for op, _ in instructions}
    inner = [_facts_of(c) for c in code.co_consts if inspect.iscode(c)]
    own = (
        not (_STORES.isdisjoint(operations) and _WRITERS.isdisjoint(code.co_names)),
        not _MADE_BY.isdisjoint(code.co_names),
        any(op == _BINARY and how in _IN_PLACE for op, how in instructions),
        _LIST in operations or "at" in code.co_names,
    )
    names = dict.fromkeys((*code.co_names, *(name for facts in inner for name in facts.names)))
    does = map(any, zip(own, *(facts[2:] for facts in inner), strict=True))
    found = _Facts(_origin(code), tuple(names), *does)
    _facts[id(code)] = (weakref.ref(code, functools.partial(_facts.pop, id(code))), found)
    return found


def _origin(code: CodeType) -> int:
    if code.co_filename.startswith(LIBRARIES):
        return _LIBRARY
    return _PACKAGE if is_internal(code) else _USER


def _names_numpy(f: FunctionType) -> bool:
    return any(f.__globals__.get(name) is np for name in f.__code__.co_names)


def is_for_numpy(f: FunctionType) -> bool:
    """Does a function name NumPy, and nothing of this package?"""
    known = [f.__globals__.get(name) for name in f.__code__.co_names]
    return _names_numpy(f) and not any(
        str(getattr(x, "__module__", None) or getattr(x, "__name__", "")).startswith("tracejit")
        for x in known
    )


# ---- what is asked --------------------------------------------------------------------------------------


def fills_arrays(f: Any) -> bool:
    """May a function of the user's, or one that it calls by name, write into arrays or make them of tensors?

    Functions of NumPy's make arrays of the lists that they are given, too.
    """
    known = _key_of(f)
    if known is not None:
        answer = _answers.get(known[0])
        if answer is not None and answer.holds(known[1]):
            return answer.fills
    walk = _Walk()
    fills = _may_fill(walk.reached(f))
    if known is not None:
        _keep(*known, fills, walk)
    return fills


def _may_fill(reached: Iterable[tuple[FunctionType, _Facts]]) -> bool:
    adds = makes = numeric = False
    for g, facts in reached:
        adds, makes, numeric = adds or facts.adds, makes or facts.makes, numeric or _names_numpy(g)
        if facts.writes or (adds and (makes or numeric)) or (facts.lists and _names_numpy(g)):
            return True
    return False


def traced_with_arrays(once: Callable[[], T], f: Any, given: Sequence[Any], tensors: set[Site]) -> T:
    """``once()``, which traces `f`, given these values, until arrays that have to be `tensors` are."""
    if not any(facts.makes or facts.writes or facts.adds for _, facts in _Walk().reached(f)):
        return once()
    return traced_with_tensors(once, lambda: attempt_with(f, given), tensors)


# ---- what a function reaches ----------------------------------------------------------------------------

_MEMBERS = (FunctionType, staticmethod, classmethod, property)
#: What names mostly stand for, and no function of the user's hangs on.
_LEAVES = frozenset((
    *(type(None), bool, int, float, complex, str, tuple, list, dict, np.ndarray, Tensor, Op),
    *(BuiltinFunctionType, np.ufunc, type(np.zeros_like)),
))  # fmt: skip


class _Walk:
    """The functions of the user's that one reaches by names, and where it looked for them.

    Attributes
    ----------
    functions, classes : list
        Those that were reached, each once.
    modules : list of (module, names)
        Modules of the user's, and the names that were looked up there.
    """

    def __init__(self) -> None:
        self.functions: list[FunctionType] = []
        self.classes: list[type] = []
        self.modules: list[tuple[ModuleType, tuple[str, ...]]] = []

    def reached(self, f: Any) -> Iterator[tuple[FunctionType, _Facts]]:
        """The function and those that it names, each once: also of modules, and all of a class's."""
        waiting, seen = [f], set[int]()
        while waiting:
            f = waiting.pop()
            if f.__class__ is not FunctionType:
                waiting += self._functions_of(f)
            elif id(f) not in seen:
                seen.add(id(f))
                self.functions.append(f)
                facts = _facts_of(f.__code__)
                if facts.origin == _LIBRARY:
                    continue
                if facts.origin == _USER:
                    yield f, facts
                    waiting += self._named(facts.names, f.__globals__)
                waiting += held(f.__closure__)

    def _functions_of(self, f: Any) -> Iterator[Any]:
        """Where the functions are that an object runs when it is called, if these are the user's."""
        kind = f.__class__
        if kind is MethodType:
            yield from self._members(f.__self__.__class__)
            yield f.__func__
        elif kind in _WRAPPERS:
            yield _WRAPPERS[kind](f)
        else:
            yield from self._members(f if isinstance(f, type) else kind)

    def _members(self, kind: type) -> Iterator[Any]:
        """The functions of a class of the user's, and of those that it is derived from."""
        if kind in self.classes or not is_users_class(kind):
            return
        self.classes.append(kind)
        for member in list(vars(kind).values()):
            if member.__class__ in _MEMBERS:
                yield member
        for base in kind.__bases__:
            yield from self._members(base)

    def _named(self, names: tuple[str, ...], namespace: dict[str, Any]) -> Iterator[Any]:
        """What may hold functions among what names stand for; of a module of the user's its members."""
        value: Any
        for value in map(namespace.get, names):
            kind = value.__class__
            if kind is ModuleType and not _is_installed(getattr(value, "__file__", None)):
                self.modules.append((value, names))
                yield from (x for x in map(vars(value).get, names) if x.__class__ is not ModuleType)
            elif kind is not ModuleType and kind not in _LEAVES:
                yield value


@functools.lru_cache(maxsize=4096)
def _is_installed(file: str | None) -> bool:
    """Is it the file of a module that is not the user's, or that has none?"""
    return file is None or file.startswith((*LIBRARIES, PACKAGE))


# ---- answers that are kept ------------------------------------------------------------------------------

#: What is known by its identity, of all that names may stand for; also classes of classes, as they are met.
_by_identity: set[type] = {FunctionType, CodeType, ModuleType, MethodType, functools.partial, type}
#: Objects that hold a function.
_WRAPPERS: dict[type, Callable[[Any], Any]] = {
    functools.partial: lambda f: f.func,
    staticmethod: lambda f: f.__func__,
    classmethod: lambda f: f.__func__,
    property: lambda f: f.fget,
}
#: How often an answer is kept for the same code, whose names may stand for something else at each call.
_PATIENCE = 16
_answers: dict[Any, _Answer] = {}
_times_kept: dict[Any, int] = {}

_Look = Callable[[Any, Any], Iterable[Any]]


class _Place(NamedTuple):
    """Where an answer comes from, and what was there.

    Attributes
    ----------
    owner : weakref.ref or None
        A function, module or class; None for the function that was asked about.
    look : callable
        ``look(owner, names)`` is what is there now.
    names : tuple of str
    found : list of int
        The identities of what was there, or of their classes.
    """

    owner: weakref.ref[Any] | None
    look: _Look
    names: tuple[str, ...]
    found: list[int]


class _Answer(NamedTuple):
    """Whether a function fills arrays, what this depends on, and what is to live as long."""

    fills: bool
    places: list[_Place]
    alive: list[weakref.ref[Any]]

    def holds(self, f: FunctionType) -> bool:
        """Is it the answer still, for a function of this code?"""
        for owner, look, names, found in self.places:
            values = look(f if owner is None else owner(), names)
            if [id(x) if x.__class__ in _by_identity else id(x.__class__) for x in values] != found:
                return False
        return True


def _in_globals(f: FunctionType, names: tuple[str, ...]) -> Iterable[Any]:
    return map(f.__globals__.get, names)


def _in_module(module: ModuleType, names: tuple[str, ...]) -> Iterable[Any]:
    return map(vars(module).get, names)


def _in_cells(f: FunctionType, _: Any) -> Iterable[Any]:
    return held(f.__closure__)


def _in_function(f: FunctionType, _: Any) -> Iterable[Any]:
    return (f.__code__, *held(f.__closure__))


def _in_class(kind: type, _: Any) -> Iterable[Any]:
    members = [_WRAPPERS[c](x) if (c := x.__class__) in _WRAPPERS else x for x in vars(kind).values()]
    return (*kind.__bases__, *members)


def _key_of(f: Any) -> tuple[Any, FunctionType] | None:
    """What stands for the answer to `f`, and the function that it is about; None where none is kept."""
    if f.__class__ is FunctionType:
        return (id(f.__code__), id(f.__globals__)), f
    if f.__class__ is MethodType and f.__func__.__class__ is FunctionType:
        inner = f.__func__
        return (id(inner.__code__), id(inner.__globals__), id(f.__self__.__class__)), inner
    return None


def _keep(key: Any, f: FunctionType, fills: bool, walk: _Walk) -> None:
    times = _times_kept[key] = _times_kept.get(key, 0) + 1
    if times > _PATIENCE:
        return
    if len(_times_kept) > 4096:
        _times_kept.clear()
        _answers.clear()
    forget = functools.partial(_answers.pop, key)  # called with the reference: what to return for none
    alive: list[Any] = [f.__code__]
    places = []
    for where in _places(f, walk):
        place = _place(forget, f, alive, *where)
        if place is None:
            return
        places.append(place)
    _answers[key] = _Answer(fills, places, [weakref.ref(x, forget) for x in alive])


def _places(f: FunctionType, walk: _Walk) -> Iterator[tuple[Any, _Look, tuple[str, ...]]]:
    """All that a walk from this function looked at."""
    spaces: dict[int, tuple[Any, dict[str, None]]] = {id(f.__globals__): (None, {})}
    for g in walk.functions:
        _, names = spaces.setdefault(id(g.__globals__), (g, {}))
        if (facts := _facts_of(g.__code__)).origin == _USER:
            names.update(dict.fromkeys(facts.names))
        if g is not f:
            yield g, _in_function, ()
    if f.__closure__:
        yield None, _in_cells, ()
    for owner, names in spaces.values():
        if names:
            yield owner, _in_globals, tuple(names)
    for module, looked in walk.modules:
        yield module, _in_module, looked
    for kind in walk.classes:
        yield kind, _in_class, ()


def _place(
    forget: Callable[[Any], Any], f: FunctionType, alive: list[Any], owner: Any, look: _Look, names: Any
) -> _Place | None:
    found = []
    for x in look(f if owner is None else owner, names):
        if isinstance(x, type):
            _by_identity.add(x.__class__)
        elif x.__class__ in (staticmethod, classmethod, property):
            return None  # the function in it counts
        known = x if x.__class__ in _by_identity else x.__class__
        found.append(id(known))
        if known not in _LEAVES:
            alive.append(known)
    return _Place(None if owner is None else weakref.ref(owner, forget), look, names, found)
