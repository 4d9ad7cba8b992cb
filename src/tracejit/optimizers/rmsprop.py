"""RMSprop: steps divided by the root of a running mean of squared gradients.

Source: Hinton, "Neural networks for machine learning", lecture 6, 2012; centred as in Graves, "Generating sequences
with recurrent neural networks", 2013.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tracejit as tf

from .optimizer import Optimizer, State


class RMSprop(Optimizer):
    """Root mean square propagation.

    Parameters
    ----------
    learning_rate : float or schedule
    rho : float
        How much of the running mean of squares is kept at each step.
    momentum : float
        How much of the last step is made again.
    epsilon : float
        Added under the root.
    centered : bool
        Divide by the variance instead: subtract the square of a running mean of the gradient.
    name, weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema, ema_momentum, ema_overwrite_frequency
        As for :class:`Optimizer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> tf.optimizers.RMSprop(0.5, rho=0.75).minimize(lambda: v**2, [v])
    >>> print(f"{v.numpy():.4f}")
    0.0000
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        name: str | None = None,
        **options: Any,
    ):
        super().__init__(learning_rate, name, **options)
        self.rho = rho
        self.momentum = momentum
        self.epsilon = epsilon
        self.centered = centered

    def state(self) -> Mapping[str, float]:
        kept = {"velocity": True, "momentum": self.momentum > 0, "average_gradient": self.centered}
        return {key: 0.0 for key, needed in kept.items() if needed}

    def update(self, value: Any, gradient: Any, state: State, rate: Any, step: Any) -> tuple[Any, State]:
        rho = self.rho
        v = rho * state["velocity"] + (1.0 - rho) * tf.square(gradient)
        new, spread = {"velocity": v}, v
        if self.centered:
            mean = new["average_gradient"] = rho * state["average_gradient"] + (1.0 - rho) * gradient
            spread = v - tf.square(mean)
        down = rate * gradient / tf.sqrt(spread + self.epsilon)
        if self.momentum > 0:
            down = new["momentum"] = self.momentum * state["momentum"] + down
        return value - down, new
