"""Random compositions of derivatives, `vmap`, `function`, loops and branches over small smooth functions.

A program is text that runs with the package and, under the same names, with ``exact``, which knows NumPy and nested
dual numbers only. What the package computes eagerly, compiled, and by differences of its own values must be that.
"""

from .verdict import check

__all__ = ["check"]
