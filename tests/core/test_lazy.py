"""Public modules that load their names when asked: what a star stands for."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import tracejit

FACES = [
    f.parent.name for f in Path(tracejit.__file__).parent.glob("*/__init__.py") if "lazily(" in f.read_text()
]


@pytest.mark.parametrize("name", FACES)
def test_a_star_is_every_public_name_that_the_module_defines(name):
    face = importlib.import_module(f"tracejit.{name}")
    stars = [
        importlib.import_module(f"{'tracejit' if s.level == 2 else face.__name__}.{s.module}")
        for s in ast.walk(ast.parse(inspect.getsource(face)))
        if isinstance(s, ast.ImportFrom) and s.names[0].name == "*"
    ]
    for module in stars:
        own = {
            key
            for key, x in vars(module).items()
            if not key.startswith("_") and getattr(x, "__module__", None) == module.__name__
        }
        assert own and own <= set(face.__all__)
        assert all(getattr(face, key) is getattr(module, key) for key in own)


def test_there_are_stars():
    assert "numpy" in FACES and {"arccosh", "atleast_2d", "permute_dims", "rad2deg"} <= set(
        tracejit.numpy.__all__
    )
    assert not {"matched", "two_floats", "Tensor", "np"} & set(tracejit.numpy.__all__)


def test_names_that_are_not_there_are_refused():
    with pytest.raises(AttributeError, match=r"module 'tracejit\.numpy' has no attribute 'matched'"):
        tracejit.numpy.matched  # noqa: B018
