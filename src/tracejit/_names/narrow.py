"""bfloat16, whose numbers a package of its own adds to NumPy: it loads when it is asked for."""

from ..core.dtype import DTYPES, DType
from ..core.dtype import bfloat16 as _bfloat16

bfloat16: DType = DTYPES[_bfloat16()]
