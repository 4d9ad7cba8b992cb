"""Tensors of text: ``tracejit.strings``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from .operations import (
        as_string,
        bytes_split,
        format,
        join,
        length,
        lower,
        reduce_join,
        regex_full_match,
        regex_replace,
        split,
        strip,
        substr,
        to_number,
        unicode_decode,
        unicode_encode,
        unicode_split,
        upper,
    )
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
