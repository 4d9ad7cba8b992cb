"""What parameters of a distribution must be; it must not know the distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.op import ops
from ...numpy.conversion import floats, is_number


def positive(parameter: Any) -> Any:
    """Floats, NaN in place of those that are not above 0."""
    x = floats(parameter)
    return x if is_number(parameter) and parameter > 0 else ops.where(ops.less(0.0, x), x, np.nan)


def where_positive(value: Any, *parameters: Any) -> Any:
    """`value`, NaN where a parameter is not above 0: no distribution has it."""
    for p in parameters:
        if not (is_number(p) and p > 0):
            value = ops.where(ops.less(0.0, floats(p)), value, np.nan)
    return value
