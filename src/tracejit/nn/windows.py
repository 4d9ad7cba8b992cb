"""What is written with convolutions and pooling: filters in two steps, pooling by name, norms over near channels."""

from __future__ import annotations

from typing import Any

from ..arrays.cutting import pad
from ..core.errors import at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.control.reductions import reduce_sum
from ..ops.arrays.shape import stack
from .convolutions import avg_pool, convolution, depthwise_conv2d, max_pool


def conv3d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """:func:`convolution` over bodies `input`: ``(batch, depth, height, width, channels)``.

    `filters`, `strides`, `padding`, `data_format`, `dilations`, dtype and errors, ShapeError and ValueError, are those
    there; with ``"NCDHW"`` channels are second.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.conv3d(tf.ones((1, 2, 2, 2, 1)), tf.ones((2, 2, 2, 1, 1)), [1] * 5, "VALID").numpy().ravel())
    [8.]
    """
    return convolution(input, filters, strides, padding, data_format, dilations)


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """:func:`depthwise_conv2d` of `input` by `depthwise_filter`, whose channels `pointwise_filter` then mixes.

    The latter is ``(1, 1, channels, outputs)``; `strides`, `padding`, `data_format`, `dilations`, dtype and errors,
    ShapeError and ValueError, are those of :func:`conv2d`.

    Examples
    --------
    >>> import tracejit as tf
    >>> x, each, across = tf.ones((1, 2, 2, 2)), tf.ones((2, 2, 2, 1)), tf.ones((1, 1, 2, 3))
    >>> print(tf.nn.separable_conv2d(x, each, across, [1] * 4, "VALID")[0, 0, 0])
    tf.Tensor([8. 8. 8.], shape=(3,), dtype=float32)
    """
    x = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    return convolution(x, pointwise_filter, 1, "VALID", data_format)


def pool(
    input: Any,
    window_shape: Any,
    pooling_type: str,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """:func:`max_pool` or :func:`avg_pool` of windows of `window_shape`, by the `pooling_type` ``"MAX"`` or ``"AVG"``.

    Without `strides` the next window is the neighbour. `input`, `padding`, `data_format`, dtype and errors are those
    there; ValueError for another type, and `dilations` but 1.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.pool(tf.reshape([1.0, 3.0, 2.0, 4.0], (1, 4, 1)), [2], "MAX", strides=[2])[0, :, 0])
    tf.Tensor([3. 4.], shape=(2,), dtype=float32)
    """
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"pooling_type is 'MAX' or 'AVG', got {pooling_type!r}{at(user_location())}")
    sizes = [window_shape] if isinstance(window_shape, int) else list(window_shape)
    if dilations is not None and {1} != {*([dilations] if isinstance(dilations, int) else dilations)}:
        raise ValueError(f"windows are not spread: dilations is 1, got {dilations!r}{at(user_location())}")
    chosen = max_pool if pooling_type == "MAX" else avg_pool
    return chosen(input, sizes, [1] * len(sizes) if strides is None else strides, padding, data_format)


def local_response_normalization(
    input: Any,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """`input` over ``(bias + alpha * s) ** beta``, s being the sum of squares of the channels near each.

    Near are `depth_radius` channels on both sides. Floats, whose shape and dtype stay. DtypeError for others.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.local_response_normalization(tf.ones((1, 1, 1, 3)), depth_radius=1)[0, 0, 0])
    tf.Tensor([0.57735026 0.5        0.57735026], shape=(3,), dtype=float32)
    """
    x: Any = as_tensor(input)
    squares: Any = pad(ops.square(x), [*([0, 0] for _ in x.shape[1:]), [depth_radius, depth_radius]])
    near = stack([squares[..., k : k + x.shape[-1]] for k in range(2 * depth_radius + 1)], axis=0)
    return x / ops.pow(bias + alpha * reduce_sum(near, 0), beta)
