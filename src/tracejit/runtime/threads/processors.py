"""The number of processors that this process may use, by affinity and control groups.

A container that may use two processors of 64 sees all of them. With a thread on each it would use up its time at once,
and then stand still until the next period.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

MANY = 1 << 20
_GROUPS, _MEMBERSHIP = "/sys/fs/cgroup", "/proc/self/cgroup"


def processors() -> int:
    """How many processors this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    return min(count, _allowed())


@cache
def _allowed() -> int:
    """How many processors' worth of time the control groups of this process leave it."""
    return min(quotas(_GROUPS, _MEMBERSHIP), default=MANY)


def quotas(groups: str, membership: str) -> Iterator[int]:
    """Processors' worth of time, rounded up, in each control group that the process is in and that has a limit."""
    for line in _read(membership).splitlines():
        number, names, own = (*line.split(":", 2), "", "")[:3]
        if number != "0" and "cpu" not in names.split(","):
            continue
        parts = [part for part in own.split("/") if part not in ("", "..")]
        for depth in range(len(parts), -1, -1):  # a name from outside of a container may mean nothing within
            here = "/".join(filter(None, (groups, names, *parts[:depth])))
            limit = _read(f"{here}/cpu.max").split() if number == "0" else _first_version(here)
            if len(limit) == 2 and all(map(str.isdecimal, limit)) and int(limit[1]) > 0:
                yield max(1, -(-int(limit[0]) // int(limit[1])))


def _first_version(group: str) -> list[str]:
    """What ``cpu.max`` has in the second version of control groups: time and period in microseconds."""
    return [_read(f"{group}/cpu.cfs_{name}_us").strip() for name in ("quota", "period")]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return ""
