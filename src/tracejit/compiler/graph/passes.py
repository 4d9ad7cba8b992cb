"""The passes on graphs, in order. Contract of each: a valid graph in, a valid graph of the same values out."""

from __future__ import annotations

from collections.abc import Callable

from ...core.ir.graph import Graph
from .batch_matmuls import multiply_results, multiply_rows, sum_products
from .roll import roll
from .save_residuals import save_residuals
from .simplify import simplify
from .storage import as_bits

GraphPass = Callable[[Graph], Graph]

#: What loops are to each other; also good for graphs that will be split or differentiated again.
LOOP_PASSES: tuple[tuple[str, GraphPass], ...] = (
    ("residuals", save_residuals),
    ("row products", multiply_rows),
    ("summed products", sum_products),
    ("products of results", multiply_results),
)

GRAPH_PASSES: tuple[tuple[str, GraphPass], ...] = (
    ("bfloat16", as_bits),
    ("simplify", simplify),
    ("roll", roll),
    *LOOP_PASSES,
)
