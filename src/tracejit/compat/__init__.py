"""Other versions of the names that tutorials use."""

from . import v1

__all__ = ["v1"]
