"""The vector math library: elementary functions as LLVM IR text, for any width, accurate to a few units in
the last place and free of libm. It knows numbers and instructions; it knows neither graphs, nor kernels, nor
how text becomes machine code.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from ....ops.elementwise.formulas.families import ITERATED
from ....ops.elementwise.formulas.near_and_far import FORMULAS
from . import (
    error_function,
    exponential,
    hyperbolic,
    inverse,
    iterated,
    logarithm,
    power,
    special,
    trigonometric,
)
from .definition import WRITERS, MathFunction, written

__all__ = ["NAMES", "SHORT", "MathFunction", "function", "largest_error"]

NAMES: frozenset[str] = frozenset(WRITERS)
"""Names `function` accepts."""
SHORT = frozenset(("rsqrt",))
"""Those of so few instructions that a call would cost more."""


#: Of formulas that iterate, in float64.
_OF_ITERATED = {
    **dict.fromkeys(("dawsn", "erfcx"), 10.0),
    **dict.fromkeys(("sine_integral", "fresnel_sin", "fresnel_cos", "spence"), 5.0),
    "expi": 100.0,
}


def largest_error(name: str, dtype: str) -> float:
    """What the function is off by at the most, for any argument, in units in the last place; of ``float32`` or so.

    Of the gamma family below 0: in units of the larger of the value and the one at ``1 - x``, which it is made from.
    Of formulas that iterate: away from zeros, and infinity where the error grows with the arguments.
    """
    if name in FORMULAS:
        return 1.0 if dtype == "float32" else 6.0
    if name in ITERATED:
        return 1.0 if dtype == "float32" else _OF_ITERATED.get(name, math.inf)
    return 5.0 if dtype == "float32" and name in ("tanh", "erf") else 3.0


def function(
    name: str,
    dtype: np.dtype | type | str,
    width: int,
    fma: bool = True,
    *,
    inline: bool = False,
    avx512: bool = False,
) -> MathFunction:
    """One elementary function for vectors of `width` lanes.

    Parameters
    ----------
    name : str
        One of `NAMES`; ``pow`` and ``atan2`` take two operands, the others one.
    dtype : dtype-like
        float32 or float64.
    width : int
        Lanes, a power of two; 1 gives a scalar function.  LLVM splits what is wider than a register.
    fma : bool
        Whether the target has fused multiply-add.  Without it no ``llvm.fma`` is written, since that would
        become a call to libm.
    inline : bool
        Ask LLVM to inline every call instead of keeping the function whole.
    avx512 : bool
        Whether the target has AVX-512: shorter code for vectors of whole registers, the same contract.

    Returns
    -------
    MathFunction
        Its text, with what must stand beside it.  Equal arguments return the same object.

    Raises
    ------
    KeyError
        If `name` is not in `NAMES`.
    TypeError
        If `dtype` is neither float32 nor float64.

    Examples
    --------
    >>> f = function("exp", "float64", 8)
    >>> f.symbol
    '@tj_exp_v8f64'
    """
    return _function(name, np.dtype(dtype).char, width, bool(fma), bool(inline), bool(avx512))


@cache
def _function(name: str, kind: str, width: int, fma: bool, inline: bool, avx512: bool) -> MathFunction:
    if kind not in ("f", "d"):
        raise TypeError(f"{name}: no vector function for {np.dtype(kind)}, only for float32 and float64")
    if name not in NAMES:
        raise KeyError(f"no vector function named {name!r}; there are {', '.join(sorted(NAMES))}")
    return written(name, "double" if kind == "d" else "float", width, fma, avx512, inline)
