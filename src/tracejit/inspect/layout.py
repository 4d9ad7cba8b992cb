"""Layered drawing of acyclic graphs: boxes in rows, every edge pointing down, few crossings, short edges.

The method is that of Sugiyama, Tagawa and Toda (1981): rows by longest paths, then shifted to shorten edges;
edges over several rows get a dummy in each; rows are ordered by barycentres; the places within a row are the
least-squares fit to the neighbours that keeps order and gaps. Knows boxes and edges, not what they stand for.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

GAP_X, GAP_Y, SLOT, TALL = 16.0, 30.0, 10.0, 60.0
ORDER_SWEEPS, PLACE_SWEEPS = 24, 300

Edge = tuple[int, int]
Point = tuple[float, float]


@dataclass
class Layout:
    """Where everything goes.

    Attributes
    ----------
    width, height : float
        Of the whole drawing.
    centers : list of (x, y)
        Of the boxes, in the order given.
    routes : list of list of (x, y)
        The points each edge passes, from box to box, in the order given; ever further down.
    """

    width: float
    height: float
    centers: list[Point]
    routes: list[list[Point]]


@dataclass
class _Rows:
    """Boxes and dummies in rows, the edges between neighbouring rows, the chain of dummies of each edge."""

    rows: list[list[int]]
    widths: list[float]
    real: int
    below: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    above: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    chains: list[list[int]] = field(default_factory=list)

    def join(self, a: int, b: int) -> None:
        self.below[a].append(b)
        self.above[b].append(a)

    def weight(self, a: int, b: int) -> float:
        """How much an edge wants to be straight: most of all between two dummies."""
        return (1.0, 2.0, 8.0)[(a >= self.real) + (b >= self.real)]


def layout(sizes: Sequence[tuple[float, float]], edges: Sequence[Edge]) -> Layout:
    """Place boxes of the given sizes (width, height), joined by edges from higher to lower boxes.

    Raises
    ------
    ValueError
        When the edges form a cycle.
    """
    levels = _levels(len(sizes), set(edges))
    rows = _with_dummies(levels, sizes, edges)
    _order(rows)
    xs = _places(rows)
    tops, heights = _heights(rows, sizes)
    centers = [(xs[i], tops[levels[i]] + heights[levels[i]] / 2) for i in range(len(sizes))]
    routes = _routes(rows, edges, sizes, xs, centers, levels, tops, heights)
    width = max((xs[i] + rows.widths[i] / 2 for row in rows.rows for i in row), default=0.0)
    return Layout(width, (tops[-1] + heights[-1]) if tops else 0.0, centers, routes)


# ---- rows -----------------------------------------------------------------------------------------------


def _levels(count: int, edges: Iterable[Edge]) -> list[int]:
    """A row for every box: longest paths first, then boxes move to where their edges are shortest."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(edges)
    if not nx.is_directed_acyclic_graph(graph):
        raise ValueError("the edges form a cycle")
    levels = [0] * count
    for level, boxes in enumerate(nx.topological_generations(graph)):
        for box in boxes:
            levels[box] = level
    order = list(nx.topological_sort(graph))
    for _ in range(count):
        moved = False
        for box in reversed(order):
            target = _shortest(levels, box, list(graph.predecessors(box)), list(graph.successors(box)))
            moved, levels[box] = moved or target != levels[box], target
        if not moved:
            break
    return levels


def _shortest(levels: list[int], box: int, above: list[int], below: list[int]) -> int:
    """The row for one box with the least length of its edges; the lowest of several."""
    highest = max((levels[p] + 1 for p in above), default=0)
    lowest = min((levels[s] - 1 for s in below), default=highest)
    return lowest if len(above) <= len(below) else highest


def _with_dummies(levels: list[int], sizes: Sequence[tuple[float, float]], edges: Sequence[Edge]) -> _Rows:
    rows = _Rows([[] for _ in range(max(levels, default=-1) + 1)], [w for w, _ in sizes], len(sizes))
    for box, level in enumerate(levels):
        rows.rows[level].append(box)
    made: dict[tuple[int, int], int] = {}
    for a, b in edges:
        chain = [a]
        for level in range(levels[a] + 1, levels[b]):
            if (a, level) not in made:  # edges from one box share their way down
                made[a, level] = len(rows.widths)
                rows.widths.append(SLOT)
                rows.rows[level].append(made[a, level])
            chain.append(made[a, level])
        chain.append(b)
        for pair in pairwise(chain):
            if pair[1] not in rows.below[pair[0]]:
                rows.join(*pair)
        rows.chains.append(chain)
    return rows


# ---- order within rows ----------------------------------------------------------------------------------


def _order(rows: _Rows) -> None:
    best, fewest = [list(r) for r in rows.rows], _crossings(rows)
    for sweep in range(ORDER_SWEEPS):
        down = sweep % 2 == 0
        neighbours = rows.above if down else rows.below
        position = {i: k for row in rows.rows for k, i in enumerate(row)}
        for row in rows.rows if down else reversed(rows.rows):
            key = {i: _mean([position[j] for j in neighbours[i]], position[i]) for i in row}
            row.sort(key=key.__getitem__)
            position.update((i, k) for k, i in enumerate(row))
        crossings = _crossings(rows)
        if crossings < fewest:
            best, fewest = [list(r) for r in rows.rows], crossings
    rows.rows = best


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _crossings(rows: _Rows) -> int:
    total = 0
    for upper, lower in pairwise(rows.rows):
        position = {i: k for k, i in enumerate(lower)}
        seen: list[int] = []
        for i in upper:
            ends = sorted(position[j] for j in rows.below[i])
            total += sum(len(seen) - bisect_left(seen, end + 1) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


# ---- places within rows ---------------------------------------------------------------------------------


def _places(rows: _Rows) -> list[float]:
    xs = [0.0] * len(rows.widths)
    for row in rows.rows:
        x = 0.0
        for i in row:
            xs[i] = x + rows.widths[i] / 2
            x += rows.widths[i] + GAP_X
    for sweep in range(PLACE_SWEEPS):
        for row in rows.rows if sweep % 2 == 0 else reversed(rows.rows):
            _place_row(rows, row, xs)
    left = min((xs[i] - rows.widths[i] / 2 for row in rows.rows for i in row), default=0.0)
    return [x - left for x in xs]


def _place_row(rows: _Rows, row: list[int], xs: list[float]) -> None:
    """Move a row to the weighted means of its neighbours as closely as order and gaps allow."""
    wanted, weights, offsets, offset = [], [], [], 0.0
    for k, i in enumerate(row):
        if k:
            offset += (rows.widths[row[k - 1]] + rows.widths[i]) / 2 + GAP_X
        pulls = [(rows.weight(i, j), xs[j]) for j in (*rows.above[i], *rows.below[i])]
        weight = sum(w for w, _ in pulls)
        wanted.append((sum(w * x for w, x in pulls) / weight if weight else xs[i]) - offset)
        weights.append(weight or 0.1)
        offsets.append(offset)
    for i, x, offset in zip(row, _increasing(wanted, weights), offsets, strict=True):
        xs[i] = x + offset


def _increasing(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The non-decreasing sequence nearest to the values in least squares: pool adjacent violators."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        size = 1
        while blocks and blocks[-1][0] > value:
            v, w, n = blocks.pop()
            value, weight, size = (v * w + value * weight) / (w + weight), w + weight, n + size
        blocks.append((value, weight, size))
    return [value for value, _, size in blocks for _ in range(size)]


def _heights(rows: _Rows, sizes: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    heights = [max((sizes[i][1] for i in row if i < rows.real), default=0.0) for row in rows.rows]
    tops, y = [], 0.0
    for height in heights:
        tops.append(y)
        y += height + GAP_Y
    return tops, heights


# ---- edges ----------------------------------------------------------------------------------------------


def _routes(
    rows: _Rows,
    edges: Sequence[Edge],
    sizes: Sequence[tuple[float, float]],
    xs: list[float],
    centers: list[Point],
    levels: list[int],
    tops: list[float],
    heights: list[float],
) -> list[list[Point]]:
    arrivals = _arrivals(rows, edges, sizes, xs)
    routes = []
    for k, (a, b) in enumerate(edges):
        points = [(xs[a], centers[a][1] + sizes[a][1] / 2)]
        if heights[levels[a]] > sizes[a][1]:
            points.append((xs[a], tops[levels[a]] + heights[levels[a]]))
        chain = [xs[i] for i in rows.chains[k]]
        for level, x in enumerate(chain[1:-1], levels[a] + 1):
            n = level - levels[a]
            turn = abs(chain[n - 1] - 2 * x + chain[n + 1]) > GAP_X
            points += _through(x, tops[level], heights[level], turn)
        if heights[levels[b]] > sizes[b][1]:
            points.append((arrivals[k], tops[levels[b]]))
        routes.append([*points, (arrivals[k], centers[b][1] - sizes[b][1] / 2)])
    return routes


def _through(x: float, top: float, height: float, turn: bool) -> list[Point]:
    """Through a row: upright where a slanted line would run into the boxes beside it."""
    return [(x, top), (x, top + height)] if turn or height > TALL else [(x, top + height / 2)]


def _arrivals(
    rows: _Rows, edges: Sequence[Edge], sizes: Sequence[tuple[float, float]], xs: list[float]
) -> list[float]:
    """Where along the top of its box each edge ends: spread out, in the order they come from."""
    incoming: dict[int, list[int]] = defaultdict(list)
    for k, (_, b) in enumerate(edges):
        incoming[b].append(k)
    arrivals = [0.0] * len(edges)
    for b, several in incoming.items():
        several.sort(key=lambda k: xs[rows.chains[k][-2]])
        width = min(sizes[b][0] - 12.0, 26.0 * len(several))
        for place, k in enumerate(several):
            arrivals[k] = xs[b] + width * ((place + 0.5) / len(several) - 0.5)
    return arrivals
