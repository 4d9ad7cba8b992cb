"""``tracejit compile``: a function with its gradient as libraries, headers and artifacts."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from pathlib import Path

from ..aot.artifact import Artifact
from ..aot.exporting import export
from ..aot.writing import FILES
from .failures import WrongUsage
from .main import Result
from .output import steps, writable, write_all
from .program import function_named
from .spec_text import parsed


def compile_(options: argparse.Namespace) -> Result:
    """Import, export, write."""
    specs = parsed(options.spec)
    headers = [] if options.header is None else [options.header]
    if any(Path(path).suffix != ".h" for path in headers):
        raise WrongUsage(f"--header takes a file that ends in .h, got {options.header}")
    places = writable([*options.output, *headers])
    known = [*FILES, ".tja"]
    unknown = [place.name for place in places if place.suffix not in known]
    if unknown:
        raise WrongUsage(f"-o takes files that end in {', '.join(known)}, got {', '.join(unknown)}")
    start = time.perf_counter()
    with steps(3, "compile") as done:
        f = function_named(options.function)
        done()
        with contextlib.redirect_stdout(sys.stderr):
            artifact = export(
                f,
                specs,
                name=options.name or _name(options.function),
                outputs=options.outputs or (("value", "grad") if options.grad else ("value",)),
                wrt=options.wrt,
                constants=options.constants,
                debug=options.debug,
                **({"targets": options.target} if options.target else {}),
            )
        done()
        files = write_all(places, lambda path: _write(artifact, path))
        done()
    data = {
        "name": artifact.name,
        "signature": artifact.signature,
        "targets": list(artifact.targets),
        "files": files,
        "seconds": round(time.perf_counter() - start, 3),
    }
    lines = [f"{f['path']}  {f['bytes']:,} bytes" for f in files]
    return data, "\n".join([artifact.signature, f"for {', '.join(artifact.targets)}", *lines])


def _write(artifact: Artifact, path: Path) -> None:
    if path.suffix == ".tja":
        artifact.save(path)
    else:
        artifact.write(path)


def _name(function: str) -> str:
    return function.rpartition(":")[2].replace(".", "_").lstrip("_")
