"""Results of a length that is told, where how many there are shows only when a compiled function runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.op import ops
from ...core.tensor import Tensor


def of_size(x: Tensor, size: int, fill_value: Any, axis: int = 0) -> Tensor:
    """The first `size` positions of `x` along `axis`; `fill_value` stands where there are fewer, by default 0."""
    behind = tuple([size if k == axis else d for k, d in enumerate(x.shape)])
    fill = ops.fill(shape=behind, value=0 if fill_value is None else fill_value, dtype=x.np_dtype)
    return ops.gather(ops.concat(x, fill, axis=axis), np.arange(size), axis=axis)
