"""Networks: ``tracejit.keras.models``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from ..layers.model import Model
    from ..layers.sequential import Sequential
    from .configuration import NotDescribed
    from .saving import NotLoaded, clone_model, load_model, model_from_json, save_model
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
