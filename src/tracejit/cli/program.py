"""The user's function: ``module:function`` or ``model.py:loss``."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from .failures import Failed, WrongUsage


def function_named(text: str) -> Callable[..., Any]:
    """Import the module, or run the file, and find the function in it; what it prints goes to stderr."""
    home, mark, name = text.rpartition(":")
    if not (mark and home and name):
        raise WrongUsage(f"{text!r} names no function: write module:function, or a file, model.py:loss")
    with contextlib.redirect_stdout(sys.stderr):
        try:
            module = _from_file(Path(home)) if home.endswith(".py") else _imported(home)
        except SystemExit as end:
            raise Failed(f"{home} ended the process while it was imported, with {end.code!r}") from None
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise WrongUsage(_missing(home, name, found, part)) from None
    if not callable(found):
        raise WrongUsage(f"{home} has {name}, which is no function but {type(found).__name__}")
    return found


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise WrongUsage(f"there is no file {path}")
    name = path.stem if path.stem not in sys.modules else f"{path.stem} (the file)"  # json.py is no harm
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _imported(name: str) -> ModuleType:
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    if not all(part.isidentifier() for part in name.split(".")):
        raise WrongUsage(f"{name!r} is no name of a module, and no file that ends in .py")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the module is there; what it imports is not
        file = f"{name.replace('.', os.sep)}.py"
        hint = f"; for the file, write {file}:…" if os.path.isfile(file) else ""
        raise WrongUsage(f"there is no module {name!r} here or on Python's path{hint}") from None


def _missing(home: str, name: str, owner: object, part: str) -> str:
    known = [n for n, x in vars(owner).items() if callable(x)] if hasattr(owner, "__dict__") else []
    public = [n for n in known if not n.startswith("_")]
    close = difflib.get_close_matches(part, public, 1)
    has = (
        f"did you mean {close[0]}?" if close else f"it has {', '.join(sorted(public)[:10]) or 'no functions'}"
    )
    return f"{home} has no {name}: {has}"
