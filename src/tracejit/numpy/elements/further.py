"""NumPy's less frequent functions of single elements, written with the frequent ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.dim import known
from ...core.errors import DtypeError, at, user_location
from ...core.op import ops
from ...core.tensor import Tensor, apart_from
from ...core.tracing.dispatch import as_tensor
from ...math import elementary, special
from ...ops.arrays.shape import expand_dims
from ...ops.arrays.unchanged import stop_gradient
from ...ops.elementwise import division
from ...ops.tensor.indexing import get
from ..conversion import array, arrays, floats, lined_up, real_numbers, two_floats, values_of, wide_floats
from ..shapes import moveaxis
from .elementwise import logaddexp, maximum, minimum

_LOG_2 = math.log(2.0)


def reciprocal(x: Any) -> Tensor:
    """``1 / x`` of each element; of integers rounded towards 0, 0 of 0; of bools as float16. DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.reciprocal([2.0, 4.0]))
    tf.Tensor([0.5  0.25], shape=(2,), dtype=float64)
    """
    x = array(x)
    if x.dtype.kind in "iu":
        return ops.where(ops.equal(ops.abs(x), 1), x, 0)
    return ops.divide(1.0, floats(x))


def fabs(x: Any) -> Tensor:
    """The absolute value of each element of `x` as a float; DtypeError for complex numbers and strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fabs([-1, 2]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64)
    """
    return ops.abs(real_numbers(x))


def radians(x: Any) -> Tensor:
    """`x`, degrees, as radians: floats of the same shape. DtypeError for complex numbers and strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.radians([180.0, 90.0]))
    tf.Tensor([3.14159265 1.57079633], shape=(2,), dtype=float64)
    """
    return ops.multiply(real_numbers(x), np.pi / 180)


def degrees(x: Any) -> Tensor:
    """`x`, radians, as degrees: floats of the same shape. DtypeError for complex numbers and strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.degrees([tnp.pi, tnp.pi / 2]))
    tf.Tensor([180.  90.], shape=(2,), dtype=float64)
    """
    return ops.multiply(real_numbers(x), 180 / np.pi)


deg2rad = radians
rad2deg = degrees


def angle(z: Any, deg: bool = False) -> Tensor:
    """The angle of each element of `z` with the positive real axis, in radians or with `deg` degrees, as floats.

    DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.angle([1.0j, -1.0], deg=True))
    tf.Tensor([ 90. 180.], shape=(2,), dtype=float64)
    """
    z = array(z)
    angles = elementary.angle(wide_floats(z) if z.dtype.kind == "b" else floats(z))
    return degrees(angles) if deg else angles


def signbit(x: Any) -> Tensor:
    """Is the sign of each element of `x` that of a negative number? It is for -0.0, and for NaN if its bit is set.

    DtypeError for complex numbers and strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.signbit([-0.0, 0.0, -3.0]))
    tf.Tensor([ True False  True], shape=(3,), dtype=bool)
    """
    v = array(x)
    return ops.signbit(v) if v.dtype.kind == "f" else division.signbit(v)


def copysign(x1: Any, x2: Any) -> Tensor:
    """The size of `x1` with the sign of `x2`, as floats.

    DtypeError for complex numbers and strings, ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.copysign([1.0, 2.0], [-1.0, 1.0]))
    tf.Tensor([-1.  2.], shape=(2,), dtype=float64)
    """
    size, sign = two_floats(x1, x2)
    size = ops.abs(size)
    return ops.where(signbit(sign), ops.negative(size), size)


def float_power(x1: Any, x2: Any) -> Tensor:
    """``x1 ** x2`` in float64 or complex128; DtypeError for strings, ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.float_power([2, 3], -1))
    tf.Tensor([0.5        0.33333333], shape=(2,), dtype=float64)
    """
    base, exponent = two_floats(x1, x2)
    wide = np.result_type(base.np_dtype, np.float64)
    return ops.pow(ops.cast(base, dtype=wide), ops.cast(exponent, dtype=wide))


def fmax(x1: Any, x2: Any) -> Tensor:
    """The larger of `x1` and `x2`, of their promoted dtype; of a number and NaN the number.

    DtypeError for strings, ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fmax([1.0, tnp.nan], [2.0, 3.0]))
    tf.Tensor([2. 3.], shape=(2,), dtype=float64)
    """
    a, b = arrays(x1, x2)
    return ops.where(_missing(b), a, ops.where(_missing(a), b, maximum(a, b)))


def fmin(x1: Any, x2: Any) -> Tensor:
    """The smaller of `x1` and `x2`, of their promoted dtype; of a number and NaN the number.

    DtypeError for strings, ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fmin([1.0, tnp.nan], [2.0, 3.0]))
    tf.Tensor([1. 3.], shape=(2,), dtype=float64)
    """
    a, b = arrays(x1, x2)
    return ops.where(_missing(b), a, ops.where(_missing(a), b, minimum(a, b)))


def _missing(x: Any) -> Any:
    return ops.is_nan(array(x))


def fmod(x1: Any, x2: Any) -> Tensor:
    """The remainder of ``x1 / x2`` with the sign of `x1`, as C has it, of their promoted dtype.

    DtypeError for bools, complex numbers and strings, ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fmod([-3.0, 3.0], 2.0))
    tf.Tensor([-1.  1.], shape=(2,), dtype=float64)
    """
    return division.truncatemod(*arrays(x1, x2))


def heaviside(x1: Any, x2: Any) -> Tensor:
    """0 where `x1` is below 0, 1 above, and `x2` at 0, as floats; no gradient flows to `x1`.

    DtypeError for complex numbers and strings, ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.heaviside([-1.0, 0.0, 1.0], 0.5))
    tf.Tensor([0.  0.5 1. ], shape=(3,), dtype=float64)
    """
    x, middle = two_floats(x1, x2)
    above = ops.cast(ops.less(0, x), dtype=x.np_dtype)
    return ops.where(ops.is_nan(x), x, ops.where(ops.equal(x, 0), middle, above))


def logaddexp2(x1: Any, x2: Any) -> Tensor:
    """``log2(2**x1 + 2**x2)`` without overflow, as floats or complex numbers.

    DtypeError for strings, ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.logaddexp2([1.0, 2.0], [1.0, 2.0]))
    tf.Tensor([2. 3.], shape=(2,), dtype=float64)
    """
    a, b = two_floats(x1, x2)
    return ops.divide(logaddexp(ops.multiply(a, _LOG_2), ops.multiply(b, _LOG_2)), _LOG_2)


def sinc(x: Any) -> Tensor:
    """``sin(pi x) / (pi x)``, and 1 at 0; near 0 by its series, which has derivatives of any order.

    Of each element of `x`, as floats, or complex numbers. DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.sinc([0.0, 0.5]))
    tf.Tensor([1.         0.63661977], shape=(2,), dtype=float64)
    """
    t = ops.multiply(wide_floats(x), np.pi)
    near = ops.less(ops.abs(t), 0.5)
    square, series = ops.square(ops.where(near, t, 0.0)), 0.0
    for k in range(8, 0, -1):
        series = (1.0 + series) * square / (-2 * k * (2 * k + 1))
    far = ops.where(near, 1.0, t)
    return ops.where(near, 1.0 + series, ops.divide(ops.sin(far), far))


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Tensor:
    """`x` with `nan` in place of NaN, `posinf` and `neginf` of infinities: the largest numbers there are unless told.

    Shape and dtype stay; what can have no NaN comes back as it is. `copy` is accepted.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.nan_to_num([1.0, tnp.nan, tnp.inf], posinf=9.0))
    tf.Tensor([1. 0. 9.], shape=(3,), dtype=float64)
    """
    given, x = x, array(x)
    if x.dtype.kind == "c":
        parts = (nan_to_num(part(x), copy, nan, posinf, neginf) for part in (ops.real, ops.imag))
        return ops.complex(*parts)
    if x.dtype.kind != "f":
        return apart_from(x, given)
    most = float(x.dtype.max)
    x = ops.where(ops.is_nan(x), nan, x)
    x = ops.where(ops.equal(x, np.inf), most if posinf is None else posinf, x)
    return ops.where(ops.equal(x, -np.inf), -most if neginf is None else neginf, x)


def modf(x: Any) -> tuple[Tensor, Tensor]:
    """What each element of `x` has behind the point and before, with its sign, as floats; DtypeError for complex.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> fraction, whole = tnp.modf([1.5, -2.25])
    >>> print(fraction.numpy(), whole.numpy())
    [ 0.5  -0.25] [ 1. -2.]
    """
    x = floats(x)
    whole = ops.trunc(x)
    rest = ops.where(ops.equal(ops.abs(x), np.inf), 0.0, ops.subtract(x, whole))
    return copysign(rest, x), whole


def fix(x: Any) -> Tensor:
    """The whole number next to each element of `x` on the side of 0, of its dtype; DtypeError for complex numbers.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.fix([-1.5, 1.5]))
    tf.Tensor([-1.  1.], shape=(2,), dtype=float64)
    """
    given, x = x, array(x)
    return apart_from(x, given) if x.dtype.kind in "biu" else ops.trunc(real_numbers(x))


def cbrt(x: Any) -> Tensor:
    """The cube root of each element of `x`, of negative numbers too, as floats; DtypeError for complex and strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.cbrt([8.0, -27.0]))
    tf.Tensor([ 2. -3.], shape=(2,), dtype=float64)
    """
    return ops.cbrt(real_numbers(x))


def i0(x: Any) -> Tensor:
    """The modified Bessel function of the first kind of order 0, of each element of `x`, floats; DtypeError for others.

    Of integers it is float64.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.i0([0.0, 1.0]))
    tf.Tensor([1.         1.26606588], shape=(2,), dtype=float64)
    """
    return special.bessel_i0(real_numbers(wide_floats(x)))


def ldexp(x1: Any, x2: Any) -> Tensor:
    """``x1 * 2**x2`` for integers `x2`, rounded once, as floats.

    DtypeError for an `x2` of other numbers and for complex numbers, ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.ldexp([1.0, 3.0], [2, -1]))
    tf.Tensor([4.  1.5], shape=(2,), dtype=float64)
    """
    power = array(x2)
    if power.dtype.kind not in "iu":
        raise DtypeError(f"takes an exponent of integers, got {power.spec}{at(user_location())}")
    x = real_numbers(x1)
    return ops.ldexp(x, ops.cast(power, dtype=x.np_dtype))


def frexp(x: Any) -> tuple[Tensor, Tensor]:
    """Each element of `x` as a float of a size in [0.5, 1), or as it is if 0 or not finite, and a power of 2 (int32).

    Their product is `x` again. DtypeError for complex numbers and strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(*tnp.frexp([1.0, 6.0]))
    tf.Tensor([0.5  0.75], shape=(2,), dtype=float64) tf.Tensor([1 3], shape=(2,), dtype=int32)
    """
    x = real_numbers(x)
    power = ops.exponent(x)
    return ldexp(x, ops.negative(power)), power


def spacing(x: Any) -> Tensor:
    """The distance of each element of `x` to the float next to it away from 0, with its sign; no gradient flows.

    As in NumPy that of float16 is the one to the next larger number. DtypeError for complex numbers and strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.spacing([1.0, 2.0]))
    tf.Tensor([2.22044605e-16 4.44089210e-16], shape=(2,), dtype=float64)
    """
    v = stop_gradient(real_numbers(x))
    upwards = v.np_dtype == np.float16
    size = v if upwards else ops.abs(v)
    gap = ops.subtract(ops.nextafter(size, ops.cast(as_tensor(np.inf), dtype=v.np_dtype)), size)
    signed = gap if upwards else ops.where(ops.less(v, 0), ops.negative(gap), gap)
    return ops.where(ops.equal(ops.abs(v), np.inf), np.nan, signed)


def gcd(x1: Any, x2: Any) -> Tensor:
    """The greatest number that divides the integers `x1` and `x2`, of their promoted dtype; of 0 and n it is n.

    DtypeError for other numbers, ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.gcd([12, 18], 8))
    tf.Tensor([4 2], shape=(2,), dtype=int64)
    """
    return ops.gcd(*arrays(x1, x2))


def lcm(x1: Any, x2: Any) -> Tensor:
    """The least number that the integers `x1` and `x2` divide, of their promoted dtype; 0 where one is 0.

    DtypeError for other numbers, ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.lcm([4, 6], 10))
    tf.Tensor([20 30], shape=(2,), dtype=int64)
    """
    return ops.lcm(*arrays(x1, x2))


def bitwise_count(x: Any) -> Tensor:
    """How many bits of the size of each integer in `x` are 1, as uint8; DtypeError for other numbers.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.bitwise_count([1, 7]))
    tf.Tensor([1 3], shape=(2,), dtype=uint8)
    """
    return ops.bitwise_count(array(x))


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Tensor:
    """Eight elements of `a` along `axis`, or of all in a row, as the bits of one uint8: those that are not 0 are 1.

    Missing ones at the end are 0. The first is the highest bit, or with the `bitorder` "little" the lowest; ValueError
    for others, DtypeError for numbers with fractions.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.packbits([1, 0, 0, 0, 0, 0, 1, 1]))
    tf.Tensor([131], shape=(1,), dtype=uint8)
    """
    x, along = lined_up(a, axis)
    if x.dtype.kind not in "biu":
        raise DtypeError(f"takes integers and bools, got {x.spec}{at(user_location())}")
    last = moveaxis(ops.not_equal(ops.cast(x, dtype=np.dtype(np.int64)), 0), along, -1)
    size = known(last.shape[-1])
    groups = -(-size // 8)
    missing = ops.fill(shape=(*last.shape[:-1], 8 * groups - size), value=False, dtype=last.np_dtype)
    bits = ops.reshape(
        ops.concat(last, missing, axis=len(last.shape) - 1), shape=(*last.shape[:-1], groups, 8)
    )
    bytes_ = ops.reduce_sum(ops.where(bits, _bits(bitorder), 0), axis=-1)
    return moveaxis(ops.cast(bytes_, dtype=np.dtype(np.uint8)), -1, along)


def unpackbits(a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Tensor:
    """The bits of uint8 `a`, eight for each element along `axis`, or of all in a row, as uint8.

    `count` says how many to keep, to leave out if negative, and with zeros where there are fewer. `bitorder` is that of
    :func:`packbits`; ValueError for others, DtypeError for other dtypes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.unpackbits(tnp.array([131], dtype="uint8")))
    tf.Tensor([1 0 0 0 0 0 1 1], shape=(8,), dtype=uint8)
    """
    x, along = lined_up(a, axis)
    if x.np_dtype != np.uint8:
        raise DtypeError(f"takes uint8, got {x.spec}{at(user_location())}")
    last = ops.cast(moveaxis(x, along, -1), dtype=np.dtype(np.int64))
    ones = ops.not_equal(ops.bitwise_and(expand_dims(last, -1), _bits(bitorder)), 0)
    bits = ops.cast(ones, dtype=np.dtype(np.uint8))
    size = 8 * known(last.shape[-1])
    bits = ops.reshape(bits, shape=(*last.shape[:-1], size))
    if count is not None and count > size:
        more = ops.fill(shape=(*last.shape[:-1], count - size), value=0, dtype=bits.dtype)
        bits = ops.concat(bits, more, axis=len(last.shape) - 1)
    return moveaxis(get(bits, (Ellipsis, slice(None, count))), -1, along)


def _bits(bitorder: str) -> np.ndarray:
    if bitorder not in ("big", "little"):
        raise ValueError(f"bitorder is big or little, got {bitorder!r}{at(user_location())}")
    values = 2 ** np.arange(8)
    return values if bitorder == "little" else values[::-1]


def real_if_close(a: Any, tol: float = 100) -> Tensor:
    """The real parts of `a` where all imaginary ones are within `tol` machine epsilons of 0 (below 1: `tol`), else `a`.

    The shape stays. SymbolicValue for complex numbers that a traced function computes: the dtype depends on them.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.real_if_close([1.0 + 0j, 2.0 + 0j]))
    tf.Tensor([1. 2.], shape=(2,), dtype=float64)
    """
    x = array(a)
    if x.dtype.kind != "c":
        return x
    small = tol * np.finfo(x.np_dtype).eps if tol > 1 else tol
    return ops.real(x) if bool(np.all(np.abs(values_of(x).imag) < small)) else x


# ---- questions ------------------------------------------------------------------------------------------
