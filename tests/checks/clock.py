"""Time as a program has had it: limits that hold on a busy machine, too, where the wall's clock runs on without it."""

from __future__ import annotations

import os
import time
from pathlib import Path


class Stopwatch:
    """How long a process has been at work since this was made.

    That is what its processors say, or the wall's clock where that is less: several threads work at once.

    Parameters
    ----------
    process : int, optional
        Its number; by default this process. Of another one only Linux tells; else the wall's clock is taken.
    """

    def __init__(self, process: int | None = None):
        self._process = process
        self._wall, self._work = time.monotonic(), self._worked()

    def seconds(self) -> float:
        """How long until now."""
        return min(time.monotonic() - self._wall, self._worked() - self._work)

    def _worked(self) -> float:
        if self._process is None:
            return time.process_time()
        try:
            fields = Path(f"/proc/{self._process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return time.monotonic()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
