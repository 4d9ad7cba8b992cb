"""Convolutions: products of windows with filters, which are an op; and how windows move along axes.

Batches and channels may be of unknown size; a trace is for one size of the axes that windows
move along.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product as every
from typing import Any

import numpy as np

from ..arrays.cutting import pad, split
from ..core.dim import known, same
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..frontend.conversion import convert_to_tensor
from ..ops.elementwise.arithmetic import matched


@dataclass(frozen=True)
class _Axis:
    """How windows move along one axis.

    Attributes
    ----------
    size, window, stride, dilation : int
        Of the axis, of the window, from one window to the next, and between the places a window sees.
    before, after : int
        So much is added at both ends.
    """

    size: int
    window: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def count(self) -> int:
        """How many windows there are."""
        reach = (self.window - 1) * self.dilation + 1
        return max((self.size + self.before + self.after - reach) // self.stride + 1, 0)

    def seen(self) -> np.ndarray:
        """Of each window, how many places are not added ones."""
        first = np.arange(self.count)[:, None] * self.stride - self.before
        places = first + np.arange(self.window) * self.dilation
        return ((places >= 0) & (places < self.size)).sum(1)


def _axis(size: Any, window: int, stride: int, dilation: int, padding: Any) -> _Axis:
    if padding == "VALID":
        before = after = 0
    elif padding == "SAME":
        reach = (window - 1) * dilation + 1
        missing = max((-(-size // stride) - 1) * stride + reach - size, 0)
        before, after = missing // 2, missing - missing // 2
    else:
        before, after = padding
    return _Axis(size, window, stride, dilation, before, after)


def _numbers(values: Any, rank: int, what: str) -> tuple[int, ...]:
    """One number per axis that windows move along, given as one for all, one each, or one per axis of the tensor."""
    given = [values] if isinstance(values, (int, np.integer)) else list(values)
    if len(given) == 1:
        given *= rank
    elif len(given) == rank + 2 and given[0] == given[-1] == 1:
        given = given[1:-1]
    if len(given) != rank or any(int(v) < 1 for v in given):
        raise ValueError(
            f"{what} are positive, one for all {rank} axes that windows move along, one each, or with a 1 for batch "
            f"and channels; got {values!r}{at(user_location())}"
        )
    return tuple(int(v) for v in given)


def _pairs(padding: Any, rank: int) -> list[tuple[int, int]]:
    """What is added before and after, for each axis that windows move along; nothing for batch and channels."""
    given = np.asarray(padding)
    ends = given[[0, -1]] if len(given) == rank + 2 else np.zeros(1)
    inner = given[1:-1] if len(given) == rank + 2 else given
    if inner.shape != (rank, 2) or ends.any() or (inner < 0).any():
        raise ValueError(
            f"padding by numbers is a pair (before, after) for each of {rank} axes, or of all axes with (0, 0) for "
            f"batch and channels; got {padding!r}{at(user_location())}"
        )
    return [(int(before), int(after)) for before, after in inner]


def _axes(x: Any, windows: Sequence[int], strides: Any, dilations: Any, padding: Any) -> list[_Axis]:
    rank = len(windows)
    if len(x.shape) != rank + 2:
        hint = "; one example alone is x[tracejit.newaxis]" if len(x.shape) == rank + 1 else ""
        raise ShapeError(f"needs a batch, {rank} axes and channels, got {x.spec}{hint}{at(user_location())}")
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise ValueError(
                f"padding is 'SAME', 'VALID' or pairs of numbers, got {padding!r}{at(user_location())}"
            )
        added: list[Any] = [padding.upper()] * rank
    else:
        added = _pairs(padding, rank)
    moves = _numbers(strides, rank, "strides")
    spread = _numbers(1 if dilations is None else dilations, rank, "dilations")
    return [_axis(*each) for each in zip(x.shape[1:-1], windows, moves, spread, added, strict=True)]


def _padded(x: Any, axes: Sequence[_Axis], fill: Any) -> Any:
    if not any(a.before or a.after for a in axes):
        return x
    return pad(x, [[0, 0], *([a.before, a.after] for a in axes), [0, 0]], constant_values=fill)


def _seen(x: Any, number: int, axis: _Axis) -> list[Any]:
    """For each place of a window along one axis the tensor of what all windows see there."""
    whole = [(0, size, 1) for size in x.shape]
    return [
        ops.slice(
            x,
            slices=(*whole[:number], (p * axis.dilation, axis.count, axis.stride), *whole[number + 1 :]),
        )
        for p in range(axis.window)
    ]


def _joined(join: Callable[[list[Any]], Any], x: Any, axes: Sequence[_Axis], fill: Any) -> Any:
    """What each window sees, joined.

    Axis by axis, the last one first, which is quicker than place by place: a window of 5 by 5 takes 10 slices instead
    of 25. The order is that of the places all the same.
    """
    x = _padded(x, axes, fill)
    for number in range(len(axes), 0, -1):
        x = join(_seen(x, number, axes[number - 1]))
    return x


def _of_known_sizes(x: Any) -> Any:
    """`x` with numbers for the sizes along which windows move: what is being traced holds for these alone."""
    if all(isinstance(size, int) for size in x.shape[1:-1]):
        return x
    return ops.reshape(x, shape=(*x.shape[:1], *map(known, x.shape[1:-1]), *x.shape[-1:]))


def _with_channels_last(f: Any, x: Any, data_format: str | None) -> Tensor:
    """`f` of a tensor whose channels are its last axis, and back if they were not."""
    x = convert_to_tensor(x)
    if data_format is None or not data_format.startswith("NC"):
        return f(_of_known_sizes(x))
    rank = len(x.shape)
    y = f(_of_known_sizes(ops.transpose(x, perm=(0, *range(2, rank), 1))))
    return ops.transpose(y, perm=(0, rank - 1, *range(1, rank - 1)))


def _outer_first(values: Any, data_format: str | None) -> Any:
    """Numbers per axis of the tensor, with the channels' behind the others as in the other order."""
    if not str(data_format).startswith("NC") or values is None or isinstance(values, (int, str, np.integer)):
        return values
    given = list(values)
    return [given[0], *given[2:], given[1]] if len(given) == len(str(data_format)) else given


# ---- convolutions ---------------------------------------------------------------------------------------


def convolution(
    input: Any,
    filters: Any,
    strides: Any = 1,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Sums of products of a window's elements with filters, for all windows.

    Parameters
    ----------
    input : tensor-like of floats
        ``(batch, ..., channels)``, or ``(batch, channels, ...)`` when `data_format` begins with ``"NC"``.
    filters : tensor-like of floats
        ``(..., channels, outputs)``; or for a part of the channels: these, and the outputs, fall into so many groups
        then that know nothing of each other.
    strides, dilations : int or sequence of int
        From one window to the next, and between the places a window sees.
    padding : str or sequence of (before, after)
        ``"VALID"``: windows inside only. ``"SAME"``: zeros are added so that there are ``ceil(size / stride)``.
    data_format, name : str, optional

    Raises
    ------
    ShapeError
        When `input` and `filters` do not fit.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.reshape(tf.range(4.0), (1, 4, 1))
    >>> print(tf.nn.convolution(x, tf.ones((2, 1, 1)))[0, :, 0])
    tf.Tensor([1. 3. 5.], shape=(3,), dtype=float32)
    """
    tensors, _ = matched((convert_to_tensor(input), convert_to_tensor(filters)), {})
    x, w = tensors
    moved = [_outer_first(v, data_format) for v in (strides, dilations, padding)]
    return _with_channels_last(lambda v: _convolved(v, w, *moved), x, data_format)


def _check_channels(x: Any, w: Any) -> None:
    if not same(x.shape[-1], w.shape[-2]):
        raise ShapeError(
            f"{x.spec} has {x.shape[-1]} channels, the filters {w.spec} are for {w.shape[-2]}{at(user_location())}"
        )


def _convolved(x: Any, w: Any, strides: Any, dilations: Any, padding: Any) -> Tensor:
    axes = _axes(x, w.shape[:-2], strides, dilations, padding)
    groups = _groups(x, w)
    moves, spread = tuple(a.stride for a in axes), tuple(a.dilation for a in axes)
    x = _padded(x, axes, 0)
    if groups == 1:
        return ops.convolution(x, w, strides=moves, dilations=spread)
    parts = zip(split(x, groups, -1), split(w, groups, -1), strict=True)
    return ops.concat(
        *(ops.convolution(a, b, strides=moves, dilations=spread) for a, b in parts), axis=len(x.shape) - 1
    )


def _groups(x: Any, w: Any) -> int:
    """How many groups of channels and outputs there are that know nothing of each other."""
    channels, each, outputs = x.shape[-1], w.shape[-2], w.shape[-1]
    if not all(isinstance(size, int) and size > 0 for size in (channels, each, outputs)):
        _check_channels(x, w)
        return 1
    groups, rest = divmod(channels, each)
    if rest or groups == 0 or outputs % groups:
        _check_channels(x, w)
    return max(groups, 1)


def conv1d(
    input: Any,
    filters: Any,
    stride: Any,
    padding: Any,
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """:func:`convolution` along one axis: `input` is ``(batch, width, channels)``, with ``"NCW"`` channels are second.

    `filters`, `stride`, `padding`, `data_format`, `dilations`, dtype and errors, ShapeError and ValueError, are those
    there.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.conv1d([[[1.0], [2.0], [4.0]]], [[[1.0]], [[-1.0]]], stride=1, padding="VALID"))
    tf.Tensor(
    [[[-1.]
      [-2.]]], shape=(1, 2, 1), dtype=float32)
    """
    return convolution(input, filters, stride, padding, data_format, dilations)


def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """:func:`convolution` over images `input`: ``(batch, height, width, channels)``, with ``"NCHW"`` channels second.

    `filters`, `strides`, `padding`, `data_format`, `dilations`, dtype and errors, ShapeError and ValueError, are those
    there.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.nn.conv2d(tf.ones((1, 5, 5, 2)), tf.ones((3, 3, 2, 4)), strides=2, padding="SAME").shape
    TensorShape([1, 3, 3, 4])
    """
    return convolution(input, filters, strides, padding, data_format, dilations)


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Filters for each channel by itself: `filter` is ``(height, width, channels, outputs of each)``.

    `input`, `strides`, `padding`, `data_format` and `dilations` are those of :func:`conv2d`.

    Returns
    -------
    Tensor
        With as many channels as `input` times the outputs of each, those of one channel together; of its dtype.

    Raises
    ------
    ShapeError
        Where channels differ.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.nn.depthwise_conv2d(tf.ones([1, 3, 3, 2]), tf.ones([2, 2, 2, 1]), [1, 1, 1, 1], "VALID").shape)
    (1, 2, 2, 2)
    """
    tensors, _ = matched((convert_to_tensor(input), convert_to_tensor(filter)), {})
    x, w = tensors
    if len(w.shape) != 4:
        raise ShapeError(
            f"filters are (height, width, channels, outputs of each), got {w.spec}{at(user_location())}"
        )
    moved = [_outer_first(v, data_format) for v in (strides, dilations, padding)]

    def each(v: Any) -> Tensor:
        axes = _axes(v, w.shape[:2], *moved)
        _check_channels(v, w)
        channels, outputs = w.shape[2:]
        places = every(*(range(a.window) for a in axes))
        seen = [part for row in _seen(_padded(v, axes, 0), 1, axes[0]) for part in _seen(row, 2, axes[1])]
        parts = [
            ops.reshape(s, shape=(*s.shape, 1))
            * ops.reshape(
                ops.slice(w, slices=((i, 1, 1), (j, 1, 1), (0, channels, 1), (0, outputs, 1))),
                shape=(channels, outputs),
            )
            for (i, j), s in zip(places, seen, strict=True)
        ]
        total = functools.reduce(ops.add, parts)
        return ops.reshape(total, shape=(*seen[0].shape[:-1], channels * outputs))

    return _with_channels_last(each, x, data_format)
