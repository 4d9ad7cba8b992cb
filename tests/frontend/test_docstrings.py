"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tracejit.frontend

pytestmark = pytest.mark.usefixtures("no_op_stays")
MODULES = [m.name for m in pkgutil.walk_packages(tracejit.frontend.__path__, "tracejit.frontend.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    found = [t for n in MODULES for t in finder.find(importlib.import_module(n)) if t.examples]
    assert len(found) > 10
