"""Weights that an optimizer leaves as their constraint wants them, and which of a layer's weights are such."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tf

from ..errors import at_user_line
from .policies import Weight


class Constrained(tf.Variable):
    """A Variable with a constraint, which optimizers apply after each step."""

    __slots__ = ("constraint",)

    def __copy__(self) -> Any:
        return _again(type(self), np.array(self.array), self.trainable, self.name, self.constraint)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), np.array(self.array), self.trainable, self.name, self.constraint)


class ConstrainedWeight(Weight):
    """The same, read in the dtype in which the layer computes."""

    __slots__ = ("constraint",)

    def __copy__(self) -> Any:
        return _again(type(self), np.array(self.array), self.trainable, self.name, self.constraint)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), np.array(self.array), self.trainable, self.name, self.constraint)


def _again(kind: Any, array: np.ndarray, trainable: bool, name: str, constraint: Any) -> Any:
    variable = kind(array, trainable, name=name.removesuffix(":0"))
    variable.constraint = constraint
    return variable


def kind_of_weight(short: bool, constraint: Any) -> Any:
    """The class of a weight, read in the dtype in which its layer computes where it is `short`."""
    if constraint is None:
        return Weight if short else tf.Variable
    return ConstrainedWeight if short else Constrained


class Constraints:
    """The arguments of a layer that are constraints; each has to be that of one of its weights."""

    def __init__(self, layer: Any, given: dict[str, Any]):
        wrong = [name for name in given if not name.endswith("_constraint")]
        if wrong:
            raise TypeError(f"{type(layer).__name__}() takes no argument {wrong[0]!r}{at_user_line()}")
        self.layer = type(layer).__name__
        self.given = {name: constraint for name, constraint in given.items() if constraint is not None}
        self.used: set[str] = set()

    def of(self, weight: str | None) -> Any:
        """The constraint of the weight with this name: ``kernel`` has ``kernel_constraint``."""
        for name in (f"{weight}_constraint", f"{(weight or '').removesuffix('_kernel')}_constraint"):
            if name in self.given:
                self.used.add(name)
                return self.given[name]
        return None

    def check(self) -> None:
        """TypeError for what was no weight's, once all are made."""
        unknown = sorted(set(self.given) - self.used)
        if unknown:
            raise TypeError(f"{self.layer} has no weight for {unknown[0]}{at_user_line()}")
