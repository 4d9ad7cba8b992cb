"""The kinds of values that branches and loops can carry: what becomes a tensor, and of which type.

A value is a nest whose leaves are numbers (tensors, arrays, Python numbers) or anything else; the type of a
number is a spec and whether it is weak.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ....core.errors import DtypeError, ShapeError, TracejitError, Untraceable, at, user_location
from ....core.op import ops
from ....core.spec import TensorSpec
from ....core.tensor import Tensor
from ....core.tracing.dispatch import as_tensor
from ....core.tracing.promotion import joint_dtype
from ....core.tracing.transaction import Unwinding
from ....ops.tensor import operators
from ...structure import Structure
from ...structure import flatten_values as flatten
from .stacked import Stacked
from .weak import KINDS, WIDE, Weak, wide

GENERATED = "_ag_"
_ORDER = (bool, int, float, complex)


class UndefinedVariable(Untraceable, NameError):
    """A variable was used that may not have been set.

    Examples
    --------
    >>> import tracejit as tf
    >>> @tf.function
    ... def f(x):
    ...     if x > 0:
    ...         y = x
    ...     return y
    >>> try:
    ...     f(tf.constant(1.0))
    ... except tf.errors.UndefinedVariable as error:
    ...     print(type(error).__name__)
    UndefinedVariable
    """

    __module__ = "tracejit.errors"


class TraceError(Unwinding):
    """Carries an error out of a traced branch or loop, past the handlers of the traced function.

    Whether a handler would have run depends on a condition that is not known yet.
    """

    def __init__(self, error: Exception):
        super().__init__(str(error))
        self.error = error


def escaping(error: Exception, what: str) -> TraceError:
    """The error with a note on where it comes from, on its way out of the trace."""
    if not isinstance(error, TracejitError) and not hasattr(error, "__notes__"):
        error.add_note(f"raised while tracing {what}, whatever its condition will be: use assert for checks")
    return TraceError(error)


class DynamicListNeeded(TraceError):
    """A list grows by a number of items that is known only when the compiled function runs.

    Parameters
    ----------
    origin : list
        What it was before the loop.
    message : str
        What is wrong with that, where no loop is around to build it in another way.

    Attributes
    ----------
    places : list
        Where else lists are that a loop around appends to.
    """

    def __init__(self, origin: Any, message: str):
        super().__init__(ShapeError(message))
        self.origin = origin
        self.places: list[Any] = []


class Undefined:
    """The value of a variable that may not have been set: raises on use, and says why.

    Parameters
    ----------
    name : str
    reason : str
        Completes "variable 'x' …".
    """

    __slots__ = ("name", "reason")
    name: str
    reason: str
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __init__(self, name: str, reason: str):
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "reason", reason)

    def error(self) -> UndefinedVariable:
        """The error for using it, with the user's line."""
        what = "the result of the function" if self.name.startswith(GENERATED) else f"variable {self.name!r}"
        return UndefinedVariable(f"{what} {self.reason}{at(user_location())}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__tensor__":
            raise AttributeError(name)  # copy, pickle and inspect look for protocols
        raise self.error()

    def __repr__(self) -> str:
        return f"<undefined {self.name}>"


class SetInLoop(Undefined):
    """A variable that only a loop sets which may run zero times: undefined to all that does not ask for :meth:`last`.

    Parameters
    ----------
    name, reason : str
    value : number
        That of the last iteration.
    is_set : Tensor
        A bool: was there one?
    """

    __slots__ = ("value", "is_set")
    value: Any
    is_set: Tensor

    def __init__(self, name: str, reason: str, value: Any, is_set: Tensor):
        super().__init__(name, reason)
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "is_set", is_set)

    def last(self) -> Any:
        """The value, in a program that fails here if there is none."""
        ops.check(
            ops.cast(self.is_set, dtype=np.dtype(np.float32)),
            message=f"variable {self.name!r} {self.reason}",
            error="UnboundLocalError",
        )
        return self.value


def _raising(self: Undefined, *args: Any, **kwargs: Any) -> Any:
    raise self.error()


_CHANGING = ("__call__", "__setitem__", "__contains__", "__setattr__", "__delattr__")
for _name in (*operators.OPERATORS, *operators.PROTOCOLS, *_CHANGING):
    if _name.startswith("__") and _name not in (
        "__repr__",
        "__copy__",
        "__deepcopy__",
        "__reduce__",
        "__array__",
    ):
        setattr(Undefined, _name, _raising)

#: A name that is not bound at all.
UNSET = Undefined("", "is not set")


def is_undefined(x: Any) -> bool:
    """Unbound, or bound to a placeholder."""
    return x.__class__ is Undefined or x.__class__ is SetInLoop


def traced(x: Any) -> bool:
    """Is `x` a number that is known only when the compiled function runs?"""
    return bool(getattr(x, "is_symbolic", False)) if x.__class__ not in (bool, int, float) else False


class Kind(NamedTuple):
    """The type of a number: its spec, and whether it takes the dtype of what it meets."""

    spec: TensorSpec
    weak: bool

    def __str__(self) -> str:
        return f"Python {KINDS[self.spec.dtype.kind].__name__}" if self.weak else str(self.spec)

    def kinds(self) -> list[Kind]:
        """The types of what goes round in a loop for a variable of this type."""
        return [self]

    def spread(self, x: Any) -> list[Tensor]:
        """What goes round for a value."""
        return [coerced(x, self)]

    def value(self, take: Iterator[Tensor]) -> Any:
        """The value, of what went round."""
        return held(next(take), self)


def is_number(x: Any) -> bool:
    """Can `x` become a tensor?"""
    return x.__class__ in (Weak, bool, int, float, complex) or isinstance(x, (Tensor, np.ndarray, np.generic))


def number_kind(x: Any) -> Kind:
    """The type of a number."""
    if x.__class__ is Weak:
        return Kind(x.wide.spec, True)
    if x.__class__ in WIDE:
        return Kind(TensorSpec((), WIDE[x.__class__]), True)
    return Kind(x.spec if isinstance(x, Tensor) else TensorSpec(np.shape(x), x.dtype), False)


def plain(x: Any) -> Tensor:
    """A number as a tensor of its own dtype, weak ones as wide as they are."""
    widened = wide(x)
    return as_tensor(x) if widened is None else widened


def coerced(x: Any, kind: Kind) -> Tensor:
    """A number as a tensor of the type; ShapeError where the shapes differ."""
    number = wide(x)
    y = as_tensor(x) if number is None else number
    if y.np_dtype != kind.spec.dtype:
        y = as_tensor(x, kind.spec.dtype) if x.__class__ in WIDE else ops.cast(y, dtype=kind.spec.dtype)
    if y.shape != kind.spec.shape and not y.shape:
        y = ops.broadcast_to(y, shape=kind.spec.shape)
    return y


def held(tensor: Tensor, kind: Kind) -> Any:
    """What a variable of the type holds for this tensor."""
    return Weak(tensor) if kind.weak else tensor


def joined(a: Kind, b: Kind, what: str, broadcast: bool = False) -> Kind:
    """The type that both fit; an error naming both where there is none.

    Python numbers take the dtype of the other; with `broadcast` also its shape.
    """
    if a == b:
        return a
    if a.weak and b.weak:
        order = max(_ORDER.index(KINDS[k.spec.dtype.kind]) for k in (a, b))
        return Kind(TensorSpec((), WIDE[_ORDER[order]]), True)
    if a.weak or b.weak:
        weak, strong = (a, b) if a.weak else (b, a)
        if strong.spec.shape == () or broadcast:
            return Kind(strong.spec.with_dtype(_taken(weak, strong)), False)
    elif a.spec.shape == b.spec.shape and a.spec.dtype == b.spec.dtype:
        return a
    kind = DtypeError if a.spec.shape == b.spec.shape else ShapeError
    raise kind(f"{what}: {a} and {b}")


def _taken(weak: Kind, strong: Kind) -> np.dtype:
    """The dtype of a Python number and a tensor."""
    example = KINDS[weak.spec.dtype.kind](0)
    if strong.spec.dtype.kind in "biu" and isinstance(example, (float, complex)):
        return as_tensor(example).np_dtype
    return joint_dtype(strong.spec.dtype, example) if example is not False else strong.spec.dtype


def same_object(a: Any, b: Any) -> bool:
    """One object, or equal Python values of one type."""
    if a is b or (a.__class__ is Stacked and a.same(b)):
        return True
    if a.__class__ is not b.__class__ or not isinstance(
        a, (bool, int, float, complex, str, bytes, type(None))
    ):
        return False
    return a == b or a != a


def parts(value: Any) -> tuple[list[Any], Structure]:
    """Leaves and structure of a value."""
    return flatten(value)


def different(name: str, what: str) -> str:
    """How a message names a variable."""
    return f"the result of {what}" if name.startswith(GENERATED) else f"variable {name!r} of {what}"


def remedy(x: Any, y: Any) -> str:
    """What a message advises where two different objects of the program's own class meet."""
    kind = type(x)
    if kind is not type(y) or kind.__module__.partition(".")[0] in ("builtins", "numpy", "tracejit"):
        return ""
    return (
        f": say by tracejit.nest.register_node what a {kind.__name__} consists of, and both are chosen from"
    )


__all__ = ["at", "user_location"]
