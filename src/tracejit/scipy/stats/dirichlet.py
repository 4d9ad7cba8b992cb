"""The distribution of shares."""

from __future__ import annotations

from typing import Any

from ...core.op import ops
from ...core.tensor import Tensor
from ...numpy import reductions
from ...numpy.conversion import floats
from .. import special


def logpdf(x: Any, alpha: Any) -> Tensor:
    """The logarithm of the density at the shares `x` along the first axis with the parameters `alpha`, a vector.

    Floats; ShapeError where they do not broadcast.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.dirichlet.logpdf([0.2, 0.8], [1.0, 2.0])), 6))
    0.470004
    """
    a: Any = floats(alpha)
    size = ops.lgamma(reductions.sum(a)) - reductions.sum(ops.lgamma(a))
    shares = ops.transpose(floats(x))
    return size + ops.transpose(reductions.sum(special.xlogy(a - 1.0, shares), -1))


def pdf(x: Any, alpha: Any) -> Tensor:
    """The density at the shares `x` with the parameters `alpha`; dtype and errors (ShapeError) as :func:`logpdf`.

    Examples
    --------
    >>> from tracejit import scipy
    >>> print(round(float(scipy.stats.dirichlet.pdf([0.2, 0.8], [1.0, 2.0])), 6))
    1.6
    """
    return ops.exp(logpdf(x, alpha))
