"""Compiled functions and their Variables in a file: ``tracejit.saved_model``. Names only."""

from .loading import LoadedModel, load
from .saving import SaveOptions, save

__all__ = ["LoadedModel", "SaveOptions", "load", "save"]
