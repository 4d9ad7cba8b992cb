"""Shapes of what a layer would give, found by tracing it: no numbers are computed."""

from __future__ import annotations

from typing import Any

import tracejit as tf


def shape_of_result(layer: Any, input_shape: Any) -> Any:
    """The shape, or nest of shapes, of the result of `layer` for inputs of `input_shape`, a shape or a nest of some."""
    made = tf.function(layer).get_concrete_function(_specs(input_shape, layer.compute_dtype))
    return tf.nest.map_structure(_sizes, made.structured_outputs)


def _specs(shape: Any, dtype: str) -> Any:
    if isinstance(shape, dict):
        return {name: _specs(part, dtype) for name, part in shape.items()}
    if all(size is None or isinstance(size, int) for size in shape):
        return tf.TensorSpec(shape, dtype)
    return [_specs(part, dtype) for part in shape]


def _sizes(spec: Any) -> tuple[int | None, ...]:
    return tuple([size if isinstance(size, int) else None for size in spec.shape])
