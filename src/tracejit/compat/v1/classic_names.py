"""Functions of 2018 whose arguments have other names since: reductions, divisions, Variables by name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import numpy as np

import tracejit as tf

from ... import initializers
from ...errors import at_user_line
from ...math.elementary import argmax as _argmax
from ...math.elementary import argmin as _argmin
from ...random import generators as random


class _Reduction(Protocol):
    """What reductions with older names look like."""

    def __call__(
        self,
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> tf.Tensor: ...


def _with_older_names(reduce: Callable[..., tf.Tensor]) -> _Reduction:
    """A reduction that may be given ``keep_dims`` and ``reduction_indices``."""

    @functools.wraps(reduce)
    def reduced(
        input_tensor: Any,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: bool | None = None,
    ) -> tf.Tensor:
        kept = keepdims if keep_dims is None else keep_dims
        return reduce(input_tensor, reduction_indices if axis is None else axis, bool(kept))

    return reduced


reduce_all: _Reduction = _with_older_names(tf.reduce_all)
reduce_any: _Reduction = _with_older_names(tf.reduce_any)
reduce_logsumexp: _Reduction = _with_older_names(tf.reduce_logsumexp)
reduce_max: _Reduction = _with_older_names(tf.reduce_max)
reduce_mean: _Reduction = _with_older_names(tf.reduce_mean)
reduce_min: _Reduction = _with_older_names(tf.reduce_min)
reduce_prod: _Reduction = _with_older_names(tf.reduce_prod)
reduce_sum: _Reduction = _with_older_names(tf.reduce_sum)


def argmax(
    input: Any, axis: Any = None, name: str | None = None, dimension: Any = None, output_type: Any = np.int64
) -> tf.Tensor:
    """Positions, `output_type`, of the largest of `input` along `axis`, or `dimension`, the first unless told.

    The dtype is int64 unless told. ValueError for an axis that is not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.argmax([1.0, 3.0, 2.0], 0))
    tf.Tensor(1, shape=(), dtype=int64)
    """
    positions = _argmax(input, _first(axis, dimension))
    return tf.cast(positions, dtype=tf.as_dtype(output_type))


def argmin(
    input: Any, axis: Any = None, name: str | None = None, dimension: Any = None, output_type: Any = np.int64
) -> tf.Tensor:
    """Positions, `output_type`, of the smallest of `input` along `axis`, or `dimension`, the first unless told.

    The dtype is int64 unless told. ValueError for an axis that is not there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.argmin([1.0, 3.0, 2.0], 0))
    tf.Tensor(0, shape=(), dtype=int64)
    """
    positions = _argmin(input, _first(axis, dimension))
    return tf.cast(positions, dtype=tf.as_dtype(output_type))


def _first(axis: Any, dimension: Any) -> int:
    chosen = dimension if axis is None else axis
    return 0 if chosen is None else int(chosen)


def div(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """``x / y``, element by element, of integers rounded down, as in Python 2; DtypeError for strings.

    Examples
    --------
    >>> from tracejit.compat import v1 as tf
    >>> int(tf.div(7, 2)), float(tf.div(7.0, 2.0))
    (3, 3.5)
    """
    x, y = tf.convert_to_tensor(x), tf.convert_to_tensor(y)
    both_integers = x.dtype.kind in "iu" and y.dtype.kind in "iu"
    return tf.floordiv(x, y) if both_integers else tf.divide(x, y)


def assign(
    ref: tf.Variable, value: Any, validate_shape: bool | None = None, use_locking: bool | None = None
) -> Any:
    """``ref.assign(value)``; `validate_shape` and `use_locking` are accepted.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> print(tf.compat.v1.assign(v, 3.0).numpy())
    3.0
    """
    return ref.assign(value)


def assign_add(ref: tf.Variable, value: Any, use_locking: bool | None = None) -> Any:
    """``ref.assign_add(value)``; `use_locking` is accepted.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> print(tf.compat.v1.assign_add(v, 3.0).numpy())
    4.0
    """
    return ref.assign_add(value)


def assign_sub(ref: tf.Variable, value: Any, use_locking: bool | None = None) -> Any:
    """``ref.assign_sub(value)``; `use_locking` is accepted.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> print(tf.compat.v1.assign_sub(v, 3.0).numpy())
    -2.0
    """
    return ref.assign_sub(value)


def multinomial(logits: Any, num_samples: Any, seed: Any = None, output_dtype: Any = np.int64) -> tf.Tensor:
    """`num_samples` numbers of classes drawn with probabilities ``softmax(logits)``: shape (rows, num_samples).

    `seed`, `output_dtype` and DtypeError are those of :func:`tracejit.random.categorical`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.multinomial([[0.0, 0.0]], 5).shape)
    (1, 5)
    """
    return tf.cast(random.categorical(logits, num_samples, seed=seed), dtype=tf.as_dtype(output_dtype))


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, *args: Any, **options: Any
) -> Any:
    """As :func:`tracejit.while_loop` of `cond`, `body` and `loop_vars`; a list of one variable gives it alone.

    Examples
    --------
    >>> from tracejit.compat import v1 as tf
    >>> int(tf.while_loop(lambda i: i < 10, lambda i: i + 1, [tf.constant(0)]))
    10
    """
    same = options.pop("return_same_structure", False)
    results = tf.while_loop(cond, body, loop_vars, *args, **options)
    leaves = tf.nest.flatten(results, none_is_leaf=False)
    alone = results.__class__ in (list, tuple) and len(leaves) == len(results) == 1
    return results[0] if alone and not same else results


# ---- Variables by name ----------------------------------------------------------------------------------

AUTO_REUSE = "auto_reuse"

_scope: ContextVar[str] = ContextVar("tracejit_variable_scope", default="")


@contextmanager
def variable_scope(name: str, *args: Any, **options: Any) -> Iterator[str]:
    """Let :func:`get_variable` put ``name/`` before the names of what it makes; gives all of what is put before.

    Examples
    --------
    >>> import tracejit as tf
    >>> with tf.compat.v1.variable_scope("hidden"):
    ...     weights = tf.compat.v1.get_variable("weights", [2])
    >>> weights.name
    'hidden/weights:0'
    """
    token = _scope.set(f"{_scope.get()}{name}/")
    try:
        yield _scope.get()
    finally:
        _scope.reset(token)


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = np.float32,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    **options: Any,
) -> tf.Variable:
    """A new Variable of that name, each time: outside of graphs nothing is shared by name.

    Parameters
    ----------
    name : str
    shape : sequence of int, optional
        Needed unless `initializer` is a tensor.
    dtype : dtype-like
    initializer : tensor or callable, optional
        ``initializer(shape, dtype)`` gives the first value. Default: uniform, as in `initializers.GlorotUniform`.
    regularizer, **options
        Accepted, and ignored: a new Variable is in no collection.
    trainable : bool

    Raises
    ------
    ValueError
        Without a shape, unless `initializer` is a tensor.

    Examples
    --------
    >>> from tracejit.compat import v1 as tf
    >>> with tf.variable_scope("layer"):
    ...     w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    >>> w.name, w.numpy().tolist()
    ('layer/w:0', [1.0, 1.0])
    """
    with tf.init_scope():
        if initializer is not None and not callable(initializer):
            first = tf.convert_to_tensor(initializer)
        elif shape is None:
            raise ValueError(
                f"get_variable({name!r}) needs a shape, or a tensor as initializer{at_user_line()}"
            )
        else:
            first = tf.convert_to_tensor(
                (initializer or initializers.GlorotUniform())(tf.as_shape(shape), tf.as_dtype(dtype))
            )
        return tf.Variable(first, trainable=trainable, name=_scope.get() + name)


def global_variables_initializer() -> None:
    """Nothing: a Variable has its value from the start.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.compat.v1.global_variables_initializer()
    """


def placeholder_with_default(input: Any, shape: Sequence[Any] | None, name: str | None = None) -> tf.Tensor:
    """The tensor `input`, of its dtype and whatever `shape`: there are no graphs to feed.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.compat.v1.placeholder_with_default([1.0], [None]))
    tf.Tensor([1.], shape=(1,), dtype=float32)
    """
    return tf.convert_to_tensor(input)
