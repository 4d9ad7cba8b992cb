"""Linear algebra: ``tracejit.linalg``. Names only.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
from tracejit.frontend.creation import eye as eye
from tracejit.linalg.clipping import global_norm as global_norm
from tracejit.linalg.diagonals import band_part as band_part
from tracejit.linalg.diagonals import cross as cross
from tracejit.linalg.diagonals import diag as diag
from tracejit.linalg.diagonals import diag_part as diag_part
from tracejit.linalg.diagonals import set_diag as set_diag
from tracejit.linalg.diagonals import tensor_diag as tensor_diag
from tracejit.linalg.diagonals import tensor_diag_part as tensor_diag_part
from tracejit.linalg.diagonals import trace as trace
from tracejit.linalg.matrices import cholesky as cholesky
from tracejit.linalg.matrices import cholesky_solve as cholesky_solve
from tracejit.linalg.matrices import det as det
from tracejit.linalg.matrices import inv as inv
from tracejit.linalg.matrices import logdet as logdet
from tracejit.linalg.matrices import lstsq as lstsq
from tracejit.linalg.matrices import slogdet as slogdet
from tracejit.linalg.matrices import solve as solve
from tracejit.linalg.matrices import triangular_solve as triangular_solve
from tracejit.linalg.roots import logm as logm
from tracejit.linalg.roots import sqrtm as sqrtm
from tracejit.linalg.spectral import eig as eig
from tracejit.linalg.spectral import eigh as eigh
from tracejit.linalg.spectral import eigvals as eigvals
from tracejit.linalg.spectral import eigvalsh as eigvalsh
from tracejit.linalg.spectral import expm as expm
from tracejit.linalg.spectral import matrix_rank as matrix_rank
from tracejit.linalg.spectral import pinv as pinv
from tracejit.linalg.spectral import qr as qr
from tracejit.linalg.spectral import svd as svd
from tracejit.linalg.tensor_products import adjoint as adjoint
from tracejit.linalg.tensor_products import einsum as einsum
from tracejit.linalg.tensor_products import matrix_transpose as matrix_transpose
from tracejit.linalg.tensor_products import matvec as matvec
from tracejit.linalg.tensor_products import norm as norm
from tracejit.linalg.tensor_products import normalize as normalize
from tracejit.linalg.tensor_products import tensordot as tensordot
from tracejit.nn.common import l2_normalize as l2_normalize
from tracejit.ops.linalg.products import matmul as matmul
