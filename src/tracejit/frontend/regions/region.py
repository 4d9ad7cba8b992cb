"""Regions: Python functions traced into the graphs that control-flow ops hold.

A region's inputs are its own arguments and then whatever it captured: outer tensors, and Variables as they are
outside. Variables it assigns leave it as further outputs. Knows nothing of any particular op.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.arrays import python_kind
from ...core.errors import DtypeError, ShapeError, at, user_location
from ...core.ir.graph import Graph, Value
from ...core.spec import TensorSpec
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...core.tracing.trace import Traced, VariableState, trace
from ...core.tracing.transaction import tracing_body
from ..state.variable import Variable, tracer
from ..structure import Structure, alike, flatten, text, unflatten


class Region:
    """A traced function.

    Attributes
    ----------
    graph : Graph
        Inputs are the arguments and then the captured; :func:`share_captures` brings several to one order.
    structure : Structure
        Of what the function returned.
    outputs : list of TensorSpec
        Of what it returned, Variables apart.
    numbers : list of type or None
        Of which Python type each leaf of that is, None where it is none.
    assigned : list of Variable
        Which it assigned.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        specs: Sequence[TensorSpec],
        name: str,
        structure: Structure | None = None,
        carried: Sequence[Variable] = (),
        given: bool = True,
        of: object = None,
        dtypes: Sequence[np.dtype | None] | None = None,
    ):
        """Trace ``f(*arguments)``, where `structure` is that of the tuple of arguments; without it all are tensors.

        `carried` Variables are read and written as values that go round: their values at entry are the last
        arguments when `given`, else captured; their new values are the last outputs. `of` is the statement or call
        that it belongs to: of one, each part is traced once, or in attempts that are taken back. Of `dtypes` are the
        Python numbers that `f` returns, one per leaf.
        """
        if of is not None:
            tracing_body(of, name)
        outer = [(v, v.key(), v.current()) for v in carried]

        def body(*tensors: Tensor) -> list[Tensor]:
            now = tracer()
            assert now is not None
            own = tensors[: len(tensors) - len(outer)] if given else tensors
            values = tensors[len(own) :] if given else [current for _, _, current in outer]
            for (v, entry, _), value in zip(outer, values, strict=True):
                now.held[id(v)] = VariableState(v, entry, value, assigned=True)
            arguments = own if structure is None else unflatten(structure, own)
            leaves, self.structure = flatten(f(*arguments))
            self.numbers = [python_kind(y) for y in leaves]
            wanted = dtypes if dtypes is not None and len(dtypes) == len(leaves) else [None] * len(leaves)
            results = [as_tensor(y, d) for y, d in zip(leaves, wanted, strict=True)]
            self.outputs = [y.spec for y in results]
            return [*results, *(now.held.pop(id(v)).now for v, _, _ in outer)]

        extra = [v.spec for v in carried] if given else []
        traced = trace(body, [*specs, *extra], name, is_part=True)
        self.graph: Graph = traced.graph
        self.assigned: list[Variable] = [h.owner for h in traced.held if h.assigned]
        self.captures: list[tuple[Any, Value]] = _captures(traced, len(specs) + len(extra))


def _captures(traced: Traced, own: int) -> list[tuple[Any, Value]]:
    """Per captured input: the outer tensor or the Variable, and the graph's value."""
    values = traced.graph.inputs[own:]
    return list(zip([*traced.captured, *(h.owner for h in traced.held)], values, strict=True))


def share_captures(*regions: Region) -> list[Tensor]:
    """Give all regions the same captured inputs, in one order; returns the outer tensors behind them."""
    reads: dict[int, Tensor] = {}
    shared: dict[tuple[int, int], Tensor] = {}
    slots: list[dict[tuple[int, int], Value]] = []
    for region in regions:
        used: dict[tuple[int, int], Value] = {}
        times: Counter[int] = Counter()  # that a tensor was captured
        for source, value in region.captures:
            if isinstance(source, Variable):
                source = reads.setdefault(id(source), source.as_kept())
            key = (source.serial, times[source.serial])
            times[source.serial] += 1
            shared.setdefault(key, source)
            used[key] = value
        slots.append(used)
    for region, used in zip(regions, slots, strict=True):
        graph = region.graph
        own = graph.inputs[: len(graph.inputs) - len(region.captures)]
        graph.inputs = [*own, *(used.get(key) or graph.new_value(t.spec) for key, t in shared.items())]
        region.captures = []
    return list(shared.values())


def assigned_in(*regions: Region) -> list[Variable]:
    """The Variables that any of the regions assigns, each once."""
    variables: list[Variable] = []
    for region in regions:
        variables += [v for v in region.assigned if not any(v is w for w in variables)]
    return variables


def check_carry(
    what: str,
    wanted: Structure,
    specs: Sequence[TensorSpec],
    returned: Structure,
    outputs: Sequence[TensorSpec],
) -> None:
    """A loop's body must return what it was given; says which variable changed."""
    if not alike(wanted, returned):
        raise ShapeError(
            f"{what} was given {text(wanted)} and returned {text(returned)}: return the same structure"
            f"{at(user_location())}"
        )
    for i, (before, after) in enumerate(zip(specs, outputs, strict=True)):
        if before != after:
            kind = DtypeError if before.dtype != after.dtype else ShapeError
            raise kind(
                f"loop variable {i} of {what} changes from {before} to {after}: keep its shape and dtype"
                f"{at(user_location())}"
            )
