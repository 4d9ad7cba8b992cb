"""Write the documentation site to out/docs: pages from docstrings, tutorials and errors; Sphinx makes HTML of them.

    python docs/site/build.py [--strict]

Every page is made anew from what stands elsewhere: nothing here is written twice. With --strict a warning is an error.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from reference import write_errors, write_ops, write_reference
from tutorials import write_tutorials

ROOT = Path(__file__).resolve().parents[2]
SOURCE, HTML = ROOT / "out" / "docs-source", ROOT / "out" / "docs"
GUIDES = {
    "aot.md": "Functions as libraries",
    "aot-peers.md": "Libraries beside peers",
    "command-line.md": "From a shell",
    "debugging-machine-code.md": "Debugging machine code",
    "many-machines.md": "Many machines",
}


def write_pages() -> None:
    """Write the sources of all pages."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    for name in ("conf.py", "index.md"):
        shutil.copy(Path(__file__).parent / name, SOURCE / name)
    (SOURCE / "guides").mkdir()
    for name in GUIDES:
        shutil.copy(ROOT / "docs" / name, SOURCE / "guides" / name)
    shutil.copytree(ROOT / "docs" / "decisions", SOURCE / "decisions")
    for folder in ("tutorials", "how-to", "tour"):
        write_tutorials(ROOT / "docs" / folder, SOURCE / folder)
    write_reference(SOURCE / "reference")
    write_errors(SOURCE / "errors")
    write_ops(SOURCE)


def main() -> int:
    """Write the pages and the site; returns Sphinx's exit code."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--strict", action="store_true", help="a warning is an error")
    options = arguments.parse_args()
    write_pages()
    from sphinx.cmd.build import build_main

    strict = ["-W", "--keep-going"] if options.strict else []
    code = build_main(["-q", "-b", "html", "-j", "auto", *strict, str(SOURCE), str(HTML)])
    print(f"{len(list(HTML.rglob('*.html')))} pages in {HTML.relative_to(ROOT)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
