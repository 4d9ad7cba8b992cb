"""Tutorials, which are programs with `# %%` cells and `#> ` lines of output, as pages and as notebooks with outputs.

What a cell prints is what stands under it: the tests run every tutorial and compare. So nothing is run here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pages import Site


class Cell(NamedTuple):
    """A piece of a tutorial: text, or code and what it prints."""

    is_text: bool
    source: str
    printed: str


def cells(program: str) -> Iterator[Cell]:
    """The cells of a tutorial, in order."""
    for part in program.split("# %%")[1:]:
        head, _, body = part.partition("\n")
        lines = body.strip("\n").splitlines()
        if "[markdown]" in head:
            yield Cell(True, "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines), "")
        elif lines:
            yield from _code(lines)


def _code(lines: list[str]) -> Iterator[Cell]:
    """Code, cut after each line of output: a notebook shows what a cell prints below it."""
    source: list[str] = []
    printed: list[str] = []
    for line in lines:
        is_output = line == "#>" or line.startswith("#> ")
        if printed and not is_output:
            yield Cell(False, "\n".join(source).strip("\n"), "\n".join(printed))
            source, printed = [], []
        (printed if is_output else source).append(line[3:] if is_output else line)
    if any(s.strip() for s in source) or printed:
        yield Cell(False, "\n".join(source).strip("\n"), "\n".join(printed))


def as_page(program: str, notebook: str) -> str:
    """The tutorial as Markdown, with a link to its notebook below the title."""
    parts = []
    for cell in cells(program):
        if cell.is_text:
            parts.append(cell.source)
        else:
            parts.append(f"```python\n{cell.source}\n```")
            parts += [f"```text\n{cell.printed}\n```"] if cell.printed else []
    parts.insert(1, f"{{download}}`As a notebook <{notebook}>`")
    return "\n\n".join(parts) + "\n"


def as_notebook(program: str) -> dict[str, Any]:
    """The tutorial as a notebook, format 4, with its outputs."""
    made = []
    for k, cell in enumerate(cells(program)):
        about = {"id": f"cell-{k}", "metadata": {}, "source": cell.source}
        if cell.is_text:
            made.append({"cell_type": "markdown", **about})
            continue
        output = {"output_type": "stream", "name": "stdout", "text": f"{cell.printed}\n"}
        outputs = [output] if cell.printed else []
        made.append({"cell_type": "code", **about, "execution_count": None, "outputs": outputs})
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def write_tutorials(folder: Path, site: Site) -> None:
    """Write a page and a notebook for each tutorial of a folder, and the folder's list of pages."""
    names = []
    for path in sorted(folder.glob("*.py")):
        program = path.read_text(encoding="utf-8")
        notebook, page = (f"{folder.name}/{path.stem}.{ending}" for ending in ("ipynb", "md"))
        site.write(notebook, json.dumps(as_notebook(program), indent=1))
        site.write(page, as_page(program, f"{path.stem}.ipynb"))
        names.append(path.stem)
    title = {"how-to": "How to"}.get(folder.name, folder.name.capitalize())
    site.index(folder.name, title, names)
