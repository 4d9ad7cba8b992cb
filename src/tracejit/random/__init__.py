"""Random numbers: ``tracejit.random``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from .generators import *
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
