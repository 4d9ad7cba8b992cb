"""Minimum cuts in directed networks, by Dinic's algorithm, without recursion.

E. A. Dinic, "Algorithm for solution of a problem of maximum flow in networks with power estimation",
Soviet Mathematics Doklady 11 (1970).
"""

from __future__ import annotations

from collections import deque


class FlowNetwork:
    """A network of `nodes` numbered nodes; `add` its edges, then ask for one side of a minimum cut."""

    def __init__(self, nodes: int):
        self.heads: list[int] = []
        self.capacity: list[float] = []
        self.edges: list[list[int]] = [[] for _ in range(nodes)]

    def add(self, tail: int, head: int, capacity: float) -> None:
        """An edge; infinite capacity is never cut."""
        for a, b, c in ((tail, head, capacity), (head, tail, 0.0)):
            self.edges[a].append(len(self.heads))
            self.heads.append(b)
            self.capacity.append(c)

    def source_side(self, source: int, sink: int) -> set[int]:
        """Nodes still reachable from `source` when the flow to `sink` is largest: the cut nearest the source.

        ValueError when infinite edges lead from source to sink.
        """
        while (level := self._levels(source)) and level[sink] >= 0:
            self._saturate(source, sink, level)
        return {k for k, depth in enumerate(level) if depth >= 0}

    def _levels(self, source: int) -> list[int]:
        level = [-1] * len(self.edges)
        level[source] = 0
        queue = deque([source])
        while queue:
            node = queue.popleft()
            for e in self.edges[node]:
                if self.capacity[e] > 0 and level[self.heads[e]] < 0:
                    level[self.heads[e]] = level[node] + 1
                    queue.append(self.heads[e])
        return level

    def _saturate(self, source: int, sink: int, level: list[int]) -> None:
        """A blocking flow: push along shortest paths until each has a full edge."""
        position = [0] * len(self.edges)
        path: list[int] = []
        node = source
        while True:
            if node == sink:
                node = self._push(path, source)
                continue
            while position[node] < len(self.edges[node]):
                e = self.edges[node][position[node]]
                if self.capacity[e] > 0 and level[self.heads[e]] == level[node] + 1:
                    break
                position[node] += 1
            else:
                if node == source:
                    return
                position[self.heads[path.pop() ^ 1]] += 1
                node = self.heads[path[-1]] if path else source
                continue
            path.append(e)
            node = self.heads[e]

    def _push(self, path: list[int], source: int) -> int:
        """Send as much as the path takes; keep the part of it before the first edge that is full now."""
        amount = min(self.capacity[e] for e in path)
        if amount == float("inf"):
            raise ValueError("an infinite path leads from the source to the sink")
        for e in path:
            self.capacity[e] -= amount
            self.capacity[e ^ 1] += amount
        first = next(k for k, e in enumerate(path) if self.capacity[e] <= 0)
        del path[first:]
        return self.heads[path[-1]] if path else source
