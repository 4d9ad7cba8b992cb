"""SciPy's special functions, with NumPy's dtypes: of integers they are float64. Real numbers, but for `logsumexp`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import at, user_location
from ...core.op import ops
from ...core.tensor import Tensor
from ...math import shown
from ...math import special as functions
from ...numpy import reductions
from ...numpy.conversion import array, floats, two_floats
from ...ops.elementwise.arithmetic import matched
from ...ops.elementwise.special import unscaled
from . import _further
from ._further import fresnel, log_softmax, sici, softmax, voigt_profile, wofz

__all__ = [
    "beta",
    "betainc",
    "betaln",
    "comb",
    "dawsn",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp1",
    "exp2",
    "expi",
    "expit",
    "expm1",
    "expn",
    "factorial",
    "fresnel",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "huber",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "iv",
    "ive",
    "j0",
    "j1",
    "jn",
    "kl_div",
    "log1p",
    "log_expit",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "poch",
    "polygamma",
    "pseudo_huber",
    "psi",
    "rel_entr",
    "rgamma",
    "sici",
    "softmax",
    "spence",
    "voigt_profile",
    "wofz",
    "xlog1py",
    "xlogy",
    "y0",
    "y1",
    "yn",
    "zeta",
]

_OfOne = Callable[[Any], Tensor]
_OfTwo = Callable[[Any, Any], Tensor]
_REFUSED = "DtypeError for complex numbers and strings."


def _of_one(name: str, function: Callable[[Any], Any], text: str) -> _OfOne:
    def of_one(x: Any) -> Tensor:
        return function(floats(x))

    of_one.__name__ = of_one.__qualname__ = name
    of_one.__doc__ = f"{text}, of each element of `x`, as floats. {_REFUSED}" + shown.example(
        f"special.{name}"
    )
    return of_one


def _of_two(name: str, function: Callable[[Any, Any], Any], text: str) -> _OfTwo:
    def of_two(a: Any, x: Any) -> Tensor:
        return function(*two_floats(a, x))

    of_two.__name__ = of_two.__qualname__ = name
    text = f"{text}, as floats. {_REFUSED} ShapeError where they do not broadcast."
    of_two.__doc__ = text + shown.example(f"special.{name}")
    return of_two


# ---- the gamma function ---------------------------------------------------------------------------------


def _gammasgn(x: Any) -> Tensor:
    whole = ops.floor(x)
    pole = ops.logical_and(ops.less_equal(x, 0.0), ops.equal(x, whole))
    odd = ops.logical_and(ops.less(x, 0.0), ops.not_equal(ops.mod(whole, 2.0), 0.0))
    sign = ops.cast(ops.where(odd, -1.0, 1.0), dtype=x.dtype)
    return ops.where(ops.is_nan(x), x, ops.where(pole, ops.where(ops.equal(x, 0.0), 1.0, np.nan), sign))


def _gamma(x: Any) -> Tensor:
    return ops.multiply(ops.exp(ops.lgamma(x)), ops.stop_gradient(_gammasgn(x)))


_MOST = {size: float(np.finfo(f"f{size}").max) for size in (2, 4, 8)}


def _rgamma(x: Any) -> Tensor:
    """By reflection for small numbers: smooth at the poles of the gamma function."""
    low = ops.less(x, 0.5)
    nearest = ops.stop_gradient(ops.round(x))
    away = ops.where(low, x - nearest, 0.25)
    sign = ops.cast(ops.where(ops.equal(ops.mod(nearest, 2.0), 0.0), 1.0, -1.0), dtype=x.dtype)
    size = ops.exp(ops.lgamma(1.0 - ops.where(low, x, 0.0)))
    size = ops.where(ops.equal(away, 0.0), ops.minimum(size, _MOST[x.dtype.itemsize]), size)
    reflected = sign / math.pi * ops.sin(math.pi * away) * size
    return ops.where(low, reflected, ops.exp(-ops.lgamma(ops.where(low, 1.0, x))))


def _betaln(a: Any, b: Any) -> Tensor:
    return ops.lgamma(a) + ops.lgamma(b) - ops.lgamma(a + b)


def _beta(a: Any, b: Any) -> Tensor:
    sign = _gammasgn(a) * _gammasgn(b) * _gammasgn(a + b)
    sign = ops.stop_gradient(
        ops.where(ops.is_nan(sign), 1.0, sign)
    )  # at poles, where the size is infinite or 0
    return ops.multiply(ops.exp(_betaln(a, b)), sign)


gammaln: _OfOne = _of_one("gammaln", ops.lgamma, "The logarithm of the size of the gamma function")
gamma: _OfOne = _of_one("gamma", _gamma, "The gamma function")
rgamma: _OfOne = _of_one("rgamma", _rgamma, "1 over the gamma function, 0 at its poles")
gammasgn: _OfOne = _of_one("gammasgn", _gammasgn, "The sign of the gamma function, NaN at negative integers")
digamma: _OfOne = _of_one("digamma", functions.digamma, "The derivative of the logarithm of the gamma function")
psi: _OfOne = digamma
betaln: _OfTwo = _of_two("betaln", _betaln, "The logarithm of the beta function of `a` and `x`")
beta: _OfTwo = _of_two("beta", _beta, "The beta function of `a` and `x`")
factorial: _OfOne = _of_one("factorial", _further.factorial, "``gamma(x + 1)``, 0 below 0; exact for whole numbers")


def comb(N: Any, k: Any, exact: bool = False, repetition: bool = False) -> Tensor:
    """How many ways there are to take `k` things of `N`, as floats; 0 where there are none.

    With `repetition` a thing may be taken again. Both broadcast, ShapeError where they do not; `exact` is accepted and
    changes nothing: results are exact as far as floats are. DtypeError for complex numbers and strings.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(scipy.special.comb(5, 2), scipy.special.comb(5, 2, repetition=True))
    tf.Tensor(10.0, shape=(), dtype=float64) tf.Tensor(15.0, shape=(), dtype=float64)
    """
    n, taken = two_floats(N, k)
    if not repetition:
        return _further.comb(n, taken)
    none = ops.logical_and(ops.equal(taken, 0.0), ops.less_equal(0.0, n))
    return ops.where(none, 1.0, _further.comb(ops.where(none, 1.0, n + taken - 1.0), taken))


poch: _OfTwo = _of_two(
    "poch",
    lambda a, x: _further.poch(a, x, _gammasgn),
    "``gamma(a + x) / gamma(a)``, NaN where `a` or ``a + x`` is 0 or a negative integer",
)
gammainc: _OfTwo = _of_two(
    "gammainc",
    lambda a, x: ops.gammainc(a, x, order=0),
    "The lower incomplete gamma function of `x` with the parameter `a`, over the whole",
)
gammaincc: _OfTwo = _of_two(
    "gammaincc",
    lambda a, x: ops.gammaincc(a, x, order=0),
    "The upper incomplete gamma function of `x` with the parameter `a`, over the whole",
)


def polygamma(n: int, x: Any) -> Tensor:
    """The `n`-th derivative of digamma, of each element of `x`, as floats.

    `n` is a Python integer, for no derivative is known along it. ValueError where it is negative, DtypeError for
    complex numbers and strings.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(scipy.special.polygamma(1, [0.5, 2.0]))
    tf.Tensor([4.9348022  0.64493407], shape=(2,), dtype=float64)
    """
    return functions.polygamma(n, floats(x))


def multigammaln(a: Any, d: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `d`, of each element of `a`, as floats.

    DtypeError for complex numbers and strings.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(scipy.special.multigammaln([3.0], 2))
    tf.Tensor([1.55019499], shape=(1,), dtype=float64)
    """
    return functions.multigammaln(floats(a), d)


def betainc(a: Any, b: Any, x: Any) -> Tensor:
    """The incomplete beta function of `x` from 0 to 1 with positive `a` and `b`, over the whole; floats.

    Derivatives along all three. NaN elsewhere. DtypeError for complex numbers and strings, ShapeError where they do not
    broadcast.

    Examples
    --------
    >>> from tracejit.scipy import special
    >>> round(float(special.betainc(2.0, 1.0, 0.5)), 12)
    0.25
    """
    first, second, third = matched(tuple(floats(v) for v in (a, b, x)), {})[0]
    return ops.betainc(first, second, third, orders=(0, 0))


def zeta(x: Any, q: Any = 1.0) -> Tensor:
    """The sum of ``(q + k)**-x`` over k from 0 on, for `x` above 1 and positive `q`, as floats.

    Infinite at 1, NaN elsewhere. DtypeError for complex numbers and strings, ShapeError where they do not broadcast.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(scipy.special.zeta([2.0, 4.0], 1.0))
    tf.Tensor([1.64493407 1.08232323], shape=(2,), dtype=float64)
    """
    return ops.zeta(*two_floats(x, q), order=0)


# ---- the error function and probabilities ---------------------------------------------------------------

_HALF = math.sqrt(0.5)


def _log_ndtr(x: Any) -> Tensor:
    """Far below 0 by the continued fraction of the tail."""
    low = ops.less(x, -5.0)
    z = ops.where(low, -x, 5.0)
    fraction = z
    for k in range(40, 0, -1):
        fraction = z + k / fraction
    tail = -0.5 * z * z - ops.log(fraction) - 0.5 * math.log(2.0 * math.pi)
    middle = ops.where(low, 0.0, x)
    above = ops.less(0.0, middle)
    upper = ops.log1p(-0.5 * ops.erfc(ops.where(above, middle, 0.0) * _HALF))
    lower = ops.log(0.5 * ops.erfc(-ops.where(above, 0.0, middle) * _HALF))
    return ops.where(low, tail, ops.where(above, upper, lower))


def _entr(x: Any) -> Tensor:
    below = ops.less(x, 0.0)
    inside = ops.where(below, 1.0, x)
    return ops.where(below, -np.inf, -ops.xlogy(inside, inside))


erf: _OfOne = _of_one("erf", ops.erf, "The error function")
erfc: _OfOne = _of_one("erfc", ops.erfc, "1 less the error function")
erfinv: _OfOne = _of_one("erfinv", ops.erfinv, "The number whose error function it is")
erfcinv: _OfOne = _of_one(
    "erfcinv",
    lambda x: -ops.ndtri(0.5 * x) * _HALF,
    "The number of which the error function lacks so much to 1",
)
ndtr: _OfOne = _of_one(
    "ndtr", lambda x: 0.5 * ops.erfc(-x * _HALF), "The probability of a normal variable to lie below"
)
ndtri: _OfOne = _of_one("ndtri", ops.ndtri, "The number below which a normal variable lies with that probability")
log_ndtr: _OfOne = _of_one(
    "log_ndtr", _log_ndtr, "The logarithm of the probability of a normal variable to lie below"
)
expit: _OfOne = _of_one("expit", ops.sigmoid, "``1 / (1 + exp(-x))``")
logit: _OfOne = _of_one("logit", lambda x: ops.log(x) - ops.log1p(-x), "``log(x / (1 - x))``")
entr: _OfOne = _of_one("entr", _entr, "``-x log(x)``, 0 of 0 and -inf below")
xlogy: _OfTwo = _of_two("xlogy", ops.xlogy, "``a log(x)``, 0 where `a` is 0 and `x` not NaN")
xlog1py: _OfTwo = _of_two("xlog1py", ops.xlog1py, "``a log(1 + x)``, 0 where `a` is 0 and `x` not NaN")


exp2: _OfOne = _of_one("exp2", ops.exp2, "``2**x``")
expm1: _OfOne = _of_one("expm1", ops.expm1, "``exp(x) - 1``, exact near 0")
log1p: _OfOne = _of_one("log1p", ops.log1p, "``log(1 + x)``, exact near 0")
log_expit: _OfOne = _of_one("log_expit", _further.log_expit, "The logarithm of :func:`expit`")
erfcx: _OfOne = _of_one("erfcx", ops.erfcx, "``exp(x**2) erfc(x)``")
dawsn: _OfOne = _of_one("dawsn", ops.dawsn, "Dawson's integral, ``exp(-x**2)`` times that of ``exp(t**2)`` from 0 on")
exp1: _OfOne = _of_one(
    "exp1",
    lambda x: ops.expn(x, order=1),
    "The integral of ``exp(-t) / t`` over t from there on, NaN below 0",
)
expi: _OfOne = _of_one(
    "expi", ops.expi, "The integral of ``exp(t) / t`` over t up to there, around 0 its principal value"
)
spence: _OfOne = _of_one(
    "spence",
    ops.spence,
    "The integral of ``log(t) / (1 - t)`` over t from 1 to there, NaN below 0, -inf at infinity",
)


rel_entr: _OfTwo = _of_two(
    "rel_entr", _further.rel_entr, "``a log(a / x)``, 0 where `a` is 0, infinite where either is negative"
)
kl_div: _OfTwo = _of_two("kl_div", _further.kl_div, "``a log(a / x) - a + x``, infinite where either is negative")
huber: _OfTwo = _of_two(
    "huber", _further.huber, "``x**2 / 2`` up to the size `a`, linear beyond, infinite where `a` is negative"
)
pseudo_huber: _OfTwo = _of_two(
    "pseudo_huber",
    _further.pseudo_huber,
    "``a**2 (sqrt(1 + (x / a)**2) - 1)``, infinite where `a` is negative",
)


def expn(n: int, x: Any) -> Tensor:
    """The integral of ``exp(-x t) / t**n`` over t from 1 on, of each element of `x`, as floats; NaN below 0.

    `n` is a Python integer from 0 on, ValueError for others; DtypeError for complex numbers and strings.

    Examples
    --------
    >>> from tracejit.scipy import special
    >>> print(special.expn(2, [0.0, 1.0]))
    tf.Tensor([1.         0.14849551], shape=(2,), dtype=float64)
    """
    return ops.expn(floats(x), order=_whole(n, 0))


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """``log(sum(b * exp(a)))``, floats, over `axis` (None: all; `keepdims`: kept as size 1) without overflow.

    `b` are weights that broadcast, 1 if left out; what weighs 0 may be of any size, and so may elements of `a` where
    the bools `where` are False, which do not count. With `return_sign`, the logarithm of the sum without its sign, and
    its sign: 1, -1, or 0 where it is 0. DtypeError for strings, ShapeError for axes that are not there.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(scipy.special.logsumexp([0.0, 1.0]))
    tf.Tensor(1.3132616875182228, shape=(), dtype=float64)
    """
    x: Any = floats(a)
    if b is None and where is None and not return_sign:
        return reductions.logsumexp(x, axis, keepdims=keepdims)
    weights = array(1.0 if b is None else b, x.dtype)
    if where is not None:
        weights = ops.where(array(where, bool), weights, 0.0)
    none = ops.equal(weights, 0.0)
    counted = ops.where(none, -np.inf, x)
    highest = ops.stop_gradient(reductions.max(counted, axis, keepdims=True))
    highest = ops.where(ops.less(ops.abs(highest), np.inf), highest, 0.0)
    power = x - highest
    if x.dtype.kind == "f":  # what does not count may be of any size
        most = np.log(np.finfo(x.np_dtype).max) - 1.0
        power = ops.where(ops.logical_and(none, ops.logical_not(ops.less(power, most))), most, power)
    total = reductions.sum(weights * ops.exp(power), axis, keepdims=keepdims)
    size = ops.log(ops.abs(total) if return_sign else total) + ops.reshape(highest, shape=total.shape)
    return (size, ops.sign(total)) if return_sign else size


# ---- Bessel functions -----------------------------------------------------------------------------------


def _whole(n: Any, least: float = -np.inf) -> int:
    if isinstance(n, Tensor) or int(n) != n or n < least:
        beyond = "" if least == -np.inf else f" from {least} on"
        raise ValueError(f"takes an order that is a Python integer{beyond}, got {n!r}{at(user_location())}")
    return int(n)


def jn(n: int, x: Any) -> Tensor:
    """The Bessel function of the first kind of the order `n`, a Python integer, of each element of `x`, as floats.

    ValueError for other orders, DtypeError for complex numbers and strings.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(scipy.special.jn(1, [0.5, 2.0]))
    tf.Tensor([0.24226846 0.57672481], shape=(2,), dtype=float64)
    """
    order = _whole(n)
    value: Any = ops.bessel_j(floats(x), order=abs(order))
    return -value if order < 0 and order % 2 else value


def yn(n: int, x: Any) -> Tensor:
    """The Bessel function of the second kind of the order `n`, a Python integer, of each element of `x`, as floats.

    NaN below 0, -inf at 0. ValueError for other orders, DtypeError for complex numbers and strings.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(scipy.special.yn(1, [0.5, 2.0]))
    tf.Tensor([-1.47147239 -0.10703243], shape=(2,), dtype=float64)
    """
    order = _whole(n)
    value: Any = ops.bessel_y(floats(x), order=abs(order))
    return -value if order < 0 and order % 2 else value


def ive(v: float, z: Any) -> Tensor:
    """``exp(-|z|)`` times the modified Bessel function of the first kind of the order `v`, a Python number; floats.

    Of each element of `z`; below 0 NaN unless the order is whole. DtypeError for complex numbers and strings.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(scipy.special.ive(0.0, [0.0, 1.0]))
    tf.Tensor([1.         0.46575961], shape=(2,), dtype=float64)
    """
    return ops.bessel_ive(floats(z), order=float(v))


def iv(v: float, z: Any) -> Tensor:
    """The modified Bessel function of the first kind of the order `v`, a Python number, of each element of `z`; floats.

    Below 0 NaN unless the order is whole. DtypeError for complex numbers and strings.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(scipy.special.iv(0.0, [0.0, 1.0]))
    tf.Tensor([1.         1.26606588], shape=(2,), dtype=float64)
    """
    x = floats(z)
    return unscaled(ive(v, x), x)


_OF_ORDER = "The Bessel function of the {} kind of order {}"
j0: _OfOne = _of_one("j0", lambda x: ops.bessel_j(x, order=0), _OF_ORDER.format("first", 0))
j1: _OfOne = _of_one("j1", lambda x: ops.bessel_j(x, order=1), _OF_ORDER.format("first", 1))
y0: _OfOne = _of_one("y0", lambda x: ops.bessel_y(x, order=0), _OF_ORDER.format("second", 0))
y1: _OfOne = _of_one("y1", lambda x: ops.bessel_y(x, order=1), _OF_ORDER.format("second", 1))
i0: _OfOne = _of_one("i0", functions.bessel_i0, "The modified Bessel function of the first kind of order 0")
i1: _OfOne = _of_one("i1", functions.bessel_i1, "The modified Bessel function of the first kind of order 1")
i0e: _OfOne = _of_one("i0e", ops.bessel_i0e, "``exp(-|x|)`` times the modified Bessel function of order 0")
i1e: _OfOne = _of_one("i1e", ops.bessel_i1e, "``exp(-|x|)`` times the modified Bessel function of order 1")
