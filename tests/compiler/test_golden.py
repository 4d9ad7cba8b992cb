"""The graphs and loop programs of representative programs, as text: a change shows in the diff of a review.

And how much of each there is: what grows with the length of a program grows linearly.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tracejit as tf
from checks.levels import derived
from checks.loop_programs import PROGRAMS
from tracejit.compiler import pipeline
from tracejit.compiler.loopir.ir import Nest, walk
from tracejit.compiler.loopir.text import to_text as program_text
from tracejit.core.ir.graph import Graph
from tracejit.core.ir.text import to_text
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

CHOSEN = (
    "broadcast_chain-value",
    "softmax-value",
    "softmax-gradient",
    "reductions_with_epilogue-value",
    "two_layers-gradient",
    "negative_steps-value",
    "update_by_own_view-value",
    "updated_argument-value",
    "doubling-gradient",
    "scan_rows-gradient",
    "large_carries_swapped-value",
    "branch_in_loop-value",
    "nested_three_deep-value",
    "gather_and_scatter-value",
    "plate-gradient",
)


@pytest.mark.parametrize("which", CHOSEN)
def test_compiled(which: str, golden: Callable[..., None]):
    name, order = which.split("-")
    graph = derived(trace(PROGRAMS[name].f, PROGRAMS[name].specs, name).graph, order)
    assert graph is not None
    golden(to_text(graph))
    golden(program_text(pipeline.lower_graph(graph)), "loops")


# ---- linear ---------------------------------------------------------------------------------------------


def unrolled(steps: int) -> Graph:
    def f(x):
        y = x
        for _ in range(steps):
            y = tf.sin(y) * x
        return [tf.reduce_sum(y)]

    graph = derived(trace(f, [TensorSpec((50,), "float64")]).graph, "gradient")
    assert graph is not None
    return graph


def looped(steps: int) -> Graph:
    graph = trace(
        lambda x: [tf.fori_loop(0, steps, lambda i, c: tf.sin(c) * x, x)], [TensorSpec((50,), "float64")]
    ).graph
    graph = derived(graph, "second")
    assert graph is not None
    return graph


def statements(graph: Graph) -> tuple[int, int]:
    found = list(walk(pipeline.lower_graph(graph).body))
    return len(found), sum(isinstance(s, Nest) for s in found)


def test_statements_grow_linearly_with_the_program():
    counts = [statements(unrolled(n))[0] for n in (60, 120, 240)]
    assert counts[2] - counts[1] <= 2.1 * (counts[1] - counts[0])


def test_a_chain_is_few_nests():
    assert statements(unrolled(40))[1] <= 2


def test_the_length_of_a_loop_changes_nothing_but_numbers():
    assert statements(looped(3)) == statements(looped(3000))
