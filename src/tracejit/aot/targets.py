"""The names of targets, and the processors they mean: the whole list, so that no other name reaches the compiler."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ..compiler.codegen.machines import own_architecture
from ..core.errors import at, user_location
from ..runtime import cpu

#: What code is made for when nobody says.
DEFAULT = ("x86-64" if own_architecture() == "x86_64" else "host",)
#: Code for several processors in one, which finds out what it runs on; the best first.
_SEVERAL = {"x86-64": ("x86-64-v4", "x86-64-v3", "x86-64-v2")}


class Machines(NamedTuple):
    """What a target means.

    Attributes
    ----------
    target : CpuTarget
        What a processor must have at least.
    levels : tuple of CpuTarget
        The processors to make code for, the best first.
    """

    target: cpu.CpuTarget
    levels: tuple[cpu.CpuTarget, ...]


def machines_of(name: str) -> Machines:
    """What the target of that name means; ValueError for other names."""
    if name == "host":
        return Machines(cpu.host(), (cpu.host(),))
    if name not in cpu.LEVELS:
        raise ValueError(f"a target is 'host' or one of {[*cpu.LEVELS]}, got {name!r}{at(user_location())}")
    levels = tuple(cpu.baseline(level) for level in _SEVERAL.get(name, (name,)))
    return Machines(replace(levels[-1], name=name), levels)
