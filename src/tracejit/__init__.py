"""tracejit: a JIT-traced graph compiler for differentiable Python functions.

The public names, nothing else. ``import tracejit as tf`` runs programs written for the eager, tape-based API
of the 2018-2020 tutorials; :func:`function` compiles them.
"""

import sys as _sys
import typing as _typing

from .core import seams as _seams
from .core.lazy import WholeFirst as _WholeFirst
from .core.lazy import as_face as _as_face
from .core.lazy import loaded as _loaded
from .core.lazy import long_lived as _long_lived

__version__ = "0.1.0"

# What costs import time and not every program needs: a face, or a name in one, is loaded when it is first asked for.
_FACES = frozenset(
    "activations aot autodiff autograph bitwise callbacks compat dask data debugging dtypes errors image initializers "
    "io keras layers linalg losses math metrics nest nn numpy optimizers queue random raw_ops saved_model scipy "
    "strings test train".split()
)
_HOMES = {
    "_names.narrow": "bfloat16",
    "_names.tracing": "types",
    "aot.exporting": "export",
    "aot.loading": "load",
    "arrays.cutting": "ensure_shape gather is_tensor meshgrid one_hot pad repeat reverse roll split tile "
    "unstack",
    "arrays.sequences": "broadcast_dynamic_shape broadcast_static_shape dynamic_partition dynamic_stitch "
    "get_static_value histogram_fixed_width identity_n no_op reverse_sequence sequence_mask shape_n "
    "tuple unravel_index",
    "arrays.slicing": "boolean_mask gather_nd scatter_nd slice strided_slice tensor_scatter_nd_add "
    "tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update where",
    "debugging.assertions": "Assert assert_equal assert_greater assert_less assert_rank",
    "frontend.autograph.flow.tensor_array": "TensorArray",
    "frontend.control.branching": "associative_scan case map_fn switch_case",
    "frontend.control.cond": "cond",
    "frontend.control.loop_functions": "fori_loop",
    "frontend.control.scan": "foldl foldr scan",
    "frontend.control.while_loop": "while_loop",
    "frontend.machine": "control_dependencies device executing_eagerly group init_scope inside_function name_scope",
    "frontend.state.module": "Module",
    "frontend.tape.graph_gradients": "gradients",
    "frontend.tape.python_calls": "numpy_function py_function timestamp",
    "frontend.transforms.custom_gradient": "custom_gradient grad_pass_through",
    "frontend.transforms.custom_jvp": "custom_jvp",
    "frontend.transforms.jacobians": "hessian hvp jacfwd jacobian jacrev",
    "frontend.transforms.registering": "RegisterGradient no_gradient",
    "frontend.transforms.remat": "checkpoint recompute_grad",
    "frontend.transforms.solvers": "fixed_point root",
    "frontend.transforms.vectorize": "vectorized_map vmap",
    "initializers": "constant_initializer ones_initializer random_normal_initializer random_uniform_initializer "
    "zeros_initializer",
    "inspect.drawing": "draw",
    "inspect.profiling": "profile",
    "inspect.progress": "progress",
    "layers": "Sequential",
    "linalg.clipping": "clip_by_global_norm clip_by_norm",
    "linalg.spectral": "eig eigvals",
    "linalg.tensor_products": "einsum norm tensordot",
    "math.elementary": "add_n argmax argmin cumsum round scalar_mul",
    "math.sorting": "argsort searchsorted sort unique unique_with_counts",
    "nn.blocks": "batch_to_space space_to_batch",
    "ops.elementwise.angles": "acos acosh asin asinh atan atan2 atanh cosh sinh tan",
    "ops.elementwise.bits": "bitcast",
    "runtime.watch": "LongLoopWarning",
    "strings.operations": "as_string",
    "train": "profiler summary",
}
_NAMES = {name: home for home, names in _HOMES.items() for name in names.split()}

#: The modules that `load` needs, and the command line to start: whoever wants no more does not wait for the rest.
_ALONE = frozenset(
    "__main__ aot aot.artifact aot.loading aot.verification aot.writing cli cli.artifacts cli.failures cli.machine "
    "cli.main cli.options cli.output core core.asking core.dataclass core.dim core.errors core.lazy "
    "core.seams core.settings inspect inspect.progress".split()
)


def _load_all() -> None:
    """Load what most programs want."""
    _whole_first.retire()
    with _long_lived():
        names = vars(_loaded(f"{__name__}._names"))
    own = f"{__name__}._names."
    globals().update(
        {n: x for n, x in names.items() if not n.startswith("_") and f"{own}{n}" not in _sys.modules}
    )
    _look_at_faces()


def _look_at_faces() -> None:
    """Let faces that others have loaded, so that nobody asked here, be like those that were asked for."""
    for name in _FACES:
        if face := _sys.modules.get(f"{__name__}.{name}"):
            _as_face(face)


_whole_first = _WholeFirst(__name__, lambda part: part in _ALONE or part.startswith("runtime"), _load_all)


def __getattr__(name: str) -> _typing.Any:
    if name != "load" and "Tensor" not in globals():
        _load_all()
        if name in globals():
            return globals()[name]
    if name in _FACES:
        face = _loaded(f"{__name__}.{name}")
        _look_at_faces()
        return face
    if name not in _NAMES:
        raise _seams.unknown_name(__name__, name, {*globals(), *_FACES, *_NAMES})
    value = globals()[name] = getattr(_loaded(f"{__name__}.{_NAMES[name]}"), name)
    _look_at_faces()
    return value


def __dir__() -> list[str]:
    _load_all()
    rooms = {
        name for name, x in globals().items() if x is not None and _sys.modules.get(f"{__name__}.{name}") is x
    }
    return sorted({*globals(), *_NAMES} - rooms | _FACES)
