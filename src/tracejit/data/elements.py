"""Elements on their way through a dataset or a queue: nests of arrays, without any history.

While a function is traced, elements may be tensors of the trace; their gradient is stopped instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.spec import TensorSpec, as_dtype
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor, holds_tensors, interpreting, pausing, tell
from ..frontend.conversion import convert_to_tensor
from ..frontend.function.signature import admits
from ..frontend.structure import alike, flatten, map_structure, text, unflatten
from ..ops.arrays.shape import stack
from ..ops.tensor.indexing import get


def detached(leaf: Any) -> Any:
    """An array of what is a tensor or becomes one, or a tensor of the trace that passes no gradient."""
    if holds_tensors(leaf):
        for x in flatten(leaf)[0]:
            tell("value", as_tensor(x))
    with pausing():
        x = convert_to_tensor(leaf)
        return ops.stop_gradient(x) if x.is_symbolic else x.array


def as_element(nest: Any) -> Any:
    """A nest of arrays: tuples and dicts are nests, anything else is an array or becomes one."""
    if isinstance(nest, dict):
        return type(nest)((key, as_element(part)) for key, part in nest.items())
    if isinstance(nest, tuple):
        parts = [as_element(part) for part in nest]
        return type(nest)(*parts) if hasattr(nest, "_fields") else tuple(parts)
    return detached(nest)


def as_tensors(element: Any) -> Any:
    """What users get: each array as a new Tensor. A dataset in an element stays one."""
    return map_structure(lambda x: Tensor(x) if isinstance(x, np.ndarray) else x, element)


def as_array(element: Any) -> np.ndarray:
    """An element that is one array; refused where it is a nest, or a tensor of a trace."""
    if not isinstance(element, np.ndarray):
        raise TypeError(f"an element is one tensor here, got {type(element).__name__}{at(user_location())}")
    return element


def applied(f: Callable[..., Any], element: Any) -> Any:
    """`f` of an element, eagerly or in the trace, without history; a tuple is passed as several arguments."""
    with pausing():
        tensors = as_tensors(element)
        return as_element(f(*tensors) if element.__class__ is tuple else f(tensors))


def holds(predicate: Callable[..., Any], element: Any) -> bool:
    """Does it hold for an element? Decided at once, since it decides how many elements there are."""
    with interpreting(None), pausing():
        tensors = as_tensors(element)
        return bool(
            as_tensor(predicate(*tensors) if element.__class__ is tuple else predicate(tensors)).array
        )


def like(wanted: Any, element: Any) -> Any:
    """An element by a nest of dtypes or TensorSpecs that it must fit."""
    if isinstance(wanted, dict):
        return {key: like(part, element[key]) for key, part in wanted.items()}
    if isinstance(wanted, (tuple, list)):
        return tuple(like(part, x) for part, x in zip(wanted, element, strict=True))
    if not isinstance(wanted, TensorSpec):
        return as_element(as_tensor(element, as_dtype(wanted)))
    found = as_tensor(element, wanted.dtype)
    if found.dtype != wanted.dtype or not admits(wanted.shape, found.shape):
        raise ShapeError(f"a generator promised {wanted} and gave {found.spec}{at(user_location())}")
    return as_element(found)


def row(element: Any, i: int) -> Any:
    """One example of a nest of arrays of examples; arrays are views."""
    return map_structure(lambda x: get(x, i) if isinstance(x, Tensor) else x[i, ...], element)


def stacked(elements: Sequence[Any]) -> Any:
    """Elements of one structure and shape, as one element with a new first axis."""
    columns, structures = [], []
    for element in elements:
        leaves, structure = flatten(element)
        columns.append(leaves)
        structures.append(structure)
    other = next((s for s in structures if not alike(s, structures[0])), None)
    if other is not None:
        raise ValueError(f"cannot batch {text(structures[0])} with {text(other)}{at(user_location())}")
    return unflatten(structures[0], [_stacked(leaves) for leaves in zip(*columns, strict=True)])


def _stacked(leaves: Sequence[Any]) -> Any:
    shapes = list(dict.fromkeys(tuple(x.shape) for x in leaves))
    if len(shapes) > 1:
        raise ShapeError(
            f"cannot batch elements of shapes {shapes[0]} and {shapes[1]}: bring them to one shape first, or use "
            f"batches of size 1{at(user_location())}"
        )
    return stack(leaves) if any(isinstance(x, Tensor) for x in leaves) else np.stack(leaves)
