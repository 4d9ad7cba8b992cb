"""Queues of tensors: ``tracejit.queue``. Names only."""

from .data.fifo_queue import FIFOQueue, QueueError

__all__ = [
    "FIFOQueue",
    "QueueError",
]
