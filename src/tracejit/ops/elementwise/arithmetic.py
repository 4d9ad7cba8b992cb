"""Arithmetic, element by element, with broadcasting."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.dim import maximum as larger_size
from ...core.dtype import is_bfloat16
from ...core.errors import DtypeError
from ...core.op import Attrs, defop, numeric, ops, ordered, sample
from ...core.op import real as floats
from ...core.spec import DIFFERENTIABLE, TensorSpec, as_dtype, broadcast_shapes, dtype_name
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...core.tracing.promotion import promote
from ..lowering import Compose, Scalar
from ..symbolic_values import each_size, same_sizes

ELEMENTWISE = ("elementwise",)
ELEMENTARY = ("elementwise", "elementary")
_WIDE_REALS = (np.dtype("float32"), np.dtype("float64"))
COMPLEX_BY_KERNEL = {"traits": (*ELEMENTARY, "complex_by_kernel")}


def matched(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    """Canonicalize: bring all inputs to one dtype."""
    first = inputs[0]
    if first.__class__ is Tensor:
        dtype = first.np_dtype
        for x in inputs:
            if x.__class__ is not Tensor or x.np_dtype is not dtype:
                return promote(inputs, converted), attrs
        return inputs, attrs
    return promote(inputs, converted), attrs


def converted(x: Any, dtype: np.dtype) -> Any:
    """`x` as a tensor of `dtype`: itself when it is one already."""
    x = as_tensor(x)
    return x if x.dtype == dtype else cast(x, dtype=dtype)


def _beyond(x: Any, other: Any) -> bool:
    """Is `x` a Python integer that the integers of `other` do not hold?"""
    dtype = getattr(other, "dtype", None)
    if x.__class__ is not int or dtype is None or dtype.kind not in "iu":
        return False
    return not np.iinfo(dtype).min <= x <= np.iinfo(dtype).max


def matched_beyond(inputs: Sequence[Any], number: Callable[[int], float]) -> Sequence[Any]:
    """Two inputs brought to one dtype; a Python integer that the other's does not hold becomes that number."""
    try:
        return matched(inputs, {})[0]
    except DtypeError:
        a, b = inputs
        if not _beyond(a, b) and not _beyond(b, a):
            raise
    a, b = (number(a) if _beyond(a, b) else a), (number(b) if _beyond(b, a) else b)
    return matched((a, b), {})[0]


def as_floats(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    """Canonicalize: one dtype for two, integers and bools turned into float64 as NumPy does."""
    inputs = matched_beyond(inputs, float)
    if inputs[0].dtype.kind in "iub":
        inputs = tuple(cast(x, dtype=np.dtype("float64")) for x in inputs)
    return inputs, attrs


def quotient_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of quotients: of integers of 8 and 16 bits float32, which holds them, of wider ones float64."""
    if dtype.kind in DIFFERENTIABLE:
        return dtype
    return np.dtype("float32" if dtype.kind in "iu" and dtype.itemsize <= 2 else "float64")


def quotients(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    """Canonicalize: one dtype for two, integers and bools turned into floats as TensorFlow divides them."""
    x, y = matched_beyond(inputs, float)
    dtype = quotient_dtype(x.dtype)
    return (converted(x, dtype), converted(y, dtype)), attrs


def broadcast(*specs: TensorSpec) -> TensorSpec:
    """Shape rule: all inputs broadcast together and share a dtype."""
    first = specs[0]
    if all(s is first for s in specs):
        return first
    return TensorSpec(broadcast_shapes(*(s.shape for s in specs)), first.dtype)


def numbers(*specs: TensorSpec) -> TensorSpec:
    """Shape rule of arithmetic that bools do not have."""
    return numeric(broadcast(*specs))


def pairs(
    low: float = -2.0, high: float = 2.0, complex: bool = True, dtypes: tuple[str, ...] | None = None
) -> tuple[Any, ...]:
    """Samples for ops of two inputs: equal shapes, broadcasting both ways, rank 0."""
    shapes = (((2, 3), (2, 3)), ((2, 1, 3), (4, 1)), ((), (3,)))
    return tuple(sample(*s, low=low, high=high, complex=complex, dtypes=dtypes) for s in shapes)


def unary(low: float = -2.0, high: float = 2.0, complex: bool = False) -> tuple[Any, ...]:
    """Samples for ops of one input, drawn from [low, high]."""
    return tuple(sample(shape, low=low, high=high, complex=complex) for shape in ((2, 3), ()))


def elementary(scalar: str, low: float = -2.0, high: float = 2.0, complex: bool = False) -> dict[str, Any]:
    """What functions of one number have in common: code that is a scalar operation, samples from [low, high]."""
    return {"lower": Scalar(scalar), "traits": ELEMENTARY, "samples": unary(low, high, complex)}


def canonical_cast(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    dtype = as_dtype(inputs[1] if len(inputs) == 2 else attrs["dtype"])
    if (dtype.kind not in "biufc" or dtype.isbuiltin == 2) and not is_bfloat16(dtype):  # NumPy would make it
        raise DtypeError(f"a cast makes numbers and bools, not {dtype_name(dtype)}: see strings.as_string")
    return inputs[:1], {"dtype": dtype}


def _cast_kernel(x: np.ndarray, *, dtype: np.dtype) -> np.ndarray:
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    if (dtype.kind == "V" or x.dtype.kind == "V") and x.dtype != np.float32:  # by way of float32
        x = x.astype(np.float32)
    if x.dtype.kind == "f" and dtype == np.uint32:  # NumPy's vectors and scalars differ
        x = x.astype(np.int64)
    return x.astype(dtype)


@defop(
    vjp=(lambda g, y, x, *, dtype: cast_back(g, x.np_dtype),),
    linear=True,
    kernel=_cast_kernel,
    lower=Scalar("cast"),
    canonicalize=canonical_cast,
    size_rule=same_sizes,
    traits=(*ELEMENTWISE, "cheap"),
    samples=(
        *(sample((2, 3), dtype=np.dtype(d), complex=True) for d in ("float64", "complex128", "bool")),
        *(sample((3,), dtype=np.dtype(d)) for d in ("int32", "float32")),
    ),
)
def cast(x: TensorSpec, *, dtype: np.dtype) -> TensorSpec:
    """`x` converted to `dtype`; floats become integers by truncation, complex numbers real by their real part.

    The shape stays. TypeError for what names no dtype; DtypeError, which is one, for strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.cast([1.7, -1.7], tf.int32))
    tf.Tensor([ 1 -1], shape=(2,), dtype=int32)
    """
    return x.with_dtype(dtype)


def cast_back(g: Any, dtype: np.dtype) -> Any:
    """The cotangent of a cast: none through integers."""
    return cast(g, dtype=dtype) if g.np_dtype.kind in DIFFERENTIABLE else None


@defop(
    partial=(lambda y, a, b: 1.0, lambda y, a, b: 1.0),
    kernel=np.add,
    lower=Scalar("add"),
    canonicalize=matched,
    size_rule=each_size(operator.add),
    sign="+",
    traits=ELEMENTWISE,
    samples=pairs(),
)
def add(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """``x + y``, element by element."""
    return broadcast(x, y)


@defop(
    partial=(lambda y, a, b: 1.0, lambda y, a, b: -1.0),
    kernel=np.subtract,
    lower=Scalar("sub"),
    canonicalize=matched,
    size_rule=each_size(operator.sub),
    sign="−",
    traits=ELEMENTWISE,
    samples=pairs(),
)
def subtract(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """``x - y``, element by element."""
    return numbers(x, y)


def one_factor_is_zero(record: Any, i: int) -> str:
    """Where the derivative of a product vanishes."""
    if record.inputs[0].serial == record.inputs[1].serial:
        return "its argument is 0"
    if not record.inputs[1 - i].array.any():
        return "the other factor is 0: {other}"
    return (
        "the other factor, {other}, is 0 where this argument matters, or the product too small for its dtype"
    )


@defop(
    partial=(lambda y, a, b: b, lambda y, a, b: a),
    vanishes_where=one_factor_is_zero,
    kernel=np.multiply,
    lower=Scalar("mul"),
    canonicalize=matched,
    size_rule=each_size(operator.mul),
    sign="×",
    traits=ELEMENTWISE,
    samples=pairs(),
)
def multiply(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """``x * y``, element by element."""
    return broadcast(x, y)


def _divisor_slope(y: Any, a: Any, b: Any) -> Any:
    """Return ``-y / b``, for reals by the reciprocal that other slopes need, too: a processor divides slowly.

    Where ``1 / b`` overflows, `b` is subnormal. Half precision has normal numbers there, so it divides once more.
    """
    return y * (-1.0 / b) if b.dtype in _WIDE_REALS else y / -b


def _quotient_is_flat(record: Any, i: int) -> str:
    if i == 0:
        return "the divisor is infinite, or so large that the result is 0: {other}"
    return (
        "the divisor is very large: {this}" if record.inputs[0].array.any() else "the dividend is 0: {other}"
    )


@defop(
    partial=(lambda y, a, b: 1.0 / b, _divisor_slope),
    vanishes_where=_quotient_is_flat,
    kernel=np.divide,
    lower=Scalar("div"),
    canonicalize=quotients,
    sign="÷",
    traits=ELEMENTWISE,
    samples=pairs(0.5, 2.0),
)
def divide(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """``x / y``, element by element; integers are divided as float64, those of 8 and 16 bits as float32."""
    return broadcast(x, y)


@defop(
    partial=(lambda y, x: -1.0,),
    kernel=np.negative,
    lower=Scalar("neg"),
    size_rule=lambda node, inputs: tuple([-s for s in inputs[0]]),
    traits=ELEMENTWISE,
    samples=unary(complex=True),
)
def negative(x: TensorSpec) -> TensorSpec:
    """``-x``, element by element."""
    return numeric(x)


def _zero(like: Any) -> Any:
    return ops.fill(shape=like.shape, value=0.0, dtype=like.dtype)


@defop(
    vjp=(lambda g, y, x: _zero(g),),
    jvp=lambda record, ts: [_zero(ts[0])],
    vanishes_where="it is flat: its derivative is 0 everywhere, also at: {this}",
    kernel=np.sign,
    lower=Scalar("sign"),
    traits=ELEMENTWISE,
    samples=unary(0.5, 2.0),
)
def sign(x: TensorSpec) -> TensorSpec:
    """-1, 0 or 1 by the sign of `x`, NaN for NaN; the derivative is 0, at the jump too."""
    return ordered(numeric(x))


def _direction(x: Any) -> tuple[Any, Any]:
    """The parts of x / |x|, 0 at 0: the derivative of the absolute value. Complex division would overflow."""
    size = abs(x)
    still = ops.equal(size, 0.0)
    size = ops.where(still, 1.0, size)
    return ops.where(still, 0.0, real(x) / size), ops.where(still, 0.0, imag(x) / size)


def _abs_jvp(record: Any, ts: list[Any]) -> list[Any]:
    x, t = record.inputs[0], ts[0]
    if x.dtype.kind != "c":
        return [t * sign(x)]
    along, across = _direction(x)
    return [real(t) * along + imag(t) * across]


def _abs_vjp(g: Any, y: Any, x: Any) -> Any:
    if x.dtype.kind != "c":
        return g * sign(x)
    along, across = _direction(x)
    return complex(g * along, g * across)


@defop(
    vjp=(_abs_vjp,),
    jvp=_abs_jvp,
    vanishes_where="its argument is 0: {this}",
    kernel=np.abs,
    lower=Scalar("abs"),
    traits=ELEMENTWISE,
    samples=unary(0.5, 2.0, complex=True),
)
def abs(x: TensorSpec) -> TensorSpec:
    """Absolute value; the derivative at 0 is 0."""
    return TensorSpec(numeric(x).shape, {"c": f"float{x.dtype.itemsize * 4}"}.get(x.dtype.kind, x.dtype))


def _first_wins(relation: str, larger: Callable[[Any, Any], Any]) -> dict[str, Any]:
    def jvp(record: Any, ts: list[Any]) -> list[Any]:
        a, b = record.inputs
        ta, tb = (
            ops.fill(shape=record.outputs[0].shape, value=0.0, dtype=a.dtype) if t is None else t for t in ts
        )
        return [ops.where(larger(a, b), ta, tb)]

    return {
        "vjp": (
            lambda g, y, a, b: ops.where(larger(a, b), g, 0.0),
            lambda g, y, a, b: ops.where(larger(a, b), 0.0, g),
        ),
        "jvp": jvp,
        "vanishes_where": f"the other argument, {{other}}, is {relation} than this one, {{this}}, everywhere",
        "canonicalize": matched,
        "traits": ELEMENTWISE,
        "samples": pairs(complex=False),
    }


@defop(
    **_first_wins("larger", lambda a, b: ops.less_equal(b, a)),
    kernel=np.maximum,
    lower=Scalar("max"),
    size_rule=each_size(larger_size),
)
def maximum(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """The larger of `x` and `y`; NaN if either is. On ties the gradient goes to `x`."""
    return ordered(broadcast(x, y))


@defop(**_first_wins("smaller", lambda a, b: ops.less_equal(a, b)), kernel=np.minimum, lower=Scalar("min"))
def minimum(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """The smaller of `x` and `y`; NaN if either is. On ties the gradient goes to `x`."""
    return ordered(broadcast(x, y))


@defop(
    partial=(lambda y, x: x + x,),
    vanishes_where="its argument is 0: {this}",
    kernel=np.square,
    lower=Compose(lambda x: x * x),
    traits=ELEMENTWISE,
    samples=unary(complex=True),
)
def square(x: TensorSpec) -> TensorSpec:
    """``x * x``, element by element."""
    return numeric(x)


# ---- complex numbers ------------------------------------------------------------------------------------


@defop(
    vjp=(lambda g, y, x: ops.conj(g),),
    jvp=lambda record, ts: [ops.conj(ts[0])],
    kernel=np.conj,
    lower=Scalar("conj"),
    traits=ELEMENTWISE,
    samples=unary(complex=True),
)
def conj(x: TensorSpec) -> TensorSpec:
    """Complex conjugate; real numbers are their own."""
    return numeric(x)


def _real_spec(x: TensorSpec) -> TensorSpec:
    return TensorSpec(x.shape, {8: "float32", 16: "float64"}[x.dtype.itemsize]) if x.dtype.kind == "c" else x


def _lift(g: Any, x: Any) -> Any:
    return complex(g, 0.0) if x.dtype.kind == "c" else g


@defop(
    vjp=(lambda g, y, x: _lift(g, x),),
    linear=True,
    kernel=lambda x: np.asarray(x.real),
    lower=Scalar("real"),
    traits=(*ELEMENTWISE, "numpy_view"),
    samples=unary(complex=True),
)
def real(x: TensorSpec) -> TensorSpec:
    """Real part."""
    return _real_spec(x)


@defop(
    vjp=(lambda g, y, x: ops.complex(0.0, g) if x.dtype.kind == "c" else None,),
    linear=True,
    kernel=lambda x: x.imag if x.dtype.kind == "c" and x.ndim else np.array(x.imag),
    lower=Scalar("imag"),
    traits=(*ELEMENTWISE, "numpy_view"),
    samples=unary(complex=True),
)
def imag(x: TensorSpec) -> TensorSpec:
    """Imaginary part; 0 for real numbers."""
    return _real_spec(x)


def _parts(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    """Canonicalize: two real tensors of a dtype that complex numbers have parts of, which float16 is not."""
    inputs, attrs = as_floats(inputs, attrs)
    narrow = inputs[0].dtype.itemsize < 4
    return tuple([cast(x, dtype=np.dtype("float32")) for x in inputs]) if narrow else inputs, attrs


def _complex_kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    out = np.empty(
        np.broadcast_shapes(a.shape, b.shape), "complex64" if a.dtype == np.float32 else "complex128"
    )
    out.real, out.imag = a, b
    return out


def _complex_jvp(record: Any, ts: list[Any]) -> list[Any]:
    zero = ops.fill(shape=record.outputs[0].shape, value=0.0, dtype=record.inputs[0].dtype)
    return [complex(*(zero if t is None else t for t in ts))]


@defop(
    vjp=(lambda g, y, a, b: real(g), lambda g, y, a, b: imag(g)),
    jvp=_complex_jvp,
    kernel=_complex_kernel,
    lower=Scalar("complex"),
    canonicalize=_parts,
    traits=ELEMENTWISE,
    samples=pairs(complex=False),
)
def complex(a: TensorSpec, b: TensorSpec) -> TensorSpec:
    """``a + 1j * b`` from two real tensors."""
    return floats(broadcast(a, b)).with_dtype("complex64" if a.dtype.itemsize == 4 else "complex128")
