"""Layered layouts: rows point down, boxes keep apart, edges start and end at their boxes."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejit.inspect.layout import GAP_X, layout

SIZES = st.tuples(st.floats(10, 200), st.floats(10, 80))


@st.composite
def drawings(draw: st.DrawFn) -> tuple[list, list]:
    """Boxes of random sizes, and edges from earlier to later ones."""
    sizes = draw(st.lists(SIZES, min_size=1, max_size=12))
    pairs = list(combinations(range(len(sizes)), 2))
    edges = draw(st.lists(st.sampled_from(pairs), max_size=20)) if pairs else []
    return sizes, edges


@given(drawings())
def test_edges_point_down_from_box_to_box(drawing: tuple[list, list]):
    sizes, edges = drawing
    placed = layout(sizes, edges)
    for (a, b), route in zip(edges, placed.routes, strict=True):
        (ax, ay), (bx, by) = placed.centers[a], placed.centers[b]
        assert route[0] == pytest.approx((ax, ay + sizes[a][1] / 2))
        assert route[-1][1] == pytest.approx(by - sizes[b][1] / 2)
        assert abs(route[-1][0] - bx) <= sizes[b][0] / 2
        heights = [y for _, y in route]
        assert heights == sorted(heights) and heights[0] < heights[-1]


@given(drawings())
def test_boxes_lie_apart_and_inside(drawing: tuple[list, list]):
    sizes, edges = drawing
    placed = layout(sizes, edges)
    for (x, y), (w, h) in zip(placed.centers, sizes, strict=True):
        assert w / 2 - 1e-6 <= x <= placed.width - w / 2 + 1e-6
        assert h / 2 - 1e-6 <= y <= placed.height - h / 2 + 1e-6
    for i, j in combinations(range(len(sizes)), 2):
        (xi, yi), (xj, yj) = placed.centers[i], placed.centers[j]
        beside = abs(xi - xj) >= (sizes[i][0] + sizes[j][0]) / 2 + GAP_X - 1e-6
        below = abs(yi - yj) >= (sizes[i][1] + sizes[j][1]) / 2
        assert beside or below


def test_a_chain_is_straight():
    placed = layout([(40, 20), (80, 20), (60, 20)], [(0, 1), (1, 2)])
    assert len({round(x, 3) for x, _ in placed.centers}) == 1


def test_sources_stand_next_to_what_reads_them():
    placed = layout([(40, 20)] * 5, [(0, 1), (1, 2), (2, 3), (4, 3)])
    assert placed.centers[4][1] == pytest.approx(placed.centers[2][1])


def test_crossed_edges_are_uncrossed():
    placed = layout([(40, 20)] * 4, [(0, 3), (1, 2)])
    x = [c[0] for c in placed.centers]
    assert (x[0] - x[1]) * (x[3] - x[2]) > 0


def test_cycles_are_refused():
    with pytest.raises(ValueError, match="cycle"):
        layout([(10, 10)] * 2, [(0, 1), (1, 0)])


def test_nothing_to_draw():
    assert layout([], []).centers == []
