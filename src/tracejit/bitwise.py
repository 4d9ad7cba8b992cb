"""Integers as rows of bits: ``tracejit.bitwise``. Names only."""

from .ops.elementwise.bits import bitwise_and, bitwise_or, bitwise_xor, invert, left_shift, right_shift

__all__ = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "invert",
    "left_shift",
    "right_shift",
]
