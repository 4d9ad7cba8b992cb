"""``tracejit inspect`` and ``tracejit verify``: what an artifact holds, and whether it does what it was made for."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path
from typing import Any

from ..aot.loading import load
from ..runtime.exported import container
from .main import Result
from .output import described, steps

#: An op in a line of a graph as text: ``%2: float64[] = multiply(%0, %1)``.
_OP = re.compile(r"^ *%.* = (\w+)\(", re.M)


def inspect_(options: argparse.Namespace) -> Result:
    """The function, its code for each processor, the file and its parts."""
    artifact = load(options.file)
    _, blobs = container.read(options.file)
    file = described(Path(options.file))
    declaration = _declaration(artifact.header(), artifact.name)
    ops = _ops(bytes(blobs.get("graph", b"")).decode())
    data: dict[str, Any] = {
        "name": artifact.name,
        "signature": artifact.signature,
        "c": declaration,
        "targets": list(artifact.targets),
        **file,
        "parts": {name: len(blob) for name, blob in blobs.items()},
        "graph": ops,
    }
    width = max(map(len, blobs), default=0)
    parts = [f"  {name:<{width}} {len(blob):>12,} bytes" for name, blob in blobs.items()]
    lines = [
        artifact.signature,
        declaration,
        f"for {', '.join(artifact.targets)}",
        f"{options.file}  {file['bytes']:,} bytes, sha256 {file['sha256']}",
    ]
    if ops:
        each = ", ".join(f"{count} {name}" for name, count in ops.items())
        lines.append(f"its graph has {sum(ops.values())} ops: {each}")
    return data, "\n".join([*lines, *parts])


def verify_(options: argparse.Namespace) -> Result:
    """Run it."""
    with steps(2, "verify") as done:
        artifact = load(options.file)
        done()
        found = artifact.verify(options.rtol)
        done()
    data = {"name": artifact.name, "sample": found.sample, "gradient": found.gradient}
    return data, "\n".join(
        [
            f"{artifact.name}: {_text(found.sample, 'from the sample', 'no sample to compare with')}",
            f"{artifact.name}: {_text(found.gradient, 'from differences', 'no gradient to compare with')}",
        ]
    )


def _ops(graph: str) -> dict[str, int]:
    """How often each op stands in a graph that is given as text, the most frequent first."""
    return dict(Counter(_OP.findall(graph)).most_common())


def _declaration(header: str, name: str) -> str:
    start = header.index(f"int32_t {name}(")
    return " ".join(header[start : header.index(";", start) + 1].split())


def _text(error: float | None, what: str, nothing: str) -> str:
    return nothing if error is None else f"off by {error:.2g} of its size {what}"
