"""Layers for sequences: masking, bidirectional layers, and one layer applied to each step."""

from __future__ import annotations

import copy
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from .layer import Layer


class Masking(Layer):
    """Marks the steps all of whose features are `mask_value`: layers behind it leave them out, and so does the loss.

    Parameters
    ----------
    mask_value : float
    **options
        As for :class:`Layer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.constant([[[1.0], [0.0], [2.0]]])
    >>> model = tf.Sequential([tf.layers.Masking(), tf.layers.SimpleRNN(1, activation="linear", name="sum")])
    >>> weights = model(x), model.set_weights([[[1.0]], [[1.0]], [0.0]])
    >>> print(model(x))
    tf.Tensor([[3.]], shape=(1, 1), dtype=float32)
    """

    def __init__(self, mask_value: float = 0.0, **options: Any):
        super().__init__(**options)
        self.mask_value, self.supports_masking = mask_value, True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Which steps of `inputs` count; `mask` is not looked at."""
        return tf.reduce_any(tf.not_equal(inputs, self.mask_value), -1)

    def call(self, inputs: Any) -> tf.Tensor:
        """The inputs with zeros in place of the steps that do not count."""
        counts: Any = tf.expand_dims(self.compute_mask(inputs), -1)
        return inputs * tf.cast(counts, dtype=inputs.dtype)


_MERGING = {
    "concat": lambda a, b: tf.concat([a, b], -1),
    "sum": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "ave": lambda a, b: (a + b) / 2,
    None: lambda a, b: [a, b],
}


class Bidirectional(Layer):
    """A recurrent layer over sequences and another of its kind over them backwards.

    Parameters
    ----------
    layer : RNN
        Not called yet: the other one is made like it, with weights of its own.
    merge_mode : {"concat", "sum", "mul", "ave", None}
        How the outputs of both are joined; None gives a list.
    backward_layer : RNN, optional
        The other one, which goes backwards already.

    Raises
    ------
    ValueError
        When `layer` has weights already, goes backwards, or `merge_mode` is unknown.

    Examples
    --------
    >>> import tracejit as tf
    >>> layer = tf.layers.Bidirectional(tf.layers.LSTM(4, return_sequences=True))
    >>> layer(tf.zeros((2, 7, 3))).shape, len(layer.weights)
    (TensorShape([2, 7, 8]), 6)
    """

    def __init__(
        self,
        layer: Any,
        merge_mode: str | None = "concat",
        weights: Any = None,
        backward_layer: Any = None,
        **options: Any,
    ):
        super().__init__(**options)
        if merge_mode not in _MERGING:
            raise ValueError(f"merge_mode is one of {list(_MERGING)}, got {merge_mode!r}{at_user_line()}")
        if backward_layer is None and (layer.built or layer.go_backwards):
            raise ValueError(
                f"{layer.name} has weights or goes backwards already: give a new layer, or backward_layer too"
                f"{at_user_line()}"
            )
        self.forward_layer, self.merge_mode, self.supports_masking = layer, merge_mode, True
        self.backward_layer = copy.deepcopy(layer) if backward_layer is None else backward_layer
        if backward_layer is None:
            self.backward_layer.go_backwards = True
        self._first_weights = weights

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one, as plain data."""
        return {name: x for name, x in super().get_config().items() if name != "weights"}

    def build(self, input_shape: Any) -> None:
        """Make the weights of both."""
        for layer in (self.forward_layer, self.backward_layer):
            if not layer.built:
                layer.build(input_shape)
        if self._first_weights is not None:
            self.set_weights(self._first_weights)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """`mask` where there are outputs for all steps; `inputs` are not looked at."""
        if not self.forward_layer.return_sequences:
            return None
        return mask if self.merge_mode else [mask, mask]

    def call(self, inputs: Any, initial_state: Any = None, mask: Any = None) -> Any:
        """The outputs of both, joined; `initial_state` holds first those of the forward layer; `mask` is for both.

        Where `mask` is False the output of a step is 0.
        """
        starts: tuple[Any, Any] = (None, None)
        if initial_state is not None:
            half = len(initial_state) // 2
            starts = list(initial_state[:half]), list(initial_state[half:])
        forth = self.forward_layer(inputs, initial_state=starts[0], mask=mask)
        back = self.backward_layer(inputs, initial_state=starts[1], mask=mask)
        states: tuple[Any, ...] = ()
        if self.forward_layer.return_state:
            states, forth, back = (*forth[1:], *back[1:]), forth[0], back[0]
        if self.forward_layer.return_sequences:
            major = self.backward_layer.time_major
            back = tf.reverse(back, [0 if major else 1])
            if mask is not None:
                counts = tf.expand_dims(tf.transpose(mask) if major else mask, -1)
                forth, back = tf.where(counts, forth, 0.0), tf.where(counts, back, 0.0)
        merged = _MERGING[self.merge_mode](forth, back)
        return (merged, *states) if states else merged


class TimeDistributed(Layer):
    """A `layer` applied to each step: ``(batch, steps, ...)``.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.TimeDistributed(tf.layers.Conv2D(4, 3))(tf.zeros((2, 5, 8, 8, 1))).shape
    TensorShape([2, 5, 6, 6, 4])
    """

    def __init__(self, layer: Any, **options: Any):
        super().__init__(**options)
        self.layer, self.supports_masking = layer, True

    def call(self, inputs: Any) -> tf.Tensor:
        """The result of the layer for each step."""
        batch, steps = inputs.shape[:2]
        rows = self.layer(tf.reshape(inputs, shape=(batch * steps, *inputs.shape[2:])))
        return tf.reshape(rows, shape=(batch, steps, *rows.shape[1:]))
