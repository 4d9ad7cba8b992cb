"""Recipes: the op calls that a function makes, cached by what determines them, and replayed from then on.

For functions that only arrange ops: which ones follows from plain arguments, shapes and dtypes. Where nothing records,
the kernels are called one after another; on a tape every call goes through the door and is recorded as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..op import Op, ops
from ..protocols import Record
from ..tensor import Tensor
from .dispatch import apply, recording, state

#: Recipes kept.
KEPT = 1024


class _Step(NamedTuple):
    """A call: places of its inputs among the given tensors, the constants and the results of earlier steps."""

    op: Op
    kernel: Callable[..., Any]
    attrs: Mapping[str, Any]
    inputs: tuple[int, ...]


class Recipe(NamedTuple):
    """The steps, the constants that they use besides what is given, and the place of the result."""

    constants: tuple[Tensor, ...]
    steps: tuple[_Step, ...]
    result: int

    def on_arrays(self, values: list[Any]) -> np.ndarray:
        """The result, by kernels alone; `values` are the given arrays."""
        values += [t._payload for t in self.constants]
        for _, kernel, attrs, inputs in self.steps:
            value = kernel(*[values[i] for i in inputs], **attrs)
            values.append(value if value.__class__ is np.ndarray else np.asarray(value))
        return values[self.result]

    def on_tensors(self, tensors: Sequence[Tensor]) -> Tensor:
        """The result, by op calls that whoever listens can hear."""
        values = [*tensors, *self.constants]
        for op, _, attrs, inputs in self.steps:
            values.append(apply(op, tuple([values[i] for i in inputs]), attrs))
        return values[self.result]


class _Listing(list[Record]):
    """The recorder that keeps every call."""

    record = list.append


_recipes: dict[Hashable, Recipe | None] = {}
_UNMET: Any = object()


def by_recipe(f: Callable[..., Tensor], tensors: Sequence[Tensor], *arguments: Hashable) -> Tensor:
    """``f(tensors, *arguments)``, whose calls follow from the arguments and from shapes and dtypes of the tensors."""
    mode = state.mode
    arrays = [t._payload for t in tensors]
    if mode.slow or not all(a.__class__ is np.ndarray for a in arrays):
        return f(tensors, *arguments)
    key = (f, arguments, *[a.shape for a in arrays], *[a.dtype.num for a in arrays])
    recipe = _recipes.get(key, _UNMET)  # looked up once: other threads may empty the table
    if recipe is _UNMET:
        return _met(key, f, tensors, arguments)
    if recipe is None:
        return f(tensors, *arguments)
    if recipe.result < len(tensors):
        return tensors[recipe.result]
    if mode.recorders:
        return recipe.on_tensors(tensors)
    try:
        return Tensor(mode.ignoring_fp_errors.run(recipe.on_arrays, arrays))
    except Exception:  # to be worded by those who know what was called for
        return f(tensors, *arguments)


def _met(
    key: Hashable, f: Callable[..., Tensor], tensors: Sequence[Tensor], arguments: tuple[Any, ...]
) -> Tensor:
    """The first call: as it is, and its recipe is kept. A tensor given twice would be taken for one input."""
    if len({t.serial for t in tensors}) < len(tensors):
        if state.mode.recorders:
            return f(tensors, *arguments)
        tensors = [Tensor(t._payload) for t in tensors]
    listing = _Listing()
    with recording(listing):
        result = f(tensors, *arguments)
    if len(_recipes) >= KEPT:
        _recipes.clear()
    _recipes[key] = _recipe(listing, tensors, result)
    return result


def _recipe(listing: Sequence[Record], tensors: Sequence[Tensor], result: Tensor) -> Recipe | None:
    """What was called as a recipe; None for calls that are more than a kernel, or have several results."""
    if any(r.op.slow or r.op.multiple for r in listing):
        return None
    places = {t.serial: i for i, t in enumerate(tensors)}
    made = {r.outputs[0].serial for r in listing}
    inputs = [t for r in listing for t in r.inputs]
    constants = {t.serial: t for t in inputs if t.serial not in places and t.serial not in made}
    places.update({serial: len(tensors) + i for i, serial in enumerate(constants)})
    first = len(places)
    steps: list[_Step] = []
    for record in listing:
        (output,) = record.outputs
        if output is not result and _changes_nothing(record):
            places[output.serial] = places[record.inputs[0].serial]
            continue
        places[output.serial] = first + len(steps)
        called_on = tuple([places[t.serial] for t in record.inputs])
        steps.append(_Step(record.op, record.op.kernel, record.attrs, called_on))
    return Recipe(tuple(constants.values()), tuple(steps), places[result.serial])


def _changes_nothing(record: Record) -> bool:
    """Is it a reshape to the shape that is there, or a transpose that leaves the axes in order?"""
    if record.op is ops.reshape:
        return record.attrs["shape"] == record.inputs[0].shape
    return record.op is ops.transpose and record.attrs["perm"] == tuple(range(record.inputs[0].ndim))
