"""The examples in docstrings of public modules run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tracejit
from layers import BATTERIES, PUBLIC

MODULES = [
    m.name
    for m in pkgutil.walk_packages(tracejit.__path__, "tracejit.")
    if m.name.split(".")[1] in PUBLIC | BATTERIES
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    found = [t for n in MODULES for t in finder.find(importlib.import_module(n)) if t.examples]
    assert len(found) > 15
