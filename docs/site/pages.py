"""Where pages are written, and which of them: a site of a few pages is made in seconds."""

from __future__ import annotations

import re
import shutil
from pathlib import Path


class Site:
    """The folder of sources; with a pattern `only`, of the pages whose path it is found in, and of lists of pages."""

    def __init__(self, folder: Path, only: str = ""):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.folder = folder
        self._only = re.compile(only)

    def wants(self, path: str) -> bool:
        """Whether the page at `path` is one of those that are made."""
        return self._only.search(path) is not None

    def write(self, path: str, content: str | bytes, always: bool = False) -> None:
        """Write the page or the picture at `path`, if it is wanted; `always` where other pages lead to it."""
        if always or self.wants(path):
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)

    def index(self, folder: str, title: str, names: list[str], about: str = "", hidden: bool = False) -> None:
        """Write the list of a folder's pages; `hidden` where the text about them is the list already."""
        listed = "\n".join(n for n in names if (self.folder / folder / f"{n}.md").exists())
        option = ":hidden:" if hidden else ":maxdepth: 1"
        text = f"# {title}\n\n{about}\n\n```{{toctree}}\n{option}\n\n{listed}\n```\n"
        self.write(f"{folder}/index.md", text, always=True)
