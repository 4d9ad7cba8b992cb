"""tracejit: a JIT-traced graph compiler for differentiable Python functions.

The public names, nothing else. ``import tracejit as tf`` runs programs written for the eager, tape-based API
of the 2018-2020 tutorials; :func:`function` compiles them.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

import numpy as _np

from .core import seams as _seams
from .core.errors import DtypeError, GradientError, LeakedTensor, ShapeError, SymbolicValue, TracejitError
from .core.ir import text as _text  # graphs print themselves
from .core.op import Op, defop
from .core.settings import configure, settings
from .core.spec import TensorSpec, as_dtype
from .core.tensor import Tensor
from .frontend import config
from .frontend.config import set_default_dtype
from .frontend.control.reductions import (
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from .frontend.conversion import asarray, constant, convert_to_tensor, saturate_cast
from .frontend.creation import eye, fill, linspace, ones, ones_like, rank, shape, size, zeros, zeros_like
from .frontend.creation import range_ as range
from .frontend.function.function import function
from .frontend.output import print_ as print
from .frontend.state import variable_parts as _variable_parts  # parts of Variables can be assigned
from .frontend.state.indexed_slices import IndexedSlices
from .frontend.state.variable import Variable
from .frontend.tape.gradient_tape import GradientTape, UnconnectedGradients
from .frontend.transforms.grad import grad, gradients_function, jvp, linearize, value_and_grad, vjp
from .frontend.transforms.jacobians import hessian, hvp, jacfwd, jacobian, jacrev
from .frontend.transforms.vectorize import vectorized_map, vmap
from .ops.arrays.gather import scatter_add
from .ops.arrays.index import dynamic_slice, dynamic_update_slice
from .ops.arrays.shape import (
    broadcast_to,
    clip_by_value,
    concat,
    expand_dims,
    identity,
    reshape,
    squeeze,
    stack,
    stop_gradient,
    transpose,
)
from .ops.arrays.shape import sizes_of as as_shape
from .ops.elementwise.arithmetic import (
    abs,
    add,
    cast,
    complex,
    conj,
    divide,
    floor,
    floordiv,
    imag,
    maximum,
    minimum,
    mod,
    multiply,
    negative,
    real,
    sign,
    square,
    subtract,
)
from .ops.elementwise.compare import (
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
from .ops.elementwise.division import truncatediv, truncatemod
from .ops.elementwise.power import pow
from .ops.elementwise.transcendental import (
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
from .ops.linalg import dot, matmul

if _TYPE_CHECKING:  # of what loads when it is asked for
    from .frontend.control.branching import associative_scan, case, map_fn, switch_case
    from .frontend.control.cond import cond
    from .frontend.control.loop_functions import fori_loop
    from .frontend.control.scan import foldl, foldr, scan
    from .frontend.control.while_loop import while_loop
    from .frontend.state.module import Module
    from .frontend.transforms.custom_gradient import custom_gradient, grad_pass_through
    from .frontend.transforms.remat import checkpoint, recompute_grad

__version__ = "0.1.0"

truediv = realdiv = divide
newaxis = None

float16 = half = _np.dtype("float16")
float32, float64 = _np.dtype("float32"), _np.dtype("float64")
double = float64
complex64, complex128 = _np.dtype("complex64"), _np.dtype("complex128")
int8, int16, int32, int64 = (_np.dtype(f"int{n}") for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (_np.dtype(f"uint{n}") for n in (8, 16, 32, 64))
bool = _np.dtype("bool")
string = _np.dtype("object")  # text, kept as Python bytes; eager only

# What costs import time and not every program needs: a face, or a name in one, is loaded when it is first asked for.
_FACES = frozenset(
    "activations aot autodiff autograph bitwise compat data debugging dtypes errors image initializers keras layers "
    "linalg losses math metrics nest nn numpy optimizers queue random raw_ops saved_model strings test train".split()
)
_HOMES = {
    "aot.exporting": "export",
    "aot.loading": "load",
    "arrays.cutting": "ensure_shape gather is_tensor meshgrid one_hot pad repeat reverse roll sequence_mask split tile "
    "unstack",
    "arrays.slicing": "boolean_mask gather_nd scatter_nd slice strided_slice tensor_scatter_nd_add "
    "tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update where",
    "debugging.assertions": "Assert",
    "frontend.autograph.flow.tensor_array": "TensorArray",
    "frontend.control.branching": "associative_scan case map_fn switch_case",
    "frontend.control.cond": "cond",
    "frontend.control.loop_functions": "fori_loop",
    "frontend.control.scan": "foldl foldr scan",
    "frontend.control.while_loop": "while_loop",
    "frontend.machine": "control_dependencies device executing_eagerly group init_scope inside_function name_scope",
    "frontend.state.module": "Module",
    "frontend.transforms.custom_gradient": "custom_gradient grad_pass_through",
    "frontend.transforms.custom_jvp": "custom_jvp",
    "frontend.transforms.registering": "RegisterGradient no_gradient",
    "frontend.transforms.remat": "checkpoint recompute_grad",
    "frontend.transforms.solvers": "fixed_point root",
    "initializers": "constant_initializer ones_initializer random_normal_initializer random_uniform_initializer "
    "zeros_initializer",
    "inspect.drawing": "draw",
    "inspect.progress": "progress",
    "layers": "Sequential",
    "linalg.clipping": "clip_by_global_norm clip_by_norm",
    "linalg.tensor_products": "einsum norm tensordot",
    "math.elementary": "add_n argmax argmin cumsum round scalar_mul",
    "math.sorting": "argsort searchsorted sort unique unique_with_counts",
    "ops.elementwise.angles": "acos acosh asin asinh atan atan2 atanh cosh sinh tan",
    "runtime.watch": "LongLoopWarning",
    "strings.operations": "as_string",
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names.split()}


_seams.numpy_function.provide(lambda name: getattr(_import_module(f"{__name__}.numpy"), name, None))


def __getattr__(name: str) -> _Any:
    if name in _FACES:
        return _import_module(f"{__name__}.{name}")
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(_import_module(f"{__name__}.{_NAMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_FACES, *_NAMES})
