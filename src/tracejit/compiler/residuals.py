"""Residuals: what a loop computes and a later loop over its rows computes again, saved as further rows.

The backward of a loop runs over the carries its forward kept and computes the body again from them. Here the two
loops meet in one graph, after differentiation: nodes of the later body that equal nodes of the earlier one, seen
through the rows, need not run twice. Which values to save is a minimum cut, see ``keep``; what then nobody reads,
kept carries among it, is dropped. Knows nothing of gradients: any loop over the rows of another is served.
"""

from __future__ import annotations

from ..core.graph import Graph, Node, Value
from ..core.prune import prune
from ..ops.regions import loop_parts
from .builder import LOCAL_ELEMENTS
from .keep import (
    CYCLES_PER_BYTE,
    cycles,
    elements,
    held_cost,
    keep_cost,
    may_keep,
    nbytes,
    repeat_cost,
    usual,
    values_to_keep,
)
from .matching import Matcher, size_atoms, whole_copy
from .report import REWRITES, fired, wants
from .rows import reading, rows_of, writing

#: Bytes that the rows added to one loop may take altogether; beyond, the work is done again.
LARGEST = 256 * 2**20


def save_residuals(graph: Graph) -> Graph:
    """A valid graph of the same values, bit by bit, in which loops save what loops over their rows would repeat."""
    if not _has_loops(graph):
        return graph
    return prune(_Residuals(graph).run())


def _has_loops(graph: Graph) -> bool:
    return any(n.op.name == "loop" for n in graph.nodes) or any(
        isinstance(a, Graph) and _has_loops(a) for n in graph.nodes for a in n.attrs.values()
    )


class _Residuals:
    """The pass over one graph: regions first, then every loop with the loops whose rows it reads."""

    def __init__(self, graph: Graph):
        self.old = graph
        self.new = Graph(graph.name, state=graph.state, guards=graph.guards, finished=True)
        self.loops: dict[Value, int] = {}

    def run(self) -> Graph:
        new = self.new
        env = {v: new.add_input(v.spec) for v in self.old.inputs}
        for node in self.old.nodes:
            new.add_copy(node, env)
            node = new.nodes[-1]
            if any(isinstance(a, Graph) for a in node.attrs.values()):
                node.attrs = {
                    k: save_residuals(a) if isinstance(a, Graph) else a for k, a in node.attrs.items()
                }
            if node.op.name == "loop":
                self._add_loop(len(new.nodes) - 1)
        new.outputs = [env[v] for v in self.old.outputs]
        return new

    def _add_loop(self, position: int) -> None:
        """Serve the loop at `position` from every loop whose rows it reads."""
        nodes = self.new.nodes
        rows = loop_parts(nodes[position].inputs, nodes[position].attrs)[2]
        for earlier in sorted({self.loops[v] for v in rows if v in self.loops}):
            found = _Pair(self.new, nodes[earlier], nodes[position]).joined()
            if found is not None:
                if wants(REWRITES):
                    fired(save_residuals, nodes[position].location)
                nodes[earlier], nodes[position] = found
                self._note_rows(earlier)
        self._note_rows(position)

    def _note_rows(self, position: int) -> None:
        node = self.new.nodes[position]
        for v in node.outputs[node.attrs["carries"] + 1 :]:
            self.loops[v] = position


class _Pair:
    """An earlier loop and a later one that runs over its rows.

    `image` maps values of the later body to the equal values of the earlier body in the iteration of the same row.
    """

    def __init__(self, graph: Graph, earlier: Node, later: Node):
        self.graph, self.earlier, self.later = graph, earlier, later
        self.before = whole_copy(earlier.attrs["body"])
        self.after: Graph = later.attrs["body"]
        self.image: dict[Value, Value] = {}
        self.shared: list[Node] = []

    def joined(self) -> tuple[Node, Node] | None:
        """Both loops, the earlier with more rows and the later reading them, or None where nothing is gained."""
        if not _same_trips(self.earlier, self.later) or not may_keep(self.earlier):
            return None
        inputs = self._inputs()
        self._match()
        kept = values_to_keep(inputs, self.shared, self._needed(), _keep_cost, _repeat_cost)
        saved = [v for n in self.shared for v in n.outputs if v in kept]
        c = self.earlier.attrs["carries"]
        stacks = dict(zip(self.before.outputs[c:], self.earlier.outputs[c + 1 :], strict=True))
        added = list(dict.fromkeys(w for w in (self.image[v] for v in saved) if w not in stacks))
        length = rows_of(self.earlier)
        if not saved or length is None or sum(map(nbytes, added)) * usual(length) > LARGEST:
            return None
        earlier = writing(self.earlier, self.before, added, self.graph) if added else self.earlier
        stacks.update(zip(added, earlier.outputs[len(self.earlier.outputs) :], strict=True))
        return earlier, reading(self.later, {v: stacks[self.image[v]] for v in saved})

    # ---- what is equal -----------------------------------------------------------------------------------

    def _inputs(self) -> dict[Value, float]:
        """The inputs of the later body that the earlier one has too, with the cost of reading them."""
        c, first = self.earlier.attrs["carries"], 1 + self.later.attrs["carries"]
        _, _, xs, captured = loop_parts(self.earlier.inputs, self.earlier.attrs)
        _, _, rows, more = loop_parts(self.later.inputs, self.later.attrs)
        stacked = dict(zip(self.earlier.outputs[c + 1 :], self.before.outputs[c:], strict=True))
        scanned = dict(zip(xs, self.before.inputs[1 + c :], strict=False))
        held = dict(zip(captured, self.before.inputs[1 + c + len(xs) :], strict=True))
        inputs = self.after.inputs
        self.image[inputs[0]] = self.before.inputs[0]
        self.image.update((v, stacked[u]) for v, u in zip(inputs[first:], rows, strict=False) if u in stacked)
        costs = {v: nbytes(v) * CYCLES_PER_BYTE for v in self.image}
        self.image.update((v, scanned[u]) for v, u in zip(inputs[first:], rows, strict=False) if u in scanned)
        captures = inputs[first + len(rows) :]
        self.image.update((v, held[u]) for v, u in zip(captures, more, strict=True) if u in held)
        return {v: costs.get(v, held_cost(v)) for v in self.image}

    def _match(self) -> None:
        """Find the nodes of the later body that equal a node of the earlier, and are of one size in every iteration."""
        known = size_atoms((*self.graph.inputs, *self.before.inputs))
        matcher = Matcher(self.before, self.image)
        for node in self.after.nodes:
            if known.issuperset(size_atoms(node.outputs)) and matcher.finds(node):
                self.shared.append(node)

    def _needed(self) -> set[Value]:
        """The shared values that the rest of the later body reads."""
        shared = set(self.shared)
        needed = {v for v in self.after.outputs if v in self.image}
        for node in self.after.nodes:
            if node not in shared:
                needed.update(v for v in node.inputs if v in self.image)
        return needed


def _same_trips(earlier: Node, later: Node) -> bool:
    """Does the later loop run once for every row of the earlier?"""
    if later.attrs["counted"]:
        return later.inputs[0] is earlier.outputs[earlier.attrs["carries"]]
    return later.attrs["length"] is not None and later.attrs["length"] == earlier.attrs["length"]


# ---- costs ----------------------------------------------------------------------------------------------


def _keep_cost(node: Node, v: Value) -> float:
    """What fits registers is made again rather than read, unless making it takes a loop or a large reduction.

    A few elements picked from many are read: then the many need not be kept.
    """
    if elements(v) <= LOCAL_ELEMENTS < max(map(elements, node.inputs), default=0):
        return nbytes(v) * CYCLES_PER_BYTE + 1.0
    if elements(v) <= LOCAL_ELEMENTS and _repeat_cost(node) < float("inf"):
        return float("inf")
    return keep_cost(node, v)


def _repeat_cost(node: Node) -> float:
    """Products and reductions of few elements, and branches, are repeated at their cost."""
    if node.op.name == "cond":
        return max(sum(map(_repeat_cost, node.attrs[k].nodes)) for k in ("then", "orelse"))
    small = all(elements(v) <= LOCAL_ELEMENTS for v in (*node.inputs, *node.outputs))
    if node.op.runs_graphs or "effect" in node.op.traits or not small:
        return repeat_cost(node)
    return cycles(node.op) * sum(map(elements, node.inputs))
