"""The last few checkpoints of a program that goes on saving."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import at_user_line
from . import index
from .checkpoint import Checkpoint


class CheckpointManager:
    """Save again and again into one folder, keeping the newest.

    Parameters
    ----------
    checkpoint : Checkpoint
    directory : path
        Made when it is not there.
    max_to_keep : int or None
        How many to keep; older ones are deleted once a newer one is safe. None keeps all.
    checkpoint_name : str
        What file names begin with.
    init_fn : callable, optional
        What :meth:`restore_or_initialize` calls where there is nothing to restore.
    step_counter : integer Variable, optional
        Counts the steps of the program, for `checkpoint_interval`.
    checkpoint_interval : int, optional
        How many steps pass at least between two checkpoints: :meth:`save` does nothing before.

    Examples
    --------
    >>> import tempfile, tracejit as tf
    >>> step = tf.Variable(0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     manager = tf.train.CheckpointManager(tf.train.Checkpoint(step=step), folder, max_to_keep=2)
    ...     for _ in range(3):
    ...         _ = step.assign_add(1), manager.save()
    ...     print([path.removeprefix(folder) for path in manager.checkpoints])
    ['/ckpt-2', '/ckpt-3']
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str | os.PathLike[str],
        max_to_keep: int | None,
        checkpoint_name: str = "ckpt",
        init_fn: Callable[[], Any] | None = None,
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
    ):
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError(f"a checkpoint_interval needs a step_counter{at_user_line()}")
        if max_to_keep is not None and max_to_keep < 1:
            raise ValueError(f"max_to_keep is positive or None, got {max_to_keep}{at_user_line()}")
        if not index.is_name(checkpoint_name):
            raise ValueError(
                f"checkpoint_name begins the names of files in one folder, got {checkpoint_name!r}: give the folder "
                f"as directory{at_user_line()}"
            )
        self.checkpoint = checkpoint
        self.max_to_keep = max_to_keep
        self.init_fn = init_fn
        self.directory: str = os.fspath(directory)
        self._name = checkpoint_name
        self._folder = Path(directory)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._kept = index.noted(self._folder)
        self.step_counter = step_counter
        self.checkpoint_interval = checkpoint_interval
        self._last_step: int | None = None

    @property
    def checkpoints(self) -> list[str]:
        """The paths of what is kept, oldest first."""
        return [os.path.join(self.directory, name) for name in self._kept]

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the newest; None when there is none."""
        return self.checkpoints[-1] if self._kept else None

    def save(self, checkpoint_number: Any = None, check_interval: bool = True) -> str | None:
        """Write the next checkpoint, then delete what is too old. Returns its path, or None where it is too early.

        Parameters
        ----------
        checkpoint_number : int or integer Variable, optional
            By default one more than the last.
        check_interval : bool
            False saves however many steps have passed.
        """
        if check_interval and self._is_early():
            return None
        counter = self.checkpoint.save_counter
        before = int(counter.array)
        counter.assign(before + 1)
        number = before + 1 if checkpoint_number is None else int(checkpoint_number)
        try:
            path = self.checkpoint.write(os.path.join(self.directory, f"{self._name}-{number}"))
        except BaseException:
            counter.assign(before)
            raise
        name = os.path.basename(path)
        kept = [*(n for n in self._kept if n != name), name]
        cut = 0 if self.max_to_keep is None else max(len(kept) - self.max_to_keep, 0)
        index.note(self._folder, kept[cut:])
        self._kept = kept[cut:]
        for old in kept[:cut]:
            index.remove(self._folder, old)
        index.clean(self._folder)
        self._last_step = None if self.step_counter is None else int(self.step_counter)
        return path

    def _is_early(self) -> bool:
        if self.checkpoint_interval is None or self._last_step is None:
            return False
        return int(self.step_counter) < self._last_step + self.checkpoint_interval

    def restore_or_initialize(self) -> str | None:
        """Restore the newest checkpoint and return its path, or call `init_fn` and return None."""
        path = self.latest_checkpoint
        if path is not None:
            self.checkpoint.restore(path)
        elif self.init_fn is not None:
            self.init_fn()
        return path
