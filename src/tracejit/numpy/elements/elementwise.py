"""NumPy's functions of single elements: ufuncs, comparisons, logic, choices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ...core.errors import at, user_location
from ...core.op import ops
from ...core.tensor import Tensor, apart_from
from ...math import elementary, shown
from ...ops.arrays.shape import stack
from ...ops.elementwise.arithmetic import as_floats, matched
from ...ops.symbolic_values import known_array
from ...ops.tensor.late_slices import places
from ..conversion import array, arrays, floats, is_number, truth, two_floats
from . import complex_order
from .complex_order import also_of_complex
from .lengths import of_size

_Function = Callable[..., Any]


class _Unary(Protocol):
    """What the functions of one array look like."""

    def __call__(self, x: Any) -> Tensor: ...


class _Binary(Protocol):
    """What the functions of two arrays look like."""

    def __call__(self, x1: Any, x2: Any) -> Tensor: ...


#: What the functions made below refuse.
_REFUSED = "DtypeError for strings, and for other elements that it is not defined on."
_APART = "ShapeError where shapes do not broadcast."


def _named(function: _Function, name: str, text: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text + shown.example(f"tnp.{name}")
    return function


def _of_floats(name: str, function: _Function, of_complex: _Function | None = None) -> _Unary:
    """A function that turns integers into floats first; of complex numbers another one, if there is one."""

    def of_floats(x: Any) -> Tensor:
        x = floats(x)
        return (of_complex if of_complex is not None and x.dtype.kind == "c" else function)(x)

    text = f"``numpy.{name}`` of each element of `x`: integers and bools are made floats. {_REFUSED}"
    return _named(of_floats, name, text)


def _of_one(name: str, function: _Function, of_bools: _Function | None = None) -> _Unary:
    """A function that keeps the dtype; of bools another one, where it has a meaning of its own for them."""

    def of_one(x: Any) -> Tensor:
        x = array(x)
        return (of_bools if of_bools is not None and x.dtype.kind == "b" else function)(x)

    return _named(
        of_one, name, f"``numpy.{name}`` of each element of `x`, with its dtype as in NumPy. {_REFUSED}"
    )


def _of_whole(name: str, function: _Function) -> _Unary:
    """Rounding, which leaves integers alone."""

    def rounded(x: Any) -> Tensor:
        given, x = x, array(x)
        return function(x) if x.dtype.kind in "fc" else apart_from(x, given)

    text = (
        f"``numpy.{name}`` of each element of `x`, of the same dtype; integers stay as they are. {_REFUSED}"
    )
    return _named(rounded, name, text)


def _of_two(name: str, function: _Function) -> _Binary:
    """Two operands that broadcast and are promoted."""
    text = f"``numpy.{name}`` of `x1` and `x2`, with NumPy's dtype. {_REFUSED} {_APART}"
    return _named(lambda x1, x2: function(*arrays(x1, x2)), name, text)


def _of_two_floats(name: str, function: _Function) -> _Binary:
    """Two operands that broadcast and are promoted to floats."""
    text = f"``numpy.{name}`` of `x1` and `x2`, whose integers and bools are made floats. {_REFUSED} {_APART}"
    return _named(lambda x1, x2: function(*two_floats(x1, x2)), name, text)


def _of_truth(name: str, function: _Function) -> _Binary:
    """Operands that count as true where they are not 0."""
    text = f"``numpy.{name}`` of `x1` and `x2`, as bools: true is what is not 0. {_REFUSED} {_APART}"
    return _named(lambda x1, x2: function(truth(x1), truth(x2)), name, text)


def _log_of_sum(a: Any, b: Any) -> Any:
    """``log(exp(a) + exp(b))`` of two tensors of floats or complex numbers, without overflow."""
    if a.dtype.kind != "c":
        return ops.logaddexp(a, b)
    larger = ops.less(ops.real(b), ops.real(a))
    most, least = ops.where(larger, a, b), ops.where(larger, b, a)
    apart = ops.where(ops.equal(a, b), 0.0, ops.subtract(least, most))  # infinite ones have no difference
    total = ops.add(most, ops.log1p(ops.exp(apart)))
    turns = ops.round(ops.divide(ops.imag(total), 2 * np.pi))
    return ops.complex(ops.real(total), ops.subtract(ops.imag(total), ops.multiply(turns, 2 * np.pi)))


def _hypot(x1: Tensor, x2: Tensor) -> Tensor:
    return ops.cast(elementary.hypot(x1, x2), dtype=x1.np_dtype)


def _quotient(x1: Any, x2: Any) -> Tensor:
    """Integers of any size are divided as float64."""
    return ops.divide(*as_floats((x1, x2), {})[0])


def _as_int8(x: Tensor) -> Tensor:
    """Bools as NumPy's arithmetic takes them."""
    return ops.cast(x, dtype=np.dtype(np.int8))


def _of_numbers(function: _Function) -> _Function:
    """Of two operands that are bools, as of int8."""

    def of_numbers(x1: Any, x2: Any) -> Tensor:
        a, b = matched((x1, x2), {})[0] if not (is_number(x1) or is_number(x2)) else (x1, x2)
        kinds = [type(x) is bool or getattr(getattr(x, "dtype", None), "kind", "") == "b" for x in (a, b)]
        return function(_as_int8(array(a)), _as_int8(array(b))) if kinds == [True, True] else function(x1, x2)

    return of_numbers


def _sign(x: Any) -> Tensor:
    """Of complex numbers the number of size 1 in their direction: of an infinite part its sign, of two NaN."""
    if x.dtype.kind != "c":
        return ops.sign(x)
    parts = ops.real(x), ops.imag(x)
    endless = [ops.equal(ops.abs(part), np.inf) for part in parts]
    beyond = ops.logical_or(*endless)
    signs = [ops.where(e, ops.sign(part), 0.0) for e, part in zip(endless, parts, strict=True)]
    far = ops.where(ops.logical_and(*endless), complex(np.nan, np.nan), ops.complex(*signs))
    near = ops.where(beyond, 0.0, x)
    size = ops.abs(near)
    none = ops.equal(size, 0)
    direction = near / ops.cast(ops.where(none, 1.0, size), dtype=x.dtype)
    return ops.where(beyond, far, ops.where(none, 0.0, direction))


def _times(x: Any, factor: float) -> Tensor:
    """Complex numbers times a real one, which makes no NaN of infinite ones."""
    return ops.complex(ops.real(x) * factor, ops.imag(x) * factor)


exp: _Unary = _of_floats("exp", ops.exp)
exp2: _Unary = _of_floats("exp2", ops.exp2, lambda x: ops.exp(_times(x, math.log(2.0))))
expm1: _Unary = _of_floats("expm1", ops.expm1)
log: _Unary = _of_floats("log", ops.log)
log2: _Unary = _of_floats("log2", ops.log2, lambda x: _times(ops.log(x), 1.0 / math.log(2.0)))
log10: _Unary = _of_floats("log10", ops.log10, lambda x: _times(ops.log(x), 1.0 / math.log(10.0)))
log1p: _Unary = _of_floats("log1p", ops.log1p)
sqrt: _Unary = _of_floats("sqrt", ops.sqrt)
sin: _Unary = _of_floats("sin", ops.sin)
cos: _Unary = _of_floats("cos", ops.cos)
tan: _Unary = _of_floats("tan", ops.tan)
arcsin: _Unary = _of_floats("arcsin", ops.asin)
arccos: _Unary = _of_floats("arccos", ops.acos)
arctan: _Unary = _of_floats("arctan", ops.atan)
sinh: _Unary = _of_floats("sinh", ops.sinh)
cosh: _Unary = _of_floats("cosh", ops.cosh)
tanh: _Unary = _of_floats("tanh", ops.tanh)
arcsinh: _Unary = _of_floats("arcsinh", ops.asinh)
arccosh: _Unary = _of_floats("arccosh", ops.acosh)
arctanh: _Unary = _of_floats("arctanh", ops.atanh)

acos = arccos
acosh = arccosh
asin = arcsin
asinh = arcsinh
atan = arctan
atanh = arctanh

negative: _Unary = _of_one("negative", ops.negative)
absolute: _Unary = _of_one("absolute", ops.abs, ops.identity)
sign: _Unary = _of_one("sign", _sign)
square: _Unary = _of_one("square", ops.square, _as_int8)
conjugate: _Unary = _of_one("conjugate", ops.conj, _as_int8)
real: _Unary = _of_one("real", ops.real)
imag: _Unary = _of_one("imag", ops.imag)
positive: _Unary = _of_one("positive", ops.identity)
isnan: _Unary = _of_one("isnan", ops.is_nan)
isinf: _Unary = _of_one("isinf", elementary.is_inf, lambda x: ops.not_equal(x, x))
isfinite: _Unary = _of_one("isfinite", elementary.is_finite, lambda x: ops.equal(x, x))
abs = absolute
conj = conjugate

floor: _Unary = _of_whole("floor", ops.floor)
ceil: _Unary = _of_whole("ceil", elementary.ceil)
trunc: _Unary = _of_whole("trunc", ops.trunc)
rint: _Unary = _of_floats(
    "rint", ops.round, lambda x: ops.complex(ops.round(ops.real(x)), ops.round(ops.imag(x)))
)

add: _Binary = _of_two("add", ops.add)
subtract: _Binary = _of_two("subtract", ops.subtract)
multiply: _Binary = _of_two("multiply", ops.multiply)
divide: _Binary = _of_two("divide", _quotient)
floor_divide: _Binary = _of_two("floor_divide", _of_numbers(ops.floordiv))
remainder: _Binary = _of_two("remainder", _of_numbers(ops.mod))
power: _Binary = _of_two("power", _of_numbers(ops.pow))
maximum: _Binary = _of_two("maximum", also_of_complex(ops.maximum, complex_order.larger))
minimum: _Binary = _of_two("minimum", also_of_complex(ops.minimum, complex_order.smaller))
equal: _Binary = _of_two("equal", ops.equal)
not_equal: _Binary = _of_two("not_equal", ops.not_equal)
less: _Binary = _of_two("less", also_of_complex(ops.less, complex_order.less))
less_equal: _Binary = _of_two("less_equal", also_of_complex(ops.less_equal, complex_order.less_equal))
greater: _Binary = _of_two("greater", also_of_complex(ops.greater, complex_order.greater))
greater_equal: _Binary = _of_two(
    "greater_equal", also_of_complex(ops.greater_equal, complex_order.greater_equal)
)
true_divide = divide
mod = remainder
pow = power
arctan2: _Binary = _of_two_floats("arctan2", ops.atan2)
hypot: _Binary = _of_two_floats("hypot", _hypot)
atan2 = arctan2
logaddexp: _Binary = _of_two_floats("logaddexp", _log_of_sum)
nextafter: _Binary = _of_two_floats("nextafter", ops.nextafter)

bitwise_and: _Binary = _of_two("bitwise_and", ops.bitwise_and)
bitwise_or: _Binary = _of_two("bitwise_or", ops.bitwise_or)
bitwise_xor: _Binary = _of_two("bitwise_xor", ops.bitwise_xor)
invert: _Unary = _of_one("invert", ops.invert)
left_shift: _Binary = _of_two("left_shift", ops.left_shift)
right_shift: _Binary = _of_two("right_shift", ops.right_shift)
bitwise_not = invert
bitwise_invert = invert
bitwise_left_shift = left_shift
bitwise_right_shift = right_shift

logical_and: _Binary = _of_truth("logical_and", ops.logical_and)
logical_or: _Binary = _of_truth("logical_or", ops.logical_or)
logical_xor: _Binary = _of_truth("logical_xor", elementary.logical_xor)
logical_not: _Unary = _named(
    lambda x: ops.logical_not(truth(x)),
    "logical_not",
    f"``numpy.logical_not`` of each element of `x`, as bools: true is what is not 0. {_REFUSED}",
)


def where(
    condition: Any, x: Any = None, y: Any = None, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """`x` where `condition` is not 0, else `y`; the three broadcast, two are promoted. Alone, :func:`nonzero` of it.

    `size` and `fill_value` are those of :func:`nonzero`. ValueError for them beside `x` and `y`, and for one of these
    only; ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.where([True, False], 1.0, 2.0))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64)
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError(f"where takes a condition alone, or with both x and y{at(user_location())}")
    if size is not None or fill_value is not None:
        raise ValueError(
            f"size and fill_value are of a condition alone, not with x and y{at(user_location())}"
        )
    return ops.where(truth(condition), *arrays(x, y))


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Tensor, ...]:
    """The positions of what is not 0 in `a`, one int64 vector per axis.

    How many there are may show only when a compiled function runs; a `size` says how many are wanted: the first ones,
    and behind the last the `fill_value`, one for all or one per axis, by default 0. ValueError for a number.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print([x.numpy() for x in tnp.nonzero([0.0, 1.0, 2.0])])
    [array([1, 2])]
    """
    x = array(a)
    if not x.shape:
        raise ValueError(f"a number has no positions: write atleast_1d(x){at(user_location())}")
    found = known_array(x) if x.is_symbolic else x.array
    positions = places(truth(x)) if found is None else tuple([array(p) for p in np.nonzero(found)])
    if size is None:
        return positions
    fills = np.broadcast_to(0 if fill_value is None else fill_value, (len(positions),)).tolist()
    return tuple([of_size(p, size, fill) for p, fill in zip(positions, fills, strict=True)])


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Tensor:
    """The positions, int64, of what is not 0 among all elements of `a` in a row; DtypeError for strings.

    `size` and `fill_value` are those of :func:`nonzero`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.flatnonzero([0.0, 1.0, 2.0]))
    tf.Tensor([1 2], shape=(2,), dtype=int64)
    """
    x = array(a)
    return nonzero(ops.reshape(x, shape=(x.spec.size,)), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Tensor:
    """The positions of what is not 0 in `a`, one in each row, int64; ValueError for a number.

    `size` and `fill_value` are those of :func:`nonzero`.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.argwhere([0.0, 1.0, 2.0]))
    tf.Tensor(
    [[1]
     [2]], shape=(2, 1), dtype=int64)
    """
    return ops.transpose(stack(nonzero(a, size=size, fill_value=fill_value)))


def clip(
    a: Any,
    min: Any = None,
    max: Any = None,
    *,
    a_min: Any = None,
    a_max: Any = None,
) -> Tensor:
    """`a` limited to `min` and `max`, or `a_min` and `a_max`, which broadcast and are promoted; None is no limit.

    DtypeError for strings, ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.clip([1.0, 5.0, 9.0], 2.0, 6.0))
    tf.Tensor([2. 5. 6.], shape=(3,), dtype=float64)
    """
    x: Any = array(a)
    low, high = a_min if min is None else min, a_max if max is None else max
    x = x if low is None else maximum(x, low)
    return apart_from(x, a) if high is None else minimum(x, high)


def round(a: Any, decimals: int = 0) -> Tensor:
    """`a` to `decimals`, halves to even, of the same shape and dtype, bools as float16; DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.round([1.234, 5.678], 1))
    tf.Tensor([1.2 5.7], shape=(2,), dtype=float64)
    """
    x: Any = array(a)
    if x.dtype.kind == "b":
        return ops.cast(x, dtype=np.dtype(np.float16))
    if x.dtype.kind == "c":
        return ops.complex(round(ops.real(x), decimals), round(ops.imag(x), decimals))
    if x.dtype.kind in "iu":
        return apart_from(x, a) if decimals >= 0 else _round_integers(x, 10**-decimals)
    if decimals == 0:
        return ops.round(x)
    digits = _DECIMALS[x.dtype.itemsize]
    if not -digits <= decimals <= digits:
        return (
            apart_from(x, a) if decimals > 0 else ops.multiply(x, 0)
        )  # beyond the last digit, or above the largest number
    scale = 10.0 ** (decimals if decimals > 0 else -decimals)
    return ops.round(x * scale) / scale if decimals > 0 else ops.round(x / scale) * scale


#: More digits than numbers of so many bytes have before or behind the point.
_DECIMALS = {2: 4, 4: 38, 8: 308}


def _round_integers(x: Any, unit: int) -> Tensor:
    wide = ops.cast(x, dtype=np.dtype(np.float64))
    return ops.cast(ops.round(wide / unit) * unit, dtype=x.dtype)


around = round


def divmod(x1: Any, x2: Any) -> tuple[Tensor, Tensor]:
    """``x1 // x2`` and ``x1 % x2``, of NumPy's dtype; DtypeError for complex numbers, ShapeError if not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print([x.numpy() for x in tnp.divmod([7.0], [2.0])])
    [array([3.]), array([1.])]
    """
    return floor_divide(x1, x2), remainder(x1, x2)
