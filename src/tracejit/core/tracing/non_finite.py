"""The NaN mode: the first op, forward or backward, that made a NaN or infinity from finite inputs.

With ``settings(nans=True)`` every op that runs kernel by kernel is looked at here; compiled code tells only that
something was not finite, and is then run again kernel by kernel. Loaded when something is to be looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import Location, TracejitError, as_explained, at
from ..op import Op
from ..tensor import Tensor

_SHOWN = 3


class NonFinite(TracejitError, FloatingPointError):
    """An op made a NaN or an infinity of finite inputs.

    Examples
    --------
    >>> import tracejit as tf
    >>> try:
    ...     with tf.settings(nans=True): tf.math.log(tf.constant(-1.0))
    ... except tf.errors.NonFinite as error:
    ...     print(type(error).__name__)
    NonFinite
    """

    __module__ = "tracejit.errors"


def _finite(array: np.ndarray) -> bool:
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


def require_finite(
    op: Op,
    inputs: Sequence[Tensor],
    attrs: Mapping[str, Any],
    outputs: Sequence[Tensor],
    location: Location | None,
) -> None:
    """Raise :class:`NonFinite` where an output is not finite although all inputs are."""
    if op.literal or op.runs_graphs or all(_finite(t.array) for t in outputs):
        return
    if not all(_finite(t.array) for t in inputs):
        return
    bad = next(t.array for t in outputs if not _finite(t.array))
    wrong = np.isnan(bad) if np.isnan(bad).any() else ~np.isfinite(bad)
    made = "a NaN" if np.isnan(bad).any() else "an infinity"
    where = f" at {tuple(np.argwhere(wrong)[0].tolist())}" if bad.shape else ""
    count = f" ({wrong.sum()} of {bad.size} elements)" if bad.size > 1 else ""
    backward = "the gradient of this line: " if getattr(location, "is_backward", False) else ""
    arguments = ", ".join(f"{t.spec} {_range(t.array)}" for t in inputs)
    raise as_explained(
        NonFinite(f"{backward}{op} made {made}{where}{count}, of finite inputs: {arguments}{at(location)}")
    )


def _range(array: np.ndarray) -> str:
    """The elements where they are few, else from where to where they go."""
    if array.size <= _SHOWN:
        return f"= {array.tolist()}"
    if array.dtype.kind == "c":
        return f"up to {np.abs(array).max()} in size"
    return f"from {array.min()} to {array.max()}"
