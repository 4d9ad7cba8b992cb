"""Callbacks that change the learning rate."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from ..errors import at_user_line
from .callback import Callback
from .monitoring import Monitoring


class LearningRateScheduler(Callback):
    """Set the learning rate before each epoch.

    Parameters
    ----------
    schedule : callable
        Of the epoch's number and the rate so far, or of the number alone; gives a float.
    verbose : int
        1 prints the rate.

    Raises
    ------
    TypeError
        When `schedule` gives no number.

    Examples
    --------
    >>> import tracejit as tf
    >>> model = tf.Sequential([tf.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> slower = tf.callbacks.LearningRateScheduler(lambda epoch, rate: 0.1 / (epoch + 1))
    >>> _ = model.fit([[1.0]], [[1.0]], epochs=2, verbose=0, callbacks=[slower])
    >>> print(float(model.optimizer.learning_rate))
    0.05000000074505806
    """

    schedule: Callable[..., float]
    verbose: int

    def __init__(self, schedule: Callable[..., float], verbose: int = 0):
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Set the rate for `epoch`; `logs` is not looked at. TypeError when the schedule gives no number."""
        before = float(self.model.optimizer.learning_rate)
        try:
            rate = self.schedule(epoch, before)
        except TypeError:  # a schedule of the epoch alone
            rate = self.schedule(epoch)
        try:
            self.model.optimizer.learning_rate = float(rate)
        except (TypeError, ValueError):
            raise TypeError(f"a schedule gives a number, got {rate!r}{at_user_line()}") from None
        if self.verbose:
            print(
                f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {rate}.",
                file=sys.stdout,
            )

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Note the rate of `epoch` in `logs`."""
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)


class ReduceLROnPlateau(Monitoring):
    """Lower the learning rate when a number has stopped improving.

    Parameters
    ----------
    monitor : str
        The number's name in the logs.
    factor : float
        What the rate is multiplied by, less than 1.
    patience : int
        So many epochs without improvement are put up with.
    verbose : int
        1 prints the rate.
    mode : {"auto", "min", "max"}
    min_delta : float
        Less than this is no improvement.
    cooldown : int
        Epochs after a change that do not count.
    min_lr : float
        The rate does not become less.

    Examples
    --------
    >>> import tracejit as tf
    >>> slower = tf.callbacks.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=3)
    >>> slower.factor, slower.patience
    (0.5, 3)
    """

    factor: float
    patience: int
    verbose: int
    cooldown: int
    min_lr: float
    best: float
    cooldown_counter: int
    wait: int

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0.0,
    ):
        super().__init__(monitor, mode, min_delta)
        if factor >= 1.0:
            raise ValueError(f"factor is less than 1, got {factor}{at_user_line()}")
        self.factor, self.patience, self.verbose = factor, patience, verbose
        self.cooldown, self.min_lr = cooldown, min_lr
        self.wait = self.cooldown_counter = 0

    def on_train_begin(self, logs: Any = None) -> None:
        """Forget an earlier training; `logs` is not looked at."""
        self.best = -math.inf if self.mode == "max" else math.inf
        self.wait = self.cooldown_counter = 0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Look at the number in `logs`, and lower the rate after `epoch` if it is time."""
        optimizer = self.model.optimizer
        before = float(optimizer.learning_rate)
        if logs is not None:
            logs["learning_rate"] = before
        if (now := self._seen(logs)) is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.wait = self.cooldown_counter - 1, 0
        if self._improved(now, self.best):
            self.best, self.wait = now, 0
        elif self.cooldown_counter == 0:
            self.wait += 1
            if self.wait >= self.patience and before > self.min_lr:
                optimizer.learning_rate = max(before * self.factor, self.min_lr)
                self.cooldown_counter, self.wait = self.cooldown, 0
                if self.verbose:
                    print(
                        f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing learning rate to "
                        f"{float(optimizer.learning_rate)}.",
                        file=sys.stdout,
                    )
