"""Losses and metrics of networks with several outputs, and their weighted sum.

An output is known by its name: the key where outputs are a dict, the name of the layer that makes it, or its number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from ..metrics.means import Mean
from ..metrics.metric import Metric


def is_nest(x: Any) -> bool:
    """Is it a list, tuple or dict?"""
    return isinstance(x, (list, tuple, dict))


def names_in(network: Any) -> list[str] | None:
    """The names of the outputs of a network of symbols, in order; None where it is none, or has one output."""
    outputs = None if network is None else network.outputs
    if not is_nest(outputs) or isinstance(outputs, dict):
        return sorted(outputs) if isinstance(outputs, dict) else None
    names: list[str] = []
    for symbol in tf.nest.flatten(outputs, none_is_leaf=True):
        layer = symbol if symbol.node is None else symbol.node.function
        name = str(getattr(layer, "name", getattr(layer, "__name__", "output")))
        same = sum(n == name or n.startswith(f"{name}_") for n in names)
        names.append(f"{name}_{same}" if name in names else name)
    return names


class Outputs:
    """The outputs of a network by name.

    Parameters
    ----------
    names : sequence of str or None
        None: those of the predictions.
    """

    def __init__(self, names: Sequence[str] | None):
        self.names = names

    def of(self, y_pred: Any) -> dict[str, Any]:
        """The predictions by name."""
        if isinstance(y_pred, dict):
            return {name: y_pred[name] for name in sorted(y_pred)}
        parts = list(y_pred) if is_nest(y_pred) else [y_pred]
        names = self.names or [f"output_{i + 1}" for i in range(len(parts))]
        return dict(zip(names, parts, strict=True))

    def matched(self, given: Any, names: Sequence[str], what: str, partly: bool = False) -> dict[str, Any]:
        """What is given for each output, by name: a dict by names, or a sequence in their order.

        ValueError where they do not fit; with `partly` a dict may leave outputs out, and these have None.
        """
        if isinstance(given, dict):
            unknown, missing = [k for k in given if k not in names], [n for n in names if n not in given]
            if unknown or (missing and not partly):
                raise ValueError(
                    f"{what} is for the outputs {list(names)}, got one for {list(given)}{at_user_line()}"
                )
            return {name: given.get(name) for name in names}
        if not isinstance(given, (list, tuple)) or len(given) != len(names):
            got = f"{len(given)} of them" if isinstance(given, (list, tuple)) else type(given).__name__
            raise ValueError(
                f"{what} is a list or dict with one for each of the outputs {list(names)}, got {got}{at_user_line()}"
            )
        return dict(zip(names, given, strict=True))


class OutputLosses:
    """The losses of several outputs, as one: their weighted sum. Each has a mean of its own, if there are several.

    Parameters
    ----------
    given : nest of losses, or one for all outputs
    weights : nest of float, optional
    outputs : Outputs
    as_loss : callable
        Makes a loss, called with labels, predictions and weights, of what is given for one.
    """

    def __init__(self, given: Any, weights: Any, outputs: Outputs, as_loss: Callable[[Any], Any]):
        self.given, self.weights, self.outputs = given, weights, outputs
        self._as_loss = as_loss
        self._losses: dict[str, Any] | None = None
        self._factors: dict[str, float] = {}
        self.trackers: dict[str, Mean] = {}

    def build(self, y_pred: Any) -> None:
        """Say which loss is for which of these predictions, once."""
        if self._losses is not None:
            return
        names = list(self.outputs.of(y_pred))
        given = self.given if is_nest(self.given) else [self.given] * len(names)
        losses = self.outputs.matched(given, names, "loss")
        self._losses = {n: self._as_loss(loss) for n, loss in losses.items() if loss is not None}
        if not self._losses:
            raise ValueError(f"no output has a loss{at_user_line()}")
        weights: Any = dict.fromkeys(names, 1.0)
        if self.weights is not None:
            given = self.weights if is_nest(self.weights) else [self.weights] * len(names)
            weights = self.outputs.matched(given, names, "loss_weights", partly=True)
        self._factors = {n: 1.0 if w is None else float(w) for n, w in weights.items()}
        if len(self._losses) > 1:
            self.trackers = {name: Mean(name=f"{name}_loss") for name in self._losses}

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """The weighted sum, of what is given for each output."""
        self.build(y_pred)
        assert self._losses is not None
        predictions = self.outputs.of(y_pred)
        labels = self._of_each(y_true, predictions, "y")
        weights: dict[str, Any] = dict.fromkeys(predictions, sample_weight)
        if is_nest(sample_weight):
            weights = self._of_each(sample_weight, predictions, "sample_weight")
        parts = []
        for name, loss in self._losses.items():
            if labels[name] is None:
                raise ValueError(f"there are no labels for the output {name!r}{at_user_line()}")
            value = loss(labels[name], predictions[name], weights[name])
            if name in self.trackers:
                self.trackers[name].update_state(value, sample_weight=predictions[name].shape[0])
            factor = self._factors[name]
            parts.append(value if factor == 1.0 else value * factor)
        return sum(parts[1:], parts[0])

    def _of_each(self, given: Any, predictions: dict[str, Any], what: str) -> dict[str, Any]:
        if len(predictions) == 1 and not is_nest(given):
            given = [given]
        return self.outputs.matched(given, list(predictions), what, partly=True)


class OutputMetric(Metric):
    """A metric of one output, under the name of both."""

    def __init__(self, output: str, metric: Metric, outputs: Outputs):
        super().__init__(name=f"{output}_{metric.name}")
        self.output, self.metric, self._outputs = output, metric, outputs

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Take a batch into account: the part of it that is this output's."""
        predictions = self._outputs.of(y_pred)
        labels = self._outputs.matched(y_true, list(predictions), "y", partly=True)[self.output]
        weight = sample_weight
        if is_nest(weight):
            weight = self._outputs.matched(weight, list(predictions), "sample_weight", partly=True)[
                self.output
            ]
        self.metric.update_state(labels, predictions[self.output], sample_weight=weight)

    def result(self) -> Any:
        """The metric so far."""
        return self.metric.result()

    def reset_state(self) -> None:
        """Forget what it has seen."""
        self.metric.reset_state()


def metrics_of(
    given: Any, y: Any, y_pred: Any, outputs: Outputs, made: Callable[[Any, Any, Any], Metric]
) -> list[Metric]:
    """The metrics of each output: `given` is a dict by names, or a list with one, several or None for each.

    ``made(m, labels, predictions)`` makes one.
    """
    if not given:
        return []
    predictions = outputs.of(y_pred)
    chosen = outputs.matched(given, list(predictions), "metrics", partly=True)
    labels = outputs.matched(y, list(predictions), "y", partly=True)
    metrics: list[Metric] = []
    for name, several in chosen.items():
        several = [] if several is None else several if isinstance(several, (list, tuple)) else [several]
        metrics += [OutputMetric(name, made(m, labels[name], predictions[name]), outputs) for m in several]
    return sorted(metrics, key=lambda m: m.name)


def several(given: Any) -> Any:
    """A sequence of metrics, or a dict of those of each output; one alone is meant as one."""
    if isinstance(given, dict):
        return given
    if isinstance(given, (list, tuple)):
        return list(given)
    return [] if given is None else [given]
