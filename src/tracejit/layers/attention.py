"""Attention layers: weighted means of the steps of one sequence for every step of another.

A query is compared with keys, one for each value; the softmax of the scores weighs the values. Sources: Bahdanau, Cho,
Bengio, 2014 (additive); Luong, Pham, Manning, 2015 (products); Vaswani et al., 2017 (several heads, scaled).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from ..losses.steps import beyond_scores, both, mask_of
from ..nn import common as neural
from ..nn.activations import softmax
from .layer import Layer, is_training


def _weights(scores: Any, allowed: Any) -> Any:
    """The softmax of scores over the last axis, next to 0 where they are not allowed; uniform where none are."""
    if allowed is not None:
        scores = scores - tf.where(allowed, 0.0, beyond_scores(scores.dtype))
    return softmax(scores)


def _as_mask(mask: Any) -> Any:
    return None if mask is None else tf.cast(tf.convert_to_tensor(mask), dtype="bool")


def _earlier(queries: Any, keys: Any) -> Any:
    """Where the key of a step is not later than the query's: ``(1, queries, keys)`` of bools."""
    return tf.expand_dims(tf.expand_dims(tf.range(queries), 1) >= tf.expand_dims(tf.range(keys), 0), 0)


class _Attention(Layer):
    """Attention of a list of inputs, by scores that a subclass makes."""

    dropout: float
    seed: int | None

    def __init__(self, dropout: float, seed: int | None, options: dict[str, Any]):
        super().__init__(**options)
        self.dropout, self.seed, self.supports_masking = dropout, seed, True
        self.scale: Any = None  # before it is built

    def _scores(self, query: Any, key: Any) -> Any:
        """How each query fits each key: ``(batch, queries, keys)``."""
        raise NotImplementedError(f"{type(self).__name__} defines no _scores(query, key)")

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the queries, the first of `mask` or of those of the `inputs`."""
        return mask[0] if mask else mask_of(inputs[0])

    def call(
        self,
        inputs: Sequence[Any],
        mask: Any = None,
        training: Any = None,
        return_attention_scores: bool = False,
        use_causal_mask: bool = False,
    ) -> Any:
        """The mean of the values for each query: ``(batch, queries, features)``.

        `inputs` are query, value and perhaps key, which is the value by default; `mask` are those of query and value.
        With `return_attention_scores` also the weights; with `use_causal_mask` no step sees a later one.
        """
        query, value, *keys = inputs
        key = keys[0] if keys else value
        masks = list(mask) if mask else [mask_of(query), mask_of(value)]
        asked, known = _as_mask(masks[0]), _as_mask(masks[1])
        scores = self._scores(query, key)
        allowed = None if known is None else tf.expand_dims(known, 1)
        if use_causal_mask:
            allowed = both(allowed, _earlier(query.shape[1], key.shape[1]))
        weights = _weights(scores, allowed)
        if self.dropout and is_training(training):
            weights = neural.dropout(weights, self.dropout, None, self.seed)
        result: Any = tf.matmul(weights, value)
        if asked is not None:
            result = result * tf.expand_dims(tf.cast(asked, dtype=result.dtype), -1)
        return (result, weights) if return_attention_scores else result


class Attention(_Attention):
    """Attention by products of queries and keys.

    Parameters
    ----------
    use_scale : bool
        Multiply scores by a learned number.
    score_mode : {"dot", "concat"}
        The product of query and key, or the sum of the ``tanh`` of their sum times a learned number.
    dropout : float
        The part of the weights that is set to 0 while training.
    seed : int, optional
    **options
        As for :class:`Layer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> query, value = tf.ones((1, 2, 4)), tf.ones((1, 3, 4))
    >>> result, weights = tf.layers.Attention()([query, value], return_attention_scores=True)
    >>> result.shape, weights.shape
    (TensorShape([1, 2, 4]), TensorShape([1, 2, 3]))
    """

    use_scale: bool
    score_mode: str

    def __init__(
        self,
        use_scale: bool = False,
        score_mode: str = "dot",
        dropout: float = 0.0,
        seed: int | None = None,
        **options: Any,
    ):
        super().__init__(dropout, seed, options)
        if score_mode not in ("dot", "concat"):
            raise ValueError(f"score_mode is 'dot' or 'concat', got {score_mode!r}{at_user_line()}")
        self.use_scale, self.score_mode = use_scale, score_mode
        self.concat_score_weight: Any = None  # before it is built

    def build(self, input_shape: Any) -> None:
        """Make the numbers that are learned."""
        if self.use_scale:
            self.scale = self.add_weight("scale", (), "ones")
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight("concat_score_weight", (), "ones")

    def _scores(self, query: Any, key: Any) -> Any:
        if self.score_mode == "dot":
            scores: Any = tf.matmul(query, tf.transpose(key, perm=(0, 2, 1)))
            return scores if self.scale is None else scores * self.scale
        pairs = tf.expand_dims(query, 2) + tf.expand_dims(key, 1)
        pairs = pairs if self.scale is None else pairs * self.scale
        return self.concat_score_weight * tf.reduce_sum(tf.tanh(pairs), -1)


class AdditiveAttention(_Attention):
    """Attention by the sum of ``tanh(query + key)``, whose features are weighted.

    Parameters
    ----------
    use_scale : bool
        Learn the weights of the features, which are 1 otherwise.
    dropout : float
        The part of the weights that is set to 0 while training.
    seed : int, optional
    **options
        As for :class:`Layer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.AdditiveAttention()([tf.ones((1, 2, 4)), tf.ones((1, 3, 4))]).shape
    TensorShape([1, 2, 4])
    """

    use_scale: bool

    def __init__(self, use_scale: bool = True, dropout: float = 0.0, seed: int | None = None, **options: Any):
        super().__init__(dropout, seed, options)
        self.use_scale = use_scale

    def build(self, input_shape: Any) -> None:
        """Make the weights of the features."""
        if self.use_scale:
            self.scale = self.add_weight("scale", (self._axis_size(input_shape[0]),), "glorot_uniform")

    def _scores(self, query: Any, key: Any) -> Any:
        pairs = tf.tanh(tf.expand_dims(query, 2) + tf.expand_dims(key, 1))
        return tf.reduce_sum(pairs if self.scale is None else pairs * self.scale, -1)


class MultiHeadAttention(Layer):
    """Attention in several heads, each with projections of its own of query, key and value.

    Parameters
    ----------
    num_heads, key_dim : int
        How many heads there are, and the size of a query and a key in each.
    value_dim : int, optional
        The size of a value in each head, by default `key_dim`.
    dropout : float
        The part of the weights that is set to 0 while training.
    use_bias : bool
    output_shape : int, optional
        The size of the results, by default that of the queries given.
    kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer : str or callable, optional
        Of all projections.
    seed : int, optional
        Of the dropout.
    **options
        As for :class:`Layer`.

    Notes
    -----
    Axes between the first and the last of an input are one sequence.

    Examples
    --------
    >>> import tracejit as tf
    >>> layer = tf.layers.MultiHeadAttention(num_heads=2, key_dim=3)
    >>> layer(query=tf.ones((1, 5, 4)), value=tf.ones((1, 7, 6)), use_causal_mask=True).shape
    TensorShape([1, 5, 4])
    """

    query_kernel: Any
    output_kernel: Any
    output_bias: Any

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        output_shape: int | None = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        seed: int | None = None,
        **options: Any,
    ):
        super().__init__(**options)
        if num_heads < 1 or key_dim < 1:
            raise ValueError(
                f"num_heads and key_dim are positive, got {num_heads} and {key_dim}{at_user_line()}"
            )
        self.num_heads, self.key_dim, self.value_dim = int(num_heads), int(key_dim), int(value_dim or key_dim)
        self.dropout, self.use_bias, self.output_shape, self.seed = dropout, use_bias, output_shape, seed
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.supports_masking = True
        for part in ("query", "key", "value", "output"):  # before they are built
            setattr(self, f"{part}_kernel", None)
            setattr(self, f"{part}_bias", None)

    def build(self, query_shape: Any, value_shape: Any = None, key_shape: Any = None) -> None:
        """Make the projections of `query_shape` and `value_shape`, once both are known; `key_shape` is the latter."""
        if value_shape is None or self.query_kernel is not None:
            return
        heads = self.num_heads
        self._project("query", (self._axis_size(query_shape), heads, self.key_dim))
        self._project("key", (self._axis_size(key_shape or value_shape), heads, self.key_dim))
        self._project("value", (self._axis_size(value_shape), heads, self.value_dim))
        self._project("output", (heads, self.value_dim, self.output_shape or self._axis_size(query_shape)))

    def _project(self, part: str, shape: tuple[int, ...]) -> None:
        kernel = self.add_weight(
            f"{part}_kernel", shape, self.kernel_initializer, regularizer=self.kernel_regularizer
        )
        setattr(self, f"{part}_kernel", kernel)
        if self.use_bias:
            last = shape[2:] if part == "output" else shape[1:]
            bias = self.add_weight(
                f"{part}_bias", last, self.bias_initializer, regularizer=self.bias_regularizer
            )
            setattr(self, f"{part}_bias", bias)

    def __call__(self, query: Any, value: Any = None, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """The result for `query`, `value` and the other arguments of :meth:`call`, by position or by name."""
        if value is None:
            raise TypeError(f"{self.name} takes a query and a value{at_user_line()}")
        return super().__call__(query, value, *args, **kwargs)

    def call(
        self,
        query: Any,
        value: Any,
        key: Any = None,
        query_mask: Any = None,
        value_mask: Any = None,
        key_mask: Any = None,
        attention_mask: Any = None,
        return_attention_scores: bool = False,
        training: Any = None,
        use_causal_mask: bool = False,
    ) -> Any:
        """The result for each step of the query: ``(batch, ..., size)``.

        Parameters
        ----------
        query, value, key : tensor
            ``(batch, ..., features)``; the key is the value by default.
        query_mask, value_mask, key_mask : tensor of bools, optional
            Which steps count, by default those that the layers before say.
        attention_mask : tensor of bools, optional
            ``(batch, queries, keys)``: which query sees which key.
        return_attention_scores : bool
            Give the weights ``(batch, heads, queries, keys)`` besides.
        training : bool
        use_causal_mask : bool
            No step sees a later one.
        """
        value = tf.convert_to_tensor(value)
        key = value if key is None else tf.convert_to_tensor(key)
        self.build(query.shape, value.shape, key.shape)
        masks = [
            _as_mask(mask_of(x) if mask is None else mask)
            for x, mask in ((query, query_mask), (value, value_mask), (key, key_mask))
        ]
        q, k, v = (self._heads(part, x) for part, x in (("query", query), ("key", key), ("value", value)))
        scores = tf.matmul(q * (1.0 / math.sqrt(self.key_dim)), tf.transpose(k, perm=(0, 1, 3, 2)))
        allowed = self._allowed(masks, _as_mask(attention_mask))
        if use_causal_mask:
            allowed = both(allowed, _earlier(q.shape[2], k.shape[2]))
        allowed = None if allowed is None else tf.expand_dims(allowed, 1)
        weights = _weights(scores, allowed)
        weights = (
            weights if allowed is None else tf.where(allowed, weights, 0.0)
        )  # a query may see no key at all
        thinned = weights
        if self.dropout and is_training(training):
            thinned = neural.dropout(weights, self.dropout, None, self.seed)
        joined = tf.transpose(tf.matmul(thinned, v), perm=(0, 2, 1, 3))
        width = self.num_heads * self.value_dim
        kernel: Any = tf.reshape(self.output_kernel, shape=(width, self.output_kernel.shape[-1]))
        result = tf.matmul(tf.reshape(joined, shape=(*query.shape[:-1], width)), kernel)
        result = result if self.output_bias is None else result + self.output_bias
        return (result, weights) if return_attention_scores else result

    def _heads(self, part: str, x: Any) -> Any:
        """The projection of an input: ``(batch, heads, steps, size)``."""
        kernel, bias = getattr(self, f"{part}_kernel"), getattr(self, f"{part}_bias")
        features, heads, size = kernel.shape
        rows = tf.reshape(x, shape=(x.shape[0], math.prod(x.shape[1:-1]), features))
        y = tf.matmul(rows, tf.reshape(kernel, shape=(features, heads * size)))
        y = tf.reshape(y, shape=(*y.shape[:-1], heads, size))
        return tf.transpose(y if bias is None else y + bias, perm=(0, 2, 1, 3))

    @staticmethod
    def _allowed(masks: Sequence[Any], attention_mask: Any) -> Any:
        """Which query sees which key, ``(batch, queries, keys)``, by the masks of query, value and key."""
        query, value, key = masks
        allowed = None if query is None else tf.expand_dims(query, 2)
        for mask in (value, key):
            allowed = both(allowed, None if mask is None else tf.expand_dims(mask, 1))
        return both(allowed, attention_mask)
