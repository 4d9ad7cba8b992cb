"""Lists to which a loop appends a number of items that is known only at run time, as under a traced condition.

The loop is compiled twice. The first counts the items; the second writes them into tensors with room for as many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....core.dim import Size
from ....core.errors import ShapeError, Untraceable, at, user_location
from ....core.ir.graph import Graph, regions
from ....core.op import ops
from ....core.spec import TensorSpec
from ....core.tensor import Tensor
from ....core.tracing.dispatch import as_tensor
from ....core.tracing.transaction import Attempt
from ....ops.symbolic_values import size_of
from ....ops.tensor.indexing import get
from ...regions.loop_builder import INDEX
from ...state.variable import tracer
from ...structure import LEAF, Structure, unflatten
from ...structure import flatten_values as flatten
from ..places.mutations import changing
from ..places.place import Places
from ..values.built_list import BuiltList
from ..values.contents import abandon
from ..values.kinds import Kind, coerced, is_number, joined, number_kind
from ..values.stacked import Stacked
from ..values.weak import KINDS


class Filled(BuiltList):
    """A list inside of a compiled loop, as long as `count` says.

    Attributes
    ----------
    state : tuple
        The number of items, then per leaf of an item a tensor with room for all; without those, it only counts.
    kinds : list of Kind
        The types of an item's leaves.
    """

    __slots__ = ("state", "kinds", "structure")
    refusal = (
        "how long this list is, is known only when the compiled function runs: inside of the loop it can only be "
        "appended to; keep what the next iteration reads in a variable of its own"
    )

    def __init__(self, rows: tuple[Tensor, ...] = (), model: Filled | None = None):
        self.state: tuple[Any, ...] = (as_tensor(0, INDEX.dtype), *rows)
        self.kinds: list[Kind] = [] if model is None else model.kinds
        self.structure: Structure | None = None if model is None else model.structure

    def append(self, item: Any) -> None:
        """Add an item."""
        changing(self, "state")
        leaves = self._learn(item)
        count, *rows = self.state
        if rows:
            rows = [r.at[count].set(coerced(x, k)) for r, x, k in zip(rows, leaves, self.stored, strict=True)]
        self.state = (ops.add(count, as_tensor(1, INDEX.dtype)), *rows)

    def extend(self, items: Any) -> None:
        """Add items."""
        for item in items:
            self.append(item)

    def __iadd__(self, items: Any) -> Filled:
        self.extend(items)
        return self

    def with_room(self) -> Filled:
        """A list to be filled with as many items as this one has counted."""
        return Filled(_room(self), self)

    def built(self, before: list[Any], name: str) -> Any:
        """What the list of that name is after the loop."""
        made = _built(before, self)
        abandon(before, name)
        return made

    @property
    def stored(self) -> list[Kind]:
        """The types they are stored in: Python numbers as tensors have them."""
        return [Kind(as_tensor(KINDS[k.spec.dtype.kind](0)).spec, False) if k.weak else k for k in self.kinds]

    def _learn(self, item: Any) -> list[Any]:
        """The leaves of an item, which must be like the others."""
        leaves, structure = flatten(item)
        if not all(map(is_number, leaves)) or self.structure not in (None, structure):
            raise Untraceable(
                f"items of a list that is built in a compiled loop must be numbers of one structure, not {item!r}"
                f"{at(user_location())}"
            )
        kinds = [number_kind(x) for x in leaves]
        if self.structure is not None:
            kinds = [
                joined(a, b, "items of a list that is built in a compiled loop differ")
                for a, b in zip(self.kinds, kinds, strict=True)
            ]
        self.structure, self.kinds = structure, kinds
        return leaves

    def __getitem__(self, index: Any) -> Any:
        count, *rows = self.state
        if not rows or not (index.__class__ is int or as_tensor(index).np_dtype.kind in "iu"):
            raise self._refused()
        place = (
            ops.add(count, as_tensor(index, INDEX.dtype)) if index.__class__ is int and index < 0 else index
        )
        assert self.structure is not None
        return unflatten(self.structure, [get(r, place) for r in rows])


def run_filling(run: Callable[[Places], None], places: Places, names: list[str]) -> None:
    """Run a loop that appends to the lists of those names, as often as it likes."""
    before = dict(zip(places.names, places.get(), strict=True))
    counted = {n: before[n].counted() if hasattr(before[n], "counted") else Filled() for n in names}
    try:
        _rewound(run, places.copy(), counted)
        filled = {n: c.with_room() for n, c in counted.items()}
        _put(places, filled)
        run(places.copy())
    except BaseException:
        _put(places, before)
        raise
    _check_counts(counted, filled)
    _put(places, {n: f.built(before[n], n) for n, f in filled.items()})


def _put(places: Places, values: dict[str, Any]) -> None:
    places.set([values.get(p.name, p.get()) for p in places.places])


def _rewound(run: Callable[[Places], None], places: Places, counted: dict[str, Filled]) -> None:
    """Run the loop for the numbers of items alone: all it does to variables is forgotten, and it checks nothing."""
    now = tracer()
    assert now is not None
    nodes, before, values = len(now.graph.nodes), places.copy(), places.get()
    with Attempt() as attempt:
        _put(places, counted)
        run(places)
        states = {n: c.state for n, c in counted.items()}
        attempt.rollback(keeping_nodes=True)
    before.set(values)
    for n, c in counted.items():
        c.state = states[n]
    for node in now.graph.nodes[nodes:]:
        for region in regions(node.attrs):
            _drop_effects(region)


def _drop_effects(graph: Graph) -> None:
    """Leave out assertions and prints: the loop that fills the list has them too."""
    graph.nodes = [n for n in graph.nodes if "effect" not in n.op.traits]
    for node in graph.nodes:
        for region in regions(node.attrs):
            _drop_effects(region)


def _room(counted: Filled) -> tuple[Tensor, ...]:
    """Per leaf of an item, zeros with a row for every item."""
    return tuple(zeros(size_of(counted.state[0]), kind.spec) for kind in counted.stored)


def zeros(count: Size, spec: TensorSpec) -> Tensor:
    """So many rows of zeros."""
    return ops.fill(shape=(count, *spec.shape), value=0, dtype=spec.dtype)


def _check_counts(counted: dict[str, Filled], filled: dict[str, Filled]) -> None:
    for name, c in counted.items():
        equal = ops.equal(c.state[0], filled[name].state[0])
        message = (
            f"the loop that builds the list {name!r} was another one the second time, by a rounding error"
        )
        ops.check(ops.cast(equal, dtype=as_tensor(0.0, "float32").np_dtype), message=message)


def _built(before: list[Any] | Stacked, filled: Filled) -> Any:
    """What the list is after the loop."""
    if filled.structure is None:
        return before
    if before.__class__ is Stacked and filled.structure is LEAF:
        return Stacked(before, filled.state[1])
    leaves = [flatten(item)[0] for item in before]
    if any(len(x) != len(filled.kinds) for x in leaves):
        raise ShapeError(f"items of a list differ in structure{at(user_location())}")
    stacked = [Stacked([x[k] for x in leaves], r) for k, r in enumerate(filled.state[1:])]
    return unflatten(filled.structure, stacked)
