"""NumPy's ways to put elements around arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays import cutting
from ..core.dim import known
from ..core.errors import at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..ops.arrays.reduce import size_tensor
from ..ops.tensor.indexing import get
from . import reductions
from .conversion import array
from .statistics.quantiles import median


def pad(
    array_: Any,
    pad_width: Any,
    mode: str = "constant",
    *,
    constant_values: Any = None,
    end_values: Any = None,
    stat_length: Any = None,
    reflect_type: str | None = None,
) -> Tensor:
    """Elements of the same dtype around `array_`; `pad_width` is a number, (before, after), or one such pair per axis.

    `mode` is "constant", with `constant_values` given likewise, by default 0, "reflect", "symmetric", "edge", "wrap",
    "linear_ramp" to the `end_values`, 0 too, or "maximum", "minimum", "mean" or "median" along the axis, of
    `stat_length` elements next to the end, by default all; "empty" is 0. With the `reflect_type` "odd", not "even",
    what is reflected is mirrored at the value there, too. ValueError for another mode, a function among them, and for
    what it does not take.

    Examples
    --------
    >>> import tracejit.numpy as tnp
    >>> print(tnp.pad([1, 2], (1, 2)), tnp.pad([1, 2, 3], 2, mode="reflect").numpy())
    tf.Tensor([0 1 2 0 0], shape=(5,), dtype=int64) [3 2 1 2 3 2 1]
    """
    _require_taken(
        mode,
        constant_values=constant_values,
        end_values=end_values,
        stat_length=stat_length,
        reflect_type=reflect_type,
    )
    mode = "constant" if mode == "empty" else mode
    x: Any = array(array_)
    pairs = np.broadcast_to(pad_width, (len(x.shape), 2)).tolist()
    if mode in ("reflect", "symmetric") and reflect_type == "odd":
        for axis, sizes in enumerate(pairs):
            x = _turned_over(x, axis, sizes, mode)
        return x
    if reflect_type not in (None, "even"):
        raise ValueError(f"reflect_type is even or odd, got {reflect_type!r}{at(user_location())}")
    if mode in _ENDS:
        lengths = np.broadcast_to(0 if stat_length is None else stat_length, (len(pairs), 2)).tolist()
        for axis, (sizes, taken) in enumerate(zip(pairs, lengths, strict=True)):
            x = _with_ends(x, axis, sizes, taken, _ENDS[mode])
        return x
    if mode == "linear_ramp":
        values = np.broadcast_to(0 if end_values is None else end_values, (len(pairs), 2)).tolist()
        for axis, (sizes, ends) in enumerate(zip(pairs, values, strict=True)):
            x = _with_ramps(x, axis, sizes, ends)
        return x
    if mode in ("edge", "wrap"):
        for axis, (before, after) in enumerate(pairs):
            x = ops.gather(x, _positions_around(x.shape[axis], before, after, mode), axis=axis)
        return x
    if mode in ("reflect", "symmetric"):
        return _mirrored(x, pairs, mode)
    if mode != "constant":
        raise ValueError(f"pad has no mode {mode!r}: its modes are {', '.join(_TAKEN)}{at(user_location())}")
    return _with_constants(x, pairs, 0 if constant_values is None else constant_values)


def _require_taken(mode: str, **given: Any) -> None:
    """ValueError for what that mode has no use for."""
    beyond = [
        name for name, value in given.items() if value is not None and name not in _TAKEN.get(mode, name)
    ]
    if beyond:
        raise ValueError(
            f"unsupported keyword arguments for mode {mode!r}: {', '.join(beyond)}{at(user_location())}"
        )


#: What a mode takes.
_TAKEN: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",),
    "linear_ramp": ("end_values",),
    **dict.fromkeys(("maximum", "minimum", "mean", "median"), ("stat_length",)),
    **dict.fromkeys(("reflect", "symmetric"), ("reflect_type",)),
    **dict.fromkeys(("edge", "wrap", "empty"), ()),
}


def _with_constants(x: Any, pairs: Sequence[Any], constant_values: Any) -> Tensor:
    """One value all around, or one for each side; in integers without their fractions."""
    if not isinstance(constant_values, (list, tuple, np.ndarray)):
        whole = isinstance(constant_values, float) and x.dtype.kind in "iu"
        return cutting.pad(x, pairs, "constant", int(constant_values) if whole else constant_values)
    for axis, values in enumerate(np.broadcast_to(constant_values, (len(pairs), 2)).tolist()):
        for side, value in enumerate(values):
            width = [[0, 0] for _ in pairs]
            width[axis][side] = pairs[axis][side]
            x = _with_constants(x, width, value)
    return x


def _mirrored(x: Any, pairs: Sequence[Any], mode: str) -> Tensor:
    """Elements mirrored at the ends, and what was mirrored again where they do not reach."""
    for axis, (before, after) in enumerate(pairs):
        size = known(x.shape[axis]) if before or after else 0
        if size == 0 or max(before, after) < size:
            x = cutting.pad(x, [[before, after] if k == axis else [0, 0] for k in range(len(pairs))], mode, 0)
        else:
            x = ops.gather(x, _back_and_forth(size, before, after, mode)[2], axis=axis)
    return x


def _back_and_forth(size: int, before: int, after: int, mode: str) -> tuple[Any, Any, Any]:
    """How often one went there and back, whether one is on the way back, and the position: walks between both ends."""
    step = 1 if mode == "symmetric" else 0  # the outermost ones are met twice in a row
    period = max(2 * (size - 1 + step), 1)
    turns, place = np.divmod(np.arange(-before, size + after), period)
    over = place >= size
    return turns, over, np.where(over, period - step - place, place)


def _turned_over(x: Any, axis: int, sizes: Sequence[int], mode: str) -> Tensor:
    """Elements mirrored at the ends, and their values at the value there: twice that less the element."""
    size = known(x.shape[axis])
    if size == 1:
        return ops.gather(x, np.zeros(1 + sizes[0] + sizes[1], np.int64), axis=axis)
    turns, over, positions = _back_and_forth(size, sizes[0], sizes[1], mode)
    whole = ops.gather(x, positions, axis=axis)
    along = tuple([-1 if k == axis else 1 for k in range(len(x.shape))])
    sign, lasts, firsts = (
        array(v.reshape(along), x.dtype) for v in (np.where(over, -1, 1), 2 * (over + turns), -2 * turns)
    )
    first, last = (get(x, (*(slice(None),) * axis, end)) for end in (slice(0, 1), slice(-1, None)))
    return ops.add(ops.multiply(sign, whole), ops.add(ops.multiply(lasts, last), ops.multiply(firsts, first)))


def _positions_around(size: Any, before: int, after: int, mode: str) -> Any:
    """Positions along an axis with some in front and behind: the outermost ones again, or those of the other end."""
    number = ops.subtract(ops.iota(size=size + before + after, dtype=np.dtype(np.int64)), before)
    if mode == "wrap":
        return ops.mod(number, size_tensor(size))
    return ops.minimum(ops.maximum(number, 0), ops.subtract(size_tensor(size), 1))


#: What pads an axis with one value, by mode.
_ENDS: dict[str, Callable[..., Any]] = {
    "maximum": reductions.max,
    "minimum": reductions.min,
    "mean": reductions.mean,
    "median": median,
}


def _with_ends(
    x: Any, axis: int, sizes: Sequence[int], taken: Sequence[int], value: Callable[..., Any]
) -> Tensor:
    """What a reduction over so many elements at each end gives, so often there; 0 are all; rounded in integers."""
    parts = [x]
    for side, (count, length) in enumerate(zip(sizes, taken, strict=True)):
        chosen = slice(-length if side and length else None, None if side or not length else length)
        end = value(get(x, (*(slice(None),) * axis, chosen)), axis, keepdims=True)
        end = ops.round(end) if x.dtype.kind in "iu" and end.dtype.kind == "f" else end
        repeated = _repeated(ops.cast(end, dtype=x.dtype), axis, count)
        parts = [*parts, *repeated] if side else [*repeated, *parts]
    return ops.concat(*parts, axis=axis)


def _repeated(end: Any, axis: int, count: int) -> list[Tensor]:
    shape = tuple([count if k == axis else d for k, d in enumerate(end.shape)])
    return [ops.broadcast_to(end, shape=shape)] if count else []


def _with_ramps(x: Any, axis: int, sizes: Sequence[int], ends: Sequence[Any]) -> Tensor:
    """Evenly spaced elements from the outermost ones to `ends`."""
    parts = [x]
    for side, (size, end) in enumerate(zip(sizes, ends, strict=True)):
        last: Any = get(x, (*(slice(None),) * axis, slice(-1, None) if side else slice(0, 1)))
        steps = ops.reshape(
            array(np.arange(size) / max(size, 1)), shape=(size, *(1,) * (len(x.shape) - axis - 1))
        )
        wide = ops.cast(last, dtype=np.result_type(x.dtype, np.float64))
        part = ops.add(end, ops.multiply(ops.subtract(wide, end), steps))
        part = ops.cast(ops.floor(part) if x.dtype.kind in "iu" else part, dtype=x.dtype)
        parts = [*parts, cutting.reverse(part, axis)] if side else [part, *parts]
    return ops.concat(*parts, axis=axis)
