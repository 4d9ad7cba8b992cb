"""The names of targets, and the processors they mean: the whole list, so that no other name reaches the compiler."""

from __future__ import annotations

from ..core.errors import at, user_location
from ..runtime import cpu


def machine_of(target: str) -> cpu.CpuTarget:
    """The processor that a target means; ValueError for other names."""
    if target == "host":
        return cpu.host()
    if target not in cpu.LEVELS:
        raise ValueError(f"a target is 'host' or one of {[*cpu.LEVELS]}, got {target!r}{at(user_location())}")
    return cpu.baseline(target)
