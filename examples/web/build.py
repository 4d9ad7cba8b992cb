"""Writes the page to a folder, with the curve and the gradient of its loss as WebAssembly.

    python examples/web/build.py site
    python -m http.server --directory site --bind 127.0.0.1 8000

Then http://127.0.0.1:8000 shows it. The folder is all there is: any server of files will do.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from model import PARAMETERS, curve, loss

import tracejit as tj

HERE = Path(__file__).parent
PAGE = ("index.html", "style.css", "page.mjs", "plots.mjs", "fit.mjs")


def build(folder: Path, target: str = "wasm32+simd128") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in PAGE:
        shutil.copy(HERE / name, folder / name)
    made = [
        tj.export(
            loss, [f"f64[{PARAMETERS}]", "f64[n]", "f64[n]"], name="loss", wrt="theta", targets=[target]
        ),
        tj.export(curve, [f"f64[{PARAMETERS}]", "f64[n]"], name="curve", outputs=["value"], targets=[target]),
    ]
    for art in made:
        for end in ("wasm", "mjs"):
            art.write(folder / f"{art.name}.{end}")
        print(f"{art.name}.wasm  {(folder / f'{art.name}.wasm').stat().st_size:6,} bytes   {art.signature}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes the page to a folder.")
    parser.add_argument("folder", type=Path, help="where to write it")
    parser.add_argument("--target", default="wasm32+simd128", help="or wasm32, for browsers without SIMD")
    given = parser.parse_args()
    build(given.folder, given.target)
