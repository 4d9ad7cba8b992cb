"""dtypes by name and conversions between them: ``tracejit.dtypes``. Names only."""

from typing import TYPE_CHECKING, Any

from . import (
    DType,
    bool,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .core.lazy import Later
from .core.seams import unknown_name
from .frontend.conversion import as_dtype, saturate_cast
from .ops.elementwise.arithmetic import cast, complex

__all__ = [
    "DType",
    "bfloat16",
    "bool",
    "complex64",
    "complex128",
    "double",
    "float16",
    "float32",
    "float64",
    "half",
    "int8",
    "int16",
    "int32",
    "int64",
    "string",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "as_dtype",
    "saturate_cast",
    "cast",
    "complex",
]

if TYPE_CHECKING:
    from ._names.narrow import bfloat16
else:
    _narrow = Later("._names.narrow", __package__)

    def __getattr__(name: str) -> Any:
        if name != "bfloat16":
            raise unknown_name(__name__, name, __all__)
        return _narrow.bfloat16
