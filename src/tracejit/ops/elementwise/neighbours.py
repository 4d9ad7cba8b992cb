"""Floats and their neighbours."""

from __future__ import annotations

import numpy as np

from ...core.op import defop, real
from ...core.spec import TensorSpec
from ..lowering import Callback
from .arithmetic import ELEMENTWISE, broadcast, matched, pairs


@defop(
    partial=(lambda y, x, to: 1.0, None),
    kernel=np.nextafter,
    lower=Callback(),
    canonicalize=matched,
    traits=ELEMENTWISE,
    samples=pairs(complex=False),
)
def nextafter(x: TensorSpec, to: TensorSpec) -> TensorSpec:
    """The float beside `x` in the direction of `to`; it goes along with `x`."""
    return real(broadcast(x, to))
