"""Compiled functions and their Variables in a file: ``tracejit.saved_model``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from .loading import LoadedModel, load
    from .saving import NotSaved, SaveOptions, save
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
