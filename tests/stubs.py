"""Stubs that show type checkers the public names that load late: ``python -m stubs``, run in `tests`, writes them.

The package finds these names in tables; a checker takes what another file imports for private unless it is imported
under its own name again, which the stubs do. A test asserts that they are what this would write. Other stubs of public
modules are written by hand: they are the tables that these modules read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

import tracejit
from tracejit.compat import v1

PACKAGE = Path(tracejit.__file__).parent
_HEAD = '"""{}\n\nWritten by ``python -m stubs`` in `tests`: do not edit.\n"""\n'


def stubs() -> dict[Path, str]:
    """The text of each stub."""
    classic = PACKAGE / "compat" / "v1" / "__init__.py"
    return {
        PACKAGE / "__init__.pyi": _package(),
        PACKAGE / "_names" / "__init__.pyi": _at_once(),
        PACKAGE / "raw_ops.pyi": _registry(PACKAGE / "raw_ops.py"),
        classic.with_suffix(".pyi"): _classic(classic),
    }


def _package() -> str:
    """The names that load at once, and what the tables of the package name."""
    faces = sorted(tracejit._FACES)
    names = {name: (f"tracejit.{home}", name) for name, home in tracejit._NAMES.items()}
    return (
        _HEAD.format(tracejit.__doc__.rstrip())
        + "from tracejit._names import *\n"
        + "".join(f"from . import {face} as {face}\n" for face in faces)
        + "".join(f"{line}\n" for line in _imports(names))
        + "\n__version__: str\n"
    )


def _at_once() -> str:
    """What loads at once."""
    text = (PACKAGE / "_names" / "__init__.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    body = [inner for s in tree.body for inner in (s.body if isinstance(s, ast.If) else [s])]
    imports = [s for s in body if isinstance(s, ast.ImportFrom) and s.level]
    places = _read(imports, "tracejit._names")
    made = [ast.get_source_segment(text, s) for s in body if isinstance(s, (ast.Assign, ast.AnnAssign))]
    public = {name: place for name, place in places.items() if not name.startswith("_")}
    lines = ["import numpy as _np\n", *_imports(public), "", *made]
    return _HEAD.format(ast.get_docstring(tree)) + "".join(f"{line}\n" for line in lines)


def _registry(path: Path) -> str:
    """The ops, under their type names."""
    about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    names = "".join(f"{name}: Callable[..., Any]\n" for name in dir(tracejit.raw_ops) if name[0].isupper())
    table = {"gradient_table": ("tracejit.inspect.registry", "gradient_table")}
    imports = ["", "from collections.abc import Callable", "from typing import Any", "", *_imports(table), ""]
    return _HEAD.format(about) + "".join(f"{line}\n" for line in imports) + names


def _classic(path: Path) -> str:
    """What `tracejit` has, what the module of older names imports and makes itself, and what it says has moved."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = "tracejit.compat.v1"
    own = _read([s for s in tree.body if isinstance(s, ast.ImportFrom) and s.level], package)
    moved = {
        name: (f"tracejit.{home.rpartition('.')[0]}", home.rpartition(".")[2])
        for name, home in v1._MOVED.items()
    }
    aliases, made = {}, []
    for s in tree.body:
        if isinstance(s, ast.Assign) and isinstance(s.value, ast.Name):
            aliases |= {ast.unparse(target): s.value.id for target in s.targets}
        elif isinstance(s, ast.AnnAssign):
            made.append(f"{ast.unparse(s.target)}: {ast.unparse(s.annotation)}")
    here = moved | {name: place for name, place in own.items() if not name.startswith("_")}
    others = {*dir(tracejit)} - {*here, *aliases, *(line.partition(":")[0] for line in made)}
    here |= {name: ("tracejit", name) for name in others if not name.startswith("_")}
    return (
        _HEAD.format(ast.get_docstring(tree))
        + "from types import SimpleNamespace as _SimpleNamespace\n"
        + "".join(f"{line}\n" for line in _imports(here))
        + "".join(f"{name} = {meant}\n" for name, meant in aliases.items())
        + "".join(f"{line}\n" for line in made)
    )


def _read(statements: list[ast.ImportFrom], package: str) -> dict[str, tuple[str, str | None]]:
    """Names to modules and attributes, as a package imports them; None: the module itself."""
    places: dict[str, tuple[str, str | None]] = {}
    for s in statements:
        home = resolve_name("." * s.level + (s.module or ""), package)
        for a in s.names:
            places[a.asname or a.name] = (home, a.name) if s.module else (f"{home}.{a.name}", None)
    return places


def _imports(places: dict[str, tuple[str, str | None]]) -> Iterator[str]:
    """Imports of names under names of their own, from where they are; a None stands for the module itself."""
    for name, (home, attribute) in sorted(places.items(), key=lambda item: (item[1][0], item[0])):
        if attribute is None:
            package, _, attribute = home.rpartition(".")
            home = package
        if attribute == name:
            yield f"from {home} import {name} as {name}"
        else:
            yield f"from {home} import {attribute} as _{name}"
            yield f"{name} = _{name}"


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
