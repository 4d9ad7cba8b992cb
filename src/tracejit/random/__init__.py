"""Random numbers: ``tracejit.random``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from .generators import (
        Generator,
        categorical,
        get_global_generator,
        normal,
        set_global_generator,
        set_seed,
        shuffle,
        truncated_normal,
        uniform,
    )
    from .stateless import *
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
