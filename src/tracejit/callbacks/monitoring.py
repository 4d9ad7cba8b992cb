"""Callbacks that watch one number: when it stops improving, training ends; when it improves, the network is saved."""

from __future__ import annotations

import math
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from ..errors import at_user_line
from .callback import Callback

#: What grows as a network gets better; other numbers, losses among them, shrink.
_GROWING = ("acc", "auc", "precision", "recall", "f1", "fbeta", "top_k", "iou", "r2", "cosine", "fmeasure")


class Monitoring(Callback):
    """What callbacks that watch one number share: which, and whether it has improved."""

    monitor: str

    def __init__(self, monitor: str, mode: str, min_delta: float = 0.0):
        if mode not in ("auto", "min", "max"):
            raise ValueError(f"mode is 'auto', 'min' or 'max', got {mode!r}{at_user_line()}")
        grows = mode == "max" or (mode == "auto" and any(word in monitor for word in _GROWING))
        self.monitor, self.mode = monitor, "max" if grows else "min"
        self.min_delta: float = abs(min_delta)
        self.best: float = -math.inf if grows else math.inf

    def _improved(self, now: float, before: float) -> bool:
        return (now - before if self.mode == "max" else before - now) > self.min_delta

    def _seen(self, logs: Any) -> float | None:
        number = (logs or {}).get(self.monitor)
        if number is None:
            known = ", ".join(sorted(logs or {})) or "none"
            warnings.warn(
                f"{type(self).__name__} watches {self.monitor!r}, which is not among the numbers: {known}",
                stacklevel=2,
            )
        return number


class EarlyStopping(Monitoring):
    """End the training when a number has stopped improving.

    Parameters
    ----------
    monitor : str
        The number's name in the logs.
    min_delta : float
        Less than this is no improvement.
    patience : int
        So many epochs without improvement are put up with.
    verbose : int
        1 prints when the training ends.
    mode : {"auto", "min", "max"}
        Which way is better; by default accuracies and the like grow, others shrink.
    baseline : float, optional
        An improvement must be one over this number too.
    restore_best_weights : bool
        In the end, give the network the weights of its best epoch.
    start_from_epoch : int
        The epochs before are not looked at.

    Attributes
    ----------
    stopped_epoch, best_epoch : int
        Where the training ended, 0 if it did not end early; and its best epoch.

    Examples
    --------
    >>> import tracejit as tf
    >>> model = tf.Sequential([tf.layers.Dense(1)])
    >>> model.compile(tf.optimizers.SGD(0.0), "mse")
    >>> stop = tf.keras.callbacks.EarlyStopping(monitor="loss", patience=2)
    >>> history = model.fit(tf.ones((4, 2)), tf.ones((4, 1)), epochs=9, verbose=0, callbacks=[stop])
    >>> history.epoch, stop.best_epoch
    ([0, 1, 2], 0)
    """

    baseline: float | None
    patience: int
    verbose: int
    restore_best_weights: bool
    start_from_epoch: int
    best: float
    best_epoch: int
    wait: int
    stopped_epoch: int

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
        start_from_epoch: int = 0,
    ):
        super().__init__(monitor, mode, min_delta)
        self.patience, self.verbose, self.baseline = patience, verbose, baseline
        self.restore_best_weights, self.start_from_epoch = restore_best_weights, start_from_epoch
        self._forget()

    def _forget(self) -> None:
        self.best = -math.inf if self.mode == "max" else math.inf
        self.wait = self.stopped_epoch = self.best_epoch = 0
        self.best_weights: Any = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Forget an earlier training; `logs` is not looked at."""
        self._forget()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Look at the number in `logs`, and end the training after `epoch` if it is time."""
        if epoch < self.start_from_epoch or (now := self._seen(logs)) is None:
            return
        if self.restore_best_weights and self.best_weights is None:
            self.best_weights, self.best_epoch = self.model.get_weights(), epoch
        self.wait += 1
        if self._improved(now, self.best):
            self.best, self.best_epoch = now, epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            if self.baseline is None or self._improved(now, self.baseline):
                self.wait = 0
        elif self.wait >= self.patience and epoch > 0:
            self.stopped_epoch, self.model.stop_training = epoch, True

    def on_train_end(self, logs: Any = None) -> None:
        """Give back the best weights, if asked to; `logs` is not looked at."""
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch + 1}: early stopping", file=sys.stdout)
        if self.restore_best_weights and self.best_weights is not None:
            if self.verbose:
                print(
                    f"Restoring model weights from the end of the best epoch: {self.best_epoch + 1}.",
                    file=sys.stdout,
                )
            self.model.set_weights(self.best_weights)


class ModelCheckpoint(Monitoring):
    """Save the network, or its weights, after each epoch or each so many batches.

    Parameters
    ----------
    filepath : path
        May hold names in braces, ``"{epoch:02d}-{val_loss:.2f}.weights"``: the epoch, counted from 1, and numbers.
    monitor : str
        The number's name in the logs.
    verbose : int
        1 prints what is saved.
    save_best_only : bool
        Only when the number is better than ever before; ``"{epoch}"`` and the like are then better left out.
    save_weights_only : bool
        By :meth:`Model.save_weights`, for :meth:`Model.load_weights`; by default the whole network, by
        :meth:`Model.save`, for :func:`tracejit.keras.models.load_model`.
    mode : {"auto", "min", "max"}
    save_freq : "epoch" or int
        A number of batches.
    initial_value_threshold : float, optional
        With `save_best_only`, what the number has to be better than at first.

    Raises
    ------
    KeyError
        When the path asks for a number that is not in the logs.
    NotDescribed
        When the network cannot be written down as data; its weights alone can.

    Examples
    --------
    >>> import tracejit as tf
    >>> kept = tf.callbacks.ModelCheckpoint("best.model", monitor="val_loss", save_best_only=True)
    >>> kept.filepath, kept.monitor
    ('best.model', 'val_loss')
    """

    filepath: str
    verbose: int
    save_best_only: bool
    save_weights_only: bool
    best: float

    def __init__(
        self,
        filepath: str | os.PathLike[str],
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: Any = "epoch",
        initial_value_threshold: float | None = None,
    ):
        super().__init__(monitor, mode)
        if save_freq != "epoch" and not (isinstance(save_freq, int) and save_freq > 0):
            raise ValueError(
                f"save_freq is 'epoch' or a number of batches, got {save_freq!r}{at_user_line()}"
            )
        self.filepath, self.verbose, self.save_freq = os.fspath(filepath), verbose, save_freq
        self.save_best_only, self.save_weights_only = save_best_only, save_weights_only
        if initial_value_threshold is not None:
            self.best = initial_value_threshold
        self._epoch = self._batches = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Remember `epoch`; `logs` is not looked at."""
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Save after `batch`, if it is time, under the numbers of `logs`."""
        self._batches += 1
        if self.save_freq != "epoch" and self._batches % self.save_freq == 0:
            self._save(logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Save after `epoch`, if asked to, under the numbers of `logs`."""
        if self.save_freq == "epoch":
            self._save(logs)

    def _save(self, logs: Any) -> None:
        path, shown = self._path(logs or {}), f"\nEpoch {self._epoch + 1}: "
        if self.save_best_only:
            if (now := self._seen(logs)) is None:
                return
            before, better = self.best, self._improved(now, self.best)
            if not better:
                self._say(f"{shown}{self.monitor} did not improve from {before:.5f}")
                return
            self.best = now
            shown += f"{self.monitor} improved from {before:.5f} to {now:.5f}, "
        self._say(f"{shown}saving model to {path}")
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write = self.model.save_weights if self.save_weights_only else self.model.save
        write(path)

    def _path(self, logs: Any) -> str:
        try:
            return self.filepath.format(epoch=self._epoch + 1, **logs)
        except KeyError as missing:
            raise KeyError(
                f"{self.filepath!r} asks for {missing}, the numbers are {', '.join(sorted(logs))}{at_user_line()}"
            ) from None

    def _say(self, text: str) -> None:
        if self.verbose:
            print(text, file=sys.stdout)
