"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tracejit.frontend
from tracejit.core.op import OPS

MODULES = [m.name for m in pkgutil.walk_packages(tracejit.frontend.__path__, "tracejit.frontend.")]


@pytest.fixture(autouse=True)
def no_op_stays(monkeypatch):
    """Ops that examples declare are gone afterwards."""
    monkeypatch.setattr("tracejit.frontend.transforms.registering._registered", {})
    before = set(OPS)
    yield
    for name in set(OPS) - before:
        del OPS[name]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    found = [t for n in MODULES for t in finder.find(importlib.import_module(n)) if t.examples]
    assert len(found) > 10
