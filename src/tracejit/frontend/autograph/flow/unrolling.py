"""A warning when tracing an unrolled Python loop takes long."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from ....core.errors import stack_level

#: Seconds that tracing a loop, or compiling, may take without a word.
PATIENCE = 5.0
REMEDY = "A Python loop over numbers is written out; over tracejit.range(n), or range(n) of a tensor n, it is one loop"


class SlowCompilationWarning(UserWarning):
    """Tracing or compiling takes long, as of a Python loop that is written out."""


def written_out(items: Iterable[Any]) -> Iterator[Any]:
    """The `items`, for a loop that traces its body for each of them; warns once, at its line, when that takes long."""
    began, warned = time.monotonic(), False
    for done, item in enumerate(items):
        if not warned and (seconds := time.monotonic() - began) > PATIENCE:
            total = f" of {len(items):,}" if isinstance(items, (range, list, tuple)) else ""
            warnings.warn(
                f"tracing this loop has taken {seconds:.0f} s, for {done:,}{total} iterations. {REMEDY}",
                SlowCompilationWarning,
                stacklevel=stack_level(),
            )
            warned = True
        yield item
