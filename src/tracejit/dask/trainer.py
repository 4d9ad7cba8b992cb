"""Data-parallel training: parameters and optimizer stay here, blocks of data stay with workers, gradients come back.

A step is done or not: Variables change when the gradients of all its blocks are here. So a worker that dies costs the
time of what it had to do, and nothing else.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.base import persist as persisted

import tracejit as tf

from ..aot.targets import DEFAULT
from ..callbacks.callback import History
from ..core.errors import at, user_location
from ..inspect.progress import counted, level_of
from .sums import BlockSum, value_and_grad


class Trainer:
    """Trains Variables on Dask arrays.

    Parameters
    ----------
    loss : callable
        A function of blocks of rows that gives one float and reads the Variables.
    variables : sequence of Variable
    optimizer : Optimizer
        Of ``tracejit.optimizers``, or anything with its ``apply_gradients``.
    reduction : {"mean", "sum"}
        What the losses of blocks become: the mean weighted by rows, where `loss` is itself a mean, or their sum.
    split_every : int
        How many gradients one task adds up.
    targets : sequence of str
        The processors that workers may have, as for :func:`tracejit.export`.

    Raises
    ------
    NotExportable
        At the first step: `loss` needs Python, assigns Variables (as batch normalisation does) or draws random numbers
        (as dropout does).

    Examples
    --------
    >>> import dask.array as da, numpy as np, tracejit as tf, tracejit.dask as td
    >>> x = da.from_array(np.arange(6.0), chunks=2)
    >>> w = tf.Variable(0.0, dtype=tf.float64)
    >>> trainer = td.Trainer(lambda x, y: tf.reduce_mean((w * x - y) ** 2), [w], tf.optimizers.SGD(0.05))
    >>> history = trainer.fit(x, 3.0 * x, epochs=20, verbose=0)
    >>> round(float(w), 6)
    3.0
    """

    optimizer: Any
    variables: list[tf.Variable]

    def __init__(
        self,
        loss: Callable[..., Any],
        variables: Sequence[tf.Variable],
        optimizer: Any,
        *,
        reduction: str = "mean",
        split_every: int = 8,
        targets: Sequence[str] = DEFAULT,
    ):
        self.variables, self.optimizer = list(variables), optimizer
        if not self.variables:
            raise ValueError(f"there are no Variables to train{at(user_location())}")
        self._gradient: BlockSum = value_and_grad(
            loss, self.variables, reduction=reduction, split_every=split_every, targets=targets
        )

    def step(self, *data: Any) -> float:
        """One step on all the rows of `data`, the Dask arrays that the loss takes; returns the loss before it."""
        value, gradients = self._gradient(*data)
        self.optimizer.apply_gradients(zip(map(tf.constant, gradients), self.variables, strict=True))
        return float(value)

    def fit(
        self,
        *data: da.Array,
        epochs: int = 1,
        blocks_per_step: int | None = None,
        shuffle: bool = False,
        seed: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
        max_to_keep: int | None = 3,
        persist: bool = True,
        verbose: Any = "auto",
    ) -> History:
        """Train on Dask arrays, again and again.

        Parameters
        ----------
        *data : dask.array.Array
            The arguments of the loss, cut alike along their rows.
        epochs : int
            How often all rows are seen.
        blocks_per_step : int, optional
            How many blocks of rows one step takes; by default all.
        shuffle : bool
            Take the blocks of each epoch in another order, which depends on `seed` and the epoch alone.
        seed : int
        checkpoint : path, optional
            A folder: Variables, optimizer and epoch are saved there after each epoch. Where it holds a checkpoint,
            training goes on from it, with the same numbers as if it had never ended.
        max_to_keep : int, optional
            How many checkpoints are kept.
        persist : bool
            Keep the blocks in the memory of the workers. False computes them anew for every step.
        verbose : "auto", 0, 1 or 2
            0 prints nothing, 2 a line per epoch, 1 shows a bar on stderr too. "auto" is 1 at a terminal or in a
            notebook.

        Returns
        -------
        History
            With the mean of the losses of each epoch that ran.

        Raises
        ------
        ShapeError
            The arrays have different rows or blocks.
        """
        self._check(data, blocks_per_step)
        epoch = tf.Variable(0, dtype=tf.int64, trainable=False)
        manager = None if checkpoint is None else self._manager(epoch, checkpoint, max_to_keep)
        blocks = persisted(*data) if persist else data
        history, shown = History(), _Shown(verbose, epochs)
        history.history["loss"] = []
        for number in range(int(epoch.array), epochs):
            order = np.arange(data[0].numblocks[0])
            if shuffle:
                order = np.random.default_rng((seed, number)).permutation(order)
            size = len(order) if blocks_per_step is None else blocks_per_step
            taken = [order[k : k + size].tolist() for k in range(0, len(order), size)]
            losses = [self.step(*(x.blocks[part] for x in blocks)) for part in shown.steps(taken, number)]
            history.on_epoch_end(number, {"loss": float(np.mean(losses))})
            shown.line(number, history.history["loss"][-1])
            epoch.assign(number + 1)
            if manager is not None:
                manager.save()
        return history

    def _check(self, data: Sequence[Any], blocks_per_step: int | None) -> None:
        if not data or not all(isinstance(x, da.Array) and x.ndim for x in data):
            kinds = ", ".join(type(x).__name__ for x in data) or "nothing"
            raise TypeError(f"fit takes Dask arrays that have rows, got {kinds}{at(user_location())}")
        if len({x.numblocks[0] for x in data}) > 1 or len({str(x.chunks[0]) for x in data}) > 1:
            rows = " and ".join(str(x.chunks[0]) for x in data)
            raise tf.ShapeError(
                f"the rows are cut into blocks of {rows}: cut them alike, y.rechunk({{0: x.chunks[0]}})"
                f"{at(user_location())}"
            )
        if blocks_per_step is not None and blocks_per_step < 1:
            raise ValueError(f"blocks_per_step is positive, got {blocks_per_step}{at(user_location())}")

    def _manager(self, epoch: tf.Variable, folder: Any, max_to_keep: int | None) -> Any:
        """What saves, after it has restored what was saved."""
        if hasattr(self.optimizer, "build"):
            self.optimizer.build(self.variables)
        saved = tf.train.Checkpoint(trained=self.variables, optimizer=self.optimizer, epoch=epoch)
        manager = tf.train.CheckpointManager(saved, folder, max_to_keep)
        manager.restore_or_initialize()
        return manager


class _Shown:
    """What is shown of a training."""

    def __init__(self, verbose: Any, epochs: int):
        self.level = level_of(verbose)
        self.epochs, self.started = epochs, time.perf_counter()

    def steps(self, parts: Sequence[Any], number: int) -> Iterable[Any] | Iterator[Any]:
        """The parts of an epoch, counted where somebody looks."""
        self.started = time.perf_counter()
        return counted(parts, len(parts)) if self.level == 1 else parts

    def line(self, number: int, loss: float) -> None:
        """Say how an epoch went."""
        if self.level:
            seconds = time.perf_counter() - self.started
            print(f"Epoch {number + 1}/{self.epochs} - {seconds:.1f}s - loss: {loss:.4f}")
