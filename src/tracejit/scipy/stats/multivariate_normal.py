"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any

from ...core.op import ops
from ...core.tensor import Tensor
from ...numpy import linalg, reductions
from ...numpy.conversion import array, floats
from ...ops.arrays.shape import expand_dims
from ...ops.linalg.factors import identity_of


def _matrix(cov: Any, size: Any) -> Any:
    """A number or a vector of variances as a matrix."""
    x: Any = floats(cov)
    if len(x.shape) == 2:
        return x
    one = identity_of(ops.fill(shape=(size, size), value=0, dtype=x.dtype))
    return one * x


def logpdf(x: Any, mean: Any = 0.0, cov: Any = 1.0, allow_singular: bool = False) -> Tensor:
    """The logarithm of the density at the vectors `x`, along the last axis, about `mean`, with the covariances `cov`.

    With `allow_singular` that of the subspace where they are not 0. Floats; ShapeError where sizes do not fit,
    RuntimeError for singular covariances.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.multivariate_normal.logpdf([0.0, 1.0], [0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]])), 6))
    -2.337877
    """
    centered: Any = floats(x) - floats(mean)
    size = centered.shape[-1] if centered.shape else 1
    if not centered.shape:
        centered = expand_dims(centered, 0)
    c = _matrix(cov, size)
    if allow_singular:
        values, vectors = linalg.eigh(c)
        least = ops.stop_gradient(reductions.max(ops.abs(values))) * 2.2e-10
        kept = ops.less(least, ops.abs(values))
        parts = linalg.matmul(centered, vectors)
        safe = ops.where(kept, values, 1.0)
        distance = reductions.sum(ops.where(kept, parts * parts / safe, 0.0), -1)
        rank: Any = ops.cast(reductions.sum(kept), dtype=c.dtype)
        return -0.5 * (distance + reductions.sum(ops.log(safe)) + rank * math.log(2.0 * math.pi))
    solved = linalg.matmul(centered, linalg.inv(c))
    distance = reductions.sum(solved * centered, -1)
    return -0.5 * (distance + linalg.slogdet(c).logabsdet + math.log(2.0 * math.pi) * float(size))


def pdf(x: Any, mean: Any = 0.0, cov: Any = 1.0, allow_singular: bool = False) -> Tensor:
    """The density at `x`, of `mean`, `cov`, `allow_singular`; dtype and errors (ShapeError) as :func:`logpdf`.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.multivariate_normal.pdf([0.0, 1.0], [0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]])), 6))
    0.096532
    """
    return ops.exp(logpdf(x, mean, cov, allow_singular))


def entropy(mean: Any = 0.0, cov: Any = 1.0) -> Tensor:
    """The entropy with the covariances `cov`, whatever the `mean`; a float scalar, ShapeError for other matrices.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.multivariate_normal.entropy([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]])), 6))
    2.837877
    """
    size = max([1, *array(mean).shape, *array(cov).shape])
    c = _matrix(cov, size)
    return 0.5 * (linalg.slogdet(c).logabsdet + size * (1.0 + math.log(2.0 * math.pi)))
