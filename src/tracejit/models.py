"""Networks: ``tracejit.keras.models``. Names only."""

from .layers.model import Model
from .layers.sequential import Sequential

__all__ = [
    "Model",
    "Sequential",
]
