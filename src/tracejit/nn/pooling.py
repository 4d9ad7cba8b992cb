"""Pooling: the largest element and the mean of each window.

What windows see are strided slices of the padded tensor, so derivatives of every order and compiled code are those of
slices.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..frontend.conversion import convert_to_tensor
from .convolutions import _axes, _joined, _numbers, _outer_first, _with_channels_last


def _pooled(
    x: Any, windows: tuple[int, ...], strides: Any, padding: Any, mean: bool, dilations: Any = None
) -> Tensor:
    axes = _axes(x, windows, strides, dilations, padding)
    if not mean:
        limit = -np.inf if x.dtype.kind == "f" else int(np.iinfo(x.dtype).min)
        return ops.tied(_joined(lambda parts: functools.reduce(ops.maximum, parts), x, axes, limit), x)
    total = _joined(lambda parts: functools.reduce(ops.add, parts), x, axes, 0)
    seen = functools.reduce(np.multiply.outer, [a.seen() for a in axes])
    return ops.divide(total, seen[..., None].astype(x.dtype))


def _pool(rank: int, mean: bool, name: str, text: str) -> Any:
    def pool(
        input: Any,
        ksize: Any,
        strides: Any,
        padding: Any,
        data_format: str | None = None,
        name: str | None = None,
    ) -> Tensor:
        sizes, moves, added = (_outer_first(v, data_format) for v in (ksize, strides, padding))
        windows = _numbers(sizes, rank, "ksize")
        return _with_channels_last(lambda x: _pooled(x, windows, moves, added, mean), input, data_format)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = text
    return pool


_AS_IN_2D = (
    "`input`, `ksize`, `strides`, `padding`, `data_format`, dtype and errors, ShapeError and ValueError, are those of "
    ":func:`max_pool2d`."
)
max_pool1d: Any = _pool(
    1,
    False,
    "max_pool1d",
    f"""The largest element of each window along one axis. {_AS_IN_2D}

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.max_pool1d([[[1.0], [3.0], [2.0], [0.0]]], ksize=2, strides=2, padding="VALID")[0, :, 0])
    tf.Tensor([3. 2.], shape=(2,), dtype=float32)
    """,
)
avg_pool1d: Any = _pool(
    1,
    True,
    "avg_pool1d",
    f"""The mean of each window along one axis. {_AS_IN_2D}

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.avg_pool1d([[[1.0], [3.0], [2.0], [0.0]]], ksize=2, strides=2, padding="VALID")[0, :, 0])
    tf.Tensor([2. 1.], shape=(2,), dtype=float32)
    """,
)
max_pool2d: Any = _pool(
    2,
    False,
    "max_pool2d",
    """The largest element of each window of an image, channel by channel; of equal ones the first gets the gradient.

    Parameters
    ----------
    input : tensor-like
        ``(batch, height, width, channels)``, or channels second with ``data_format="NCHW"``.
    ksize, strides : int or sequence of int
        The size of a window, and from one to the next.
    padding : str or sequence of (before, after)
        As for :func:`convolution`; what is added is never the largest.

    Returns
    -------
    Tensor
        As `input`, of its dtype, with as many places as there are windows.

    Raises
    ------
    ShapeError
        For another number of axes.
    ValueError
        For another number of sizes, or another `padding`.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.reshape(tf.range(16.0), (1, 4, 4, 1))
    >>> print(tf.nn.max_pool2d(x, ksize=2, strides=2, padding="VALID")[0, :, :, 0])
    tf.Tensor(
    [[ 5.  7.]
     [13. 15.]], shape=(2, 2), dtype=float32)
    """,
)
avg_pool2d: Any = _pool(
    2,
    True,
    "avg_pool2d",
    f"""The mean of each window of an image, channel by channel, of places that were not added.

    {_AS_IN_2D}

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.avg_pool2d(tf.ones((1, 3, 3, 1)), ksize=2, strides=2, padding="SAME")[0, :, :, 0])
    tf.Tensor(
    [[1. 1.]
     [1. 1.]], shape=(2, 2), dtype=float32)
    """,
)


max_pool3d: Any = _pool(
    3,
    False,
    "max_pool3d",
    f"""The largest element of each window of a body, whose three axes are between batch and channels. {_AS_IN_2D}

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.reshape(tf.range(8.0), (1, 2, 2, 2, 1))
    >>> print(tf.nn.max_pool3d(x, ksize=2, strides=2, padding="VALID").numpy().ravel())
    [7.]
    """,
)
avg_pool3d: Any = _pool(
    3,
    True,
    "avg_pool3d",
    f"""The mean of each window of a body, whose three axes are between batch and channels. {_AS_IN_2D}

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.reshape(tf.range(8.0), (1, 2, 2, 2, 1))
    >>> print(tf.nn.avg_pool3d(x, ksize=2, strides=2, padding="VALID").numpy().ravel())
    [3.5]
    """,
)


def _of_any_rank(each: Sequence[Any], what: str) -> Any:
    def pool(
        input: Any,
        ksize: Any,
        strides: Any,
        padding: Any,
        data_format: str | None = None,
        name: str | None = None,
    ) -> Tensor:
        x = convert_to_tensor(input)
        if not 3 <= len(x.shape) <= 5:
            raise ShapeError(
                f"takes one to three axes between batch and channels, got {x.spec}{at(user_location())}"
            )
        return each[len(x.shape) - 3](x, ksize, strides, padding, data_format)

    pool.__name__ = pool.__qualname__ = what
    pool.__doc__ = f""":func:`{what}1d`, :func:`{what}2d` or :func:`{what}3d`, as `input` has axes. {_AS_IN_2D}

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.nn.{what}(tf.ones((1, 4, 1)), 2, 2, "VALID").shape, tf.nn.{what}(tf.ones((1, 4, 4, 1)), 2, 2, "VALID").shape
    (TensorShape([1, 2, 1]), TensorShape([1, 2, 2, 1]))
    """
    return pool


max_pool: Any = _of_any_rank((max_pool1d, max_pool2d, max_pool3d), "max_pool")
avg_pool: Any = _of_any_rank((avg_pool1d, avg_pool2d, avg_pool3d), "avg_pool")


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
    there; ValueError for another type. What a window sees is `dilations` places apart.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.pool(tf.reshape([1.0, 3.0, 2.0, 4.0], (1, 4, 1)), [2], "MAX", strides=[2])[0, :, 0])
    tf.Tensor([3. 4.], shape=(2,), dtype=float32)
    """
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"pooling_type is 'MAX' or 'AVG', got {pooling_type!r}{at(user_location())}")
    sizes = [window_shape] if isinstance(window_shape, int) else list(window_shape)
    windows = _numbers(sizes, len(sizes), "window_shape")
    moves, added, spread = (_outer_first(v, data_format) for v in (strides or 1, padding, dilations))
    mean = pooling_type == "AVG"
    return _with_channels_last(lambda x: _pooled(x, windows, moves, added, mean, spread), input, data_format)
