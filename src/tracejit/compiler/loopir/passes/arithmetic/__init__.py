"""Passes on the arithmetic inside of nests, under ``fastmath`` only."""
