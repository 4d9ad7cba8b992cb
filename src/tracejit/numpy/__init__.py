"""NumPy's names for what tracejit has, differentiable and compiled: ``import tracejit.numpy as tnp``. Names only.

Arguments and dtypes are NumPy's: Python floats are float64, integers int64. Functions about shapes, dtypes and
positions, which have no derivative, are NumPy's own, and so are the settings of NumPy's floating-point warnings, which
no function here gives. The names of the Array API 2024.12 are here too. Not here:
``random`` (``tracejit.random``), ``out=`` arguments, an order of complex numbers (``max``, ``sort``, ``<`` …).
Those that change an array (``put``, ``fill_diagonal`` …) return the changed one: ``x = put(x, 0, v, inplace=False)``.
"""

from typing import TYPE_CHECKING

import numpy as _np

from ..core.lazy import lazily

if TYPE_CHECKING:
    from math import e, inf, nan, pi

    from numpy import (
        bartlett,
        blackman,
        broadcast_shapes,
        diag_indices,
        errstate,
        euler_gamma,
        get_printoptions,
        geterr,
        hamming,
        hanning,
        index_exp,
        isscalar,
        issubdtype,
        iterable,
        kaiser,
        mask_indices,
        mgrid,
        ndindex,
        ogrid,
        printoptions,
        promote_types,
        s_,
        set_printoptions,
        seterr,
        tril_indices,
        triu_indices,
    )

    from ..core.tensor import Tensor as ndarray
    from . import fft, linalg
    from .applying import *
    from .array_api import *
    from .array_api import __array_namespace_info__, _namespace_of
    from .borders import *
    from .conversion import asarray, frombuffer, fromiter, fromstring, load, save
    from .copying import array
    from .curves.calculus import *
    from .curves.polynomials import *
    from .elements.changing import *
    from .elements.comparing import *
    from .elements.elementwise import *
    from .elements.further import *
    from .elements.selecting import *
    from .elements.taking import *
    from .index_arrays import *
    from .joining import *
    from .linalg import matrix_transpose
    from .making import *
    from .order.ordering import *
    from .order.sets import *
    from .products import *
    from .reductions import *
    from .reductions import _running_logsumexp, _running_max, _running_min
    from .shapes import *
    from .statistics.averages import *
    from .statistics.counting import *
    from .statistics.passing_nan import *
    from .statistics.quantiles import *
else:
    __getattr__, __dir__, __all__ = lazily(__name__)

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
