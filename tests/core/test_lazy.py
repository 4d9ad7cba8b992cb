"""Public modules that load their names when asked: what a star stands for."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import tracejit

FACES = [
    f.parent.name
    for f in Path(tracejit.__file__).parent.glob("*/__init__.py")
    if "lazily(" in f.read_text("utf-8")
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


def test_what_is_not_installed_is_said_with_the_extra_it_comes_with():
    code = (
        "import sys; sys.modules['dask'] = None\n"
        "import tracejit.dask\n"
        "try: tracejit.dask.fit\n"
        "except ModuleNotFoundError as error: print(error.name, '|', error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "dask | tracejit.dask needs the package dask: pip install 'tracejit[dask]'\n"


@pytest.mark.parametrize(
    "first",
    [
        "import tracejit.nn as part",
        "from tracejit.core.op import OPS; assert len(OPS) > 100; part = OPS['negative'].infer",
        "from tracejit.core import op as part; import tracejit; assert part.Op is tracejit.Op",
        "from tracejit.core import tensor as part; import tracejit; assert part.Tensor is tracejit.Tensor",
        "import tracejit; from tracejit.core.op import Op as part; assert part is tracejit.Op",
        "import tracejit.frontend.function.function as part",
        "from tracejit import *; part = relu",
        "import tracejit.compiler.pipeline as part",
    ],
)
def test_a_part_that_is_imported_first_finds_the_whole(first):
    """Tensors can be added, graphs print and ops are there, whichever module a program begins with."""
    code = (
        f"{first}\n"
        "import sys, tracejit\n"
        "assert not [f for f in sys.meta_path if type(f).__name__ == 'WholeFirst']\n"
        "assert all(m.__spec__.loader and m.__spec__.origin for n, m in sys.modules.items() if n[:8] == 'tracejit')\n"
        "name = getattr(part, '__name__', 'x')\n"
        "assert sys.modules.get(name, part) is part\n"
        "assert tracejit.nn.relu is tracejit.relu and tracejit.function is sys.modules["
        "'tracejit.frontend.function.function'].function\n"
        "sys.stdout.write(str(tracejit.constant(1.0) + 1.0))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "2." in done.stdout, done.stderr
