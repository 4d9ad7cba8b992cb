"""Linear algebra: ``tracejit.linalg``. Names only."""

from typing import TYPE_CHECKING

from ..core.lazy import lazily

if TYPE_CHECKING:
    from ..frontend.creation import eye
    from ..nn.common import l2_normalize
    from ..ops.linalg.products import matmul
    from .clipping import global_norm
    from .diagonals import band_part, cross, diag, diag_part, set_diag, tensor_diag, tensor_diag_part, trace
    from .matrices import cholesky, cholesky_solve, det, inv, logdet, lstsq, slogdet, solve, triangular_solve
    from .roots import logm, sqrtm
    from .spectral import *
    from .tensor_products import adjoint, einsum, matrix_transpose, matvec, norm, normalize, tensordot
else:
    __getattr__, __dir__, __all__ = lazily(__name__)
