"""Python functions as ops: compiled code calls them, in Python, in program order.

An op names its function by a number, which means something in this process alone: no such code is kept in files. What
the functions do with arrays is not known here.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from ..core.autodiff.scattered import dense
from ..core.errors import GradientError, ShapeError, at
from ..core.op import Attrs, Joint, defop, ops
from ..core.spec import TensorSpec, as_dtype
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from .arrays.shape import zeros
from .lowering import Callback, Expand
from .prints import host_effect, no_tangent

#: What is said of a result's shape: its sizes, or the number of an argument that has the same.
Shape = tuple[int, ...] | int

_CALL = TensorSpec((), np.dtype(np.int64))
#: In place of the number of a call of which nothing was kept.
UNKEPT = np.int64(-1)

_numbers = itertools.count()
_functions: WeakValueDictionary[int, Any] = WeakValueDictionary()
_known: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


class Number(int):
    """The number of a function, which lives as long as its number does: as an attribute, with graphs and their code."""

    function: Any

    def __deepcopy__(self, memo: Any) -> Number:
        return self


def number_of(function: Any) -> Number:
    """The number by which ops name `function`: from arrays to a sequence of arrays.

    Its ``notes``, a :class:`Notes`, tell what calls have given. Its ``keeping`` does what it does, and gives the number
    of this call as one more result. Its ``gradient``, a method of which inputs are differentiated, how many results it
    has and where, gives the function from the inputs, the results, their cotangents and the number of the call, or
    `UNKEPT`, to the cotangents of those inputs; there is none of those
    in ``apart``, numbers of inputs. Its ``place``, if it has one, ends messages: the user's line.
    """
    known = _known.get(function)
    if known is None:
        known = _known[function] = next(_numbers)
        _functions[known] = function
    number = Number(known)
    number.function = _functions[known]
    return number


class Notes:
    """What calls of a function have given, as little of it as tells whether another call gives the same."""

    def __init__(self) -> None:
        self._given: dict[bytes, list[np.ndarray]] = {}

    def note(self, arguments: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
        """Note a call; where one with the same arguments gave other values, none is confirmed from now on."""
        key = _digest(arguments)
        given = [_summary(a) for a in results]
        if key not in self._given:
            while len(self._given) >= _NOTED:
                self._given.pop(next(iter(self._given)), None)
            self._given[key] = given
        elif not _agree(self._given[key], given):
            self._given[key] = []

    def confirms(self, arguments: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> bool:
        """Have all calls with these arguments that are known, and there are some, given these results?"""
        given = self._given.get(_digest(arguments))
        return given is not None and _agree(given, [_summary(a) for a in results])


#: Calls of a function that are noted.
_NOTED = 1 << 16


_WEIGHTS = np.cos(np.arange(8191.0))


def _digest(arrays: Sequence[np.ndarray]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for a in arrays:
        digest.update(repr((a.shape, a.dtype.str)).encode())
        digest.update(repr(a.tolist()).encode() if a.dtype.hasobject else np.ascontiguousarray(a).tobytes())
    return digest.digest()


def _summary(a: np.ndarray) -> np.ndarray:
    """Sums by different weights: those of other elements are others, and rounding is seen as that."""
    if a.dtype.hasobject:
        return np.frombuffer(_digest([a]), np.uint8).astype(np.float64)
    flat = np.asarray(a).ravel().astype(np.complex128 if a.dtype.kind == "c" else np.float64)
    with np.errstate(all="ignore"):
        return np.array([flat @ np.resize(_WEIGHTS, flat.size), flat.sum(), np.abs(flat).sum()])


def _agree(one: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> bool:
    return len(one) == len(other) > 0 and all(
        np.allclose(a, b, rtol=0.0, atol=1e-6 * float(abs(a[-1])), equal_nan=True)
        for a, b in zip(one, other, strict=True)
    )


def _specs(
    values: Sequence[TensorSpec], dtypes: tuple[str, ...], shapes: tuple[Shape, ...], numbered: bool = False
) -> tuple[TensorSpec, ...]:
    sizes = [values[shape].shape if isinstance(shape, int) else shape for shape in shapes]
    results = [TensorSpec(s, as_dtype(d)) for s, d in zip(sizes, dtypes, strict=True)]
    return (*results, _CALL) if numbered else tuple(results)


def _keeping(inputs: Sequence[Tensor], attrs: Attrs) -> Attrs:
    """The form that keeps of a call what its gradient takes."""
    needs = any(t.spec.differentiable for t in inputs) and not attrs.get("numbered")
    return {**attrs, "numbered": True} if needs else attrs


def _kernel(
    *arrays: np.ndarray,
    function: int,
    dtypes: tuple[str, ...],
    shapes: tuple[Shape, ...],
    numbered: bool = False,
    noted: bool = False,
) -> tuple[np.ndarray, ...]:
    wanted = _specs([TensorSpec(a.shape, a.dtype) for a in arrays], dtypes, shapes, numbered)
    called = _functions[function]
    found = called.keeping(*arrays) if numbered else called(*arrays)
    for number, (array, spec) in enumerate(zip(found, wanted, strict=True)):
        if array.shape != spec.shape:
            raise ShapeError(
                f"result {number} of {_functions[function]} has the shape {array.shape}, and was announced with "
                f"{tuple(spec.shape)}: in compiled functions say output_shapes=..., by default every result has the "
                f"shape of the first argument{getattr(_functions[function], 'place', '')}"
            )
    if noted:
        called.notes.note(arrays, found[: len(dtypes)])
    return tuple(found)


def _kernel_again(*arrays: np.ndarray, function: int, numbered: bool = False, **attrs: Any) -> Any:
    """The results of a call that is made again; GradientError unless they are those of the first."""
    found = _kernel(*arrays, function=function, **attrs)
    called = _functions[function]
    if not called.notes.confirms(arrays, found):
        raise GradientError(
            f"{called} gives other values each time, and is called again for a derivative through the branch, loop or "
            "function that calls it: call it outside of that, and pass on what it has given"
            f"{getattr(called, 'place', '')}"
        )
    return (*found, np.asarray(UNKEPT)) if numbered else found


def _vjp(record: Any, gs: list[Any], needs: list[bool]) -> list[Tensor | None]:
    """The cotangents of the inputs: by the function's own gradient, called in Python too."""
    function, results = _functions[record.attrs["function"]], len(record.attrs["dtypes"])
    inputs = record.inputs[:-len(record.outputs)] if record.op is ops.python_call_given else record.inputs
    needs = [need and i not in function.apart for i, need in enumerate(needs[: len(inputs)])]
    if not any(needs):
        return [None for _ in record.inputs]
    outputs, call = record.outputs[:results], record.outputs[results:] or (as_tensor(UNKEPT),)
    if any(t.np_dtype.kind == "c" for t in (*inputs, *outputs)):
        raise GradientError(
            f"{function}: no gradient of complex numbers flows through Python{at(record.location)}"
        )
    gradient = function.gradient(tuple(needs), len(outputs), record.location)
    cotangents = [
        zeros(y.shape, y.np_dtype) if g is None else dense(g)
        for y, g in zip(outputs, gs[:results], strict=True)
    ]
    places = [i for i, need in enumerate(needs) if need]
    found = ops.python_gradient(
        *inputs,
        *outputs,
        *cotangents,
        *call,
        function=number_of(gradient),
        dtypes=tuple([inputs[i].np_dtype.name for i in places]),
        shapes=tuple(places),
    )
    of_place = dict(zip(places, found, strict=True))
    return [of_place.get(i) for i in range(len(record.inputs))]


@defop(
    vjp=Joint(_vjp),
    kernel=_kernel,
    lower=Callback(),
    with_residuals=_keeping,
    traits=("effect", "once", "expensive", "multiple", "may_fail", "this_process", "takes_text", "internal"),
)
def python_call(
    *values: TensorSpec,
    function: int,
    dtypes: tuple[str, ...],
    shapes: tuple[Shape, ...],
    numbered: bool = False,
    noted: bool = False,
) -> tuple[TensorSpec, ...]:
    """The results of a function of the program, which has a number, by their announced dtypes and shapes.

    With `numbered` the number of the call follows, under which the function keeps what its gradient takes. A shape is a
    tuple of sizes, or the number of the value that has the same. ShapeError, when the function has run, where a result
    has another one. `noted` says that it may be called again, see :func:`python_call_again`.
    """
    return _specs(values, dtypes, shapes, numbered)


@defop(
    vjp=Joint(_vjp),
    kernel=_kernel_again,
    lower=Callback(),
    with_residuals=_keeping,
    traits=("expensive", "multiple", "may_fail", "this_process", "takes_text", "internal"),
)
def python_call_again(
    *values: TensorSpec,
    function: int,
    dtypes: tuple[str, ...],
    shapes: tuple[Shape, ...],
    numbered: bool = False,
) -> tuple[TensorSpec, ...]:
    """As :func:`python_call`, where derivatives run a graph again: one with the same arguments has been noted.

    Not made where nobody uses its results. GradientError where they are others than those of the first call.
    """
    return _specs(values, dtypes, shapes, numbered)


def _results(*values: Any, dtypes: tuple[str, ...], numbered: bool = False, **attrs: Any) -> tuple[Any, ...]:
    return values[-len(dtypes) - numbered :]


@defop(
    vjp=Joint(_vjp),
    kernel=_results,
    lower=Expand(_results),
    traits=("multiple", "this_process", "takes_text", "internal"),
)
def python_call_given(
    *values: TensorSpec,
    function: int,
    dtypes: tuple[str, ...],
    shapes: tuple[Shape, ...],
    numbered: bool = False,
) -> tuple[TensorSpec, ...]:
    """As :func:`python_call`, where derivatives run a graph again and have what it gave: the last of the values.

    Its gradient is that of the call; no cotangent comes to what is kept.
    """
    return _results(*values, dtypes=dtypes, numbered=numbered)


@defop(
    vjp=Joint(_vjp),
    kernel=_kernel,
    lower=Callback(),
    traits=("expensive", "multiple", "may_fail", "this_process", "takes_text", "internal"),
)
def python_gradient(
    *values: TensorSpec, function: int, dtypes: tuple[str, ...], shapes: tuple[Shape, ...]
) -> tuple[TensorSpec, ...]:
    """As :func:`python_call`, for a function that is called for its results alone: not where nobody uses them."""
    return _specs(values, dtypes, shapes)


def _do(*arrays: np.ndarray, function: int) -> np.ndarray:
    _functions[function](*arrays)
    return np.asarray(True)


@defop(
    vjp=(None,),
    jvp=no_tangent,
    kernel=_do,
    lower=host_effect("python_effect"),
    traits=("effect", "prints", "may_fail", "this_process", "takes_text", "internal"),
)
def python_effect(*values: TensorSpec, function: int) -> TensorSpec:
    """Run a function of the program, which has a number, for what it does; it gives nothing.

    Results in True: what happens is all that matters.
    """
    return TensorSpec((), np.dtype(bool))


@defop(
    vjp=(None,),
    kernel=_kernel,
    lower=Callback(),
    traits=("expensive", "multiple", "may_fail", "this_process", "takes_text", "internal"),
)
def text_call(
    *values: TensorSpec, function: int, dtypes: tuple[str, ...], shapes: tuple[Shape, ...]
) -> tuple[TensorSpec, ...]:
    """As :func:`python_call`, for a function of text, or that makes text: no gradient passes."""
    return _specs(values, dtypes, shapes)
