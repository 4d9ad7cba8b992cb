"""Cells of recurrent networks: one step from an input and a state to an output and the next state.

Sources: Hochreiter, Schmidhuber, 1997 (LSTM); Cho et al., 2014 (GRU, in the form with the reset gate after the
product). Gates stand side by side in one kernel, in the order i, f, c, o and z, r, h.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tracejit as tf

from .. import initializers
from ..errors import at_user_line
from ..nn import activations
from ..nn import common as neural
from .layer import Layer, is_training


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
        **options: Any,
    ):
        super().__init__(**options)
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout is in [0, 1), got {dropout}{at_user_line()}")
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
        self.kernel = self.add_weight("kernel", (inputs, width), self.kernel_initializer)
        shape = (self.units, width)
        self.recurrent_kernel = self.add_weight("recurrent_kernel", shape, self.recurrent_initializer)
        if self.use_bias:
            self.bias = self._bias(width)

    def _bias(self, width: int) -> tf.Variable:
        return self.add_weight("bias", (width,), self.bias_initializer)

    def get_initial_state(self, batch_size: Any, dtype: Any = None) -> list[tf.Tensor]:
        """States of zeros."""
        return [tf.zeros((batch_size, self.units), dtype or self.compute_dtype) for _ in range(self.states)]

    def _thinned(self, inputs: Any, training: Any) -> Any:
        """The inputs, while training with a part of them set to 0 at random."""
        return neural.dropout(inputs, self.dropout) if self.dropout and is_training(training) else inputs

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
    dropout : float
        The part of the inputs that is set to 0 while training.

    Examples
    --------
    >>> import tracejit as tf
    >>> cell = tf.layers.SimpleRNNCell(4)
    >>> cell(tf.zeros((2, 3)), cell.get_initial_state(2))[0].shape
    (2, 4)
    """

    gates, states = 1, 1
    _fixed = frozenset({"recurrent_activation"})

    def __init__(self, units: int, activation: Any = "tanh", use_bias: bool = True, **options: Any):
        super().__init__(units, activation, "linear", use_bias, **options)

    def call(self, inputs: Any, states: Any, training: Any = None) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """The output, and the next state, which it is; `states` is a list of the last one."""
        h: Any = states[0] if isinstance(states, (list, tuple)) else states
        z = tf.matmul(self._thinned(inputs, training), self.kernel) + tf.matmul(h, self.recurrent_kernel)
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
    dropout : float
        The part of the inputs that is set to 0 while training.
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

    def call(self, inputs: Any, states: Any, training: Any = None) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """The output, and the next states: output and memory, as `states` has them."""
        h: Any
        memory: Any
        h, memory = states
        z = tf.matmul(self._thinned(inputs, training), self.kernel) + tf.matmul(h, self.recurrent_kernel)
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
    dropout : float
        The part of the inputs that is set to 0 while training.
    reset_after : bool
        The gate that forgets acts on the product of state and weights; False: on the state, before the product, as in
        the paper (Cho et al., 2014), and one bias for the input is all.

    Examples
    --------
    >>> import tracejit as tf
    >>> cell = tf.layers.GRUCell(4)
    >>> cell(tf.zeros((2, 3)), cell.get_initial_state(2))[0].shape
    (2, 4)
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
        return self.add_weight("bias", (2, width) if self.reset_after else (width,), self.bias_initializer)

    def call(self, inputs: Any, states: Any, training: Any = None) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """The output, and the next state, which it is; `states` is a list of the last one."""
        h: Any = states[0] if isinstance(states, (list, tuple)) else states
        kernel: Any = self.recurrent_kernel.read_value()
        gate: Any = self.recurrent_activation
        x = tf.matmul(self._thinned(inputs, training), self.kernel)
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
        h = z * h + (1.0 - z) * self.activation(xh + recalled)
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
    ((2, 5), [(2, 4), 2])
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


class RNN(Layer):
    """A cell run over the rows of sequences, as one loop.

    Parameters
    ----------
    cell : Layer or list of Layer
        ``cell(inputs, states)`` gives an output and the next states; several stand one on the other.
    return_sequences : bool
        Give the outputs of all steps rather than the last.
    return_state : bool
        Give the last states besides.
    go_backwards : bool
        Begin with the last row; outputs of all steps are in that order.
    time_major : bool
        Sequences are ``(steps, batch, features)``.
    **options
        As for :class:`Layer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.RNN(tf.layers.GRUCell(4), return_sequences=True)(tf.zeros((2, 7, 3))).shape
    (2, 7, 4)
    """

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        time_major: bool = False,
        **options: Any,
    ):
        super().__init__(**options)
        self.cell: Any = StackedRNNCells(cell) if isinstance(cell, (list, tuple)) else cell
        self.return_sequences = return_sequences
        self.return_state = return_state
        self.go_backwards = go_backwards
        self.time_major = time_major
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Make the cell's weights, outside of the loop."""
        if not self.cell.built:
            self.cell.build((input_shape[1 if self.time_major else 0], input_shape[-1]))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """`mask` where there are outputs for all steps; `inputs` are not looked at."""
        return mask if self.return_sequences else None

    def call(self, inputs: Any, initial_state: Any = None, mask: Any = None) -> Any:
        """The last output, or all of them, on axis 1.

        `initial_state` is the first state, zeros unless given. Where `mask`, ``(batch, steps)`` of bools, is False, a
        step changes no state and repeats the output before.
        """
        if len(inputs.shape) < 3:
            order = "(steps, batch, features)" if self.time_major else "(batch, steps, features)"
            raise tf.ShapeError(
                f"{type(self).__name__} takes sequences {order}, got {inputs.spec}: tracejit.expand_dims adds an axis"
                f"{at_user_line()}"
            )
        rows = inputs if self.time_major else _steps_first(inputs)
        count = rows.shape[1]
        start = self.cell.get_initial_state(count) if initial_state is None else _as_states(initial_state)
        kept = None if mask is None else tf.transpose(tf.cast(tf.convert_to_tensor(mask), dtype="bool"))
        if self.go_backwards:
            rows = tf.reverse(rows, [0])
            kept = None if kept is None else tf.reverse(kept, [0])
        if kept is None:
            states, last, outputs = self._run(rows, start)
        else:
            states, last, outputs = self._run_masked(rows, start, kept)
        output = (outputs if self.time_major else _steps_first(outputs)) if self.return_sequences else last
        return (output, *states) if self.return_state else output

    def _run(self, rows: Any, start: Any) -> tuple[Any, Any, Any]:
        """The last states, the last output, and all outputs if they are asked for."""
        whole = self.return_sequences or isinstance(self.cell, StackedRNNCells)

        def step(states: Any, row: Any) -> tuple[Any, Any]:
            output, new = self.cell(row, states)
            return new, output if whole else ()

        states, outputs = tf.scan(step, start, rows, length=rows.shape[0])
        return states, outputs[-1] if whole else states[0], outputs

    def _run_masked(self, rows: Any, start: Any, kept: Any) -> tuple[Any, Any, Any]:
        """The same, where only the steps that are `kept` count."""
        before = tf.zeros_like(self.cell(rows[0], start)[0])

        def step(carry: Any, now: Any) -> tuple[Any, Any]:
            (states, last), (row, counts) = carry, now
            output, new = self.cell(row, states)
            counts = tf.expand_dims(counts, -1)
            new = tf.nest.map_structure(lambda a, b: tf.where(counts, a, b), new, states)
            output = tf.where(counts, output, last)
            return (new, output), output if self.return_sequences else ()

        (states, last), outputs = tf.scan(step, (start, before), (rows, kept), length=rows.shape[0])
        return states, last, outputs


def _steps_first(x: Any) -> Any:
    """Sequences with the steps as first axis, and back."""
    return tf.transpose(x, perm=(1, 0, *range(2, len(x.shape))))


def _as_states(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


class _OfUnits(RNN):
    """A cell chosen by the class, which is given the arguments but those of :class:`RNN`."""

    cell_class: type[_Cell]

    def __init__(
        self,
        units: int,
        *args: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        time_major: bool = False,
        name: str | None = None,
        input_shape: Any = None,
        **options: Any,
    ):
        cell = self.cell_class(units, *args, **options)
        kinds = (return_sequences, return_state, go_backwards, time_major)
        super().__init__(cell, *kinds, name=name, input_shape=input_shape)

    @property
    def units(self) -> int:
        """Size of the output."""
        return self.cell.units

    def get_config(self) -> dict[str, Any]:
        """The arguments that make a layer like this one, those of its cell included, as plain data."""
        cell, own = self.cell.get_config(), super().get_config()
        of_cell = {"trainable", "dtype"}
        return {**cell, **{name: x for name, x in own.items() if name != "cell" and name not in of_cell}}

    def state_besides(self, config: dict[str, Any]) -> dict[str, Any]:
        """What the arguments in `config` do not say: whether it is frozen, which they say of its cell."""
        return {**super().state_besides(config), "trainable": self.trainable}


class SimpleRNN(_OfUnits):
    """A plain recurrent network over sequences: :class:`RNN` of :class:`SimpleRNNCell`, with its `units` and others.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.SimpleRNN(4)(tf.ones([2, 5, 3])).shape)
    (2, 4)
    """

    cell_class = SimpleRNNCell


class LSTM(_OfUnits):
    """Long short-term memory over sequences: :class:`RNN` of :class:`LSTMCell`, with its `units` and the others.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.LSTM(4, return_sequences=True)(tf.ones([2, 5, 3])).shape)
    (2, 5, 4)
    """

    cell_class: type[_Cell] = LSTMCell


class GRU(_OfUnits):
    """Gated recurrent units over sequences: :class:`RNN` of :class:`GRUCell`, with its `units` and other arguments.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.layers.GRU(4)(tf.ones([2, 5, 3])).shape)
    (2, 4)
    """

    cell_class: type[_Cell] = GRUCell
