"""What the `call` of a class of layers takes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any


@functools.cache
def takes(name: str, call: Callable[..., Any]) -> bool:
    """Does the `call` of a class take an argument of this name?"""
    parameters = inspect.signature(call).parameters.values()
    return any(p.name == name or (p.kind is p.VAR_KEYWORD and name == "training") for p in parameters)


@functools.cache
def positional(call: Callable[..., Any]) -> tuple[str, ...]:
    """The names of arguments of the `call` of a class, but for itself and the inputs."""
    parameters = [*inspect.signature(call).parameters.values()][2:]
    return tuple(p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD)


def takes_more_than_itself(method: Callable[..., Any]) -> bool:
    """Does a method of a class take a positional argument?"""
    kinds = [p.kind for p in [*inspect.signature(method).parameters.values()][1:]]
    return any(kind not in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD) for kind in kinds)


@functools.cache
def wants_training(call: Callable[..., Any]) -> bool:
    """Has the argument ``training`` of the `call` of a class no default?"""
    parameter = inspect.signature(call).parameters.get("training")
    return parameter is not None and parameter.default is parameter.empty


def among_parameters(function: Callable[..., Any]) -> frozenset[str]:
    """The names of what a function takes; none of one that does not tell."""
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return frozenset()
