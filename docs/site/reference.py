"""API pages: one for each public module, with a page for each of its names; the errors; the ops.

What is public is what modules list. A name that stands in several has its page in the first, and the others link to it.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import tracejit as tj

#: Modules whose names are other modules' names, or that need what is not installed with the core.
_NO_PAGES = frozenset({"compat", "raw_ops"})


def write_reference(target: Path) -> None:
    """Write a page for every public module and name."""
    target.mkdir(parents=True)
    pages: dict[int, str] = {}
    names = [f"tracejit.{n}" for n in _public(tj) if inspect.ismodule(getattr(tj, n)) and n not in _NO_PAGES]
    modules = ["tracejit", *names]
    for name in modules:
        module = tj if name == "tracejit" else getattr(tj, name.removeprefix("tracejit."))
        (target / f"{name}.md").write_text(_module_page(target, name, module, pages), encoding="utf-8")
    listed = "\n".join(modules)
    text = f"# Reference\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    (target / "index.md").write_text(text, encoding="utf-8")


def _public(module: ModuleType) -> list[str]:
    return [name for name in getattr(module, "__all__", None) or dir(module) if not name.startswith("_")]


def _module_page(target: Path, name: str, module: ModuleType, pages: dict[int, str]) -> str:
    """The page of a module: what it is for, and its names with a line each; pages of these are written."""
    rows: list[str] = []
    own: list[str] = []
    for short in _public(module):
        x = getattr(module, short)
        if inspect.ismodule(x):
            continue
        title = f"{name}.{short}"
        if not (inspect.isclass(x) or callable(x)) or str(getattr(x, "__module__", "")).startswith("numpy"):
            rows.append(f"| `{short}` | {_value(x)} |")
            continue
        page = pages.setdefault(id(x), title)
        if page == title:
            own.append(title)
            (target / f"{title}.rst").write_text(_name_page(title, x), encoding="utf-8")
        rows.append(f"| [`{short}`]({page}.rst) | {_first_line(x)} |")
    about = (inspect.getdoc(module) or "").replace("Names only.", "").strip()
    table = "\n".join(["| | |", "|---|---|", *rows]) if rows else ""
    listed = "\n".join(own)
    tree = f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n" if own else ""
    return f"# {name}\n\n{about}\n\n{table}\n\n{tree}"


def _name_page(title: str, x: Any) -> str:
    directive = "autoclass" if inspect.isclass(x) else "autofunction"
    members = "   :members:\n" if inspect.isclass(x) else ""
    return f"{title}\n{'=' * len(title)}\n\n.. currentmodule:: tracejit\n\n.. {directive}:: {title}\n{members}"


def _first_line(x: Any) -> str:
    line = (inspect.getdoc(x) or "").partition("\n")[0]
    return line.replace("|", "\\|").replace("``", "`")


def _value(x: Any) -> str:
    if str(getattr(x, "__module__", "")).startswith("numpy"):
        return f"NumPy's `{getattr(x, '__name__', type(x).__name__)}`"
    return f"`{x!r}`".replace("|", "\\|") if len(repr(x)) < 60 else type(x).__name__


# ---- errors and ops -------------------------------------------------------------------------------------


def write_errors(target: Path) -> None:
    """Write a page for each error and warning: when it is raised, of what kind it is."""
    target.mkdir(parents=True)
    named = [(n, getattr(home, n)) for home in (tj, tj.errors) for n in _public(home)]
    errors = [(n, x) for n, x in named if inspect.isclass(x) and issubclass(x, BaseException)]
    kinds = {n: x for n, x in errors if x.__module__.startswith("tracejit")}
    for name, x in kinds.items():
        family = " → ".join(f"`{k.__name__}`" for k in x.__mro__[1:-1] if k is not BaseException)
        page = f"# {name}\n\n{_rest(x)}\n\nIt is a {family}.\n"
        (target / f"{name}.md").write_text(page, encoding="utf-8")
    listed = "\n".join(sorted(kinds))
    text = f"# Errors\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    (target / "index.md").write_text(text, encoding="utf-8")


def _rest(x: type) -> str:
    return (inspect.getdoc(x) or "").replace("``", "`")


def write_ops(target: Path) -> None:
    """Write the table of ops: their gradients, and what they are accurate to."""
    from tracejit.raw_ops import gradient_table

    text = "# Ops\n\nEvery op that tapes record, and how it is differentiated.\n\n" + gradient_table()
    (target / "ops.md").write_text(text, encoding="utf-8")
