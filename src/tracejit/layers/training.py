"""Trainer: fitting, evaluation and prediction of a network, batch by batch.

One step is a method that users may replace; it is compiled unless they say otherwise. Knows no layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import tracejit as tf

from ..callbacks.callback import CallbackList, History
from ..callbacks.reporting import ProgbarLogger, Report
from ..errors import at_user_line
from ..losses import classes as losses
from ..losses.loss import as_loss
from ..metrics import find_metric as metrics
from ..metrics.means import Mean
from ..metrics.metric import Metric
from ..models import feeding
from ..models.feeding import unpack
from ..models.metrics_as_one import Metrics
from ..models.policies import labels_as
from ..models.several_outputs import OutputLosses, Outputs, is_nest, metrics_of, names_in, several
from ..optimizers.find_optimizer import get as optimizer_of
from ..optimizers.loss_scale import LossScaleOptimizer


class Trainer:
    """The methods of a network that train it; part of :class:`Model`."""

    optimizer: Any = None
    dtype_policy: Any
    loss: Any = None
    history: History
    stop_training: bool = False
    _named_metrics: tuple[Sequence[Any], Sequence[Any]] = ((), ())
    _compiled_metrics: tuple[list[Metric], list[Metric]] | None = None
    _loss_tracker: Mean | None = None
    _run_eagerly = False
    _network: Any = None
    _outputs: Outputs
    trainable_variables: list[Any]
    losses: list[Any]
    built: bool
    has_call: bool
    __call__: Callable[..., Any]

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Any = None,
        weighted_metrics: Any = None,
        run_eagerly: bool = False,
        steps_per_execution: int = 1,
        jit_compile: Any = "auto",
        auto_scale_loss: bool = True,
        loss_weights: Any = None,
    ) -> None:
        """Say how the network is trained.

        Parameters
        ----------
        optimizer : Optimizer or str
        loss : Loss, function of labels and predictions, or str
            Where there are several outputs a list or dict of them, with one or None for each, or one for all.
        metrics : sequence of Metric, functions or str, optional
            Every example counts once. ``"accuracy"`` means the one that fits labels and predictions. Where there are
            several outputs a list or dict with those of each.
        weighted_metrics : sequence of Metric, functions or str, optional
            Examples count by their weights.
        run_eagerly : bool
            Do not compile the steps.
        auto_scale_loss : bool
            Scale the loss where the network's policy is ``"mixed_float16"``, see `optimizers.LossScaleOptimizer`.
        steps_per_execution, jit_compile
            Accepted for programs written for other libraries, and ignored: they change no result.
        loss_weights : sequence or dict of float, optional
            What the loss of each output is multiplied by before they are added up.
        """
        self.optimizer, self.loss = optimizer_of(optimizer), self._loss_of(loss, loss_weights)
        if auto_scale_loss and self.dtype_policy.name == "mixed_float16":
            self.optimizer = LossScaleOptimizer.around(self.optimizer)
        self._named_metrics, self._compiled_metrics = (several(metrics), several(weighted_metrics)), None
        self._loss_tracker, self._run_eagerly = Mean(name="loss"), bool(run_eagerly)
        self._steps: dict[Any, Callable[[Any], Any]] = {}

    def compile_config(self) -> dict[str, Any]:
        """The arguments of :meth:`compile` that say how it is trained now."""
        plain, weighted = self._named_metrics
        chosen = {"metrics": plain, "weighted_metrics": weighted, "run_eagerly": self._run_eagerly}
        if isinstance(self.loss, OutputLosses):
            chosen |= {"loss": self.loss.given, "loss_weights": self.loss.weights}
        return {"optimizer": self.optimizer, "loss": self.loss} | chosen

    def _loss_of(self, loss: Any, weights: Any) -> Any:
        """What is called with labels, predictions and weights."""
        names = names_in(self._network)
        self._outputs = Outputs(names)
        if weights is None and names is None and not is_nest(loss):
            return losses.get(loss)
        return (
            None
            if loss is None
            else OutputLosses(loss, weights, self._outputs, lambda given: as_loss(losses.get(given)))
        )

    def __getstate__(self) -> dict[str, Any]:
        """All but the compiled steps, which are made again."""
        state: Any = super().__getstate__()
        return {**state, "_steps": {}}

    @property
    def metrics(self) -> list[Metric]:
        """The mean of the loss, and the metrics that were asked for."""
        tracked = [] if self._loss_tracker is None else [self._loss_tracker]
        if isinstance(self.loss, OutputLosses):
            tracked += self.loss.trackers.values()
        plain, weighted = self._compiled_metrics or ((), ())
        return [*tracked, *plain, *weighted]

    @property
    def metrics_names(self) -> list[str]:
        """The names of :attr:`metrics`."""
        return [metric.name for metric in self.metrics]

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
        parts = list(self.losses)
        if self.loss is not None:
            parts.insert(0, self._asked_loss(y, y_pred, sample_weight))
        if not parts:
            raise ValueError(
                f"there is no loss: say which to compile(), or add_loss in a layer{at_user_line()}"
            )
        return sum(parts[1:], parts[0])

    def _asked_loss(self, y: Any, y_pred: Any, sample_weight: Any) -> Any:
        if y is None:
            raise ValueError(f"the loss is of labels and predictions, there are no labels{at_user_line()}")
        loss = self.loss if isinstance(self.loss, OutputLosses) else as_loss(self.loss)
        return loss(labels_as(y, y_pred), y_pred, sample_weight)

    def train_step(self, data: Any) -> dict[str, Any]:
        """One step on one batch; returns the metrics so far. Replace it to train in another way."""
        x, y, weight = unpack(data)
        tape = tf.GradientTape()
        with tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(x, y, y_pred, weight)
            scaled = self.optimizer.scale_loss(loss)
        variables = self.trainable_variables
        if variables:
            self.optimizer.apply_gradients(zip(tape.gradient(scaled, variables), variables, strict=True))
        else:
            tf.errors.warn("there are no trainable weights, so nothing is learnt", UserWarning)
        return self._noted(x, y, y_pred, weight, loss)

    def test_step(self, data: Any) -> dict[str, Any]:
        """Loss and metrics of one batch."""
        x, y, weight = unpack(data)
        y_pred = self(x, training=False)
        return self._noted(x, y, y_pred, weight, self.compute_loss(x, y, y_pred, weight, training=False))

    def predict_step(self, data: Any) -> Any:
        """The predictions for one batch."""
        return self(unpack(data)[0], training=False)

    def predict_on_batch(self, x: Any) -> Any:
        """The predictions for one batch of all these examples, as arrays."""
        data = feeding.one_batch(x, None, None)
        result = self._prepared("predict_step", data)(data)
        return tf.nest.map_structure(lambda t: t.numpy(), result, none_is_leaf=False)

    def compiled_loss(
        self, y_true: Any, y_pred: Any, sample_weight: Any = None, regularization_losses: Any = None
    ) -> Any:
        """The loss that was asked for, and the numbers `regularization_losses`; their mean is the metric ``loss``."""
        assert self._loss_tracker is not None
        loss = sum(regularization_losses or (), self._asked_loss(y_true, y_pred, sample_weight))
        self._loss_tracker.update_state(loss, sample_weight=feeding.rows_of(y_true))
        return loss

    @property
    def compiled_metrics(self) -> Metrics:
        """The metrics that were asked for, as one."""
        return Metrics(self)

    def _noted(self, x: Any, y: Any, y_pred: Any, weight: Any, loss: Any) -> dict[str, Any]:
        assert self._loss_tracker is not None
        self._loss_tracker.update_state(loss, sample_weight=feeding.rows_of(x))
        return self.compute_metrics(x, y, y_pred, weight)

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Any]:
        """Take a batch into account in the metrics that were asked for, and return all so far by name."""
        plain, weighted = self._compiled_metrics or ((), ())
        y = labels_as(y, y_pred)
        for metric in plain:
            metric.update_state(y, y_pred)
        for metric in weighted:
            metric.update_state(y, y_pred, sample_weight=sample_weight)
        return self.get_metrics_result()

    def get_metrics_result(self) -> dict[str, Any]:
        """The metrics so far, by name: a weighted one of the name of another is told from it by ``weighted_``."""
        so_far: dict[str, Any] = {}
        for metric in self.metrics:
            name = f"weighted_{metric.name}" if metric.name in so_far else metric.name
            so_far[name] = metric.result()
        return so_far

    def reset_metrics(self) -> None:
        """Forget what the metrics have seen."""
        for metric in self.metrics:
            metric.reset_state()

    def train_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """One step on one batch of all these examples; returns the loss, and with metrics a list."""
        return self._on_batch("train_step", x, y, sample_weight)

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Loss, and with metrics a list, of one batch of all these examples."""
        return self._on_batch("test_step", x, y, sample_weight)

    def _on_batch(self, step: str, x: Any, y: Any, weight: Any) -> Any:
        data = feeding.one_batch(x, y, weight)
        self.reset_metrics()
        return self._in_order(self._prepared(step, data)(data))

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
        validation_steps: int | None = None,
        class_weight: dict[int, float] | None = None,
        validation_batch_size: int | None = None,
        validation_freq: int = 1,
    ) -> History:
        """Train.

        Parameters
        ----------
        x, y : arrays, or nests of them
            Examples and labels; or `x` alone, a Dataset, or a ``keras.utils.PyDataset``, of batches ``(x, y)``.
        batch_size : int, optional
            Default 32.
        epochs : int
            How often all examples are seen.
        verbose : "auto", 0, 1 or 2
            0 prints nothing, 2 a line per epoch, 1 shows a bar on stderr too while the epoch runs. "auto" is 1 where
            somebody looks, at a terminal or in a notebook, else 2.
        callbacks : sequence, optional
            Objects with any of the methods of :class:`tracejit.callbacks.Callback`. One that sets
            ``model.stop_training`` ends the training after the batch.
        validation_split : float
            This part of the arrays, at their end, is kept out and evaluated after each epoch.
        validation_data : tuple (x, y) or (x, y, weights), or batches as for `x`, optional
            Evaluated after each epoch, under names with ``val_``.
        shuffle : bool
            Draw the order of arrays anew for each epoch.
        sample_weight : array, optional
            How much each example counts in the loss and in weighted metrics.
        initial_epoch : int
            The number of the first epoch, where training goes on.
        steps_per_epoch : int, optional
            How many batches an epoch has, where a Dataset has no end; one that ends is read again.
        validation_steps : int, optional
            How many batches of `validation_data` are evaluated, by default all.
        class_weight : dict, optional
            How much examples of each class count in the loss; labels are class numbers, or one-hot vectors.
        validation_batch_size : int, optional
            By default `batch_size`.
        validation_freq : int
            Validate after each so many epochs.

        Returns
        -------
        History

        Raises
        ------
        RuntimeError
            Before :meth:`compile`.
        ValueError
            When there is no batch, no loss, or a loss and no labels.

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
        if validation_split and validation_data is None:
            kept, validation_data = feeding.split(x, y, sample_weight, validation_split)
            x, y, sample_weight = unpack(kept)
        data = feeding.batches(x, y, sample_weight, batch_size, shuffle)
        if class_weight is not None:
            data = feeding.Weighted(data, class_weight)
        steps = feeding.count_of(data) if steps_per_epoch is None else steps_per_epoch
        endless = feeding.again(data)
        self.history, self.stop_training, logs = History(), False, dict[str, float]()
        listeners = CallbackList(callbacks, self, epochs=epochs, steps=steps, verbose=verbose)
        if any(isinstance(callback, ProgbarLogger) for callback in listeners.callbacks):
            verbose = 0
        listeners.append(self.history)
        listeners.tell("on_train_begin", {})
        for epoch in range(initial_epoch, epochs):
            listeners.tell("on_epoch_begin", epoch, {})
            now = data if steps_per_epoch is None else feeding.taken(endless, steps_per_epoch)
            report = Report(verbose, steps, f"Epoch {epoch + 1}/{epochs}" if epochs > 1 else "")
            logs = self._all("train", report.shown(now), listeners)
            if (epoch + 1) % validation_freq == 0:
                size = validation_batch_size or batch_size
                logs |= self._validation(validation_data, size, listeners, validation_steps)
            report.finish(logs)
            listeners.tell("on_epoch_end", epoch, logs)
            if self.stop_training:
                break
        if epochs > initial_epoch:
            self.optimizer.finalize_variable_values(self.trainable_variables)
        listeners.tell("on_train_end", logs)
        return self.history

    def _validation(
        self, data: Any, batch_size: int | None, listeners: CallbackList, steps: int | None
    ) -> dict[str, float]:
        if data is None:
            return {}
        x, y, weight = unpack(tuple(data)) if isinstance(data, (tuple, list)) else (data, None, None)
        batches = feeding.batches(x, y, weight, batch_size, False)
        logs = self._evaluated(batches if steps is None else feeding.taken(iter(batches), steps), listeners)
        return {f"val_{name}": number for name, number in logs.items()}

    def _evaluated(self, data: Iterable[Any], listeners: CallbackList) -> dict[str, float]:
        listeners.tell("on_test_begin", {})
        logs = self._all("test", data, listeners)
        listeners.tell("on_test_end", logs)
        return logs

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: int | None = None,
        verbose: Any = "auto",
        sample_weight: Any = None,
        return_dict: bool = False,
        callbacks: Sequence[Any] | None = None,
        steps: int | None = None,
    ) -> Any:
        """Loss and metrics over all examples, given as to :meth:`fit`, or over the first `steps` batches.

        Returns
        -------
        float, list of float or dict
            The loss; with metrics a list of loss and metrics in their order; by name with `return_dict`.

        Examples
        --------
        >>> import tracejit as tf
        >>> model = tf.Sequential([tf.layers.Dense(1, kernel_initializer="ones")])
        >>> model.compile(loss="mse", metrics=["mae"])
        >>> model.evaluate(tf.constant([[1.0], [2.0]]), tf.constant([[2.0], [5.0]]), verbose=0)
        [5.0, 2.0]
        """
        data = feeding.batches(x, y, sample_weight, batch_size, False)
        data = data if steps is None else feeding.taken(iter(data), steps)
        report = Report(verbose, feeding.count_of(data) if steps is None else steps)
        logs = self._evaluated(
            report.shown(data), CallbackList(callbacks, self, steps=report.steps, verbose=verbose)
        )
        report.finish(logs)
        return logs if return_dict else self._in_order(logs)

    def predict(
        self,
        x: Any,
        batch_size: int | None = None,
        verbose: Any = "auto",
        steps: int | None = None,
        callbacks: Sequence[Any] | None = None,
    ) -> Any:
        """The predictions for all examples, as arrays; for the first `steps` batches alone where these are given.

        Examples
        --------
        >>> import tracejit as tf
        >>> model = tf.Sequential([tf.layers.Dense(1, kernel_initializer="ones")])
        >>> model.predict(tf.constant([[1.0, 2.0], [3.0, 4.0]])).tolist()
        [[3.0], [7.0]]
        """
        data = feeding.batches(x, None, None, batch_size, False)
        data = data if steps is None else feeding.taken(iter(data), steps)
        listeners = CallbackList(callbacks, self, steps=steps, verbose=verbose)
        listeners.tell("on_predict_begin", {})
        parts = []
        for number, batch in enumerate(Report(verbose, feeding.count_of(data)).shown(data)):
            listeners.tell("on_predict_batch_begin", number, {})
            result = self._prepared("predict_step", batch)(batch)
            parts.append(tf.nest.map_structure(lambda t: t.numpy(), result, none_is_leaf=False))
            listeners.tell("on_predict_batch_end", number, {"outputs": parts[-1]})
        listeners.tell("on_predict_end", {})
        if not parts:
            raise ValueError(f"there is no batch of examples{at_user_line()}")
        return tf.nest.map_structure(lambda *rows: np.concatenate(rows), *parts, none_is_leaf=False)

    # ---- inside -----------------------------------------------------------------------------------------

    def _all(self, kind: str, data: Iterable[Any], listeners: CallbackList) -> dict[str, float]:
        """Run the step that trains or tests on all batches; the metrics, by sorted names as in Keras."""
        self.reset_metrics()
        logs, told = None, listeners.listens(f"on_{kind}_batch_end")
        for number, batch in enumerate(data):
            listeners.tell(f"on_{kind}_batch_begin", number, {})
            logs = self._prepared(f"{kind}_step", batch)(batch)
            if told:  # numbers as floats cost a wait for the step
                listeners.tell(f"on_{kind}_batch_end", number, _floats(logs))
            if self.stop_training and kind == "train":
                break
        if logs is None:
            raise ValueError(f"there is no batch of examples{at_user_line()}")
        return _floats(logs)

    def _in_order(self, logs: dict[str, Any]) -> Any:
        """The numbers in the order of the metrics, then the others by name; a single one alone."""
        names = dict.fromkeys([*(m.name for m in self.metrics if m.name in logs), *sorted(logs)])
        numbers = [float(logs[name]) for name in names]
        return numbers[0] if len(numbers) == 1 else numbers

    def _prepared(self, step: str, data: Any) -> Callable[[Any], Any]:
        """The compiled step, once all Variables exist."""
        if self.optimizer is None and step != "predict_step":
            raise RuntimeError(f"say how to train first: compile(optimizer, loss){at_user_line()}")
        x, y, _ = unpack(data)
        if not self.built and self.has_call:
            self(x, training=False)
        if self._compiled_metrics is None and step != "predict_step":
            self._compile_metrics(x, y)
        method = getattr(self, step)
        if self._run_eagerly:
            return method
        steps, variables = self.__dict__.setdefault("_steps", {}), self.trainable_variables
        key = (step, tuple(v.handle.serial for v in variables))
        if key not in steps:
            if step == "train_step":
                self.optimizer.build(variables)
            steps[key] = tf.function(method)
        return steps[key]

    def _compile_metrics(self, x: Any, y: Any) -> None:
        """Make the metrics that names mean for data like this."""
        plain, weighted = self._named_metrics
        several = isinstance(self.loss, OutputLosses)
        y_pred = self(x, training=False) if plain or weighted or several else None
        if several:
            self.loss.build(y_pred)

        def made(m: Any, y: Any = y, y_pred: Any = y_pred) -> Metric:
            return metrics.accuracy_for(m, y, y_pred) if m in ("accuracy", "acc") else metrics.get(m)

        if is_nest(y_pred):
            both = [metrics_of(given, y, y_pred, self._outputs, made) for given in (plain, weighted)]
            self._compiled_metrics = both[0], both[1]
        else:
            self._compiled_metrics = [made(m) for m in plain], [made(m) for m in weighted]


def _floats(logs: dict[str, Any]) -> dict[str, float]:
    return {name: float(logs[name]) for name in sorted(logs)}
