"""Assertions about tensors, and where NaNs come from: ``tracejit.debugging``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from .assertions import *
    from .numerics import *
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
