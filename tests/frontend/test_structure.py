"""Nests: taken apart and rebuilt, compared, refused."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejit.frontend.structure import flatten, leaves_like, map_structure, text, unflatten

Pair = namedtuple("Pair", "a b")

nests = st.recursive(
    st.integers() | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.builds(Pair, inner, inner)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
        | st.none()
    ),
    max_leaves=12,
)


@given(nests)
def test_rebuilding_gives_the_same(nest):
    leaves, structure = flatten(nest)
    assert unflatten(structure, leaves) == nest
    assert type(unflatten(structure, leaves)) is type(nest)
    assert hash(structure) == hash(flatten(nest)[1]) and flatten(nest)[1] == structure
    assert leaves_like(structure, nest) == leaves


def test_dicts_are_in_sorted_order_and_keep_their_own():
    leaves, structure = flatten({"b": 1, "a": 2})
    assert leaves == [2, 1]
    assert list(unflatten(structure, leaves)) == ["b", "a"]
    ordered = unflatten(*reversed(flatten(OrderedDict(z=1, y=2))))
    assert isinstance(ordered, OrderedDict) and list(ordered.items()) == [("z", 1), ("y", 2)]
    assert flatten({1: "x", "a": "y"})[0] == ["x", "y"], "keys that do not sort stay in order"


def test_map_structure():
    assert map_structure(lambda a, b: a * b, {"x": [1, 2]}, {"x": [3, 4]}) == {"x": [3, 8]}
    with pytest.raises(ValueError, match=r"\[\*, \*\] and \[\*\]"):
        map_structure(lambda a, b: a, [1, 2], [1])


def test_none_may_stand_for_leaves_and_branches():
    structure = flatten({"x": [1, 2], "y": 3})[1]
    assert leaves_like(structure, None) == [None] * 3
    assert leaves_like(structure, {"x": None, "y": 5}) == [None, None, 5]
    assert leaves_like(structure, {"x": [None, 4], "y": None}) == [None, 4, None]
    for wrong in ([1, 2, 3], {"x": [1], "y": 2}, {"x": [1, 2], "z": 2}, 7):
        with pytest.raises(ValueError, match="expected a nest like"):
            leaves_like(structure, wrong)


def test_text():
    assert (
        text(flatten({"b": (1,), "a": [2, None], "c": Pair(1, 2)})[1])
        == "{'a': [*, None], 'b': (*,), 'c': Pair(*, *)}"
    )
