"""Loss scaling: gradients of float16 that would be too small are those of a larger loss, divided before the step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import tracejit as tf

from ..errors import at_user_line
from .optimizer import Optimizer


class LossScaleOptimizer(Optimizer):
    """Another optimizer, given gradients of a loss that was multiplied by a large number.

    A step with gradients that are not all finite is left out, and the number halved; after so many steps in a row that
    were made it is doubled. ``fit`` wraps the optimizer by itself where the policy is ``"mixed_float16"``.

    Parameters
    ----------
    inner_optimizer : Optimizer
        What makes the steps.
    dynamic : bool
        False keeps the number as it is, and makes every step.
    initial_scale : float, optional
        The number at the start: 2**15, which `dynamic` says may be left out.
    dynamic_growth_steps : int, optional
        After how many steps it is doubled, by default 2000.
    name : str, optional

    Attributes
    ----------
    dynamic_scale : Variable
        The number now.

    Raises
    ------
    ValueError
        For numbers that are not positive, and without `initial_scale` where `dynamic` is False.

    Examples
    --------
    >>> import tracejit as tf
    >>> v = tf.Variable(1.0)
    >>> optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.optimizers.SGD(0.25), initial_scale=8.0)
    >>> with tf.GradientTape() as tape:
    ...     loss = optimizer.scale_loss(v * v)
    >>> optimizer.apply_gradients([(tape.gradient(loss, v), v)])
    >>> optimizer.apply_gradients([(tf.constant(float("inf")), v)])
    >>> v.numpy(), optimizer.loss_scale.numpy()
    (np.float32(0.5), np.float32(4.0))
    """

    def __init__(
        self,
        inner_optimizer: Optimizer,
        dynamic: bool = True,
        initial_scale: float | None = None,
        dynamic_growth_steps: int | None = None,
        name: str | None = None,
    ):
        tf.Module.__init__(self, name)
        if not isinstance(inner_optimizer, Optimizer) or isinstance(inner_optimizer, LossScaleOptimizer):
            raise TypeError(f"scales the loss of an optimizer, got {inner_optimizer!r}{at_user_line()}")
        if not isinstance(dynamic, bool):  # a number of other libraries' second argument
            dynamic, initial_scale = True, dynamic
        if not dynamic and initial_scale is None:
            raise ValueError(f"with dynamic=False say initial_scale{at_user_line()}")
        self.inner_optimizer = inner_optimizer
        self.dynamic = dynamic
        self.initial_scale: float = 2.0**15 if initial_scale is None else float(initial_scale)
        self.dynamic_growth_steps: int = 2000 if dynamic_growth_steps is None else int(dynamic_growth_steps)
        if not self.initial_scale > 0.0 or self.dynamic_growth_steps < 1:
            raise ValueError(
                "initial_scale and dynamic_growth_steps are positive, got "
                f"{self.initial_scale} and {self.dynamic_growth_steps}{at_user_line()}"
            )
        #: Are the gradients that come those of the scaled loss? Who has them unscaled says so.
        self._given_scaled = True
        with tf.init_scope():
            self.dynamic_scale: tf.Variable = tf.Variable(
                self.initial_scale, trainable=False, dtype="float32"
            )
            self.step_counter: tf.Variable = tf.Variable(0, trainable=False, dtype="int32")

    @classmethod
    def around(cls, optimizer: Optimizer) -> LossScaleOptimizer:
        """One around `optimizer`, or `optimizer` itself where it is one."""
        return optimizer if isinstance(optimizer, cls) else cls(optimizer)

    # ---- scaling ----------------------------------------------------------------------------------------

    @property
    def loss_scale(self) -> tf.Tensor:
        """The number by which the loss is multiplied now."""
        return self.dynamic_scale.current()

    def scale_loss(self, loss: Any) -> Any:
        """`loss` times the number; :meth:`apply_gradients` takes the gradients of that, and divides them."""
        self._given_scaled = True
        loss = tf.convert_to_tensor(loss)
        return loss * tf.cast(self.loss_scale, loss.dtype)

    def get_scaled_loss(self, loss: Any) -> Any:
        """`loss` times the number, also of a function that gives it; :meth:`get_unscaled_gradients` follows."""
        return (lambda: self.scale_loss(loss())) if callable(loss) else self.scale_loss(loss)

    def get_unscaled_gradients(self, grads: Iterable[Any]) -> list[Any]:
        """The gradients `grads` of the scaled loss, divided; :meth:`apply_gradients` takes them as they are."""
        self._given_scaled = False
        return [self._unscaled(g) for g in grads]

    def _unscaled(self, g: Any) -> Any:
        if isinstance(g, tf.IndexedSlices):
            return tf.IndexedSlices(self._unscaled(g.values), g.indices, g.dense_shape)
        return None if g is None else g / tf.cast(self.loss_scale, g.dtype)

    # ---- stepping ---------------------------------------------------------------------------------------

    def minimize(
        self,
        loss: Any,
        var_list: Any,
        grad_loss: Any = None,
        name: str | None = None,
        tape: tf.GradientTape | None = None,
    ) -> None:
        """Differentiate a loss, scaled, and make one step; errors are those of other optimizers.

        Parameters
        ----------
        loss : callable or Tensor
            A function without arguments that returns the loss, or with `tape` the loss that was recorded.
        var_list : sequence of Variables, or a function that returns it
        grad_loss : tensor-like, optional
            Weights of the elements of the loss.
        tape : GradientTape, optional
            The one that recorded the loss.
        """
        if callable(loss) and not isinstance(loss, (tf.Tensor, tf.Variable)):
            super().minimize(self.get_scaled_loss(loss), var_list, grad_loss, name, tape)
        elif tape is None:
            super().minimize(loss, var_list, grad_loss, name, tape)
        else:
            with tape:
                scaled = self.scale_loss(loss)
            super().minimize(scaled, var_list, grad_loss, name, tape)

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, tf.Variable]], name: str | None = None
    ) -> None:
        """Make one step, or leave it out; errors are those of other optimizers.

        Parameters
        ----------
        grads_and_vars : iterable of (gradient, Variable)
            Variables whose gradient is None are left as they are, with a warning.
        """
        pairs = [(g, v) for g, v in grads_and_vars]
        variables = [v for _, v in pairs]
        gradients: Sequence[Any] = [
            g if g is None or isinstance(g, tf.IndexedSlices) else tf.convert_to_tensor(g) for g, _ in pairs
        ]
        with tf.autodiff.stop_recording():
            if self._given_scaled:
                gradients = [self._unscaled(g) for g in gradients]
            step: Callable[[], None] = lambda: self.inner_optimizer.apply_gradients(
                zip(gradients, variables, strict=True)
            )
            finite = [_is_finite(g) for g in gradients if g is not None]
            if not self.dynamic or not finite:  # which the other one says what is wrong with
                step()
                return
            self.inner_optimizer.prepare(variables)

            def made() -> None:
                step()
                self._grow()

            tf.cond(tf.reduce_all(tf.stack(finite)), made, self._shrink)

    def _grow(self) -> None:
        count, scale = self.step_counter.current() + 1, self.dynamic_scale.current()
        grown = tf.logical_and(count >= self.dynamic_growth_steps, tf.math.is_finite(scale * 2.0))
        self.dynamic_scale.assign(tf.where(grown, scale * 2.0, scale))
        self.step_counter.assign(tf.where(count >= self.dynamic_growth_steps, 0, count))

    def _shrink(self) -> None:
        self.dynamic_scale.assign(tf.maximum(self.dynamic_scale.current() * 0.5, 1.0))
        self.step_counter.assign(0)

    # ---- the other optimizer's --------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "inner_optimizer" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}", name=name)
        return getattr(self.inner_optimizer, name)

    @property
    def learning_rate(self) -> Any:
        """That of the other optimizer."""
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, rate: Any) -> None:
        self.inner_optimizer.learning_rate = rate

    def build(self, var_list: Iterable[tf.Variable]) -> None:
        """Make the state that the other optimizer has of the Variables in `var_list`."""
        self.inner_optimizer.build(var_list)

    def owners(self) -> list[tf.Variable | None]:
        """The Variables that the other one keeps state for."""
        return self.inner_optimizer.owners()

    def _built_for(self) -> list[tf.Variable]:
        return self.inner_optimizer._built_for()

    def finalize_variable_values(self, var_list: Iterable[tf.Variable]) -> None:
        """As that of the other optimizer, for the Variables in `var_list`."""
        self.inner_optimizer.finalize_variable_values(var_list)

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an optimizer like this one."""
        names = ("inner_optimizer", "dynamic", "initial_scale", "dynamic_growth_steps")
        return {name: getattr(self, name) for name in names}

    def _attributes(self) -> list[tuple[str, Any]]:
        return [(k, getattr(self, k)) for k in ("inner_optimizer", "dynamic_scale", "step_counter")]

    def __getstate__(self) -> dict[str, Any]:
        """Its attributes."""
        return super(Optimizer, self).__getstate__()

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)


def _is_finite(g: Any) -> tf.Tensor:
    return tf.reduce_all(tf.math.is_finite(g.values if isinstance(g, tf.IndexedSlices) else g))
