"""Callbacks that tell how a training goes: to a file, to the terminal; and one that ends it where it went wrong."""

from __future__ import annotations

import csv
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from .. import errors
from ..inspect.progress import counted, level_of
from .callback import Callback


class TerminateOnNaN(Callback):
    """End the training when the loss of a batch is no number or infinite.

    Examples
    --------
    >>> import tracejit as tf
    >>> model = tf.Sequential([tf.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> stop = tf.callbacks.TerminateOnNaN()
    >>> print(len(model.fit([[float("nan")]], [[1.0]], epochs=3, verbose=0, callbacks=[stop]).epoch))
    Batch 0: Invalid loss, terminating training
    1
    """

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Look at the loss in `logs` after `batch`."""
        if not math.isfinite((logs or {}).get("loss", 0.0)):
            print(f"Batch {batch}: Invalid loss, terminating training", file=sys.stdout)
            self.model.stop_training = True


class CSVLogger(Callback):
    """Write the numbers of each epoch as a line of a file.

    Parameters
    ----------
    filename : path
    separator : str
        Between the numbers of a line.
    append : bool
        Go on with a file that is there; else write it anew.

    Examples
    --------
    >>> import tempfile
    >>> import tracejit as tf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     logger = tf.callbacks.CSVLogger(f"{folder}/log.csv")
    ...     logger.on_epoch_end(0, {"loss": 0.5})
    ...     logger.on_train_end()
    ...     print(open(f"{folder}/log.csv").read().split())
    ['epoch,loss', '0,0.5']
    """

    append: bool
    filename: str | os.PathLike[str]
    separator: str

    def __init__(self, filename: str | os.PathLike[str], separator: str = ",", append: bool = False):
        self.filename, self.separator, self.append = filename, separator, append
        self._file: TextIO | None = None
        self._names: list[str] | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Open the file; `logs` is not looked at."""
        going_on = self.append and os.path.exists(self.filename) and os.path.getsize(self.filename) > 0
        self._file = open(self.filename, "a" if self.append else "w", newline="", encoding="utf-8")
        self._names = [] if going_on else None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Write the line of `epoch`, the numbers of `logs` by name."""
        if self._file is None:
            self.on_train_begin()
        assert self._file is not None
        logs, names = logs or {}, sorted(logs or {})
        writer = csv.writer(self._file, delimiter=self.separator)
        if self._names is None:
            writer.writerow(["epoch", *names])
        self._names = self._names or names
        writer.writerow([epoch, *(logs.get(name, "NA") for name in self._names)])
        self._file.flush()

    def on_train_end(self, logs: Any = None) -> None:
        """Close the file; `logs` is not looked at."""
        if self._file is not None:
            self._file.close()
            self._file = None


class ProgbarLogger(Callback):
    """Print a line when one of several epochs begins, and its numbers when it ends; so does `fit` unless ``verbose=0``.

    Examples
    --------
    >>> import tracejit as tf
    >>> told = tf.callbacks.ProgbarLogger()
    >>> told.set_params({"epochs": 2})
    >>> told.on_epoch_begin(0)
    Epoch 1/2
    """

    started: float
    count: int

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Print which `epoch` begins; `logs` is not looked at."""
        self.count, self.started = 0, time.perf_counter()
        epochs = (self.params or {}).get("epochs", "?")
        if epochs != 1:
            print(f"Epoch {epoch + 1}/{epochs}", file=sys.stdout)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Count `batch`; `logs` is not looked at."""
        self.count = batch + 1

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Print the numbers of `epoch`, `logs`."""
        print(line_of(self.count, time.perf_counter() - self.started, logs or {}), file=sys.stdout)


class TensorBoard(Callback):
    """Writes nothing into `log_dir`, and warns that it does not: logs for TensorBoard are out of scope.

    Other arguments are accepted too. :class:`CSVLogger` and :class:`History` keep numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.callbacks.TensorBoard("logs", histogram_freq=1).log_dir
    'logs'
    """

    def __init__(self, log_dir: Any = "logs", *args: Any, **kwargs: Any):
        super().__init__()
        self.log_dir = log_dir

    def on_train_begin(self, logs: Any = None) -> None:
        """Warn; `logs` is not looked at."""
        errors.warn(
            "callbacks.TensorBoard writes nothing: keep numbers by callbacks.CSVLogger, or in History",
            UserWarning,
        )


class Report:
    """What is shown of a pass over batches: a bar while it runs, a line when it is over."""

    def __init__(self, verbose: Any, steps: int | None, title: str = ""):
        self.level = level_of(verbose)
        self.steps = steps
        self.title = title
        self.count = 0
        self.started = time.perf_counter()
        if self.level and title:
            print(title, file=sys.stdout)

    def shown(self, data: Iterable[Any]) -> Iterator[Any]:
        """The batches, counted."""
        for batch in counted(data, self.steps) if self.level == 1 else data:
            self.count += 1
            yield batch

    def finish(self, logs: dict[str, float]) -> None:
        """Print the line."""
        if self.level:
            print(line_of(self.count, time.perf_counter() - self.started, logs), file=sys.stdout)


def line_of(count: int, seconds: float, logs: dict[str, float]) -> str:
    """What is said of `count` batches that took so many `seconds`, with the numbers `logs`."""
    shown = " - ".join(f"{name}: {number:.4f}" for name, number in logs.items())
    return f"{count}/{count} - {seconds:.0f}s - {1000 * seconds / max(count, 1):.0f}ms/step - {shown}"
