"""Space to depth and space to batch, and their inverses."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..arrays.cutting import pad
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..ops.tensor.indexing import get


def space_to_depth(input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """The places of each block of `block_size` by `block_size`, row by row, as channels; the dtype stays.

    `input` is ``(batch, height, width, channels)``, with the `data_format` ``"NCHW"`` channels are second. ShapeError
    where blocks do not fill the image.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.space_to_depth(tf.reshape(tf.range(4), (1, 2, 2, 1)), 2)[0, 0, 0])
    tf.Tensor([0 1 2 3], shape=(4,), dtype=int32)
    """
    x, first = _image(input), data_format.startswith("NC")
    x = ops.transpose(x, perm=(0, 2, 3, 1)) if first else x
    batch, height, width, channels = x.shape
    if height % block_size or width % block_size:
        raise ShapeError(f"blocks of {block_size} do not fill {x.spec}{at(user_location())}")
    rows, columns = height // block_size, width // block_size
    x = ops.reshape(x, shape=(batch, rows, block_size, columns, block_size, channels))
    x = ops.transpose(x, perm=(0, 1, 3, 2, 4, 5))
    x = ops.reshape(x, shape=(batch, rows, columns, block_size * block_size * channels))
    return ops.transpose(x, perm=(0, 3, 1, 2)) if first else x


def depth_to_space(input: Any, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """The inverse of :func:`space_to_depth`, with its `input`, `block_size` and `data_format`; the dtype stays.

    ShapeError where the channels do not fill blocks.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.depth_to_space(tf.reshape(tf.range(4), (1, 1, 1, 4)), 2)[0, :, :, 0])
    tf.Tensor(
    [[0 1]
     [2 3]], shape=(2, 2), dtype=int32)
    """
    x, first = _image(input), data_format.startswith("NC")
    x = ops.transpose(x, perm=(0, 2, 3, 1)) if first else x
    batch, rows, columns, channels = x.shape
    if channels % (block_size * block_size):
        raise ShapeError(f"the channels of {x.spec} do not fill blocks of {block_size}{at(user_location())}")
    depth = channels // (block_size * block_size)
    x = ops.reshape(x, shape=(batch, rows, columns, block_size, block_size, depth))
    x = ops.transpose(x, perm=(0, 1, 3, 2, 4, 5))
    x = ops.reshape(x, shape=(batch, rows * block_size, columns * block_size, depth))
    return ops.transpose(x, perm=(0, 3, 1, 2)) if first else x


def space_to_batch(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:
    """The places of each block as images of their own, all those of the first place first; the dtype stays.

    Parameters
    ----------
    input : tensor-like
        ``(batch, ..., rest)``.
    block_shape : sequence of int
        The size of a block along each of the axes behind the batch; one number is that of two axes.
    paddings : sequence of (before, after)
        Zeros that are added first.

    Raises
    ------
    ShapeError
        Where blocks do not fill what there is.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.space_to_batch(tf.reshape(tf.range(4), (1, 2, 2)), [2, 2], [[0, 0], [0, 0]])[:, 0, 0])
    tf.Tensor([0 1 2 3], shape=(4,), dtype=int32)
    """
    blocks, margins, x = _blocks(block_shape), np.asarray(paddings).tolist(), as_tensor(input)
    rank, rest = len(blocks), tuple(x.shape[len(blocks) + 1 :])
    x = pad(x, [[0, 0], *margins, *([0, 0] for _ in rest)])
    if any(size % b for size, b in zip(x.shape[1 : rank + 1], blocks, strict=True)):
        raise ShapeError(f"blocks of {blocks} do not fill {x.spec}{at(user_location())}")
    batch, counts = x.shape[0], [size // b for size, b in zip(x.shape[1 : rank + 1], blocks, strict=True)]
    apart = [size for pair in zip(counts, blocks, strict=True) for size in pair]
    x = ops.reshape(x, shape=(batch, *apart, *rest))
    places, among = [2 * i + 2 for i in range(rank)], [2 * i + 1 for i in range(rank)]
    x = ops.transpose(x, perm=(*places, 0, *among, *range(2 * rank + 1, len(x.shape))))
    return ops.reshape(x, shape=(prod(blocks) * batch, *counts, *rest))


def batch_to_space(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """The inverse of :func:`space_to_batch`, with its `input` and `block_shape`; the dtype stays.

    `crops` are pairs of numbers of places that are cut off at the end. ShapeError where there are no such blocks.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.batch_to_space(tf.reshape(tf.range(4), (4, 1, 1)), [2, 2], [[0, 0], [0, 0]])[0])
    tf.Tensor(
    [[0 1]
     [2 3]], shape=(2, 2), dtype=int32)
    """
    blocks, cut, x = _blocks(block_shape), np.asarray(crops).tolist(), as_tensor(input)
    rank, rest = len(blocks), tuple(x.shape[len(blocks) + 1 :])
    if x.shape[0] % prod(blocks):
        raise ShapeError(f"the batch of {x.spec} is not one of blocks of {blocks}{at(user_location())}")
    batch, counts = x.shape[0] // prod(blocks), tuple(x.shape[1 : rank + 1])
    x = ops.reshape(x, shape=(*blocks, batch, *counts, *rest))
    mixed = [axis for i in range(rank) for axis in (rank + 1 + i, i)]
    x = ops.transpose(x, perm=(rank, *mixed, *range(2 * rank + 1, len(x.shape))))
    sizes = [count * b for count, b in zip(counts, blocks, strict=True)]
    x = ops.reshape(x, shape=(batch, *sizes, *rest))
    kept = [slice(before, size - after) for (before, after), size in zip(cut, sizes, strict=True)]
    return get(x, (slice(None), *kept))


def _image(given: Any) -> Any:
    x = as_tensor(given)
    if len(x.shape) != 4:
        raise ShapeError(f"takes a batch of images, got {x.spec}{at(user_location())}")
    return x


def _blocks(given: Any) -> list[int]:
    blocks = np.atleast_1d(np.asarray(given)).tolist()
    return blocks * 2 if np.ndim(given) == 0 else blocks
