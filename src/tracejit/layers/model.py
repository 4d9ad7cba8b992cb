"""Model: a layer that is a whole network: it can be trained, saved and described."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import tracejit as tf

from ..errors import at_user_line
from ..models import saving
from ..models.configuration import made_by_library
from ..models.descriptions import describe_network, network_from
from ..models.functional import Network
from ..models.registration import custom_object_scope
from ..train.checkpoint import store
from ..train.checkpoint.checkpoint import paths_of
from .layer import Layer, specs_of
from .recurrent.rnn import RNN
from .training import Trainer


class Model(Trainer, Layer):  # what Trainer asks for, Layer has
    """Base of networks: a :class:`Layer` with the methods that train it.

    Parameters
    ----------
    inputs, outputs : optional
        An ``Input``, or a list or dict of them, and what layers made of it: ``Model(inputs, outputs)`` is the network
        between them. Without, a subclass defines `call`.
    **options
        As for :class:`Layer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> class Net(tf.keras.Model):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.hidden, self.out = tf.layers.Dense(4, activation="relu"), tf.layers.Dense(1)
    ...     def call(self, inputs):
    ...         return self.out(self.hidden(inputs))
    >>> net = Net()
    >>> net(tf.zeros((5, 3))).shape, len(net.layers), len(net.trainable_variables)
    (TensorShape([5, 1]), 2, 4)
    """

    _unsearched = frozenset(
        {
            *Layer._unsearched,
            "_loss_tracker",
            "_compiled_metrics",
            "_named_metrics",
            "_steps",
            "history",
            "_network",
        }
    )
    _network: Network | None = None

    @property
    def _casts_inputs(self) -> bool:  # type: ignore[override]
        return self._network is None  # else each layer does

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Remember the arguments of a class of the program's own."""
        made = super().__new__(cls, *args, **kwargs)
        if (args or kwargs) and made_by_library(cls):
            del made._made_with  # its layers are asked for what they are
        return made

    def __init__(self, inputs: Any = None, outputs: Any = None, **options: Any):
        super().__init__(**options)
        if inputs is not None or outputs is not None:
            self._network = Network(inputs, outputs)
            self._between, self.built = self._network.layers, True  # in the order of the network
            self.inputs, self.outputs = tf.nest.flatten(inputs), tf.nest.flatten(outputs)

    def build(self, input_shape: Any) -> None:
        """Make all weights, for inputs of `input_shape`, where None stands for a size that does not matter.

        No numbers are computed: the network is traced. ValueError where that is not possible: a call makes all
        weights then.
        """
        if self._network is None and "_first_call" not in vars(self):  # else the call makes them, or has made them
            example = tf.zeros(tuple([1 if s is None else s for s in input_shape]), self.dtype)
            self._first_call, self.built = specs_of((example,), {}), True  # the trace does not call this again
            try:
                self.make_weights(example)
            except BaseException:
                self.built = False
                del self._first_call
                raise

    def make_weights(self, *args: Any, **kwargs: Any) -> None:
        """Make all weights, for arguments like these, whatever their values; ValueError where it cannot be traced."""
        try:
            tf.function(self).get_concrete_function(*args, **kwargs, training=False)
        except tf.TracejitError as error:
            raise ValueError(
                f"{self!r} cannot be traced, so call it to make its weights: {error}{at_user_line()}"
            ) from error

    def _build_for(self, inputs: Any) -> None:
        """Nothing where the class defines no ``build`` of its own: each layer makes its weights when it is reached."""
        if type(self).build is not Model.build:
            super()._build_for(inputs)

    def call(self, inputs: Any) -> Any:
        """The outputs for `inputs`; NotImplementedError where there is no network and no other `call`."""
        return super().call(inputs) if self._network is None else self._network(inputs)

    def _positional(self) -> tuple[str, ...]:
        return ("training",) if type(self).call is Model.call else super()._positional()

    @property
    def has_call(self) -> bool:  # type: ignore[override]
        """Can it be called? One whose steps call other networks need not."""
        return self._network is not None or type(self).call is not Model.call

    def call_to_save(self) -> Any:
        """What :func:`tracejit.saved_model.save` keeps: the call for inference of any number of examples, compiled.

        None before the network has been called, where its class makes it.
        """
        specs = self._specs_of_inputs()
        if specs is None:
            return None

        def call(inputs: Any) -> Any:
            return self(inputs, training=False)

        def call_of_several(*inputs: Any) -> Any:
            return self(*inputs, training=False)

        return tf.function(call if len(specs) == 1 else call_of_several, input_signature=specs)

    def _specs_of_inputs(self) -> list[Any] | None:
        """A spec for each argument, of any number of examples."""
        if self._network is not None:
            return [
                tf.nest.map_structure(
                    lambda x: tf.TensorSpec([None, *x.shape[1:]], x.dtype), self._network.inputs
                )
            ]
        first = vars(self).get("_first_call")

        def opened(spec: Any) -> Any:
            return tf.TensorSpec([None, *spec.shape[1:]], spec.dtype) if spec.shape else spec

        return None if first is None else [tf.nest.map_structure(opened, argument) for argument in first[0]]

    def reset_states(self) -> None:
        """Let layers that are ``stateful`` begin with states of 0."""
        for part in self.submodules:
            if isinstance(part, RNN):
                part.reset_states()

    @property
    def layers(self) -> Any:
        """The layers that it holds, without those inside of them; what was assigned, if anything was."""
        if "layers" in self.__dict__:
            return self.__dict__["layers"]
        return list({id(part): part for part in self._parts() if isinstance(part, Layer)}.values())

    @layers.setter
    def layers(self, layers: Any) -> None:
        self.__dict__["layers"] = layers

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """The layer called `name`, or at the position `index`; ValueError when there is none."""
        if index is not None:
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        known = ", ".join(x.name for x in self.layers)
        raise ValueError(f"no layer is called {name!r}; there are {known}{at_user_line()}")

    def get_config(self) -> dict[str, Any]:
        """What makes a network like this one, with first values for weights, as plain data.

        Of a network between inputs and outputs its layers and calls; of a class of the program's own its arguments.
        NotDescribed where there is something that data cannot stand for.
        """
        if self._network is None or not made_by_library(type(self)):
            return super().get_config()
        return {"name": self.name, "trainable": self.trainable, **describe_network(self._network)}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Any:
        """A new network by what :meth:`get_config` gave in `config`, whose names may mean `custom_objects`."""
        with custom_object_scope(custom_objects):
            if "calls" not in config or not made_by_library(cls):
                return super().from_config(config)
            inputs, outputs = network_from(config)
            return cls(inputs, outputs, name=config["name"], trainable=config["trainable"])

    def ends(self) -> dict[str, Any]:
        """Its ``input`` and ``output``, those of the network between them; without them, ``why`` there are none."""
        if self._network is None:
            return super().ends()
        return {"input": self._network.inputs, "output": self._network.outputs}

    def save(
        self,
        filepath: str | os.PathLike[str],
        overwrite: bool = True,
        include_optimizer: bool = True,
        save_format: str | None = None,
    ) -> None:
        """Write the network to the file `filepath`, which may be there already with `overwrite`.

        With `include_optimizer` also how it is trained; see :func:`tracejit.keras.models.save_model`, also for errors.
        There is one format, whatever `save_format` says.

        Examples
        --------
        >>> import tempfile, tracejit as tf
        >>> model = tf.Sequential([tf.layers.Dense(1, input_shape=(2,))])
        >>> path = tempfile.mkdtemp() + "/line.model"
        >>> model.save(path)
        >>> again = tf.keras.models.load_model(path)
        >>> bool(tf.reduce_all(again(tf.ones((3, 2))) == model(tf.ones((3, 2)))))
        True
        """
        saving.save_model(self, filepath, overwrite, include_optimizer)

    def to_json(self) -> str:
        """What makes a network like this one, without its weights, as text."""
        return saving.to_json(self)

    def save_weights(self, filepath: str | os.PathLike[str], overwrite: bool = True) -> None:
        """Write all weights to the file `filepath`, in the order of :attr:`variables`.

        Raises
        ------
        FileExistsError
            When the file is there already and `overwrite` is False.
        """
        if not overwrite and Path(filepath).exists():
            raise FileExistsError(f"{os.fspath(filepath)!r} is there already{at_user_line()}")
        arrays = {f"{i:05d} {v.name}": v.array for i, v in enumerate(self.variables)}
        path_of = {id(v): path for path, v in reversed(list(paths_of(self)))}
        paths = json.dumps([path_of[id(v)] for v in self.variables])
        store.write(Path(filepath), arrays, {"format": "tracejit-weights-1", "paths": paths})

    def load_weights(self, filepath: str | os.PathLike[str]) -> None:
        """Give all weights the values in the file `filepath` that :meth:`save_weights` wrote for a network like this.

        One that was not called yet has no weights: they get their values when they are made.

        Raises
        ------
        ValueError
            When the file holds another number of weights, or they have other shapes.
        """
        arrays, metadata = store.read(Path(filepath))
        values = [arrays[name] for name in sorted(arrays)]
        if not self.variables and "paths" in metadata:
            paths = json.loads(metadata["paths"])
            self.defer(dict(zip(paths, values, strict=True)))
            return
        self.set_weights(values)

    def summary(
        self,
        line_length: int | None = None,
        positions: Any = None,
        print_fn: Callable[[str], Any] | None = None,
        **options: Any,
    ) -> None:
        """Print a table of the layers, by `print_fn`: their kind, shape of the result, and number of weights.

        Parameters
        ----------
        line_length : int, optional
            Accepted and ignored: the table is of one width.
        positions : sequence of float, optional
            Accepted and ignored.
        print_fn : callable, optional
            Takes each line; by default they are printed.
        **options
            Other arguments, accepted and ignored.

        Examples
        --------
        >>> import tracejit as tf
        >>> model = tf.Sequential([tf.layers.Dense(2, input_shape=(3,), name="only")], name="net")
        >>> model.summary()
        Model: "net"
        ┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
        ┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃
        ┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
        │ only (Dense)                    │ (None, 2)              │             8 │
        └─────────────────────────────────┴────────────────────────┴───────────────┘
         Total params: 8 (32.00 B)
         Trainable params: 8 (32.00 B)
         Non-trainable params: 0 (0.00 B)
        """
        show = print_fn or (lambda line: print(line, file=sys.stdout))
        rows = [
            (f"{layer.name} ({type(layer).__name__})", layer.shape_text(), f"{layer.count_params():,}")
            for layer in self.layers
        ]
        for line in (f'Model: "{self.name}"', *_table(rows), *self._totals()):
            show(line)

    def _totals(self) -> list[str]:
        groups = {
            "Total": self.variables,
            "Trainable": self.trainable_variables,
            "Non-trainable": self.non_trainable_variables,
        }
        return [
            f" {name} params: {sum(int(v.spec.size) for v in variables):,} "
            f"({_memory(sum(v.array.nbytes for v in variables))})"
            for name, variables in groups.items()
        ]


_WIDTHS = (31, 22, 13)


def _table(rows: list[tuple[str, str, str]]) -> list[str]:
    def line(left: str, fill: str, between: str, right: str) -> str:
        return left + between.join(fill * (width + 2) for width in _WIDTHS) + right

    def row(cells: tuple[str, str, str], edge: str) -> str:
        a, b, c = _WIDTHS
        parts = (cells[0][:a].ljust(a), cells[1][:b].ljust(b), cells[2].rjust(c))
        return f"{edge} " + f" {edge} ".join(parts) + f" {edge}"

    shown = [line("┏", "━", "┳", "┓"), row(("Layer (type)", "Output Shape", "Param #"), "┃")]
    shown.append(line("┡", "━", "╇", "┩"))
    for i, (what, shape, count) in enumerate(rows):
        shown += [line("├", "─", "┼", "┤")] if i else []
        name, kind = what.rsplit(" ", 1)
        first, *rest = [what] if len(what) <= _WIDTHS[0] else [name, kind]
        shown += [row((first, shape, count), "│"), *(row((more, "", ""), "│") for more in rest)]
    return [*shown, line("└", "─", "┴", "┘")]


def _memory(count: float) -> str:
    unit = "B"
    for larger in ("KB", "MB", "GB"):
        if count >= 1024:
            count, unit = count / 1024, larger
    return f"{count:.2f} {unit}"
