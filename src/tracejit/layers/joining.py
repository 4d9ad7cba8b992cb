"""Layers without weights that merge several inputs, such as Add and Concatenate, and the same as functions."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import tracejit as tf

from ..nn.common import l2_normalize
from .layer import Layer


def _any_of(masks: Sequence[Any]) -> Any:
    """The steps that count in one of the inputs; None, which is all, where all of one do."""
    if any(mask is None for mask in masks):
        return None
    return functools.reduce(tf.logical_or, masks)


def _spread(mask: Any, x: Any) -> Any:
    """A mask of steps with axes of size 1 for the others of `x`."""
    return tf.reshape(mask, shape=(*mask.shape, *([1] * (len(x.shape) - len(mask.shape)))))


def _one_where_left_out(x: Any, mask: Any) -> Any:
    return x if mask is None else tf.where(_spread(mask, x), x, 1.0)


def _of_those_that_count(choose: Any, inputs: Sequence[Any], mask: Any) -> Any:
    """What `choose` makes of pairs of inputs, where a step that does not count in one is that of the other."""
    masks = [None] * len(inputs) if mask is None else mask
    result, counts = inputs[0], masks[0]
    for x, own in zip(inputs[1:], masks[1:], strict=True):
        other = x if own is None else tf.where(_spread(own, x), x, result)
        before = result if counts is None else tf.where(_spread(counts, result), result, other)
        counts = None if own is None or counts is None else tf.logical_or(own, counts)
        result = choose(before, other)
    return result


class _Joining(Layer):
    """A layer of a list of inputs of one shape: a step of the result counts where it does in one of them."""

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Which steps of the result count; `mask` is a list of those of the inputs."""
        return None if mask is None else _any_of(mask)


class Concatenate(Layer):
    """A list of inputs as one, along `axis`.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.Concatenate()([tf.zeros((2, 3)), tf.zeros((2, 1))]).shape
    TensorShape([2, 4])
    """

    def __init__(self, axis: int = -1, **options: Any):
        super().__init__(**options)
        self.axis = axis

    def call(self, inputs: Sequence[Any]) -> tf.Tensor:
        """The inputs side by side."""
        return tf.concat(list(inputs), self.axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Which steps of the result count: along them one after the other, else those that do in one of the inputs."""
        if mask is None:
            return None
        rank = next(len(known.shape) for known in mask if known is not None)
        masks = [
            tf.ones(x.shape[:rank], dtype="bool") if known is None else known
            for x, known in zip(inputs, mask, strict=True)
        ]
        axis = self.axis % len(inputs[0].shape)
        return tf.concat(masks, axis) if axis < rank else _any_of(masks)


class Add(_Joining):
    """The sum of a list of inputs.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Add()([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])]))
    tf.Tensor([[4. 6.]], shape=(1, 2), dtype=float32)
    """

    def call(self, inputs: Sequence[Any]) -> tf.Tensor:
        """The sum."""
        return functools.reduce(tf.add, inputs)


class Subtract(_Joining):
    """The first of two inputs without the second.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Subtract()([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])]))
    tf.Tensor([[-2. -2.]], shape=(1, 2), dtype=float32)
    """

    def call(self, inputs: Sequence[Any]) -> tf.Tensor:
        """The difference."""
        first, second = inputs
        return tf.subtract(first, second)


class Average(_Joining):
    """The mean of a list of inputs, element by element.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Average()([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])]))
    tf.Tensor([[2. 3.]], shape=(1, 2), dtype=float32)
    """

    def call(self, inputs: Sequence[Any]) -> tf.Tensor:
        """The mean."""
        return tf.divide(functools.reduce(tf.add, inputs), float(len(inputs)))


class Maximum(_Joining):
    """The largest of a list of inputs, element by element.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Maximum()([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 1.0]])]))
    tf.Tensor([[3. 2.]], shape=(1, 2), dtype=float32)
    """

    def call(self, inputs: Sequence[Any], mask: Any = None) -> tf.Tensor:
        """The largest of those that count, as the list `mask` says of each; any where none does."""
        return _of_those_that_count(tf.maximum, inputs, mask)


class Minimum(_Joining):
    """The smallest of a list of inputs, element by element.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Minimum()([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 1.0]])]))
    tf.Tensor([[1. 1.]], shape=(1, 2), dtype=float32)
    """

    def call(self, inputs: Sequence[Any], mask: Any = None) -> tf.Tensor:
        """The smallest of those that count, as the list `mask` says of each; any where none does."""
        return _of_those_that_count(tf.minimum, inputs, mask)


class Dot(Layer):
    """The sum of products of two inputs along one axis of each.

    Parameters
    ----------
    axes : int or tuple of two int
        Of the first and of the second input; axis 0, the examples, stays.
    normalize : bool
        Make the vectors along the axes have norm 1 before: cosines.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Dot(axes=1)([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])]))
    tf.Tensor([[11.]], shape=(1, 1), dtype=float32)
    """

    axes: tuple[Any, ...]
    normalize: bool

    def __init__(self, axes: Any, normalize: bool = False, **options: Any):
        super().__init__(**options)
        self.axes, self.normalize = (axes, axes) if isinstance(axes, int) else tuple(axes), normalize

    def call(self, inputs: Sequence[Any]) -> tf.Tensor:
        """The sums of products, at least a column."""
        parts = []
        for x, axis in zip(inputs, self.axes, strict=True):
            axis %= len(x.shape)
            y = l2_normalize(x, axis) if self.normalize else x
            others = [a for a in range(1, len(x.shape)) if a != axis]
            parts.append(tf.transpose(y, perm=(0, *others, axis)))
        x, y = parts
        rows, columns = x.shape[1:-1], y.shape[1:-1]
        first = tf.reshape(x, shape=(x.shape[0], math.prod(rows), x.shape[-1]))
        second = tf.reshape(y, shape=(y.shape[0], math.prod(columns), y.shape[-1]))
        product = tf.matmul(first, tf.transpose(second, perm=(0, 2, 1)))
        return tf.reshape(product, shape=(x.shape[0], *(rows + columns or (1,))))


class Multiply(_Joining):
    """The product of a list of inputs, element by element.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.Multiply()([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])]))
    tf.Tensor([[3. 8.]], shape=(1, 2), dtype=float32)
    """

    def call(self, inputs: Sequence[Any], mask: Any = None) -> tf.Tensor:
        """The product; a step that does not count in an input, as the list `mask` says of each, is a factor of 1.

        Where a step counts in none of them the product is 0.
        """
        masks = [None] * len(inputs) if mask is None else mask
        product = functools.reduce(tf.multiply, map(_one_where_left_out, inputs, masks))
        counts = _any_of(masks)
        return product if counts is None else tf.where(_spread(counts, product), product, 0.0)


def add(inputs: Sequence[Any], **options: Any) -> Any:
    """:class:`Add` of `inputs`, with its `options`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.add([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])]))
    tf.Tensor([[4. 6.]], shape=(1, 2), dtype=float32)
    """
    return Add(**options)(inputs)


def subtract(inputs: Sequence[Any], **options: Any) -> Any:
    """:class:`Subtract` of two `inputs`, with its `options`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.subtract([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])]))
    tf.Tensor([[-2. -2.]], shape=(1, 2), dtype=float32)
    """
    return Subtract(**options)(inputs)


def multiply(inputs: Sequence[Any], **options: Any) -> Any:
    """:class:`Multiply` of `inputs`, with its `options`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.multiply([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])]))
    tf.Tensor([[3. 8.]], shape=(1, 2), dtype=float32)
    """
    return Multiply(**options)(inputs)


def average(inputs: Sequence[Any], **options: Any) -> Any:
    """:class:`Average` of `inputs`, with its `options`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.average([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])]))
    tf.Tensor([[2. 3.]], shape=(1, 2), dtype=float32)
    """
    return Average(**options)(inputs)


def maximum(inputs: Sequence[Any], **options: Any) -> Any:
    """:class:`Maximum` of `inputs`, with its `options`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.maximum([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 1.0]])]))
    tf.Tensor([[3. 2.]], shape=(1, 2), dtype=float32)
    """
    return Maximum(**options)(inputs)


def minimum(inputs: Sequence[Any], **options: Any) -> Any:
    """:class:`Minimum` of `inputs`, with its `options`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.minimum([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 1.0]])]))
    tf.Tensor([[1. 1.]], shape=(1, 2), dtype=float32)
    """
    return Minimum(**options)(inputs)


def concatenate(inputs: Sequence[Any], axis: int = -1, **options: Any) -> Any:
    """:class:`Concatenate` of `inputs` along `axis`, with its `options`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.concatenate([tf.constant([[1.0, 2.0]]), tf.constant([[3.0]])]))
    tf.Tensor([[1. 2. 3.]], shape=(1, 3), dtype=float32)
    """
    return Concatenate(axis, **options)(inputs)


def dot(inputs: Sequence[Any], axes: Any = -1, **options: Any) -> Any:
    """:class:`Dot` of two `inputs` along `axes`, with its `options`.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.dot([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])], axes=1))
    tf.Tensor([[11.]], shape=(1, 1), dtype=float32)
    """
    return Dot(axes, **options)(inputs)
