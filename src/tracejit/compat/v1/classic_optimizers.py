"""Optimizers as programs of 2018 call them: by longer names, with other defaults, counting their steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import tracejit as tf

from ...errors import at_user_line
from ...optimizers.adadelta import Adadelta
from ...optimizers.adagrad import Adagrad
from ...optimizers.adam import Adam
from ...optimizers.optimizer import Optimizer
from ...optimizers.rmsprop import RMSprop
from ...optimizers.sgd import SGD


class _CountingSteps(Optimizer):
    """An optimizer whose steps may be counted by a Variable of the caller's; `use_locking` is accepted."""

    def apply_gradients(  # type: ignore[override]
        self,
        grads_and_vars: Iterable[tuple[Any, tf.Variable]],
        global_step: tf.Variable | None = None,
        name: str | None = None,
    ) -> None:
        """Make one step, and add 1 to `global_step`."""
        super().apply_gradients(grads_and_vars)
        if global_step is not None:
            global_step.assign_add(1)

    def compute_gradients(
        self, loss: Callable[[], Any], var_list: Sequence[tf.Variable] | None = None, grad_loss: Any = None
    ) -> list[tuple[Any, tf.Variable]]:
        """Pairs (gradient, Variable) of ``loss()``, for all trainable Variables that it reads unless some are given."""
        if not callable(loss):
            raise TypeError(f"loss is a function without arguments, not {loss!r}{at_user_line()}")
        tape = tf.GradientTape()
        with tape:
            value = loss()
        variables = list(tape.watched_variables() if var_list is None else var_list)
        if not variables:
            raise ValueError(f"the loss reads no trainable Variables{at_user_line()}")
        return list(zip(tape.gradient(value, variables, grad_loss), variables, strict=True))

    def minimize(  # type: ignore[override]
        self,
        loss: Callable[[], Any],
        global_step: tf.Variable | None = None,
        var_list: Sequence[tf.Variable] | None = None,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> None:
        """Make one step down ``loss()``, and add 1 to `global_step`."""
        self.apply_gradients(self.compute_gradients(loss, var_list, grad_loss), global_step)


class GradientDescentOptimizer(_CountingSteps, SGD):
    """Plain gradient descent.

    Examples
    --------
    >>> from tracejit.compat import v1 as tf
    >>> w, step = tf.Variable(1.0), tf.Variable(0)
    >>> optimizer = tf.train.GradientDescentOptimizer(learning_rate=0.5)
    >>> optimizer.apply_gradients([(tf.constant(1.0), w)], global_step=step)
    >>> w.numpy(), int(step)
    (np.float32(0.5), 1)
    """

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str | None = None):
        super().__init__(learning_rate, name=name)


class MomentumOptimizer(_CountingSteps, SGD):
    """Gradient descent with momentum, as Nesterov has it with `use_nesterov`.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> optimizer = tf.compat.v1.train.MomentumOptimizer(0.1, 0.9)
    >>> _ = optimizer.minimize(lambda: v * v)
    >>> print(round(float(v), 3))
    0.8
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: float,
        use_locking: bool = False,
        name: str | None = None,
        use_nesterov: bool = False,
    ):
        super().__init__(learning_rate, momentum, use_nesterov, name=name)


class AdagradOptimizer(_CountingSteps, Adagrad):
    """Adagrad with the arguments of its time.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> optimizer = tf.compat.v1.train.AdagradOptimizer(0.1)
    >>> _ = optimizer.minimize(lambda: v * v)
    >>> print(round(float(v), 3))
    0.901
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str | None = None,
    ):
        super().__init__(learning_rate, initial_accumulator_value, epsilon=0.0, name=name)


class AdamOptimizer(_CountingSteps, Adam):
    """Adam with the smaller epsilon of its time; `beta1` and `beta2` are its ``beta_1`` and ``beta_2``.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> optimizer = tf.compat.v1.train.AdamOptimizer(0.1)
    >>> _ = optimizer.minimize(lambda: v * v)
    >>> print(round(float(v), 3))
    0.9
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str | None = None,
    ):
        super().__init__(learning_rate, beta1, beta2, epsilon, name=name)


class RMSPropOptimizer(_CountingSteps, RMSprop):
    """RMSprop with the arguments of its time, `decay` for ``rho``; its running mean of squares starts with 1.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> optimizer = tf.compat.v1.train.RMSPropOptimizer(0.1)
    >>> _ = optimizer.minimize(lambda: v * v)
    >>> print(round(float(v), 3))
    0.825
    """

    def __init__(
        self,
        learning_rate: Any,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str | None = None,
    ):
        super().__init__(learning_rate, decay, momentum, epsilon, centered, name=name)

    def state(self) -> Mapping[str, float]:
        return {**super().state(), "velocity": 1.0}


class AdadeltaOptimizer(_CountingSteps, Adadelta):
    """Adadelta with the arguments of its time.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> optimizer = tf.compat.v1.train.AdadeltaOptimizer(0.1)
    >>> _ = optimizer.minimize(lambda: v * v)
    >>> print(float(v) < 1.0)
    True
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.95,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str | None = None,
    ):
        super().__init__(learning_rate, rho, epsilon, name=name)
