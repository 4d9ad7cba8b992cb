"""Matrix products as LLVM IR text: one self-contained module per element type, for any sizes and strides.

The text depends only on its arguments, so its object code can be cached on disk and linked into any
program. This package knows nothing of graphs, LLVM bindings or the machine it runs on.
"""

from __future__ import annotations

from functools import cache

from .blocks import block_functions
from .counted_loops import loop_metadata
from .deep import deep_functions
from .driver import entry_function
from .geometry import geometry
from .narrow import narrow_functions
from .packing import packing_functions
from .shared import LEAST, MULTIPLIED, shared_functions
from .tile import tile_functions
from .vector_product import vector_product_functions
from .vectors import declarations

__all__ = ["is_worth_sharing", "kernel_text", "symbol", "workspace_bytes"]


def symbol(dtype: str, register_bytes: int = 64, shares: bool = False) -> str:
    """Name of the function that `kernel_text` defines, which says for how wide registers: ``tj_gemm_f64_x512``."""
    name = f"tj_gemm_f{8 * geometry(dtype, 64, True).size}_x{8 * register_bytes}"
    return f"{name}_shared" if shares else name


def is_worth_sharing(products: int, dtype: str, register_bytes: int) -> bool:
    """Are so many products of elements work for several threads?"""
    return products * MULTIPLIED >= LEAST * geometry(dtype, register_bytes, True).lanes


def workspace_bytes(dtype: str) -> int:
    """Bytes of 64-byte aligned scratch the function may use, whatever the sizes it is called with."""
    return max(geometry(dtype, register_bytes, True).workspace for register_bytes in (16, 32, 64))


@cache
def kernel_text(dtype: str, *, register_bytes: int = 64, fma: bool = True, shares: bool = False) -> str:
    """LLVM IR text of a module with one external function, the matrix product for `dtype`.

    Parameters
    ----------
    dtype : {"float32", "float64"}
        Element type of all three matrices.
    register_bytes : {16, 32, 64}
        Size of the target's vector registers.
    fma : bool
        Whether the target has fused multiply-add instructions.
    shares : bool
        Large products are done by several threads where the function is given a thread pool's.

    Returns
    -------
    str
        A module without undefined symbols defining ::

            void tj_gemm_f64_x512(i64 m, i64 n, i64 k, ptr a, i64 a_row, i64 a_col, ptr b, i64 b_row, i64 b_col,
                             ptr c, i64 c_row, i64 accumulate, ptr work, ptr parallel)

        which computes ``C = A @ B``, or ``C += A @ B`` if `accumulate` is not 0, for C of m rows and n
        adjacent columns. Strides count elements and may be zero or negative; sizes may be zero. C must not
        overlap A or B. `work` is `workspace_bytes(dtype)` bytes, 64-byte aligned, used by one call at a time;
        `parallel` is null or a thread pool's function.

    Raises
    ------
    ValueError
        For another dtype or register size.
    """
    g = geometry(dtype, register_bytes, fma)
    return "".join(
        [
            declarations(g),
            tile_functions(g),
            packing_functions(g),
            block_functions(g),
            narrow_functions(g),
            vector_product_functions(g),
            deep_functions(g, shares),
            shared_functions(g) if shares else "",
            entry_function(g, symbol(dtype, register_bytes, shares), shares),
            'attributes #0 = { "no-builtins" }\n',
            loop_metadata(),
        ]
    )
