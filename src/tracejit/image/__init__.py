"""Images: ``tracejit.image``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from .adjust import adjust_contrast
    from .colors import *
    from .measures import *
    from .sizes import *
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
