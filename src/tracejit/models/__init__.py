"""Networks: ``tracejit.keras.models``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from ..layers.model import Model
    from ..layers.sequential import Sequential
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
