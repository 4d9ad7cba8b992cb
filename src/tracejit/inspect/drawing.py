"""Drawing a graph: a picture in one file, SVG or HTML, that any browser opens.

One box per op, coloured by family, with constants written into it; what a loop or a branch holds is drawn
inside its box. Pointing at a box shows its types and the user's line. Knows graphs, not how they are compiled
or run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ..core.ir.graph import Constant, Graph, Node, Value, needed_nodes
from ..core.spec import TensorSpec
from ..core.tracing.loop_form import LoopForm, Parts, Results
from ..frontend.function.function import Function
from .layout import Layout, Point, layout
from .page import escape, page

#: Fill and line of each family of ops, and of what goes in and out.
COLOURS = {
    "input": ("#eceff1", "#78909c"),
    "arithmetic": ("#e3f2fd", "#1e88e5"),
    "transcendental": ("#ede7f6", "#7e57c2"),
    "compare": ("#fff8e1", "#f9a825"),
    "reduce": ("#fce4ec", "#d81b60"),
    "shape": ("#f5f5f5", "#9e9e9e"),
    "index": ("#efebe9", "#8d6e63"),
    "linalg": ("#e8f5e9", "#43a047"),
    "control": ("#fff3e0", "#fb8c00"),
    "state": ("#e0f7fa", "#00acc1"),
    "output": ("#cfd8dc", "#455a64"),
}
_SHORT = {"float": "f", "int": "i", "uint": "u", "complex": "c"}
_LETTER, _SMALL, _MARGIN, _TITLE = 7.3, 5.9, 14.0, 22.0


@dataclass
class Box:
    """One box: a head, a line below it, what pointing at it shows, and the panels inside it."""

    family: str
    head: str
    detail: str
    tip: str
    panels: list[Panel] = field(default_factory=list)

    @property
    def size(self) -> Point:
        """Width and height that hold the text and the panels."""
        text = max(_LETTER * len(self.head), _SMALL * len(self.detail)) + 16.0
        height = 20.0 + 14.0 * bool(self.detail)
        if not self.panels:
            return max(text, 40.0), height
        inner = sum(p.width for p in self.panels) + 10.0 * (len(self.panels) - 1)
        return max(text, inner + 20.0), height + max(p.height for p in self.panels) + 10.0


@dataclass
class Panel:
    """A graph laid out: boxes, the edges between them, and their places."""

    title: str
    boxes: list[Box]
    edges: list[tuple[int, int]]
    places: Layout

    @property
    def width(self) -> float:
        return max(self.places.width, _SMALL * len(self.title)) + 2 * _MARGIN

    @property
    def height(self) -> float:
        return self.places.height + 2 * _MARGIN + (_TITLE if self.title else 0.0)


class Drawing:
    """A picture of a graph; notebooks show it.

    Attributes
    ----------
    name : str
        Of the graph.
    svg : str
        The picture.
    """

    name: str
    svg: str

    def __init__(self, name: str, svg: str):
        self.name, self.svg = name, svg

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x:auto">{self.svg}</div>'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to the file `path`: ``.svg`` or ``.html``, see :func:`draw`; ValueError for another ending."""
        folder, name = os.path.split(os.fspath(path))
        if not name.endswith((".svg", ".html")):
            raise ValueError(f"a drawing is written to a file ending in .svg or .html, not {name!r}")
        os.makedirs(folder or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(self.svg if name.endswith(".svg") else page(self.name, self.svg))


def draw(what: Any, *args: Any, **kwargs: Any) -> Drawing:
    """Draw a graph, or that of a function for some arguments: ``draw(graph, path, names)`` or ``draw(f, x)``.

    What neither results nor effects need is left out.

    Parameters
    ----------
    what : Graph or callable
        A graph as from ``f.graph(x)`` or ``f.gradient_graph(x)``, or a plain or compiled function.
    *args, **kwargs
        Of a function, what it is called with. Of a graph, two optional ones. `path`: a file to write, whose name ends
        in ``.svg`` for the bare picture, or ``.html`` for a page in which one can zoom, move about, and see a box's
        neighbours by pointing at it; it needs no other. `names`: of the graph's inputs, in order; those without are
        numbered.

    Returns
    -------
    Drawing
        A notebook shows it; ``save(path)`` writes it.

    Raises
    ------
    ValueError
        For another ending.

    Examples
    --------
    >>> import tracejit as tf
    >>> picture = tf.draw(lambda x: tf.sin(x) * 2.0, tf.constant(1.0))
    >>> picture.svg.startswith("<svg")
    True
    >>> f = tf.function(lambda x: tf.sin(x) * 2.0)
    >>> drawing = tf.draw(f.graph(tf.constant(1.0)), "f.svg", ["x"])  # doctest: +SKIP
    """
    if isinstance(what, Graph):
        return _written(what, *args, **kwargs)
    f = what if hasattr(what, "graph") else Function(what)
    graph = f.graph(*args, **kwargs)
    parameters = list(f.signature.parameters) if f.signature is not None else []
    return drawn(graph, parameters if len(parameters) == len(args) == len(graph.inputs) else ())


def _written(graph: Graph, path: Any = None, names: Sequence[str] = ()) -> Drawing:
    picture = drawn(graph, names)
    if path is not None:
        picture.save(path)
    return picture


def drawn(graph: Graph, names: Sequence[str] = ()) -> Drawing:
    """The picture of a graph, whose inputs have these names."""
    return Drawing(graph.name, to_svg(panel_of(graph, names)))


def panel_of(graph: Graph, names: Sequence[str]) -> Panel:
    """The whole graph laid out; inputs that have no name are numbered."""
    given = [*names[: len(graph.inputs)], *(f"input {k}" for k in range(len(names), len(graph.inputs)))]
    return panel(graph, given, "", _results(graph, given))


def _results(graph: Graph, names: Sequence[str]) -> list[str]:
    """What to call the outputs: new values of Variables go by their input's name."""
    updates = {output: names[position] for position, output in graph.state}
    return [f"new {updates[k]}" if k in updates else f"result {k}" for k in range(len(graph.outputs))]


# ---- from graphs to panels ------------------------------------------------------------------------------


def panel(graph: Graph, inputs: Sequence[str], title: str, outputs: Sequence[str]) -> Panel:
    """Lay out what a graph's outputs need, its regions included; literals do not get boxes of their own."""
    nodes = needed_nodes(graph)
    literals = {n.outputs[0]: _literal(n.attrs["value"]) for n in nodes if n.op.literal}
    boxes: list[Box] = []
    edges: list[tuple[int, int]] = []
    made: dict[Value, int] = {}
    read = {v for n in nodes for v in n.inputs} | set(graph.outputs)
    for value, name in zip(graph.inputs, inputs, strict=True):
        if value in read:
            made[value] = len(boxes)
            boxes.append(Box("input", name, short(value.spec), f"{name}: {value.spec}"))
    for node in nodes:
        if node.op.literal:
            continue
        edges += [(made[v], len(boxes)) for v in node.inputs if v in made]
        made.update(dict.fromkeys(node.outputs, len(boxes)))
        boxes.append(_box(node, literals))
    for value, name in zip(graph.outputs, outputs, strict=True):
        if value in made:
            edges.append((made[value], len(boxes)))
        boxes.append(Box("output", name, literals.get(value, ""), f"{name}: {value.spec}"))
    return Panel(title, boxes, edges, layout([b.size for b in boxes], edges))


def _box(node: Node, literals: dict[Value, str]) -> Box:
    family = node.op.infer.__module__.rpartition(".")[2]
    plain = [f"{k}={_attribute(v)}" for k, v in node.attrs.items() if not isinstance(v, Graph)]
    specs = ", ".join(short(v.spec) for v in node.outputs)
    panels = [
        panel(region, *_region_names(node, key, region))
        for key, region in node.attrs.items()
        if isinstance(region, Graph)
    ]
    shown = [] if family in ("shape", "control") else plain
    tip = [
        node.op.name + (f" ({', '.join(plain)})" if plain else ""),
        *(f"takes {v.spec}" for v in node.inputs),
        *(f"gives {v.spec}" for v in node.outputs),
    ]
    if node.location is not None:
        tip.append(str(node.location).replace("\n      ", "\n    "))
    return Box(
        family if family in COLOURS else "control",
        _head(node, literals),
        " → ".join([", ".join(shown), specs] if shown else [specs]),
        "\n".join(tip),
        panels,
    )


def _head(node: Node, literals: dict[Value, str]) -> str:
    """The op's name or sign, with literal operands in their places."""
    name, sign = node.op.name, node.op.sign
    operands = [literals.get(v, "·") for v in node.inputs]
    if all(o == "·" for o in operands) or len(operands) > 4:
        return f"{sign}  {name}" if sign else name
    if sign and len(operands) == 2:
        return f"{operands[0]} {sign} {operands[1]}"
    return f"{name}({', '.join(operands)})"


def _region_names(node: Node, key: str, region: Graph) -> tuple[list[str], str, list[str]]:
    """Names for a region's inputs, its title, names for its outputs."""
    numbered = [f"result {k}" for k in range(len(region.outputs))]
    loop = LoopForm.of(node)
    if loop is None:
        return [f"operand {k}" for k in range(len(region.inputs))], key, numbered
    named = [("carry", loop.init), ("row", loop.xs), ("from outside", loop.consts)]
    names = Parts(*([f"{what} {k}" for k in range(len(part))] for what, part in named))
    if region is loop.cond:
        return list(names.of_cond()), "while", ["go on"]
    new = [f"next {name}" for name in names.carry]
    written = [f"write row {k}" for k in range(len(loop.ys_out))]
    return list(names.of_body("i")), "each iteration", Results(new, None, written).of_body()


def short(spec: TensorSpec) -> str:
    """A spec in few letters: ``f32[128,10]``."""
    name = spec.dtype.name
    for long, letter in _SHORT.items():
        if name.startswith(long):
            name = letter + name[len(long) :]
    return f"{name}[{','.join(map(str, spec.shape))}]" if spec.shape else name


def _literal(constant: Constant) -> str:
    array = constant.array
    if array.ndim == 0:
        return _number(array[()])
    if array.ndim > 1 or array.size == 0:
        return short(TensorSpec(array.shape, array.dtype))
    shown = [_number(x) for x in array]
    if len(shown) > 4:
        shown[2:-1] = "…"
    return f"[{' '.join(shown)}]"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)


def _attribute(value: Any) -> str:
    if isinstance(value, tuple):
        inner = ", ".join(map(_attribute, value))
        return inner if len(value) == 1 else f"({inner})"
    return value.name if isinstance(value, np.dtype) else _number(value)


# ---- from panels to SVG ---------------------------------------------------------------------------------


def to_svg(drawn: Panel) -> str:
    """The whole picture, the families' colours explained above it."""
    used = [f for f in COLOURS if f in set(_families(drawn))]
    legend_width = sum(_SMALL * len(f) + 34.0 for f in used)
    width, height = max(drawn.width, legend_width + 2 * _MARGIN), drawn.height + 30.0
    body: list[str] = []
    _legend(used, body)
    _panel_svg(drawn, (width - drawn.width) / 2, 30.0, "", body)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="DejaVu Sans, Verdana, sans-serif">',
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
            *body,
            "</svg>",
        ]
    )


def _families(drawn: Panel) -> Iterator[str]:
    for box in drawn.boxes:
        yield box.family
        for inner in box.panels:
            yield from _families(inner)


def _legend(families: Sequence[str], body: list[str]) -> None:
    x = _MARGIN
    for family in families:
        fill, line = COLOURS[family]
        body.append(f'<rect x="{x:.1f}" y="9" width="14" height="14" rx="3" fill="{fill}" stroke="{line}"/>')
        body.append(f'<text x="{x + 19:.1f}" y="20" font-size="10.5" fill="#455a64">{family}</text>')
        x += _SMALL * len(family) + 34.0


def _panel_svg(drawn: Panel, x: float, y: float, prefix: str, body: list[str]) -> None:
    """Draw a panel with its upper left corner at (x, y); `prefix` keeps names of boxes apart."""
    if drawn.title:
        body.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{drawn.width:.1f}" height="{drawn.height:.1f}" '
            'rx="6" fill="#ffffff" stroke="#b0bec5" stroke-dasharray="4 3"/>'
        )
        body.append(
            f'<text x="{x + 10:.1f}" y="{y + 16:.1f}" font-size="10.5" font-style="italic" '
            f'fill="#546e7a">{escape(drawn.title)}</text>'
        )
    left, top = x + _MARGIN, y + _MARGIN + (_TITLE if drawn.title else 0.0)
    left += (drawn.width - 2 * _MARGIN - drawn.places.width) / 2
    for (a, b), route in zip(drawn.edges, drawn.places.routes, strict=True):
        path = _curve([(left + px, top + py) for px, py in route])
        body.append(
            f'<path class="edge" data-from="{prefix}{a}" data-to="{prefix}{b}" d="{path}" '
            f'fill="none" stroke="{COLOURS[drawn.boxes[a].family][1]}" stroke-opacity="0.55"/>'
        )
    for k, (box, center) in enumerate(zip(drawn.boxes, drawn.places.centers, strict=True)):
        _box_svg(box, left + center[0], top + center[1], f"{prefix}{k}", body)


def _box_svg(box: Box, cx: float, cy: float, name: str, body: list[str]) -> None:
    width, height = box.size
    x, y = cx - width / 2, cy - height / 2
    fill, line = COLOURS[box.family]
    radius = 10 if box.family in ("input", "output") else 4
    body.append(f'<g class="box" data-name="{name}"><title>{escape(box.tip)}</title>')
    body.append(
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius}" '
        f'fill="{fill}" stroke="{line}"/>'
    )
    body.append(
        f'<text x="{cx:.1f}" y="{y + 14:.1f}" font-size="12" text-anchor="middle" '
        f'fill="#212121">{escape(box.head)}</text>'
    )
    if box.detail:
        body.append(
            f'<text x="{cx:.1f}" y="{y + 27:.1f}" font-size="9.5" text-anchor="middle" '
            f'fill="#607d8b">{escape(box.detail)}</text>'
        )
    body.append("</g>")
    inner = sum(p.width for p in box.panels) + 10.0 * (len(box.panels) - 1)
    left = cx - inner / 2
    for k, drawn in enumerate(box.panels):
        _panel_svg(drawn, left, y + 34.0, f"{name}.{k}.", body)
        left += drawn.width + 10.0


def _curve(points: Sequence[Point]) -> str:
    """A smooth path through points ever further down, vertical at its ends, never swinging out between them.

    Slopes are the harmonic means of Fritsch and Butland (1984), zero where the direction turns.
    """
    steps = [(x1 - x0) / max(y1 - y0, 1e-6) for (x0, y0), (x1, y1) in pairwise(points)]
    inner = (2 * a * b / (a + b) if a * b > 0 else 0.0 for a, b in pairwise(steps))
    slopes = [0.0, *inner, 0.0]
    text = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for k, ((x0, y0), (x1, y1)) in enumerate(pairwise(points)):
        third = (y1 - y0) / 3
        text.append(
            f"C{x0 + slopes[k] * third:.1f},{y0 + third:.1f} "
            f"{x1 - slopes[k + 1] * third:.1f},{y1 - third:.1f} {x1:.1f},{y1:.1f}"
        )
    return "".join(text)
