"""Categories as rows of 0 and 1, of counts or of weights: what layers of vocabularies share, and CategoryEncoding."""

from __future__ import annotations

from typing import Any

import tracejit as tf

from ...errors import at_user_line
from ..layer import Layer

#: What becomes of the numbers of categories.
MODES = ("one_hot", "multi_hot", "count", "tf_idf")


def chosen_mode(mode: str, modes: tuple[str, ...]) -> str:
    """`mode`; ValueError unless it is one of `modes`."""
    if mode not in modes:
        raise ValueError(f"output_mode is one of {modes}, got {mode!r}{at_user_line()}")
    return mode


def encoded(ids: Any, depth: int, mode: str, weights: Any, dtype: Any) -> tf.Tensor:
    """Rows of `depth` numbers, of numbers of categories `ids`; those outside of [0, `depth`) count nowhere.

    Mode ``"one_hot"`` makes a row of each; the others one of all along the last axis, in which ``"multi_hot"`` has
    a 1 where a category is there, ``"count"`` how often it is, or how much where there are `weights` of `ids`, and
    ``"tf_idf"`` the count times one of the `weights` of categories.
    """
    x: Any = ids if ids.shape else tf.expand_dims(ids, -1)
    if mode == "one_hot":
        return tf.one_hot(
            tf.squeeze(x, -1) if len(x.shape) > 1 and x.shape[-1] == 1 else x, depth, dtype=dtype
        )
    rows: Any = tf.one_hot(x, depth, dtype=dtype)
    if mode == "multi_hot":
        return tf.reduce_max(rows, -2)
    if mode == "count" and weights is not None:
        rows = rows * tf.expand_dims(tf.cast(weights, dtype), -1)
    counts = tf.reduce_sum(rows, -2)
    return tf.multiply(counts, tf.cast(weights, dtype)) if mode == "tf_idf" else counts


class CategoryEncoding(Layer):
    """Numbers of categories as rows of 0 and 1, or of counts.

    Parameters
    ----------
    num_tokens : int
        How many categories there are; numbers outside of [0, `num_tokens`) count nowhere.
    output_mode : {"multi_hot", "one_hot", "count"}
        ``"one_hot"``: a row for each number; ``"multi_hot"``: one for all along the last axis, 1 where a category is
        there; ``"count"``: how often it is.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.CategoryEncoding(4)([[0, 1], [3, 3]]).numpy().tolist()
    [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    >>> tf.layers.CategoryEncoding(4, output_mode="count")([[3, 3]], count_weights=[[0.5, 1.0]]).numpy().tolist()
    [[0.0, 0.0, 0.0, 1.5]]
    """

    _casts_inputs = False

    def __init__(self, num_tokens: int, output_mode: str = "multi_hot", **options: Any):
        super().__init__(**options)
        if num_tokens < 1:
            raise ValueError(f"num_tokens is positive, got {num_tokens}{at_user_line()}")
        self.num_tokens, self.output_mode = num_tokens, chosen_mode(output_mode, MODES[:3])

    def call(self, inputs: Any, count_weights: Any = None) -> tf.Tensor:
        """Rows of `num_tokens` numbers; `count_weights`, like the inputs, say how much each counts in mode count.

        ValueError for them in another mode.
        """
        if count_weights is not None and self.output_mode != "count":
            raise ValueError(
                f"count_weights go with output_mode='count', not {self.output_mode!r}{at_user_line()}"
            )
        ids = tf.cast(inputs, dtype="int64")
        return encoded(ids, self.num_tokens, self.output_mode, count_weights, self.compute_dtype)
