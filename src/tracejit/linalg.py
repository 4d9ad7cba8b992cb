"""Linear algebra: ``tracejit.linalg``. Names only."""

from .frontend.creation import eye
from .library.diagonals import (
    band_part,
    cross,
    diag,
    diag_part,
    set_diag,
    tensor_diag,
    tensor_diag_part,
    trace,
)
from .library.linear import adjoint, einsum, matrix_transpose, matvec, norm, normalize, tensordot
from .library.matrices import (
    cholesky,
    cholesky_solve,
    det,
    inv,
    logdet,
    lstsq,
    slogdet,
    solve,
    triangular_solve,
)
from .library.neural import l2_normalize
from .library.optimizers.clipping import global_norm
from .ops.linalg import matmul
