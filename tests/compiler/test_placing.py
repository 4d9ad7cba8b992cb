"""Sums of parts placed in an array of zeros: every element is right however the parts lie, signs of zeros included."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
from tracejit.compiler.loopir import slice_regions
from tracejit.compiler.pipeline import lower_graph
from tracejit.core.op import ops
from tracejit.core.spec import TensorSpec
from tracejit.core.tracing.trace import trace

TILES = [((0, 3, 1), (0, 4, 1)), ((3, 2, 1), (0, 4, 1))]
COMBS = [((0, 3, 2), (0, 4, 1)), ((1, 2, 2), (0, 4, 1))]
BACKWARDS = [((4, 3, -2), (0, 4, 1)), ((3, 2, -2), (3, 4, -1))]
HOLES = [((0, 2, 1), (1, 2, 1)), ((3, 2, 1), (0, 4, 1))]
MEETING = [((0, 4, 1), (0, 4, 1)), ((1, 4, 1), (0, 4, 1)), ((0, 5, 1), (1, 3, 1))]
CROSSING = [((0, 5, 1), (0, 1, 1)), ((0, 1, 1), (0, 4, 1))]
EMPTY = [((0, 0, 1), (0, 4, 1)), ((0, 5, 1), (0, 4, 1))]
EVERY = {
    "tiles": TILES, "combs": COMBS, "backwards": BACKWARDS, "holes": HOLES, "meeting": MEETING,
    "crossing": CROSSING, "empty": EMPTY,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "complex128"])
@pytest.mark.parametrize("slices", EVERY.values(), ids=EVERY)
def test_parts_are_placed(slices, dtype):
    random = np.random.default_rng(0)
    shapes = [tuple(n for _, n, _ in s) for s in slices]
    values = [random.choice([-0.0, 0.0, 1.5, -2.0, 3.0], shape).astype(dtype) for shape in shapes]
    place = tf.function(lambda *vs: ops.place(*vs, shape=(5, 4), slices=tuple(slices)))
    np.testing.assert_array_equal(
        bits(place(*values)), bits(ops.place.kernel(*values, shape=(5, 4), slices=slices))
    )


def bits(x):
    return np.ascontiguousarray(np.asarray(x)).view(np.uint8)


@pytest.mark.parametrize(("name", "writes"), [("tiles", 2), ("combs", 2), ("backwards", 2), ("holes", 3)])
def test_no_element_is_read_back(name, writes):
    """Parts that are apart are written, over zeros only where they leave some."""
    slices = EVERY[name]
    specs = [TensorSpec(tuple(n for _, n, _ in s), "float64") for s in slices]
    graph = trace(lambda *vs: [ops.place(*vs, shape=(5, 4), slices=tuple(slices))], specs, "f").graph
    program = lower_graph(graph)
    (output,) = (b for b in program.buffers if b.kind == "output")
    statements = [s for nest in program.body for s in nest.body if output in s.buffers()]
    assert len(statements) == writes and all(type(s).__name__ == "Store" for s in statements)


def test_slices_are_told_apart():
    assert slice_regions.disjoint(TILES) and slice_regions.disjoint(COMBS) and slice_regions.disjoint(EMPTY)
    assert slice_regions.disjoint(BACKWARDS) and slice_regions.disjoint(HOLES)
    assert not slice_regions.disjoint(MEETING) and not slice_regions.disjoint(CROSSING)
    assert not slice_regions.disjoint([((0, 3, 2),), ((4, 3, 3),)])  # 0 2 4 and 4 7 10
    assert slice_regions.disjoint([((0, 3, 2),), ((5, 3, 3),)])
