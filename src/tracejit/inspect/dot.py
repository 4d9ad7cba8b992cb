"""Graphs in the language of Graphviz, for whoever lays them out with other programs: ``dot -Tpng f.dot``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..core.ir.graph import Graph
from .drawing import COLOURS, Panel, panel_of


def write_dot(graph: Graph, path: str | os.PathLike[str], names: Sequence[str] = ()) -> None:
    """Write a graph as :func:`draw` draws it, as text for Graphviz: `graph`, `path` and `names` as there."""
    text = "\n".join(
        ["digraph {", '  node [shape=box, style="rounded,filled"]', *_lines(panel_of(graph, names)), "}\n"]
    )
    Path(path).write_text(text, "utf-8", "backslashreplace")


def _lines(drawn: Panel, prefix: str = "n") -> Iterator[str]:
    """Boxes and edges; the panels inside a box are clusters, joined to it by dashed lines."""
    for k, box in enumerate(drawn.boxes):
        name = f"{prefix}{k}"
        fill, line = COLOURS[box.family]
        label = quoted("\n".join(filter(None, (box.head, box.detail))))
        yield f'  {name} [label={label}, tooltip={quoted(box.tip)}, fillcolor="{fill}", color="{line}"]'
        for place, inner in enumerate(box.panels):
            inside = f"{name}_{place}_"
            yield f"  subgraph cluster_{inside} {{ label={quoted(inner.title)}"
            yield from _lines(inner, inside)
            yield "  }"
            if inner.boxes:
                yield f"  {name} -> {inside}0 [style=dashed, arrowhead=none]"
    for start, end in drawn.edges:
        yield f"  {prefix}{start} -> {prefix}{end}"


def quoted(text: str) -> str:
    """Text as a string of the language."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
