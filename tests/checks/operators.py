"""The two ways of eager operators, machine code and Python, for tests that compare them.

A test module that imports `lane` has the machine code in all its tests, and `in_python` calls without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tracejit as tf
from tracejit.frontend.tape import operator_lane
from tracejit.runtime.lane import probe

needs_lane = pytest.mark.skipif(
    probe.api() is None, reason="an interpreter or a NumPy that the code does not know"
)


@pytest.fixture(autouse=True)
def lane() -> Iterator[None]:
    """Operators as machine code from the first call on, and Python again after the test."""
    assert operator_lane.use(tf.GradientTape)
    yield
    operator_lane.leave()


def in_python(f: Callable[[], Any]) -> Any:
    """What `f` returns where operators are Python."""
    operator_lane.leave()
    try:
        return f()
    finally:
        operator_lane.use(tf.GradientTape)
