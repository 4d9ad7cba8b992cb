"""Adadelta: steps as long as recent steps were, over how large recent gradients were.

Source: Zeiler, "ADADELTA: an adaptive learning rate method", 2012.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tracejit as tf

from .optimizer import Optimizer, State


class Adadelta(Optimizer):
    """Adaptive steps from running means of squared gradients and of squared steps.

    Parameters
    ----------
    learning_rate : float or schedule
        1.0 is the method as published.
    rho : float
        How much of the running means is kept at each step.
    epsilon : float
        Added under the roots.
    name, weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema, ema_momentum, ema_overwrite_frequency
        As for :class:`Optimizer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> tf.optimizers.Adadelta(1.0, rho=0.75, epsilon=0.25).minimize(lambda: 0.5 * v**2, [v])
    >>> print(f"{v.numpy():.4f}")
    0.2929
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.95,
        epsilon: float = 1e-7,
        name: str | None = None,
        **options: Any,
    ):
        super().__init__(learning_rate, name, **options)
        self.rho = rho
        self.epsilon = epsilon

    def state(self) -> Mapping[str, float]:
        return {"accumulated_gradient": 0.0, "accumulated_step": 0.0}

    def update(self, value: Any, gradient: Any, state: State, rate: Any, step: Any) -> tuple[Any, State]:
        rho = self.rho
        g = rho * state["accumulated_gradient"] + (1.0 - rho) * tf.square(gradient)
        ratio = tf.sqrt(state["accumulated_step"] + self.epsilon) / tf.sqrt(g + self.epsilon)
        down: Any = ratio * gradient
        s = rho * state["accumulated_step"] + (1.0 - rho) * tf.square(down)
        return value - rate * down, {"accumulated_gradient": g, "accumulated_step": s}
