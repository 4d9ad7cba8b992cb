"""The tables of parameters on API pages: each parameter's name, type, default and meaning.

What a docstring says of a parameter in its ``Parameters`` section comes first, then what its base classes say, then
what ``parameters.txt`` says of all parameters of that name, and last the sentence of the docstring that names it. What
many functions share is so written once.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from tracejit.core.op import Op

#: A title of a docstring's section and the line under it.
_TITLE = re.compile(r"^(\w[\w ]*)\n(-{3,})$", re.M)
#: Where a sentence ends: before a capital letter, a name in backticks, or a new paragraph.
_SENTENCE = re.compile(r"(?<=[.;?])\s+(?=[A-Z`:])|\n\n")


@dataclass(frozen=True)
class Row:
    """A parameter as its line of the table says it; an empty string is what nobody says."""

    name: str
    type: str
    default: str
    meaning: str


def rows(name: str, x: Any) -> list[Row]:
    """The parameters of a public function, class or method `x`, which users call `name`: ``nn.relu``."""
    if inspect.isclass(x) and issubclass(x, (Enum, BaseException, Op)):
        return []
    texts = _texts(name, x)
    written = [_entries(_section(text)) for text in texts]
    parameters = inspect.signature(x).parameters.values()
    return [
        _row(name, p, texts, written)
        for p in parameters
        if p.name not in ("self", "cls") and not p.name.startswith("_")
    ]


def _row(name: str, p: inspect.Parameter, texts: list[str], written: list[dict[str, tuple[str, str]]]) -> Row:
    found = [entries[p.name] for entries in written if p.name in entries]
    shared = _shared(name, p.name)
    types = [type for type, _ in found] + [_annotation(p), shared[0]]
    meanings = [said for _, said in found] + [shared[1], *(_sentence(p.name, text) for text in texts)]
    stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    return Row(stars + p.name, next(filter(None, types), ""), _default(p), next(filter(None, meanings), ""))


def as_table(found: list[Row]) -> list[str]:
    """The lines of a table in reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", "   :class: parameters", ""]
    lines += ["   * - Parameter", "     - Type", "     - Default", "     - Meaning"]
    for row in found:
        default = f"``{row.default}``" if row.default else ""
        lines += [f"   * - ``{row.name}``", f"     - {row.type}", f"     - {default}"]
        first, *more = row.meaning.splitlines() or [""]
        lines += [f"     - {first}", *(f"       {line}".rstrip() for line in more)]
    return [*lines, ""]


def with_table(name: str, x: Any, lines: list[str]) -> list[str]:
    """The lines of a docstring, with the table in place of its ``Parameters``, or before its first section."""
    found = rows(name, x)
    text = "\n".join(lines)
    titles = [*_TITLE.finditer(text)]
    start = titles[0].start() if titles else len(text)
    end = start
    for i, title in enumerate(titles):
        if title[1] == "Parameters":
            start = title.start()
            end = titles[i + 1].start() if i + 1 < len(titles) else len(text)
    table = as_table(found) if found else []
    return [*text[:start].splitlines(), "", *table, *text[end:].splitlines(), ""]


def setup(app: Any) -> dict[str, Any]:
    """Make a Sphinx extension of this module: it comes before napoleon, which shows the other sections."""
    app.connect("autodoc-process-docstring", _replace, priority=400)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True}


def _signature(app: Any, what: str, name: str, x: Any, options: Any, said: str, returned: str) -> Any:
    """Of a class whose making is wrapped, its own signature; types are in the table. None leaves the others alone."""
    if what != "class" or not (said or "").startswith("(*args"):
        return None
    signature = inspect.signature(x)
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty)), None


def _replace(app: Any, what: str, name: str, x: Any, options: Any, lines: list[str]) -> None:
    if what in ("function", "method", "class"):
        lines[:] = with_table(name.removeprefix("tracejit."), x, lines)


# ---- what is written of parameters ----------------------------------------------------------------------


def _texts(name: str, x: Any) -> list[str]:
    """The docstring, of a class with those of its bases, of a method with those of the methods it overrides."""
    if inspect.isclass(x):
        return [inspect.cleandoc(c.__doc__ or "") for c in x.__mro__[:-1]]
    return [inspect.cleandoc(x.__doc__ or "")]


def _section(text: str) -> str:
    """The lines of the section ``Parameters``."""
    titles = [*_TITLE.finditer(text)]
    for i, title in enumerate(titles):
        if title[1] == "Parameters":
            return text[title.end() + 1 : titles[i + 1].start() if i + 1 < len(titles) else len(text)]
    return ""


def _entries(section: str) -> dict[str, tuple[str, str]]:
    """For each parameter of a section its type and meaning: names and type on one line, the meaning indented below."""
    found: dict[str, tuple[str, str]] = {}
    for entry in re.findall(r"^\S.*(?:\n(?:[ ]+.*)?)*", section, re.M):
        head, _, body = entry.partition("\n")
        names, _, type = head.partition(" : ")
        said = inspect.cleandoc(body).strip()
        for name in names.split(","):
            found[name.strip().lstrip("*")] = (type.strip(), said)
    return found


@functools.cache
def of_many() -> dict[str, tuple[str, str]]:
    """What is said of all parameters of a name; of a module's, or a function's, its own name stands before."""
    text = (Path(__file__).parent / "parameters.txt").read_text(encoding="utf-8")
    return _entries(re.sub(r"^#.*\n", "", text, flags=re.M))


def _shared(name: str, parameter: str) -> tuple[str, str]:
    for scope in scopes(name):
        said = of_many().get(f"{scope}{parameter}")
        if said:
            return said
    return ("", "")


def scopes(name: str) -> Iterator[str]:
    """``a.b.c`` is told by ``a.b.c.``, by ``a.b.``, by ``a.``, and by what is said of all."""
    parts = name.split(".")
    for i in range(len(parts), 0, -1):
        yield ".".join(parts[:i]) + "."
    yield ""


def _sentence(parameter: str, text: str) -> str:
    """The sentence that names it, rather one after the first than the first."""
    prose = text[: titles.start()] if (titles := _TITLE.search(text)) else text
    named = [s for s in _SENTENCE.split(prose) if re.search(rf"`[^`\n]*\b{parameter}\b[^`\n]*`", s)]
    said = " ".join((named[1:] or named or [""])[0].split())
    return said[:1].upper() + said[1:].rstrip(";")


def _annotation(p: inspect.Parameter) -> str:
    """What the signature says, in code; "" where it says nothing."""
    if p.annotation is p.empty or str(p.annotation).startswith(("Any", "typing.Any")):
        return ""
    said = getattr(p.annotation, "__forward_arg__", p.annotation)  # fields of named tuples are references
    return f"``{said if isinstance(said, str) else inspect.formatannotation(said)}``"


def _default(p: inspect.Parameter) -> str:
    if p.default is p.empty or type(p.default) is object:  # one that stands for "not given"
        return ""
    return str(getattr(p.default, "__name__", p.default) if callable(p.default) else _spelled(p.default))


def _spelled(value: Any) -> str:
    return str(value) if isinstance(value, (Enum, np.dtype)) else repr(value)
