"""What type checkers and editors are told is what there is at run time, and programs that are shown pass them."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import stubs
import tracejit as tf
from tracejit.core.settings import Settings

PACKAGE = Path(tf.__file__).parent


def test_stubs_are_up_to_date():
    old = [path for path, text in stubs.stubs().items() if not path.exists() or path.read_text() != text]
    assert not old, "run `python -m stubs` in tests"


# ---- members --------------------------------------------------------------------------------------------


def declared(name: str) -> set[str]:
    """The members that `core/declared.pyi` states for a class, those of its bases there included."""
    stub = ast.parse((PACKAGE / "core" / "declared.pyi").read_text(encoding="utf-8"))
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    members = {m.name for m in classes[name].body if isinstance(m, ast.FunctionDef)}
    for base in classes[name].bases:
        members |= declared(ast.unparse(base)) if ast.unparse(base) in classes else set()
    return members


#: What the class Tensor states itself, and protocols that nobody calls by name.
STATED = {"dtype", "np_dtype", "serial", "spec", "shape", "ndim", "is_symbolic", "nbytes", "array", "value"}
SILENT = {"__copy__", "__deepcopy__", "__buffer__", "__array_struct__"}


def test_what_tensors_can_do_is_declared():
    members = vars(tf.Tensor)
    there = {m for m in members if not m.startswith("_")} - STATED
    there |= {m for m in members if m.startswith("__") and m not in vars(object) and callable(members[m])}
    assert not there - SILENT - declared("TensorExchange"), "state it in core/declared.pyi"
    assert not declared("TensorExchange") - set(dir(tf.Tensor)), "core/declared.pyi states what is not there"


def test_what_variables_can_do_is_declared():
    assert not declared("TensorMethods") - set(dir(tf.Variable)), "core/declared.pyi states what is not there"


# ---- names ----------------------------------------------------------------------------------------------


def shown(path: Path) -> set[str]:
    """The public names that a checker finds in a module, a stub before its source."""
    if path.is_dir():
        path = path / "__init__"
    path = next(p for p in (path.with_suffix(".pyi"), path.with_suffix(".py")) if p.exists())
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for s in body:
        if isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == "__all__":
            return set(ast.literal_eval(s.value))
    return {name for s in body for name in _names(s, path)}


def _names(s: ast.stmt, path: Path) -> set[str]:
    if isinstance(s, (ast.FunctionDef, ast.ClassDef)):
        return {s.name}
    if isinstance(s, (ast.Assign, ast.AnnAssign)):
        targets = s.targets if isinstance(s, ast.Assign) else [s.target]
        return {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    if isinstance(s, ast.If):
        return {name for inner in s.body for name in _names(inner, path)}
    if isinstance(s, ast.ImportFrom) and s.names[0].name == "*":
        home = PACKAGE.parent.joinpath(*(s.module or "").split("."))
        return {name for name in shown(home) if not name.startswith("_")}
    if isinstance(s, ast.ImportFrom):  # private under another name
        return {a.name for a in s.names if a.asname == a.name}
    return set()


def public(module: ModuleType) -> set[str]:
    """What an editor is to complete after the name of a module and a dot."""
    return {
        n for n in dir(module) if not n.startswith("_") and not isinstance(getattr(module, n), ModuleType)
    }


def test_names_of_the_package_are_known_statically():
    assert public(tf) | tf._FACES <= shown(PACKAGE)


#: Modules with a folder that no public name leads to by its folder's name.
INNER = {"constraints", "models"}
FACES = sorted(tf._FACES - {"compat", "raw_ops"})


@pytest.mark.parametrize("face", FACES)
def test_names_of_faces_are_known_statically(face: str):
    module = importlib.import_module(f"tracejit.{face}")
    own = {name for name, x in vars(module).items() if getattr(x, "__module__", "") == module.__name__}
    assert public(module) & {*getattr(module, "__all__", own)} <= shown(PACKAGE / face)


def test_ops_are_known_by_their_type_names():
    assert {name for name in dir(tf.raw_ops) if name[0].isupper()} <= shown(PACKAGE / "raw_ops")


#: Prints what modules list, as an editor asks for it that has just started, and where each thing is from.
LISTED = """
import sys, types
import tracejit

def home(x):
    return x.__name__ if isinstance(x, types.ModuleType) else getattr(x, "__module__", None) or "tracejit"

print({name: home(getattr(tracejit, name)) for name in dir(tracejit) if name[0] != "_"})
for path in sys.argv[1:]:
    module = tracejit
    for part in path.split("."):
        module = getattr(module, part)
    print({name: home(getattr(module, name)) for name in dir(module) if name[0] != "_"})
"""


def _is_foreign(home: str) -> bool:
    return home.partition(".")[0] in {*sys.stdlib_module_names, "__future__"} - {"builtins"}


def test_modules_list_what_is_meant_for_users():
    inner = {
        "config",
        "summary",
        "numpy.fft",
        "numpy.linalg",
        "scipy.stats.norm",
        "keras.constraints",
        "keras.regularizers",
        "compat.v1",
    }
    faces = sorted(tf._FACES | inner)
    started = [sys.executable, "-c", LISTED, *faces]
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    text = subprocess.run(started, capture_output=True, text=True, check=True, env=environment).stdout
    lists = dict(zip(["tracejit", *faces], map(ast.literal_eval, text.splitlines()), strict=True))
    assert all(lists.values())
    wrong = {face: {n for n, home in names.items() if _is_foreign(home)} for face, names in lists.items()}
    assert not {face: names for face, names in wrong.items() if names}
    rooms = {"core", "ops", "frontend", "runtime", "compiler"}
    assert not rooms & {*lists["tracejit"], *lists["compat.v1"]}
    assert {"np", "as_tensor", "user_location"} & set().union(*lists.values()) == set()


def test_settings_are_declared_as_attributes():
    tree = ast.parse((PACKAGE / "frontend" / "config.py").read_text(encoding="utf-8"))
    block = next(s for s in tree.body if isinstance(s, ast.If))
    told = {s.target.id: s.annotation.id for s in block.body}
    assert told == {field.name: field.type for field in dataclasses.fields(Settings)}


#: Completes as Jupyter does after `import tracejit as tj` in the same cell, where nothing has run yet.
STATIC = "import tracejit as tj\n{}."


def completions(expression: str) -> set[str]:
    """The public names that jedi offers after an expression and a dot without running anything."""
    jedi = pytest.importorskip("jedi", reason="jedi is not installed")
    names = jedi.Script(STATIC.format(expression)).complete()
    return {c.name for c in names if not c.name.startswith("_")}


def files_of(module: ModuleType) -> set[str]:
    """The modules that lie in a package: jedi offers these as well."""
    return {name for _, name, _ in pkgutil.iter_modules(getattr(module, "__path__", []))}


#: Public modules that define nothing but names: editors are to complete these, and modules in the folder.
NAMES_ONLY = [
    "",
    "compat.v1",
    "data",
    "keras",
    "keras.layers",
    *sorted(
        ".".join(face.relative_to(PACKAGE).parent.parts)
        for face in PACKAGE.rglob("__init__.py")
        if "_lazily(__name__" in face.read_text(encoding="utf-8") and face.parent.name not in INNER
    ),
]


@pytest.mark.parametrize("path", NAMES_ONLY)
def test_editors_complete_what_modules_list(path: str):
    expression = f"tj.{path}".rstrip(".")
    module = eval(expression, {"tj": tf})
    listed = {name for name in dir(module) if not name.startswith("_")}
    offered = completions(expression)
    assert listed <= offered
    assert offered - listed <= files_of(module)


@pytest.mark.parametrize("with_jedi", [True, False])
@pytest.mark.parametrize("path", ["", "nn", "numpy", "keras", "config"])
def test_ipython_completes_what_modules_list(path: str, with_jedi: bool):
    completer = pytest.importorskip("IPython.core.completer", reason="IPython is not installed")
    expression = f"tj.{path}".rstrip(".")
    made = completer.IPCompleter(use_jedi=with_jedi, namespace={"tj": tf})
    text = f"{expression}."
    with completer.provisionalcompleter():
        found = {c.text.rpartition(".")[2] for c in made.completions(text, len(text))}
    listed = {name for name in dir(eval(expression, {"tj": tf})) if not name.startswith("_")}
    assert {name for name in found if not name.startswith("_")} == listed


def test_function_is_declared_with_its_parameters():
    stub = ast.parse((PACKAGE / "frontend" / "function" / "declared.pyi").read_text(encoding="utf-8"))
    names = [[a.arg for a in f.args.args] for f in stub.body if isinstance(f, ast.FunctionDef)]
    taken = [
        p.name for p in inspect.signature(tf.function).parameters.values() if p.kind is not p.VAR_KEYWORD
    ]
    assert names == [taken, taken]


# ---- programs -------------------------------------------------------------------------------------------

ROOT = PACKAGE.parents[1]
#: Cells of a tutorial give names other values, as those of a notebook do.
MYPY = """
[mypy]
check_untyped_defs = true
allow_redefinition = true
local_partial_types = true
ignore_missing_imports = true
implicit_reexport = false
[mypy-matplotlib.*,sklearn.*]
follow_imports = skip
ignore_missing_imports = true

[mypy-tracejit.*]
follow_imports = silent
"""


#: What a checker is to find.
FOUND = """
from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
import tracejit as tj

x, v = tj.constant([1.0, 2.0]), tj.Variable(1.0)
assert_type(2.0 * x[0] + v, tj.Tensor)
assert_type([1.0, 2.0] - v @ x, tj.Tensor)
assert_type(tj.sin(x).sum(axis=0), tj.Tensor)
assert_type(tj.numpy.exp(x).T.at[0].get(), Any)
assert_type(x.array, np.ndarray)
assert_type([row for row in x], list[tj.Tensor])
assert_type(tj.layers.Dense(3), tj.keras.layers.Dense)
assert_type(tj.optimizers.Adam(0.1), tj.keras.optimizers.Adam)
assert_type(tj.keras.Sequential([]), tj.Sequential)


@tj.function
def power(a: tj.Tensor, n: int = 2) -> tj.Tensor:
    return a**n


class Model(tj.Module):
    @tj.function(reduce_retracing=True)
    def __call__(self, a: tj.Tensor) -> tj.Tensor:
        return a

    @tj.function
    def step(self, a: tj.Tensor, rate: float) -> tuple[tj.Tensor, float]:
        return a, rate


assert_type(power(x, n=3), tj.Tensor)
assert_type(tj.grad(power)(x, 3), Any)
assert_type(tj.value_and_grad(power)(x), tuple[Any, Any])
assert_type(tj.vmap(power)(x), tj.Tensor)
assert_type(Model()(x), tj.Tensor)
assert_type(Model().step(x, rate=0.1), tuple[tj.Tensor, float])
with tj.GradientTape() as tape:
    assert_type(tape, tj.GradientTape)
"""


def programs(folder: Path) -> list[Path]:
    """What the README, tutorials, tour and examples show, and what is to be found, in a folder."""
    folder.joinpath("found.py").write_text(FOUND, encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", readme, re.M | re.S)
    assert len(blocks) >= 3
    folder.joinpath("readme.py").write_text("\n\n".join(blocks), encoding="utf-8")
    for path in (*ROOT.glob("docs/t*/*.py"), *ROOT.glob("examples/*.py")):
        shutil.copy(path, folder / path.name)
    return sorted(folder.glob("*.py"))


def test_programs_pass_mypy(tmp_path: Path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    settings = tmp_path / "mypy.ini"
    settings.write_text(MYPY)
    cache = ROOT / ".mypy_cache" / "programs"
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", settings, "--cache-dir", cache, *programs(tmp_path)],
        env=os.environ | {"MYPYPATH": str(PACKAGE.parent)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.slow
def test_programs_pass_pyright(tmp_path: Path):
    pyright = shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed")
    settings = {
        "extraPaths": [str(PACKAGE.parent)],
        "reportMissingImports": False,
        "reportMissingModuleSource": False,
        "useLibraryCodeForTypes": False,  # what a checker infers of code without types is no statement of its own
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    # Dask says of arguments without annotations that they are of the type of their default
    checkable = [path for path in programs(tmp_path) if path.name != "dask_digits.py"]
    checked = subprocess.run(
        [pyright, "--pythonpath", sys.executable, *checkable],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
