"""Special functions of real numbers: of the gamma, error and Bessel families, in double precision; most are compiled.

Formulas: Abramowitz and Stegun, Handbook of Mathematical Functions, 6.3, 6.4, 7.1, 9.6, 9.7.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.op import defop, ops, real, sample
from ...core.spec import TensorSpec
from ..lowering import Compose, Scalar
from .arithmetic import ELEMENTARY, broadcast, elementary, matched, pairs, unary
from .formulas.families import zeta
from .formulas.gamma_family import by_zeta
from .formulas.iterated import by_formula
from .formulas.near_and_far import on_arrays
from .formulas.quotient_arithmetic import horner


def double(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """A kernel that computes in float64 whatever float is given, in silence."""

    def kernel(*inputs: np.ndarray, **attrs: Any) -> np.ndarray:
        with np.errstate(all="ignore"):
            wide = [np.asarray(x, np.float64) for x in inputs]
            return np.asarray(function(*wide, **attrs), inputs[0].dtype)

    return kernel


# ---- the gamma function ---------------------------------------------------------------------------------


_MOST_ORDERS = 170  # the factorial of more is no float


def derivative_number(order: int) -> None:
    """Shape rule: which derivative, 0 for the function itself, or which function of a family; ValueError for others."""
    if not 0 <= order <= _MOST_ORDERS:
        raise ValueError(f"the order is 0 or more, at most {_MOST_ORDERS}, got {order}")


@defop(
    partial=(lambda y, x: ops.digamma(x),),
    kernel=double(on_arrays("lgamma")),
    **elementary("lgamma", 0.5, 4.0),
)
def lgamma(x: TensorSpec) -> TensorSpec:
    """The logarithm of the size of the gamma function; infinite at its poles, 0 and the negative integers."""
    return real(x)


def _cotangent(cotangent: Any, order: int) -> Any:
    """The derivative `order` of ``pi / tan(pi x)``: a polynomial of the cotangent, whose terms have one sign."""
    powers = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(order):
        powers = -powers.deriv() * np.polynomial.Polynomial([1.0, 0.0, 1.0])
    return np.pi ** (order + 1) * horner(cotangent, powers.coef.tolist())


def _continued(of: Any, nearest: Any, zeta: Callable[[float, Any], Any], x: Any, order: int) -> Any:
    """Derivatives of digamma from the second on, by the zeta function; below 0 by reflection, SciPy's at the poles."""
    below, sign = x < 0.0, (-1.0) ** order
    y = of.where(below, 1.0 - x, of.where(x == 0.0, 1.0, x))
    found = by_zeta(zeta, order, y)
    reflected = sign * found - _cotangent(1.0 / of.tan(math.pi * (x - nearest(x))), order)
    found = of.where(below, of.where(x == nearest(x), -sign * math.inf, reflected), found)
    return of.where(x == 0.0, -sign * math.inf, found)


def polygammas(x: np.ndarray, *, order: int) -> np.ndarray:
    derivative_number(order)
    if order < 2:
        return on_arrays("trigamma" if order else "digamma")(x)
    return _continued(np, np.rint, by_formula(zeta), x, order)


@defop(
    partial=(lambda y, x: ops.trigamma(x),),
    kernel=double(on_arrays("digamma")),
    **elementary("digamma", 0.5, 4.0),
)
def digamma(x: TensorSpec) -> TensorSpec:
    """The derivative of `lgamma`; NaN at the negative integers, infinite at 0."""
    return real(x)


@defop(
    partial=(lambda y, x: ops.polygamma(x, order=2),),
    kernel=double(on_arrays("trigamma")),
    **elementary("trigamma", 0.5, 4.0),
)
def trigamma(x: TensorSpec) -> TensorSpec:
    """The derivative of `digamma`; infinite at its poles, 0 and the negative integers."""
    return real(x)


def derivative_of_digamma(x: Any, order: int) -> Any:
    """The derivative number `order`, by the op that is compiled where there is one."""
    return ops.digamma(x) if order == 0 else ops.trigamma(x) if order == 1 else ops.polygamma(x, order=order)


def _composed_polygamma(x: Any, *, order: int) -> Any:
    if order < 2:
        return derivative_of_digamma(x, order)
    wide = ops.cast(x, dtype=np.dtype(np.float64))
    found = _continued(ops, ops.round, lambda s, q: ops.zeta(s, q, order=0), wide, order)
    return ops.cast(found, dtype=x.dtype)


@defop(
    partial=(lambda y, x, *, order: derivative_of_digamma(x, order + 1),),
    kernel=double(polygammas),
    lower=Compose(_composed_polygamma),
    traits=ELEMENTARY,
    samples=(sample((2, 3), low=0.5, high=4.0, order=0), sample((), low=0.5, high=4.0, order=2)),
)
def polygamma(x: TensorSpec, *, order: int) -> TensorSpec:
    """The derivative number `order` of digamma, which itself is that of `lgamma`."""
    derivative_number(order)
    return real(x)


# ---- products with logarithms ---------------------------------------------------------------------------


def _by_logarithm(log: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """What the declarations of ``x * log(y)`` share: 0 where `x` is 0, whose slope along `x` is the logarithm still."""

    def kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        none = (x == 0.0) & ~np.isnan(y)
        return np.where(none, 0.0, x * log(np, np.where(none, 1.0, y))).astype(x.dtype)

    def composed(x: Any, y: Any) -> Any:
        none = ops.logical_and(ops.equal(x, 0.0), ops.logical_not(ops.is_nan(y)))
        return ops.where(none, 0.0, x * log(ops, ops.where(none, 1.0, y)))

    return {"kernel": kernel, "lower": Compose(composed), "canonicalize": matched, "traits": ELEMENTARY}


def _quotient(x: Any, y: Any) -> Any:
    """``x / y``, and 0 of two zeros."""
    none = ops.logical_and(ops.equal(x, 0.0), ops.equal(y, 0.0))
    return ops.divide(x, ops.where(none, 1.0, y))


@defop(
    partial=(lambda z, x, y: ops.log(y), lambda z, x, y: _quotient(x, y)),
    samples=pairs(0.5, 2.0, complex=False),
    **_by_logarithm(lambda of, y: of.log(y)),
)
def xlogy(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """``x * log(y)``, and 0 where `x` is 0 and `y` not NaN."""
    return real(broadcast(x, y))


@defop(
    partial=(lambda z, x, y: ops.log1p(y), lambda z, x, y: _quotient(x, y + 1.0)),
    samples=pairs(0.5, 2.0, complex=False),
    **_by_logarithm(lambda of, y: of.log1p(y)),
)
def xlog1py(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """``x * log(1 + y)``, accurate for small `y`, and 0 where `x` is 0 and `y` not NaN."""
    return real(broadcast(x, y))


# ---- the error function ---------------------------------------------------------------------------------


@defop(
    partial=(lambda y, x: 0.5 * math.sqrt(math.pi) * ops.exp(y * y),),
    kernel=double(on_arrays("erfinv")),
    **elementary("erfinv", -0.9, 0.9),
)
def erfinv(x: TensorSpec) -> TensorSpec:
    """The number whose error function is `x`; infinite at -1 and 1, NaN beyond."""
    return real(x)


@defop(
    partial=(lambda y, p: math.sqrt(2.0 * math.pi) * ops.exp(0.5 * y * y),),
    kernel=double(on_arrays("ndtri")),
    **elementary("ndtri", 0.1, 0.9),
)
def ndtri(p: TensorSpec) -> TensorSpec:
    """The number below which a normal variable lies with probability `p`; infinite at 0 and 1, NaN beyond."""
    return real(p)


# ---- Bessel functions -----------------------------------------------------------------------------------


@defop(
    partial=(lambda y, x: ops.bessel_i1e(x) - ops.sign(x) * y,),
    kernel=double(on_arrays("bessel_i0e")),
    lower=Scalar("bessel_i0e"),
    traits=ELEMENTARY,
    samples=unary(0.5, 3.0) + unary(-3.0, -0.5),
)
def bessel_i0e(x: TensorSpec) -> TensorSpec:
    """``exp(-|x|)`` times the modified Bessel function of the first kind of order 0."""
    return real(x)


@defop(
    partial=(lambda y, x: 0.5 * (ops.bessel_i0e(x) + ops.bessel_ive(x, order=2.0)) - ops.sign(x) * y,),
    kernel=double(on_arrays("bessel_i1e")),
    lower=Scalar("bessel_i1e"),
    traits=ELEMENTARY,
    samples=unary(0.5, 3.0) + unary(-3.0, -0.5),
)
def bessel_i1e(x: TensorSpec) -> TensorSpec:
    """``exp(-|x|)`` times the modified Bessel function of the first kind of order 1."""
    return real(x)


def unscaled(scaled: Any, x: Any) -> Any:
    """``scaled * exp(|x|)``, in two steps where the exponential alone would be too large."""
    size = ops.abs(x)
    once = ops.minimum(size, 80.0 if x.dtype.itemsize < 8 else 700.0)
    return scaled * ops.exp(once) * ops.exp(size - once)
