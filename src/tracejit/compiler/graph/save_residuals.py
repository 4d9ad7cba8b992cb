"""Residuals: values that a loop computes and a later loop computes again from its rows, saved as further rows.

The backward of a loop runs over the carries its forward kept and computes the body again from them. Here the two
loops meet in one graph, after differentiation: nodes of the later body that equal nodes of the earlier one, seen
through the rows, need not run twice. Which values to save is a minimum cut, see ``rematerialize``; what then nobody
reads, kept carries among it, is dropped. Knows nothing of gradients: any loop over the rows of another is served.
"""

from __future__ import annotations

from ...core.ir.graph import Graph, Node, Value, regions
from ...core.tracing.forms import BranchForm
from ...core.tracing.loop_form import LoopForm
from ...core.tracing.prune import prune
from ..loopir import LOCAL_ELEMENTS
from ..report import REWRITES, fired, wants
from .loop_cse import Matcher, size_atoms, whole_copy
from .rematerialize import (
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
from .scan_edit import reading, writing

#: Bytes that the rows added to one loop may take altogether; beyond, the work is done again.
LARGEST = 256 * 2**20


def save_residuals(graph: Graph) -> Graph:
    """A valid graph of the same values, bit by bit, in which loops save what loops over their rows would repeat."""
    if not _has_loops(graph):
        return graph
    return prune(_Residuals(graph).run())


def _has_loops(graph: Graph) -> bool:
    holding = [n for n in graph.nodes if n.op.runs_graphs]
    return any(LoopForm.of(n) is not None or any(map(_has_loops, regions(n.attrs))) for n in holding)


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
            loop = LoopForm.of(node)
            if loop is not None:
                self._add_loop(len(new.nodes) - 1, loop)
        new.outputs = [env[v] for v in self.old.outputs]
        return new

    def _add_loop(self, position: int, loop: LoopForm) -> None:
        """Serve the loop at `position` from every loop whose rows it reads."""
        nodes = self.new.nodes
        for at in sorted({self.loops[v] for v in loop.xs if v in self.loops}):
            earlier = LoopForm.of(nodes[at])
            assert earlier is not None
            joined = _Pair(self.new, earlier, loop).joined()
            if joined is not None:
                if wants(REWRITES):
                    fired(save_residuals, nodes[position].location)
                earlier, loop = joined
                nodes[at], nodes[position] = (
                    earlier.node(nodes[at].location),
                    loop.node(nodes[position].location),
                )
                self.loops.update(dict.fromkeys(earlier.ys, at))
        self.loops.update(dict.fromkeys(loop.ys, position))


class _Pair:
    """An earlier loop and a later one that runs over its rows.

    `image` maps values of the later body to the equal values of the earlier body in the iteration of the same row.
    """

    def __init__(self, graph: Graph, earlier: LoopForm, later: LoopForm):
        self.graph = graph
        self.unchanged = earlier
        self.later = later
        self.earlier = earlier.replace(body=whole_copy(earlier.body))
        self.before, self.after = self.earlier.body, later.body
        self.image: dict[Value, Value] = {}
        self.shared: list[Node] = []

    def joined(self) -> tuple[LoopForm, LoopForm] | None:
        """Both loops, the earlier with more rows and the later reading them, or None where nothing is gained."""
        if not _same_trips(self.earlier, self.later) or not may_keep(self.earlier):
            return None
        inputs = self._inputs()
        self._match()
        kept = values_to_keep(inputs, self.shared, self._needed(), _keep_cost, _repeat_cost)
        saved = [v for n in self.shared for v in n.outputs if v in kept]
        earlier = self.earlier
        stacks = dict(zip(earlier.ys_out, earlier.ys, strict=True))
        added = list(dict.fromkeys(w for w in (self.image[v] for v in saved) if w not in stacks))
        length = earlier.rows
        if not saved or length is None or sum(map(nbytes, added)) * usual(length) > LARGEST:
            return None
        joined = writing(earlier, self.before, added, self.graph) if added else self.unchanged
        stacks.update(zip(added, joined.ys[len(earlier.ys) :], strict=True))
        return joined, reading(self.later, {v: stacks[self.image[v]] for v in saved})

    # ---- what is equal -----------------------------------------------------------------------------------

    def _inputs(self) -> dict[Value, float]:
        """The inputs of the later body that the earlier one has too, with the cost of reading them."""
        earlier, later = self.earlier, self.later
        stacked = dict(zip(earlier.ys, earlier.ys_out, strict=True))
        scanned = dict(zip(earlier.xs, earlier.xs_in, strict=True))
        held = dict(zip(earlier.consts, earlier.consts_in, strict=True))
        read, used = (
            list(zip(later.xs_in, later.xs, strict=True)),
            zip(later.consts_in, later.consts, strict=True),
        )
        self.image[later.index_in] = earlier.index_in
        self.image.update((v, stacked[u]) for v, u in read if u in stacked)
        costs = {v: nbytes(v) * CYCLES_PER_BYTE for v in self.image}
        self.image.update((v, scanned[u]) for v, u in read if u in scanned)
        self.image.update((v, held[u]) for v, u in used if u in held)
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


def _same_trips(earlier: LoopForm, later: LoopForm) -> bool:
    """Does the later loop run once for every row of the earlier?"""
    if later.count is not None:
        return later.count is earlier.trips
    return later.length is not None and later.length == earlier.length


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
    branch = BranchForm.of(node)
    if branch is not None:
        return max(sum(map(_repeat_cost, graph.nodes)) for graph in branch.graphs)
    small = all(elements(v) <= LOCAL_ELEMENTS for v in (*node.inputs, *node.outputs))
    if node.op.runs_graphs or "effect" in node.op.traits or not small:
        return repeat_cost(node)
    return cycles(node.op) * sum(map(elements, node.inputs))
