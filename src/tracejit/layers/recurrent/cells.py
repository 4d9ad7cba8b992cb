"""Cells of recurrent networks: one step from an input and a state to an output and the next state.

Sources: Hochreiter, Schmidhuber, 1997 (LSTM); Cho et al., 2014 (GRU, in the form with the reset gate after the
product). Gates stand side by side in one kernel, in the order i, f, c, o and z, r, h.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tracejit as tf

from ... import initializers
from ...errors import at_user_line
from ...nn import activations
from ...nn import common as neural
from ..layer import Layer, is_training


class _Cell(Layer):
    """What the cells share: a kernel for the input, one for the state, and a bias."""

    gates: int
    states: int

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        **options: Any,
    ):
        super().__init__(**options)
        for rate in (dropout, recurrent_dropout):
            if not 0.0 <= rate < 1.0:
                raise ValueError(f"dropout is in [0, 1), got {rate}{at_user_line()}")
        self.recurrent_dropout = recurrent_dropout
        self.kernel_regularizer = kernel_regularizer
        self.recurrent_regularizer = recurrent_regularizer
        self.bias_regularizer = bias_regularizer
        self.units: int = int(units)
        self.use_bias = use_bias
        self.dropout = dropout
        self.activation: Callable[..., tf.Tensor] = activations.get(activation)
        self.recurrent_activation: Callable[..., tf.Tensor] = activations.get(recurrent_activation)
        self.kernel_initializer = kernel_initializer
        self.recurrent_initializer = recurrent_initializer
        self.bias_initializer = bias_initializer
        self.kernel: tf.Variable | Any = None  # before it is built
        self.recurrent_kernel: tf.Variable | Any = None  # before it is built
        self.bias: tf.Variable | Any = None  # before it is built

    def build(self, input_shape: Any) -> None:
        """Make the kernels and the bias."""
        width = self.gates * self.units
        inputs = self._axis_size(input_shape)
        self.kernel = self.add_weight(
            "kernel", (inputs, width), self.kernel_initializer, regularizer=self.kernel_regularizer
        )
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel",
            (self.units, width),
            self.recurrent_initializer,
            regularizer=self.recurrent_regularizer,
        )
        if self.use_bias:
            self.bias = self._bias(width)

    def _bias(self, width: int) -> tf.Variable:
        return self._made_bias((width,), self.bias_initializer)

    def _made_bias(self, shape: tuple[int, ...], first: Any) -> tf.Variable:
        return self.add_weight("bias", shape, first, regularizer=self.bias_regularizer)

    def get_initial_state(self, batch_size: Any, dtype: Any = None) -> list[tf.Tensor]:
        """States of zeros."""
        return [tf.zeros((batch_size, self.units), dtype or self.compute_dtype) for _ in range(self.states)]

    @property
    def drops(self) -> bool:
        """Does it set anything to 0 while training?"""
        return bool(self.dropout or self.recurrent_dropout)

    def factors(self, inputs: Any, training: Any) -> tuple[Any, Any]:
        """What inputs of this shape and states are multiplied by: 0 for a part drawn at random while training, or None.

        The layer that runs the cell over sequences draws them once for all steps.
        """
        if not is_training(training):
            return None, None

        def drawn(shape: Any, rate: float) -> Any:
            return neural.dropout(tf.ones(shape, inputs.dtype), rate) if rate else None

        state = (inputs.shape[0], self.units)
        return drawn(inputs.shape, self.dropout), drawn(state, self.recurrent_dropout)

    def _thinned(self, inputs: Any, h: Any, training: Any, factors: Any) -> tuple[Any, Any]:
        """The inputs and the state, multiplied by the factors."""
        of_inputs, of_state = self.factors(inputs, training) if factors is None else factors
        return inputs if of_inputs is None else inputs * of_inputs, h if of_state is None else h * of_state

    def _split(self, x: Any) -> list[Any]:
        """The gates, which stand side by side on the last axis."""
        n = self.units
        return [x[..., g * n : (g + 1) * n] for g in range(self.gates)]


class SimpleRNNCell(_Cell):
    """One step of a plain recurrent network: ``activation(x @ kernel + h @ recurrent_kernel + bias)``.

    Parameters
    ----------
    units : int
        Size of output and state.
    activation : str or callable
    use_bias : bool
    kernel_initializer, recurrent_initializer, bias_initializer : str or callable
    dropout, recurrent_dropout : float
        The part of the inputs, and of the state, that is set to 0 while training, the same at each step.
    kernel_regularizer, recurrent_regularizer, bias_regularizer : str or callable, optional

    Examples
    --------
    >>> import tracejit as tf
    >>> cell = tf.layers.SimpleRNNCell(4)
    >>> cell(tf.zeros((2, 3)), cell.get_initial_state(2))[0].shape
    TensorShape([2, 4])
    """

    gates, states = 1, 1
    _fixed = frozenset({"recurrent_activation"})

    def __init__(self, units: int, activation: Any = "tanh", use_bias: bool = True, **options: Any):
        super().__init__(units, activation, "linear", use_bias, **options)

    def call(
        self, inputs: Any, states: Any, training: Any = None, factors: Any = None
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """The output, and the next state, which it is; `states` lists the last one, `factors` are a call's."""
        h: Any = states[0] if isinstance(states, (list, tuple)) else states
        x, h = self._thinned(inputs, h, training, factors)
        z = tf.matmul(x, self.kernel) + tf.matmul(h, self.recurrent_kernel)
        h = self.activation(z if self.bias is None else z + self.bias)
        return h, [h]


class _UnitForgetBias(initializers.Initializer):
    """A bias of an LSTM that is 1 for the forget gate, so that it starts by remembering."""

    def __init__(self, first: Any, units: int):
        self.first = first
        self.units = units

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        whole: Any = self.first(shape, dtype)
        return whole.at[self.units : 2 * self.units].set(1.0)


class LSTMCell(_Cell):
    """One step of long short-term memory.

    Parameters
    ----------
    units : int
        Size of output and state.
    activation, recurrent_activation : str or callable
        Of candidate and output; of the gates.
    use_bias : bool
    kernel_initializer, recurrent_initializer, bias_initializer : str or callable
    dropout, recurrent_dropout : float
        The part of the inputs, and of the state, that is set to 0 while training, the same at each step.
    kernel_regularizer, recurrent_regularizer, bias_regularizer : str or callable, optional
    unit_forget_bias : bool
        Start the forget gate's bias at 1.

    Examples
    --------
    >>> import tracejit as tf
    >>> cell = tf.layers.LSTMCell(4)
    >>> output, (h, c) = cell(tf.zeros((2, 3)), cell.get_initial_state(2))
    >>> output.shape, c.shape
    (TensorShape([2, 4]), TensorShape([2, 4]))
    """

    gates: int = 4
    states: int = 2

    def __init__(self, units: int, *args: Any, unit_forget_bias: bool = True, **options: Any):
        super().__init__(units, *args, **options)
        self.unit_forget_bias = unit_forget_bias

    def _bias(self, width: int) -> tf.Variable:
        first = initializers.get(self.bias_initializer)
        return self._made_bias(
            (width,), _UnitForgetBias(first, self.units) if self.unit_forget_bias else first
        )

    def call(
        self, inputs: Any, states: Any, training: Any = None, factors: Any = None
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """The output, and the next states: output and memory, as `states` has them; `factors` are those of a call."""
        h: Any
        memory: Any
        h, memory = states
        x, h = self._thinned(inputs, h, training, factors)
        z = tf.matmul(x, self.kernel) + tf.matmul(h, self.recurrent_kernel)
        i, f, c, o = self._split(z if self.bias is None else z + self.bias)
        gate: Any = self.recurrent_activation
        memory = gate(f) * memory + gate(i) * self.activation(c)
        h = gate(o) * self.activation(memory)
        return h, [h, memory]


class GRUCell(_Cell):
    """One step of a gated recurrent unit.

    Parameters
    ----------
    units : int
        Size of output and state.
    activation, recurrent_activation : str or callable
        Of the candidate; of the gates.
    use_bias : bool
        There are two: one for the input, one for the state.
    kernel_initializer, recurrent_initializer, bias_initializer : str or callable
    dropout, recurrent_dropout : float
        The part of the inputs, and of the state, that is set to 0 while training, the same at each step.
    kernel_regularizer, recurrent_regularizer, bias_regularizer : str or callable, optional
    reset_after : bool
        The gate that forgets acts on the product of state and weights; False: on the state, before the product, as in
        the paper (Cho et al., 2014), and one bias for the input is all.

    Examples
    --------
    >>> import tracejit as tf
    >>> cell = tf.layers.GRUCell(4)
    >>> cell(tf.zeros((2, 3)), cell.get_initial_state(2))[0].shape
    TensorShape([2, 4])
    """

    gates: int = 3
    states: int = 1

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        dropout: float = 0.0,
        reset_after: bool = True,
        **options: Any,
    ):
        start = (kernel_initializer, recurrent_initializer, bias_initializer)
        super().__init__(units, activation, recurrent_activation, use_bias, *start, dropout, **options)
        self.reset_after = reset_after

    def _bias(self, width: int) -> tf.Variable:
        return self._made_bias((2, width) if self.reset_after else (width,), self.bias_initializer)

    def call(
        self, inputs: Any, states: Any, training: Any = None, factors: Any = None
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """The output, and the next state, which it is; `states` lists the last one, `factors` are a call's."""
        h: Any = states[0] if isinstance(states, (list, tuple)) else states
        kernel: Any = self.recurrent_kernel.read_value()
        gate: Any = self.recurrent_activation
        before = h
        x, h = self._thinned(inputs, h, training, factors)
        x = tf.matmul(x, self.kernel)
        bias: Any = 0.0 if self.bias is None else self.bias.read_value()
        if self.reset_after:
            x, s = (
                (x, tf.matmul(h, kernel))
                if self.bias is None
                else (x + bias[0], tf.matmul(h, kernel) + bias[1])
            )
            (xz, xr, xh), (sz, sr, sh) = self._split(x), self._split(s)
            z, r = gate(xz + sz), gate(xr + sr)
            recalled = r * sh
        else:
            n = self.units
            xz, xr, xh = self._split(x if self.bias is None else x + bias)
            s = tf.matmul(h, kernel[:, : 2 * n])
            z, r = gate(xz + s[..., :n]), gate(xr + s[..., n:])
            recalled = tf.matmul(r * h, kernel[:, 2 * n :])
        h = z * before + (1.0 - z) * self.activation(xh + recalled)
        return h, [h]


class StackedRNNCells(Layer):
    """Cells one on the other as one cell: the output of each is the input of the next.

    Parameters
    ----------
    cells : sequence of Layer

    Examples
    --------
    >>> import tracejit as tf
    >>> cells = tf.layers.StackedRNNCells([tf.layers.GRUCell(4), tf.layers.LSTMCell(5)])
    >>> output, states = cells(tf.zeros((2, 3)), cells.get_initial_state(2))
    >>> output.shape, [len(s) if isinstance(s, list) else s.shape for s in states]
    (TensorShape([2, 5]), [TensorShape([2, 4]), 2])
    """

    def __init__(self, cells: Sequence[Any], **options: Any):
        super().__init__(**options)
        self.cells = list(cells)

    def build(self, input_shape: Any) -> None:
        """Make the cells' weights."""
        for cell in self.cells:
            if not cell.built:
                cell.build((input_shape[0], input_shape[-1]))
            input_shape = (input_shape[0], cell.units)

    def get_initial_state(self, batch_size: Any, dtype: Any = None) -> list[Any]:
        """States of zeros for `batch_size` examples, of `dtype`: one for each cell, a list where a cell has several."""
        states = [cell.get_initial_state(batch_size, dtype) for cell in self.cells]
        return [s[0] if len(s) == 1 else s for s in states]

    def call(self, inputs: Any, states: Any, training: Any = None) -> tuple[Any, list[Any]]:
        """The output of the last cell, and the next `states` of all."""
        following = []
        for cell, state in zip(self.cells, states, strict=True):
            inputs, new = cell(inputs, list(state) if isinstance(state, (list, tuple)) else [state])
            following.append(new[0] if len(new) == 1 else new)
        return inputs, following
