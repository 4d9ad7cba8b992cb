"""Stubs that show type checkers the public names that load late: ``python -m stubs``, run in `tests`, writes them.

The package finds these names in tables, and in what its faces import for type checkers; a checker takes what another
file imports for private unless it is imported under its own name again, which the stubs do. A test asserts that they
are what this would write.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import tracejit
from tracejit.compat import v1
from tracejit.core import lazy

PACKAGE = Path(tracejit.__file__).parent
_HEAD = '"""{}\n\nWritten by ``python -m stubs`` in `tests`: do not edit.\n"""\n'


def stubs() -> dict[Path, str]:
    """The text of each stub."""
    found = {PACKAGE / "_names" / "later.pyi": _later(), PACKAGE / "_names" / "__init__.pyi": _at_once()}
    for face in sorted(PACKAGE.rglob("__init__.py")):
        if "lazily(__name__" in face.read_text(encoding="utf-8"):
            found[face.with_suffix(".pyi")] = _face(face)
    found[PACKAGE / "raw_ops.pyi"] = _registry(PACKAGE / "raw_ops.py")
    classic = PACKAGE / "compat" / "v1" / "__init__.py"
    return found | {classic.with_suffix(".pyi"): _classic(classic)}


def _later() -> str:
    """What the tables of the package name. The names of modules of faces are listed, for such an import is private."""
    faces = sorted(tracejit._FACES)
    names = {name: (f"tracejit.{home}", name) for name, home in tracejit._NAMES.items()}
    listed = "".join(f'    "{name}",\n' for name in sorted([*faces, *names]))
    return (
        _HEAD.format("Public names that load when they are first asked for.")
        + "".join(f"import tracejit.{face} as {face}\n" for face in faces)
        + "".join(f"{line}\n" for line in _imports(names))
        + f"\n__all__ = [\n{listed}]\n"
    )


def _at_once() -> str:
    """What loads at once."""
    text = (PACKAGE / "_names" / "__init__.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    body = [inner for s in tree.body for inner in (s.body if isinstance(s, ast.If) else [s])]
    imports = [s for s in body if isinstance(s, ast.ImportFrom) and s.level]
    places, _ = lazy._read(list(imports), "tracejit._names")
    made = [ast.get_source_segment(text, s) for s in body if isinstance(s, (ast.Assign, ast.AnnAssign))]
    public = {name: place for name, place in places.items() if not name.startswith("_")}
    lines = ["import numpy as _np\n", *_imports(public), "", *made]
    return _HEAD.format(ast.get_docstring(tree)) + "".join(f"{line}\n" for line in lines)


def _face(path: Path) -> str:
    """What a face imports for type checkers, and what else it says."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    module = ".".join(("tracejit", *path.parent.relative_to(PACKAGE).parts))
    block = next(s for s in tree.body if isinstance(s, ast.If))
    places, aliases = lazy._read(block.body, module)
    others = [
        ast.get_source_segment(text, s)
        for s in tree.body[1:]
        if s is not block and not (isinstance(s, ast.ImportFrom) and s.module in ("typing", "core.lazy"))
    ]
    lines = [*_imports(places), *(f"{name} = {meant}" for name, meant in sorted(aliases.items())), *others]
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
    own, _ = lazy._read([s for s in tree.body if isinstance(s, ast.ImportFrom) and s.level], package)
    moved = {
        name: (f"tracejit.{home.rpartition('.')[0]}", home.rpartition(".")[2])
        for name, home in v1.MOVED.items()
    }
    aliases, made = {}, []
    for s in tree.body:
        if isinstance(s, ast.Assign) and isinstance(s.value, ast.Name):
            aliases |= {ast.unparse(target): s.value.id for target in s.targets}
        elif isinstance(s, ast.AnnAssign):
            made.append(f"{ast.unparse(s.target)}: {ast.unparse(s.annotation)}")
    here = moved | {name: place for name, place in own.items() if not name.startswith("_")}
    others = {name for name in dir(tracejit) if name in tracejit._FACES or not _is_module(name)}
    others -= {*here, *aliases, *(line.partition(":")[0] for line in made)}
    here |= {name: ("tracejit", name) for name in others if not name.startswith("_")}
    return (
        _HEAD.format(ast.get_docstring(tree))
        + "from types import SimpleNamespace as _SimpleNamespace\n"
        + "".join(f"{line}\n" for line in _imports(here))
        + "".join(f"{name} = {meant}\n" for name, meant in aliases.items())
        + "".join(f"{line}\n" for line in made)
    )


def _is_module(name: str) -> bool:
    return isinstance(getattr(tracejit, name), ModuleType)


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
