"""What weights are made after each step of an optimizer: ``tracejit.keras.constraints``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from .constraint import (
        Constraint,
        MaxNorm,
        MinMaxNorm,
        NonNeg,
        UnitNorm,
        deserialize,
        get,
        max_norm,
        min_max_norm,
        non_neg,
        serialize,
        unit_norm,
    )
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
