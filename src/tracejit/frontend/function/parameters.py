"""The parameters of a Python function, and the arguments of a call in the form that selects a trace.

Knows signatures, defaults and the ``input_signature``; neither traces nor runs anything.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import at, user_location
from ...core.lazy import once
from ...core.op import Op
from ...core.tensor import Tensor
from .methods import Method
from .signature import ArgumentError, Call, conform, describe

#: Arguments that are part of the trace, equal exactly when their classes and values are.
PLAIN = frozenset((int, bool, str, type(None)))
NUMBERS = PLAIN | {float}
#: What stands for a Python float among what is remembered of a call, where any would do.
AN_INPUT = "a float"


def compilable(f: Any) -> Callable[..., Any]:
    """`f`, if its calls return tensors; TypeError for what cannot be compiled, before anything is called."""
    what = ""
    if not callable(f):
        what = f"{f!r} is not callable: write @tracejit.function above a def, or tracejit.function(f)"
    elif isinstance(f, type):
        what = f"{f.__name__} is a class: decorate its methods, such as __call__, instead"
    elif inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f):
        what = f"{f.__qualname__} is asynchronous: make it a plain function, and call that from the async one"
    elif inspect.isgeneratorfunction(f):
        what = f"{f.__qualname__} is a generator: return a list of what it yields"
    if what:
        raise ArgumentError(f"cannot compile this: {what}{at(user_location())}")
    return f


class Parameters:
    """The parameters of a function that is compiled.

    Parameters
    ----------
    f : callable
    name : str
        How messages name it.
    input_signature : tuple, optional
        TensorSpecs of its first arguments; without it all arguments are taken as they are.
    """

    def __init__(self, f: Callable[..., Any], name: str, input_signature: tuple[Any, ...] | None):
        self.function = f
        self.name = name
        self.input_signature = input_signature
        self._arity = _plain_arity(f)
        #: Does it only show another's signature? Then what a call leaves out or names may mean something to it, as
        #: what comes before the attributes of an op by position does, or its names for them.
        self._wraps = isinstance(f, Op) or hasattr(f.f if isinstance(f, Method) else f, "__wrapped__")

    @once
    def signature(self) -> inspect.Signature | None:
        """The Python signature; None where Python cannot tell."""
        try:
            return inspect.signature(self.function)
        except (TypeError, ValueError):
            return None

    @once
    def plain_defaults(self) -> bool:
        """Can no default change between calls?"""
        parameters = self.signature.parameters.values() if self.signature else ()
        return all(p.default is p.empty or p.default.__class__ in NUMBERS for p in parameters)

    @once
    def _float_defaults(self) -> dict[int | str, str]:
        """The defaults that are floats, by position and by name, spelled so that all differ."""
        parameters = list(self.signature.parameters.values()) if self.signature else []
        found = [
            (k, p.name, p.default.hex()) for k, p in enumerate(parameters) if p.default.__class__ is float
        ]
        return {key: number for k, name, number in found for key in (k, name)}

    def given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments, without floats that are their parameters' defaults: who leaves those out means the same."""
        defaults = self._float_defaults
        if not defaults:
            return [args, kwargs]
        pairs: list[tuple[Any, Any]] = [*enumerate(args), *kwargs.items()]
        return [x for key, x in pairs if x.__class__ is not float or defaults.get(key) != x.hex()]

    def complete(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments by position as far as they have one, with the defaults of those not given."""
        if self.signature is None or not (kwargs or len(args) != self._arity):
            return args, kwargs
        if self._wraps and self.input_signature is None:
            return args, kwargs
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            unknown = [repr(name) for name in kwargs if name not in self.signature.parameters]
            reason = (
                f"{error}; it has no parameter {', '.join(unknown)}"
                if unknown and "missing" in str(error)
                else str(error)
            )
            raise ArgumentError(f"{self.name}{self.signature}: {reason}{at(user_location())}") from None
        if not self._wraps:
            bound.apply_defaults()
        return bound.args, bound.kwargs

    def conforming(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The complete arguments, converted to the input_signature, which says nothing of those with a default."""
        args, kwargs = self.complete(args, kwargs)
        covered = len(self.input_signature or ())
        if self.signature is not None and len(args) < covered:
            raise ArgumentError(
                f"the input_signature has {covered} entries, {self.name}{self.signature} takes {len(args)} by "
                f"position{at(user_location())}"
            )
        _must_be_defaults(self.name, self.signature, args[covered:], kwargs)
        names = tuple(self.signature.parameters) if self.signature is not None else ()
        return (*conform(args[:covered], self.input_signature or (), names), *args[covered:]), kwargs

    def described(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """What a call with these arguments is, for the choice of a trace."""
        if self.input_signature is not None:
            return describe(*self.conforming(args, kwargs))
        return describe(*self.complete(args, kwargs))


def _must_be_defaults(
    name: str, signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Refuse arguments behind those of an ``input_signature`` that are not what their parameters default to."""
    names = list(signature.parameters) if signature else []
    first = max(len(names) - len(args) - len(kwargs), 0)
    for parameter, given in [*zip(names[first:], args, strict=False), *kwargs.items()]:
        known = signature.parameters.get(parameter) if signature else None
        if known is None or given is not known.default:
            raise ArgumentError(
                f"the input_signature of {name} says nothing of {parameter!r}, so it can only have its default; got "
                f"{given!r}: add it to the input_signature, or leave that out{at(user_location())}"
            )


def _plain_arity(f: Callable[..., Any]) -> int | None:
    """The number of arguments of a function that takes nothing but plain positional ones."""
    if isinstance(f, Method):
        inner = _plain_arity(f.f)
        return None if inner is None else inner - 1
    code = getattr(f, "__code__", None)
    if (
        code is None
        or code.co_kwonlyargcount
        or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    ):
        return None
    return code.co_argcount


def taken_apart(
    args: tuple[Any, ...], kwargs: dict[str, Any], float_inputs: bool
) -> tuple[tuple[Any, ...], list[Any]] | None:
    """What decides the trace of a call, and its inputs, Tensors or arrays; None where that takes a closer look.

    Python floats are inputs, or part of the trace.
    """
    key: list[Any] = []
    inputs: list[Any] = []
    for x in (*args, *kwargs.values()) if kwargs else args:
        kind = x.__class__
        if kind is Tensor:
            array = x.array
            key += (array.dtype, array.shape)
            inputs.append(x)
            continue
        if kind is float:
            if float_inputs:
                key.append(AN_INPUT)
                inputs.append(np.asarray(x))
            else:
                key += (kind, x.hex())
            continue
        if kind in PLAIN:
            key += (kind, x)
            continue
        if kind is not np.ndarray:
            if not isinstance(x, np.generic):
                return None
            x = np.asarray(x)
        key += (x.dtype, x.shape)
        inputs.append(x)
    if kwargs:
        key += (len(args), *kwargs)
    return tuple(key), inputs
