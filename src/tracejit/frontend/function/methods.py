"""Methods: a compiled function in a class is compiled anew for each object, which it does not keep alive."""

from __future__ import annotations

import copy
import functools
import inspect
import weakref
from collections.abc import Callable
from typing import Any

from ...core.errors import TracejitError, at, user_location


class Method:
    """A method whose instance is kept weakly, so that compiled methods do not keep objects alive."""

    def __init__(self, f: Callable[..., Any], instance: weakref.ref[Any]):
        self.f = f
        self.instance = instance
        self.__name__: str = getattr(f, "__name__", "method")
        self.__qualname__ = getattr(f, "__qualname__", self.__name__)
        self.__doc__ = f.__doc__
        self.__module__ = f.__module__

    @property
    def __signature__(self) -> inspect.Signature:
        whole = inspect.signature(self.f)
        return whole.replace(parameters=list(whole.parameters.values())[1:])

    def bound(self) -> Callable[..., Any]:
        """The bound method, as long as its object exists."""
        instance = self.instance()
        if instance is None:
            raise TracejitError(
                f"{self.__qualname__}: the object it belongs to no longer exists{at(user_location())}"
            )
        return self.f.__get__(instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.bound()(*args, **kwargs)


class BoundFunction(functools.partial[Any]):
    """A compiled method of one object.

    It adds no arguments, as the function knows its object; a `partial` calls without running Python's code.

    Attributes
    ----------
    instance : object
        What it is a method of, and keeps alive.
    """

    __slots__ = ("instance",)
    instance: Any

    @property
    def function(self) -> Any:
        """The compiled function of the object."""
        return self.func

    def __get__(self, instance: Any, owner: type | None = None) -> BoundFunction:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)

    def __repr__(self) -> str:
        return f"{repr(self.function)[:-1]} of {object.__repr__(self.instance)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.instance, self.function.__name__)

    def __copy__(self) -> BoundFunction:
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        return getattr(copy.deepcopy(self.instance, memo), self.function.__name__)
