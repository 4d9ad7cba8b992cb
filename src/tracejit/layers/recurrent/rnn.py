"""Cells run over the rows of sequences, as one loop."""

from __future__ import annotations

from typing import Any

import tracejit as tf

from ...errors import at_user_line
from ..layer import Layer, is_training
from .cells import GRUCell, LSTMCell, SimpleRNNCell, StackedRNNCells, _Cell


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
    stateful : bool
        Begin each call with the last states of the one before, which :meth:`reset_states` sets to 0; a batch then has
        as many examples as the one before, or it begins with states of 0.
    unroll : bool
        Accepted for programs written for other libraries, and ignored: it changes no result.
    **options
        As for :class:`Layer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.layers.RNN(tf.layers.GRUCell(4), return_sequences=True)(tf.zeros((2, 7, 3))).shape
    TensorShape([2, 7, 4])
    """

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        time_major: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        **options: Any,
    ):
        super().__init__(**options)
        self.stateful, self.unroll = stateful, unroll
        #: The last states, as Variables, with ``stateful``; None before the first call.
        self.states: list[tf.Variable] | None = None
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

    _unsearched = frozenset({*Layer._unsearched, "states"})

    def reset_states(self, states: Any = None) -> None:
        """Begin the next call with `states`, by default 0, where it is ``stateful``; RuntimeError before the first."""
        if self.states is None:
            if states is None:
                return
            raise RuntimeError(f"{self!r} has no states before its first call{at_user_line()}")
        for variable, value in zip(self.states, states or [None] * len(self.states), strict=True):
            variable.assign(tf.zeros(variable.shape, variable.dtype) if value is None else value)

    reset_state = reset_states

    def note_symbols(self, node: Any) -> None:
        """Remember a call with symbols, `node`, whose examples were none of the program's."""
        super().note_symbols(node)
        self.reset_states()

    def _first_states(self, count: Any) -> Any:
        """Those of a call for `count` examples."""
        start = self.cell.get_initial_state(count)
        if not self.stateful:
            return start
        if not isinstance(count, int):
            raise tf.ShapeError(f"a stateful {self!r} must know how many examples there are{at_user_line()}")
        leaves = tf.nest.flatten(start)
        if self.states is None or self.states[0].shape[0] != count:
            with tf.init_scope():
                self.states = [tf.Variable(tf.zeros(x.shape, x.dtype), trainable=False) for x in leaves]
        return tf.nest.pack_sequence_as(start, [v.read_value() for v in self.states])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """`mask` where there are outputs for all steps; `inputs` are not looked at."""
        return mask if self.return_sequences else None

    def call(self, inputs: Any, initial_state: Any = None, mask: Any = None, training: Any = None) -> Any:
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
        start = self._first_states(count) if initial_state is None else _as_states(initial_state)
        kept = None if mask is None else tf.transpose(tf.cast(tf.convert_to_tensor(mask), dtype="bool"))
        if self.go_backwards:
            rows = tf.reverse(rows, [0])
            kept = None if kept is None else tf.reverse(kept, [0])
        of_each = {}
        if isinstance(self.cell, _Cell) and self.cell.drops and is_training(training):
            of_each = {"factors": self.cell.factors(rows[0], training)}  # drawn once
        if kept is None:
            states, last, outputs = self._run(rows, start, of_each)
        else:
            states, last, outputs = self._run_masked(rows, start, kept, of_each)
        if self.stateful:
            for variable, state in zip(self.states or (), tf.nest.flatten(states), strict=True):
                variable.assign(tf.cast(state, dtype=variable.dtype))
        output = (outputs if self.time_major else _steps_first(outputs)) if self.return_sequences else last
        return (output, *states) if self.return_state else output

    def _run(self, rows: Any, start: Any, of_each: dict[str, Any]) -> tuple[Any, Any, Any]:
        """The last states, the last output, and all outputs if they are asked for."""
        whole = self.return_sequences or isinstance(self.cell, StackedRNNCells)

        def step(states: Any, row: Any) -> tuple[Any, Any]:
            output, new = self.cell(row, states, **of_each)
            return new, output if whole else ()

        states, outputs = tf.scan(step, start, rows, length=rows.shape[0])
        return states, outputs[-1] if whole else states[0], outputs

    def _run_masked(self, rows: Any, start: Any, kept: Any, of_each: dict[str, Any]) -> tuple[Any, Any, Any]:
        """The same, where only the steps that are `kept` count."""
        before = tf.zeros_like(self.cell(rows[0], start, **of_each)[0])

        def step(carry: Any, now: Any) -> tuple[Any, Any]:
            (states, last), (row, counts) = carry, now
            output, new = self.cell(row, states, **of_each)
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
        stateful: bool = False,
        unroll: bool = False,
        name: str | None = None,
        input_shape: Any = None,
        batch_input_shape: Any = None,
        activity_regularizer: Any = None,
        **options: Any,
    ):
        input_dim = options.pop("input_dim", None)
        options.pop("implementation", None)  # of products, which changes no result
        cell = self.cell_class(units, *args, **options)
        kinds = (return_sequences, return_state, go_backwards, time_major, stateful, unroll)
        shape = (None, input_dim) if input_shape is None and input_dim is not None else input_shape
        super().__init__(
            cell,
            *kinds,
            name=name,
            input_shape=shape,
            batch_input_shape=batch_input_shape,
            activity_regularizer=activity_regularizer,
        )

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
