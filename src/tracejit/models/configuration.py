"""What layers, losses, optimizers and the like are made from, as plain data: numbers, texts, lists and dicts.

An object is described by its class's name and the arguments that make one like it, and made again from these. Names
are looked up among the classes of the library and those that the program has registered: nothing is imported, and no
code stands in a description. Knows no file.
"""

from __future__ import annotations

import base64
import functools
import inspect
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

import numpy as np

import tracejit as tf

from ..errors import at_user_line
from .policies import DTypePolicy
from .registration import custom_object_scope, get_registered_name, get_registered_object

_LIBRARY = __name__.partition(".")[0]
_ARRAY, _AGAIN, _FUNCTION = "__array__", "__again__", "function"

#: What is described or made within one description: objects that stand in it twice are one object.
_known: ContextVar[dict[Any, Any] | None] = ContextVar("tracejit_objects_of_a_description", default=None)
_most_of_a_weight: ContextVar[int | None] = ContextVar("tracejit_most_of_a_weight", default=None)


class NotDescribed(tf.TracejitError, ValueError):
    """Something that cannot be written down as data, or a description that nothing can be made from.

    Examples
    --------
    >>> import tracejit as tf
    >>> from tracejit.models import NotDescribed
    >>> try:
    ...     tf.layers.Dense(2, activation=lambda x: x).get_config()
    ... except NotDescribed as error:
    ...     print(type(error).__name__)
    NotDescribed
    """


class Configurable:
    """What can be described by the arguments that made it; they are remembered.

    A subclass with arguments that are not data defines ``get_config``, which returns a dict, and perhaps the class
    method ``from_config``, which takes it.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.initializers.HeNormal(seed=1).get_config()
    {'seed': 1}
    """

    #: Parameters of base classes that the class gives itself.
    _fixed: frozenset[str] = frozenset()
    #: Do attributes with the names of arguments, which may have changed since, say what an argument is?
    _changeable = False
    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Remember the arguments."""
        made = super().__new__(cls)
        object.__setattr__(made, "_made_with", (args, kwargs))
        return made

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an object like this one, as plain data; :meth:`from_config` takes them.

        Raises
        ------
        NotDescribed
            Where an argument is none that data can stand for, such as a Python function.
        """
        with one_description():
            return {name: described(value, f"{name} of {self!r}") for name, value in _arguments(self).items()}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """A new object by the arguments in `config`."""
        with one_description():
            return cls(**{name: revived(value) for name, value in config.items()})

    def __getstate__(self) -> dict[str, Any]:
        """All but arguments that might keep it from being copied."""
        state = dict(vars(self))
        if "_made_with" in state and not _plain(state["_made_with"]):
            state["_made_with"] = None
        return state


# ---- arguments ------------------------------------------------------------------------------------------


def _arguments(thing: Any) -> dict[str, Any]:
    cls: Any = type(thing)
    given = {} if _overridden(cls) and not made_by_library(cls) else _given(thing)
    if _overridden(cls):  # which adds to what a class of the library says
        cls = next(c for c in cls.__mro__ if _of_library(c))
    elif not (cls._changeable and made_by_library(cls)):
        return given
    held = {name: getattr(thing, name) for name in _parameters(cls) if hasattr(thing, name)}
    return {**given, **{name: value for name, value in held.items() if value is not None or name in given}}


def _overridden(cls: Any) -> bool:
    """Is its ``get_config`` a program's?"""
    return not _of_library(next(c for c in cls.__mro__ if "get_config" in vars(c)))


def _of_library(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == _LIBRARY


def made_by_library(cls: type) -> bool:
    """Is the class's ``__init__`` one of the library's?"""
    return _of_library(next(c for c in cls.__mro__ if "__init__" in vars(c)))


def _parameters(cls: Any) -> list[str]:
    """The names of the arguments that objects of a class take, those of its bases included."""
    names = [
        p.name for c in _makers(cls) for p in _of_maker(c) if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    fixed = {name for c in cls.__mro__ for name in vars(c).get("_fixed", ())}
    return [name for name in dict.fromkeys(names) if name not in fixed]


def _positions(cls: Any) -> list[str]:
    """The names of arguments by position: after its own those of its base, where it passes them on."""
    names: list[str] = []
    for c in _makers(cls):
        parameters = _of_maker(c)
        names += [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if not _of_library(c) or not any(p.kind is p.VAR_POSITIONAL for p in parameters):
            break
    return list(dict.fromkeys(names))


def _makers(cls: Any) -> list[Any]:
    return [c for c in cls.__mro__[:-1] if "__init__" in vars(c)]


def _of_maker(cls: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(vars(cls)["__init__"]).parameters.values())[1:]


def _given(thing: Any) -> dict[str, Any]:
    """The arguments that it was made with, by their names."""
    cls = type(thing)
    positional, named = vars(thing).get("_made_with") or ((), None)
    names = _positions(cls)
    if named is None or len(positional) > len(names):
        raise NotDescribed(
            f"what {thing!r} was made with is not known: define get_config in {cls.__name__}{at_user_line()}"
        )
    return {**dict(zip(names, positional, strict=False)), **named}


def _plain(value: Any) -> bool:
    """Is it what can be copied and sent: data, objects like these, functions of modules?"""
    if isinstance(value, (list, tuple, dict)):
        return all(_plain(x) for x in (value.values() if isinstance(value, dict) else value))
    if inspect.isfunction(value):
        return getattr(sys.modules.get(value.__module__), value.__qualname__, None) is value
    kinds = (
        type(None),
        bool,
        int,
        float,
        str,
        np.generic,
        np.ndarray,
        np.dtype,
        tf.DType,
        DTypePolicy,
        tf.Tensor,
        Configurable,
    )
    return isinstance(value, kinds)


# ---- objects as data ------------------------------------------------------------------------------------


@contextmanager
def one_description() -> Iterator[None]:
    """A ``with`` block in which one description is made, or read; a part of the one around it."""
    token = None if _known.get() is not None else _known.set({})
    try:
        yield
    finally:
        if token is not None:
            _known.reset(token)


def serialize_keras_object(obj: Any) -> Any:
    """`obj` as plain data, of which :func:`deserialize_keras_object` makes one like it.

    Objects are dicts of a module, a class's name and a ``config``. NotDescribed for what data cannot stand for.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.keras.utils.serialize_keras_object(tf.keras.regularizers.L2(0.5))["config"]
    {'l2': 0.5}
    """
    with one_description():
        return described(obj, repr(obj))


def deserialize_keras_object(config: Any, custom_objects: Mapping[str, Any] | None = None) -> Any:
    """What the data `config` describes; classes that are not the library's are in `custom_objects`, or registered.

    NotDescribed where a class is not known, or cannot be made from what is there.

    Examples
    --------
    >>> import tracejit as tf
    >>> data = tf.keras.utils.serialize_keras_object(tf.layers.Dense(3, activation="relu"))
    >>> tf.keras.utils.deserialize_keras_object(data).units
    3
    """
    with custom_object_scope(custom_objects), one_description():
        return revived(config)


def described(value: Any, what: str) -> Any:
    """A value as plain data; `what` it is, an error says."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.bool_, np.number)) and value.dtype.kind in "biuf":
        return value.item()
    if isinstance(value, (list, tuple)):
        return (
            type(value)([described(x, what) for x in value]) if type(value) in (list, tuple) else list(value)
        )
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: described(x, what) for key, x in value.items()}
    if isinstance(value, (np.dtype, tf.DType, DTypePolicy)):
        return value.name
    if isinstance(value, (np.ndarray, tf.Tensor, tf.Variable)):
        return _array(np.asarray(value if isinstance(value, np.ndarray) else value.array))
    if isinstance(value, Configurable):
        return _object(value)
    if callable(value) and hasattr(value, "__name__"):
        return _function(value, what)
    raise NotDescribed(f"{what} is {value!r}, which data cannot stand for{at_user_line()}")


def _array(array: np.ndarray) -> dict[str, Any]:
    if array.dtype.kind not in "biufcV":
        raise NotDescribed(f"an array of {array.dtype} cannot be stored{at_user_line()}")
    kind = array.dtype.name if array.dtype.kind == "V" else array.dtype.str
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    config = {"dtype": kind.replace(">", "<"), "shape": list(array.shape), "data": data}
    return {"class_name": _ARRAY, "config": config}


def _names_of_functions() -> set[str]:
    """Those that mean a function of the library, and none of a program."""
    return {own for _, own in _functions()}


def _object(thing: Any) -> dict[str, Any]:
    known = _known.get()
    assert known is not None
    if id(thing) in known:
        return {"class_name": _AGAIN, "config": known[id(thing)][0]}
    number = len(known)
    known[id(thing)] = (number, thing)  # kept: its id stays its own
    module, name = _library().get(type(thing), (None, get_registered_name(type(thing))))
    config = thing.get_config()
    if not isinstance(config, dict):
        raise NotDescribed(f"get_config of {thing!r} returns {config!r}, not a dict{at_user_line()}")
    config = {key: described(value, f"{key} of {thing!r}") for key, value in config.items()}
    state = thing.state_besides(config) if hasattr(thing, "state_besides") else {}
    return {"module": module, "class_name": name, "config": config, "number": number, **state}


def _function(function: Any, what: str) -> dict[str, Any]:
    module, name = _functions_by_id().get(id(function), (None, get_registered_name(function)))
    if module is None and get_registered_object(name) is not function:
        if inspect.isfunction(function) and name.isidentifier() and name not in _names_of_functions():
            return {"module": function.__module__, "class_name": _FUNCTION, "config": name}  # as classes are
        code = getattr(function, "__code__", None)
        where = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
        raise NotDescribed(
            f"{what} is a Python function{where}, and data holds no code: register it by "
            "tracejit.keras.utils.register_keras_serializable(), under a name of its own, or write a class with "
            f"get_config in its place{at_user_line()}"
        )
    return {"module": module, "class_name": _FUNCTION, "config": name}


# ---- data as objects ------------------------------------------------------------------------------------


@contextmanager
def weights_up_to(size: int) -> Iterator[None]:
    """A ``with`` block in which no layer makes a weight of more elements: what is read says how large they were."""
    token = _most_of_a_weight.set(size)
    try:
        yield
    finally:
        _most_of_a_weight.reset(token)


def check_size(shape: Sequence[Any], what: str) -> None:
    """NotDescribed for a weight larger than any that was stored."""
    most = _most_of_a_weight.get()
    if most is not None and math.prod(int(s) for s in shape) > most:
        raise NotDescribed(
            f"{what} would have the shape {tuple(shape)}, larger than all that is stored{at_user_line()}"
        )


def revived(value: Any) -> Any:
    """What data describes."""
    if isinstance(value, (list, tuple)):
        return type(value)([revived(x) for x in value])
    if not isinstance(value, dict):
        return value
    if "class_name" not in value or "config" not in value:
        return {key: revived(x) for key, x in value.items()}
    name, config, known = value["class_name"], value["config"], _known.get()
    assert known is not None
    if name == _ARRAY:
        return np.frombuffer(base64.b64decode(config["data"]), tf.as_dtype(config["dtype"]).dtype).reshape(
            config["shape"]
        )
    if name == _AGAIN:
        return known[config]
    if name == _FUNCTION:
        return _found(value, config)
    cls = _found(value, name)
    try:
        made = cls.from_config(config)
    except NotDescribed:
        raise
    except Exception as error:
        raise NotDescribed(
            f"{cls.__name__} cannot be made from {sorted(config)}: {type(error).__name__}: {error}{at_user_line()}"
        ) from error
    if "number" in value:
        known[value["number"]] = made
    if hasattr(made, "take_state"):
        made.take_state(value)
    return made


def _found(value: Mapping[str, Any], name: str) -> Any:
    """The class or function of this name."""
    found = get_registered_object(name)
    if found is not None:
        return found
    known = _functions() if value["class_name"] == _FUNCTION else _classes()
    for (module, own), thing in known.items():
        if own == name and value.get("module") in (None, module):
            return thing
    kind = "function" if value["class_name"] == _FUNCTION else "class"
    raise NotDescribed(
        f"no {kind} is called {name!r}: give custom_objects={{{name!r}: ...}}, or register it by "
        f"tracejit.keras.utils.register_keras_serializable() before{at_user_line()}"
    )


# ---- names of the library -------------------------------------------------------------------------------


def _modules() -> dict[str, Any]:
    return {
        "layers": tf.layers,
        "models": tf.keras.models,
        "losses": tf.losses,
        "metrics": tf.metrics,
        "optimizers": tf.optimizers,
        "schedules": tf.optimizers.schedules,
        "initializers": tf.initializers,
        "regularizers": tf.keras.regularizers,
        "constraints": tf.keras.constraints,
        "activations": tf.activations,
    }


def _members(wanted: Callable[[Any], bool], modules: Sequence[str]) -> dict[tuple[str, str], Any]:
    found: dict[tuple[str, str], Any] = {}
    for short in modules:
        module = _modules()[short]
        for name in getattr(module, "__all__", None) or dir(module):
            thing = getattr(module, name)
            if wanted(thing):
                found.setdefault((f"{_LIBRARY}.{short}", thing.__name__), thing)
    return found


@functools.cache
def _classes() -> dict[tuple[str, str], Any]:
    """The classes that a description may name, by module and name."""
    return _members(lambda x: isinstance(x, type) and issubclass(x, Configurable), list(_modules()))


@functools.cache
def _functions() -> dict[tuple[str, str], Any]:
    """The functions that a description may name: those that give a tensor for tensors."""
    return _members(
        lambda x: (
            callable(x)
            and not isinstance(x, type)
            and x not in (serialize_keras_object, deserialize_keras_object)
            and x.__name__ != "get"
        ),
        ["activations", "losses", "metrics"],
    )


@functools.cache
def _library() -> dict[type, tuple[str, str]]:
    return {thing: name for name, thing in _classes().items()}


@functools.cache
def _functions_by_id() -> dict[int, tuple[str, str]]:
    return {id(thing): name for name, thing in _functions().items()}
