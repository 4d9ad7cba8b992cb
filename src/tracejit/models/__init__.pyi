"""Networks: ``tracejit.keras.models``. Names only.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
from tracejit.layers.model import Model as Model
from tracejit.layers.sequential import Sequential as Sequential
