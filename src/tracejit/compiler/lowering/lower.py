"""Graph to loop program: the entry of lowering.

Each node becomes a nest, a view, or a structure, by the rule in its op's declaration. Fusing nests, dropping
dead buffers and placing the rest is left to later passes.
"""

from __future__ import annotations

import numpy as np

from ...core.dim import Dim
from ...core.ir.graph import Graph
from ..loopir.ir import Program
from .builder import Builder, real_dtype
from .control import lower_call, lower_cond, lower_custom, lower_loop
from .convolutions import lower_convolution, lower_filters
from .located import LocatedLowering
from .nodes import Env, Lowering, Structures, lower_matmul
from .views import View

STRUCTURES: Structures = {
    "matmul": lower_matmul,
    "loop": lower_loop,
    "cond": lower_cond,
    "call": lower_call,
    "custom": lower_custom,
    "convolution": lower_convolution,
    "convolution_filters": lower_filters,
}


def lower(
    graph: Graph, contract: bool = True, located: bool = False
) -> tuple[Program, dict[str, np.ndarray]]:
    """The program of a graph and the constant arrays it refers to, by content hash in the order of their slots.

    `located`: its statements say which places in the user's program they stand for.

    Buffers of kind input and output have the slots of the graph's inputs and outputs; outputs whose size is
    known only when the program has run are allocated by it.
    """
    b = Builder()
    lowering = (LocatedLowering if located else Lowering)(b, set(entry_atoms(graph)), STRUCTURES)
    env: Env = {}
    for slot, value in enumerate(graph.inputs):
        spec = value.spec
        size = spec.size * (2 if spec.dtype.kind == "c" else 1)
        env[value] = View.whole(b.buffer(real_dtype(spec.dtype), size, "input", slot), spec.shape, spec.dtype)
    lowering.nodes(graph, env, set())
    for slot, value in enumerate(graph.outputs):
        lowering.place_output(env[value], slot)
    shapes = tuple(env[v].shape for v in graph.outputs)
    mentioned = {a.name for shape in shapes for s in shape if isinstance(s, Dim) for a in s.atoms()}
    bound = tuple(a for a in b.bound if a in mentioned)  # others may be bound inside of loops, many times
    program = Program(
        graph.name,
        b.buffers,
        b.block,
        tuple(entry_atoms(graph)),
        bound,
        messages=tuple(b.messages),
        contract=contract,
        output_shapes=shapes,
        moves=lowering.moves,
        located=located,
    )
    return program, b.constants


def entry_atoms(graph: Graph) -> dict[str, tuple[int, int]]:
    """Size atoms that can be read from an input: name to (input, axis)."""
    places: dict[str, tuple[int, int]] = {}
    for i, value in enumerate(graph.inputs):
        for axis, size in enumerate(value.spec.shape):
            if isinstance(size, Dim) and size.atom is not None and not size.atom.recipe:
                places.setdefault(size.atom.name, (i, axis))
    return places
