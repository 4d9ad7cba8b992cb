"""NumPy's protocols and its array methods: ``np.sin(tensor)``, ``np.mean(tensor)``, ``tensor.argmax(axis=1)``.

A NumPy function of single elements becomes the op of that name, or the function of that name in the face
`tracejit.numpy`, which `core.seams` finds: this module does not know it. Other NumPy functions become the
face's too where values would not do: while tracing, and where a derivative that is being taken of a whole function
flows through a tensor. Elsewhere they work on values and return arrays. Tapes never follow them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from ...core.dim import same
from ...core.errors import (
    DtypeError,
    GradientError,
    ShapeError,
    SymbolicValue,
    at,
    is_internal,
    own_location,
)
from ...core.op import OPS, ops
from ...core.seams import numpy_function
from ...core.spec import as_dtype, dtype_name
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor, notify, recording_only, state
from ...core.tracing.guards import carried, unguarded
from ..linalg import products
from .memory.holders import is_thrown_away
from .memory.overlaps import copied

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
    "expit": "sigmoid",
}

#: What ``np.add.reduce`` and the like are called in the face; they take axis 0 where none is given.
_FOLDS = {
    ("add", "reduce"): "sum",
    ("multiply", "reduce"): "prod",
    ("maximum", "reduce"): "max",
    ("minimum", "reduce"): "min",
    ("logical_and", "reduce"): "all",
    ("logical_or", "reduce"): "any",
    ("logaddexp", "reduce"): "logsumexp",
    ("add", "accumulate"): "cumsum",
    ("multiply", "accumulate"): "cumprod",
    ("maximum", "accumulate"): "_running_max",
    ("minimum", "accumulate"): "_running_min",
    ("logaddexp", "accumulate"): "_running_logsumexp",
}

#: Methods of arrays that are functions of the face, by name.
_METHODS = (
    "all any argmax argmin argpartition argsort clip conj conjugate cumprod cumsum diagonal dot nonzero prod ravel",
    "repeat round searchsorted sort squeeze std swapaxes take trace var",
)


def from_face(name: str) -> Any:
    """What the face has under that name, which may have dots."""
    first, *rest = name.split(".")
    member = numpy_function(first)
    for part in rest:
        member = getattr(member, part, None)
    return member


def _meanings(name: str, inputs: Sequence[Any]) -> Iterator[Callable[..., Any] | None]:
    """What a ufunc may mean, the op first: ops refuse integers where NumPy makes them floats.

    Division of integers is the face's: the op gives small ones a float of another width than NumPy. So are the logical
    ones: the op takes bools alone.
    """
    if name.startswith("logical_") or (name == "divide" and not any(map(_is_floating_tensor, inputs))):
        yield from_face(name)
    yield products.dot if name == "matmul" else OPS.get(_OTHER_NAMES.get(name, name))
    yield from_face(name)


def _is_floating_tensor(x: Any) -> bool:
    return hasattr(x, "dtype") and not isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fcV"


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """NumPy functions of single elements, of tensors: ours of that name, else NumPy's of the values."""
    name = ufunc.__name__
    if method == "__call__" and not kwargs:
        for function in _meanings(name, inputs):
            try:
                if function is not None:
                    return function(*inputs)
            except DtypeError:
                continue
    needed = needing((inputs, kwargs))
    _refuse_out(kwargs)
    if needed is not None:
        fold = from_face(_FOLDS.get((name, method), ""))
        if fold is not None and len(inputs) == 1 and kwargs.keys() <= {"axis", "keepdims"}:
            return _beside_tapes(fold, inputs, {"axis": 0, **kwargs})
        if method == "outer" and not kwargs:
            a, b = (x if hasattr(x, "__tensor__") or x.__class__ is Tensor else np.asarray(x) for x in inputs)
            wide = a[(..., *(None,) * len(b.shape))]
            return array_ufunc(self, ufunc, "__call__", wide, b)
    called = name if method == "__call__" else f"{name}.{method}"
    known = called if getattr(np, name, None) is ufunc else ""
    return _of_values(known, called, getattr(ufunc, method), needed, inputs, kwargs)


def array_function(self: Any, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """Other NumPy functions: the face's where a value would not do, else NumPy's of the values."""
    module = getattr(function, "__module__", "").removeprefix("numpy").lstrip(".")
    name = f"{module}.{function.__name__}" if module else function.__name__
    needed = needing((args, kwargs))
    _refuse_out(kwargs)
    if needed is not None:
        ours = from_face(name)
        if callable(ours) and ours is not function and kwargs.get("out") is None:
            given = _as_ours(function, ours, args, kwargs)
            if given is not None:
                return _beside_tapes(ours, *given)
    return _of_values(name, name, function, needed, args, kwargs)


def _refuse_out(kwargs: Any) -> None:
    out = kwargs.get("out")
    if any(isinstance(x, Tensor) for x in (out if out.__class__ is tuple else (out,))):
        raise TypeError(
            "a tensor does not change here: write y = np.add(x, 1.0) for np.add(x, 1.0, out=y); in a function "
            f"decorated with tracejit.function, out=y does that{at(own_location())}"
        )


def needing(nest: Any) -> Any:
    """The first tensor for which values would not do: it has none, or a derivative flows through it."""
    return next(
        (t for t in _tensors(nest) if t.is_symbolic or (isinstance(t, Tensor) and carried(as_tensor(t)))),
        None,
    )


def _tensors(nest: Any) -> Iterator[Any]:
    if nest.__class__ in (list, tuple):
        for x in nest:
            yield from _tensors(x)
    elif nest.__class__ is dict:
        yield from _tensors(list(nest.values()))
    elif nest.__class__ is Tensor or hasattr(nest, "__tensor__"):
        yield nest


def _beside_tapes(ours: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function of the face in place of NumPy's, which tapes do not follow."""
    followed = [r for r in state.recorders if getattr(r, "follows_numpy", True)]
    if len(followed) == len(state.recorders):
        return ours(*args, **kwargs)
    others: list[Any] = [r for r in state.recorders if r not in followed]
    for t in _tensors((args, kwargs)):
        for recorder in others:
            recorder.on_event("value", as_tensor(t))
    with recording_only(followed):
        return ours(*args, **kwargs)


def _of_values(
    name: str, called: str, function: Callable[..., Any], needed: Any, args: Any, kwargs: Any
) -> Any:
    """A function on values; refused where there are none, and where a derivative would be lost.

    `name` is NumPy's for it, empty for another library's.
    """
    if needed is None:
        return function(*_as_arrays(args), **_as_arrays(kwargs))
    exists = name and from_face(name)
    called = f"numpy.{called}" if name else called
    remedy = f"write tracejit.numpy.{name}" if exists else "use functions of tracejit or tracejit.numpy"
    if needed.is_symbolic:
        raise SymbolicValue(
            f"{called} works on values, and {needed.spec} has none while a function is being traced: {remedy}, "
            f"or compute it outside of the function{at(own_location())}"
        )
    with unguarded():
        result = function(*_as_arrays(args), **_as_arrays(kwargs))
    if "out" in kwargs or _has_fractions(result):
        what = "with these arguments" if callable(exists) else "of which tracejit.numpy has none,"
        raise GradientError(
            f"{called}, {what} works on values, and a derivative is being taken through {needed.spec}, which would "
            f"be lost: {remedy}, tracejit.custom_gradient to give it a rule, or tracejit.stop_gradient where no "
            f"derivative is wanted{at(own_location())}"
        )
    if result is None:  # it may have written into an array
        for t in _tensors((args, kwargs)):
            notify("value", as_tensor(t))
    return result


def _has_fractions(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_has_fractions, value))
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "fcO"
    return isinstance(value, (float, complex))


@cache
def _parameters(function: Any) -> dict[str, inspect.Parameter] | None:
    """The parameters of a function by name; None for those that do not tell, or take any."""
    try:
        parameters = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None
    return (
        None if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values()) else parameters
    )


def _as_ours(
    function: Any, ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a call of NumPy's function for ours, by name; None where ours has not all of them."""
    theirs, known = _parameters(function), _parameters(ours)
    if theirs is None or known is None:
        return args, kwargs
    bound = inspect.signature(function).bind(*args, **kwargs).arguments
    places, keywords = list(known), {}
    for i, name in enumerate(theirs):
        if name not in bound or bound[name] is theirs[name].default:
            continue
        if name in known:
            keywords[name] = bound[name]
        elif i < len(places) and places[i] not in theirs:  # under another name
            keywords[places[i]] = bound[name]
        else:
            return None
    positional = []
    for name in places:
        if name not in keywords or known[name].kind is inspect.Parameter.KEYWORD_ONLY:
            break
        positional.append(keywords.pop(name))
    return tuple(positional), keywords


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


def _compressed(self: Any, condition: Any, axis: int | None = None) -> Any:
    """``tracejit.numpy.compress`` of this tensor: the positions along `axis` for which `condition` holds."""
    return from_face("compress")(condition, self, axis)


def _flattened(self: Any, order: str = "C") -> Any:
    """All elements of this tensor in a row, in `order`: a copy."""
    return copied(_method("ravel")(self, order))


def _sorted(self: Any, *args: Any, **kwargs: Any) -> Any:
    """``tracejit.numpy.sort`` of this tensor, which stays as it is: TypeError where nobody takes the result."""
    frame = sys._getframe(1)
    if not is_internal(frame.f_code) and is_thrown_away(frame.f_code, frame.f_lasti):
        raise TypeError(f"a tensor does not change: write x = x.sort() for x.sort(){at(own_location())}")
    return _method("sort")(self, *args, **kwargs)


def _byteswapped(self: Any, inplace: bool = False) -> Any:
    """Elements with their bytes in the opposite order, each part of complex numbers by itself.

    ValueError for strings and for `inplace`, as tensors do not change.
    """
    dtype = self.np_dtype
    if inplace or dtype.kind not in "biufc":
        raise ValueError(f"byteswap returns numbers of which each has bytes: no inplace=True, no {self.spec}")
    if dtype.itemsize == 1:
        return copied(self)
    if dtype.kind == "c":
        return ops.complex(*(_byteswapped(part(self)) for part in (ops.real, ops.imag)))
    return copied(ops.bitcast(from_face("flip")(ops.bitcast(self, type="uint8"), -1), type=dtype.name))


def _viewed(self: Any, dtype: Any = None, *sizes: Any) -> Any:
    """The bytes of this tensor along its last axis, taken for elements of `dtype`; without one the tensor itself.

    Gradients flow where it is of one dtype with the tensor, or complex numbers and the floats that they are made of. A
    bool is a byte. ShapeError where they make no whole number of elements, DtypeError for strings; TypeError for
    `sizes`, which :meth:`reshape` takes.
    """
    if sizes or isinstance(dtype, (int, tuple, list)):
        raise TypeError(f"view takes a dtype, for a shape write x.reshape(shape){at(own_location())}")
    new = self.np_dtype if dtype is None else np.dtype(dtype) if isinstance(dtype, type) else as_dtype(dtype)
    if self.np_dtype == new and new.kind in "biufcV":
        return self
    if new.kind == "b":
        return ops.not_equal(_viewed(self, np.uint8), 0)
    x: Any = ops.cast(self, dtype=np.dtype(np.uint8)) if self.np_dtype.kind == "b" else self
    given, wanted, shape = x.np_dtype.itemsize, new.itemsize, x.shape
    if given == wanted:
        return ops.bitcast(x, type=new.name)
    if not shape or (given < wanted and not same(shape[-1] * given % wanted, 0)):
        raise ShapeError(f"the bytes of {self.spec} along its last axis make no {dtype_name(new)}{at(own_location())}")
    if given > wanted:
        return ops.reshape(ops.bitcast(x, type=new.name), shape=(*shape[:-1], shape[-1] * (given // wanted)))
    parts = wanted // given
    return ops.bitcast(ops.reshape(x, shape=(*shape[:-1], shape[-1] // parts, parts)), type=new.name)


def _conjugated(self: Any) -> Any:
    """The complex conjugate of this tensor; of real numbers the tensor itself."""
    return _method("conj")(self) if self.np_dtype.kind == "c" else self


METHODS = {name: _method(name) for line in _METHODS for name in line.split()}
METHODS["conj"] = METHODS["conjugate"] = _conjugated
METHODS["sort"] = _sorted
METHODS["compress"] = _compressed
METHODS["flatten"] = _flattened
METHODS["byteswap"] = _byteswapped
METHODS["view"] = _viewed
