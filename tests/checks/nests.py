"""Nests of tensors as plain Python values, to compare results with."""

from __future__ import annotations

from typing import Any

import numpy as np


def values(nest: Any) -> Any:
    """Tensors of a nest as Python lists and numbers; None stays."""
    if isinstance(nest, (list, tuple)):
        return [values(x) for x in nest]
    if isinstance(nest, dict):
        return {k: values(v) for k, v in nest.items()}
    return None if nest is None else np.asarray(nest).tolist()
