"""SciPy's convolution, of arrays of any number of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arrays.cutting import pad, reverse
from ..core.dim import known
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..numpy.conversion import arrays
from ..numpy.products import einsum
from ..ops.arrays.reduce import one_axis
from ..ops.elementwise.arithmetic import matched


def convolve(
    in1: Any,
    in2: Any,
    mode: str = "full",
    *,
    axes: Sequence[Sequence[int]] | None = None,
    dot_axes: Sequence[Sequence[int]] = ((), ()),
) -> Tensor:
    """`in1` with `in2` turned around and slid over it, its products added up.

    Parameters
    ----------
    in1, in2 : tensor-like
        Their sizes are known when this is called.
    mode : str
        "full", "valid", where one lies within the other, or "same", of the size of `in1`.
    axes : pair of sequences of int, optional
        The axes of each to slide along, all of them unless told.
    dot_axes : pair of sequences of int
        Axes of each to multiply and add up.

    Returns
    -------
    Tensor
        The other axes of `in1`, those of `in2`, and those slid along; the dtype is the promoted one.

    Raises
    ------
    ShapeError
        For axes that are not there, or not as many of both.
    ValueError
        For another mode.

    Examples
    --------
    >>> from tracejit.scipy import signal
    >>> print(signal.convolve([1, 2, 3], [1, 1], "valid"))
    tf.Tensor([3 5], shape=(2,), dtype=int64)
    """
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"mode is full, valid or same, got {mode!r}{at(user_location())}")
    x, y = matched(arrays(in1, in2), {})[0]
    ranks = len(x.shape), len(y.shape)
    slid = [list(range(r)) for r in ranks] if axes is None else axes
    along = [[one_axis(int(k), r) for k in own] for own, r in zip(slid, ranks, strict=True)]
    dotted = [[one_axis(int(k), r) for k in own] for own, r in zip(dot_axes, ranks, strict=True)]
    if len(along[0]) != len(along[1]) or len(dotted[0]) != len(dotted[1]):
        raise ShapeError(
            f"axes {slid} and {dot_axes} of {x.spec} and {y.spec} do not pair{at(user_location())}"
        )
    names = [[100 + k for k in range(ranks[0])], [200 + k for k in range(ranks[1])]]
    for a, b in zip(*dotted, strict=True):
        names[1][b] = names[0][a]
    used = [{*a, *d} for a, d in zip(along, dotted, strict=True)]
    rest = [
        name for own, gone in zip(names, used, strict=True) for k, name in enumerate(own) if k not in gone
    ]
    moved: Any = x
    for a, b in zip(*along, strict=True):
        moved = _windows(moved, a, known(y.shape[b]), mode)
    letters = [*names[0], *(300 + i for i in range(len(along[0])))]
    for i, b in enumerate(along[1]):
        names[1][b] = 300 + i
    result = [*rest, *(names[0][a] for a in along[0])]
    turned = reverse(y, along[1]) if along[1] else y
    code = {name: i for i, name in enumerate(dict.fromkeys([*letters, *names[1]]))}
    return einsum(
        moved, [code[n] for n in letters], turned, [code[n] for n in names[1]], [code[n] for n in result]
    )


def _windows(x: Any, axis: int, size: int, mode: str) -> Tensor:
    """The axis padded with zeros, as far as `mode` asks, and behind the last axis so far of `x` the windows over it."""
    own = known(x.shape[axis])
    first, count = {
        "full": (0, own + size - 1),
        "same": ((size - 1) // 2, own),
        "valid": (min(own, size) - 1, abs(own - size) + 1),
    }[mode]
    ends = (size - 1 - first, first + count - own)
    wide = pad(x, [ends if k == axis else (0, 0) for k in range(len(x.shape))])
    places = np.arange(count)[:, None] + np.arange(size)
    rows: Any = ops.gather(wide, places, axis=axis)
    rank = len(x.shape)
    return ops.transpose(rows, perm=(*range(axis + 1), *range(axis + 2, rank + 1), axis + 1))
