"""Class numbers as arrays of 0 and 1, in the form that Keras gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import at, user_location
from ..core.tensor import Tensor
from .cutting import one_hot


def to_categorical(x: Any, num_classes: int | None = None) -> Any:
    """Rows of zeros with a 1 at the class number; an array for anything but a Tensor.

    Parameters
    ----------
    x : array-like of integers
    num_classes : int, optional
        By default one more than the largest number.

    Raises
    ------
    IndexError
        For numbers outside of the classes.
    ValueError
        For a Tensor, without `num_classes`.

    Examples
    --------
    >>> to_categorical([0, 2]).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if isinstance(x, Tensor):
        if num_classes is None:
            raise ValueError(f"say how many classes there are: num_classes{at(user_location())}")
        return one_hot(x, num_classes)
    numbers = np.asarray(x, dtype=np.int64)
    numbers = numbers[..., 0] if numbers.ndim > 1 and numbers.shape[-1] == 1 else numbers
    return np.eye(int(numbers.max()) + 1 if num_classes is None else num_classes)[numbers]
