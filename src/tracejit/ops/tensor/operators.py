"""Python's and NumPy's protocols for tensors: operators, conversion, ``np.sin(tensor)``, convenience methods.

Importing this module completes `core.tensor.Tensor`. Indexing is in `indexing`, text in `printing`.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import seams
from ...core.arrays import to_array
from ...core.dim import known, unknown
from ...core.errors import DtypeError, SymbolicValue, at, is_internal, user_location
from ...core.lazy import Later
from ...core.op import Op, ops
from ...core.seams import numpy_function
from ...core.tensor import Tensor, no_value, twin
from ...core.tracing.dispatch import NO_ATTRS, apply, apply_fast, as_tensor, state
from ...core.tracing.promotion import known_scalar, read_variable
from ...core.tracing.transaction import warn
from ..arrays import reduce
from ..arrays.reduce import axes_of, kept
from ..elementwise import arithmetic, bits, compare, power, rounding
from ..linalg import products
from . import printing
from .at import At
from .exchange import EXCHANGE, lent_array, value_of
from .facts import FACTS
from .indexing import get
from .memory.holders import LENDS, is_part_written_back, named_twice
from .memory.overlaps import copied
from .memory.programs import in_its_place
from .memory.shared import is_held, note_written, note_written_eagerly
from .numpy_protocol import METHODS, array_function, array_ufunc
from .writing import set_item

if TYPE_CHECKING:
    from .. import text_values
else:
    text_values = Later("..text_values", __package__)

_NUMBERS = (int, float)

#: Calls of operators after which machine code is worth its loading, where most of that is loaded; and anywhere.
SOON, OFTEN = 2_000, 20_000
next_call: Callable[[], int] = count(1).__next__
_MANY_ROWS = 1000  # a loop of more steps in a trace is hardly meant to be written out


def _binary(op: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def forward(self: Any, other: Any) -> Any:
        return op(self, other)

    def reflected(self: Any, other: Any) -> Any:
        return op(other, self)

    if op is arithmetic.divide:
        return _of_one_dtype(op, "fc", forward), _of_one_dtype(op, "fc", reflected, turned=True)
    if op is arithmetic.add:
        forward, reflected = _added(op, turned=False), _added(op, turned=True)
    if isinstance(op, Op) and op.canonicalize is arithmetic.matched:
        return _of_one_dtype(op, "biufc", forward), _of_one_dtype(op, "biufc", reflected, turned=True)
    return forward, reflected


def _of_one_dtype(
    op: Op, kinds: str, otherwise: Callable[..., Any], turned: bool = False
) -> Callable[..., Any]:
    """The operator of an op that brings its tensors to one dtype: nothing to prepare where they have one of `kinds`.

    All else is left to `otherwise`; `turned` says that the other operand comes first.
    """

    def operator(self: Any, other: Any) -> Any:
        mode = state.mode
        if mode.slow or self.__class__ is not Tensor or self.np_dtype.kind not in kinds:
            return otherwise(self, other)
        calls = next_call()
        if calls == SOON or calls == OFTEN:
            seams.operators_are_hot(calls == OFTEN)
        kind = other.__class__
        if kind is Tensor and other.np_dtype is self.np_dtype:
            operand = other
        elif kind is float or kind is int:
            operand = known_scalar((kind, other, self.np_dtype.num))
            if operand is None:
                return otherwise(self, other)
        else:
            operand = read_variable(other)
            if operand.__class__ is not Tensor or operand.np_dtype is not self.np_dtype:
                return otherwise(self, operand)
        return apply_fast(mode, op, (operand, self) if turned else (self, operand), NO_ATTRS)

    return operator


def _compared(op: Callable[..., Any], otherwise: bool | None) -> Callable[..., Any]:
    """A comparison; with None, strings and other strangers == is False and != is True, as Python has it."""

    def forward(self: Any, other: Any) -> Any:
        if otherwise is not None:
            if self.np_dtype.kind == "O":
                return _compared_text(op, self, other, otherwise)
            if other is None or isinstance(other, str):
                return otherwise
        return op(self, other)

    return forward


def _compared_text(op: Callable[..., Any], self: Any, other: Any, otherwise: bool) -> Any:
    """Strings are equal or not, element by element; to anything else they are not."""
    try:
        text = as_tensor(other)
    except DtypeError:
        return otherwise
    return op(self, text) if text.np_dtype.kind == "O" else otherwise


def _added(op: Callable[..., Any], turned: bool) -> Callable[..., Any]:
    """``+``: strings are joined."""

    def add(self: Any, other: Any) -> Any:
        if self.np_dtype.kind == "O" and text_values.is_text(other):
            return text_values.joined((other, self) if turned else (self, other))
        return op(other, self) if turned else op(self, other)

    return add


def _pow(self: Any, other: Any) -> Any:
    if other.__class__ in _NUMBERS and other == 2:
        if self.__class__ is not Tensor:
            return arithmetic.square(self)
        calls = next_call()
        if calls == SOON or calls == OFTEN:
            seams.operators_are_hot(calls == OFTEN)
        return apply(arithmetic.square, (self,), NO_ATTRS)
    return power.pow(self, other)


def _logic_or_bits(logic: Callable[..., Any], of_bits: Callable[..., Any]) -> Callable[..., Any]:
    """``&``, ``|`` and ``^``: logic of bools, and of integers bit by bit."""

    def op(a: Any, b: Any) -> Any:
        (a, b), _ = arithmetic.matched((a, b), {})
        return (logic if a.np_dtype.kind == "b" else of_bits)(a, b)

    return op


def _divmod(self: Any, other: Any) -> tuple[Any, Any]:
    return rounding.floordiv(self, other), rounding.mod(self, other)


def _operators() -> dict[str, Callable[..., Any]]:
    pairs: dict[str, Callable[..., Any]] = {
        "add": arithmetic.add,
        "sub": arithmetic.subtract,
        "mul": arithmetic.multiply,
        "truediv": arithmetic.divide,
        "floordiv": rounding.floordiv,
        "mod": rounding.mod,
        "pow": power.pow,
        "matmul": products.dot,
        "and": _logic_or_bits(compare.logical_and, bits.bitwise_and),
        "or": _logic_or_bits(compare.logical_or, bits.bitwise_or),
        "xor": _logic_or_bits(compare.not_equal, bits.bitwise_xor),
        "lshift": bits.left_shift,
        "rshift": bits.right_shift,
    }
    methods: dict[str, Callable[..., Any]] = {}
    for name, op in pairs.items():
        methods[f"__{name}__"], methods[f"__r{name}__"] = _binary(op)
    for name, op in {
        "lt": compare.less,
        "le": compare.less_equal,
        "gt": compare.greater,
        "ge": compare.greater_equal,
    }.items():
        methods[f"__{name}__"] = _compared(op, None)
    methods["__eq__"], methods["__ne__"] = _compared(compare.equal, False), _compared(compare.not_equal, True)
    methods["__pow__"], methods["__divmod__"] = _pow, _divmod
    methods["__rdivmod__"] = lambda self, other: _divmod(other, self)
    methods["__neg__"] = lambda self: arithmetic.negative(self)
    methods["__pos__"] = lambda self: copied(self)
    methods["__abs__"] = lambda self: arithmetic.abs(self)
    methods["__invert__"] = lambda self: (compare.logical_not if self.np_dtype.kind == "b" else bits.invert)(
        self
    )
    return methods


# ---- one value out of a tensor --------------------------------------------------------------------------


def _item(self: Any, *index: Any) -> Any:
    """The one element as a Python number, or the one at `index`, a number among all or one for each axis."""
    return value_of(self).item(*index) if index else _number(self, "value")


def _number(self: Any, kind: str) -> Any:
    array = None
    try:
        array = value_of(self, kind)
    except SymbolicValue:
        if all(d.__class__ is not int or d == 1 for d in self.shape):
            raise
    if array is None or array.size != 1:
        raise ValueError(
            f"only a tensor of one element is a number, this one is {self.spec}: take one, x[i], or reduce it"
            f"{at(user_location())}"
        )
    return array.item()


def _bool(self: Any) -> bool:
    array = value_of(self, "choice")
    if array.size != 1:
        raise ValueError(
            f"the truth value of {self.spec} is ambiguous: use tracejit.reduce_any or tracejit.reduce_all"
            f"{at(user_location())}"
        )
    return bool(array.item())


def _index(self: Any) -> int:
    array = value_of(self, "choice")
    if array.dtype.kind not in "iu" or array.ndim:
        raise TypeError(
            f"only an integer tensor of rank 0 is an index, this one is {self.spec}{at(user_location())}"
        )
    return int(array)


def _round(self: Any, digits: int | None = None) -> Any:
    if not digits:
        return ops.round(self)
    scale = 10.0**digits
    return ops.divide(ops.round(ops.multiply(self, scale)), scale)


def _len(self: Any) -> int:
    if not self.shape:
        raise TypeError(f"a tensor of rank 0 has no len(){at(user_location())}")
    return known(self.shape[0])


def _iter(self: Any) -> Iterator[Any]:
    if not self.shape:
        raise TypeError(f"cannot iterate over a tensor of rank 0{at(user_location())}")
    if unknown(self.shape[0]):
        raise SymbolicValue(
            f"how many rows {self.spec} has, is known only when the function runs, and this loop is not converted: "
            "no generator, no jump out of `finally` and no code of a library is, nor what has no source text; use "
            f"tracejit.scan or a converted function{at(user_location())}"
        )
    rows = known(self.shape[0])
    if self.is_symbolic and rows > _MANY_ROWS:
        warn(
            f"iterating over {self.spec} while tracing writes its {rows} steps out one by one; let tracejit.function "
            "convert the loop (autograph=True), or use tracejit.scan",
            UserWarning,
        )
    return (get(self, i) for i in range(rows))


def _format(self: Any, spec: str) -> str:
    if not self.is_symbolic:
        return format(self.array[()], spec)
    if not spec:
        return str(self)
    error = no_value(self)
    if isinstance(error, SymbolicValue):
        error = SymbolicValue(
            f"{self.spec} has no value to format by {spec!r} while {self.value.graph.function!r} is being traced: "
            "tracejit.print shows it when the function runs, or return it and format it outside"
            f"{at(user_location())}"
        )
    raise error


# ---- arrays ---------------------------------------------------------------------------------------------


def _numpy(self: Any) -> Any:
    """The values as a read-only array that shares memory (a NumPy scalar for rank 0)."""
    array = value_of(self)
    return lent_array(array) if array.ndim else array[()]


def _array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    array = value_of(self)
    if copy or (dtype is not None and array.dtype != dtype):
        if copy is False:
            raise ValueError(f"a tensor of {self.spec} cannot become {np.dtype(dtype)} without a copy")
        return np.array(array, dtype=dtype)
    return lent_array(array)


# ---- methods --------------------------------------------------------------------------------------------


def _reshape(self: Any, *shape: Any) -> Any:
    """The same elements in another `shape`: ``t.reshape(2, -1)`` or ``t.reshape((2, -1))``."""
    return ops.reshape(self, shape[0] if len(shape) == 1 else shape)


def _transposed(self: Any, *perm: Any) -> Any:
    """Axes reversed, or in the order `perm`; ShapeError where one is missing."""
    return ops.transpose(self, *((perm[0] if len(perm) == 1 else perm,) if perm else ()))


def _matrices_transposed(self: Any) -> Any:
    rank = len(self.shape)
    if rank < 2:
        raise ValueError(f"mT takes matrices, this is {self.spec}{at(user_location())}")
    return products.turned(self)


#: What NumPy adds up small integers and bools in.
_WIDEST = {"b": np.dtype(np.int64), "i": np.dtype(np.int64), "u": np.dtype(np.uint64)}


def _reduction(reduce: Callable[..., Any], added_up: bool = False) -> Callable[..., Any]:
    name = reduce.__name__.removeprefix("reduce_")

    def method(self: Any, axis: Any = None, keepdims: bool = False, **others: Any) -> Any:
        if others:
            return numpy_function(name)(self, axis, keepdims=keepdims, **others)
        if added_up and self.np_dtype.kind in "biu":
            self = arithmetic.cast(self, dtype=_WIDEST[self.np_dtype.kind])
        y = reduce(self, axis=axis)
        return ops.reshape(y, shape=kept(self.shape, axes_of(axis, len(self.shape)))) if keepdims else y

    method.__doc__ = (
        f"``{reduce.__name__}`` of this tensor over `axis` (None: all), which `keepdims` keeps with size 1.\n\n"
        f"`others` are further arguments by name, as those of ``tracejit.numpy.{name}``."
    )
    return method


def _astype(self: Any, dtype: Any, *, copy: bool = True) -> Any:
    """Converted to `dtype`; the tensor itself where that is its dtype, and no `copy` is wanted."""
    if not copy and np.dtype(dtype) == self.np_dtype:
        return self
    return arithmetic.cast(self, dtype=np.dtype(dtype))


def _contains(self: Any, value: Any) -> bool:
    """Is an element equal to `value`? Tensors of some shape are compared element by element, as NumPy does."""
    return bool(value_of(ops.equal(self, value), "choice").any())


def _to_list(self: Any) -> Any:
    """The elements as nested lists of Python numbers, or one of them."""
    return value_of(self).tolist()


def _to_bytes(self: Any, order: Any = "C") -> bytes:
    """The memory of the elements, in rows or as `order` says."""
    return value_of(self).tobytes(order)


def _copied(self: Any) -> Any:
    """This tensor as a new one, of the same shape and dtype."""
    return copied(self)


def from_array(array: np.ndarray) -> Tensor:
    """The inverse of pickling a tensor."""
    return Tensor(to_array(array))


#: The operator methods by name, and those among them that take another operand.
OPERATORS = _operators()
BINARY = frozenset([name for name, method in OPERATORS.items() if method.__code__.co_argcount == 2])


PROTOCOLS: dict[str, Any] = {
    "__getitem__": get,
    "__setitem__": set_item,
    "__iter__": _iter,
    "__len__": _len,
    "__contains__": _contains,
    "__bool__": _bool,
    "__float__": lambda self: float(_item(self)),
    "__int__": lambda self: int(_number(self, "choice")),  # flat, as a cast to integers is
    "__complex__": lambda self: complex(_item(self)),
    "__index__": _index,
    "__round__": _round,
    "__array__": _array,
    "__array_ufunc__": array_ufunc,
    "__array_function__": array_function,
    "__format__": _format,
    "__str__": printing.tensor_str,
    "__repr__": printing.tensor_repr,
    "_repr_html_": lambda self: seams.html(self),
    "__copy__": lambda self: twin(as_tensor(self)),
    "__deepcopy__": lambda self, memo: twin(as_tensor(self)),
    "__reduce__": lambda self: (from_array, (np.array(value_of(self)),)),
    "numpy": _numpy,
    "item": _item,
    "reshape": _reshape,
    "transpose": _transposed,
    "sum": _reduction(reduce.reduce_sum, added_up=True),
    "mean": _reduction(reduce.reduce_mean),
    "max": _reduction(reduce.reduce_max),
    "min": _reduction(reduce.reduce_min),
    "astype": _astype,
    **METHODS,
    "tolist": _to_list,
    "tobytes": _to_bytes,
    "itemsize": property(lambda self: self.np_dtype.itemsize, doc="Bytes that one element takes."),
    "copy": _copied,
    "size": property(lambda self: self.spec.size, doc="Number of elements."),
    "mT": property(_matrices_transposed, doc="The last two axes exchanged."),
    "T": property(lambda self: ops.transpose(self), doc="The transpose: all axes reversed."),
    "flat": property(lambda self: ops.reshape(self, shape=(-1,)), doc="The elements in a row."),
    "at": property(At, doc="``t.at[index].set(v)``, ``.add(v)`` …: a changed copy."),
    "real": property(lambda self: ops.real(self), doc="Real part."),
    "imag": property(lambda self: ops.imag(self), doc="Imaginary part."),
}


def _in_place(plain: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """``x += y``, which gives the name `x` another tensor: in a program for NumPy a write to the array that `x` is."""

    def changed(self: Any, other: Any) -> Any:
        result = plain(self, other)
        payload = self._payload
        if payload.__class__ is np.ndarray and self.__class__ is Tensor and not LENDS:
            alike = result.__class__ is Tensor and result.np_dtype is self.np_dtype
            if alike and sys.getrefcount(self) <= _ONE_NAME and not is_held(payload):
                if result._payload.shape == payload.shape:
                    return result
        frame = sys._getframe(1)
        if result.__class__ is not Tensor or is_internal(frame.f_code):
            return result  # converted code tells itself what it writes to
        result = in_its_place(as_tensor(self), result)
        if payload.__class__ is not np.ndarray or state.guards:
            note_written(as_tensor(self), result)
        elif sys.getrefcount(self) > _ONE_NAME or is_held(payload) or named_twice(self, frame):
            if not is_part_written_back(sys.getrefcount(self), _ONE_NAME, self, frame):
                note_written_eagerly(payload, result._payload)
        return result

    return changed


def _counted_in_place() -> int:
    """How often something that one name holds is counted where ``x += y`` is decided."""
    counts: list[int] = []

    class Counted:
        def __iadd__(self, other: Any) -> Any:
            counts.append(sys.getrefcount(self))
            return self

    x = Counted()
    x += 1
    return counts[0]


_ONE_NAME = _counted_in_place()

IN_PLACE = {
    f"__i{name}__": _in_place(getattr(operator, f"__{name}__"))
    for name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
}

seams.give_methods(Tensor, {**OPERATORS, **IN_PLACE, **PROTOCOLS, **EXCHANGE, **FACTS})
