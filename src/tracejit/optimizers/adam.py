"""Adam: steps scaled by running means of gradients and of their squares.

Sources: Kingma, Ba, "Adam", 2014 (in the form before section 2.1, as the field implements it); Reddi, Kale, Kumar,
"On the convergence of Adam and beyond", 2018; Loshchilov, Hutter, "Decoupled weight decay regularization", 2017.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from .optimizer import Optimizer, State


def check_betas(beta_1: float, beta_2: float) -> None:
    """ValueError unless both are rates of running means."""
    for key, beta in (("beta_1", beta_1), ("beta_2", beta_2)):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"{key} is in [0, 1), got {beta}{at_user_line()}")


class Adam(Optimizer):
    """Adaptive moments.

    Parameters
    ----------
    learning_rate : float or schedule
    beta_1, beta_2 : float
        How much of the running means of gradients, and of their squares, is kept at each step.
    epsilon : float
        Added to the root of the mean square.
    amsgrad : bool
        Divide by the largest mean square so far.
    name, weight_decay, clipnorm, clipvalue, global_clipnorm, use_ema, ema_momentum, ema_overwrite_frequency
        As for :class:`Optimizer`.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> tf.optimizers.Adam(0.25).minimize(lambda: v**2, [v])
    >>> print(f"{v.numpy():.4f}")
    0.7500
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        name: str | None = None,
        **options: Any,
    ):
        super().__init__(learning_rate, name, **options)
        check_betas(beta_1, beta_2)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.amsgrad = amsgrad

    def state(self) -> Mapping[str, float]:
        return {"momentum": 0.0, "velocity": 0.0, **({"velocity_hat": 0.0} if self.amsgrad else {})}

    def update(self, value: Any, gradient: Any, state: State, rate: Any, step: Any) -> tuple[Any, State]:
        bias_1, bias_2 = (1.0 - tf.pow(beta, step) for beta in (self.beta_1, self.beta_2))
        m = state["momentum"] + (gradient - state["momentum"]) * (1.0 - self.beta_1)
        v = state["velocity"] + (tf.square(gradient) - state["velocity"]) * (1.0 - self.beta_2)
        new = {"momentum": m, "velocity": v}
        if self.amsgrad:
            v = new["velocity_hat"] = tf.maximum(state["velocity_hat"], v)
        return value - m * (rate * tf.sqrt(bias_2) / bias_1) / (tf.sqrt(v) + self.epsilon), new


class AdamW(Adam):
    """Adam with decay of weights on by default, 0.004 times the learning rate per step.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> tf.optimizers.AdamW(0.25, weight_decay=0.5).apply_gradients([(tf.constant(0.0), v)])
    >>> v.numpy()
    np.float32(0.875)
    """

    def __init__(self, learning_rate: Any = 0.001, weight_decay: float | None = 0.004, **options: Any):
        super().__init__(learning_rate, weight_decay=weight_decay, **options)
