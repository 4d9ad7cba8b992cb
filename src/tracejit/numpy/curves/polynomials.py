"""NumPy's polynomials, by their coefficients from the highest power down."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import cutting
from ...core.dim import known
from ...core.errors import ShapeError, at, user_location
from ...core.op import ops
from ...core.tensor import Tensor, apart_from
from ...math import elementary
from ...ops.arrays.shape import expand_dims, stack
from ...ops.elementwise.arithmetic import matched
from ...ops.tensor.indexing import get
from ..conversion import array, arrays, values_of, wide_floats
from ..linalg import eigvals, inv, lstsq
from ..making import vander
from ..shapes import atleast_1d
from .calculus import convolve


def polyval(p: Any, x: Any) -> Tensor:
    """The value at `x` of a polynomial, its coefficients `p` from the highest power down; of the promoted dtype.

    The shape is that of `x`; DtypeError for strings.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.polyval([1.0, 0.0, 1.0], 3.0))
    tf.Tensor(10.0, shape=(), dtype=float64)
    """
    coefficients, at_x = matched((array(p), array(x)), {})[0]
    zero = ops.fill(shape=at_x.shape, value=0, dtype=at_x.dtype)
    return elementary.polyval([zero, *(get(coefficients, k) for k in range(coefficients.shape[0]))], at_x)


def polyder(p: Any, m: int = 1) -> Tensor:
    """The coefficients of the `m`-th derivative of a polynomial, a vector as `p`; same dtype, DtypeError for text.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.polyder([1.0, 2.0, 3.0]))
    tf.Tensor([2. 2.], shape=(2,), dtype=float64)
    """
    x: Any = array(p)
    for _ in range(m):
        powers = np.arange(x.shape[0] - 1, 0, -1)
        x = ops.multiply(get(x, slice(None, -1)), powers)
    return x


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Tensor:
    """The coefficients, a vector, of the product of polynomials `a1`, `a2`; dtype, ValueError as :func:`convolve`.

    With `trim_leading_zeros` as NumPy's, without zeros in front of what they begin with: they are known then.
    SymbolicValue for what a traced function computes.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.polymul([1.0, 1.0], [1.0, -1.0]))
    tf.Tensor([ 1.  0. -1.], shape=(3,), dtype=float64)
    """
    return convolve(_from_its_degree(a1), _from_its_degree(a2)) if trim_leading_zeros else convolve(a1, a2)


def _from_its_degree(p: Any) -> Any:
    """Without zeros in front, but for the last coefficient."""
    whole = atleast_1d(array(p))
    present = np.flatnonzero(values_of(whole))
    return get(whole, slice(int(present[0]) if present.size else -1, None))


def polyadd(a1: Any, a2: Any) -> Tensor:
    """The coefficients of the sum of two polynomials, vectors from the highest power down; the promoted dtype.

    `a1`, `a2`: DtypeError for text.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.polyadd([1.0, 2.0], [3.0]))
    tf.Tensor([1. 5.], shape=(2,), dtype=float64)
    """
    a, b = matched(tuple(map(atleast_1d, arrays(array(a1), array(a2)))), {})[0]
    size = max(a.shape[0], b.shape[0])
    return ops.add(*(cutting.pad(x, [[size - x.shape[0], 0]]) for x in (a, b)))


def polysub(a1: Any, a2: Any) -> Tensor:
    """The coefficients of `a1` less those of `a2`, as :func:`polyadd`: vectors of the promoted dtype.

    DtypeError for text.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.polysub([1.0, 2.0], [3.0]))
    tf.Tensor([ 1. -1.], shape=(2,), dtype=float64)
    """
    return polyadd(a1, ops.negative(array(a2)))


def polyint(p: Any, m: int = 1, k: Any = None) -> Tensor:
    """The coefficients of the polynomial whose `m`-th derivative is `p`, with the constants `k`, else 0; floats.

    A vector; ShapeError where there are not as many constants.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.polyint([2.0, 2.0]))
    tf.Tensor([1. 2. 0.], shape=(3,), dtype=float64)
    """
    x: Any = wide_floats(p)
    constants = np.broadcast_to(0.0 if k is None else np.asarray(values_of(k), np.float64), (m,))
    for constant in constants.tolist():
        powers = np.arange(x.shape[0], 0, -1)
        x = ops.concat(ops.divide(x, powers.astype(x.dtype)), array([constant], x.dtype), axis=0)
    return x


def polydiv(u: Any, v: Any) -> tuple[Tensor, Tensor]:
    """The quotient and the remainder of polynomials `u` and `v`, vectors from the highest power down; floats.

    The remainder keeps no zeros in front where its values are known. ShapeError for what are no vectors.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> quotient, remainder = tnp.polydiv([1.0, 3.0, 5.0], [1.0, 1.0])
    >>> print(quotient.numpy(), remainder.numpy())
    [1. 2.] [3.]
    """
    rest, by = matched((atleast_1d(wide_floats(u)), atleast_1d(wide_floats(v))), {})[0]
    count = rest.shape[0] - by.shape[0] + 1
    if count <= 0:
        return array(np.zeros(1, rest.dtype)), apart_from(rest, u)
    first, digits = get(by, 0), []
    for k in range(count):
        digit: Any = ops.divide(get(rest, k), first)
        digits.append(digit)
        taken = ops.multiply(digit, by)
        rest = ops.subtract(rest, cutting.pad(taken, [[k, rest.shape[0] - k - by.shape[0]]]))
    rest = get(rest, slice(min(count, rest.shape[0] - 1), None))
    if not rest.is_symbolic:
        small = np.flatnonzero(np.abs(rest.array) > 1e-14)
        rest = get(rest, slice(int(small[0]) if small.size else rest.shape[0] - 1, None))
    return stack(digits, 0), rest


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | str = False,
) -> Any:
    """The coefficients, from the highest power down, of the polynomial of degree `deg` nearest to `y` at `x`; floats.

    Squares of distances count, multiplied with those of the weights `w`. A column of `y` gives one of coefficients.
    Directions in which the powers are shorter than `rcond` of the longest are left out, by default the precision of
    floats times the number of points. If `full`, a tuple of them, the sums of squares, rank and singular values
    as :func:`lstsq` has them, and `rcond`. Else with `cov` a pair of them and of their covariances: a matrix, or one
    per column of `y` along a third axis, times the mean square that is left per point beyond ``deg + 1``; "unscaled"
    without that, for weights that are one over standard deviations. ShapeError where lengths differ, ValueError where
    no points are beyond these.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.round(tnp.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1), 6))
    tf.Tensor([2. 1.], shape=(2,), dtype=float64)
    """
    points, values = matched((wide_floats(x), wide_floats(y)), {})[0]
    powers: Any = vander(points, deg + 1)
    if w is not None:
        weights: Any = array(w, powers.dtype)
        powers = ops.multiply(powers, expand_dims(weights, 1))
        values = ops.multiply(values, weights if len(values.shape) == 1 else expand_dims(weights, 1))
    scale = ops.sqrt(ops.reduce_sum(ops.square(powers), axis=(0,)))
    fitted = lstsq(ops.divide(powers, scale), values, rcond)
    found = ops.divide(fitted.x, scale if len(values.shape) == 1 else expand_dims(scale, 1))
    if full:
        least = len(x) * np.finfo(powers.dtype).eps if rcond is None else rcond
        return found, fitted.residuals, fitted.rank, fitted.s, least
    return (found, _spread(powers, scale, values, fitted.residuals, cov)) if cov else found


def _spread(powers: Any, scale: Any, values: Any, residuals: Any, cov: bool | str) -> Tensor:
    """The covariances of coefficients fitted to `values` by `powers`, columns of the length `scale`."""
    scaled = ops.divide(powers, scale)
    inverse = inv(ops.matmul(ops.transpose(scaled), scaled))
    spread = ops.divide(inverse, ops.multiply(expand_dims(scale, 1), scale))
    if len(values.shape) > 1:
        spread = expand_dims(spread, 2)
    if cov == "unscaled":
        return spread
    more = known(powers.shape[0]) - known(powers.shape[1])
    if more <= 0:
        raise ValueError(
            f"{powers.shape[0]} points leave nothing to scale the covariances of {powers.shape[1]} coefficients by: "
            f'write cov="unscaled"{at(user_location())}'
        )
    return ops.multiply(spread, ops.divide(residuals, array(more, powers.dtype)))


def poly(seq_of_zeros: Any) -> Tensor:
    """The coefficients, a vector of floats, of the polynomial with these zeros, or of a matrix's eigenvalues.

    `seq_of_zeros`: ShapeError for other arrays.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.poly([1.0, 2.0]))
    tf.Tensor([ 1. -3.  2.], shape=(3,), dtype=float64)
    """
    x = wide_floats(seq_of_zeros)
    zeros: Any = eigvals(x) if len(x.shape) == 2 else atleast_1d(x)
    found = array(np.ones(1, zeros.dtype))
    for k in range(zeros.shape[0]):
        factor = stack([array(1, zeros.dtype), ops.negative(get(zeros, k))], 0)
        found = convolve(found, factor)
    return ops.real(found) if len(x.shape) == 2 and x.dtype.kind == "f" else found


def roots(p: Any) -> Tensor:
    """The zeros, a vector of complex numbers, of a polynomial with the coefficients `p` from the highest power down.

    Zeros among its outermost coefficients are known when this is called. ShapeError for what is no vector.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.roots([1.0, -3.0, 2.0]))
    tf.Tensor([2.+0.j 1.+0.j], shape=(2,), dtype=complex128)
    """
    whole = atleast_1d(wide_floats(p))
    if len(whole.shape) != 1:
        raise ShapeError(f"roots takes a vector, got {whole.spec}{at(user_location())}")
    present = np.arange(whole.shape[0]) if whole.is_symbolic else np.flatnonzero(whole.array)
    if present.size == 0:
        return array(np.zeros(0, np.result_type(whole.dtype, np.complex64)))
    behind = whole.shape[0] - 1 - int(present[-1])
    x: Any = get(whole, slice(int(present[0]), int(present[-1]) + 1))
    zeros = array(np.zeros(behind, np.result_type(whole.dtype, np.complex64)))
    if x.shape[0] == 1:
        return zeros
    row = ops.negative(ops.divide(get(x, slice(1, None)), get(x, 0)))
    below = array(np.eye(x.shape[0] - 2, x.shape[0] - 1, dtype=x.dtype))
    return ops.concat(eigvals(ops.concat(expand_dims(row, 0), below, axis=0)), zeros, axis=0)
