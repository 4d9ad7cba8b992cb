"""Elements on their way through a dataset or a queue: nests of arrays, without any history.

While a function is traced, elements may be tensors of the trace; their gradient is stopped instead.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracejit as tf

from ..autodiff import detached
from ..errors import at_user_line


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
    return tf.nest.map_structure(lambda x: tf.Tensor(x) if isinstance(x, np.ndarray) else x, element)


def as_array(element: Any) -> np.ndarray:
    """An element that is one array; refused where it is a nest, or a tensor of a trace."""
    if not isinstance(element, np.ndarray):
        raise TypeError(f"an element is one tensor here, got {type(element).__name__}{at_user_line()}")
    return element


def applied(f: Callable[..., Any], element: Any) -> Any:
    """`f` of an element, eagerly or in the trace, without history; a tuple is passed as several arguments."""
    with tf.autodiff.stop_recording():
        tensors = as_tensors(element)
        return as_element(f(*tensors) if element.__class__ is tuple else f(tensors))


def holds(predicate: Callable[..., Any], element: Any) -> bool:
    """Does it hold for an element? Decided at once, since it decides how many elements there are."""
    with tf.init_scope(), tf.autodiff.stop_recording():
        tensors = as_tensors(element)
        return bool(
            tf.convert_to_tensor(
                predicate(*tensors) if element.__class__ is tuple else predicate(tensors)
            ).array
        )


def like(wanted: Any, element: Any) -> Any:
    """An element by a nest of dtypes or TensorSpecs that it must fit."""
    if isinstance(wanted, dict):
        return {key: like(part, element[key]) for key, part in wanted.items()}
    if isinstance(wanted, (tuple, list)):
        return tuple(like(part, x) for part, x in zip(wanted, element, strict=True))
    if not isinstance(wanted, tf.TensorSpec):
        return as_element(tf.convert_to_tensor(element, tf.as_dtype(wanted)))
    tensor = tf.convert_to_tensor(element, wanted.dtype)
    if not wanted.is_compatible_with(tensor):
        raise tf.ShapeError(f"a generator promised {wanted} and gave {tensor.spec}{at_user_line()}")
    return as_element(tensor)


def row(element: Any, i: int) -> Any:
    """One example of a nest of arrays of examples; arrays are views."""
    return tf.nest.map_structure(lambda x: x[i, ...], element)


def stacked(elements: Sequence[Any]) -> Any:
    """Elements of one structure and shape, as one element with a new first axis."""
    first = elements[0]
    for other in elements:
        try:
            tf.nest.assert_same_structure(first, other)
        except (TypeError, ValueError):
            texts = tf.nest.as_text(first), tf.nest.as_text(other)
            raise ValueError(f"cannot batch {texts[0]} with {texts[1]}{at_user_line()}") from None
    columns = zip(*map(tf.nest.flatten, elements), strict=True)
    return tf.nest.pack_sequence_as(first, [_stacked(leaves) for leaves in columns])


def _stacked(leaves: Sequence[Any]) -> Any:
    shapes = list(dict.fromkeys(tuple(x.shape) for x in leaves))
    if len(shapes) > 1:
        raise tf.ShapeError(
            f"cannot batch elements of shapes {shapes[0]} and {shapes[1]}: bring them to one shape first, or use "
            f"batches of size 1{at_user_line()}"
        )
    return tf.stack(leaves) if any(isinstance(x, tf.Tensor) for x in leaves) else np.stack(leaves)


def paths_like(pattern: Any) -> list[str]:
    """The paths of files that match a pattern, or one of several, in order; ValueError where there are none."""
    given = (
        np.asarray(pattern.numpy() if isinstance(pattern, tf.Tensor) else pattern, object)
        .reshape(-1)
        .tolist()
    )
    patterns = [p.decode() if isinstance(p, bytes) else os.fspath(p) for p in given]
    if paths := sorted({path for p in patterns for path in glob.glob(p)}):
        return paths
    raise ValueError(f"no file matches {', '.join(map(repr, patterns))}{at_user_line()}")
