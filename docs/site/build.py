"""Write the documentation site to out/docs: pages from docstrings, tutorials and errors; Sphinx makes HTML of them.

    python docs/site/build.py [--strict] [--only PATTERN]

Every page is made anew from what stands elsewhere: nothing here is written twice. With --strict a warning is an error.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from pages import Site
from pictures import saved
from reference import write_reference
from tables import write_errors, write_ops
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


def write_pages(only: str = "") -> None:
    """Write the sources of all pages, or of those whose path the pattern `only` is found in."""
    site = Site(SOURCE, only)
    for name in ("conf.py", "index.md"):
        shutil.copy(Path(__file__).parent / name, SOURCE / name)
    shutil.copytree(Path(__file__).parent / "static", SOURCE / "static")
    for name, picture in saved(Path(__file__).parent / "index.md").items():
        site.write(name, picture, always=True)
    for name in GUIDES:
        site.write(f"guides/{name}", (ROOT / "docs" / name).read_text(encoding="utf-8"))
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        site.write(f"decisions/{path.name}", path.read_text(encoding="utf-8"))
    for folder in ("tutorials", "how-to", "tour"):
        write_tutorials(ROOT / "docs" / folder, site)
    write_reference(site)
    write_errors(ROOT / "docs" / "errors", site)
    write_ops(site)


def main() -> int:
    """Write the pages and the site; returns Sphinx's exit code."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--strict", action="store_true", help="a warning is an error")
    arguments.add_argument("--only", default="", metavar="PATTERN", help="pages whose path it is found in")
    options = arguments.parse_args()
    shutil.rmtree(HTML, ignore_errors=True)
    write_pages(options.only)
    from sphinx.cmd.build import build_main

    strict = ["-W", "--keep-going"] if options.strict else []
    code = build_main(["-q", "-b", "html", "-j", "auto", *strict, str(SOURCE), str(HTML)])
    print(f"{len(list(HTML.rglob('*.html')))} pages in {HTML.relative_to(ROOT)}")
    return code


if __name__ == "__main__":
    sys.exit(main())
