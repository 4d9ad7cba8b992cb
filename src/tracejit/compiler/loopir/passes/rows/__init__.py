"""Passes on what goes row by row with matrix products."""
