"""Ftrl: follow the regularized leader, which keeps weights at 0 that the gradients give no reason to move.

Source: McMahan et al., "Ad click prediction: a view from the trenches", 2013; the shrinkage is that of Keras.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from .optimizer import Optimizer, State


class Ftrl(Optimizer):
    """Follow the regularized leader.

    Parameters
    ----------
    learning_rate : float or schedule
    learning_rate_power : float
        How steps shrink with the sum of squared gradients; at most 0, and 0 for a fixed rate.
    initial_accumulator_value : float
        What the sum of squares starts with; not negative.
    l1_regularization_strength, l2_regularization_strength : float
        Not negative. The first makes weights 0.
    name : str, optional
    l2_shrinkage_regularization_strength : float
        Not negative; added to gradients, twice the weight times this, where it does not count as their size.
    beta : float
        Added to what steps are divided by.
    weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema, ema_momentum, ema_overwrite_frequency
        As for :class:`Optimizer`.

    Raises
    ------
    ValueError
        For a positive `learning_rate_power`, and where another number is negative.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> tf.optimizers.Ftrl(0.5).minimize(lambda: v**2, [v])
    >>> print(f"{v.numpy():.4f}")
    0.3500
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        **options: Any,
    ):
        super().__init__(learning_rate, name, **options)
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power is at most 0, got {learning_rate_power}{at_user_line()}")
        self.learning_rate_power = learning_rate_power
        self.initial_accumulator_value = initial_accumulator_value
        self.l1_regularization_strength = l1_regularization_strength
        self.l2_regularization_strength = l2_regularization_strength
        self.l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self.beta = beta
        for key in ("initial_accumulator_value", *(f"{k}_regularization_strength" for k in _PENALTIES)):
            if getattr(self, key) < 0.0:
                raise ValueError(f"{key} is not negative, got {getattr(self, key)}{at_user_line()}")

    def state(self) -> Mapping[str, float]:
        return {"accumulator": self.initial_accumulator_value, "linear": 0.0}

    def update(self, value: Any, gradient: Any, state: State, rate: Any, step: Any) -> tuple[Any, State]:
        total: Any = state["accumulator"] + tf.square(gradient)
        grown = tf.pow(total, -self.learning_rate_power)
        before = tf.pow(state["accumulator"], -self.learning_rate_power)
        shrunk = gradient + 2.0 * self.l2_shrinkage_regularization_strength * value
        linear: Any = state["linear"] + shrunk - (grown - before) / rate * value
        quadratic = grown / rate + 2.0 * (self.l2_regularization_strength + self.beta / (2.0 * rate))
        bound = self.l1_regularization_strength
        moved = (tf.clip_by_value(linear, -bound, bound) - linear) / quadratic
        return moved, {"accumulator": total, "linear": linear}


_PENALTIES = ("l1", "l2", "l2_shrinkage")
