"""Tensor: the one value users hold. Its payload is an ndarray (eager) or a graph Value (while tracing).

Only this module reads the payload. Tapes and traces know a tensor by its serial number, which is never
reused, and never by ``id()``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .dtype import DTYPES, DType
from .errors import LeakedTensor, SymbolicValue, at, own_location
from .seams import known_while_tracing, unknown_attribute
from .spec import TensorSpec
from .tensor_shape import SHAPES, TensorShape, shape_of

if TYPE_CHECKING:
    from .declared import TensorExchange
    from .ir.graph import Value

#: Gives the serial number of the next tensor; numbers only grow.
next_serial: Callable[[], int] = itertools.count(1).__next__


class Unhashable:
    """Base of what compares element by element, so that ``==`` says nothing about identity."""

    __slots__ = ()
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    if not TYPE_CHECKING:  # checkers know which attributes there are

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):
                return object.__getattribute__(self, name)  # raises what the property has raised
            raise unknown_attribute(self, name)


if not TYPE_CHECKING:
    TensorExchange = Unhashable  # operators and most methods are given by higher layers


class Tensor(TensorExchange):
    """An immutable n-dimensional array that tapes and traces can follow.

    Made by :func:`tracejit.constant` and by every operation; not by calling this class with a `payload` and a `spec`.
    Supports the Python operators, indexing, iteration and the NumPy protocols.

    Attributes
    ----------
    dtype : DType
        The element type; `np_dtype` is NumPy's.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.constant([1.0, 2.0])
    >>> print(x.shape, x.dtype, (x * 2).numpy())
    (2,) <dtype: 'float32'> [2. 4.]
    """

    # np_dtype is a slot and no property: every op call reads it several times
    __slots__ = ("_payload", "_spec", "np_dtype", "serial", "__weakref__")
    __array_priority__ = 1000

    def __init__(self, payload: Any, spec: TensorSpec | None = None):
        self._payload = payload
        self._spec = spec
        self.np_dtype: np.dtype = payload.dtype if spec is None else spec.dtype
        self.serial: int = next_serial()

    @property
    def spec(self) -> TensorSpec:
        """Shape and dtype as one object."""
        spec = self._spec
        if spec is None:
            spec = self._spec = TensorSpec(self._payload.shape, self._payload.dtype)
        return spec

    @property
    def shape(self) -> TensorShape:
        """The sizes, outermost axis first: a tuple, with what :class:`TensorShape` adds."""
        spec = self._spec
        return SHAPES[self._payload.shape] if spec is None else shape_of(spec.shape, spec.symbolic)

    @property
    def dtype(self) -> DType:
        """The element type, which is taken wherever NumPy takes a dtype."""
        return DTYPES[self.np_dtype]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._payload.shape if self._spec is None else self._spec.shape)

    @property
    def is_symbolic(self) -> bool:
        """True while tracing: the tensor has a place in a graph but no value yet."""
        return not isinstance(self._payload, np.ndarray)

    @property
    def nbytes(self) -> Any:
        """Bytes its value takes: all elements together."""
        payload = self._payload
        return payload.nbytes if payload.__class__ is np.ndarray else self.spec.size * self.np_dtype.itemsize

    @property
    def array(self) -> np.ndarray:
        """The ndarray of an eager tensor, or of one that needs no run to be known (not a copy: do not write to it)."""
        payload = self._payload
        if payload.__class__ is not np.ndarray:
            known = None if payload.graph.finished else known_while_tracing(self)
            if known is None:
                raise no_value(self)
            return known
        return payload

    @property
    def value(self) -> Value:
        """The graph Value of a symbolic tensor."""
        return self._payload


class Elided:
    """The payload of a tensor whose value nobody will ask for. NumPy refuses to compute with it."""

    __slots__ = ("shape", "dtype")
    __array_ufunc__ = None
    nbytes = 0  # read where tapes count what they hold

    def __init__(self, shape: tuple[Any, ...], dtype: np.dtype):
        self.shape: tuple[Any, ...] = shape
        self.dtype: np.dtype[Any] = dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError("the value of this tensor was dropped")


def elided(tensor: Tensor) -> Tensor:
    """The same tensor as records know it, by serial number and spec, without the memory of its value."""
    payload = tensor._payload
    sizes = payload.shape if payload.__class__ is np.ndarray else tensor.shape  # a property that costs more
    shell = Tensor.__new__(Tensor)  # a serial number of its own would be thrown away
    shell._payload = Elided(sizes, tensor.np_dtype)
    shell._spec = tensor._spec
    shell.np_dtype = tensor.np_dtype
    shell.serial = tensor.serial
    return shell


class Overwritten(Tensor):
    """A tensor that was written to under another name, or as a part of another one: who reads it gets what it is now.

    Its payload and serial number stay what they were, which is what tapes and traces know it by. What it is now,
    `ops.tensor.memory.storage` tells.
    """

    __slots__ = ()
    exist: ClassVar[bool] = False  #: Is there any in this process?


def as_recorded(tensor: Tensor) -> Tensor:
    """The tensor as it was when a call took it, or gave it."""
    return twin(tensor) if tensor.__class__ is Overwritten else tensor


def twin(tensor: Tensor) -> Tensor:
    """Another object that is the same tensor, to tapes as well: of the same value, spec and serial number."""
    other = Tensor(tensor._payload, tensor._spec)
    other.serial = tensor.serial
    return other


def apart_from(tensor: Tensor, given: object) -> Tensor:
    """`tensor` as another object where it is `given` itself: two arrays, of which one may be written to."""
    return twin(tensor) if tensor is given else tensor


def no_value(tensor: Tensor) -> Exception:
    """The error for asking a symbolic tensor for its value, naming the user's line."""
    where, graph = at(own_location()), tensor.value.graph
    if graph.finished:
        part = f", a part of {graph.function!r}," if graph.function not in ("", graph.name) else ""
        return LeakedTensor(
            f"{tensor.spec} was traced in {graph.name!r}{part} and used after that trace ended; "
            f"return it from the function instead{where}"
        )
    return SymbolicValue(
        f"{tensor.spec} has no value while {graph.function!r} is being traced. Python's if, while, "
        "int(), float() and numpy() need one: use tracejit.cond, tracejit.while_loop or tracejit.where, "
        f"or compute it outside of the function; to look at it, use tracejit.print{where}"
    )
