"""The public names that most programs want: all load at once when `tracejit` is asked for one. Nothing else."""

import typing as _typing
from importlib import import_module as _import_module

from ..core import seams as _seams
from ..core.dtype import DType
from ..core.errors import DtypeError, GradientError, LeakedTensor, ShapeError, SymbolicValue, TracejitError
from ..core.ir import text as _text  # graphs print themselves
from ..core.op import Op, defop
from ..core.settings import configure, settings
from ..core.spec import TensorSpec
from ..core.tensor import Tensor
from ..core.tensor_shape import TensorShape
from ..frontend import config
from ..frontend.config import set_default_dtype
from ..frontend.control.reductions import (
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from ..frontend.conversion import as_dtype, asarray, constant, convert_to_tensor, saturate_cast
from ..frontend.creation import (
    eye,
    fill,
    linspace,
    ones,
    ones_like,
    range,
    rank,
    shape,
    size,
    zeros,
    zeros_like,
)
from ..frontend.output import print_ as print
from ..frontend.state import variable_parts as _variable_parts  # parts of Variables can be assigned
from ..frontend.state.indexed_slices import IndexedSlices
from ..frontend.state.variable import Variable
from ..frontend.tape.gradient_tape import GradientTape
from ..frontend.tape.unconnected import UnconnectedGradients
from ..frontend.tracebacks import install as _shorten_tracebacks
from ..frontend.transforms.grad import grad, gradients_function, jvp, linearize, value_and_grad, vjp
from ..ops.arrays.gather import scatter_add
from ..ops.arrays.index import dynamic_slice, dynamic_update_slice
from ..ops.arrays.shape import (
    broadcast_to,
    clip_by_value,
    concat,
    expand_dims,
    reshape,
    squeeze,
    stack,
    transpose,
)
from ..ops.arrays.shape import sizes_of as as_shape
from ..ops.arrays.unchanged import identity, stop_gradient
from ..ops.elementwise.arithmetic import (
    abs,
    add,
    cast,
    complex,
    conj,
    divide,
    imag,
    maximum,
    minimum,
    multiply,
    negative,
    real,
    sign,
    square,
    subtract,
)
from ..ops.elementwise.compare import (
    equal,
    greater,
    greater_equal,
    is_nan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
)
from ..ops.elementwise.division import truncatediv, truncatemod
from ..ops.elementwise.power import pow
from ..ops.elementwise.rounding import floor, floordiv, mod
from ..ops.elementwise.transcendental import (
    cos,
    erf,
    exp,
    expm1,
    log,
    log1p,
    relu,
    sigmoid,
    sin,
    softplus,
    sqrt,
    tanh,
)
from ..ops.linalg.products import dot, matmul

if _typing.TYPE_CHECKING:
    from ..frontend.function.declared import function
else:
    from ..frontend.function.function import function

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
string: DType = DType("object")  # text, kept as Python bytes

_seams.html.provide(lambda x: _import_module("tracejit.inspect.notebook").html(x))
_seams.number_of_size.provide(
    lambda dim: _import_module("tracejit.frontend.autograph.values.weak").of_size(dim)
)
_seams.function_of_arrays.provide(lambda name: getattr(_import_module("tracejit"), name))
_seams.numpy_function.provide(lambda name: getattr(_import_module("tracejit.numpy"), name, None))
_seams.unknown_name.provide(
    lambda module, name, names: _import_module("tracejit._names.unknown").missing(module, name, names)
)
_seams.unknown_attribute.provide(
    lambda of, name: _import_module("tracejit._names.unknown").missing_attribute(of, name)
)
_shorten_tracebacks()
