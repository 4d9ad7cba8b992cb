"""Tutorials, which are programs with `# %%` cells and `#> ` lines of output, as pages and as notebooks with outputs.

What a cell prints is what stands under it: the tests run every tutorial and compare. It is run here for what it draws.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pages import Site
from pictures import SHOW, drawn


class Cell(NamedTuple):
    """A piece of a tutorial: text, or code and what it prints."""

    is_text: bool
    source: str
    printed: str

    @property
    def figures(self) -> int:
        """How many figures it shows."""
        return 0 if self.is_text else self.source.count(SHOW)


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


def as_page(program: str, notebook: str, pictures: Sequence[str]) -> str:
    """The tutorial as Markdown, with a link to its notebook below the title, and its pictures by their addresses."""
    parts = []
    shown = iter(pictures)
    for cell in cells(program):
        if cell.is_text:
            parts.append(cell.source)
        else:
            parts.append(f"```python\n{cell.source}\n```")
            parts += [f"```text\n{cell.printed}\n```"] if cell.printed else []
            parts += [f"![What the code above draws]({next(shown)})" for _ in range(cell.figures)]
    parts.insert(1, f"{{download}}`As a notebook <{notebook}>`")
    return "\n\n".join(parts) + "\n"


def as_notebook(program: str, pictures: Sequence[bytes]) -> dict[str, Any]:
    """The tutorial as a notebook, format 4, with its outputs."""
    made = []
    shown = iter(pictures)
    for k, cell in enumerate(cells(program)):
        about = {"id": f"cell-{k}", "metadata": {}, "source": cell.source}
        if cell.is_text:
            made.append({"cell_type": "markdown", **about})
            continue
        outputs: list[dict[str, Any]] = []
        if cell.printed:
            outputs.append({"output_type": "stream", "name": "stdout", "text": f"{cell.printed}\n"})
        for _ in range(cell.figures):
            data = {"image/png": b64encode(next(shown)).decode()}
            outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
        made.append({"cell_type": "code", **about, "execution_count": None, "outputs": outputs})
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def write_tutorials(folder: Path, site: Site) -> None:
    """Write a page and a notebook for each tutorial of a folder, and the folder's list of pages."""
    names = []
    for path in sorted(folder.glob("*.py")):
        program = path.read_text(encoding="utf-8")
        notebook, page = (f"{folder.name}/{path.stem}.{ending}" for ending in ("ipynb", "md"))
        if not site.wants(page):
            continue
        pictures = drawn(path)
        places = [f"{path.stem}-{number}.png" for number, _ in enumerate(pictures, 1)]
        site.write(notebook, json.dumps(as_notebook(program, pictures), indent=1))
        site.write(page, as_page(program, f"{path.stem}.ipynb", places))
        for place, picture in zip(places, pictures, strict=True):
            site.write(f"{folder.name}/{place}", picture)
        names.append(path.stem)
    title = {"how-to": "How to"}.get(folder.name, folder.name.capitalize())
    site.index(folder.name, title, names)
