"""Gradient descent, with momentum as Polyak or as Nesterov has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from .optimizer import Optimizer, State


class SGD(Optimizer):
    """``w = w - learning_rate * g``; with momentum ``v = momentum * v - learning_rate * g`` and ``w = w + v``.

    Parameters
    ----------
    learning_rate : float or schedule
    momentum : float
        In [0, 1].
    nesterov : bool
        Look ahead: ``w = w + momentum * v - learning_rate * g``, with the new ``v``.
    name, weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema, ema_momentum, ema_overwrite_frequency
        As for :class:`Optimizer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> optimizer = tf.optimizers.SGD(0.5, momentum=0.5)
    >>> for _ in range(2):
    ...     optimizer.apply_gradients([(tf.constant(1.0), v)])
    >>> v.numpy()
    np.float32(-0.25)
    """

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        name: str | None = None,
        **options: Any,
    ):
        super().__init__(learning_rate, name, **options)
        if not 0.0 <= momentum <= 1.0:
            raise ValueError(f"momentum is in [0, 1], got {momentum}{at_user_line()}")
        self.momentum = momentum
        self.nesterov = nesterov

    def state(self) -> Mapping[str, float]:
        return {"momentum": 0.0} if self.momentum else {}

    def rows_of_step(self, gradient: tf.IndexedSlices, rate: Any) -> tf.IndexedSlices | None:
        return None if self.momentum else gradient * rate

    def update(self, value: Any, gradient: Any, state: State, rate: Any, step: Any) -> tuple[Any, State]:
        down = gradient * rate
        if not self.momentum:
            return value - down, {}
        v = state["momentum"] * self.momentum - down
        return value + (v * self.momentum - down if self.nesterov else v), {"momentum": v}
