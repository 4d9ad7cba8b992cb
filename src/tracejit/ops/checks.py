"""Run-time checks: assertions as ops, which keep their place in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.errors import FAILURES, require
from ..core.op import defop, sample
from ..core.spec import TensorSpec
from .batch import batch_check
from .lowering import Nests


def _kernel(test: np.ndarray, *, message: str, error: str = "AssertionError") -> np.ndarray:
    if not test:
        raise FAILURES[error](message)
    return test


def _nests(b: Any, out: TensorSpec, test: Any, *, message: str, error: str = "AssertionError") -> Any:
    value = b.scalar(test)
    b.fail(b.compute("eq", value, b.constant(0, value.dtype)), error, message)
    return test


@defop(
    vjp=(None,),
    kernel=_kernel,
    lower=Nests(_nests),
    batch=batch_check,
    traits=("effect", "may_fail"),
    samples=(sample((), low=0.5, high=2.0, message="an assertion"),),
)
def check(test: TensorSpec, *, message: str, error: str = "AssertionError") -> TensorSpec:
    """The scalar `test`, a float; the `error` with `message` and the user's line where it is 0."""
    require(test.shape == () and test.dtype.kind == "f", f"an assertion is about one number, got {test}")
    return test
