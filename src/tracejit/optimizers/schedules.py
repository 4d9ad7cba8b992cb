"""Learning rates that change with the step: callables of the number of steps made so far."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import tracejit as tf

from ..errors import at_user_line
from ..models.configuration import Configurable

_DOUBLE = np.dtype("float64")


class LearningRateSchedule(Configurable):
    """Base of schedules: a subclass defines ``__call__(step)``.

    Examples
    --------
    >>> import tracejit as tf
    >>> class Halving(tf.optimizers.schedules.LearningRateSchedule):
    ...     def __call__(self, step):
    ...         return 2.0 ** -tf.cast(step, tf.float32)
    >>> optimizer = tf.optimizers.SGD(Halving())
    >>> float(optimizer.learning_rate)
    1.0
    """

    def __call__(self, step: Any) -> tf.Tensor:
        """The rate for the step with this number, counted from 0."""
        raise NotImplementedError(f"{type(self).__name__} defines no __call__(step)")


def _float(step: Any) -> Any:
    """The step as a double: exact far beyond 2**24."""
    return tf.cast(tf.convert_to_tensor(step), dtype=_DOUBLE)


class ExponentialDecay(LearningRateSchedule):
    """``initial_learning_rate * decay_rate ** (step / decay_steps)``.

    Parameters
    ----------
    initial_learning_rate : float
    decay_steps : int
        Positive.
    decay_rate : float
    staircase : bool
        Round ``step / decay_steps`` down.

    Examples
    --------
    >>> import tracejit as tf
    >>> rate = tf.optimizers.schedules.ExponentialDecay(1.0, 10, 0.5, staircase=True)
    >>> float(rate(9)), float(rate(20))
    (1.0, 0.25)
    """

    def __init__(
        self, initial_learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False
    ):
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps: int = _positive(decay_steps)
        self.decay_rate = decay_rate
        self.staircase = staircase

    def __call__(self, step: Any) -> tf.Tensor:
        times = _float(step) / self.decay_steps
        times = tf.floor(times) if self.staircase else times
        return tf.multiply(self.initial_learning_rate, tf.pow(self.decay_rate, times))


class CosineDecay(LearningRateSchedule):
    """Half a period of a cosine from the initial rate down to `alpha` times it, perhaps after a linear rise.

    Parameters
    ----------
    initial_learning_rate : float
    decay_steps : int
        Positive.
    alpha : float
        The part that is left in the end.
    warmup_target : float, optional
        Rise to this first, and decay from there.
    warmup_steps : int
        How many steps the rise takes.

    Notes
    -----
    Source: Loshchilov, Hutter, "SGDR", 2016.

    Examples
    --------
    >>> import tracejit as tf
    >>> rate = tf.optimizers.schedules.CosineDecay(1.0, 10, alpha=0.5)
    >>> float(rate(0)), float(rate(100))
    (1.0, 0.5)
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: int,
        alpha: float = 0.0,
        name: str | None = None,
        warmup_target: float | None = None,
        warmup_steps: int = 0,
    ):
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps: int = _positive(decay_steps)
        self.alpha = alpha
        self.warmup_target = warmup_target
        self.warmup_steps = warmup_steps

    def __call__(self, step: Any) -> tf.Tensor:
        now = _float(step)
        if self.warmup_target is None:
            return self._decayed(now, self.initial_learning_rate)
        rise = (self.warmup_target - self.initial_learning_rate) / max(self.warmup_steps, 1)
        rising = self.initial_learning_rate + rise * now
        return tf.where(
            now < self.warmup_steps, rising, self._decayed(now - self.warmup_steps, self.warmup_target)
        )

    def _decayed(self, now: Any, top: float) -> Any:
        part = tf.minimum(now, self.decay_steps) / self.decay_steps
        return top * ((1.0 - self.alpha) * 0.5 * (1.0 + tf.cos(math.pi * part)) + self.alpha)


class InverseTimeDecay(LearningRateSchedule):
    """``initial_learning_rate / (1 + decay_rate * step / decay_steps)``.

    Parameters
    ----------
    initial_learning_rate : float
    decay_steps : int
        Positive.
    decay_rate : float
    staircase : bool
        Round ``step / decay_steps`` down.

    Examples
    --------
    >>> import tracejit as tf
    >>> rate = tf.optimizers.schedules.InverseTimeDecay(1.0, 10, 1.0)
    >>> float(rate(0)), float(rate(30))
    (1.0, 0.25)
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: int,
        decay_rate: float,
        staircase: bool = False,
        name: str | None = None,
    ):
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps: int = _positive(decay_steps)
        self.decay_rate = decay_rate
        self.staircase = staircase

    def __call__(self, step: Any) -> tf.Tensor:
        times = _float(step) / self.decay_steps
        times = tf.floor(times) if self.staircase else times
        return tf.divide(self.initial_learning_rate, 1.0 + self.decay_rate * times)


class PolynomialDecay(LearningRateSchedule):
    """From the initial rate to the last one along ``(1 - step / decay_steps) ** power``.

    Parameters
    ----------
    initial_learning_rate : float
    decay_steps : int
        Positive.
    end_learning_rate : float
    power : float
    cycle : bool
        After the end, begin again from where a longer decay would be, instead of staying there.

    Examples
    --------
    >>> import tracejit as tf
    >>> rate = tf.optimizers.schedules.PolynomialDecay(1.0, 10, end_learning_rate=0.5)
    >>> float(rate(0)), float(rate(5)), float(rate(100))
    (1.0, 0.75, 0.5)
    """

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: int,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        name: str | None = None,
    ):
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps: int = _positive(decay_steps)
        self.end_learning_rate = end_learning_rate
        self.power = power
        self.cycle = cycle

    def __call__(self, step: Any) -> tf.Tensor:
        now: Any = _float(step)
        end: Any = self.decay_steps
        if self.cycle:
            end = self.decay_steps * tf.maximum(-tf.floor(-now / self.decay_steps), 1.0)
        left = 1.0 - tf.minimum(now, end) / end
        span = self.initial_learning_rate - self.end_learning_rate
        return span * tf.pow(left, self.power) + self.end_learning_rate


class CosineDecayRestarts(LearningRateSchedule):
    """Half a period of a cosine again and again, each `t_mul` times as long and `m_mul` times as high.

    Parameters
    ----------
    initial_learning_rate : float
    first_decay_steps : int
        Length of the first period; positive.
    t_mul, m_mul : float
    alpha : float
        The part of the initial rate that is left at the ends of periods.

    Notes
    -----
    Source: Loshchilov, Hutter, "SGDR", 2016.

    Examples
    --------
    >>> import tracejit as tf
    >>> rate = tf.optimizers.schedules.CosineDecayRestarts(1.0, 10, m_mul=0.5)
    >>> [float(rate(step)) for step in (0, 10, 30)]
    [1.0, 0.5, 0.25]
    """

    def __init__(
        self,
        initial_learning_rate: float,
        first_decay_steps: int,
        t_mul: float = 2.0,
        m_mul: float = 1.0,
        alpha: float = 0.0,
        name: str | None = None,
    ):
        self.initial_learning_rate = initial_learning_rate
        self.first_decay_steps: int = _positive(first_decay_steps)
        self.t_mul = t_mul
        self.m_mul = m_mul
        self.alpha = alpha

    def __call__(self, step: Any) -> tf.Tensor:
        done, ratio = _float(step) / self.first_decay_steps, self.t_mul
        if ratio == 1.0:
            period = tf.floor(done)
            part = done - period
        else:
            period = tf.floor(tf.log(1.0 - done * (1.0 - ratio)) / math.log(ratio))
            begun = tf.pow(ratio, period)
            part = (done - (1.0 - begun) / (1.0 - ratio)) / begun
        height = tf.pow(self.m_mul, period) * 0.5 * (1.0 + tf.cos(math.pi * part))
        return self.initial_learning_rate * ((1.0 - self.alpha) * height + self.alpha)


class PiecewiseConstantDecay(LearningRateSchedule):
    """``values[i]`` up to and including step ``boundaries[i]``, the last value after them all.

    Parameters
    ----------
    boundaries : sequence of numbers
        Rising.
    values : sequence of floats
        One more than there are boundaries.

    Examples
    --------
    >>> import tracejit as tf
    >>> rate = tf.optimizers.schedules.PiecewiseConstantDecay([10, 20], [1.0, 0.5, 0.25])
    >>> [float(rate(step)) for step in (0, 10, 11, 21)]
    [1.0, 1.0, 0.5, 0.25]
    """

    def __init__(self, boundaries: Sequence[float], values: Sequence[float], name: str | None = None):
        if len(values) != len(boundaries) + 1:
            raise ValueError(
                f"{len(boundaries)} boundaries take {len(boundaries) + 1} values, got {len(values)}"
                f"{at_user_line()}"
            )
        if any(a >= b for a, b in itertools.pairwise(boundaries)):
            raise ValueError(f"boundaries rise, got {list(boundaries)}{at_user_line()}")
        self.boundaries: tuple[float, ...] = tuple(boundaries)
        self.values: tuple[float, ...] = tuple(values)

    def __call__(self, step: Any) -> tf.Tensor:
        now = _float(step)
        rate: Any = tf.convert_to_tensor(self.values[-1], _DOUBLE)
        for boundary, value in reversed([*zip(self.boundaries, self.values)]):
            rate = tf.where(now <= boundary, value, rate)
        return rate


def _positive(steps: int) -> int:
    if steps <= 0:
        raise ValueError(f"decay_steps is positive, got {steps}{at_user_line()}")
    return steps
