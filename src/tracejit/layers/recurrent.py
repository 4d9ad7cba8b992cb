"""Cells of recurrent networks: one step from an input and a state to an output and the next state.

Sources: Hochreiter, Schmidhuber, 1997 (LSTM); Cho et al., 2014 (GRU, in the form with the reset gate after the
product). Gates stand side by side in one kernel, in the order i, f, c, o and z, r, h.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tracejit as tf

from .. import initializers
from ..nn import activations
from .layer import Layer


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
        **options: Any,
    ):
        super().__init__(**options)
        self.units: int = int(units)
        self.use_bias = use_bias
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
        self.kernel = self.add_weight("kernel", (inputs, width), self.kernel_initializer)
        shape = (self.units, width)
        self.recurrent_kernel = self.add_weight("recurrent_kernel", shape, self.recurrent_initializer)
        if self.use_bias:
            self.bias = self._bias(width)

    def _bias(self, width: int) -> tf.Variable:
        return self.add_weight("bias", (width,), self.bias_initializer)

    def get_initial_state(self, batch_size: Any, dtype: Any = None) -> list[tf.Tensor]:
        """States of zeros."""
        return [tf.zeros((batch_size, self.units), dtype or self.dtype) for _ in range(self.states)]

    def _split(self, x: Any) -> list[Any]:
        """The gates, which stand side by side on the last axis."""
        n = self.units
        return [x[..., g * n : (g + 1) * n] for g in range(self.gates)]


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
    unit_forget_bias : bool
        Start the forget gate's bias at 1.

    Examples
    --------
    >>> import tracejit as tf
    >>> cell = tf.layers.LSTMCell(4)
    >>> output, (h, c) = cell(tf.zeros((2, 3)), cell.get_initial_state(2))
    >>> output.shape, c.shape
    ((2, 4), (2, 4))
    """

    gates: int = 4
    states: int = 2

    def __init__(self, units: int, *args: Any, unit_forget_bias: bool = True, **options: Any):
        super().__init__(units, *args, **options)
        self.unit_forget_bias = unit_forget_bias

    def _bias(self, width: int) -> tf.Variable:
        first = initializers.get(self.bias_initializer)
        return self.add_weight(
            "bias", (width,), _UnitForgetBias(first, self.units) if self.unit_forget_bias else first
        )

    def call(self, inputs: Any, states: Any) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """The output, and the next states: output and memory, as `states` has them."""
        h: Any
        memory: Any
        h, memory = states
        z = tf.matmul(inputs, self.kernel) + tf.matmul(h, self.recurrent_kernel)
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

    Examples
    --------
    >>> import tracejit as tf
    >>> cell = tf.layers.GRUCell(4)
    >>> cell(tf.zeros((2, 3)), cell.get_initial_state(2))[0].shape
    (2, 4)
    """

    gates: int = 3
    states: int = 1

    def _bias(self, width: int) -> tf.Variable:
        return self.add_weight("bias", (2, width), self.bias_initializer)

    def call(self, inputs: Any, states: Any) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """The output, and the next state, which it is; `states` is a list of the last one."""
        h: Any = states[0] if isinstance(states, (list, tuple)) else states
        x, s = tf.matmul(inputs, self.kernel), tf.matmul(h, self.recurrent_kernel)
        if self.bias is not None:
            bias: Any = self.bias.read_value()
            x, s = x + bias[0], s + bias[1]
        (xz, xr, xh), (sz, sr, sh) = self._split(x), self._split(s)
        gate: Any = self.recurrent_activation
        z, r = gate(xz + sz), gate(xr + sr)
        h = z * h + (1.0 - z) * self.activation(xh + r * sh)
        return h, [h]


class RNN(Layer):
    """A cell run over the rows of sequences, as one loop.

    Parameters
    ----------
    cell : Layer
        ``cell(inputs, states)`` gives an output and the next states.
    return_sequences : bool
        Give the outputs of all steps rather than the last.
    return_state : bool
        Give the last states besides.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.RNN(tf.layers.GRUCell(4), return_sequences=True)(tf.zeros((2, 7, 3))).shape
    (2, 7, 4)
    """

    def __init__(self, cell: Any, return_sequences: bool = False, return_state: bool = False, **options: Any):
        super().__init__(**options)
        self.cell = cell
        self.return_sequences = return_sequences
        self.return_state = return_state

    def build(self, input_shape: Any) -> None:
        """Make the cell's weights, outside of the loop."""
        if not self.cell.built:
            self.cell.build((input_shape[0], input_shape[-1]))

    def call(self, inputs: Any, initial_state: Any = None) -> Any:
        """The last output, or all of them, on axis 1; `initial_state` is the first state, zeros unless given."""
        start = self.cell.get_initial_state(inputs.shape[0]) if initial_state is None else list(initial_state)

        def step(states: Any, row: Any) -> tuple[Any, Any]:
            output, new = self.cell(row, states)
            return new, output if self.return_sequences else ()

        states, outputs = tf.scan(step, start, tf.transpose(inputs, perm=(1, 0, 2)), length=inputs.shape[1])
        output = tf.transpose(outputs, perm=(1, 0, 2)) if self.return_sequences else states[0]
        return (output, *states) if self.return_state else output


class _OfUnits(RNN):
    """A cell chosen by the class, which is given the arguments but those of :class:`RNN`."""

    cell_class: type[_Cell]

    def __init__(
        self,
        units: int,
        *args: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        **options: Any,
    ):
        super().__init__(self.cell_class(units, *args, **options), return_sequences, return_state)


class LSTM(_OfUnits):
    """Long short-term memory over sequences: :class:`RNN` of :class:`LSTMCell`, with its `units` and the others."""

    cell_class: type[_Cell] = LSTMCell


class GRU(_OfUnits):
    """Gated recurrent units over sequences: :class:`RNN` of :class:`GRUCell`, with its `units` and other arguments."""

    cell_class: type[_Cell] = GRUCell
