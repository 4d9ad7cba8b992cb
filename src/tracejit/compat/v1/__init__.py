"""The names of 2018: ``import tracejit.compat.v1 as tf``. What is not here is what ``tracejit`` has.

Names only, and a few that were nested: ``tf.contrib.eager``, ``tf.train.GradientDescentOptimizer``.
"""

import sys as _sys
from types import SimpleNamespace as _SimpleNamespace
from typing import Any as _Any

from ... import Variable as _Variable
from ... import custom_gradient as _custom_gradient
from ... import executing_eagerly as _executing_eagerly
from ... import function as _function
from ...metrics import accuracies as _accuracies
from ...metrics.means import Mean as _Mean
from ...random.generators import normal as random_normal
from ...random.generators import set_seed as set_random_seed
from ...random.generators import truncated_normal
from ...random.generators import uniform as random_uniform
from ...train.checkpoint.checkpoint import Checkpoint as _Checkpoint
from ...train.checkpoint.index import latest_checkpoint as _latest_checkpoint
from ...train.checkpoint.rotation import CheckpointManager as _CheckpointManager
from . import classic as _classic
from . import classic_losses as losses
from . import classic_optimizers as _optimizers
from .classic import enable_eager_execution, lin_space, to_double, to_float, to_int32, to_int64
from .classic_names import (
    AUTO_REUSE,
    argmax,
    argmin,
    assign,
    assign_add,
    assign_sub,
    div,
    get_variable,
    global_variables_initializer,
    multinomial,
    placeholder_with_default,
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
    variable_scope,
    while_loop,
)

enable_v2_behavior = enable_eager_execution
arg_max = argmax
arg_min = argmin

train: _SimpleNamespace = _SimpleNamespace(
    AdadeltaOptimizer=_optimizers.AdadeltaOptimizer,
    AdagradOptimizer=_optimizers.AdagradOptimizer,
    AdamOptimizer=_optimizers.AdamOptimizer,
    Checkpoint=_Checkpoint,
    CheckpointManager=_CheckpointManager,
    GradientDescentOptimizer=_optimizers.GradientDescentOptimizer,
    MomentumOptimizer=_optimizers.MomentumOptimizer,
    RMSPropOptimizer=_optimizers.RMSPropOptimizer,
    create_global_step=_classic.get_or_create_global_step,
    get_global_step=_classic.get_or_create_global_step,
    get_or_create_global_step=_classic.get_or_create_global_step,
    latest_checkpoint=_latest_checkpoint,
)
contrib: _SimpleNamespace = _SimpleNamespace(
    eager=_SimpleNamespace(
        Checkpoint=_Checkpoint,
        Iterator=iter,
        Variable=_Variable,
        custom_gradient=_custom_gradient,
        defun=_function,
        enable_eager_execution=enable_eager_execution,
        executing_eagerly=_executing_eagerly,
        gradients_function=_classic.gradients_function,
        implicit_gradients=_classic.implicit_gradients,
        implicit_value_and_gradients=_classic.implicit_value_and_gradients,
        in_eager_mode=_executing_eagerly,
        metrics=_SimpleNamespace(
            Accuracy=_accuracies.Accuracy,
            BinaryAccuracy=_accuracies.BinaryAccuracy,
            CategoricalAccuracy=_accuracies.CategoricalAccuracy,
            Mean=_Mean,
            SparseAccuracy=_accuracies.SparseCategoricalAccuracy,
        ),
        num_gpus=_classic.num_gpus,
        value_and_gradients_function=_classic.value_and_gradients_function,
    )
)

_OF_MATH = (
    "bincount ceil confusion_matrix count_nonzero cumprod erfc floordiv floormod invert_permutation is_finite is_inf "
    "log_sigmoid mod reciprocal rsqrt segment_max segment_mean segment_min segment_prod segment_sum squared_difference "
    "truediv unsorted_segment_max unsorted_segment_mean unsorted_segment_sum"
)
#: Names that moved: where they are now.
_MOVED = {
    **{name: f"math.{name}" for name in _OF_MATH.split()},
    **{name: f"linalg.{name}" for name in "cholesky cross diag diag_part matrix_transpose trace".split()},
    "accumulate_n": "math.add_n",
    "as_string": "strings.as_string",
    "constant_initializer": "initializers.Constant",
    "glorot_normal_initializer": "initializers.GlorotNormal",
    "glorot_uniform_initializer": "initializers.GlorotUniform",
    "matrix_band_part": "linalg.band_part",
    "matrix_determinant": "linalg.det",
    "matrix_diag": "linalg.diag",
    "matrix_diag_part": "linalg.diag_part",
    "matrix_inverse": "linalg.inv",
    "matrix_solve": "linalg.solve",
    "matrix_triangular_solve": "linalg.triangular_solve",
    "ones_initializer": "initializers.Ones",
    "random_normal_initializer": "initializers.RandomNormal",
    "random_shuffle": "random.shuffle",
    "random_uniform_initializer": "initializers.RandomUniform",
    "string_join": "strings.join",
    "truncated_normal_initializer": "initializers.TruncatedNormal",
    "zeros_initializer": "initializers.Zeros",
}


def __getattr__(name: str) -> _Any:
    value: _Any = _sys.modules[__name__.split(".")[0]]
    for part in _MOVED.get(name, name).split("."):
        value = getattr(value, part)
    return value


def __dir__() -> list[str]:
    parts = {name for name, x in globals().items() if _sys.modules.get(f"{__name__}.{name}") is x}
    return sorted({*globals(), *_MOVED, *dir(_sys.modules[__name__.split(".")[0]])} - parts)
