"""What happens between the batches and epochs of :meth:`Model.fit <tracejit.layers.Model.fit>`.

A callback has methods that `fit`, `evaluate` and `predict` call with the numbers so far, `logs`, by name. Any object
with some of these methods will do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import at_user_line


class Callback:
    """Base of callbacks: each method is called at the moment that its name says, and does nothing here.

    Attributes
    ----------
    model : Model
        The network that is being trained.
    params : dict
        ``epochs``, ``steps`` and ``verbose``, as they were given to `fit`.

    Examples
    --------
    >>> import tracejit as tf
    >>> class Shout(tf.keras.callbacks.Callback):
    ...     def on_epoch_end(self, epoch, logs=None):
    ...         print("epoch", epoch, sorted(logs))
    >>> model = tf.Sequential([tf.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> history = model.fit(tf.ones((4, 2)), tf.ones((4, 1)), verbose=0, callbacks=[Shout()])
    epoch 0 ['loss']
    """

    model: Any = None
    params: Any = None

    def set_params(self, params: dict[str, Any]) -> None:
        """Take note of what `fit` was given, `params`."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Take note of the network, `model`."""
        self.model = model

    def on_train_begin(self, logs: Any = None) -> None:
        """Before the first epoch; `logs` is empty."""

    def on_train_end(self, logs: Any = None) -> None:
        """After the last epoch, with its numbers, `logs`."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Before `epoch`, numbered from 0; `logs` is empty."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """After `epoch`, with its numbers, `logs`; with validation those too, under names with ``val_``."""

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Before a step of training on `batch`, numbered in its epoch; `logs` is empty."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """After a step of training on `batch`; `logs` holds the means since the epoch began."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """The same as :meth:`on_batch_begin` of `batch` and `logs`, which it calls."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """The same as :meth:`on_batch_end` of `batch` and `logs`, which it calls."""
        self.on_batch_end(batch, logs)

    def on_test_begin(self, logs: Any = None) -> None:
        """Before an evaluation or a validation; `logs` is empty."""

    def on_test_end(self, logs: Any = None) -> None:
        """After an evaluation or a validation, with its numbers, `logs`."""

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Before `batch` is evaluated; `logs` is empty."""

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """After `batch` is evaluated, with the numbers so far, `logs`."""

    def on_predict_begin(self, logs: Any = None) -> None:
        """Before predictions are made; `logs` is empty."""

    def on_predict_end(self, logs: Any = None) -> None:
        """After predictions are made; `logs` is empty."""

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Before predictions for `batch`; `logs` is empty."""

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        """After predictions for `batch`; `logs` holds them as ``outputs``."""


class CallbackList:
    """Several callbacks told as one, in order.

    Parameters
    ----------
    callbacks : sequence of objects, or None
        Each with some of the methods of :class:`Callback`.
    model : Model, optional
    params : dict, optional
        Told to all of them at once.

    Examples
    --------
    >>> import tracejit as tf
    >>> shown = tf.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: print(epoch, logs))
    >>> tf.callbacks.CallbackList([shown]).tell("on_epoch_end", 0, {"loss": 0.5})
    0 {'loss': 0.5}
    """

    def __init__(self, callbacks: Sequence[Any] | None = None, model: Any = None, **params: Any):
        self.callbacks: list[Any] = (
            list(callbacks or ()) if isinstance(callbacks, (list, tuple, type(None))) else [callbacks]
        )
        self.tell("set_params", params)
        if model is not None:
            self.tell("set_model", model)

    def append(self, callback: Any) -> None:
        """Tell `callback` too, after the others."""
        self.callbacks.append(callback)

    def tell(self, event: str, *args: Any) -> None:
        """Call the method named `event` of all that have it."""
        for callback in self.callbacks:
            method = getattr(callback, event, None)
            if method is not None:
                method(*args)

    def listens(self, event: str) -> bool:
        """Does any of them do something at `event`, the name of a method?"""
        names = (event, event.replace("_train_", "_"))  # on_train_batch_end calls on_batch_end
        return any(
            getattr(type(callback), name, None) is not getattr(Callback, name, None)
            for callback in self.callbacks
            for name in names
            if hasattr(callback, name)
        )

    def __getattr__(self, name: str) -> Callable[..., None]:
        if not name.startswith("on_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return lambda *args: self.tell(name, *args)


class History(Callback):
    """What `fit` returns: in `history`, each name with its numbers, one per epoch; in `epoch` their numbers.

    Examples
    --------
    >>> import tracejit as tf
    >>> model = tf.Sequential([tf.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> print(sorted(model.fit([[1.0]], [[1.0]], epochs=2, verbose=0).history))
    ['loss']
    """

    def __init__(self) -> None:
        self.history: dict[str, list[float]] = {}
        self.epoch: list[int] = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Add the numbers of `epoch`, `logs`."""
        self.epoch.append(epoch)
        for name, number in (logs or {}).items():
            self.history.setdefault(name, []).append(number)


class LambdaCallback(Callback):
    """A callback of functions: each argument is called as the method of its name.

    Parameters
    ----------
    on_epoch_begin, on_epoch_end : callable, optional
        Of the epoch's number and logs.
    on_train_begin, on_train_end : callable, optional
        Of logs.
    on_train_batch_begin, on_train_batch_end : callable, optional
        Of the batch's number and logs.
    **others
        Any other method of :class:`Callback`.

    Raises
    ------
    TypeError
        For a name that is none of its methods.

    Examples
    --------
    >>> import tracejit as tf
    >>> model = tf.Sequential([tf.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> told = tf.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: print("epoch", epoch))
    >>> _ = model.fit([[1.0]], [[1.0]], epochs=2, verbose=0, callbacks=[told])
    epoch 0
    epoch 1
    """

    def __init__(
        self,
        on_epoch_begin: Callable[..., Any] | None = None,
        on_epoch_end: Callable[..., Any] | None = None,
        on_train_begin: Callable[..., Any] | None = None,
        on_train_end: Callable[..., Any] | None = None,
        on_train_batch_begin: Callable[..., Any] | None = None,
        on_train_batch_end: Callable[..., Any] | None = None,
        **others: Callable[..., Any],
    ):
        unknown = [name for name in others if not (name.startswith("on_") and hasattr(Callback, name))]
        if unknown:
            raise TypeError(f"a callback has no method {unknown[0]!r}{at_user_line()}")
        given = {
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
            "on_train_batch_begin": on_train_batch_begin,
            "on_train_batch_end": on_train_batch_end,
            **others,
        }
        functions = {name: f for name, f in given.items() if f is not None}
        # methods of a class of its own, so that who asks what it listens to need not look at the instance
        self.__class__ = type(
            type(self).__name__, (type(self),), {k: staticmethod(f) for k, f in functions.items()}
        )
