"""Module: an object whose Variables are found wherever its attributes hold them.

Attributes, and lists, tuples and dicts in them, are searched for Variables and for other Modules. A Module also
hands values of a checkpoint to Variables that are made after it was restored. Knows no layer and no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...core.errors import ShapeError, at, user_location
from ...core.tracing.dispatch import interpreting
from ..nodes import never
from ..structure import flatten, kind_of
from .variable import Variable


class Module:
    """Base of objects that hold Variables: layers, networks, parts of them.

    Parameters
    ----------
    name : str, optional
        By default the class's name in snake case.

    Examples
    --------
    >>> import tracejit as tf
    >>> class Line(tf.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope, self.intercept = tf.Variable(2.0), tf.Variable(1.0)
    ...     def __call__(self, x):
    ...         return self.slope * x + self.intercept
    >>> line = Line()
    >>> line(3.0).numpy(), len(line.trainable_variables), line.name
    (np.float32(7.0), 2, 'line')
    """

    #: Are its Variables weights of the layer that holds it?
    holds_weights = True
    #: Attributes that are not searched for Variables.
    _unsearched: frozenset[str] = frozenset({"_deferred"})

    def __init__(self, name: str | None = None):
        if name is not None and not re.fullmatch(r"[A-Za-z_][\w.\-/]*", name):
            raise ValueError(f"{name!r} is no name for a Module: use letters, digits and underscores")
        self._name = name or self.snake_case(type(self).__name__)

    @property
    def name(self) -> str:
        """The name it was given, or its class's in snake case."""
        return self.__dict__.get("_name") or self.snake_case(type(self).__name__)

    @staticmethod
    def snake_case(name: str) -> str:
        """How the name of a class becomes that of its objects: ``LayerNormalization`` is ``layer_normalization``."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()

    @property
    def variables(self) -> Sequence[Variable]:
        """Every Variable, each once: its own by sorted attribute names, then those of the Modules in it."""
        return tuple(_distinct(self._walk(set())))

    @property
    def trainable_variables(self) -> Sequence[Variable]:
        """Those of :attr:`variables` that are trainable, and not in a part whose ``trainable`` is False."""
        return tuple([v for v in _distinct(self._walk(set(), frozen=False)) if v.trainable])

    @property
    def non_trainable_variables(self) -> Sequence[Variable]:
        """The others."""
        trainable = {id(v) for v in self.trainable_variables}
        return tuple([v for v in self.variables if id(v) not in trainable])

    @property
    def submodules(self) -> tuple[Module, ...]:
        """The Modules in it, and those in them, without itself; each once."""
        seen = {id(self)}
        queue, modules = list(self._parts()), []
        while queue:
            part = queue.pop(0)
            if id(part) not in seen:
                seen.add(id(part))
                modules.append(part)
                queue.extend(part._parts())
        return tuple(modules)

    @property
    def name_scope(self) -> NameScope:
        """The Module's name as a ``with`` block, for programs that name what they make: ``with self.name_scope:``."""
        return NameScope(self.name)

    @classmethod
    def with_name_scope(cls, method: Any) -> Any:
        """The `method` itself: for programs that name what it makes."""
        return method

    # ---- searching --------------------------------------------------------------------------------------

    def _attributes(self) -> list[tuple[str, Any]]:
        """What is searched, in order."""
        return sorted((k, v) for k, v in vars(self).items() if k not in self._unsearched)

    def _leaves(self) -> Iterator[Any]:
        for _, value in self._attributes():
            if value.__class__ in _PLAIN:
                continue
            if isinstance(value, (Variable, Module)):
                yield value
            elif kind_of(value) is not None:
                yield from (leaf for leaf in flatten(value)[0] if isinstance(leaf, (Variable, Module)))

    def _parts(self) -> Iterator[Module]:
        return (leaf for leaf in self._leaves() if isinstance(leaf, Module))

    def _walk(self, seen: set[int], frozen: bool = True) -> Iterator[Variable]:
        """Its own Variables, then those of its parts, each walked once; perhaps without what is frozen."""
        seen.add(id(self))
        if not frozen and getattr(self, "trainable", True) is False:
            return
        leaves = list(self._leaves())
        yield from (leaf for leaf in leaves if isinstance(leaf, Variable))
        for leaf in leaves:
            if isinstance(leaf, Module) and id(leaf) not in seen:
                yield from leaf._walk(seen, frozen)

    # ---- values that wait for their Variable -----------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        waiting = self.__dict__.get("_deferred")
        if not waiting:
            object.__setattr__(self, name, value)
            return
        step = as_step(name)
        if value.__class__ in (list, dict) and any(path.startswith(step + "/") for path in waiting):
            value = (GrowingList if value.__class__ is list else GrowingDict)(value)
            value.owner, value.path = self, step
        object.__setattr__(self, name, value)
        self._receive(step, value)

    def _receive(self, step: str, value: Any) -> None:
        """Give the values that wait for what is below `step`, if any, to the Variables in `value`."""
        waiting = self.__dict__.get("_deferred")
        if waiting:
            hand_over(waiting, step, value)

    def defer(self, values: dict[str, np.ndarray]) -> None:
        """Give each of `values` to the Variable of its path (``kernel``, ``layers/0/bias``) as soon as there is one.

        Those of Variables that exist are given at once and leave `values`; an empty dict forgets the others. ShapeError
        where a Variable has another shape or dtype.
        """
        for name, part in children(self):
            hand_over(values, name, part)
        object.__setattr__(self, "_deferred", values)

    @staticmethod
    def parts_of(value: Any) -> list[tuple[str, Any]]:
        """The named parts of what may hold Variables: attributes, keys, positions, in order; none for anything else.

        Every name is a step of a path in a checkpoint.
        """
        return children(value)


#: Classes of what holds no Variables, as most attributes are.
_PLAIN = frozenset({str, int, float, bool, type(None)})


class _Growing:
    """A list or dict of a Module in which Variables are still to be put: they find the values that wait for them."""

    owner: Module
    path: str

    def _arrived(self, step: Any, value: Any) -> None:
        self.owner._receive(f"{self.path}/{step}", value)


class GrowingList(list[Any], _Growing):
    """A list to which values of a checkpoint are handed over."""

    def append(self, value: Any) -> None:
        super().append(value)
        self._arrived(len(self) - 1, value)


class GrowingDict(dict[Any, Any], _Growing):
    """A dict to which values of a checkpoint are handed over."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self._arrived(as_step(key), value)


def as_step(key: Any) -> str:
    """A key of a dict, or the name of an attribute, as a step of a path."""
    return str(key).replace("%", "%25").replace("/", "%2F")


def _distinct(variables: Iterator[Variable]) -> list[Variable]:
    return list({id(v): v for v in variables}.values())


def children(value: Any) -> list[tuple[str, Any]]:
    """What :meth:`Module.parts_of` gives."""
    own = getattr(value, "_checkpointed", None)
    if own is not None:
        return list(own().items())
    if isinstance(value, Module):
        return [(as_step(name), child) for name, child in value._attributes()]
    kind = kind_of(value)
    if kind is None or value is None:
        return []
    if issubclass(kind, dict):
        return [(as_step(k), v) for k, v in value.items()]
    return [(str(i), v) for i, v in enumerate(value)]


def hand_over(waiting: dict[str, np.ndarray], path: str, value: Any) -> None:
    """Give the values that wait under `path` to the Variables in `value`; a Module keeps what waits for its own."""
    if isinstance(value, Variable):
        if path in waiting:
            put(value, waiting.pop(path), path)
        return
    prefix = path + "/"
    inner = {k.removeprefix(prefix): waiting.pop(k) for k in list(waiting) if k.startswith(prefix)}
    if not inner:
        return
    if isinstance(value, Module):
        value.defer(inner)
        return
    for name, child in children(value):
        hand_over(inner, name, child)
    waiting.update({prefix + k: v for k, v in inner.items()})


def put(variable: Variable, array: np.ndarray, path: str) -> None:
    """Set a Variable's value at once, also while a trace is being made, whose input it then is."""
    if variable.spec.shape != array.shape or variable.spec.dtype != array.dtype:
        raise ShapeError(
            f"the checkpoint holds {array.dtype.name}{list(array.shape)} for {path!r}, the Variable made now is "
            f"{variable.spec}{at(user_location())}"
        )
    with interpreting(None):
        variable.assign(array)


never(Module)


class NameScope(str):
    """A name that is a ``with`` block without effect; calling it gives it again, as older programs do."""

    __slots__ = ()

    def __enter__(self) -> NameScope:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __call__(self) -> NameScope:
        return self
