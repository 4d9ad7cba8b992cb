"""Trainer: how a network is fitted to data, evaluated, and asked for predictions, batch by batch.

One step is a method that users may replace; it is compiled unless they say otherwise. Knows no layer.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...core.errors import at, user_location
from ...core.tensor import Tensor
from ...frontend.function import Function
from ...frontend.structure import flatten, map_structure
from ...frontend.tape import GradientTape
from ..data.dataset import Dataset
from ..losses import classes as losses
from ..losses.loss import Loss
from ..metrics import accuracies
from ..metrics.means import Mean, MeanMetricWrapper
from ..metrics.metric import Metric
from ..optimizers.identify import get as optimizer_of


class History:
    """What :meth:`Trainer.fit` returns: in `history`, each name with its numbers, one per epoch."""

    def __init__(self) -> None:
        self.history: dict[str, list[float]] = {}
        self.epoch: list[int] = []


class Trainer:
    """The methods of a network that train it; part of :class:`Model`."""

    optimizer: Any = None
    loss: Any = None
    _named_metrics: Sequence[Any] = ()
    _compiled_metrics: list[Metric] | None = None
    _loss_tracker: Mean | None = None
    _run_eagerly = False
    trainable_variables: list[Any]
    losses: list[Any]
    built: bool
    __call__: Callable[..., Any]

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Sequence[Any] | None = None,
        run_eagerly: bool = False,
        **options: Any,
    ) -> None:
        """Say how the network is trained.

        Parameters
        ----------
        optimizer : Optimizer or str
        loss : Loss, function of labels and predictions, or str
        metrics : sequence of Metric, functions or str, optional
            ``"accuracy"`` means the one that fits the loss.
        run_eagerly : bool
            Do not compile the steps.
        **options
            Accepted for programs written for other libraries, and ignored.
        """
        self.optimizer, self.loss = optimizer_of(optimizer), losses.get(loss)
        self._named_metrics, self._compiled_metrics = list(metrics or ()), None
        self._loss_tracker, self._run_eagerly = Mean(name="loss"), bool(run_eagerly)
        self._steps: dict[str, Any] = {}

    @property
    def metrics(self) -> list[Metric]:
        """The mean of the loss, and the metrics that were asked for."""
        tracked = [] if self._loss_tracker is None else [self._loss_tracker]
        return [*tracked, *(self._compiled_metrics or ())]

    # ---- one batch --------------------------------------------------------------------------------------

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Any:
        """The loss of one batch, with what the layers add to it."""
        total: Any = 0.0
        if self.loss is not None and y is not None:
            weighted = isinstance(self.loss, Loss)
            loss = self.loss if weighted else _Averaged(self.loss)
            total = loss(y, y_pred, sample_weight)
        return sum(self.losses, total)

    def train_step(self, data: Any) -> dict[str, Any]:
        """One step on one batch; returns the metrics so far. Replace it to train in another way."""
        x, y, weight = unpack(data)
        tape = GradientTape()
        with tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(x, y, y_pred, weight)
        variables = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return self._noted(x, y, y_pred, weight, loss)

    def test_step(self, data: Any) -> dict[str, Any]:
        """Loss and metrics of one batch."""
        x, y, weight = unpack(data)
        y_pred = self(x, training=False)
        return self._noted(x, y, y_pred, weight, self.compute_loss(x, y, y_pred, weight, training=False))

    def predict_step(self, data: Any) -> Any:
        """The predictions for one batch."""
        return self(unpack(data)[0], training=False)

    def _noted(self, x: Any, y: Any, y_pred: Any, weight: Any, loss: Any) -> dict[str, Any]:
        for metric in self.metrics:
            if metric is self._loss_tracker:
                metric.update_state(loss, sample_weight=_rows(x))
            else:
                metric.update_state(y, y_pred, sample_weight=weight)
        return self.get_metrics_result()

    def get_metrics_result(self) -> dict[str, Any]:
        """The metrics so far, by name."""
        return {metric.name: metric.result() for metric in self.metrics}

    def reset_metrics(self) -> None:
        """Forget what the metrics have seen."""
        for metric in self.metrics:
            metric.reset_state()

    def train_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """One step on one batch; returns the loss, and with metrics a list."""
        return self._on_batch("train_step", x, y, sample_weight)

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Loss, and with metrics a list, of one batch."""
        return self._on_batch("test_step", x, y, sample_weight)

    def _on_batch(self, step: str, x: Any, y: Any, weight: Any) -> Any:
        data = next(iter(batches(x, y, weight, None, False)))
        return _numbers(self._prepared(step, data)(data))

    # ---- many batches -----------------------------------------------------------------------------------

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Any = "auto",
        callbacks: Sequence[Any] | None = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool = True,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
    ) -> History:
        """Train.

        Parameters
        ----------
        x, y : arrays, or nests of them
            Examples and labels; or `x` alone, a Dataset of batches ``(x, y)``.
        batch_size : int, optional
            Default 32.
        epochs : int
            How often all examples are seen.
        verbose : "auto", 0, 1 or 2
            0 prints nothing, anything else a line per epoch.
        callbacks : sequence, optional
            Objects with ``on_epoch_end(epoch, logs)``.
        validation_split : float
            This part of the arrays, at their end, is kept out and evaluated after each epoch.
        validation_data : tuple (x, y), or Dataset, optional
            Evaluated after each epoch, under names with ``val_``.
        shuffle : bool
            Draw the order of arrays anew for each epoch.
        sample_weight : array, optional
        initial_epoch : int
        steps_per_epoch : int, optional
            How many batches an epoch has, where a Dataset has no end.

        Returns
        -------
        History

        Examples
        --------
        >>> import tracejit as tf
        >>> model = tf.Sequential([tf.layers.Dense(1, kernel_initializer="zeros")])
        >>> model.compile(optimizer="sgd", loss="mse")
        >>> x = tf.constant([[1.0], [2.0]])
        >>> history = model.fit(x, 2.0 * x, epochs=2, verbose=0)
        >>> len(history.history["loss"])
        2
        """
        if validation_split:
            (x, y), validation_data = _split(x, y, validation_split)
        history = History()
        for part in callbacks or ():
            getattr(part, "set_model", lambda _: None)(self)
        endless = None
        for epoch in range(initial_epoch, epochs):
            started = time.perf_counter()
            if steps_per_epoch is None:
                data = batches(x, y, sample_weight, batch_size, shuffle)
            else:
                endless = endless or iter(batches(x, y, sample_weight, batch_size, shuffle))
                data = _taken(endless, steps_per_epoch)
            count, logs = self._all("train_step", data)
            logs |= self._validation(validation_data, batch_size)
            for name, number in logs.items():
                history.history.setdefault(name, []).append(number)
            history.epoch.append(epoch)
            if verbose:
                print(f"Epoch {epoch + 1}/{epochs}", file=sys.stdout)
                _report(count, time.perf_counter() - started, logs)
            for part in callbacks or ():
                part.on_epoch_end(epoch, logs)
            if getattr(self, "stop_training", False):
                break
        self.history = history
        return history

    def _validation(self, data: Any, batch_size: int | None) -> dict[str, float]:
        if data is None:
            return {}
        x, y, weight = (data, None, None) if isinstance(data, Dataset) else unpack(tuple(data))
        found = self._all("test_step", batches(x, y, weight, batch_size, False))[1]
        return {f"val_{name}": number for name, number in found.items()}

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        sample_weight: Any = None,
        return_dict: bool = False,
    ) -> Any:
        """Loss, and with metrics a list of loss and metrics, over all examples."""
        started = time.perf_counter()
        count, logs = self._all("test_step", batches(x, y, sample_weight, batch_size, False))
        if verbose:
            _report(count, time.perf_counter() - started, logs)
        return logs if return_dict else _numbers(logs)

    def predict(self, x: Any, batch_size: int | None = None, verbose: Any = "auto") -> Any:
        """The predictions for all examples, as arrays."""
        parts = [
            map_structure(lambda t: t.numpy(), self._prepared("predict_step", data)(data))
            for data in batches(x, None, None, batch_size, False)
        ]
        return map_structure(lambda *rows: np.concatenate(rows), *parts)

    # ---- inside -----------------------------------------------------------------------------------------

    def _all(self, step: str, data: Iterator[Any]) -> tuple[int, dict[str, float]]:
        """Run a step on all batches: how many there were, and the metrics."""
        self.reset_metrics()
        count, found = 0, {}
        for batch in data:
            found = self._prepared(step, batch)(batch)
            count += 1
        if not count:
            raise ValueError(f"there is no batch of examples{at(user_location())}")
        return count, {name: float(found[name]) for name in sorted(found)}

    def _prepared(self, step: str, data: Any) -> Callable[[Any], Any]:
        """The compiled step, once all Variables exist."""
        if self.optimizer is None and step != "predict_step":
            raise RuntimeError(f"say how to train first: compile(optimizer, loss){at(user_location())}")
        x, y, _ = unpack(data)
        if not self.built:
            self(x, training=False)
        if self._compiled_metrics is None:
            y_pred = self(x, training=False) if self._named_metrics else None
            self._compiled_metrics = [metric_of(m, self.loss, y, y_pred) for m in self._named_metrics]
        method = getattr(self, step)
        if self._run_eagerly:
            return method
        if step == "train_step":
            self.optimizer.build(self.trainable_variables)
        steps = self.__dict__.setdefault("_steps", {})
        key = (step, tuple(v.handle.serial for v in self.trainable_variables))
        if key not in steps:
            steps[key] = Function(method)
        return steps[key]


class _Averaged(Loss):
    """A loss given as a function."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return self.function(y_true, y_pred)


def unpack(data: Any) -> tuple[Any, Any, Any]:
    """Examples, labels and weights of a batch; None for what is not there."""
    if not isinstance(data, tuple):
        return data, None, None
    if not 1 <= len(data) <= 3:
        raise ValueError(
            f"a batch is (x,), (x, y) or (x, y, weights), got {len(data)} parts{at(user_location())}"
        )
    return (*data, None, None)[:3]


def batches(x: Any, y: Any, weight: Any, batch_size: int | None, shuffle: bool) -> Iterator[Any]:
    """The batches of arrays, or those that a Dataset or a generator is made of."""
    if isinstance(x, Dataset) or (hasattr(x, "__next__") and y is None):
        return iter(x)
    whole = tuple(part for part in (x, y, weight) if part is not None)
    dataset = Dataset.from_tensor_slices(map_structure(_as_array, whole))
    if shuffle:
        dataset = dataset.shuffle(max(len(dataset), 1))
    return iter(dataset.batch(batch_size or 32))


def _as_array(x: Any) -> Any:
    return x.array if isinstance(x, Tensor) else x


def _taken(data: Iterator[Any], count: int) -> Iterator[Any]:
    for _, batch in zip(range(count), data, strict=False):
        yield batch


def _split(x: Any, y: Any, part: float) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Arrays without their end, and their end."""
    first = flatten(x)[0][0]
    kept = int(len(first) * (1.0 - part))
    train, held = (
        map_structure(lambda a, s=rows: np.asarray(_as_array(a))[s], (x, y))
        for rows in (slice(kept), slice(kept, None))
    )
    return train, held


def _rows(x: Any) -> Any:
    """How many examples a batch has."""
    return flatten(x)[0][0].shape[0]


def metric_of(identifier: Any, loss: Any, y: Any, y_pred: Any) -> Metric:
    """The metric meant by a name or a function, for labels and predictions like these."""
    if isinstance(identifier, Metric):
        return identifier
    if callable(identifier):
        return MeanMetricWrapper(identifier)
    if identifier in ("accuracy", "acc"):
        return MeanMetricWrapper(_accuracy_for(loss, y, y_pred), name=identifier)
    named = getattr(accuracies, str(identifier), None) or losses.get(identifier)
    return MeanMetricWrapper(named, name=str(identifier))  # type: ignore[arg-type]


def _accuracy_for(loss: Any, y: Any, y_pred: Any) -> Callable[..., Any]:
    if y_pred.shape[-1:] == (1,) or len(y_pred.shape) < 2:
        return accuracies.binary_accuracy
    if len(y.shape) < len(y_pred.shape) or y.shape[-1:] == (1,):
        return accuracies.sparse_categorical_accuracy
    binary = isinstance(loss, losses.BinaryCrossentropy) and type(loss) is losses.BinaryCrossentropy
    return accuracies.binary_accuracy if binary else accuracies.categorical_accuracy


def _numbers(logs: dict[str, Any]) -> Any:
    found = [float(logs[name]) for name in sorted(logs, key=lambda name: name != "loss")]
    return found[0] if len(found) == 1 else found


def _report(count: int, seconds: float, logs: dict[str, float]) -> None:
    shown = " - ".join(f"{name}: {number:.4f}" for name, number in logs.items())
    each = 1000 * seconds / count
    print(f"{count}/{count} - {seconds:.0f}s - {each:.0f}ms/step - {shown}", file=sys.stdout)
