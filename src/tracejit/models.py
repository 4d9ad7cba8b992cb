"""Networks: ``tracejit.keras.models``. Names only."""

from .library.layers.model import Model
from .library.layers.sequential import Sequential
