"""PyDataset: batches that a program's class makes, by number. Knows no network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class PyDataset:
    """Base of classes that make batches: a subclass defines ``__len__`` and ``__getitem__(number)``.

    `workers`, `use_multiprocessing` and `max_queue_size` are accepted: batches are made in this thread.

    Examples
    --------
    >>> import tracejit as tf
    >>> class Squares(tf.keras.utils.PyDataset):
    ...     def __len__(self):
    ...         return 3
    ...     def __getitem__(self, number):
    ...         return tf.constant([[float(number)]]), tf.constant([[float(number**2)]])
    >>> model = tf.Sequential([tf.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> len(model.fit(Squares(), epochs=2, verbose=0).history["loss"])
    2
    """

    def __init__(self, workers: int = 1, use_multiprocessing: bool = False, max_queue_size: int = 10):
        self.workers, self.use_multiprocessing, self.max_queue_size = (
            workers,
            use_multiprocessing,
            max_queue_size,
        )

    @property
    def num_batches(self) -> int:
        """How many batches there are."""
        return len(self)

    def __len__(self) -> int:
        """How many batches there are; NotImplementedError unless a subclass says it."""
        raise NotImplementedError(f"{type(self).__name__} defines no __len__")

    def __getitem__(self, index: int) -> Any:
        """The batch of number `index`; NotImplementedError unless a subclass makes it."""
        raise NotImplementedError(f"{type(self).__name__} defines no __getitem__(index)")

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.num_batches))

    def on_epoch_begin(self) -> None:
        """What happens before the batches are read."""

    def on_epoch_end(self) -> None:
        """What happens after all batches have been read."""
