"""The public names that most programs want: all load at once when `tracejit` is asked for one. Nothing else.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
import numpy as _np

from tracejit.core.dtype import DType as DType
from tracejit.core.errors import DtypeError as DtypeError
from tracejit.core.errors import GradientError as GradientError
from tracejit.core.errors import LeakedTensor as LeakedTensor
from tracejit.core.errors import ShapeError as ShapeError
from tracejit.core.errors import SymbolicValue as SymbolicValue
from tracejit.core.errors import TracejitError as TracejitError
from tracejit.core.op import Op as Op
from tracejit.core.op import defop as defop
from tracejit.core.settings import configure as configure
from tracejit.core.settings import settings as settings
from tracejit.core.spec import TensorSpec as TensorSpec
from tracejit.core.tensor import Tensor as Tensor
from tracejit.core.tensor_shape import TensorShape as TensorShape
from tracejit.frontend import config as config
from tracejit.frontend.config import set_default_dtype as set_default_dtype
from tracejit.frontend.control.reductions import reduce_all as reduce_all
from tracejit.frontend.control.reductions import reduce_any as reduce_any
from tracejit.frontend.control.reductions import reduce_logsumexp as reduce_logsumexp
from tracejit.frontend.control.reductions import reduce_max as reduce_max
from tracejit.frontend.control.reductions import reduce_mean as reduce_mean
from tracejit.frontend.control.reductions import reduce_min as reduce_min
from tracejit.frontend.control.reductions import reduce_prod as reduce_prod
from tracejit.frontend.control.reductions import reduce_sum as reduce_sum
from tracejit.frontend.conversion import as_dtype as as_dtype
from tracejit.frontend.conversion import asarray as asarray
from tracejit.frontend.conversion import constant as constant
from tracejit.frontend.conversion import convert_to_tensor as convert_to_tensor
from tracejit.frontend.conversion import saturate_cast as saturate_cast
from tracejit.frontend.creation import eye as eye
from tracejit.frontend.creation import fill as fill
from tracejit.frontend.creation import linspace as linspace
from tracejit.frontend.creation import ones as ones
from tracejit.frontend.creation import ones_like as ones_like
from tracejit.frontend.creation import range as range
from tracejit.frontend.creation import rank as rank
from tracejit.frontend.creation import shape as shape
from tracejit.frontend.creation import size as size
from tracejit.frontend.creation import zeros as zeros
from tracejit.frontend.creation import zeros_like as zeros_like
from tracejit.frontend.function.declared import function as function
from tracejit.frontend.output import print_ as _print
print = _print
from tracejit.frontend.state.indexed_slices import IndexedSlices as IndexedSlices
from tracejit.frontend.state.variable import Variable as Variable
from tracejit.frontend.tape.gradient_tape import GradientTape as GradientTape
from tracejit.frontend.tape.unconnected import UnconnectedGradients as UnconnectedGradients
from tracejit.frontend.transforms.grad import grad as grad
from tracejit.frontend.transforms.grad import gradients_function as gradients_function
from tracejit.frontend.transforms.grad import jvp as jvp
from tracejit.frontend.transforms.grad import linearize as linearize
from tracejit.frontend.transforms.grad import value_and_grad as value_and_grad
from tracejit.frontend.transforms.grad import vjp as vjp
from tracejit.ops.arrays.gather import scatter_add as scatter_add
from tracejit.ops.arrays.index import dynamic_slice as dynamic_slice
from tracejit.ops.arrays.index import dynamic_update_slice as dynamic_update_slice
from tracejit.ops.arrays.shape import sizes_of as _as_shape
as_shape = _as_shape
from tracejit.ops.arrays.shape import broadcast_to as broadcast_to
from tracejit.ops.arrays.shape import clip_by_value as clip_by_value
from tracejit.ops.arrays.shape import concat as concat
from tracejit.ops.arrays.shape import expand_dims as expand_dims
from tracejit.ops.arrays.shape import reshape as reshape
from tracejit.ops.arrays.shape import squeeze as squeeze
from tracejit.ops.arrays.shape import stack as stack
from tracejit.ops.arrays.shape import transpose as transpose
from tracejit.ops.arrays.unchanged import identity as identity
from tracejit.ops.arrays.unchanged import stop_gradient as stop_gradient
from tracejit.ops.elementwise.arithmetic import abs as abs
from tracejit.ops.elementwise.arithmetic import add as add
from tracejit.ops.elementwise.arithmetic import cast as cast
from tracejit.ops.elementwise.arithmetic import complex as complex
from tracejit.ops.elementwise.arithmetic import conj as conj
from tracejit.ops.elementwise.arithmetic import divide as divide
from tracejit.ops.elementwise.arithmetic import imag as imag
from tracejit.ops.elementwise.arithmetic import maximum as maximum
from tracejit.ops.elementwise.arithmetic import minimum as minimum
from tracejit.ops.elementwise.arithmetic import multiply as multiply
from tracejit.ops.elementwise.arithmetic import negative as negative
from tracejit.ops.elementwise.arithmetic import real as real
from tracejit.ops.elementwise.arithmetic import sign as sign
from tracejit.ops.elementwise.arithmetic import square as square
from tracejit.ops.elementwise.arithmetic import subtract as subtract
from tracejit.ops.elementwise.compare import equal as equal
from tracejit.ops.elementwise.compare import greater as greater
from tracejit.ops.elementwise.compare import greater_equal as greater_equal
from tracejit.ops.elementwise.compare import is_nan as is_nan
from tracejit.ops.elementwise.compare import less as less
from tracejit.ops.elementwise.compare import less_equal as less_equal
from tracejit.ops.elementwise.compare import logical_and as logical_and
from tracejit.ops.elementwise.compare import logical_not as logical_not
from tracejit.ops.elementwise.compare import logical_or as logical_or
from tracejit.ops.elementwise.compare import not_equal as not_equal
from tracejit.ops.elementwise.division import truncatediv as truncatediv
from tracejit.ops.elementwise.division import truncatemod as truncatemod
from tracejit.ops.elementwise.power import pow as pow
from tracejit.ops.elementwise.rounding import floor as floor
from tracejit.ops.elementwise.rounding import floordiv as floordiv
from tracejit.ops.elementwise.rounding import mod as mod
from tracejit.ops.elementwise.transcendental import cos as cos
from tracejit.ops.elementwise.transcendental import erf as erf
from tracejit.ops.elementwise.transcendental import exp as exp
from tracejit.ops.elementwise.transcendental import expm1 as expm1
from tracejit.ops.elementwise.transcendental import log as log
from tracejit.ops.elementwise.transcendental import log1p as log1p
from tracejit.ops.elementwise.transcendental import relu as relu
from tracejit.ops.elementwise.transcendental import sigmoid as sigmoid
from tracejit.ops.elementwise.transcendental import sin as sin
from tracejit.ops.elementwise.transcendental import softplus as softplus
from tracejit.ops.elementwise.transcendental import sqrt as sqrt
from tracejit.ops.elementwise.transcendental import tanh as tanh
from tracejit.ops.linalg.products import dot as dot
from tracejit.ops.linalg.products import matmul as matmul

truediv = divide
realdiv = divide
newaxis = None
float16: DType = DType("float16")
half = float16
float32: DType = DType("float32")
float64: DType = DType("float64")
double = float64
complex64: DType = DType("complex64")
complex128: DType = DType("complex128")
int8: DType = DType("int8")
int16: DType = DType("int16")
int32: DType = DType("int32")
int64: DType = DType("int64")
uint8: DType = DType("uint8")
uint16: DType = DType("uint16")
uint32: DType = DType("uint32")
uint64: DType = DType("uint64")
bool: DType = DType("bool")
string: DType = DType("object")
