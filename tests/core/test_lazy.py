"""Public modules that load their names when asked: what their stubs say."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import tracejit
from tracejit.core import lazy

PACKAGE = Path(tracejit.__file__).parent
FACES = [
    ".".join(f.relative_to(PACKAGE).parent.parts)
    for f in PACKAGE.rglob("__init__.py")
    if "_lazily(__name__" in f.read_text("utf-8")
]


@pytest.mark.parametrize("name", FACES)
def test_a_stub_has_no_line_that_the_module_does_not_read(name):
    """A line that is written otherwise would show editors a name that is not there."""
    stub = PACKAGE.joinpath(*name.split("."), "__init__.pyi")
    made = {n for n in vars(importlib.import_module(f"tracejit.{name}")) if not n.startswith("_")}
    for s in ast.parse(stub.read_text("utf-8")).body:
        if isinstance(s, ast.ImportFrom):
            told = {a.asname or a.name for a in s.names}
        elif isinstance(s, ast.Assign):
            told = {t.id for t in s.targets if not t.id.startswith("_")} - made
        else:
            assert ast.unparse(s) == "import numpy as _np"
            told = set()
        assert told <= lazy.table(str(stub)).keys()


#: Modules of names that are for users as a whole: a name that they define is shown.
WHOLE = {
    "debugging": "assertions numerics",
    "image": "colors measures sizes",
    "layers": "core joining resizing",
    "linalg": "spectral",
    "losses": "classes",
    "math": "elementary no_nan segments special",
    "metrics": "accuracies confusion means",
    "nn": "blocks common convolutions transposed windows",
    "numpy": "applying array_api borders curves.calculus curves.polynomials elements.changing elements.comparing "
    "elements.elementwise elements.further elements.selecting elements.taking index_arrays joining making "
    "order.ordering order.sets products reductions shapes statistics.averages statistics.counting "
    "statistics.passing_nan statistics.quantiles",
    "random": "stateless",
    "strings": "operations",
}


@pytest.mark.parametrize("face", WHOLE)
def test_a_name_that_a_module_of_names_defines_is_in_the_stub(face):
    shown = importlib.import_module(f"tracejit.{face}").__all__
    for module in WHOLE[face].split():
        own = set(lazy.defined(f"tracejit.{face}.{module}"))
        assert own and own <= {*shown}, f"import it in src/tracejit/{face}/__init__.pyi"


def test_names_of_imports_are_not_shown():
    assert {"arccosh", "atleast_2d", "permute_dims", "rad2deg"} <= set(tracejit.numpy.__all__)
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
