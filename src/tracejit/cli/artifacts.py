"""``tracejit inspect`` and ``tracejit verify``: what an artifact holds, and whether it does what it was made for."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..aot.loading import load
from ..runtime.exported import container
from .main import Result
from .output import described, steps


def inspect_(options: argparse.Namespace) -> Result:
    """The function, its code for each processor, the file and its parts."""
    artifact = load(options.file)
    _, blobs = container.read(options.file)
    file = described(Path(options.file))
    declaration = _declaration(artifact.header(), artifact.name)
    data: dict[str, Any] = {
        "name": artifact.name,
        "signature": artifact.signature,
        "c": declaration,
        "targets": list(artifact.targets),
        **file,
        "parts": {name: len(blob) for name, blob in blobs.items()},
    }
    parts = [f"  {name:<12} {len(blob):>10,} bytes" for name, blob in blobs.items()]
    lines = [
        artifact.signature,
        declaration,
        f"for {', '.join(artifact.targets)}",
        f"{options.file}  {file['bytes']:,} bytes, sha256 {file['sha256']}",
    ]
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


def _declaration(header: str, name: str) -> str:
    start = header.index(f"int32_t {name}(")
    return " ".join(header[start : header.index(";", start) + 1].split())


def _text(error: float | None, what: str, nothing: str) -> str:
    return nothing if error is None else f"off by {error:.2g} of its size {what}"
