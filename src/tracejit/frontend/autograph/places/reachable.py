"""The Python objects that functions can reach: what they hold before a body is traced, and what changed since.

Converted code announces what it assigns, see `mutations`; this finds what nobody announced: what operators and
``__setitem__`` of the user's classes do, functions that a library calls back, names of other modules and functions.
"""

from __future__ import annotations

import functools
import gc
import weakref
from array import array
from collections import ChainMap, OrderedDict, UserDict, UserList, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextvars import ContextVar
from types import (
    BuiltinMethodType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, NamedTuple

import numpy as np

from ....core.errors import Untraceable, at, is_internal, user_location
from ....core.tensor import Tensor
from ....core.tensor_shape import TensorShape
from ....core.tracing.transaction import Attempt
from ...state.variable import Variable
from ...structure import flatten_values as flatten
from ..source.origins import is_users_class
from ..values.contents import KINDS, contents_of, put_contents, same_contents
from ..values.growing import Growing
from ..values.kinds import UNSET, is_undefined, traced
from ..values.stacked import Stacked
from ..values.weak import Weak
from .place import AttributePlace, ClosureCell, GlobalName, ItemPlace, ObjectPlace, Place

#: So many objects are looked at from one body: who reaches more than that reaches the whole program.
LIMIT = 2000

#: Bytes of NumPy's arrays that are looked at for changes in place; others are known when they are assigned to.
ARRAYS = 1 << 20

_LEAVES = frozenset(
    (int, float, complex, bool, str, bytes, type(None), type(...), range, slice, Tensor, TensorShape, Weak)
)
#: What holds items and is neither list nor dict, nor array; also classes built on lists and dicts.
_OTHERS = (set, bytearray, deque, array, list, OrderedDict, dict)
_HOLDERS = (SimpleNamespace, UserDict, UserList, ChainMap)
_ENGINE = ("core", "ops", "compiler", "runtime", "frontend", "errors")

#: What holds other objects, and the objects.
_HOLDING: dict[type, Callable[[Any], Iterable[Any]]] = {
    functools.partial: lambda x: (x.func, *x.args, *x.keywords.values()),
    weakref.ref: lambda x: (x(),),
    ContextVar: lambda x: (x.get(None),),
    frozenset: iter,
    **dict.fromkeys(
        (
            *(type({}.keys()), type({}.values()), type({}.items()), MappingProxyType, BuiltinMethodType),
            *(MethodWrapperType, classmethod, staticmethod, type(functools.lru_cache(lambda: None))),
        ),
        gc.get_referents,
    ),
}

#: How to name what holds something; None where a value has no place of its own.
Where = Callable[[], Place] | None


class Change(NamedTuple):
    """A place where numbers are that were not there before; `grows` when it is a list with more items."""

    place: Place
    grows: bool


class Reachable:
    """What some functions can reach: by their closures, the names of their modules and attributes of objects.

    Parameters
    ----------
    functions : iterable of functions or None
    more : sequence
        Other values to look into.
    """

    def __init__(self, functions: Iterable[FunctionType | None], more: Sequence[Any] = ()):
        bodies = [f for f in functions if f is not None]
        self.slots: list[tuple[Place, Any]] = []
        self.objects: list[tuple[Any, dict[str, Any]]] = []
        self.containers: list[tuple[Where, Any, Any]] = []
        self.others: list[tuple[Any, Any]] = []
        self.iterators: bool = False  # are there any?
        self._bytes = 0
        self._seen: dict[Any, Any] = {}  # by identity, and kept alive so that it is nobody else's
        waiting = [*((x, None) for x in more), *(pair for f in bodies for pair in self._of_function(f))]
        while waiting and len(self._seen) < LIMIT:
            waiting += self._looked_into(*waiting.pop())

    def knows(self, x: Any) -> bool:
        """Was it there when this was made?"""
        return id(x) in self._seen

    def _is_new(self, key: Any, x: Any) -> bool:
        new = key not in self._seen
        self._seen[key] = x
        return new

    def _looked_into(self, x: Any, where: Where) -> Iterator[tuple[Any, Where]]:
        """Note what `x` holds; yields what it leads to."""
        kind = x.__class__
        if kind in _LEAVES or not self._is_new(id(x), x):
            return
        if isinstance(x, tuple):
            yield from ((item, where) for item in x)
        elif kind in KINDS:
            self.containers.append((where, x, contents_of(x)))
            if kind is list or kind is dict:
                yield from ((item, where) for item in (list(x.values()) if kind is dict else list(x)))
        elif kind is FunctionType:
            if not is_internal(x.__code__):
                yield from self._of_function(x)
            else:  # made of the user's, perhaps
                yield from ((ClosureCell("", c).get(), None) for c in x.__closure__ or ())
        elif kind is MethodType:
            yield from ((part, None) for part in (x.__self__, x.__func__))
        elif kind in _HOLDING:
            yield from ((part, None) for part in _HOLDING[kind](x))
        elif kind is np.ndarray:
            self._bytes += x.nbytes
            if self._bytes < ARRAYS and x.dtype.kind != "O":
                self.others.append((x, x.copy()))
        elif not isinstance(x, (ModuleType, Variable)):
            self.iterators = self.iterators or isinstance(x, Iterator)
            if isinstance(x, _OTHERS) and not _is_built_on(kind):
                self.others.append((x, _items(x)))
                yield from _inner_items(x)
            yield from self._of_class(x) if isinstance(x, type) else self._of_object(x)

    def _of_function(self, f: FunctionType) -> Iterator[tuple[Any, Where]]:
        cells = zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)
        places: list[Place] = [
            ClosureCell(name, cell) for name, cell in cells if self._is_new(id(cell), cell)
        ]
        names = f.__globals__
        for name in _names_in(f.__code__):
            if name in names and self._is_new((id(names), name), names):
                places.append(GlobalName(name, names))
        for place in places:
            value = place.get()
            self.slots.append((place, value))
            yield value, functools.partial(_itself, place)
        yield from ((x, None) for x in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()))
        yield from ((x, functools.partial(_attribute, f, name)) for name, x in f.__dict__.items())

    def _of_class(self, kind: type) -> Iterator[tuple[Any, Where]]:
        """Its methods, and the lists and dicts that all of its objects share."""
        for base in kind.__mro__:
            if not _may_hold_numbers(base) or (not self._is_new(id(base), base) and base is not kind):
                continue
            for name, part in list(vars(base).items()):
                if part.__class__ is FunctionType:
                    yield part, None
                elif part.__class__ is property:
                    yield from ((f, None) for f in (part.fget, part.fset) if f is not None)
                elif part.__class__ in KINDS and not name.startswith("__"):
                    yield part, functools.partial(_attribute, base, name)

    def _of_object(self, x: Any) -> Iterator[tuple[Any, Where]]:
        kind = type(x)
        if not _may_hold_numbers(kind):
            inner = getattr(x, "__dict__", {}).get("python_function")  # of a compiled function
            if inner is not None:
                yield inner, None
            return
        yield kind, None
        held = _attributes(x)
        self.objects.append((x, held))
        for name, value in held.items():
            yield value, functools.partial(_attribute, x, name)

    # ---- afterwards -------------------------------------------------------------------------------------

    def changes(self, forgotten: Collection[Any] = ()) -> Iterator[Change]:
        """Where numbers have come to; variables with the keys `forgotten` are not handed on, what they stood for is."""
        for place, value in self.slots:
            now = place.get()
            if now is not value and _has_number(now):
                yield Change(place, False)
        for x, held in self.objects:
            counts = _has_traced if _is_ours(x) else _has_number
            for name, now in _attributes(x).items():
                if now is not held.get(name, UNSET) and counts(now):
                    yield Change(_attribute(x, name), False)
        for where, container, before in self.containers:
            now = contents_of(container)
            if not same_contents(now, before):
                if any(_counts(container, *pair) for pair in _other_items(now, before)):
                    grows = container.__class__ in (list, Growing, Stacked) and len(now) > len(before)
                    yield Change(_place_of(container, where, forgotten), grows)

    def foreign(self, handed_on: Collection[int] = ()) -> Any:
        """A set, array or the like, neither list nor dict, that was changed; None where none was.

        Of classes built on lists and dicts numbers alone count: what else is put there is for a log.
        """
        return next((x for x, was in self.others if id(x) not in handed_on and _is_foreign(x, was)), None)

    def restore(self) -> None:
        """Let everything hold what it held."""
        for place, value in self.slots:
            if place.get() is not value:
                place.set(value)
        for x, held in self.objects:
            _restore_attributes(x, held)
        for _, container, before in self.containers:
            if not same_contents(contents_of(container), before):
                put_contents(container, before)
        for x, before in self.others:
            if not _same_items(x, before):
                _put_items(x, before)

    def attempt(self) -> Attempt:
        """An attempt that starts from here."""
        made = Attempt()
        made.undo[self] = self.restore
        return made

    def refuse_changes(self, what: str) -> None:
        """Raise where numbers were put somewhere by what may not run, or run several times."""
        for place, _ in self.changes():
            if any(not _is_over(x) for x in leaves(place.get())):
                raise Untraceable(
                    f"{what} changes {place.name!r}, and how often it runs is known only when the compiled function "
                    f"does: return the new value, or write `if`, `for` or `while`{at(user_location())}"
                )


def attempt_with(*functions: Any) -> Attempt:
    """An attempt at tracing these functions, which also takes back what they do to the objects they can reach."""
    return Reachable((), functions).attempt()


def _is_over(x: Any) -> bool:
    """Is it a tensor of a trace that is over, which says so when it is used?"""
    return x.__class__ is Tensor and x.is_symbolic and x.value.graph.finished


def _names_in(code: CodeType) -> Iterator[str]:
    """The names that code and the functions inside of it use, those of its module among them."""
    yield from code.co_names
    for constant in code.co_consts:
        if constant.__class__ is CodeType:
            yield from _names_in(constant)


def _place_of(container: Any, where: Where, forgotten: Collection[Any]) -> Place:
    place = None if where is None else where()
    if place is not None and place.key not in forgotten:
        return place
    return ObjectPlace(container.__class__.__name__ if place is None else place.name, container)


def _itself(place: Place) -> Place:
    return place


def _attribute(owner: Any, name: str) -> Place:
    kind = owner if isinstance(owner, type) else type(owner)
    return AttributePlace(f"{kind.__name__}.{name}", lambda: owner, name)


def _may_hold_numbers(kind: type) -> bool:
    """Is it a class whose objects may hold what a program computes?"""
    return kind in _HOLDERS or _is_built_on(kind) or is_users_class(kind)


def _is_ours(x: Any) -> bool:
    """Does a class of this package look after it, which notes Python numbers of its own there?"""
    return any(map(_is_built_on, type(x).__mro__))


def _is_built_on(kind: type) -> bool:
    """Is it a class of this package that users build on and give attributes, such as Module and Layer?"""
    package, _, rest = kind.__module__.partition(".")
    return package == "tracejit" and (not rest.startswith(_ENGINE) or rest == "frontend.state.module")


def _slots(kind: type) -> Iterator[str]:
    for base in kind.__mro__:
        names = base.__dict__.get("__slots__", ())
        yield from (names,) if isinstance(names, str) else names


def _attributes(x: Any) -> dict[str, Any]:
    held = {n: getattr(x, n, UNSET) for n in _slots(type(x)) if n not in ("__dict__", "__weakref__")}
    return {n: v for n, v in held.items() if v is not UNSET} | getattr(x, "__dict__", {})


def _restore_attributes(x: Any, held: dict[str, Any]) -> None:
    """Past the class's own ``__setattr__`` and properties."""
    now, own = _attributes(x), getattr(x, "__dict__", {})
    for name in [n for n in now if n not in held]:
        if name in own:
            del own[name]
        else:
            object.__delattr__(x, name)
    for name, value in held.items():
        if now.get(name, UNSET) is value:
            continue
        if name in _slots(type(x)):
            object.__setattr__(x, name, value)
        else:
            own[name] = value


def _items(x: Any) -> Any:
    """What it holds, past the methods that its class has of its own."""
    kind: Any = _kind_of(x)
    if isinstance(x, dict):
        return dict(kind.items(x))
    return x[:] if kind is array else kind.copy(x)


def _inner_items(x: Any) -> Iterator[tuple[Any, Where]]:
    """What is in a list, dict or deque, and the places of it."""
    if isinstance(x, list | dict | deque):
        kind = _kind_of(x)
        for item, value in dict.items(x) if isinstance(x, dict) else enumerate(kind.__iter__(x)):
            yield value, functools.partial(_itself, ItemPlace(kind, x, item))
    elif isinstance(x, set):
        yield from ((value, None) for value in set.__iter__(x))


def _kind_of(x: Any) -> Any:
    return next(k for k in _OTHERS if isinstance(x, k))


def _put_items(x: Any, items: Any) -> None:
    if x.__class__ is np.ndarray:
        np.copyto(x, items)
    elif isinstance(x, list | bytearray | array):
        x[:] = items
    else:
        kind = _kind_of(x)
        kind.clear(x)
        (kind.extend if kind is deque else kind.update)(x, items)


def _same_items(a: Any, b: Any) -> bool:
    if a.__class__ is np.ndarray:
        return a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, array):
        return a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return same_contents(_items(a), b)
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def _is_foreign(x: Any, before: Any) -> bool:
    if _same_items(x, before):
        return False
    if not isinstance(x, list | dict):
        return True
    return len(x) < len(before) or any(_has_number(now) for now, _ in _other_items(_items(x), before))


def _other_items(now: Any, before: Any) -> Iterator[tuple[Any, Any]]:
    """The items that are not what they were, with what they were."""
    pairs = now.items() if now.__class__ is dict else enumerate(now)
    known = before if before.__class__ is dict else dict(enumerate(before))
    yield from ((x, known.get(k, UNSET)) for k, x in pairs if known.get(k, UNSET) is not x)


def _counts(container: Any, now: Any, before: Any) -> bool:
    """Is an item something to hand on? What Python alone appends, as to a log, happens once, while tracing."""
    appended = before is UNSET and container.__class__ is not dict
    return _has_traced(now) if appended else _has_number(now)


def leaves(x: Any) -> list[Any]:
    """The values in what a place holds."""
    if x.__class__ in (Growing, Stacked):
        return list(contents_of(x))
    return [] if is_undefined(x) else flatten(x)[0]


def _has_traced(x: Any) -> bool:
    return any(map(traced, leaves(x)))


def _has_number(x: Any) -> bool:
    """Is there a number that counts: a traced one, or Python's, but for flags?"""
    return any(leaf.__class__ in (int, float) or traced(leaf) for leaf in leaves(x))
