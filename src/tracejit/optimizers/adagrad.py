"""Adagrad: steps divided by the root of the sum of all squared gradients so far.

Source: Duchi, Hazan, Singer, "Adaptive subgradient methods", 2011.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from .optimizer import Optimizer, State


class Adagrad(Optimizer):
    """Adaptive gradients.

    Parameters
    ----------
    learning_rate : float or schedule
    initial_accumulator_value : float
        What the sum of squares starts with; not negative.
    epsilon : float
        Added under the root.
    name, weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema, ema_momentum, ema_overwrite_frequency
        As for :class:`Optimizer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> tf.optimizers.Adagrad(0.5, initial_accumulator_value=0.0).minimize(lambda: v**2, [v])
    >>> print(f"{v.numpy():.4f}")
    0.5000
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        name: str | None = None,
        **options: Any,
    ):
        super().__init__(learning_rate, name, **options)
        if initial_accumulator_value < 0.0:
            raise ValueError(
                f"initial_accumulator_value is not negative, got {initial_accumulator_value}{at_user_line()}"
            )
        self.initial_accumulator_value = initial_accumulator_value
        self.epsilon = epsilon

    def state(self) -> Mapping[str, float]:
        return {"accumulator": self.initial_accumulator_value}

    def update(self, value: Any, gradient: Any, state: State, rate: Any, step: Any) -> tuple[Any, State]:
        total = state["accumulator"] + tf.square(gradient)
        return value - rate * gradient / tf.sqrt(total + self.epsilon), {"accumulator": total}
