"""``tracejit.keras.backend``: the names by which layers and losses for Keras 2 compute, on the public names alone.

What goes by another name elsewhere is that very function; here is what needs a few words of its own.
"""

from __future__ import annotations

from typing import Any

import tracejit as tf

from ..core.lazy import Namespace
from ..losses.distances import EPSILON
from .naming import count_names_anew


def clear_session(free_memory: bool = True) -> None:
    """Count the names of layers from the start again. There is no session, and what nobody holds is freed by itself.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.keras.backend.clear_session()
    >>> tf.layers.Dense(1).name
    'dense'
    """
    count_names_anew()


def floatx() -> str:
    """The name of the dtype that Python's floats become.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.keras.backend.floatx()
    'float32'
    """
    return str(tf.constant(0.0).dtype.name)


def epsilon() -> float:
    """The small number that losses keep probabilities away from 0 by.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.keras.backend.epsilon()
    1e-07
    """
    return EPSILON


def image_data_format() -> str:
    """Where images have their channels: last.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.keras.backend.image_data_format()
    'channels_last'
    """
    return "channels_last"


def int_shape(x: Any) -> tuple[Any, ...]:
    """The sizes of `x`, None where one is not known before a function runs.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.keras.backend.int_shape(tf.zeros((2, 3)))
    (2, 3)
    """
    return tuple([size if isinstance(size, int) else None for size in x.shape])


def ndim(x: Any) -> int:
    """How many axes `x` has.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.keras.backend.ndim(tf.zeros((2, 3)))
    2
    """
    return len(x.shape)


def get_value(x: Any) -> Any:
    """The value of a Variable or tensor, as an array.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.keras.backend.get_value(tf.Variable(2.0))
    np.float32(2.0)
    """
    return tf.convert_to_tensor(x).numpy()


def set_value(x: tf.Variable, value: Any) -> None:
    """Assign `value` to the Variable `x`.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(2.0)
    >>> tf.keras.backend.set_value(v, 3.0)
    >>> v.numpy()
    np.float32(3.0)
    """
    x.assign(value)


def dot(x: Any, y: Any) -> tf.Tensor:
    """The product over the last axis of `x` and the last but one of `y`, of one dtype, whose other axes follow.

    ShapeError where these sizes differ.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.keras.backend.dot(tf.ones((2, 3)), tf.ones((4, 3, 5))).shape
    TensorShape([2, 4, 5])
    """
    return tf.tensordot(x, y, [[-1], [max(len(y.shape) - 2, 0)]])


def concatenate(tensors: Any, axis: int = -1) -> tf.Tensor:
    """The tensors one after the other along an axis, of their dtype. ShapeError where other sizes differ.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.keras.backend.concatenate([tf.ones((2, 1)), tf.ones((2, 3))]).shape
    TensorShape([2, 4])
    """
    return tf.concat(tensors, axis)


def flatten(x: Any) -> tf.Tensor:
    """All elements of `x` in a row, of its dtype. TypeError for what no tensor can be made of.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.keras.backend.flatten(tf.ones((2, 3))).shape
    TensorShape([6])
    """
    return tf.reshape(x, [-1])


def random_bernoulli(shape: Any, p: float = 0.0, dtype: Any = None, seed: int | None = None) -> tf.Tensor:
    """1 with the probability `p`, else 0, of that `shape` and `dtype`, float32 unless told; `seed` as for ``uniform``.

    ShapeError for negative sizes.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.keras.backend.random_bernoulli((2,), p=1.0))
    tf.Tensor([1. 1.], shape=(2,), dtype=float32)
    """
    return tf.cast(tf.random.uniform(shape, seed=seed) <= p, dtype=dtype or float)


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> tf.Tensor:
    """The cross entropy of each element of `output` with `target`, which has its shape and dtype; see `losses`.

    ShapeError where the shapes differ.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.keras.backend.binary_crossentropy(tf.constant([1.0, 0.0]), tf.constant([0.5, 0.5])))
    tf.Tensor([0.6931472 0.6931472], shape=(2,), dtype=float32)
    """
    each = tf.expand_dims(target, -1), tf.expand_dims(output, -1)
    return tf.losses.binary_crossentropy(*each, from_logits=from_logits)


_RENAMED = {
    "abs": tf.abs,
    "all": tf.reduce_all,
    "any": tf.reduce_any,
    "arange": tf.range,
    "clip": tf.clip_by_value,
    "max": tf.reduce_max,
    "mean": tf.reduce_mean,
    "min": tf.reduce_min,
    "permute_dimensions": tf.transpose,
    "pow": tf.pow,
    "prod": tf.reduce_prod,
    "random_normal": tf.random.normal,
    "random_uniform": tf.random.uniform,
    "std": tf.math.reduce_std,
    "sum": tf.reduce_sum,
    "switch": tf.where,
    "var": tf.math.reduce_variance,
    "variable": tf.Variable,
}
_OF_NN = "elu l2_normalize relu sigmoid softmax softplus softsign"
_AS_THEY_ARE = (
    "argmax argmin cast constant cos cumsum equal exp expand_dims eye gather greater greater_equal less less_equal log "
    "maximum minimum not_equal one_hot ones ones_like reshape reverse round shape sign sin sqrt square squeeze stack "
    "stop_gradient tanh tile transpose zeros zeros_like"
)

backend: Namespace = Namespace(
    "tracejit.keras.backend",
    **{
        f.__name__: f
        for f in (clear_session, concatenate, dot, epsilon, flatten, floatx, get_value, image_data_format)
    },
    int_shape=int_shape,
    ndim=ndim,
    set_value=set_value,
    random_bernoulli=random_bernoulli,
    binary_crossentropy=binary_crossentropy,
    categorical_crossentropy=tf.losses.categorical_crossentropy,
    sparse_categorical_crossentropy=tf.losses.sparse_categorical_crossentropy,
    truncated_normal=tf.random.truncated_normal,
    logsumexp=tf.reduce_logsumexp,
    set_floatx=tf.set_default_dtype,
    **_RENAMED,
    **{name: getattr(tf.nn, name) for name in _OF_NN.split()},
    **{name: getattr(tf, name) for name in _AS_THEY_ARE.split()},
)
