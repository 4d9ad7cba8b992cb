"""Relatives of Adam: by the largest gradient, with Nesterov's look ahead, by signs alone.

Sources: Kingma, Ba, "Adam", 2014, section 7.1 (Adamax); Dozat, "Incorporating Nesterov momentum into Adam", 2016
(Nadam); Chen et al., "Symbolic discovery of optimization algorithms", 2023 (Lion).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tracejit as tf

from .adam import check_betas
from .optimizer import Optimizer, State


class _TwoMeans(Optimizer):
    """With Adam's arguments, but for `amsgrad`."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        name: str | None = None,
        **options: Any,
    ):
        super().__init__(learning_rate, name, **options)
        check_betas(beta_1, beta_2)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon


class Adamax(_TwoMeans):
    """Adam with the largest recent gradient in place of the mean square.

    Parameters
    ----------
    learning_rate, beta_1, beta_2, epsilon
        As for :class:`Adam`.
    name, weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema, ema_momentum, ema_overwrite_frequency
        As for :class:`Optimizer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> tf.optimizers.Adamax(0.25).minimize(lambda: v**2, [v])
    >>> print(f"{v.numpy():.4f}")
    0.7500
    """

    def state(self) -> Mapping[str, float]:
        return {"momentum": 0.0, "largest": 0.0}

    def update(self, value: Any, gradient: Any, state: State, rate: Any, step: Any) -> tuple[Any, State]:
        m = state["momentum"] + (gradient - state["momentum"]) * (1.0 - self.beta_1)
        u: Any = tf.maximum(self.beta_2 * state["largest"], tf.abs(gradient))
        bias = 1.0 - tf.pow(self.beta_1, step)
        return value - rate * m / (bias * (u + self.epsilon)), {"momentum": m, "largest": u}


class Nadam(_TwoMeans):
    """Adam that looks one step of the momentum ahead.

    Parameters
    ----------
    learning_rate, beta_1, beta_2, epsilon
        As for :class:`Adam`.
    name, weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema, ema_momentum, ema_overwrite_frequency
        As for :class:`Optimizer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> tf.optimizers.Nadam(0.25).minimize(lambda: v**2, [v])
    >>> print(f"{v.numpy():.4f}")
    0.7343
    """

    def state(self) -> Mapping[str, float]:
        return {"momentum": 0.0, "velocity": 0.0, "product": 1.0}

    def update(self, value: Any, gradient: Any, state: State, rate: Any, step: Any) -> tuple[Any, State]:
        now, ahead = (
            self.beta_1 * (1.0 - 0.5 * tf.pow(0.96, number)) for number in (step, tf.add(step, 1.0))
        )
        product = state["product"] * now
        m = state["momentum"] + (gradient - state["momentum"]) * (1.0 - self.beta_1)
        v = state["velocity"] + (tf.square(gradient) - state["velocity"]) * (1.0 - self.beta_2)
        mean = ahead * m / (1.0 - product * ahead) + (1.0 - now) * gradient / (1.0 - product)
        square = v / (1.0 - tf.pow(self.beta_2, step))
        new = {"momentum": m, "velocity": v, "product": product}
        return value - mean * rate / (tf.sqrt(square) + self.epsilon), new


class Lion(Optimizer):
    """Steps by the sign of a running mean of the gradient.

    Parameters
    ----------
    learning_rate : float or schedule
    beta_1, beta_2 : float
        How much of the mean goes into a step, and how much of it is kept.
    name, weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema, ema_momentum, ema_overwrite_frequency
        As for :class:`Optimizer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> tf.optimizers.Lion(0.25).minimize(lambda: v**2, [v])
    >>> v.numpy()
    np.float32(0.75)
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.99,
        name: str | None = None,
        **options: Any,
    ):
        super().__init__(learning_rate, name, **options)
        check_betas(beta_1, beta_2)
        self.beta_1 = beta_1
        self.beta_2 = beta_2

    def state(self) -> Mapping[str, float]:
        return {"momentum": 0.0}

    def update(self, value: Any, gradient: Any, state: State, rate: Any, step: Any) -> tuple[Any, State]:
        m = state["momentum"]
        way = tf.sign(m * self.beta_1 + gradient * (1.0 - self.beta_1))
        return value - rate * way, {"momentum": m * self.beta_2 + gradient * (1.0 - self.beta_2)}
