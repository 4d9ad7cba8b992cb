"""QR: panels of few columns, and groups of panels."""

from .panels import add_qr

__all__ = ["add_qr"]
