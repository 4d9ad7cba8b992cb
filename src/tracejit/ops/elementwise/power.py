"""Powers, of integers too: those have no negative powers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.errors import FAILURES
from ...core.ir.graph import literal
from ...core.op import Attrs, defop, ops, real
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ..lowering import Compose, Scalar
from .arithmetic import ELEMENTARY, matched, numbers, pairs, unary
from .neighbours import layout, whole_exponent


def _power_partial(y: Any, a: Any, b: Any) -> Any:
    """``b * a ** (b - 1)``, which is 0 for ``0 ** 0``; a product also where `b` is 0, as it changes with `b`."""
    apart = ops.where(ops.equal(a, 0.0), 1.0, a)
    return b * ops.pow(ops.where(ops.equal(b, 0.0), apart, a), b - 1.0)


def _exponent_partial(y: Any, a: Any, b: Any) -> Any:
    """``y * log(a)``, the logarithm taken as 0 where there is none: NaN and infinite powers give NaN nonetheless."""
    valid = ops.not_equal(a, 0.0) if a.dtype.kind == "c" else ops.less(0.0, a)
    return y * ops.where(valid, ops.log(ops.where(valid, a, 1.0)), 0.0)


def _root(a: np.ndarray, rank: int) -> np.ndarray:
    """``a ** 0.5``: for one exponent NumPy takes the square root, which differs at -inf and -0.0."""
    root = np.sqrt(a)
    if not (a > 0).all():
        root = np.where(a == -np.inf, a.dtype.type(np.inf), root + a.dtype.type(0))
    return root if rank <= a.ndim else root.reshape((1,) * (rank - a.ndim) + a.shape)


def _pow_kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if b.size == 1 and a.dtype.kind == "f" and b.item() == 0.5:
        return _root(a, b.ndim)
    if a.dtype.kind in "fc" or not np.any(b < 0):
        return np.power(a, b)
    unit = np.where((a == 1) | (a == -1), np.power(a, b & 1), 0)
    return np.where(b < 0, unit, np.power(a, np.maximum(b, 0)))


def _known(x: Any) -> np.ndarray | None:
    """The values of an eager tensor or of a constant of the trace."""
    if not x.is_symbolic:
        return x.array
    return literal(x.value)


def _integer_powers(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    """Canonicalize: one dtype; integers to negative powers, which are no integers, raise, now or in the program."""
    x, y = matched(inputs, attrs)[0]
    if y.dtype.kind == "i" and y.spec.size != 0:
        message = "integers to negative integer powers are not integers: make the base a float, as in x * 1.0"
        known = _known(y)
        if known is None:
            natural = ops.less_equal(0, ops.reduce_min(y))
            ops.check(ops.cast(natural, dtype=np.dtype("float32")), message=message, error="ValueError")
        elif known.min() < 0:
            raise FAILURES["ValueError"](message)
    return (x, y), attrs


def _power_is_flat(record: Any, i: int) -> str:
    if i == 1:
        return "the base is {other}, so that the exponent, {this}, does not matter"
    if record.inputs[1].array.any():
        return "the base is {this} with the exponent {other}"
    return "the exponent is 0, and the result 1 whatever the base"


@defop(
    partial=(_power_partial, _exponent_partial),
    vanishes_where=_power_is_flat,
    kernel=_pow_kernel,
    lower=Scalar("pow"),
    canonicalize=_integer_powers,
    traits=ELEMENTARY,
    samples=pairs(0.5, 2.0),
)
def pow(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """``x ** y``, element by element, with NumPy's special values. ValueError for integers to a negative power."""
    return numbers(x, y)


#: The cube root in [1, 2] to 13 and to 22 bits: interpolated at Chebyshev's points.
_CBRT = {
    4: (0.5557909602691409, 0.5808263911380914, -0.15866246005318851, 0.022148699208244693),
    8: (
        *(0.44864263081136246, 0.9437338117250865, -0.6550685616701282, 0.37514753009464635),
        *(-0.13924853168630794, 0.02949670424549465, -0.0027033338697037834),
    ),
}
#: Of ``(1 + d) ** (1 / 3) - 1`` around 0, divided by d.
_CBRT_SERIES = (1 / 3, -1 / 9, 5 / 81, -10 / 243)


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    total: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


def _cbrt_by_bits(x: Tensor) -> Any:
    """To 0.51 ULP: a root short enough for its cube to be exact, and the series for what that lacks.

    ``|x|`` is ``m * 8**k`` with m in [1, 8), which itself is ``f * 2**j`` with f in [1, 2).
    """
    if x.dtype.itemsize == 2:
        return ops.cast(_cbrt_by_bits(ops.cast(x, dtype=np.dtype(np.float32))), dtype=x.np_dtype)
    mantissa, largest = layout(x.np_dtype)
    bits, exponent = whole_exponent(x)
    word, number, below = bits.np_dtype, x.np_dtype.type, 400
    k = ops.right_shift((exponent + 3 * below) * 43691, 17) - below  # the exponent divided by 3, rounded down
    j = exponent - 3 * k
    held = ops.bitwise_and(bits, (1 << mantissa) - 1)
    f = ops.same_bits(ops.bitwise_or(held, largest << mantissa), dtype=x.np_dtype)
    first, second = ops.equal(j, 1), ops.equal(j, 2)
    m = f * ops.where(second, number(4.0), ops.where(first, number(2.0), 1.0))
    y = _polynomial(f, _CBRT[x.dtype.itemsize])
    y = y * ops.where(second, number(4.0 ** (1 / 3)), ops.where(first, number(2.0 ** (1 / 3)), 1.0))
    lost = mantissa + 1 - (mantissa + 1) // 3
    short = ops.left_shift(ops.right_shift(ops.same_bits(y, dtype=word), lost), lost)
    y = ops.same_bits(short, dtype=x.np_dtype)
    cube = y * y * y
    d = (m - cube) / cube
    y = y + y * (d * _polynomial(d, _CBRT_SERIES))
    power = ops.left_shift(ops.cast(k + largest, dtype=word), mantissa)
    y = y * ops.same_bits(power, dtype=x.np_dtype)
    ordinary = ops.logical_and(ops.not_equal(x, 0.0), ops.less(ops.abs(x), np.inf))
    return ops.where(ordinary, ops.where(ops.less(x, 0.0), ops.negative(y), y), x + x)


@defop(
    partial=(lambda y, x: ops.divide(1.0 / 3.0, ops.square(y)),),
    kernel=np.cbrt,
    lower=Compose(_cbrt_by_bits),
    traits=ELEMENTARY,
    samples=unary(0.5, 2.0) + unary(-2.0, -0.5),
)
def cbrt(x: TensorSpec) -> TensorSpec:
    """The cube root, of negative numbers too."""
    return real(x)
