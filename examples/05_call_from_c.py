"""A function and its gradient, called by a C program.

Run: python examples/05_call_from_c.py [--keep FOLDER]

A chain of springs and weights hangs between two nails. Its energy is written in Python; `tracejit.export` writes it and
its gradient as a library, and a C program lets the chain swing until it is at rest. The program links neither Python
nor tracejit. Without a C compiler (`cc`) the library is still written, and called from Python.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import tracejit as tj

JOINTS = 9
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include "chain.h"

int main(void) {
  enum { n = 9 };
  double y[n] = {0}, speed[n] = {0}, energy, force[n];
  void *work = malloc(chain_workspace(n) + 1);
  for (int step = 0; step < 20000; step++) {
    int32_t status = chain(y, &energy, force, n, work);
    if (status != 0) { puts(chain_error(status)); return 1; }
    for (int k = 0; k < n; k++) {
      speed[k] = 0.98 * speed[k] - 0.01 * force[k];
      y[k] += 0.01 * speed[k];
    }
  }
  printf("energy %.6f\\n", energy);
  for (int k = 0; k < n; k++) printf("%.4f ", y[k]);
  putchar('\\n');
  free(work);
  return 0;
}
"""


def energy(y):
    """Springs between neighbours, stretched by the heights `y` of the joints, and weights that pull these down."""
    heights = tj.concat([[0.0], y, [0.0]], axis=0)
    stretched = tj.sqrt(0.01 + (heights[1:] - heights[:-1]) ** 2) - 0.1
    return tj.reduce_sum(50.0 * stretched**2) + tj.reduce_sum(y)


def run_in_c(folder: Path) -> str:
    """What the C program prints."""
    (folder / "main.c").write_text(PROGRAM, encoding="utf-8")
    command = ["cc", "main.c", "-L.", "-lchain", "-Wl,-rpath,.", "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run(["./main"], cwd=folder, check=True, capture_output=True, text=True).stdout


def main(folder: Path) -> None:
    """Export, call from C, and compare with Newton's method in Python."""
    chain = tj.export(energy, ["f64[n]"], name="chain")
    chain.write(folder / "libchain.so")
    chain.write(folder / "chain.h")
    size = (folder / "libchain.so").stat().st_size
    print(f"libchain.so: {size:,} bytes, {chain.signature}")

    y = np.zeros(JOINTS)
    hessian, gradient = tj.function(tj.hessian(energy)), tj.function(tj.grad(energy))
    for _ in range(30):
        slope = gradient(y).numpy()
        y -= np.linalg.solve(hessian(y).numpy() + np.eye(JOINTS), slope)
    value, slope = chain(y)
    print(f"Python:  energy {value:.6f}, largest force {np.abs(slope).max():.0e}")
    print("Python: ", *(f"{height:.4f}" for height in y))
    if shutil.which("cc") is None:
        print("no C compiler: main.c was not run")
        return
    for line in run_in_c(folder).splitlines():
        print("C:      ", line)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="A function and its gradient, called by a C program.")
    arguments.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="where to leave library, header and program"
    )
    options = arguments.parse_args()
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
        main(options.keep)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
