"""What tutorials ask of ``tf.test``: ``tracejit.test``. Names only."""

from .frontend.machine import is_built_with_cuda, is_gpu_available

__all__ = [
    "is_built_with_cuda",
    "is_gpu_available",
]
