"""Factors of matrices and solutions with them as LLVM IR text: one self-contained module per kernel and element type.

Blocks of the diagonal are done here, in registers; the rest is matrix products, by the kernel of ``codegen.matmul``,
whose address every function here is given. The text depends only on its arguments, so its object code can be kept.
This package knows nothing of graphs, LLVM bindings or the machine it runs on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

from .cholesky import add_cholesky, add_factoring
from .fill import add_filling, add_finite, add_has_nan, add_identity, add_zeros
from .lanes import add_lanes, add_solve_many
from .lanes_factors import add_cholesky_lanes, add_lu_lanes
from .lanes_solving import add_lu_inverse_lanes, add_lu_solve_lanes, add_triangular_lanes
from .lu import add_exchange, add_lu
from .module import Module
from .pullback import add_cholesky_pullback
from .qr import add_qr
from .sizes import sizes
from .solving import add_lu_inverse, add_lu_solve, add_solve_triangle, add_triangular
from .substitution import add_solving, add_substitution
from .symmetric import add_by_cholesky, add_symmetric_inverse

__all__ = ["KERNELS", "kernel_text", "symbol", "workspace_bytes"]

_SOLVING = (add_substitution, add_solving)
_OF_LU = (*_SOLVING, add_has_nan, add_exchange)
_OF_INVERSE = (*_SOLVING, add_filling, add_identity, add_solve_triangle)

#: What each kernel is made of: the functions it calls, and the one that writes it.
KERNELS: dict[str, tuple[Sequence[Callable[[Module], None]], Callable[[Module, str], None]]] = {
    "cholesky": ((*_SOLVING, add_filling, add_finite, add_factoring), add_cholesky),
    "cholesky_pullback": (_SOLVING, add_cholesky_pullback),
    "triangular": ((*_SOLVING, add_filling, add_has_nan, add_solve_triangle), add_triangular),
    "lu": (_OF_LU, add_lu),
    "lu_large": ((*_OF_LU, add_factoring, add_by_cholesky), partial(add_lu, symmetric=True)),
    "lu_solve": ((*_SOLVING, add_filling, add_exchange, add_solve_triangle), add_lu_solve),
    "lu_inverse": (_OF_INVERSE, add_lu_inverse),
    "lu_inverse_large": (
        (*_OF_INVERSE, add_zeros, add_symmetric_inverse),
        partial(add_lu_inverse, symmetric=True),
    ),
    "qr": ((*_SOLVING, add_zeros), add_qr),
    "cholesky_lanes": ((add_lanes,), add_cholesky_lanes),
    "triangular_lanes": ((add_lanes, add_solve_many), add_triangular_lanes),
    "lu_lanes": ((add_lanes,), add_lu_lanes),
    "lu_solve_lanes": ((add_lanes, add_solve_many), add_lu_solve_lanes),
    "lu_inverse_lanes": ((add_lanes, add_solve_many), add_lu_inverse_lanes),
}


def symbol(kernel: str, dtype: str, register_bytes: int = 64) -> str:
    """Name of the function that `kernel_text` defines, which says for how wide registers: ``tj_lu_f64_x512``."""
    return f"tj_{kernel}_f{8 * sizes(dtype, 64, True).g.size}_x{8 * register_bytes}"


def workspace_bytes(dtype: str) -> int:
    """Bytes of 64-byte aligned scratch a kernel may use, whatever the sizes it is called with."""
    return max(sizes(dtype, register_bytes, True).workspace for register_bytes in (16, 32, 64))


@cache
def kernel_text(kernel: str, dtype: str, *, register_bytes: int = 64, fma: bool = True) -> str:
    """LLVM IR text of a module with one external function, the kernel for `dtype`.

    It takes its sizes, as i64; for each array its address and, unless it is one of int64, the elements between rows
    and, unless those of its columns are adjacent, between columns; the address of the matrix product for `dtype`; that
    of the thread pool, or null; and `workspace_bytes(dtype)` bytes, 64-byte aligned, used by one call at a time. The
    arrays are listed in ``loopir.called_kernels``.

    Parameters
    ----------
    kernel : str
        One of `KERNELS`.
    dtype : {"float32", "float64"}
    register_bytes : {16, 32, 64}
        Size of the target's vector registers.
    fma : bool
        Whether the target has fused multiply-add instructions.

    Raises
    ------
    KeyError
        For another kernel.
    ValueError
        For another dtype or register size.
    """
    parts, last = KERNELS[kernel]
    m = Module(sizes(dtype, register_bytes, fma))
    for part in parts:
        part(m)
    last(m, symbol(kernel, dtype, register_bytes))
    return m.text()
