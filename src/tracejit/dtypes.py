"""dtypes by name and conversions between them: ``tracejit.dtypes``. Names only."""

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
from .frontend.conversion import as_dtype, saturate_cast
from .ops.elementwise.arithmetic import cast, complex

__all__ = [
    "DType",
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
