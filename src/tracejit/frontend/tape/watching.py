"""Tape: what happens inside a ``with`` block, recorded for later: what is watched, when, and what is forgotten.

Asking for derivatives is `frontend.tape`; nothing here knows a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from ...core.errors import at, user_location
from ...core.spec import DIFFERENTIABLE, dtype_name
from ...core.tensor import Tensor, next_serial
from ...core.tracing.dispatch import Record, as_tensor, pausing, start_recording, state, stop_recording
from ...core.tracing.transaction import remember, warn
from ..recording.merged import Watched, watched
from ..recording.recorder import Recording
from ..state.variable import Variable
from ..structure import flatten
from .history import History


class GradientWarning(UserWarning):
    """Something about a gradient that is allowed and probably not meant.

    Examples
    --------
    >>> import warnings
    >>> import tracejit as tf
    >>> with warnings.catch_warnings(record=True) as said, tf.GradientTape() as tape:
    ...     warnings.simplefilter("always", tf.autodiff.GradientWarning)
    ...     tape.watch(tf.constant(1))
    >>> print(said[0].message)
    The dtype of the watched tensor must be floating (e.g. tf.float32), got tf.int32
    """


_ACTIVE = "Tape is still recording, this can happen if you try to re-enter an already-active tape."
_INACTIVE = "Tape is not recording."


class Tape(Recording):
    """A recorder for a ``with`` block; see :class:`GradientTape`, which can be asked for derivatives."""

    #: NumPy's functions work on values, or as if they did; functions of single elements are ops.
    follows_numpy = False

    __slots__ = (
        "persistent",
        "_watches_variables",
        "_recording",
        "_used",
        "_watched",
        "_spent",
        "_weights",
        "_started",
        "_history",
        "_merging",
    )
    _STATE = ("_recording", "_used", "_spent", "_started", "_history")

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True):
        # what Recording sets, without the call: making a tape is counted in tenths of microseconds
        self.records: list[Record] = []
        self.tracked: set[int] = set()
        self.reverse = True
        self.held: int = 0
        self.large = False
        self.persistent: bool = persistent
        self._watches_variables = watch_accessed_variables
        self._recording = False
        self._used = False
        self._watched: dict[int, Variable] = {}
        self._spent: tuple[list[Any], set[int]] | None = None
        self._weights: dict[int, Any] | None = (
            None  # what the targets were weighted by, where that came to nothing
        )
        self._started = next_serial()
        self._history: History | None = None
        self._merging: tuple[Watched, ...] = ()

    def __enter__(self) -> Self:
        if self._recording:
            raise ValueError(f"{_ACTIVE}{at(user_location())}")
        mode = state.mode
        if mode.attempt is not None:
            remember(self, self._saved)
        if self._used or (self.tracked and not self.persistent):
            self._forget()
            self._spent, self._weights, self._started, self._history = None, None, next_serial(), None
        self._used = False
        self._recording = True
        start_recording(mode, self)
        return self

    def __exit__(self, kind: Any = None, error: Any = None, trace: Any = None) -> None:
        if self._recording:
            stop_recording(state.mode, self)
            self._recording = False
        if self._merging:
            merging, self._merging = self._merging, ()
            for w in merging if kind is None else ():
                w.finish()

    def _stop(self) -> None:
        stop_recording(state.mode, self)
        self._recording = False

    def _forget(self) -> None:
        self.records = []
        self.tracked = set()
        self.held = 0
        self._watched = {}

    def accessed(self, variable: Variable, key: Tensor) -> None:
        """A Variable is being read, `key` stands for it."""
        if self._watches_variables and variable.trainable and key.serial not in self._watched:
            self._watch_variable(variable, key)

    def _watch_variable(self, variable: Variable, key: Tensor) -> None:
        if key.serial not in self._watched:
            self.tracked.add(key.serial)
            self._watched[key.serial] = variable

    def watch(self, tensor: Any, propagate: bool = True) -> None:
        """Treat tensors as sources of gradients.

        Parameters
        ----------
        tensor : Tensor, Variable or nest of them
        propagate : bool
            Let the tapes around this one watch them too, as higher derivatives need.
        """
        mode = state.mode
        if (
            tensor.__class__ is Tensor and not mode.slow and tensor.np_dtype.kind in DIFFERENTIABLE
        ):  # what most calls come to
            recorders = mode.recorders
            if not recorders or (recorders[0] is self and len(recorders) == 1):
                self.tracked.add(tensor.serial)
                return
        tapes = [self]
        if propagate and self in mode.recorders:
            around = mode.recorders[: mode.recorders.index(self)]
            tapes += [t for t in around if isinstance(t, Tape)]
        for leaf in flatten(tensor)[0]:
            if not isinstance(leaf, (Tensor, Variable)):
                raise ValueError(
                    f"Passed in object {leaf!r} of type {type(leaf).__name__!r}, not tf.Tensor or "
                    f"tf.Variable or a nest of them: watch x = tf.constant(value), and compute with x"
                    f"{at(user_location())}"
                )
            if leaf.np_dtype.kind not in DIFFERENTIABLE:
                warn(
                    "The dtype of the watched tensor must be floating (e.g. tf.float32), got "
                    f"tf.{dtype_name(leaf.np_dtype)}",
                    GradientWarning,
                )
            if isinstance(leaf, Tensor):
                leaf = as_tensor(leaf)
            for tape in tapes:
                if isinstance(leaf, Variable):
                    tape._watch_variable(leaf, leaf.key())
                else:
                    tape.tracked.add(leaf.serial)
            if leaf.__class__ is Tensor and (merging := watched(leaf)) is not None:
                self._merging = (*self._merging, merging)

    def watched_variables(self) -> tuple[Variable, ...]:
        """The Variables watched so far, in order of their first read."""
        return tuple(self._watched.values())

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Record nothing inside a ``with`` block."""
        if not self._recording:
            raise ValueError(f"{_INACTIVE}{at(user_location())}")
        with pausing(self):
            self._recording = False
            self.on_event("pause")
            try:
                yield
            finally:
                self.on_event("resume")
                self._recording = True

    def reset(self) -> None:
        """Forget everything recorded and watched, and go on recording."""
        if not self._recording:
            raise ValueError(f"{_INACTIVE}{at(user_location())}")
        remember(self, self._saved)
        for record in self.records:
            self.passed_over(record)
        self.on_event("reset", owner=self.tracked)
        self._forget()

    def snapshot(self) -> Callable[[], None]:
        """How to forget what comes after this point, while it goes on recording."""
        records, watched, history = super().snapshot(), len(self._watched), self._history
        marked = None if history is None else history.snapshot()

        def undo() -> None:
            records()
            while len(self._watched) > watched:
                self._watched.popitem()
            self._history = history
            if marked is not None:
                marked()

        return undo

    def _saved(self) -> Callable[[], None]:
        """How to make it what it is now, whatever happens to it."""
        state = [(name, getattr(self, name)) for name in Tape._STATE]
        records, tracked, watched = list(self.records), set(self.tracked), dict(self._watched)

        def undo() -> None:
            for name, value in state:
                setattr(self, name, value)
            self.records, self.tracked, self._watched = records, tracked, watched

        return undo

    def on_event(self, kind: str, tensor: Tensor | None = None, owner: Any = None) -> None:
        """Keep in the history that something happened which is no op call."""
        self._history = self._history or History()
        self._history.on_event(kind, tensor, owner)

    def passed_over(self, record: Record) -> None:
        """Keep in the history a call that the tape does not follow."""
        if self._history is None:
            self._history = History()
        self._history.follow(record)
