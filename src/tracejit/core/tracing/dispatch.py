"""Op dispatch: every op call, eager or traced, goes through `apply`, and the current interpreter decides its meaning.

With nothing tracing and nothing recording, `apply` runs the kernel and wraps the result: the fast lane. A lane
may skip work, never add meaning. Knows no op, no tape and no trace by name.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import seams, settings
from ..arrays import to_array
from ..dim import Dim, UnknownSize
from ..dtype import BFLOAT16, DType
from ..errors import (
    AT,
    DtypeError,
    Location,
    OutOfRange,
    ShapeError,
    TracejitError,
    as_explained,
    at,
    is_explained,
    user_location,
    user_stack,
)
from ..lazy import Later
from ..op import Op, understood
from ..protocols import Guard, Interpreter, Recorder
from ..protocols import Record as Record
from ..spec import TEXT
from ..tensor import Tensor, next_serial, no_value
from .depth import too_deep

if TYPE_CHECKING:
    from . import non_finite, promotion
else:
    non_finite, promotion = Later(".non_finite", __package__), Later(".promotion", __package__)


class Mode:
    """What a thread is doing: the interpreter in charge (None is eager), the recorders, an inherited location.

    `origin` is the line of the op in whose place others are being written, for those that nobody else has a line for.
    `guards` are recorders that answer for whole derivatives, and stay while something is traced. `slow` is false only
    when `apply` may take the fast lane. `busy` is true while anything records, and where `slow` is, but for
    ``settings(nans=True)``, of which compiled code takes care itself. `locate` finds the user's line, with its callers
    if debug information is wanted. `attempt` is the innermost one at tracing, see `transaction`. `tell` is
    :func:`tell` or machine code. A new thread starts with nothing.
    """

    tell: ClassVar[Callable[..., None]]

    __slots__ = (
        "interpreter",
        "recorders",
        "guards",
        "location",
        "origin",
        "ignoring_fp_errors",
        "slow",
        "busy",
        "locate",
        "attempt",
    )

    def __init__(self) -> None:
        self.interpreter: Interpreter | None = None
        self.recorders: tuple[Recorder, ...] = ()
        self.guards: tuple[Guard, ...] = ()
        self.location: Location | None = None
        self.origin: Location | None = None
        self.ignoring_fp_errors: contextvars.Context = _quiet_context()
        self.attempt: Any = None
        self.update()

    def update(self) -> None:
        now = settings.current()
        careful = self.interpreter is not None or now.check or not now.fast
        self.slow: bool = bool(careful or now.nans)
        self.busy: bool = bool(careful or self.recorders)
        self.locate: Callable[[], Location | None] = user_stack if now.debug_info else user_location


def _of_mode(name: str) -> Any:
    return property(
        lambda self: getattr(self.mode, name), lambda self, value: setattr(self.mode, name, value)
    )


class State(threading.local):
    """The mode of the running thread, and its fields.

    Every look at what belongs to a thread costs as much as a short call: whoever is in a hurry looks at `mode` once.
    """

    def __init__(self) -> None:
        self.mode: Mode = Mode()

    interpreter: Interpreter | None = _of_mode("interpreter")
    recorders: tuple[Recorder, ...] = _of_mode("recorders")
    guards: tuple[Guard, ...] = _of_mode("guards")
    location: Location | None = _of_mode("location")
    origin: Location | None = _of_mode("origin")
    ignoring_fp_errors: contextvars.Context = _of_mode("ignoring_fp_errors")
    slow: bool = _of_mode("slow")
    busy: bool = _of_mode("busy")


def _quiet_context() -> contextvars.Context:
    """A context in which NumPy neither warns nor raises on NaN, infinities and division by zero."""
    context = contextvars.copy_context()
    context.run(np.seterr, all="ignore")  # NumPy keeps the error state in a context variable
    return context


state: State = State()
seams.settings_changed.on(lambda: state.mode.update())


_new_tensor = Tensor.__new__

#: The attributes of an op that has none; nobody writes to it.
NO_ATTRS: dict[str, Any] = {}


def apply(op: Op, inputs: tuple[Tensor, ...], attrs: Mapping[str, Any]) -> Any:
    """Call `op` on tensors with canonical attributes; a Tensor, or a tuple of them."""
    mode = state.mode
    if mode.slow or op.slow:
        return _apply(mode, op, inputs, attrs)
    return apply_fast(mode, op, inputs, attrs)


def apply_fast(mode: Mode, op: Op, inputs: tuple[Tensor, ...], attrs: Mapping[str, Any]) -> Any:
    """The fast lane of `apply`, for who has seen that neither the mode nor the op is slow."""
    try:
        if inputs and inputs[0].np_dtype.num not in op.accepted_dtypes:
            if BFLOAT16 and promotion.widens(op, inputs):
                return promotion.in_float32(op, inputs, attrs)
            accept_dtype(op, inputs, attrs)
        if attrs or not op.ufunc:
            if BFLOAT16 and promotion.widens(op, inputs):  # not the first input, but another one
                return promotion.in_float32(op, inputs, attrs)
            out = mode.ignoring_fp_errors.run(op.kernel, *[t._payload for t in inputs], **attrs)
        elif len(inputs) == 2:
            a, b = inputs[0]._payload, inputs[1]._payload
            out = None if op.small is None else op.small(a, b)
            if out is None:
                out = mode.ignoring_fp_errors.run(op.kernel, a, b, out=...)
        else:
            out = None if op.small is None else op.small(inputs[0]._payload)
            if out is None:
                out = mode.ignoring_fp_errors.run(op.kernel, inputs[0]._payload, out=...)
    except Exception as error:
        raise explain(op, inputs, attrs, error, mode.location or user_location()) from error
    if out.__class__ is tuple:
        outputs = wrap(out)
    else:
        array = out if out.__class__ is np.ndarray else np.asarray(out)
        result = _new_tensor(Tensor)  # what Tensor(array) does, without the calls
        result._payload = array
        result._spec = None
        result.np_dtype = array.dtype
        result.serial = next_serial()
        if not mode.recorders and not op.multiple:
            return result
        outputs = (result,)
    if mode.recorders:
        mode.tell(mode, op, inputs, attrs, outputs)
    return outputs if op.multiple else outputs[0]


def tell(mode: Mode, op: Op, inputs: tuple[Any, ...], attrs: Any, outputs: tuple[Any, ...]) -> None:
    """Let those who listen know of a call, whose caller's caller is internal."""
    record = Record(op, inputs, attrs, outputs, mode.location or user_location(4))
    for recorder in mode.recorders:
        recorder.record(record)


seams.give_methods(Mode, {"tell": staticmethod(tell)})


def _apply(mode: Mode, op: Op, inputs: tuple[Tensor, ...], attrs: Mapping[str, Any]) -> Any:
    if BFLOAT16 and promotion.widens(op, inputs):
        return promotion.in_float32(op, inputs, attrs)
    location = mode.location or mode.origin or mode.locate()
    if mode.recorders and op.with_residuals is not None:
        attrs = op.with_residuals(inputs, attrs)
    interpreter = mode.interpreter
    if interpreter is None:
        outputs = run_kernel(op, inputs, attrs, location)
    else:
        outputs = interpreter.run(op, inputs, attrs, location)
    if mode.recorders:
        record = Record(op, inputs, attrs, outputs, location)
        for recorder in mode.recorders:
            recorder.record(record)
    return outputs if op.multiple else outputs[0]


def accept_dtype(op: Op, inputs: tuple[Tensor, ...], attrs: Mapping[str, Any]) -> None:
    """Ask the shape rule, once per dtype, whether it means the op: NumPy's kernels take more than the ops do."""
    if any(t.np_dtype is TEXT for t in inputs):
        require_text(op)
    op.specs(tuple([t.spec for t in inputs]), attrs)
    op.accepted_dtypes.add(inputs[0].np_dtype.num)


def require_text(op: Op) -> None:
    """DtypeError unless the op takes text, as those do that only move elements; what holds graphs, hands it on."""
    if TEXT.num not in op.accepted_dtypes and not op.runs_graphs:
        raise DtypeError("takes numbers and bools, not strings; see tracejit.strings for what strings can do")


def run_kernel(
    op: Op, inputs: tuple[Tensor, ...], attrs: Mapping[str, Any], location: Location | None
) -> tuple[Tensor, ...]:
    """Run the NumPy kernel, off the fast lane."""
    arrays = [t._payload for t in inputs]
    try:
        if arrays and arrays[0].dtype.num not in op.accepted_dtypes:
            accept_dtype(op, inputs, attrs)
        if op.runs_graphs:
            outputs = wrap(op.kernel(*arrays, **attrs))
        else:
            outputs = wrap(state.ignoring_fp_errors.run(op.kernel, *arrays, **attrs))
        now = settings.current()
        if now.check:
            _check(op, inputs, attrs, outputs)
        if now.nans:
            non_finite.require_finite(op, inputs, attrs, outputs, location)
        return outputs
    except Exception as error:
        raise explain(op, inputs, attrs, error, location) from error


def wrap(out: Any) -> tuple[Tensor, ...]:
    """Kernel results as tensors."""
    if out.__class__ is tuple:
        return tuple([Tensor(np.asarray(o)) for o in out])
    return (Tensor(np.asarray(out)),)


def _check(op: Op, inputs: tuple[Tensor, ...], attrs: Mapping[str, Any], outputs: tuple[Tensor, ...]) -> None:
    expected = op.specs(tuple(t.spec for t in inputs), attrs)
    got = tuple(t.spec for t in outputs)
    if not any(s.symbolic for s in expected) and expected != got:
        raise TracejitError(f"the shape rule of {op} says {expected}, its kernel returned {got}")


def explain(
    op: Op, inputs: Sequence[Tensor], attrs: Mapping[str, Any], error: Exception, location: Location | None
) -> Exception:
    """The error to raise when an op failed: op with specs, what is wrong, where."""
    if is_explained(error):
        return error
    for t in inputs:
        if t.is_symbolic and state.interpreter is None:
            return no_value(t)
    if not isinstance(error, (ShapeError, DtypeError)):
        try:  # the shape rule words the error better than NumPy does
            op.specs(tuple(t.spec for t in inputs), attrs)
        except (ShapeError, DtypeError, UnknownSize) as better:
            better.__traceback__ = better.__context__ = None  # frames that keep it would wait for the collector
            error = better
    told_by_program = (
        "message" in attrs
    )  # a check raises what it was given, with a text that is meant for readers
    own = told_by_program or isinstance(error, (TracejitError, MemoryError, AssertionError))
    kind = type(error) if own else _kind(error)
    operands = [str(t.spec) for t in inputs]
    if len(operands) > _SHOWN:
        operands[_SHOWN // 2 : -1] = [f"… {len(operands)} in all …"]
    call = f"{op}({', '.join(operands)}{_attrs_text(attrs)}): "
    told = "" if told_by_program else call
    where = "" if AT in str(error) else at(location)
    return as_explained(kind(f"{told}{error}{where}"))


def _kind(error: Exception) -> type[Exception]:
    if isinstance(error, TypeError):
        return DtypeError
    if isinstance(error, IndexError):
        return OutOfRange
    return ShapeError if isinstance(error, ValueError) else TracejitError


def _attrs_text(attrs: Mapping[str, Any]) -> str:
    shown = {k: v for k, v in attrs.items() if isinstance(v, (int, float, str, tuple, np.dtype))}
    texts = {k: v.name if isinstance(v, np.dtype) else str(v) for k, v in shown.items()}
    return "".join(f", {k}={v if len(v) < 300 else v[:200] + ' …'}" for k, v in texts.items())


#: Operands that an error names.
_SHOWN = 12


# ---- who is in charge -----------------------------------------------------------------------------------


class _replacing:
    """Other values for fields of the mode, for a ``with`` block; all are put back also where a signal raises."""

    __slots__ = ("fields", "saved")

    def __init__(self, **fields: Any):
        self.fields, self.saved = fields, dict[str, Any]()

    def __enter__(self) -> None:
        self.saved = {k: getattr(state, k) for k in self.fields}
        self.put(self.fields)

    def __exit__(self, *exc: object) -> None:
        self.put(self.saved)

    def put(self, fields: dict[str, Any]) -> None:
        mode = state.mode
        try:
            for name, value in fields.items():
                setattr(mode, name, value)
            mode.update()
        except BaseException:
            self.put(self.saved)
            raise


def interpreting(interpreter: Interpreter | None) -> Any:
    """Put `interpreter` in charge, with nothing recording, for a ``with`` block."""
    return _replacing(interpreter=interpreter, recorders=(), location=None)


def at_once_in_a_kernel() -> Any:
    """Run ops at once, with nothing recording, in a ``with`` block that a kernel of an op may stand around."""
    fields = {"interpreter": None, "recorders": (), "guards": (), "location": None, "origin": None}
    return _replacing(**fields, ignoring_fp_errors=_quiet_context())


def resuming(interpreter: Interpreter | None, recorders: tuple[Recorder, ...]) -> Any:
    """Put back an interpreter and recorders that were in charge before, for a ``with`` block."""
    return _replacing(interpreter=interpreter, recorders=recorders)


def recording(recorder: Recorder) -> Any:
    """Let `recorder` listen, besides those that do already."""
    return _replacing(recorders=(*state.recorders, recorder))


def pausing(recorder: Recorder | None = None) -> Any:
    """Stop one recorder (or all) from listening for a ``with`` block."""
    if recorder is None:
        return _replacing(recorders=(), guards=())
    return _replacing(recorders=tuple(r for r in state.recorders if r is not recorder))


def recording_only(recorders: Sequence[Recorder]) -> Any:
    """Let these recorders listen and no others, for a ``with`` block."""
    return _replacing(recorders=tuple(recorders))


def in_place_of(location: Location | None) -> Any:
    """Let ops of rules traced in the block, and of their regions, report `location`, unless they have one."""
    return _replacing(origin=location)


def located(location: Location | None) -> Any:
    """Let ops called in the block report `location` as theirs: derivatives and rewrites inherit it."""
    return _replacing(location=location or state.location)


class rule_of:
    """Let ops of a user's rule for `name`, called at `location`, report their own lines, for a ``with`` block.

    What goes wrong in the block gets a note with the call's.
    """

    __slots__ = ("call", "location", "name")

    def __init__(self, name: str, location: Location | None):
        self.name, self.call = name, location

    def __enter__(self) -> None:
        self.location, state.location = state.location, None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        state.location = self.location
        if isinstance(error, Exception) and self.call is not None:
            error.add_note(f"in the gradient rule of {self.name}, which was called{at(self.call)}")


def start_recording(mode: Mode, recorder: Recorder) -> None:
    """Let `recorder` listen in the thread of that mode until :func:`stop_recording`."""
    mode.recorders = (*mode.recorders, recorder)
    mode.busy = True


def stop_recording(mode: Mode, recorder: Recorder) -> None:
    """End :func:`start_recording`."""
    try:
        recorders = mode.recorders
        alone = len(recorders) == 1 and recorders[0] is recorder  # what most calls come to
        mode.recorders = () if alone else tuple([r for r in recorders if r is not recorder])
        mode.busy = bool(mode.slow or mode.recorders)
    except BaseException:  # a signal's
        stop_recording(mode, recorder)
        raise


#: Python numbers that were made tensors, see `promotion`.
scalars: dict[tuple[Any, ...], Tensor] = {}


def notify(kind: str, tensor: Tensor, owner: int = 0) -> None:
    """Let recorders and guards know of something that is no op call.

    `kind` is ``value`` (it was taken out), ``choice`` (a truth value or whole number of it), ``assign`` or ``inside``.
    """
    mode = state.mode
    if kind == "value":
        scalars.clear()  # a number that comes back is a new tensor: recorders tell by age what may depend on it
    for recorder in dict.fromkeys((*mode.recorders, *mode.guards)):
        if hasattr(recorder, "on_event"):
            recorder.on_event(kind, tensor, owner)


def is_tracing() -> bool:
    """Is an op call adding to a graph right now?"""
    return state.interpreter is not None and hasattr(state.interpreter, "graph")


# ---- from Python values to tensors ----------------------------------------------------------------------


def as_tensor(x: Any, dtype: Any = None) -> Tensor:
    """`x` as a Tensor: tensors as they are, Variables read, arrays and numbers copied, lists of tensors joined.

    Only numbers and lists of them take the `dtype`; a number is what has ``in_dtype``, too.
    """
    if x.__class__ is Tensor:
        return x
    read = getattr(x, "__tensor__", None)
    if read is not None:
        in_dtype = None if dtype is None else getattr(x, "in_dtype", None)
        return read() if in_dtype is None else in_dtype(np.dtype(dtype))
    if x.__class__ is Dim:
        return x.in_dtype(np.dtype(dtype or np.int32))
    try:
        if x.__class__ in (list, tuple) and holds_tensors(x):
            return seams.stacked([as_tensor(e, dtype) if holds_tensors(e) else e for e in x])
        array = to_array(x, dtype)
    except RecursionError as error:
        raise too_deep(error) from None
    interpreter = state.interpreter
    return Tensor(array) if interpreter is None else interpreter.constant(array)


def holds_tensors(x: Any) -> bool:
    """Is it a tensor, a Variable or a size, or a list with one inside?"""
    if x.__class__ in (list, tuple):
        return any(map(holds_tensors, x))
    return x.__class__ is Tensor or hasattr(x, "__tensor__") or x.__class__ is Dim


def _located(op: Op, error: TracejitError) -> TracejitError:
    """What is wrong with arguments, with the op and the user's line, each once."""
    if is_explained(error):
        return error
    message = str(error)
    return as_explained(type(error)(f"{op}: {message}" + ("" if AT in message else at(user_location()))))


def _call(self: Op, *inputs: Any, **attrs: Any) -> Any:
    """The user's door of an op: canonicalize, make tensors, apply."""
    if attrs:
        if not attrs.keys() <= self.keywords:
            inputs, attrs = understood(self, inputs, attrs)
        if attrs.get("dtype").__class__ is DType:
            attrs = {**attrs, "dtype": attrs["dtype"].dtype}
    if self.canonicalize is not None:
        try:
            inputs, attrs = self.canonicalize(inputs, attrs)
            inputs = tuple(inputs)
        except TracejitError as error:
            raise _located(self, error) from None
    for x in inputs:
        if x.__class__ is not Tensor:
            inputs = tuple([as_tensor(x) for x in inputs])
            break
    return apply(self, inputs, attrs)


seams.give_methods(Op, {"__call__": _call})
