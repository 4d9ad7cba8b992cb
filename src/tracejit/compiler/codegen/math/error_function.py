"""erf. Double precision expands around the nearest of 769 tabulated points; single precision is a polynomial
near zero and one in the exponent of erfc beyond.
"""

from __future__ import annotations

from functools import cache

from . import coefficients as table
from . import erf_table
from .definition import vector_function
from .exponential import of_reduced, power_of_two, reduce
from .writer import Builder

_TABLE = "@tj_erf_table"


@vector_function
def erf(b: Builder, x: str) -> str:
    return _erf_double(b, x) if b.is_double else _erf_float(b, x)


def _erf_float(b: Builder, x: str) -> str:
    """An odd polynomial up to 0.9, then ``1 - exp(p(|x|))``."""
    a = b.abs(x)
    near = b.fma(a, b.polynomial(b.mul(a, a), table.ERF_SMALL), a)
    n, r = reduce(b, b.polynomial(b.minimum(a, 4.0), table.ERF_LARGE))
    far = b.sub(1.0, b.mul(of_reduced(b, r), power_of_two(b, n)))
    return b.copysign(b.select(b.compare("ogt", a, 0.9), far, near), x)


def _erf_double(b: Builder, x: str) -> str:
    """``erf(k + d) = erf(k) + erf'(k) d (1 - k d + ...)``: Hermite polynomials in the tabulated point k."""
    a = b.abs(x)
    last = (erf_table.LAST - 1) / erf_table.STEPS
    y = b.select(b.compare("olt", a, last), a, last)  # NaN too, for the table's sake
    shifted = b.add(y, b.magic / erf_table.STEPS)
    k = b.sub(shifted, b.magic / erf_table.STEPS)
    index = b.int_op("sub", b.bits(shifted), b.magic_bits - (7 << 52))
    b.globals.append(_table_text())
    value, slope = b.load_pairs(_TABLE, index)
    d, square, minus = b.sub(y, k), b.mul(k, k), b.neg(k)
    q = b.mul(minus, b.polynomial(square, (1 / 6, -2 / 9, 2 / 45)))
    q = b.fma(q, d, b.polynomial(square, (1 / 10, -2 / 5, 2 / 15)))
    q = b.fma(q, d, b.mul(minus, b.polynomial(square, (-1 / 2, 1 / 3))))
    q = b.fma(q, d, b.polynomial(square, (-1 / 3, 2 / 3)))
    q = b.fma(q, d, minus)
    y = b.fma(slope, b.fma(b.mul(q, d), d, d), value)
    return b.copysign(b.select(b.compare("uno", x, x), x, y), x)


@cache
def _table_text() -> str:
    data = "".join(f"\\{byte:02X}" for byte in erf_table.BYTES)
    return f'{_TABLE} = internal constant [{len(erf_table.BYTES)} x i8] c"{data}", align 64'
