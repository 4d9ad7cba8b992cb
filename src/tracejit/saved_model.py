"""Compiled functions and their Variables in a file: ``tracejit.saved_model``. Names only."""

from .library.loaded_model import LoadedModel, load
from .library.saved_model import SaveOptions, save

__all__ = ["LoadedModel", "SaveOptions", "load", "save"]
