"""Sequential: a chain of layers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from ..models.configuration import described, made_by_library, one_description
from ..models.functional import OPEN_SIZE, OfTheOnlyCall, record
from .inputs import InputLayer
from .layer import Layer, specs_of
from .model import Model


class Sequential(Model):
    """A network whose layers are applied in turn.

    Parameters
    ----------
    layers : iterable of callables, optional
        Layers, or any functions of one tensor; one layer alone will do.
    name : str, optional

    Notes
    -----
    Where the first layer was given an ``input_shape``, the weights are made at once.

    Examples
    --------
    >>> import tracejit as tf
    >>> model = tf.Sequential([tf.layers.Dense(8, activation="tanh"), tf.layers.Dense(1)])
    >>> model(tf.zeros((5, 3))).shape, len(model.trainable_variables)
    (TensorShape([5, 1]), 4)
    """

    _unsearched = frozenset({*Model._unsearched, "_between_ends"})
    _casts_inputs = False  # each layer does
    _between_ends: dict[str, Any] | None = None
    #: As of a :class:`Model` between inputs and outputs.
    inputs: OfTheOnlyCall = OfTheOnlyCall()
    outputs: OfTheOnlyCall = OfTheOnlyCall()

    def __init__(self, layers: Iterable[Any] | None = None, name: str | None = None, **options: Any):
        super().__init__(name=name, **options)
        self.layers = []
        self._input_dtype = self.dtype
        for layer in [layers] if isinstance(layers, tf.Module) else layers or ():
            self._append(layer)
        self._build_if_known()

    def add(self, layer: Any) -> None:
        """Append `layer`."""
        self._append(layer)
        self.built = False
        self._build_if_known()

    def pop(self) -> Any:
        """Take the last layer off, and return it; IndexError where there is none."""
        if not self.layers:
            raise IndexError(f"{self.name} has no layers{at_user_line()}")
        last = self.layers[-1]
        self.layers, self._between_ends = self.layers[:-1], None
        return last

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        for layer in self.layers:
            self._hold(layer)

    def _hold(self, layer: Any) -> None:
        if isinstance(layer, Layer):
            layer._holder = self

    def _append(self, layer: Any) -> None:
        if isinstance(layer, InputLayer):
            self.input_shape: tuple[int | None, ...] | None = layer.input_shape
            self._input_dtype = layer.dtype
            return
        if not callable(layer):
            raise TypeError(f"a layer is callable, got {type(layer).__name__}{at_user_line()}")
        self.layers = [*self.layers, layer]
        self._between_ends = None
        self._hold(layer)

    def _known_shape(self) -> tuple[int | None, ...] | None:
        """The shape of one example, where an Input or the first layer says it."""
        return self.input_shape or getattr(self.layers[0], "input_shape", None) if self.layers else None

    def _build_if_known(self) -> None:
        first = self._known_shape()
        if first is not None:
            self.build((None, *first))

    def build(self, input_shape: Any) -> None:
        """Make all weights, by one call with zeros; None stands for a size that does not matter."""
        self.built: bool = True
        count, *shape = input_shape
        x = tf.zeros((count or 1, *(OPEN_SIZE if s is None else s for s in shape)), self._input_dtype)
        self._first_call = specs_of((x,), {})
        self._result_shape = self(x, training=False).shape
        self.reset_states()  # it was no call of the program's
        if None in shape and self._known_shape() == tuple(shape):
            self.ends()  # which finds the sizes of results that are not known either

    def ends(self) -> dict[str, Any]:
        """Its ``input`` and ``output``, ``inputs`` and ``outputs``; without them, ``why`` there are none."""
        shape = self._known_shape()
        if shape is None:
            return {"why": "the shape of an example is not known: begin with an Input"}
        if self._between_ends is None:
            first: Any = InputLayer(shape, dtype=self._input_dtype)
            last = first
            for layer in self.layers:
                last = layer(last) if isinstance(layer, Layer) else record(layer, (last,), {})
            self._between_ends = {"input": first, "output": last, "inputs": [first], "outputs": [last]}
        return self._between_ends

    def _build_for(self, inputs: Any) -> None:
        """Nothing: each layer makes its weights when it is reached."""

    def _specs_of_inputs(self) -> list[Any] | None:
        specs, shape = super()._specs_of_inputs(), self._known_shape()
        return specs if specs is None or shape is None else [tf.TensorSpec([None, *shape], specs[0].dtype)]

    def get_config(self) -> dict[str, Any]:
        """What makes a network like this one, with first values for weights, as plain data: its layers in order."""
        if not made_by_library(type(self)):
            return super().get_config()
        with one_description():
            layers = [described(layer, f"layer {i} of {self!r}") for i, layer in enumerate(self.layers)]
        shape, dtype = self.input_shape, self._input_dtype.name
        return {
            "name": self.name,
            "trainable": self.trainable,
            "layers": layers,
            "input_shape": shape,
            "dtype": dtype,
        }

    def _positional(self) -> tuple[str, ...]:
        return ("training",) if type(self).call is Sequential.call else super()._positional()

    def call(self, inputs: Any) -> Any:
        """The result of the last layer."""
        for layer in self.layers:
            inputs = layer(inputs)
        return inputs
