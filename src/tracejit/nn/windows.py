"""What is written with convolutions: filters in two steps, bodies, norms over near channels."""

from __future__ import annotations

from typing import Any

from ..arrays.cutting import pad
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..frontend.control.reductions import reduce_sum
from ..ops.arrays.shape import stack
from .convolutions import convolution, depthwise_conv2d


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
