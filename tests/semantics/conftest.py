"""Every behaviour promised to users is shown twice: run eagerly, and compiled by `function`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tracejit as tf


@pytest.fixture(params=["eager", "compiled"])
def run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return ``run(program, *args)``: call the program as it is, or compiled."""
    if request.param == "eager":
        return lambda program, *args: program(*args)
    return lambda program, *args: tf.function(program)(*args)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this folder."""
    for item in items:
        if "semantics" in item.path.parts:
            item.add_marker(pytest.mark.semantics)
