"""Transposed convolutions, the linear transposes of convolutions, which enlarge images.

They are the derivative of a convolution by its input, an op of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.dim import same
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..frontend.conversion import convert_to_tensor
from ..ops.arrays.shape import sizes_of
from ..ops.elementwise.arithmetic import matched
from .convolutions import _axis, _numbers, _outer_first, _with_channels_last


def conv_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The gradient of a convolution by its input, for the gradient `input` of its result.

    Parameters
    ----------
    input : tensor-like of floats
        ``(batch, ..., channels)``, or ``(batch, channels, ...)`` when `data_format` begins with ``"NC"``.
    filters : tensor-like of floats
        ``(..., outputs, channels)``: those of the convolution, whose input has as many channels as there are outputs.
    output_shape : sequence of int
        Of the result, or of its axes between batch and channels alone.
    strides, dilations : int or sequence of int
        Those of the convolution.
    padding : {"SAME", "VALID"}
        That of the convolution.
    data_format, name : str, optional

    Returns
    -------
    Tensor
        Of shape `output_shape` and the common dtype of `input` and `filters`.

    Raises
    ------
    ShapeError
        When a convolution of a tensor of shape `output_shape` does not give the shape of `input`, or channels differ.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.reshape(tf.constant([1.0, 10.0]), (1, 2, 1))
    >>> print(tf.nn.conv_transpose(x, tf.ones((3, 1, 1)), [1, 5, 1], strides=2, padding="VALID")[0, :, 0])
    tf.Tensor([ 1.  1. 11. 10. 10.], shape=(5,), dtype=float32)
    """
    tensors, _ = matched((convert_to_tensor(input), convert_to_tensor(filters)), {})
    x, w = tensors
    rank = len(w.shape) - 2
    sizes = list(sizes_of(output_shape))
    if len(sizes) == rank + 2:
        sizes = sizes[2:] if str(data_format).startswith("NC") else sizes[1:-1]
    steps, spread = (
        _numbers(_outer_first(v, data_format), rank, "strides") for v in (strides, dilations or 1)
    )
    return _with_channels_last(lambda v: _transposed(v, w, sizes, steps, spread, padding), x, data_format)


def _transposed(
    x: Any, w: Any, sizes: Sequence[Any], strides: Sequence[int], dilations: Sequence[int], padding: str
) -> Tensor:
    rank = len(w.shape) - 2
    if len(x.shape) != rank + 2 or len(sizes) != rank:
        raise ShapeError(
            f"filters {w.spec} are for a batch, {rank} axes and channels, got {x.spec} and sizes {list(sizes)}"
            f"{at(user_location())}"
        )
    if not same(x.shape[-1], w.shape[-1]):
        raise ShapeError(
            f"{x.spec} has {x.shape[-1]} channels, the filters {w.spec} are for {w.shape[-1]}{at(user_location())}"
        )
    axes = [
        _axis(size, window, stride, dilation, padding.upper())
        for size, window, stride, dilation in zip(sizes, w.shape[:-2], strides, dilations, strict=True)
    ]
    if [a.count for a in axes] != list(x.shape[1:-1]):
        raise ShapeError(
            f"a convolution of sizes {list(sizes)} gives sizes {[a.count for a in axes]}, not those of {x.spec}"
            f"{at(user_location())}"
        )
    whole = tuple(a.before + a.size + a.after for a in axes)
    y = ops.convolution_inputs(x, w, sizes=whole, strides=tuple(strides), dilations=tuple(dilations))
    inside = ((a.before, a.size, 1) for a in axes)
    return ops.slice(y, slices=((0, y.shape[0], 1), *inside, (0, y.shape[-1], 1)))


def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """:func:`conv_transpose` along one axis: `filters` are ``(width, outputs, channels)``.

    `input`, `output_shape`, `strides`, `padding`, `data_format`, `dilations`, dtype and errors, ShapeError and
    ValueError, are those there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.conv1d_transpose([[[1.0], [2.0]]], [[[1.0]]], [1, 2, 1], 1))
    tf.Tensor(
    [[[1.]
      [2.]]], shape=(1, 2, 1), dtype=float32)
    """
    return conv_transpose(input, filters, output_shape, strides, padding, data_format, dilations)


def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """:func:`conv_transpose` of images: `filters` are ``(height, width, outputs, channels)``.

    `input`, `output_shape`, `strides`, `padding`, `data_format`, `dilations`, dtype and errors, ShapeError and
    ValueError, are those there.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.ones((1, 3, 3, 2))
    >>> tf.nn.conv2d_transpose(x, tf.ones((4, 4, 5, 2)), [1, 6, 6, 5], strides=2).shape
    TensorShape([1, 6, 6, 5])
    """
    return conv_transpose(input, filters, output_shape, strides, padding, data_format, dilations)


def conv3d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """:func:`conv_transpose` of bodies: `filters` are ``(depth, height, width, outputs, channels)``.

    `input`, `output_shape`, `strides`, `padding`, `data_format`, `dilations`, dtype and errors, ShapeError and
    ValueError, are those there.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.ones((1, 2, 2, 2, 3))
    >>> tf.nn.conv3d_transpose(x, tf.ones((2, 2, 2, 4, 3)), [1, 4, 4, 4, 4], strides=2).shape
    TensorShape([1, 4, 4, 4, 4])
    """
    return conv_transpose(input, filters, output_shape, strides, padding, data_format, dilations)
