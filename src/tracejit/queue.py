"""Queues of tensors: ``tracejit.queue``. Names only."""

from .data.queue import FIFOQueue, QueueError
