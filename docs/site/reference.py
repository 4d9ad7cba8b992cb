"""API pages: one for each public module, with a page for each of its names.

What is public is what modules list. A name that stands in several has its page in the first, and the others link to it.
Pages of names are in no table of contents: there are more than a thousand, and every page would repeat them all in its
navigation. They say where they belong, their module lists them, and the search finds them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from types import ModuleType
from typing import Any

from pages import Site

import tracejit as tj

#: Modules that are no faces of their own: every op once more, and what other modules list.
_NO_PAGES = frozenset({"raw_ops", "compat"})
#: Public modules that no module's list of names leads to.
_INNER = ("compat.v1", "config", "numpy.fft", "numpy.linalg", "profiler", "summary")


def public_modules() -> dict[str, ModuleType]:
    """Each public module by the first of its names: the package, its faces, and the modules that these list."""
    found = {"tracejit": tj}
    waiting = sorted({*tj._FACES - _NO_PAGES, *_INNER})
    for name in waiting:
        module: Any = tj
        for part in name.split("."):
            module = getattr(module, part)
        if not any(module is other for other in found.values()):
            found[f"tracejit.{name}"] = module
            listed = getattr(module, "__all__", ())
            waiting += [f"{name}.{n}" for n in listed if isinstance(getattr(module, n), ModuleType)]
    return found


def public_names(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What a module offers: the names it lists; else what it defines; else, of a list of names, what is in it."""
    listed = getattr(module, "__all__", None)
    names = [n for n in listed or dir(module) if not n.startswith("_")]
    homes = {n: getattr(getattr(module, n), "__module__", None) or "" for n in names}
    defines = not hasattr(module, "__path__") and module.__name__ in homes.values()
    for name in names:
        x = getattr(module, name)
        is_own = homes[name] == module.__name__ if defines else _is_ours(x)
        if not isinstance(x, ModuleType) and (listed or is_own):
            yield name, x


def _is_ours(x: Any) -> bool:
    """Is it the package's, or NumPy's under the name that NumPy has for it (None for ``newaxis``)?"""
    return x is None or (getattr(x, "__module__", None) or type(x).__module__).startswith(
        ("tracejit", "numpy")
    )


def write_reference(site: Site) -> None:
    """Write a page for every public module and name."""
    modules = public_modules()
    pages: dict[int, str] = {}
    for name, module in modules.items():
        _write_module(site, name, module, pages)
    rows = [f"| [`{name}`]({name}.md) | {_purpose(module)} |" for name, module in modules.items()]
    table = "\n".join(["| | |", "|---|---|", *rows])
    site.index(
        "reference",
        "Reference",
        list(modules),
        f"Every public module, and in each its names.\n\n{table}",
        hidden=True,
    )


def _write_module(site: Site, name: str, module: ModuleType, pages: dict[int, str]) -> None:
    """The page of a module: what it is for, and its names with a line each; pages of these are written."""
    rows: dict[str, list[str]] = {"Functions": [], "Classes": [], "Values": []}
    for short, x in public_names(module):
        title = f"{name}.{short}"
        if not callable(x) or not str(getattr(x, "__module__", "")).startswith("tracejit"):
            rows["Values"].append(f"| `{short}` | {_value(x)} |")
            continue
        page = pages.setdefault(id(x), title)
        if page == title:
            site.write(f"reference/{title}.rst", _name_page(name, title, x))
        rows["Classes" if inspect.isclass(x) else "Functions"].append(
            f"| [`{short}`]({page}.rst) | {_first_line(x)} |"
        )
    tables = [f"## {kind}\n\n| | |\n|---|---|\n" + "\n".join(found) for kind, found in rows.items() if found]
    about = (inspect.getdoc(module) or "").replace("Names only.", "").strip()
    text = "\n\n".join([f"# {name}", _as_markdown(about), *tables]) + "\n"
    site.write(f"reference/{name}.md", text, always=True)


def _name_page(module: str, title: str, x: Any) -> str:
    """A page in reStructuredText: where it belongs, and what its docstring says."""
    is_class = inspect.isclass(x)
    directive = "autoclass" if is_class else "autofunction"
    options = ["   :members:"] if is_class and not issubclass(x, (BaseException, Enum)) else []
    lines = [
        ":orphan:",
        "",
        f":doc:`Reference <index>` › :doc:`{module}`",
        "",
        title,
        "=" * len(title),
        "",
        f".. {directive}:: {title}",
        *options,
    ]
    return "\n".join(lines) + "\n"


def _purpose(module: ModuleType) -> str:
    """The first sentence about a module, without its name."""
    return re.sub(r": `tracejit[.\w]*`|\. Names only", "", _first_line(module)).rstrip(".")


def _first_line(x: Any) -> str:
    """The first sentence of a docstring, or its first line, for a table in Markdown."""
    sentence = re.split(r"\n|(?<=\w\.) (?=[A-Z])", inspect.getdoc(x) or "")[0]
    return _as_markdown(sentence.replace("|", "\\|"))


def _as_markdown(text: str) -> str:
    """A docstring's text in Markdown: both mark code with backticks."""
    return re.sub(r":\w+:`~?([^`]*)`", r"`\1`", text.replace("``", "`"))


def _value(x: Any) -> str:
    if str(getattr(x, "__module__", "")).startswith("numpy"):
        return f"NumPy's `{getattr(x, '__name__', type(x).__name__)}`"
    return f"`{x!r}`".replace("|", "\\|") if len(repr(x)) < 60 else type(x).__name__
