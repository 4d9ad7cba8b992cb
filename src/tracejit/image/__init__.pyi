"""Images: ``tracejit.image``. Names only.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
from tracejit.image.adjust import adjust_contrast as adjust_contrast
