"""Variable: a tensor that can be assigned, known to tapes by its handle.

Eagerly a Variable holds its value; while a function is traced it is a pair of graph values, the one it had at
entry and the one it has now. Every read starts a new history: gradients reach the handle, never what was
assigned. Outside of traces one thread at a time changes values, so that updates in several threads lose none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import repeat
from sys import getrefcount
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.arrays import python_kind
from ...core.dtype import DTYPES, DType
from ...core.errors import DtypeError, Location, ShapeError, at, user_location
from ...core.op import ops
from ...core.seams import give_methods, html
from ...core.spec import TensorSpec, shape_text
from ...core.tensor import Tensor, Unhashable, twin
from ...core.tensor_shape import TensorShape, shape_of
from ...core.tracing.dispatch import NO_ATTRS, Mode, Record, as_tensor, interpreting, notify, pausing, state
from ...core.tracing.trace import Trace
from ...ops.arrays.gather import add_at
from ...ops.state import read
from ...ops.tensor import operators, printing
from ...ops.tensor.at import At
from ...ops.tensor.facts import FACTS
from ...runtime.threads.forks import fork_safe
from ..conversion import convert_to_tensor
from .indexed_slices import IndexedSlices
from .row_updates import in_range
from .variable_init import initial_value_of, permit_creation
from .variable_scatter import ByPosition

if TYPE_CHECKING:
    from ...core.declared import TensorMethods

_ORDER = "buifc"  # kinds of dtype a value may be widened along

#: Held while values of Variables change, from the reading of the old one to the storing of the new one.
changing: Any = fork_safe()


def tracer() -> Trace | None:
    """The trace in charge, if any.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.autograph.current_trace()
    """
    interpreter = state.interpreter
    return interpreter if isinstance(interpreter, Trace) else None


if not TYPE_CHECKING:
    TensorMethods = Unhashable  # operators and protocols are delegated to tensors, below


class Variable(ByPosition, TensorMethods):
    """A tensor with state.

    What changes its value is atomic, eagerly and compiled: no update is lost when several threads make some, and of
    ``assign_add(1.0)`` in four threads all four count. ``v.assign(v + 1.0)`` is two steps, between which others may
    change it; in a compiled function it is one.

    Parameters
    ----------
    initial_value : tensor-like or callable
        Python floats become float32, as in :func:`tracejit.constant`.
    trainable : bool, optional
        Tapes watch it when it is read. Default True.
    dtype : dtype-like, optional
    name : str, optional
        ``Variable(3.0, name="x0").name`` is ``"x0:0"``.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> v.assign_add(2.0)
    <tf.Variable 'Variable:0' shape=() dtype=float32, numpy=3.0>
    """

    __slots__ = ("trainable", "name", "spec", "handle", "_value", "__weakref__")
    __array_priority__ = 1000
    #: Does it count what has been drawn? Then values drawn while tracing count too.
    counts_draws = False
    #: What an optimizer makes its value after each step; weights of layers may have one.
    constraint: Any = None

    def __init__(
        self, initial_value: Any, trainable: bool | None = None, *, dtype: Any = None, name: str | None = None
    ):
        now = tracer()
        if now is not None:
            permit_creation(now, self)
        initial = initial_value
        with interpreting(None):
            if callable(initial) and not isinstance(initial, (Tensor, Variable)):
                initial = initial()
            if now is not None and isinstance(initial, Tensor) and initial.is_symbolic:
                initial = initial_value_of(now, initial)
            tensor = convert_to_tensor(initial, dtype)
        if tensor.np_dtype.kind == "O":
            raise DtypeError(f"a Variable holds numbers or bools, not strings{at(user_location())}")
        self.trainable: bool = True if trainable is None else bool(trainable)
        self.name: str = f"{name or 'Variable'}:0"
        self.spec: TensorSpec = tensor.spec
        self._value = Tensor(tensor.array)
        #: Stands for the Variable where tapes name tensors; has a shape and a dtype, but no memory.
        self.handle: Tensor = Tensor(
            np.broadcast_to(np.zeros((), self.spec.dtype), self._value.array.shape), self.spec
        )

    # ---- reading ----------------------------------------------------------------------------------------

    def __tensor__(self) -> Tensor:
        """Read: the value now, as something that depends on this Variable."""
        mode = state.mode
        if is_alone(mode):
            return self._value
        if mode.interpreter is None:
            return self._recorded(mode, self._value, self.handle)
        now = tracer()
        if now is None:
            self._tell(mode.recorders, self.handle)
            return read(self._value, self.handle)
        held = now.hold(self, self.spec)
        if held.assigned:
            self._tell(mode.recorders, held.entry)
            return read(held.now, held.entry)
        return self._recorded(mode, held.entry, held.entry)

    #: The same, in the dtype that it is kept in: what regions and compiled functions take of it.
    as_kept = __tensor__

    def _recorded(self, mode: Mode, value: Tensor, key: Tensor) -> Tensor:
        """The value as a tensor of its own: on tapes, what was read is not what stands for the Variable.

        What applying `read` comes to, which is the most frequent op of a tape.
        """
        own = Tensor(value._payload, value._spec)
        if not mode.recorders:
            return own
        record = Record(read, (value, key), NO_ATTRS, (own,), mode.location or user_location(3))
        self._tell(mode.recorders, key)
        for recorder in mode.recorders:
            recorder.record(record)
        return own

    def announce(self) -> None:
        """Tell the tapes that listen that this Variable is being read."""
        self._tell(state.recorders, self.key())

    def _tell(self, recorders: tuple[Any, ...], key: Tensor) -> None:
        for recorder in recorders:
            accessed = getattr(recorder, "accessed", None)
            if accessed is not None:
                accessed(self, key)

    def key(self) -> Tensor:
        """What stands for this Variable on tapes: its handle, or its value at the entry of the trace."""
        if state.mode.interpreter is None:
            return self.handle
        now = tracer()
        return self.handle if now is None else now.hold(self, self.spec).entry

    def current(self) -> Tensor:
        """The value now, on no tape: for updates that start from it."""
        now = tracer()
        return self._value if now is None else now.hold(self, self.spec).now

    def read_value(self) -> Tensor:
        """The value as a Tensor."""
        return twin(self.__tensor__())  # what is written to that leaves the Variable alone

    value = read_value

    @property
    def shape(self) -> TensorShape:
        """The sizes, outermost axis first: a tuple, with what :class:`TensorShape` adds."""
        return shape_of(self.spec.shape, self.spec.symbolic)

    @property
    def dtype(self) -> DType:
        """The element type, which is taken wherever NumPy takes a dtype."""
        return DTYPES[self.spec.dtype]

    @property
    def np_dtype(self) -> np.dtype:
        """The element type, NumPy's."""
        return self.spec.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.spec.shape)

    @property
    def is_symbolic(self) -> bool:
        """Is it being traced? Then it has no value."""
        return tracer() is not None

    @property
    def array(self) -> np.ndarray:
        """The ndarray that holds the value; do not write to it."""
        return self.current().array

    # ---- writing ----------------------------------------------------------------------------------------

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Replace the value by `value`, of its shape and made of its dtype. Returns the Variable.

        Gradients do not flow to what was assigned. The other arguments are accepted for programs written for other
        libraries, and ignored. ShapeError for another shape.
        """
        if self._fits_plainly(value):
            with changing:
                self._value = Tensor(value._payload)
            return self
        fitting = self._fitting(value)
        if state.recorders:
            notify("assign", fitting, self.key().serial)
        self.store(fitting)
        return self

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Add `delta` to the value; of :class:`IndexedSlices` only their rows are added. Returns the Variable.

        The other arguments are accepted and ignored.
        """
        if self._fits_plainly(delta):
            with changing:
                self._value = ops.add(self._value, delta)
            return self
        if isinstance(delta, IndexedSlices) and delta.spec == self.spec:
            return self._add_rows(delta)
        return self._update(ops.add, delta)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Subtract `delta` from the value; of :class:`IndexedSlices` only from their rows. Returns the Variable.

        The other arguments are accepted and ignored.
        """
        if self._fits_plainly(delta):
            with changing:
                self._value = ops.subtract(self._value, delta)
            return self
        if isinstance(delta, IndexedSlices) and delta.spec == self.spec:
            return self._add_rows(-delta)
        return self._update(ops.subtract, delta)

    def _add_rows(self, rows: IndexedSlices) -> Variable:
        if state.recorders:
            notify("assign", rows, self.key().serial)
        with pausing():
            if tracer() is None and not rows.is_symbolic and in_range(rows.indices.array, self.shape[0]):
                self.add_rows(rows.indices.array, rows.values.array)
            else:
                self.change(lambda now: ops.scatter_add(now, rows.indices, rows.values, axis=0))
        return self

    def add_rows(self, indices: np.ndarray, values: np.ndarray) -> None:
        """Add `values` to the rows `indices` outside of traces: in its own memory when nobody else holds its value."""
        with changing:
            if not alone(self):
                self._value = Tensor(np.array(self._value.array))
            array = self._value.array
            array.flags.writeable = True  # a tensor's array may have been locked
            state.ignoring_fp_errors.run(add_at, array, indices, values)
            self._value = Tensor(array)

    def __setitem__(self, index: Any, value: Any) -> None:
        """``v[index] = value``: assign this part of the value. Gradients do not flow to what was assigned."""
        if state.recorders:
            notify("assign", as_tensor(value), self.key().serial)
        self.change(lambda now: At(now)[index].set(value))

    def _update(self, op: Callable[..., Any], delta: Any) -> Variable:
        delta = self._fitting(delta, "update")
        if state.recorders:
            notify("assign", delta, self.key().serial)
        self.change(lambda now: op(now, delta))
        return self

    def change(self, new: Callable[[Tensor], Tensor]) -> None:
        """Store what `new` makes of the value now, on no tape and with no other update in between."""
        if state.recorders:
            with pausing():
                self.change(new)
        elif tracer() is not None:
            self.store(new(self.current()))
        else:
            with changing:
                self.store(new(self._value))

    def _fits_plainly(self, value: Any) -> bool:
        """Is it a tensor of the same spec, while nothing is traced and nobody listens? What most updates come to."""
        if value.__class__ is not Tensor or state.mode.busy:
            return False
        array, spec = value._payload, self.spec
        return array.__class__ is np.ndarray and array.dtype is spec.dtype and array.shape == spec.shape

    def _fitting(self, value: Any, what: str = "assign") -> Tensor:
        x = as_tensor(value)
        mine = self.spec.dtype
        if x.np_dtype != mine:
            fits = _widens(x.np_dtype, mine) or (mine.kind == "u" and python_kind(value) is int)
            if isinstance(value, (Tensor, Variable)) or not fits:
                raise DtypeError(
                    f"cannot {what} {x.spec} to {self.name!r} of {self.spec}: cast it first"
                    f"{at(user_location())}"
                )
            x = as_tensor(value, mine) if not isinstance(value, np.ndarray) else ops.cast(x, dtype=mine)
        if x.shape != self.spec.shape and (what == "assign" or len(x.shape) > len(self.spec.shape)):
            raise ShapeError(
                f"cannot {what} {x.spec} to {self.name!r} of shape {shape_text(self.spec.shape)}"
                f"{at(user_location())}"
            )
        return x

    def store(self, tensor: Tensor) -> None:
        """Make `tensor` the value from here on; ShapeError where it has another shape."""
        self._require_shape(tensor)
        now = tracer()
        if now is None:
            with changing:
                self._value = Tensor(tensor.array)
            return
        held = now.hold(self, self.spec)
        held.now, held.assigned = now.lift(tensor), True

    def _require_shape(self, tensor: Tensor) -> None:
        if tensor.shape != self.spec.shape:
            raise ShapeError(
                f"an update of {self.name!r} of shape {shape_text(self.spec.shape)} gives "
                f"{tensor.spec}{at(user_location())}"
            )

    def commit(self, array: np.ndarray) -> None:
        """Store `array`, of the right shape and dtype, as the value: what a compiled call computed."""
        self._value = Tensor(array)

    # ---- the rest ---------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return printing.variable_repr(self.name, self)

    def _repr_html_(self) -> str:
        return html(self)

    def __copy__(self) -> Variable:
        return Variable(np.array(self.array), self.trainable, name=self.name.removesuffix(":0"))

    def __deepcopy__(self, memo: dict[Any, Any]) -> Variable:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (np.array(self.array), self.trainable, self.name.removesuffix(":0"))


def commit_all(variables: Sequence[Variable], arrays: Sequence[np.ndarray]) -> None:
    """Store what a compiled call computed: in all of them or in none, as no signal is answered in between."""
    values = [Tensor(a) for a in arrays]
    deque(map(setattr, variables, repeat("_value"), values), maxlen=0)  # runs no Python code


def store_all(variables: Sequence[Variable], tensors: Sequence[Tensor]) -> None:
    """Tell recorders, and make `tensors` the values from here on: in all of them or in none."""
    for variable, tensor in zip(variables, tensors, strict=True):
        variable._require_shape(tensor)
        notify("assign", tensor, variable.key().serial)
    if tracer() is None:
        commit_all(variables, [tensor.array for tensor in tensors])
        return
    for variable, tensor in zip(variables, tensors, strict=True):
        variable.store(tensor)


def _widens(given: np.dtype, to: np.dtype) -> bool:
    """May numbers of one dtype become the other's without being asked? Text never does."""
    return 0 <= _ORDER.find(DTYPES[given].kind) <= _ORDER.find(DTYPES[to].kind)


def _holders(owner: Any) -> tuple[int, int]:
    """How many hold the tensor that `owner` has as value, and how many its array."""
    value = owner._value
    return getrefcount(value), getrefcount(value._payload)


#: What `_holders` gives where nobody else does; counted, since it differs between versions of Python.
_NOBODY_ELSE = _holders(SimpleNamespace(_value=Tensor(np.zeros(1))))


def alone(variable: Variable) -> bool:
    """May the array be written to, because nobody but the Variable holds it?"""
    return variable._value._payload.flags.owndata and _holders(variable) == _NOBODY_ELSE


def _restored(array: np.ndarray, trainable: bool, name: str) -> Variable:
    return Variable(array, trainable, name=name)


#: By serial number: tensors computed from a Variable outside of tapes, its name, and where. For explanations.
COMPUTED: dict[int, tuple[str, Location | None]] = {}
MOST_COMPUTED = 1024


def is_alone(mode: Mode) -> bool:
    """Does nobody listen or trace?"""
    return not mode.busy or not (mode.recorders or mode.interpreter)


def remember(tensor: Tensor, variable: Variable) -> None:
    if len(COMPUTED) >= MOST_COMPUTED:
        COMPUTED.clear()
    COMPUTED[tensor.serial] = (variable.name, user_location())


def _reading(method: Any, name: str) -> Callable[..., Any]:
    """The method of a tensor, for the tensor that is read."""

    def forward(self: Variable, *args: Any, **kwargs: Any) -> Any:
        result = method(self.__tensor__(), *args, **kwargs)
        if result.__class__ is Tensor and is_alone(state.mode):
            remember(result, self)
        return result

    def operator(self: Variable, other: Any) -> Any:  # the same, for the most frequent ones
        result = method(self.__tensor__(), other)
        if result.__class__ is Tensor and is_alone(state.mode):
            remember(result, self)
        return result

    if name in operators.BINARY:
        forward = operator
    forward.__name__ = name
    forward.__doc__ = method.__doc__
    return forward


def _delegate_to_tensor() -> None:
    """Operators and protocols read the Variable and go on with the tensor."""
    own = set(vars(Variable))
    inherited = {"__str__", "__hash__", "__copy__", "__deepcopy__", "__reduce__"}
    for name in (*operators.OPERATORS, *operators.PROTOCOLS):
        if name in own or name in inherited:
            continue
        method = getattr(Tensor, name)
        if isinstance(method, property):
            setattr(Variable, name, property(_reading(method.fget, name), doc=method.__doc__))
        else:
            setattr(Variable, name, _reading(method, name))


_delegate_to_tensor()
give_methods(Variable, FACTS)
