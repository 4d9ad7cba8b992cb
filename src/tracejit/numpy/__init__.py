"""NumPy's names for what tracejit has, differentiable and compiled: ``import tracejit.numpy as tnp``. Names only.

Arguments and dtypes are NumPy's: Python floats are float64, integers int64. Functions about shapes, dtypes and
positions, which have no derivative, are NumPy's own, and so are the settings of NumPy's floating-point warnings, which
no function here gives. The names of the Array API 2024.12 are here too. Not here:
``random`` (``tracejit.random``), ``out=`` arguments, an order of complex numbers (``max``, ``sort``, ``<`` …).
Those that change an array (``put``, ``fill_diagonal`` …) return the changed one: ``x = put(x, 0, v, inplace=False)``.
"""

import numpy as _np

from ..core.lazy import lazily as _lazily

__getattr__, __dir__, __all__ = _lazily(__name__)

newaxis = None
__array_api_version__ = "2024.12"
dtype = _np.dtype
float16 = _np.float16
float32 = _np.float32
float64 = _np.float64
complex64 = _np.complex64
complex128 = _np.complex128
int8 = _np.int8
int16 = _np.int16
int32 = _np.int32
int64 = _np.int64
uint8 = _np.uint8
uint16 = _np.uint16
uint32 = _np.uint32
uint64 = _np.uint64
bool = bool_ = _np.bool_
floating = _np.floating
integer = _np.integer
inexact = _np.inexact
number = _np.number
complexfloating = _np.complexfloating
signedinteger = _np.signedinteger
unsignedinteger = _np.unsignedinteger
generic = _np.generic
half = _np.float16
single = _np.float32
double = _np.float64
csingle = _np.complex64
cdouble = _np.complex128
int_ = _np.int64
uint = _np.uint64
