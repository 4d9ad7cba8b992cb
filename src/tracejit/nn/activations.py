"""Activation functions that are written with other ops, and finding one by its name.

Each is a function of one tensor, differentiable any number of times, without overflow where the value itself has
none. Those that are ops of their own (relu, sigmoid, tanh, softplus, exp) live in `ops.transcendental`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ..core.errors import at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.creation import default_float
from ..ops.arrays.reduce import one_axis

_SELU_ALPHA = 1.6732632423543772848170429916717  # Klambauer et al., "Self-normalizing neural networks", 2017
_SELU_SCALE = 1.0507009873554804934193349852946


def linear(x: Any) -> Tensor:
    """`x` itself, as a tensor of its shape and dtype.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.activations.linear([-1.0, 2.0]))
    tf.Tensor([-1.  2.], shape=(2,), dtype=float32)
    """
    return as_tensor(x)


def _shifted(x: Any, axis: int) -> Any:
    """`x` less its largest element along `axis`: what the exponential takes without overflow."""
    return x - ops.stop_gradient(ops.reshape(ops.reduce_max(x, axis=axis), shape=_kept(x, axis)))


def _kept(x: Any, axis: int) -> tuple[Any, ...]:
    return tuple([1 if a == axis % len(x.shape) else d for a, d in enumerate(x.shape)])


def _summed(x: Any, axis: int) -> Any:
    return ops.reshape(ops.reduce_sum(x, axis=axis), shape=_kept(x, axis))


def _floats(x: Any, axis: int, what: str) -> Any:
    x = as_tensor(x)
    rank = len(x.shape)
    if not -rank <= axis < rank:
        raise ValueError(f"{what} has no axis {axis} in {x.spec}{at(user_location())}")
    return x


def softmax(logits: Any, axis: int | None = -1, name: str | None = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis.

    Parameters
    ----------
    logits : tensor-like of floats, rank 1 and more
    axis : int, optional
        None is the last one.
    name : str, optional
        Accepted and ignored, here and below.

    Raises
    ------
    ValueError
        When there is no such axis.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.softmax([1000.0, 1000.0]))
    tf.Tensor([0.5 0.5], shape=(2,), dtype=float32)
    """
    axis = -1 if axis is None else axis
    e = ops.exp(_shifted(_floats(logits, axis, "softmax"), axis))
    return e / _summed(e, axis)


def log_softmax(logits: Any, axis: int | None = -1, name: str | None = None) -> Tensor:
    """``log(softmax(x))`` of `logits` along `axis`, also where softmax has vanished; errors as there, ValueError.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.log_softmax([0.0, 1000.0]))
    tf.Tensor([-1000.     0.], shape=(2,), dtype=float32)
    """
    axis = -1 if axis is None else axis
    x = _shifted(_floats(logits, axis, "log_softmax"), axis)
    return x - ops.log(_summed(ops.exp(x), axis))


def relu6(features: Any, name: str | None = None) -> Tensor:
    """``min(relu(x), 6)`` of each element of `features`, derivative 0 at both ends; the second as of :func:`relu`.

    The dtype stays; DtypeError for complex numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.relu6([-1.0, 8.0]))
    tf.Tensor([0. 6.], shape=(2,), dtype=float32)
    """
    x: Any = as_tensor(features)
    return ops.where(x >= 6, 6, ops.relu(x))  # NaN stays NaN


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """`features` where positive, ``alpha * features`` elsewhere, integers as floats; see :func:`relu`.

    DtypeError for complex numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.leaky_relu([-1.0, 2.0]))
    tf.Tensor([-0.2  2. ], shape=(2,), dtype=float32)
    """
    x: Any = as_tensor(features)
    if x.dtype.kind in "iu":
        x = ops.cast(x, dtype=default_float())
    return ops.tied(ops.where(x > 0.0, x, alpha * x), x)


def elu(features: Any, alpha: float = 1.0, name: str | None = None) -> Tensor:
    """`features` where positive, ``alpha * (exp(features) - 1)`` elsewhere, each element; integers become floats.

    DtypeError for complex numbers. Source: Clevert, Unterthiner, Hochreiter, 2015.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.elu([-1.0, 2.0]))
    tf.Tensor([-0.63212055  2.        ], shape=(2,), dtype=float32)
    """
    x: Any = as_tensor(features)
    return ops.where(x < 0.0, alpha * ops.expm1(ops.minimum(x, 0.0)), x)


def selu(features: Any, name: str | None = None) -> Tensor:
    """The scaled :func:`elu` of each element of `features`, under which mean 0 and variance 1 are stable.

    Integers become floats; DtypeError for complex numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.selu([-1.0, 2.0]))
    tf.Tensor([-1.1113307  2.101402 ], shape=(2,), dtype=float32)
    """
    return ops.multiply(_SELU_SCALE, elu(features, _SELU_ALPHA))


def silu(features: Any, beta: float = 1.0, name: str | None = None) -> Tensor:
    """``features * sigmoid(beta * features)``, or swish, by element; integers become floats. DtypeError for strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.swish([-1.0, 2.0]))
    tf.Tensor([-0.2689414  1.761594 ], shape=(2,), dtype=float32)
    """
    x: Any = as_tensor(features)
    return x * ops.sigmoid(beta * x)


def gelu(features: Any, approximate: bool = False, name: str | None = None) -> Tensor:
    """`x` times the standard normal distribution function at `x`.

    Parameters
    ----------
    features : tensor-like of floats
    approximate : bool
        Use the approximation by ``tanh``.

    Raises
    ------
    DtypeError
        For complex numbers.

    Notes
    -----
    Source: Hendrycks, Gimpel, "Gaussian error linear units", 2016.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.gelu([0.0, 1.0]))
    tf.Tensor([0.        0.8413447], shape=(2,), dtype=float32)
    """
    x: Any = as_tensor(features)
    if approximate:
        return 0.5 * x * (1.0 + ops.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1.0 + ops.erf(x * math.sqrt(0.5)))


def softsign(features: Any, name: str | None = None) -> Tensor:
    """``x / (1 + abs(x))`` of each element of `features`; integers become floats. DtypeError for strings.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.softsign([-1.0, 3.0]))
    tf.Tensor([-0.5   0.75], shape=(2,), dtype=float32)
    """
    x: Any = as_tensor(features)
    return x / (1.0 + ops.abs(x))


def mish(x: Any) -> Tensor:
    """``x * tanh(softplus(x))`` of each element, floats; DtypeError for others.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.round(1e4 * tf.activations.mish([-1.0, 2.0])))
    tf.Tensor([-3034. 19440.], shape=(2,), dtype=float32)
    """
    return ops.multiply(x, ops.tanh(ops.softplus(x)))


def crelu(features: Any, axis: int = -1, name: str | None = None) -> Tensor:
    """``relu`` of `features` and of what they lack, one behind the other along `axis`; the dtype stays.

    AxisError for an axis that is not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.crelu([-1.0, 2.0]))
    tf.Tensor([0. 2. 1. 0.], shape=(4,), dtype=float32)
    """
    x: Any = as_tensor(features)
    return ops.concat(ops.relu(x), ops.relu(ops.negative(x)), axis=one_axis(axis, len(x.shape)))


def hard_sigmoid(x: Any) -> Tensor:
    """``relu6(x + 3) / 6`` of each element; integers become floats. DtypeError for complex numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.activations.hard_sigmoid([-4.0, 0.0, 3.0]))
    tf.Tensor([0.  0.5 1. ], shape=(3,), dtype=float32)
    """
    return ops.divide(relu6(ops.add(x, 3.0)), 6.0)


_BY_NAME: dict[str, Callable[..., Tensor]] = {
    **{f.__name__: f for f in (linear, softmax, log_softmax, relu6, leaky_relu, elu, selu, silu, gelu)},
    **{f.__name__: f for f in (softsign, mish, hard_sigmoid)},
    **{name: getattr(ops, name) for name in ("relu", "sigmoid", "tanh", "softplus")},
    "exponential": ops.exp,
    "swish": silu,
}


def names() -> Iterable[str]:
    """The names of activations that :func:`get` knows."""
    return _BY_NAME


def get(identifier: Any) -> Callable[..., Tensor]:
    """The activation, for any shape and dtype, meant by `identifier`, a name or a callable; None is :func:`linear`.

    Raises
    ------
    ValueError
        For an unknown name.
    TypeError
        For what is neither a name nor callable.

    Examples
    --------
    >>> float(get("relu")(-1.0))
    0.0
    """
    if identifier is None:
        return linear
    if isinstance(identifier, str):
        if identifier not in _BY_NAME:
            raise ValueError(
                f"no activation is called {identifier!r}; there are {', '.join(sorted(_BY_NAME))}"
                f"{at(user_location())}"
            )
        return _BY_NAME[identifier]
    if not callable(identifier):
        raise TypeError(
            f"an activation is a name or a callable, not {type(identifier).__name__}{at(user_location())}"
        )
    return identifier
