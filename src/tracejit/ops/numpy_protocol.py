"""NumPy's protocols and its array methods: ``np.sin(tensor)``, ``tensor.argmax(axis=1)``.

A NumPy function of single elements becomes the op of that name, or the function of that name in the face
`tracejit.numpy`, which the package names in `FACE`: this module does not know it. Other NumPy functions work on values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..core.errors import DtypeError, SymbolicValue, at, user_location
from ..core.op import OPS
from ..core.tensor import Tensor
from . import linalg

#: How to find a function by the name NumPy has for it, None when there is none: the package puts it here.
FACE: list[Callable[[str], Callable[..., Any] | None]] = []

#: NumPy ufunc name to op name, where they differ.
_OTHER_NAMES = {
    "power": "pow",
    "absolute": "abs",
    "positive": "identity",
    "conjugate": "conj",
    "rint": "round",
    "floor_divide": "floordiv",
    "remainder": "mod",
    "true_divide": "divide",
    "isnan": "is_nan",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
}

#: Methods of arrays that are functions of the face, by name.
_METHODS = (
    "all any argmax argmin argsort clip conj conjugate cumprod cumsum diagonal dot nonzero prod ravel repeat",
    "round searchsorted sort squeeze std swapaxes take trace var",
)


def from_face(name: str) -> Callable[..., Any] | None:
    """The face's function of that name."""
    return next((found for face in FACE if (found := face(name)) is not None), None)


def _meanings(name: str) -> Iterator[Callable[..., Any] | None]:
    """What a ufunc may mean, the op first: ops refuse integers where NumPy makes them floats."""
    yield linalg.dot if name == "matmul" else OPS.get(_OTHER_NAMES.get(name, name))
    yield from_face(name)


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """NumPy functions of single elements, of tensors: ours of that name, else NumPy's of the values (no gradient)."""
    if method == "__call__" and not kwargs:
        for function in _meanings(ufunc.__name__):
            try:
                if function is not None:
                    return function(*inputs)
            except DtypeError:
                continue
    _require_values(f"{ufunc.__name__}{'' if method == '__call__' else f'.{method}'}", (inputs, kwargs))
    return getattr(ufunc, method)(*_as_arrays(inputs), **{k: _as_arrays(v) for k, v in kwargs.items()})


def array_function(self: Any, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """Other NumPy functions work on the values and return arrays: gradients do not follow."""
    module = getattr(function, "__module__", "").removeprefix("numpy").lstrip(".")
    _require_values(f"{module}.{function.__name__}" if module else function.__name__, (args, kwargs))
    return function(*_as_arrays(args), **_as_arrays(kwargs))


def _require_values(name: str, nest: Any) -> None:
    """SymbolicValue when a function of that name, of NumPy's or a module of its, meets a tensor without a value."""
    symbolic = _first_symbolic(nest)
    if symbolic is None:
        return
    found: Any = from_face(name.split(".")[0])
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    remedy = f"write tracejit.numpy.{name}" if found else "use functions of tracejit or tracejit.numpy"
    raise SymbolicValue(
        f"numpy.{name} works on values, and {symbolic.spec} has none while a function is being traced: {remedy}, "
        f"or compute it outside of the function{at(user_location())}"
    )


def _first_symbolic(nest: Any) -> Tensor | None:
    if nest.__class__ in (list, tuple):
        return next((found for x in nest if (found := _first_symbolic(x)) is not None), None)
    if nest.__class__ is dict:
        return _first_symbolic(list(nest.values()))
    return nest if nest.__class__ is Tensor and nest.is_symbolic else None


def _as_arrays(nest: Any) -> Any:
    if hasattr(nest, "__array_ufunc__") and not isinstance(nest, (np.ndarray, np.generic)):
        return np.asarray(nest)
    if nest.__class__ in (list, tuple):
        return nest.__class__(_as_arrays(x) for x in nest)
    return {k: _as_arrays(v) for k, v in nest.items()} if nest.__class__ is dict else nest


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        function = from_face(name)
        assert function is not None, name
        return function(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"``tracejit.numpy.{name}`` of this tensor."
    return method


METHODS = {name: _method(name) for line in _METHODS for name in line.split()}
METHODS["flatten"] = METHODS["ravel"]
