"""Where a graph becomes something that runs: the one place that loads the compiler, at the first compilation.

A graph is compiled once per settings; what was compiled is kept with the graph.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import settings
from ..core.graph import Graph
from ..ops.calls import runner, splitter

Executable = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]


def compiler() -> Any:
    """The compiler's pipeline module, loaded when first needed: importing tracejit must stay quick."""
    return importlib.import_module("tracejit.compiler.pipeline")


def executable(graph: Graph) -> Executable:
    """Compile a graph: arrays in the order of its inputs to arrays in the order of its outputs."""
    key = ("executable", settings.current())
    found = graph.derived.get(key)
    if found is None:
        found = graph.derived[key] = compiler().compile_graph(graph)
    return found


def split(graph: Graph) -> Any:
    """The graph and its gradient as a forward that keeps values and a backward that reads them."""
    return importlib.import_module("tracejit.compiler.partition").partition(graph)


runner[0] = executable
splitter[0] = split
