"""Images: ``tracejit.image``. Names only."""

from .adjust import adjust_contrast
