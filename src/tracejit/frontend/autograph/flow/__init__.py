"""Branches and loops traced into `cond` and `loop`."""
