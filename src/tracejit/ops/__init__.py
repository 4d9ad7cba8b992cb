"""The operations: one declaration each, one file per family.

Those that only eager programs call, `cross_entropy` and `dense_layer`, load with the functions of ``nn`` that call
them; families that few programs need load when one of their ops is asked for.
"""

from ..core.op import OPS as _ops
from . import checks, text
from .arrays import gather, index, reduce, shape, sizes, sort, unchanged
from .control import branch, calls, loop
from .elementwise import angles, arithmetic, bits, compare, neighbours, power, rounding, transcendental
from .linalg import products

_LATER = {
    "arrays.extremes": "scatter_extreme",
    "arrays.positions": "checked_position scatter_set",
    "control.checkpointing.loop_gradient": "loop_gradient",
    "control.checkpointing.snapshots": "blank",
    "control.implicit": "implicit",
    "control.remat": "late recomputed",
    "control.tangents": "custom_tangents",
    "elementwise.bessel": "bessel_j bessel_y bessel_ive",
    "elementwise.integrals.exponential": "expn expi dawsn erfcx",
    "elementwise.integrals.upper_plane": "faddeeva_real faddeeva_imag",
    "elementwise.integrals.oscillating": "sine_integral cosine_integral fresnel_sin fresnel_cos spence",
    "elementwise.integrals.incomplete": "gamma_density gammainc gammaincc beta_density betainc zeta",
    "elementwise.special": "lgamma digamma trigamma polygamma xlogy xlog1py erfinv ndtri bessel_i0e bessel_i1e",
    "fourier": "fft",
    "image": "adjust_contrastv2",
    "linalg.convolutions": "convolution convolution_filters convolution_inputs",
    "linalg.decompositions": "svd eigh eig qr pinv expm",
    "linalg.factors": "det slogdet inverse cholesky_pullback cholesky",
    "linalg.lu": "cholesky_factor cholesky_backward substitute lu_factor lu_solve lu_inverse qr_factor",
    "linalg.row_exchanges": "lu column_order row_order",
    "linalg.systems": "solve triangular_solve",
    "prints": "print",
    "random": "random_bits random_uniform",
    "python_calls": "python_call python_call_again python_call_given python_gradient python_effect text_call",
}
_ops.expect({f"{__name__}.{module}": names for module, names in _LATER.items()})
