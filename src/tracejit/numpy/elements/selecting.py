"""NumPy's ways to choose among several arrays, for each element one: by conditions or by number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import cutting
from ...core.errors import at, user_location
from ...core.op import ops
from ...core.tensor import Tensor
from ...math import sorting
from ...ops.arrays import shape as shapes
from ...ops.elementwise.arithmetic import matched
from ..conversion import array, arrays, require
from .taking import take


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Tensor:
    """For each element the first of `choicelist` whose condition in `condlist` holds, else `default`; they broadcast.

    The dtype is that to which choices are promoted. DtypeError for conditions that are no bools, ValueError where the
    lists differ in length.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> x = tnp.arange(4)
    >>> print(tnp.select([x < 1, x < 3], [x - 10, x * 10], default=7))
    tf.Tensor([-10  10  20   7], shape=(4,), dtype=int64)
    """
    selected = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        selected = ops.where(array(condition), *matched(arrays(choice, selected), {})[0])
    return selected


def choose(a: Any, choices: Any, mode: str = "raise") -> Tensor:
    """For each element of `a`, an integer, the element of the choice of that number; they all broadcast.

    What numbers beyond the last mean is the `mode`: "raise", "wrap" or "clip", as of :func:`take`. The dtype is that to
    which `choices` are promoted. ValueError for such numbers, now or when a compiled function runs, and for another
    mode; ShapeError where they do not broadcast.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.choose([1, 0], [[1.0, 2.0], [10.0, 20.0]]))
    tf.Tensor([10.  2.], shape=(2,), dtype=float64)
    """
    number = array(a)
    whole = matched(arrays(*choices) if isinstance(choices, (list, tuple)) else (array(choices),), {})[0]
    parts = [array(x) for x in whole] if len(whole) > 1 else list(cutting.unstack(array(whole[0]), axis=0))
    shape = cutting.common_shape(number.shape, *(x.shape for x in parts))
    stacked = shapes.stack([ops.broadcast_to(x, shape=shape) for x in parts], len(shape))
    if mode == "raise":
        inside = ops.logical_and(ops.less_equal(0, number), ops.less(number, len(parts)))
        require(inside, f"invalid entry in choice array: the {len(parts)} choices are numbered from 0")
    numbers = take(np.arange(len(parts)), ops.broadcast_to(number, shape=shape), mode=mode)
    return ops.reshape(
        sorting.take_along(stacked, ops.reshape(numbers, shape=(*shape, 1)), len(shape)), shape=shape
    )


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Tensor:
    """For each element of `x` the function or number in `funclist` of the last condition in `condlist` that holds.

    One more in `funclist` is for where none does, else 0. Functions are called with the whole of `x`, `args` and `kw`,
    and what they say of other elements is left out; of the dtype of `x`. ValueError for another number of functions.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> x = tnp.array([-2.0, 0.0, 3.0])
    >>> print(tnp.piecewise(x, [x < 0, x > 0], [lambda v: -v, lambda v: v * v, 1.0]))
    tf.Tensor([2. 1. 9.], shape=(3,), dtype=float64)
    """
    v = array(x)
    conditions = condlist if isinstance(condlist, (list, tuple)) else [condlist]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ValueError(
            f"{len(conditions)} conditions need as many functions or one more, got {len(funclist)}"
            f"{at(user_location())}"
        )
    values = [f(v, *args, **kw) if callable(f) else f for f in funclist]
    chosen: Any = values[-1] if len(values) > len(conditions) else 0
    for condition, value in zip(conditions, values, strict=False):
        chosen = ops.where(array(condition), *matched(arrays(value, chosen), {})[0])
    return ops.broadcast_to(ops.cast(array(chosen), dtype=v.np_dtype), shape=v.shape)
