"""Execution of graphs: the one place that loads the compiler, at the first compilation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ..core import seams, settings
from ..core.ir.graph import Graph, walk
from ..core.lazy import loaded
from ..core.spec import TEXT

#: Where a graph keeps whether it holds text.
_TEXT = "holds text"

Executable = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]]


def compiler() -> Any:
    """The compiler's pipeline module, loaded when first needed: importing tracejit must stay quick."""
    return loaded("tracejit.compiler.pipeline")


@cache
def _compile_graph() -> Callable[[Graph], Executable]:
    compile_graph: Callable[[Graph], Executable] = loaded("tracejit.compiler.cache").compile_graph
    return compile_graph


def holds_text(graph: Graph) -> bool:
    """Is there text among its values? Regions have theirs from outside of them, or make them."""
    values = (v for _, node in walk(graph) for v in node.outputs)
    return any(v.spec.dtype is TEXT for vs in (graph.inputs, values) for v in vs)


def executable(graph: Graph) -> Executable:
    """Machine code for a graph, compiled once: arrays in the order of its inputs to arrays in that of its outputs."""
    text = graph.derived.get(_TEXT)
    if text is None:
        text = graph.derived[_TEXT] = holds_text(graph)
    if text:
        by_numbers = loaded("tracejit.frontend.text_execution")
        with_text: Executable = by_numbers.TextExecutable(graph, executable(by_numbers.of_numbers(graph)))
        return with_text
    if settings.current().nans:
        made: Executable = loaded("tracejit.frontend.checked_execution").checked(graph)
        return made
    return _compile_graph()(graph)


def split(graph: Graph) -> Any:
    """The graph and its gradient as a forward that keeps values and a backward that reads them."""
    return loaded("tracejit.compiler.graph.partition").partition(graph)


seams.executable.provide(executable)
seams.split.provide(split)
