"""Optimizer: from gradients to new values of Variables, by a method that subclasses give as a pure function.

Holds what every method shares: the learning rate, the count of steps, one set of state Variables per Variable,
clipping, decay of weights, and what to do where there is no gradient. Everything it keeps is a Variable, so that
steps work inside of compiled functions and are part of checkpoints.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import tracejit as tf

from ..errors import at_user_line
from ..linalg.clipping import clip_by_global_norm, clip_by_norm
from ..models.configuration import Configurable

State = Mapping[str, Any]


class Optimizer(Configurable, tf.Module):
    """Base of optimizers: a subclass defines :meth:`state` and :meth:`update`.

    Parameters
    ----------
    learning_rate : float or callable
        A number, which can be changed later, or a schedule: a function of the number of steps made, or of nothing.
    name : str, optional
    weight_decay : float, optional
        Before each step Variables lose this part, times the learning rate.
    clipnorm : float, optional
        Scale each gradient down to this norm.
    clipvalue : float, optional
        Keep each entry of a gradient between minus this and this.
    global_clipnorm : float, optional
        Scale all gradients by one factor, down to this norm of them together.
    use_ema : bool
        Follow each Variable by a running mean of its values, which :meth:`finalize_variable_values` writes to it.
    ema_momentum : float
        In [0, 1]: how much of a running mean is kept at each step.
    ema_overwrite_frequency : int, optional
        Write the running means to the Variables after every so many steps; by default never on its own.
    lr : float or callable, optional
        The learning rate by the name that it had in older programs, in its place.

    Examples
    --------
    >>> import tracejit as tf
    >>> class SignDescent(tf.optimizers.Optimizer):
    ...     def update(self, value, gradient, state, rate, step):
    ...         return value - rate * tf.sign(gradient), {}
    >>> v = tf.Variable(1.0)
    >>> SignDescent(0.25).apply_gradients([(tf.constant(7.0), v)])
    >>> v.numpy()
    np.float32(0.75)
    """

    holds_weights = False

    def __init__(
        self,
        learning_rate: Any = 0.001,
        name: str | None = None,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        lr: Any = None,
    ):
        super().__init__(name)
        _check_averages(ema_momentum, ema_overwrite_frequency)
        chosen = {"clipnorm": clipnorm, "clipvalue": clipvalue, "global_clipnorm": global_clipnorm}
        given = [k for k, v in chosen.items() if v is not None]
        if len(given) > 1:
            raise ValueError(f"give one of {' and '.join(given)}, not several{at_user_line()}")
        self.clipnorm = clipnorm
        self.clipvalue = clipvalue
        self.global_clipnorm = global_clipnorm
        self.weight_decay = weight_decay
        self.use_ema = use_ema
        self.ema_momentum = ema_momentum
        self.ema_overwrite_frequency = ema_overwrite_frequency
        self._kept: dict[Any, _Kept] = {}  # by the serial number of the Variable that it is for
        with tf.init_scope():  # also inside of a trace, whose state it is not
            self.iterations: tf.Variable = tf.Variable(np.int64(0), trainable=False, name="iterations")
        self.learning_rate = learning_rate if lr is None else lr

    # ---- the method -------------------------------------------------------------------------------------

    def state(self) -> Mapping[str, float]:
        """What the method keeps for each Variable, by name, and the number it starts filled with."""
        return {}

    def update(self, value: Any, gradient: Any, state: State, rate: Any, step: Any) -> tuple[Any, State]:
        """One step for one Variable.

        Parameters
        ----------
        value, gradient : Tensor
            Of the Variable's shape and dtype.
        state : dict of Tensors
            As :meth:`state` named them.
        rate, step : scalar Tensor of the Variable's dtype
            The learning rate, and the number of this step, counted from 1.

        Returns
        -------
        Tensor, dict
            The new value, and what changed of the state.

        Raises
        ------
        NotImplementedError
            Unless a subclass says it.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no update")

    def rows_of_step(self, gradient: tf.IndexedSlices, rate: Any) -> tf.IndexedSlices | None:
        """What a step of `rate` subtracts, where that is from the rows of `gradient` and no others; None elsewhere.

        A method that changes every row at every step, as those do that keep running means, is given the gradient as a
        whole by :meth:`update`, so that it steps the same way whatever form the gradient has.
        """
        return None

    # ---- the learning rate ------------------------------------------------------------------------------

    @property
    def learning_rate(self) -> Any:
        """The rate of the next step: a Variable, or what the schedule says. Assign a number to change it."""
        rate = self._learning_rate
        if isinstance(rate, tf.Variable):
            return rate
        return tf.convert_to_tensor(rate(self.iterations) if self._by_step else rate())

    @learning_rate.setter
    def learning_rate(self, rate: Any) -> None:
        now = self.__dict__.get("_learning_rate")
        if callable(rate) and not isinstance(rate, (tf.Variable, tf.Tensor)):
            self._learning_rate: Any = rate
            self._by_step = bool(inspect.signature(rate).parameters)
        elif isinstance(now, tf.Variable):
            now.assign(tf.cast(rate, dtype=np.dtype("float64")))
        else:
            with tf.init_scope():
                self._learning_rate = tf.Variable(
                    rate, trainable=False, dtype=np.dtype("float64"), name="learning_rate"
                )

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an optimizer like this one; :meth:`from_config` takes them.

        Examples
        --------
        >>> import tracejit as tf
        >>> tf.optimizers.SGD(0.5, momentum=0.25).get_config()["momentum"]
        0.25
        """
        names = [n for c in type(self).__mro__[:-1] for n in inspect.signature(c).parameters]
        config = {n: getattr(self, n) for n in dict.fromkeys(names) if hasattr(self, n)}
        rate = self._learning_rate
        return {**config, "learning_rate": float(rate.array) if isinstance(rate, tf.Variable) else rate}

    # ---- stepping ---------------------------------------------------------------------------------------

    def minimize(
        self,
        loss: Any,
        var_list: Any,
        grad_loss: Any = None,
        name: str | None = None,
        tape: tf.GradientTape | None = None,
    ) -> None:
        """Differentiate a loss and make one step.

        Parameters
        ----------
        loss : callable or Tensor
            A function without arguments that returns the loss, or with `tape` the loss that was recorded.
        var_list : sequence of Variables, or a function that returns it
        grad_loss : tensor-like, optional
            Weights of the elements of the loss.
        tape : GradientTape, optional

        Raises
        ------
        ValueError
            For a tensor without the tape that recorded it, and where there is no gradient for any Variable.

        Examples
        --------
        >>> import tracejit as tf
        >>> v = tf.Variable(3.0)
        >>> tf.optimizers.SGD(0.5).minimize(lambda: v**2, [v])
        >>> v.numpy()
        np.float32(0.0)
        """
        if callable(loss) and not isinstance(loss, (tf.Tensor, tf.Variable)):
            tape = tf.GradientTape() if tape is None else tape
            with tape:
                value = loss()
        elif tape is None:
            raise ValueError(
                f"minimize takes a function that returns the loss, or the loss and its tape{at_user_line()}"
            )
        else:
            value = loss
        variables = list(var_list() if callable(var_list) else var_list)
        gradients = tape.gradient(value, variables, output_gradients=grad_loss)
        self.apply_gradients(zip(gradients, variables, strict=True))

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, tf.Variable]], name: str | None = None
    ) -> None:
        """Make one step.

        Parameters
        ----------
        grads_and_vars : iterable of (gradient, Variable)
            Variables whose gradient is None are left as they are, with a warning.

        Raises
        ------
        ValueError
            When there is no gradient at all, a Variable comes twice, or shapes differ.
        TypeError
            For what is no Variable of floats.
        """
        pairs = _pairs(grads_and_vars)
        self.prepare([v for _, v in pairs])
        present = [(_checked_gradient(g, v), v) for g, v in pairs if g is not None]
        _report_missing([v for g, v in pairs if g is None], bool(present))
        with tf.autodiff.stop_recording():
            gradients = self._clipped([g for g, _ in present])
            rate, step = tf.convert_to_tensor(self.learning_rate), tf.add(self.iterations.current(), 1)
            numbers: dict[Any, tuple[tf.Tensor, tf.Tensor]] = {}  # the same for all Variables of a dtype
            for gradient, (_, variable) in zip(gradients, present, strict=True):
                dtype = variable.spec.dtype
                if dtype not in numbers:
                    numbers[dtype] = tf.cast(rate, dtype=dtype), tf.cast(step, dtype=dtype)
                self._step(variable, gradient, *numbers[dtype])
            self.iterations.assign(step)
            if self.use_ema:
                self._follow(step)

    def prepare(self, variables: Sequence[Any]) -> None:
        """Make the state of `variables`, which are about to be changed, where there is none; errors for others."""
        _check_distinct([_checked_variable(v) for v in variables])
        self.build(variables)

    def scale_loss(self, loss: Any) -> Any:
        """What to differentiate in place of `loss`: itself, but see :class:`LossScaleOptimizer`."""
        return loss

    def apply(self, grads: Iterable[Any], trainable_variables: Iterable[tf.Variable] | None = None) -> None:
        """Make one step with `grads`, in the order of `trainable_variables`, by default of those it was built for."""
        if trainable_variables is None:
            trainable_variables = self._built_for()
        self.apply_gradients(zip(grads, trainable_variables, strict=True))

    def _step(self, variable: tf.Variable, gradient: Any, rate: tf.Tensor, step: tf.Tensor) -> None:
        constraint = variable.constraint
        if isinstance(gradient, tf.IndexedSlices) and self.weight_decay is None and constraint is None:
            rows = self.rows_of_step(gradient, rate)
            if rows is not None:
                variable.assign_sub(rows)
                return
        slots = self._kept[variable.handle.serial].slots
        value: Any = variable.current()
        if self.weight_decay is not None:
            value = value - value * self.weight_decay * rate
        state = {k: s.current() for k, s in slots.items()}
        value, changed = self.update(value, gradient, state, rate, step)
        variable.assign(value if constraint is None else constraint(value))
        for key, new in changed.items():
            slots[key].assign(new)

    def _follow(self, step: tf.Tensor) -> None:
        """Let the running means follow the Variables, all there are, and overwrite those when it is time."""
        every = self.ema_overwrite_frequency
        for variable, slots in zip(self.owners(), self.slots, strict=True):
            if variable is None:
                continue
            now = variable.current()
            kept = tf.where(step > 1, tf.cast(self.ema_momentum, now.dtype), tf.zeros((), now.dtype))
            mean = slots["average"].current() * kept + now * (1.0 - kept)
            slots["average"].assign(mean)
            if every is not None:
                variable.assign(tf.where(tf.equal(step % every, 0), mean, now))

    def finalize_variable_values(self, var_list: Iterable[tf.Variable]) -> None:
        """Write to the Variables in `var_list` the running means of their values, with ``use_ema``; else do nothing.

        ``fit`` does so when it is done.

        Examples
        --------
        >>> import tracejit as tf
        >>> v = tf.Variable(4.0)
        >>> optimizer = tf.optimizers.SGD(1.0, use_ema=True, ema_momentum=0.5)
        >>> for _ in range(2):
        ...     optimizer.apply_gradients([(tf.constant(1.0), v)])
        >>> optimizer.finalize_variable_values([v])
        >>> v.numpy()
        np.float32(2.5)
        """
        for variable in var_list:
            kept = self._kept.get(variable.handle.serial)
            if self.use_ema and kept is not None:  # else it has never changed
                variable.assign(kept.slots["average"].current())

    def _clipped(self, gradients: Sequence[Any]) -> Sequence[Any]:
        if self.clipnorm is not None:
            return [clip_by_norm(g, self.clipnorm) for g in gradients]
        if self.global_clipnorm is not None:
            return clip_by_global_norm(gradients, self.global_clipnorm)[0]
        if self.clipvalue is not None:
            return [tf.minimum(tf.maximum(g, -self.clipvalue), self.clipvalue) for g in gradients]
        return gradients

    # ---- state ------------------------------------------------------------------------------------------

    def build(self, var_list: Iterable[tf.Variable]) -> None:
        """Make the state of the Variables in `var_list`, where there is none yet: each the first time it is seen."""
        for variable in var_list:
            if variable.handle.serial not in self._kept:
                self._kept[variable.handle.serial] = _Kept(weakref.ref(variable), self._new_slots(variable))
        self._receive("slots", self.slots)

    @property
    def slots(self) -> list[dict[str, tf.Variable]]:
        """The state of each Variable by the names that :meth:`state` gives, in the order of :meth:`owners`."""
        return [kept.slots for kept in self._kept.values()]

    def owners(self) -> list[tf.Variable | None]:
        """The Variables that it keeps state for, in order; None for those that are gone."""
        return [kept.owner() for kept in self._kept.values()]

    def _built_for(self) -> list[tf.Variable]:
        owners = self.owners()
        kept = [v for v in owners if v is not None]
        if not kept or len(kept) < len(owners):
            raise ValueError(
                f"say which Variables the gradients are of, or build(variables) first{at_user_line()}"
            )
        return kept

    def _new_slots(self, variable: tf.Variable) -> dict[str, tf.Variable]:
        owner = variable.name.removesuffix(":0")
        return {
            key: tf.Variable(
                np.full(variable.spec.shape, start, variable.dtype), trainable=False, name=f"{owner}/{key}"
            )
            for key, start in {**self.state(), **({"average": 0.0} if self.use_ema else {})}.items()
        }

    def _attributes(self) -> list[tuple[str, Any]]:
        return [(k, getattr(self, k)) for k in ("iterations", "_learning_rate", "slots")]

    def __getstate__(self) -> dict[str, Any]:
        """Its state goes with the Variables it is for, which a copy of a model has copies of."""
        return {**super().__getstate__(), "_kept": list(zip(self.owners(), self.slots, strict=True))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._kept = {}
        for v, slots in state["_kept"]:
            owner: Any = weakref.ref(_Nobody() if v is None else v)
            self._kept[owner if v is None else v.handle.serial] = _Kept(owner, slots)


class _Kept(NamedTuple):
    """What an optimizer keeps for one Variable, and which it is."""

    owner: weakref.ref[tf.Variable]
    slots: dict[str, tf.Variable]


class _Nobody:
    """A Variable that is gone."""


def _check_averages(momentum: float, every: int | None) -> None:
    if not 0.0 <= momentum <= 1.0:
        raise ValueError(f"ema_momentum is in [0, 1], got {momentum}{at_user_line()}")
    if every is not None and (not isinstance(every, int) or every < 1):
        raise ValueError(
            f"ema_overwrite_frequency is a number of steps, or None, got {every!r}{at_user_line()}"
        )


def _pairs(grads_and_vars: Iterable[Any]) -> list[tuple[Any, Any]]:
    pairs = list(grads_and_vars)
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"apply_gradients takes pairs (gradient, Variable), not {type(pair).__name__}: write "
                f"apply_gradients(zip(gradients, variables)){at_user_line()}"
            )
    return [(g, v) for g, v in pairs]


def _checked_variable(variable: Any) -> tf.Variable:
    if not isinstance(variable, tf.Variable):
        raise TypeError(
            f"optimizers change Variables, not {type(variable).__name__}: pass pairs (gradient, Variable), as by "
            f"zip(gradients, variables){at_user_line()}"
        )
    if variable.spec.dtype.kind != "f":
        raise tf.DtypeError(
            f"optimizers change Variables of floats, {variable.name!r} is {variable.spec}{at_user_line()}"
        )
    return variable


def _check_distinct(variables: Sequence[tf.Variable]) -> None:
    seen: set[int] = set()
    for v in variables:
        if id(v) in seen:
            raise ValueError(f"{v.name!r} comes twice in one step: add its gradients first{at_user_line()}")
        seen.add(id(v))


def _checked_gradient(gradient: Any, variable: tf.Variable) -> tf.Tensor:
    if gradient.__class__ is tf.Tensor and gradient.spec is variable.spec:  # what most come to
        return gradient
    g = gradient if isinstance(gradient, tf.IndexedSlices) else tf.convert_to_tensor(gradient)
    if not variable.spec.with_dtype(g.dtype).is_compatible_with(g):
        raise tf.ShapeError(
            f"the gradient of {variable.name!r} is {g.spec}, the Variable {variable.spec}{at_user_line()}"
        )
    return g if g.dtype == variable.dtype else tf.cast(g, dtype=variable.dtype)


def _report_missing(variables: Sequence[tf.Variable], others: bool) -> None:
    names = ", ".join(repr(v.name) for v in variables)
    if not others:
        raise ValueError(f"no gradient for any Variable{f': {names}' if names else ''}{at_user_line()}")
    if variables:
        tf.errors.warn(
            f"no gradient for {names}: left as it is. Was it used for the loss, inside of the tape?",
            tf.autodiff.GradientWarning,
        )
