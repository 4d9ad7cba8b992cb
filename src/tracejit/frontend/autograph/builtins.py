"""Replacements of Python builtins in converted functions, for calls with traced tensors."""

from __future__ import annotations

import builtins
import functools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ...core.errors import SymbolicValue, Untraceable, at, take, user_location
from ...core.lazy import Later
from ...core.op import OPS, ops
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...core.tracing.promotion import joint_dtype
from ...ops.arrays.reduce import reduce_max, reduce_min, reduce_sum
from ...ops.arrays.shape import stack
from ...ops.arrays.sort import descending
from ...ops.elementwise.compare import greater, less, logical_and, logical_or, where
from ...ops.symbolic_values import known_array
from ...ops.tensor.indexing import get
from .. import creation
from . import outside
from .values.iteration import enumerate_of, length_of, range_of, reversed_of, tensor_range, zip_of
from .values.kinds import is_undefined, traced
from .values.stacked import Stacked
from .values.weak import WIDE, Weak, needs_value, wide

if TYPE_CHECKING:
    from .flow import branches
else:
    branches = Later(".flow.branches", __package__)


def _number(kind: type) -> Callable[..., Any]:
    """``int(x)`` and the like: of a traced tensor a number that is known at run time."""

    def converted(*args: Any) -> Any:
        if len(args) != 1 or not traced(args[0]):
            return kind(*args)
        x = args[0]
        if x.__class__ is Weak and x.weak_kind is kind:
            return x
        if x.__class__ is Weak and kind is int:
            needs_value("int")
        t = as_tensor(x)
        if any(d != 1 for d in t.shape):
            return kind(x)  # raises what Python raises
        known = known_array(t) if t.is_symbolic else None
        if known is not None:
            return kind(known.item())
        t = ops.reshape(t, shape=()) if t.shape else t
        ends = (
            ops.number if kind in (float, complex) else ops.stop_gradient
        )  # Python numbers have no gradient
        t = ends(t)
        return Weak(
            ops.not_equal(t, 0) if kind is bool and t.dtype.kind != "b" else ops.cast(t, dtype=WIDE[kind])
        )

    return converted


def _complex(*args: Any) -> Any:
    """``complex(real, imag)``, also of traced numbers."""
    if not any(traced(x) for x in args):
        return complex(*args)
    if len(args) == 1:
        return _number(complex)(*args)
    real, imag = args
    if any(as_tensor(x).np_dtype.kind == "c" for x in args):
        return _number(complex)(real) + _number(complex)(imag) * 1j
    parts = [as_tensor(_number(float)(x), WIDE[float]) for x in (real, imag)]
    return Weak(ops.complex(*parts))


def _extreme(
    python: Callable[..., Any], beats: Callable[..., Any], reduce: Callable[..., Any]
) -> Callable[..., Any]:
    """``max`` and ``min``: of equal arguments, and where one is NaN, the first, as Python has it."""

    def converted(*args: Any, **kwargs: Any) -> Any:
        if kwargs or not any(traced(a) for a in args):
            return python(*args, **kwargs)
        if len(args) == 1:
            return reduce(as_tensor(args[0]), axis=0)
        numbers = [x for x in map(wide, args) if x is not None]
        if len(numbers) < len(args):
            return functools.reduce(choose, args)
        widest = joint_dtype(*[x.np_dtype for x in numbers])
        return Weak(functools.reduce(choose, [ops.cast(x, dtype=widest) for x in numbers]))

    def choose(a: Any, b: Any) -> Any:
        return where(beats(b, a), b, a)

    return converted


def _truth_of_all(join: Callable[..., Any], decides: bool) -> Callable[..., Any]:
    """``any`` and ``all``, of items some of which are traced."""

    def converted(iterable: Any) -> Any:
        items = list(iterable)
        known = [bool(x) for x in items if not traced(x)]
        rest = [branches.truth(x) for x in items if traced(x)]
        return decides if decides in known else _joined(join, rest, not decides)

    return converted


def _sorted(items: Iterable[Any], /, *, key: Any = None, reverse: Any = False) -> list[Any]:
    """``sorted``, also of traced tensors of one shape and dtype, by themselves or by a `key` that gives scalars."""
    given = list(items)
    try:
        return sorted(given, key=key, reverse=reverse)
    except Untraceable as error:
        take(error)
    keys = given if key is None else [key(x) for x in given]
    if not (_alike(given) and _alike(keys) and keys[0].shape == () and keys[0].dtype.kind in "biuf"):
        instead = "give tensors of one shape and dtype; tracejit.sort and tracejit.argsort order the elements of one"
        raise _unknown("sorted", instead)
    by, rows = stack(keys), stack(given)
    order = ops.argsort(descending(by) if reverse else by, axis=0)
    return [get(rows, get(order, i)) for i in range(len(given))]


def _alike(items: list[Any]) -> bool:
    """Are they tensors of one shape and dtype?"""
    return all(x.__class__ is Tensor for x in items) and len({x.spec for x in items}) == 1


def _filter(keep: Any, items: Iterable[Any]) -> Iterator[Any]:
    """``filter``, which cannot tell how many traced numbers to keep."""
    try:
        yield from filter(keep, items)
    except Untraceable:
        raise _unknown("filter", "write a list comprehension over a tensor, or use tracejit.where") from None


def _unknown(name: str, instead: str) -> Untraceable:
    return Untraceable(
        f"{name}() asks for numbers that are known only when the compiled function runs: {instead}"
        f"{at(user_location())}"
    )


def _looking(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of Python that tells a number from a tensor which stands for one."""

    def converted(*args: Any, **kwargs: Any) -> Any:
        if any(x.__class__ is Weak for x in args):
            needs_value(f.__name__)
        return f(*args, **kwargs)

    return converted


def _has_attribute(x: Any, name: str) -> bool:
    """``hasattr``, of which an attribute that one branch alone has set does not tell."""
    value: Any = getattr(x, "__dict__", {}).get(name)
    if is_undefined(value):
        raise value.error()
    return hasattr(x, name)


def subject_of(subject: Any, *classes: type) -> Any:
    """The subject of a ``match`` with patterns of classes, which tell a float from a tensor that stands for one."""
    if subject.__class__ is not Tensor and any(
        c is not object and isinstance(c, type) and isinstance(0.0, c) for c in classes
    ):
        needs_value("match")
    return subject


def _sum(iterable: Any, /, start: Any = 0) -> Any:
    """``sum``, also of a list that a compiled loop has built."""
    if iterable.__class__ is not Stacked:
        return sum(iterable, start)
    return start + reduce_sum(iterable.__tensor__(), axis=0)


def _list(*args: Any) -> Any:
    """``list``, also of a list that a compiled loop has built."""
    return args[0].copy() if len(args) == 1 and args[0].__class__ is Stacked else list(*args)


def _joined(join: Callable[..., Any], items: list[Any], default: bool) -> Any:
    return functools.reduce(join, items) if items else default


def _stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    if values.__class__ is Stacked:
        rows = values.__tensor__()
        return rows if axis == 0 else ops.transpose(rows, _moved(len(rows.shape), axis))
    return stack(values, axis)


def _moved(rank: int, axis: int) -> tuple[int, ...]:
    rest = list(range(1, rank))
    rest.insert(axis % rank, 0)
    return tuple(rest)


def _of_numbers(name: str) -> Callable[..., Any]:
    """A function of the module math, which would make a Python number of a tensor."""
    python, known = getattr(math, name), _NAMES_OF_MATH.get(name, name)

    def converted(*args: Any) -> Any:
        if any(traced(a) for a in args):
            raise SymbolicValue(
                f"math.{name} takes numbers, and a tensor has no value while a function is being traced: write "
                f"tracejit.math.{known}, which gradients follow, too{at(user_location())}"
            )
        return python(*args)

    return converted


_NAMES_OF_MATH = {"fabs": "abs", "isnan": "is_nan", "isinf": "is_inf", "isfinite": "is_finite"}
_MATH = [name for name in dir(math) if name in OPS or name in (*_NAMES_OF_MATH, "ceil")]

REPLACED: dict[Any, Callable[..., Any]] = {
    builtins.range: range_of,
    builtins.enumerate: enumerate_of,
    builtins.zip: zip_of,
    builtins.reversed: reversed_of,
    builtins.len: length_of,
    builtins.list: _list,
    builtins.int: _number(int),
    builtins.float: _number(float),
    builtins.bool: _number(bool),
    builtins.complex: _complex,
    builtins.max: _extreme(max, greater, reduce_max),
    builtins.min: _extreme(min, less, reduce_min),
    builtins.sum: _sum,
    builtins.hasattr: _has_attribute,
    builtins.isinstance: _looking(isinstance),
    builtins.type: _looking(type),
    builtins.sorted: _sorted,
    builtins.filter: _filter,
    builtins.print: outside.print_,
    warnings.warn: outside.warn_,
    builtins.open: outside.open_,
    builtins.input: outside.input_,
    builtins.next: outside.next_,
    builtins.any: _truth_of_all(logical_or, True),
    builtins.all: _truth_of_all(logical_and, False),
    creation.range: tensor_range(creation.range),
    stack: _stack,
    **{getattr(math, name): _of_numbers(name) for name in _MATH},
}
