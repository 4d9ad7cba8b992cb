"""A warning when compiling takes long, which names the line that most of the operations come from."""

from __future__ import annotations

import warnings
from collections import Counter

from ...core.errors import Location, stack_level
from ...core.ir.graph import Graph
from ..autograph.flow.unrolling import PATIENCE, REMEDY, SlowCompilationWarning

#: Operations from one line from which on it is likely a loop.
WRITTEN_OUT = 30


def warn_if_slow(name: str, graph: Graph, seconds: float) -> None:
    """Warn, at the user's line, of a trace that took long to compile."""
    if seconds < PATIENCE:
        return
    places = Counter((n.location.code, n.location.lasti) for n in graph.nodes if n.location is not None)
    lines: Counter[tuple[str, int]] = Counter()
    for (code, lasti), count in places.items():
        where = Location((code, lasti))
        lines[where.file, where.line] += count
    most = ""
    if lines:
        (file, line), count = lines.most_common(1)[0]
        most = f", {count:,} of them at {file}:{line}"
        if count >= WRITTEN_OUT:
            most += f". {REMEDY}"
    warnings.warn(
        f"compiling {name} took {seconds:.0f} s, for {len(graph.nodes):,} operations{most}",
        SlowCompilationWarning,
        stacklevel=stack_level(),
    )
