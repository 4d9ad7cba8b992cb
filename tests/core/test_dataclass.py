"""Quick dataclasses do what those of the standard library do."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from tracejit.core.dataclass import dataclass


def declared(make: Any, **options: Any) -> type:
    @make(**options)
    class Point:
        kind: ClassVar[str] = "point"
        x: int
        y: Any = 2
        names: list[str] = field(default_factory=list, repr=False)
        seen: int = field(default=0, init=False, compare=False)
        z: int = field(default=5, kw_only=True)

        def __post_init__(self) -> None:
            object.__setattr__(self, "seen", self.x + 1)

    return Point


@dataclass(frozen=True)
class Kept:
    """One that can be pickled."""

    x: int
    y: str = "b"


@dataclass(frozen=True, slots=True)
class Slotted:
    """As that one, in less memory."""

    x: int
    y: str = "b"


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("eq", [False, True])
def test_the_same_classes(frozen: bool, eq: bool) -> None:
    mine, theirs = (declared(make, frozen=frozen, eq=eq) for make in (dataclass, dataclasses.dataclass))
    assert str(inspect.signature(mine)) == str(inspect.signature(theirs))
    assert [f.name for f in dataclasses.fields(mine)] == [f.name for f in dataclasses.fields(theirs)]
    for arguments, named in [((1,), {}), ((1, 3), {"z": 4}), ((1,), {"names": ["a"]})]:
        a, b, other = mine(*arguments, **named), mine(*arguments, **named), theirs(*arguments, **named)
        assert repr(a) == repr(other) and dataclasses.asdict(a) == dataclasses.asdict(other)
        assert (a == b) is (other == theirs(*arguments, **named)) and a != mine(7)
        assert dataclasses.replace(a, x=8).seen == 9
    assert mine(1).names is not mine(1).names
    assert (mine.__hash__ is None) is (theirs.__hash__ is None)
    with pytest.raises(TypeError):
        mine()


@pytest.mark.parametrize("kind", [Kept, Slotted])
def test_what_is_frozen_stays_and_has_a_hash(kind: Any) -> None:
    a = kind(1)
    assert a == pickle.loads(pickle.dumps(a)) == copy.deepcopy(a)
    assert hash(a) == hash(kind(1)) and {a: 1}[kind(1)] == 1
    for change in (lambda: setattr(a, "x", 2), lambda: delattr(a, "x")):
        with pytest.raises(FrozenInstanceError, match="field 'x'"):
            change()


def test_slots_and_methods_of_its_own() -> None:
    @dataclass(slots=True)
    class Pair:
        x: int
        y: int = 0

        def __repr__(self) -> str:
            return "pair"

    assert repr(Pair(1)) == "pair" and Pair(1) == Pair(1, 0) and not hasattr(Pair(1), "__dict__")
