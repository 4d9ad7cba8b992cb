"""Modules, and public modules' names, that load when they are first asked for.

The stub of a public module says which names it has and where each is from, one import to a line. Type checkers,
editors and the module itself read it, so that nothing stands twice. A module that loads its names at once lists no
imports of its own: what it shows is read off its text.
"""

from __future__ import annotations

import gc
import importlib
import os
import re
import sys
import time
from _thread import get_ident
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from . import seams
from .errors import PACKAGE

if TYPE_CHECKING:
    from functools import cached_property

#: When the package was loaded, in nanoseconds.
LOADED_AT = time.time_ns()
#: A line that defines a public function or class, or assigns to one or several public names, of a stated type or not.
_DEFINITION = re.compile(
    r"^(?:(?:def|class) ([a-zA-Z]\w*)|([a-zA-Z]\w*(?:(?:, | = )[a-zA-Z]\w*)*)(?:: [^=\n]+)? = )", re.M
)
#: A line of a stub that imports a name under its own or another name, or gives a name further ones.
_LINE = re.compile(r"^(?:from (\S+) import (?:\(\s+)?(\w+) as (\w+)(?:,\s+\))?|((?:\w+ = )+)(\w+))$", re.M)

#: Seconds that a fork waits, at the most.
LONGEST = 10.0

#: Threads in blocks that other threads' forks wait for, once for each block: nobody would open in the child what is
#: locked there. That is so of Python's locks of modules that load, and of those inside of LLVM. No interrupt comes
#: between ``[_] = map(unforked.append, (get_ident(),))`` and the ``try`` whose ``finally`` removes the thread again.
unforked: list[int] = []


#: Threads that fork. Others do not enter such blocks meanwhile, or there might always be one in them.
_forking: list[int] = []


def let_fork() -> None:
    """Wait while another thread forks, unless this one is in such a block already: to be called in front of one."""
    end = time.monotonic() + LONGEST if _forking else 0.0
    while {*_forking} - {get_ident()} and get_ident() not in unforked and time.monotonic() < end:
        time.sleep(1e-3)


def _wait_before_fork() -> None:
    own, end = get_ident(), time.monotonic() + LONGEST
    _forking.append(own)
    while {*unforked} - {own} and time.monotonic() < end:
        time.sleep(1e-3)


def _after_fork() -> None:
    own = get_ident()
    _forking[:] = [thread for thread in _forking if thread != own]


def _forget_others() -> None:
    own = get_ident()
    _forking.clear()
    unforked[:] = [thread for thread in unforked if thread == own]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_before_fork, after_in_parent=_after_fork, after_in_child=_forget_others)


def loaded(name: str) -> ModuleType:
    """A module by its full name, loaded now if it was not."""
    if name in sys.modules:
        return importlib.import_module(name)
    let_fork()
    thread = get_ident()
    [_] = map(unforked.append, (thread,))
    try:
        return importlib.import_module(name)
    finally:
        unforked.remove(thread)


def lazily(
    module: str, extra: str | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a module: the names that its stub imports, and aliases of these.

    Parameters
    ----------
    module : str
        The module's ``__name__``.
    extra : str, optional
        The extra of the package with which comes what the names need: told where that is not installed.
    """
    face = sys.modules[module]
    places = table(f"{(face.__file__ or '').removesuffix('.py')}.pyi")
    names = sorted(name for name in places if not name.startswith("_"))

    def get(name: str) -> Any:
        if name not in places:
            raise seams.unknown_name(module, name, names)
        home, imported = places[name]
        try:
            value = as_face(loaded(f"{home}.{name}")) if home == module else getattr(loaded(home), imported)
        except ModuleNotFoundError as error:
            package = module.partition(".")[0]
            missing = (error.name or package).partition(".")[0]
            if extra is None or missing == package:
                raise
            text = f"{module} needs the package {missing}: pip install '{package}[{extra}]'"
            raise ModuleNotFoundError(text, name=missing) from None
        vars(face)[name] = value
        return value

    def names_shown() -> list[str]:
        shown = {name for name, x in vars(face).items() if not isinstance(x, ModuleType)}
        return sorted({*names, *shown})

    return get, names_shown, names


def unknown_in(module: str) -> Callable[[str], Any]:
    """``__getattr__`` of a module that is loaded as a whole: says what may be meant by a name that it does not have.

    Parameters
    ----------
    module : str
        The module's ``__name__``.
    """

    def get(name: str) -> Any:
        raise seams.unknown_name(module, name, dir(sys.modules[module]))

    return get


def as_face(module: ModuleType) -> ModuleType:
    """A module that users name: it says what may be meant by a name that it does not have, and lists no imports.

    Parameters
    ----------
    module : module
        It is changed, unless it says itself what it has.
    """

    def names_shown() -> list[str]:
        public = vars(module).get("__all__") or defined(module.__name__)
        return sorted({*public, *(name for name in vars(module) if name.startswith("_"))})

    own = vars(module)
    if "__getattr__" not in own:
        own["__getattr__"] = unknown_in(module.__name__)
    if "__dir__" not in own:
        own["__dir__"] = names_shown
    return module


class _Once:
    """A property worked out when it is first asked for, which its object keeps; two threads may both work it out.

    That of functools has a lock before Python 3.12, one for all objects, which a child of a fork may find taken.
    """

    def __init__(self, function: Callable[[Any], Any]):
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.function(instance)
        return value


if TYPE_CHECKING:
    once = cached_property
else:
    once = _Once


class Namespace(SimpleNamespace):
    """Names in a namespace that is no module; says what may be meant by one that it does not have.

    Parameters
    ----------
    path : str
        Where users find it.
    **names

    Examples
    --------
    >>> from tracejit.core.lazy import Namespace
    >>> Namespace("tf.own", answer=42).answer
    42
    """

    def __init__(self, path: str, **names: Any):
        super().__init__(**names)
        self.__name__ = path

    def __getattr__(self, name: str) -> Any:
        raise seams.unknown_name(self.__dict__.get("__name__", "?"), name, vars(self))


class Later:
    """A module that loads when something of it is first asked for; type checkers are told what it is by an import.

    Parameters
    ----------
    name : str
        With a dot in front, in `package`.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str, package: str):
        self._name = _resolved(name, package)

    def __getattr__(self, name: str) -> Any:
        return getattr(loaded(self._name), name)


class WholeFirst:
    """A finder of modules that loads the whole of a package before any of its parts.

    Parts rely on each other in ways that no import shows: an op that another module declares, operators of tensors.
    Only some are of use alone, and a program that needs no more does not wait for the rest.

    Parameters
    ----------
    package : str
    alone : callable
        Is this part, named without the package, of use alone?
    load : callable
        Loads the whole; calls `retire` first.
    """

    def __init__(self, package: str, alone: Callable[[str], bool], load: Callable[[], None]):
        self._package = f"{package}."
        self._alone = alone
        self._load = load
        sys.meta_path.insert(0, self)

    def retire(self) -> None:
        """From now on parts load as in any package."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """How to load a module; None leaves it to the usual finders."""
        if not name.startswith(self._package) or self._alone(name.removeprefix(self._package)):
            return None
        self._load()
        if name not in sys.modules:
            return None
        loader: Any = _Loaded(sys.modules[name])
        return ModuleSpec(name, loader)


class _Loaded:
    """A loader of a module that came to be while a finder was asked for it.

    Import would run such a module once more, by the spec that it has; without one it takes what the finder gives.
    """

    def __init__(self, module: ModuleType):
        self.module = module
        self.spec = module.__spec__
        module.__spec__ = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec


@contextmanager
def without_collection() -> Iterator[None]:
    """No garbage collection: for what makes many objects that all live until it ends, where it would find nothing."""
    enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def long_lived() -> Iterator[None]:
    """The same; what is made meanwhile, modules, is old from the start."""
    with without_collection():
        try:
            yield
        finally:
            if not gc.get_freeze_count():  # together these move everything to the oldest generation
                gc.freeze()
                gc.unfreeze()


def _resolved(name: str, package: str) -> str:
    """What ``importlib.util.resolve_name`` gives, which takes long to load."""
    name, dots = name.lstrip("."), len(name) - len(name.lstrip("."))
    base = package.rsplit(".", dots - 1)[0] if dots > 1 else package
    return f"{base}.{name}" if dots and name else name or base


def table(stub: str) -> dict[str, tuple[str, str]]:
    """Names to the modules that have them and their names there, as a stub imports them."""
    places: dict[str, tuple[str, str]] = {}
    with open(stub, encoding="utf-8") as source:
        lines = _LINE.findall(source.read())
    for home, imported, name, aliases, meant in lines:
        if home:
            places[name] = home, imported
        elif meant in places:
            places |= dict.fromkeys(aliases.split(" = ")[:-1], places[meant])
    return places


def defined(module: str) -> list[str]:
    """The public names that a module defines; it is not imported for that."""
    path = os.path.join(PACKAGE, *module.split(".")[1:])
    file = os.path.join(path, "__init__.py") if os.path.isdir(path) else f"{path}.py"
    with open(file, encoding="utf-8") as source:
        definitions = _DEFINITION.findall(source.read())
    return [name for one, several in definitions for name in re.findall(r"\w+", one or several)]
