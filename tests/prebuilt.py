"""What comes with the package made: library kernels, and the tables of erf and erfc.

``python -m prebuilt``, run in `tests`, writes them. A test asserts that they are what this would write, the kernels
where LLVM is the one that made them.
"""

from __future__ import annotations

import json
import math
import struct
import zlib

from tracejit.compiler import kernels, prebuilt
from tracejit.compiler.codegen import llvm
from tracejit.compiler.codegen.math import coefficients
from tracejit.compiler.codegen.math.error_function import FAR, LAST, STEPS, table_file
from tracejit.runtime import cpu

TABLES = {"erf": LAST, "erfc": FAR + 1}  # and their last points
PRECISION = 160  # bits behind the point of the integers that the tables are made in


def packed(name: str, level: str) -> bytes:
    """What the file of a kernel should hold."""
    return zlib.compress(kernels.made_kernel(name, cpu.baseline(level)).to_payload(), 9)


def tabulated(function: str) -> bytes:
    """erf or erfc and its derivative, rounded to nearest, from one point to the next by Taylor's series.

    Its terms, by which the slope ``2 / sqrt(pi) exp(-x**2)`` grows in a step, follow from the last two by the
    recurrence of Hermite's polynomials; erf grows by their integrals.
    """
    found: list[float] = []
    one, erf = 1 << PRECISION, 0
    slope = math.isqrt(coefficients.TWO_OVER_PI >> (coefficients.TWO_OVER_PI_BITS - 2 * PRECISION - 1))
    for point in range(TABLES[function] + 1):
        found += (erf / one, slope / one) if function == "erf" else ((one - erf) / one, -slope / one)
        term, before, order, slope, growth = slope, 0, 0, 0, 0
        while term or before:
            order += 1
            slope += term
            growth += term // order
            term, before = -2 * (point * term + before) // (STEPS**2 * order), term
        erf += growth // STEPS
    return struct.pack(f"<{len(found)}d", *found)


if __name__ == "__main__":
    for function in TABLES:
        table_file(function).write_bytes(tabulated(function))
    for kernel, level in prebuilt.kept():
        place = prebuilt.place(kernel, level)
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(packed(kernel, level))
    manifest = {"llvm": llvm.loaded_version(), "sources": prebuilt.digest()}
    prebuilt.MANIFEST.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
