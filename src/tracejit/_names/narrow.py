"""bfloat16, whose numbers a package of its own adds to NumPy: it loads when it is asked for."""

from ..core.dtype import DType
from ..core.dtype import bfloat16_or_its_name as _bfloat16

bfloat16: DType = _bfloat16()
