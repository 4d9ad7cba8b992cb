"""Pages that are tables: the errors, and the ops with their gradients, dtypes and accuracy."""

from __future__ import annotations

from pathlib import Path

from pages import Site

from tracejit.raw_ops import gradient_table

_ABOUT_ERRORS = """Every message says three things: the op and what it was given, what is wrong, and your own line. A
page for each error shows a program that raises it, and what to write instead."""

_ABOUT_OPS = """What tapes record, and how it is differentiated. Everything else is made of these, and so are the
gradients, which are differentiated again as often as you like. Through `None` no gradient flows, on purpose; `missing`
is an error.

*Dtypes* are those that elements may have; the others raise `DtypeError`. *ULP* is the accuracy of compiled code, in
units in the last place, for any argument: the bound that tests hold it to. Half a unit is a result rounded correctly,
0 is exact. Ops without a number sum, factor, search or are made of others, and their accuracy depends on what they are
given: see [dtypes and special values](decisions/dtypes-and-special-values.md)."""


def write_errors(folder: Path, site: Site) -> None:
    """Copy the pages of errors, and write the list of them with the first sentence of each."""
    rows = []
    for path in sorted(folder.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        site.write(f"errors/{path.name}", text)
        sentence = " ".join(text.split("\n\n")[1].split()).partition(". ")[0].rstrip(".:")
        rows.append(f"| [`{path.stem}`]({path.name}) | {sentence} |")
    table = "\n".join(["| | |", "|---|---|", *rows])
    names = [path.stem for path in sorted(folder.glob("*.md"))]
    site.index("errors", "Errors", names, f"{_ABOUT_ERRORS}\n\n{table}", hidden=True)


def write_ops(site: Site) -> None:
    """Write the table of ops: their gradients, the dtypes they take, and what they are accurate to."""
    site.write("ops.md", f"# Ops\n\n{_ABOUT_OPS}\n\n{gradient_table()}")
