"""Elementary functions, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.lazy import Later
from ...core.op import defop, floating, numeric, ops, ordered, real, sample
from ...core.spec import TensorSpec
from ..lowering import Compose, Scalar
from .arithmetic import (
    COMPLEX_BY_KERNEL,
    ELEMENTARY,
    ELEMENTWISE,
    broadcast,
    elementary,
    matched,
    pairs,
    unary,
)

if TYPE_CHECKING:
    from . import faddeeva
else:  # few programs have error functions of complex numbers
    faddeeva = Later(".faddeeva", __package__)

SATURATED = "its argument is so large that the result no longer changes: {this}"
UNDERFLOWN = "its argument is so small that the result is 0: {this}"


@defop(
    partial=(lambda y, x: 0.5 * (1.0 / y),),
    kernel=np.sqrt,
    lower=Scalar("sqrt"),
    traits=ELEMENTWISE,
    samples=unary(0.5, 2.0, complex=True),
)
def sqrt(x: TensorSpec) -> TensorSpec:
    """Square root; the derivative at 0 is infinite."""
    return floating(x)


@defop(partial=(lambda y, x: y,), vanishes_where=UNDERFLOWN, kernel=np.exp, **elementary("exp", complex=True))
def exp(x: TensorSpec) -> TensorSpec:
    """Exponential function."""
    return floating(x)


@defop(partial=(lambda y, x: 1.0 / x,), kernel=np.log, **elementary("log", 0.5, 3.0, complex=True))
def log(x: TensorSpec) -> TensorSpec:
    """Natural logarithm."""
    return floating(x)


@defop(partial=(lambda y, x: (1.0 / math.log(2.0)) / x,), kernel=np.log2, **elementary("log2", 0.5, 3.0))
def log2(x: TensorSpec) -> TensorSpec:
    """Logarithm to base 2, exact for powers of 2."""
    return real(x)


@defop(partial=(lambda y, x: (1.0 / math.log(10.0)) / x,), kernel=np.log10, **elementary("log10", 0.5, 3.0))
def log10(x: TensorSpec) -> TensorSpec:
    """Logarithm to base 10."""
    return real(x)


@defop(partial=(lambda y, x: y * math.log(2.0),), kernel=np.exp2, **elementary("exp2"))
def exp2(x: TensorSpec) -> TensorSpec:
    """``2 ** x``, exact for whole numbers."""
    return real(x)


@defop(partial=(lambda y, x: ops.cos(x),), kernel=np.sin, **elementary("sin", complex=True))
def sin(x: TensorSpec) -> TensorSpec:
    """Sine of an angle in radians."""
    return floating(x)


@defop(
    partial=(lambda y, x: -ops.sin(x),),
    vanishes_where="its argument is 0, where it is flat: {this}",
    kernel=np.cos,
    **elementary("cos", complex=True),
)
def cos(x: TensorSpec) -> TensorSpec:
    """Cosine of an angle in radians."""
    return floating(x)


@defop(
    partial=(lambda y, x: 1.0 - y * y,),
    vanishes_where=SATURATED,
    kernel=np.tanh,
    **elementary("tanh", complex=True),
)
def tanh(x: TensorSpec) -> TensorSpec:
    """Hyperbolic tangent."""
    return floating(x)


def _sigmoid_kernel(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        return 1.0 / (1.0 + np.exp(-x))
    small = np.exp(-np.abs(x))  # never overflows
    return np.where(x >= 0, 1.0, small).astype(x.dtype) / (1.0 + small)


@defop(
    partial=(lambda y, x: y * (1.0 - y),),
    vanishes_where=SATURATED,
    kernel=_sigmoid_kernel,
    **elementary("sigmoid", complex=True),
)
def sigmoid(x: TensorSpec) -> TensorSpec:
    """``1 / (1 + exp(-x))``, without overflow for real numbers."""
    return floating(x)


def _expm1(x: np.ndarray) -> np.ndarray:
    """NumPy's, which of complex numbers knows finite ones alone and takes 1 from 1 as -0 of ``-0+0j``."""
    y = np.expm1(x)
    if x.dtype.kind == "c":
        y = np.where(np.isfinite(x), y, np.exp(x) - 1)
        y.real += 0.0
    return y


@defop(
    partial=(lambda y, x: y + 1.0,),
    kernel=_expm1,
    **elementary("expm1", complex=True) | COMPLEX_BY_KERNEL,
)
def expm1(x: TensorSpec) -> TensorSpec:
    """``exp(x) - 1``, accurate near 0."""
    return floating(x)


@defop(
    partial=(lambda y, x: 1.0 / (x + 1.0),),
    kernel=np.log1p,
    **elementary("log1p", -0.5, 2.0, complex=True) | COMPLEX_BY_KERNEL,
)
def log1p(x: TensorSpec) -> TensorSpec:
    """``log(1 + x)``, accurate near 0."""
    return floating(x)


def _logaddexp(a: Any, b: Any) -> Any:
    same = ops.equal(a, b)  # infinite ones have no difference
    return ops.where(same, a + math.log(2.0), ops.maximum(a, b) + ops.softplus(-ops.abs(a - b)))


@defop(
    partial=(lambda y, a, b: ops.sigmoid(a - b), lambda y, a, b: ops.sigmoid(b - a)),
    kernel=np.logaddexp,
    lower=Compose(_logaddexp),
    canonicalize=matched,
    traits=ELEMENTARY,
    samples=pairs(0.5, 2.0, complex=False),  # where it is 0 its own terms cancel
)
def logaddexp(a: TensorSpec, b: TensorSpec) -> TensorSpec:
    """``log(exp(a) + exp(b))``, without overflow."""
    return real(broadcast(a, b))


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


@defop(
    partial=(lambda y, x: ops.sigmoid(x),),
    vanishes_where=UNDERFLOWN,
    kernel=_softplus,
    **elementary("softplus"),
)
def softplus(x: TensorSpec) -> TensorSpec:
    """``log(1 + exp(x))``, without overflow."""
    return real(x)


def _where_positive(g: Any, y: Any) -> Any:
    return ops.tied(ops.where(ops.less(0.0, y), g, 0.0), y)


@defop(
    vjp=(lambda g, y, x: _where_positive(g, y),),
    jvp=lambda record, ts: [_where_positive(ts[0], record.outputs[0])],
    vanishes_where="no element of its argument is positive: {this}",
    kernel=lambda x: np.maximum(x, 0).astype(x.dtype),
    lower=Compose(lambda x: ops.maximum(x, 0)),
    traits=ELEMENTWISE,
    samples=(sample((2, 3), low=0.5), sample((3,), low=-2.0, high=-0.5)),
)
def relu(features: TensorSpec) -> TensorSpec:
    """``maximum(features, 0)``, with derivative 0 at 0; the second derivative is zero.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.relu([-1.0, 2.0]))
    tf.Tensor([0. 2.], shape=(2,), dtype=float32)
    """
    return ordered(numeric(features))


_Kernel = Callable[[np.ndarray], np.ndarray]


def _number_by_number(function: Callable[[float], float], of_complex: _Kernel) -> _Kernel:
    """A kernel that computes real numbers in float64, by the C library's function."""
    of_each = np.frompyfunc(function, 1, 1)
    return lambda x: of_complex(x) if x.dtype.kind == "c" else np.asarray(of_each(x), dtype=x.dtype)


@defop(
    partial=(lambda y, x: ops.exp(-x * x) * (2.0 / math.sqrt(math.pi)),),
    vanishes_where=SATURATED,
    kernel=_number_by_number(math.erf, lambda x: faddeeva.erf_of_complex(x)),
    **elementary("erf", complex=True) | COMPLEX_BY_KERNEL,
)
def erf(x: TensorSpec) -> TensorSpec:
    """Error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to `x`."""
    return floating(x)


@defop(
    partial=(lambda y, x: ops.exp(-x * x) * (-2.0 / math.sqrt(math.pi)),),
    vanishes_where=SATURATED,
    kernel=_number_by_number(math.erfc, lambda x: faddeeva.erfc_of_complex(x)),
    **elementary("erfc", complex=True) | COMPLEX_BY_KERNEL,
)
def erfc(x: TensorSpec) -> TensorSpec:
    """What the error function lacks to 1, to the last digits where that is small."""
    return floating(x)
