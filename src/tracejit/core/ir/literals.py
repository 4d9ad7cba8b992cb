"""What the numbers in a program come to while it is traced: ``ceil(0.5 / 0.1)`` has a value that needs no run.

Known where Python asks for a value, as for a size or by ``int()``; the graph stays as it was traced.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dim import Dim
from ..op import ops
from .graph import Node, Value, literal

#: So many nodes are looked at, and so many elements are computed at the most.
_NODES, _ELEMENTS = 200, 1000
_UNFIT = frozenset(("effect", "runs_graphs", "this_process", "takes_text", "no_cse", "multiple"))


def of_literals(value: Value) -> np.ndarray | None:
    """The array of a traced value that literals alone make, as its kernels compute it; None of any other."""
    found: dict[Value, np.ndarray] = {}
    waiting = [value]
    seen = 0
    while waiting:
        v = waiting[-1]
        if v in found:
            waiting.pop()
            continue
        node = v.node
        seen += 1
        if node is None or seen > _NODES or not _fits(node):
            return None
        missing = [u for u in node.inputs if u not in found]
        if missing:
            waiting += missing
            continue
        result = _computed(node, [found[u] for u in node.inputs])
        if result is None:
            return None
        found[v] = result
        waiting.pop()
    return found[value]


def _fits(node: Node) -> bool:
    op = node.op
    if op.literal:
        array = literal(node.outputs[0])
        return array is not None and array.size <= _ELEMENTS
    if not (node.inputs or op in (ops.fill, ops.iota)) or not op.traits.isdisjoint(_UNFIT):
        return False
    sizes = [v.spec.size for v in (*node.inputs, *node.outputs)]
    return all(n.__class__ is int and n <= _ELEMENTS for n in sizes) and not _mentions_size(
        tuple(node.attrs.values())
    )


def _mentions_size(attr: Any) -> bool:
    return isinstance(attr, Dim) or (attr.__class__ is tuple and any(map(_mentions_size, attr)))


def _computed(node: Node, arrays: list[np.ndarray]) -> np.ndarray | None:
    spec = node.outputs[0].spec
    try:
        made = literal(node.outputs[0]) if node.op.literal else None
        if made is None:
            with np.errstate(all="ignore"):
                made = np.asarray(node.op.kernel(*arrays, **node.attrs))
    except Exception:
        return None  # an op that fails says so where the program runs
    return made if made.dtype == spec.dtype and made.shape == spec.shape else None
