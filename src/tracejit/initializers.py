"""Initializers: how the first value of a weight is drawn from its shape.

An initializer is a callable ``(shape, dtype=None) -> Tensor``. Random ones draw from `tracejit.random`: without a
seed from the default generator, with one always the same values. Knows no layer.

Sources: Glorot, Bengio 2010; He et al. 2015; LeCun et al. 1998; Saxe, McClelland, Ganguli 2014.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracejit as tf

from .errors import at_user_line
from .models.configuration import Configurable, deserialize_keras_object, serialize_keras_object
from .random.generators import Generator, get_global_generator

#: Standard deviation of a standard normal cut off at two of them: what has to be made up for.
_CUT = 0.87962566103423978


class Initializer(Configurable):
    """Base of initializers: a subclass defines ``__call__(shape, dtype=None)``.

    Examples
    --------
    >>> import tracejit as tf
    >>> class Half(tf.initializers.Initializer):
    ...     def __call__(self, shape, dtype=None):
    ...         return tf.fill(shape, 0.5)
    >>> print(tf.layers.Dense(1, kernel_initializer=Half())([[1.0, 2.0]]))
    tf.Tensor([[1.5]], shape=(1, 1), dtype=float32)
    """

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        """A tensor of this shape."""
        raise NotImplementedError(f"{type(self).__name__} defines no __call__(shape, dtype)")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items() if k != '_made_with')})"


class Zeros(Initializer):
    """All 0.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.zeros_initializer()([2]))
    tf.Tensor([0. 0.], shape=(2,), dtype=float32)
    """

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        return tf.zeros(shape, dtype)


class Ones(Initializer):
    """All 1.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.ones_initializer()([2]))
    tf.Tensor([1. 1.], shape=(2,), dtype=float32)
    """

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        return tf.ones(shape, dtype)


class Constant(Initializer):
    """All `value`, or `value` itself when it is an array; numbers in a row fill any shape of as many elements.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.initializers.Constant(2.0)((2,)).numpy()
    array([2., 2.], dtype=float32)
    """

    def __init__(self, value: Any = 0.0):
        self.value = value

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        value, sizes = tf.constant(self.value, dtype or float), tf.as_shape(shape)
        fills = len(value.shape) == 1 and math.prod(sizes) == value.shape[0]
        return tf.reshape(value, sizes) if fills else tf.broadcast_to(value, shape=sizes)


class Identity(Initializer):
    """`gain` times the identity matrix.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.initializers.identity(gain=2.0)([2, 2]))
    tf.Tensor(
    [[2. 0.]
     [0. 2.]], shape=(2, 2), dtype=float32)
    """

    def __init__(self, gain: float = 1.0):
        self.gain = gain

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        rows, columns = _matrix(self, shape)
        return tf.multiply(tf.eye(rows, columns, dtype=dtype), self.gain)


class _Random(Initializer):
    """What is drawn: the same at each call when there is a seed."""

    seed: int | None

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        shape, dtype = tf.as_shape(shape), tf.as_dtype(dtype or float)
        if self.seed is None:
            return self._drawn(get_global_generator(), shape, dtype)
        with tf.init_scope():  # always the same values: a constant, also inside of a trace
            return self._drawn(Generator(self.seed), shape, dtype)

    def _drawn(self, source: Generator, shape: tuple[Any, ...], dtype: np.dtype) -> tf.Tensor:
        raise NotImplementedError


class RandomNormal(_Random):
    """Normally distributed.

    Parameters
    ----------
    mean, stddev : float
    seed : int, optional
        With it every call gives the same values.

    Examples
    --------
    >>> import tracejit as tf
    >>> draw = tf.initializers.RandomNormal(seed=1)
    >>> bool(tf.reduce_all(draw((3,)) == draw((3,))))
    True
    """

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None):
        self.mean = mean
        self.stddev = stddev
        self.seed = seed

    def _drawn(self, source: Generator, shape: tuple[Any, ...], dtype: np.dtype) -> tf.Tensor:
        return source.normal(shape, self.mean, self.stddev, dtype)


class RandomUniform(_Random):
    """Uniform in [`minval`, `maxval`); `seed` as for :class:`RandomNormal`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.random_uniform_initializer(seed=1)([2, 3]).shape)
    (2, 3)
    """

    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None):
        self.minval = minval
        self.maxval = maxval
        self.seed = seed

    def _drawn(self, source: Generator, shape: tuple[Any, ...], dtype: np.dtype) -> tf.Tensor:
        return source.uniform(shape, self.minval, self.maxval, dtype)


class TruncatedNormal(_Random):
    """Normal around `mean`, drawn again where more than two `stddev` off; `seed` as for :class:`RandomNormal`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.initializers.truncated_normal(seed=1)([2, 3]).shape)
    (2, 3)
    """

    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None):
        self.mean = mean
        self.stddev = stddev
        self.seed = seed

    def _drawn(self, source: Generator, shape: tuple[Any, ...], dtype: np.dtype) -> tf.Tensor:
        return source.truncated_normal(shape, self.mean, self.stddev, dtype)


class VarianceScaling(_Random):
    """Variance `scale` over the number of inputs, outputs or their mean.

    Parameters
    ----------
    scale : float
        Positive.
    mode : str
        ``"fan_in"``, ``"fan_out"`` or ``"fan_avg"``.
    distribution : str
        ``"truncated_normal"``, ``"untruncated_normal"`` or ``"uniform"``.
    seed : int, optional

    Examples
    --------
    >>> import tracejit as tf
    >>> w = tf.initializers.GlorotUniform(seed=0)((300, 100))
    >>> bool(tf.reduce_max(tf.abs(w)) <= (6.0 / 400) ** 0.5)
    True
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
    ):
        if scale <= 0:
            raise ValueError(f"scale is positive, got {scale}{at_user_line()}")
        _among("mode", mode, ("fan_in", "fan_out", "fan_avg"))
        _among("distribution", distribution, ("truncated_normal", "untruncated_normal", "uniform"))
        self.scale = scale
        self.mode = mode
        self.distribution = distribution
        self.seed = seed

    def _drawn(self, source: Generator, shape: tuple[Any, ...], dtype: np.dtype) -> tf.Tensor:
        inputs, outputs = fans(shape)
        fan = {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return source.uniform(shape, -limit, limit, dtype)
        if self.distribution == "untruncated_normal":
            return source.normal(shape, 0.0, math.sqrt(variance), dtype)
        stddev = math.sqrt(variance) / _CUT
        return source.truncated_normal(shape, 0.0, stddev, dtype)


def _scaled(name: str, scale: float, mode: str, distribution: str, about: str) -> type[VarianceScaling]:
    """A VarianceScaling with all but the seed chosen."""

    def __init__(self: Any, seed: int | None = None) -> None:
        VarianceScaling.__init__(self, scale, mode, distribution, seed)

    example = (
        f">>> import tracejit as tf\n>>> tf.initializers.{name}(seed=1)((3, 2)).shape\nTensorShape([3, 2])"
    )
    text = f"{about}\n\nExamples\n--------\n{example}\n"
    return type(name, (VarianceScaling,), {"__init__": __init__, "__doc__": text, "__module__": __name__})


GlorotUniform: type[VarianceScaling] = _scaled(
    "GlorotUniform", 1.0, "fan_avg", "uniform", "Uniform within sqrt(6 / (fan_in + fan_out))."
)
GlorotNormal: type[VarianceScaling] = _scaled(
    "GlorotNormal", 1.0, "fan_avg", "truncated_normal", "Truncated normal of variance 2 / (fan_in + fan_out)."
)
HeUniform: type[VarianceScaling] = _scaled(
    "HeUniform", 2.0, "fan_in", "uniform", "Uniform within sqrt(6 / fan_in)."
)
HeNormal: type[VarianceScaling] = _scaled(
    "HeNormal", 2.0, "fan_in", "truncated_normal", "Truncated normal of variance 2 / fan_in."
)
LecunUniform: type[VarianceScaling] = _scaled(
    "LecunUniform", 1.0, "fan_in", "uniform", "Uniform within sqrt(3 / fan_in)."
)
LecunNormal: type[VarianceScaling] = _scaled(
    "LecunNormal", 1.0, "fan_in", "truncated_normal", "Truncated normal of variance 1 / fan_in."
)


class Orthogonal(_Random):
    """`gain` times a random matrix with orthonormal rows or columns, whichever are fewer.

    The factorisation is NumPy's and runs at once: the first value of a Variable is never traced. With a `seed` it is
    the same each time.

    Examples
    --------
    >>> import tracejit as tf
    >>> q = tf.initializers.Orthogonal(seed=3)((4, 2), "float64")
    >>> bool(tf.norm(tf.transpose(q) @ q - tf.eye(2, dtype="float64")) < 1e-12)
    True
    """

    def __init__(self, gain: float = 1.0, seed: int | None = None):
        self.gain = gain
        self.seed = seed

    def _drawn(self, source: Generator, shape: tuple[Any, ...], dtype: np.dtype) -> tf.Tensor:
        if len(shape) < 2:
            raise ValueError(f"Orthogonal makes tensors of rank 2 and more, not {shape}{at_user_line()}")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        drawn = source.normal((max(rows, columns), min(rows, columns)), dtype="float64").array
        q, r = np.linalg.qr(drawn)
        q = q * np.where(np.diag(r) < 0, -1.0, 1.0)  # makes the distribution uniform
        q = q if rows >= columns else q.T
        return tf.constant((self.gain * q).reshape(shape), dtype=dtype)


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """How many inputs and outputs a weight of this `shape` connects, as the field counts them.

    Examples
    --------
    >>> fans((3, 3, 8, 16))
    (72, 144)
    """
    if len(shape) < 2:
        count = shape[0] if shape else 1
        return count, count
    window = math.prod(shape[:-2])
    return window * shape[-2], window * shape[-1]


def _matrix(what: Initializer, shape: Any) -> tuple[int, int]:
    sizes: Any = tf.as_shape(shape)
    if len(sizes) != 2:
        raise ValueError(f"{type(what).__name__} makes matrices, not {sizes}{at_user_line()}")
    return sizes[0], sizes[1]


def _among(what: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{what} is one of {choices}, got {value!r}{at_user_line()}")


_CLASSES: tuple[type, ...] = (
    *(Zeros, Ones, Constant, Identity, RandomNormal, RandomUniform, TruncatedNormal, VarianceScaling),
    *(GlorotUniform, GlorotNormal, HeUniform, HeNormal, LecunUniform, LecunNormal, Orthogonal),
)
_BY_NAME = {tf.Module.snake_case(c.__name__): c for c in _CLASSES} | {c.__name__: c for c in _CLASSES}
_BY_NAME |= {"uniform": RandomUniform, "normal": RandomNormal, "eye": Identity}


def get(identifier: Any) -> Callable[..., tf.Tensor]:
    """The initializer meant by `identifier`: a name (``"he_normal"``, ``"HeNormal"``), a class, a callable or a dict.

    A dict describes one as :func:`serialize` does.

    It takes a shape and a dtype. ValueError for an unknown name, TypeError for what is none of these.

    Examples
    --------
    >>> get("zeros")((2,)).numpy()
    array([0., 0.], dtype=float32)
    """
    if isinstance(identifier, dict):
        return deserialize_keras_object({"module": "tracejit.initializers", **identifier})
    if isinstance(identifier, str):
        if identifier not in _BY_NAME:
            known = ", ".join(sorted(k for k in _BY_NAME if k.islower()))
            raise ValueError(f"no initializer is called {identifier!r}; there are {known}{at_user_line()}")
        return _BY_NAME[identifier]()
    if isinstance(identifier, type):
        return identifier()
    if not callable(identifier):
        raise TypeError(
            f"an initializer is a name or a callable, not {type(identifier).__name__}{at_user_line()}"
        )
    return identifier


zeros = Zeros
ones = Ones
constant = Constant
identity = Identity
orthogonal = Orthogonal
random_normal = RandomNormal
random_uniform = RandomUniform
truncated_normal = TruncatedNormal
variance_scaling = VarianceScaling
glorot_normal = GlorotNormal
glorot_uniform = GlorotUniform
he_normal = HeNormal
he_uniform = HeUniform
lecun_normal = LecunNormal
lecun_uniform = LecunUniform
zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_normal_initializer = RandomNormal
random_uniform_initializer = RandomUniform
serialize = serialize_keras_object
deserialize = deserialize_keras_object
