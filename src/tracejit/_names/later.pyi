"""Public names that load when they are first asked for.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
import tracejit.activations as activations
import tracejit.aot as aot
import tracejit.autodiff as autodiff
import tracejit.autograph as autograph
import tracejit.bitwise as bitwise
import tracejit.callbacks as callbacks
import tracejit.compat as compat
import tracejit.dask as dask
import tracejit.data as data
import tracejit.debugging as debugging
import tracejit.dtypes as dtypes
import tracejit.errors as errors
import tracejit.image as image
import tracejit.initializers as initializers
import tracejit.io as io
import tracejit.keras as keras
import tracejit.layers as layers
import tracejit.linalg as linalg
import tracejit.losses as losses
import tracejit.math as math
import tracejit.metrics as metrics
import tracejit.nest as nest
import tracejit.nn as nn
import tracejit.numpy as numpy
import tracejit.optimizers as optimizers
import tracejit.queue as queue
import tracejit.random as random
import tracejit.raw_ops as raw_ops
import tracejit.saved_model as saved_model
import tracejit.scipy as scipy
import tracejit.strings as strings
import tracejit.test as test
import tracejit.train as train
from tracejit._names.narrow import bfloat16 as bfloat16
from tracejit._names.tracing import types as types
from tracejit.aot.exporting import export as export
from tracejit.aot.loading import load as load
from tracejit.arrays.cutting import ensure_shape as ensure_shape
from tracejit.arrays.cutting import gather as gather
from tracejit.arrays.cutting import is_tensor as is_tensor
from tracejit.arrays.cutting import meshgrid as meshgrid
from tracejit.arrays.cutting import one_hot as one_hot
from tracejit.arrays.cutting import pad as pad
from tracejit.arrays.cutting import repeat as repeat
from tracejit.arrays.cutting import reverse as reverse
from tracejit.arrays.cutting import roll as roll
from tracejit.arrays.cutting import split as split
from tracejit.arrays.cutting import tile as tile
from tracejit.arrays.cutting import unstack as unstack
from tracejit.arrays.sequences import broadcast_dynamic_shape as broadcast_dynamic_shape
from tracejit.arrays.sequences import broadcast_static_shape as broadcast_static_shape
from tracejit.arrays.sequences import dynamic_partition as dynamic_partition
from tracejit.arrays.sequences import dynamic_stitch as dynamic_stitch
from tracejit.arrays.sequences import get_static_value as get_static_value
from tracejit.arrays.sequences import histogram_fixed_width as histogram_fixed_width
from tracejit.arrays.sequences import identity_n as identity_n
from tracejit.arrays.sequences import no_op as no_op
from tracejit.arrays.sequences import reverse_sequence as reverse_sequence
from tracejit.arrays.sequences import sequence_mask as sequence_mask
from tracejit.arrays.sequences import shape_n as shape_n
from tracejit.arrays.sequences import tuple as tuple
from tracejit.arrays.sequences import unravel_index as unravel_index
from tracejit.arrays.slicing import boolean_mask as boolean_mask
from tracejit.arrays.slicing import gather_nd as gather_nd
from tracejit.arrays.slicing import scatter_nd as scatter_nd
from tracejit.arrays.slicing import slice as slice
from tracejit.arrays.slicing import strided_slice as strided_slice
from tracejit.arrays.slicing import tensor_scatter_nd_add as tensor_scatter_nd_add
from tracejit.arrays.slicing import tensor_scatter_nd_max as tensor_scatter_nd_max
from tracejit.arrays.slicing import tensor_scatter_nd_min as tensor_scatter_nd_min
from tracejit.arrays.slicing import tensor_scatter_nd_sub as tensor_scatter_nd_sub
from tracejit.arrays.slicing import tensor_scatter_nd_update as tensor_scatter_nd_update
from tracejit.arrays.slicing import where as where
from tracejit.debugging.assertions import Assert as Assert
from tracejit.debugging.assertions import assert_equal as assert_equal
from tracejit.debugging.assertions import assert_greater as assert_greater
from tracejit.debugging.assertions import assert_less as assert_less
from tracejit.debugging.assertions import assert_rank as assert_rank
from tracejit.frontend.autograph.flow.tensor_array import TensorArray as TensorArray
from tracejit.frontend.control.branching import associative_scan as associative_scan
from tracejit.frontend.control.branching import case as case
from tracejit.frontend.control.branching import map_fn as map_fn
from tracejit.frontend.control.branching import switch_case as switch_case
from tracejit.frontend.control.cond import cond as cond
from tracejit.frontend.control.loop_functions import fori_loop as fori_loop
from tracejit.frontend.control.scan import foldl as foldl
from tracejit.frontend.control.scan import foldr as foldr
from tracejit.frontend.control.scan import scan as scan
from tracejit.frontend.control.while_loop import while_loop as while_loop
from tracejit.frontend.machine import control_dependencies as control_dependencies
from tracejit.frontend.machine import device as device
from tracejit.frontend.machine import executing_eagerly as executing_eagerly
from tracejit.frontend.machine import group as group
from tracejit.frontend.machine import init_scope as init_scope
from tracejit.frontend.machine import inside_function as inside_function
from tracejit.frontend.machine import name_scope as name_scope
from tracejit.frontend.state.module import Module as Module
from tracejit.frontend.tape.graph_gradients import gradients as gradients
from tracejit.frontend.tape.python_calls import numpy_function as numpy_function
from tracejit.frontend.tape.python_calls import py_function as py_function
from tracejit.frontend.transforms.custom_gradient import custom_gradient as custom_gradient
from tracejit.frontend.transforms.custom_gradient import grad_pass_through as grad_pass_through
from tracejit.frontend.transforms.custom_jvp import custom_jvp as custom_jvp
from tracejit.frontend.transforms.jacobians import hessian as hessian
from tracejit.frontend.transforms.jacobians import hvp as hvp
from tracejit.frontend.transforms.jacobians import jacfwd as jacfwd
from tracejit.frontend.transforms.jacobians import jacobian as jacobian
from tracejit.frontend.transforms.jacobians import jacrev as jacrev
from tracejit.frontend.transforms.registering import RegisterGradient as RegisterGradient
from tracejit.frontend.transforms.registering import no_gradient as no_gradient
from tracejit.frontend.transforms.remat import checkpoint as checkpoint
from tracejit.frontend.transforms.remat import recompute_grad as recompute_grad
from tracejit.frontend.transforms.solvers import fixed_point as fixed_point
from tracejit.frontend.transforms.solvers import root as root
from tracejit.frontend.transforms.vectorize import vectorized_map as vectorized_map
from tracejit.frontend.transforms.vectorize import vmap as vmap
from tracejit.initializers import constant_initializer as constant_initializer
from tracejit.initializers import ones_initializer as ones_initializer
from tracejit.initializers import random_normal_initializer as random_normal_initializer
from tracejit.initializers import random_uniform_initializer as random_uniform_initializer
from tracejit.initializers import zeros_initializer as zeros_initializer
from tracejit.inspect.drawing import draw as draw
from tracejit.inspect.profiling import profile as profile
from tracejit.inspect.progress import progress as progress
from tracejit.layers import Sequential as Sequential
from tracejit.linalg.clipping import clip_by_global_norm as clip_by_global_norm
from tracejit.linalg.clipping import clip_by_norm as clip_by_norm
from tracejit.linalg.spectral import eig as eig
from tracejit.linalg.spectral import eigvals as eigvals
from tracejit.linalg.tensor_products import einsum as einsum
from tracejit.linalg.tensor_products import norm as norm
from tracejit.linalg.tensor_products import tensordot as tensordot
from tracejit.math.elementary import add_n as add_n
from tracejit.math.elementary import argmax as argmax
from tracejit.math.elementary import argmin as argmin
from tracejit.math.elementary import cumsum as cumsum
from tracejit.math.elementary import round as round
from tracejit.math.elementary import scalar_mul as scalar_mul
from tracejit.math.sorting import argsort as argsort
from tracejit.math.sorting import searchsorted as searchsorted
from tracejit.math.sorting import sort as sort
from tracejit.math.sorting import unique as unique
from tracejit.math.sorting import unique_with_counts as unique_with_counts
from tracejit.nn.blocks import batch_to_space as batch_to_space
from tracejit.nn.blocks import space_to_batch as space_to_batch
from tracejit.ops.elementwise.angles import acos as acos
from tracejit.ops.elementwise.angles import acosh as acosh
from tracejit.ops.elementwise.angles import asin as asin
from tracejit.ops.elementwise.angles import asinh as asinh
from tracejit.ops.elementwise.angles import atan as atan
from tracejit.ops.elementwise.angles import atan2 as atan2
from tracejit.ops.elementwise.angles import atanh as atanh
from tracejit.ops.elementwise.angles import cosh as cosh
from tracejit.ops.elementwise.angles import sinh as sinh
from tracejit.ops.elementwise.angles import tan as tan
from tracejit.ops.elementwise.bits import bitcast as bitcast
from tracejit.runtime.watch import LongLoopWarning as LongLoopWarning
from tracejit.strings.operations import as_string as as_string
from tracejit.train import summary as summary

__all__ = [
    "Assert",
    "LongLoopWarning",
    "Module",
    "RegisterGradient",
    "Sequential",
    "TensorArray",
    "acos",
    "acosh",
    "activations",
    "add_n",
    "aot",
    "argmax",
    "argmin",
    "argsort",
    "as_string",
    "asin",
    "asinh",
    "assert_equal",
    "assert_greater",
    "assert_less",
    "assert_rank",
    "associative_scan",
    "atan",
    "atan2",
    "atanh",
    "autodiff",
    "autograph",
    "batch_to_space",
    "bfloat16",
    "bitcast",
    "bitwise",
    "boolean_mask",
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "callbacks",
    "case",
    "checkpoint",
    "clip_by_global_norm",
    "clip_by_norm",
    "compat",
    "cond",
    "constant_initializer",
    "control_dependencies",
    "cosh",
    "cumsum",
    "custom_gradient",
    "custom_jvp",
    "dask",
    "data",
    "debugging",
    "device",
    "draw",
    "dtypes",
    "dynamic_partition",
    "dynamic_stitch",
    "eig",
    "eigvals",
    "einsum",
    "ensure_shape",
    "errors",
    "executing_eagerly",
    "export",
    "fixed_point",
    "foldl",
    "foldr",
    "fori_loop",
    "gather",
    "gather_nd",
    "get_static_value",
    "grad_pass_through",
    "gradients",
    "group",
    "hessian",
    "histogram_fixed_width",
    "hvp",
    "identity_n",
    "image",
    "init_scope",
    "initializers",
    "inside_function",
    "io",
    "is_tensor",
    "jacfwd",
    "jacobian",
    "jacrev",
    "keras",
    "layers",
    "linalg",
    "load",
    "losses",
    "map_fn",
    "math",
    "meshgrid",
    "metrics",
    "name_scope",
    "nest",
    "nn",
    "no_gradient",
    "no_op",
    "norm",
    "numpy",
    "numpy_function",
    "one_hot",
    "ones_initializer",
    "optimizers",
    "pad",
    "profile",
    "progress",
    "py_function",
    "queue",
    "random",
    "random_normal_initializer",
    "random_uniform_initializer",
    "raw_ops",
    "recompute_grad",
    "repeat",
    "reverse",
    "reverse_sequence",
    "roll",
    "root",
    "round",
    "saved_model",
    "scalar_mul",
    "scan",
    "scatter_nd",
    "scipy",
    "searchsorted",
    "sequence_mask",
    "shape_n",
    "sinh",
    "slice",
    "sort",
    "space_to_batch",
    "split",
    "strided_slice",
    "strings",
    "summary",
    "switch_case",
    "tan",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "tensordot",
    "test",
    "tile",
    "train",
    "tuple",
    "types",
    "unique",
    "unique_with_counts",
    "unravel_index",
    "unstack",
    "vectorized_map",
    "vmap",
    "where",
    "while_loop",
    "zeros_initializer",
]
