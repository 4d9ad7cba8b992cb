"""The names of 2018: ``import tracejit.compat.v1 as tf``. What is not here is what ``tracejit`` has.

Names only, and a few that were nested: ``tf.contrib.eager``, ``tf.train.GradientDescentOptimizer``.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
from types import SimpleNamespace
from tracejit import Assert as Assert
from tracejit import DtypeError as DtypeError
from tracejit import GradientError as GradientError
from tracejit import GradientTape as GradientTape
from tracejit import IndexedSlices as IndexedSlices
from tracejit import LeakedTensor as LeakedTensor
from tracejit import LongLoopWarning as LongLoopWarning
from tracejit import Module as Module
from tracejit import Op as Op
from tracejit import RegisterGradient as RegisterGradient
from tracejit import Sequential as Sequential
from tracejit import ShapeError as ShapeError
from tracejit import SymbolicValue as SymbolicValue
from tracejit import Tensor as Tensor
from tracejit import TensorArray as TensorArray
from tracejit import TensorSpec as TensorSpec
from tracejit import TracejitError as TracejitError
from tracejit import UnconnectedGradients as UnconnectedGradients
from tracejit import Variable as Variable
from tracejit import abs as abs
from tracejit import acos as acos
from tracejit import acosh as acosh
from tracejit import activations as activations
from tracejit import add as add
from tracejit import add_n as add_n
from tracejit import aot as aot
from tracejit import argsort as argsort
from tracejit import as_dtype as as_dtype
from tracejit import as_shape as as_shape
from tracejit import asarray as asarray
from tracejit import asin as asin
from tracejit import asinh as asinh
from tracejit import associative_scan as associative_scan
from tracejit import atan as atan
from tracejit import atan2 as atan2
from tracejit import atanh as atanh
from tracejit import autodiff as autodiff
from tracejit import autograph as autograph
from tracejit import bitwise as bitwise
from tracejit import bool as bool
from tracejit import boolean_mask as boolean_mask
from tracejit import broadcast_to as broadcast_to
from tracejit import case as case
from tracejit import cast as cast
from tracejit import checkpoint as checkpoint
from tracejit import clip_by_global_norm as clip_by_global_norm
from tracejit import clip_by_norm as clip_by_norm
from tracejit import clip_by_value as clip_by_value
from tracejit import compat as compat
from tracejit import complex as complex
from tracejit import complex128 as complex128
from tracejit import complex64 as complex64
from tracejit import concat as concat
from tracejit import cond as cond
from tracejit import configure as configure
from tracejit import conj as conj
from tracejit import constant as constant
from tracejit import control_dependencies as control_dependencies
from tracejit import convert_to_tensor as convert_to_tensor
from tracejit import cos as cos
from tracejit import cosh as cosh
from tracejit import cumsum as cumsum
from tracejit import custom_gradient as custom_gradient
from tracejit import custom_jvp as custom_jvp
from tracejit import data as data
from tracejit import debugging as debugging
from tracejit import defop as defop
from tracejit import device as device
from tracejit import divide as divide
from tracejit import dot as dot
from tracejit import double as double
from tracejit import draw as draw
from tracejit import dtypes as dtypes
from tracejit import dynamic_slice as dynamic_slice
from tracejit import dynamic_update_slice as dynamic_update_slice
from tracejit import einsum as einsum
from tracejit import ensure_shape as ensure_shape
from tracejit import equal as equal
from tracejit import erf as erf
from tracejit import errors as errors
from tracejit import executing_eagerly as executing_eagerly
from tracejit import exp as exp
from tracejit import expand_dims as expand_dims
from tracejit import expm1 as expm1
from tracejit import export as export
from tracejit import eye as eye
from tracejit import fill as fill
from tracejit import fixed_point as fixed_point
from tracejit import float16 as float16
from tracejit import float32 as float32
from tracejit import float64 as float64
from tracejit import floor as floor
from tracejit import foldl as foldl
from tracejit import foldr as foldr
from tracejit import fori_loop as fori_loop
from tracejit import function as function
from tracejit import gather as gather
from tracejit import gather_nd as gather_nd
from tracejit import grad as grad
from tracejit import grad_pass_through as grad_pass_through
from tracejit import gradients_function as gradients_function
from tracejit import greater as greater
from tracejit import greater_equal as greater_equal
from tracejit import group as group
from tracejit import half as half
from tracejit import hessian as hessian
from tracejit import hvp as hvp
from tracejit import identity as identity
from tracejit import imag as imag
from tracejit import image as image
from tracejit import init_scope as init_scope
from tracejit import initializers as initializers
from tracejit import inside_function as inside_function
from tracejit import int16 as int16
from tracejit import int32 as int32
from tracejit import int64 as int64
from tracejit import int8 as int8
from tracejit import is_nan as is_nan
from tracejit import is_tensor as is_tensor
from tracejit import jacfwd as jacfwd
from tracejit import jacobian as jacobian
from tracejit import jacrev as jacrev
from tracejit import jvp as jvp
from tracejit import keras as keras
from tracejit import layers as layers
from tracejit import less as less
from tracejit import less_equal as less_equal
from tracejit import linalg as linalg
from tracejit import linearize as linearize
from tracejit import linspace as linspace
from tracejit import load as load
from tracejit import log as log
from tracejit import log1p as log1p
from tracejit import logical_and as logical_and
from tracejit import logical_not as logical_not
from tracejit import logical_or as logical_or
from tracejit import map_fn as map_fn
from tracejit import math as math
from tracejit import matmul as matmul
from tracejit import maximum as maximum
from tracejit import meshgrid as meshgrid
from tracejit import metrics as metrics
from tracejit import minimum as minimum
from tracejit import multiply as multiply
from tracejit import name_scope as name_scope
from tracejit import negative as negative
from tracejit import nest as nest
from tracejit import newaxis as newaxis
from tracejit import nn as nn
from tracejit import no_gradient as no_gradient
from tracejit import norm as norm
from tracejit import not_equal as not_equal
from tracejit import numpy as numpy
from tracejit import one_hot as one_hot
from tracejit import ones as ones
from tracejit import ones_like as ones_like
from tracejit import optimizers as optimizers
from tracejit import pad as pad
from tracejit import pow as pow
from tracejit import print as print
from tracejit import progress as progress
from tracejit import queue as queue
from tracejit import random as random
from tracejit import range as range
from tracejit import rank as rank
from tracejit import raw_ops as raw_ops
from tracejit import real as real
from tracejit import realdiv as realdiv
from tracejit import recompute_grad as recompute_grad
from tracejit import relu as relu
from tracejit import repeat as repeat
from tracejit import reshape as reshape
from tracejit import reverse as reverse
from tracejit import roll as roll
from tracejit import root as root
from tracejit import round as round
from tracejit import saturate_cast as saturate_cast
from tracejit import saved_model as saved_model
from tracejit import scalar_mul as scalar_mul
from tracejit import scan as scan
from tracejit import scatter_add as scatter_add
from tracejit import scatter_nd as scatter_nd
from tracejit import searchsorted as searchsorted
from tracejit import sequence_mask as sequence_mask
from tracejit import set_default_dtype as set_default_dtype
from tracejit import settings as settings
from tracejit import shape as shape
from tracejit import sigmoid as sigmoid
from tracejit import sign as sign
from tracejit import sin as sin
from tracejit import sinh as sinh
from tracejit import size as size
from tracejit import slice as slice
from tracejit import softplus as softplus
from tracejit import sort as sort
from tracejit import split as split
from tracejit import sqrt as sqrt
from tracejit import square as square
from tracejit import squeeze as squeeze
from tracejit import stack as stack
from tracejit import stop_gradient as stop_gradient
from tracejit import strided_slice as strided_slice
from tracejit import string as string
from tracejit import strings as strings
from tracejit import subtract as subtract
from tracejit import switch_case as switch_case
from tracejit import tan as tan
from tracejit import tanh as tanh
from tracejit import tensor_scatter_nd_add as tensor_scatter_nd_add
from tracejit import tensor_scatter_nd_max as tensor_scatter_nd_max
from tracejit import tensor_scatter_nd_min as tensor_scatter_nd_min
from tracejit import tensor_scatter_nd_sub as tensor_scatter_nd_sub
from tracejit import tensor_scatter_nd_update as tensor_scatter_nd_update
from tracejit import tensordot as tensordot
from tracejit import test as test
from tracejit import tile as tile
from tracejit import transpose as transpose
from tracejit import truncatediv as truncatediv
from tracejit import truncatemod as truncatemod
from tracejit import uint16 as uint16
from tracejit import uint32 as uint32
from tracejit import uint64 as uint64
from tracejit import uint8 as uint8
from tracejit import unique as unique
from tracejit import unique_with_counts as unique_with_counts
from tracejit import unstack as unstack
from tracejit import value_and_grad as value_and_grad
from tracejit import vectorized_map as vectorized_map
from tracejit import vjp as vjp
from tracejit import vmap as vmap
from tracejit import where as where
from tracejit import zeros as zeros
from tracejit import zeros_like as zeros_like
from tracejit.compat.v1.classic import enable_eager_execution as enable_eager_execution
from tracejit.compat.v1.classic import lin_space as lin_space
from tracejit.compat.v1.classic import to_double as to_double
from tracejit.compat.v1.classic import to_float as to_float
from tracejit.compat.v1.classic import to_int32 as to_int32
from tracejit.compat.v1.classic import to_int64 as to_int64
from tracejit.compat.v1 import classic_losses as _losses
losses = _losses
from tracejit.compat.v1.classic_names import AUTO_REUSE as AUTO_REUSE
from tracejit.compat.v1.classic_names import argmax as argmax
from tracejit.compat.v1.classic_names import argmin as argmin
from tracejit.compat.v1.classic_names import assign as assign
from tracejit.compat.v1.classic_names import assign_add as assign_add
from tracejit.compat.v1.classic_names import assign_sub as assign_sub
from tracejit.compat.v1.classic_names import div as div
from tracejit.compat.v1.classic_names import get_variable as get_variable
from tracejit.compat.v1.classic_names import global_variables_initializer as global_variables_initializer
from tracejit.compat.v1.classic_names import multinomial as multinomial
from tracejit.compat.v1.classic_names import placeholder_with_default as placeholder_with_default
from tracejit.compat.v1.classic_names import reduce_all as reduce_all
from tracejit.compat.v1.classic_names import reduce_any as reduce_any
from tracejit.compat.v1.classic_names import reduce_logsumexp as reduce_logsumexp
from tracejit.compat.v1.classic_names import reduce_max as reduce_max
from tracejit.compat.v1.classic_names import reduce_mean as reduce_mean
from tracejit.compat.v1.classic_names import reduce_min as reduce_min
from tracejit.compat.v1.classic_names import reduce_prod as reduce_prod
from tracejit.compat.v1.classic_names import reduce_sum as reduce_sum
from tracejit.compat.v1.classic_names import variable_scope as variable_scope
from tracejit.compat.v1.classic_names import while_loop as while_loop
from tracejit.initializers import Constant as _constant_initializer
constant_initializer = _constant_initializer
from tracejit.initializers import GlorotNormal as _glorot_normal_initializer
glorot_normal_initializer = _glorot_normal_initializer
from tracejit.initializers import GlorotUniform as _glorot_uniform_initializer
glorot_uniform_initializer = _glorot_uniform_initializer
from tracejit.initializers import Ones as _ones_initializer
ones_initializer = _ones_initializer
from tracejit.initializers import RandomNormal as _random_normal_initializer
random_normal_initializer = _random_normal_initializer
from tracejit.initializers import RandomUniform as _random_uniform_initializer
random_uniform_initializer = _random_uniform_initializer
from tracejit.initializers import TruncatedNormal as _truncated_normal_initializer
truncated_normal_initializer = _truncated_normal_initializer
from tracejit.initializers import Zeros as _zeros_initializer
zeros_initializer = _zeros_initializer
from tracejit.linalg import cholesky as cholesky
from tracejit.linalg import cross as cross
from tracejit.linalg import diag as diag
from tracejit.linalg import diag_part as diag_part
from tracejit.linalg import band_part as _matrix_band_part
matrix_band_part = _matrix_band_part
from tracejit.linalg import det as _matrix_determinant
matrix_determinant = _matrix_determinant
from tracejit.linalg import diag as _matrix_diag
matrix_diag = _matrix_diag
from tracejit.linalg import diag_part as _matrix_diag_part
matrix_diag_part = _matrix_diag_part
from tracejit.linalg import inv as _matrix_inverse
matrix_inverse = _matrix_inverse
from tracejit.linalg import solve as _matrix_solve
matrix_solve = _matrix_solve
from tracejit.linalg import matrix_transpose as matrix_transpose
from tracejit.linalg import triangular_solve as _matrix_triangular_solve
matrix_triangular_solve = _matrix_triangular_solve
from tracejit.linalg import trace as trace
from tracejit.math import add_n as _accumulate_n
accumulate_n = _accumulate_n
from tracejit.math import bincount as bincount
from tracejit.math import ceil as ceil
from tracejit.math import confusion_matrix as confusion_matrix
from tracejit.math import count_nonzero as count_nonzero
from tracejit.math import cumprod as cumprod
from tracejit.math import erfc as erfc
from tracejit.math import floordiv as floordiv
from tracejit.math import floormod as floormod
from tracejit.math import invert_permutation as invert_permutation
from tracejit.math import is_finite as is_finite
from tracejit.math import is_inf as is_inf
from tracejit.math import log_sigmoid as log_sigmoid
from tracejit.math import mod as mod
from tracejit.math import reciprocal as reciprocal
from tracejit.math import rsqrt as rsqrt
from tracejit.math import segment_max as segment_max
from tracejit.math import segment_mean as segment_mean
from tracejit.math import segment_min as segment_min
from tracejit.math import segment_sum as segment_sum
from tracejit.math import squared_difference as squared_difference
from tracejit.math import truediv as truediv
from tracejit.math import unsorted_segment_max as unsorted_segment_max
from tracejit.math import unsorted_segment_mean as unsorted_segment_mean
from tracejit.math import unsorted_segment_sum as unsorted_segment_sum
from tracejit.random import shuffle as _random_shuffle
random_shuffle = _random_shuffle
from tracejit.random.generators import normal as _random_normal
random_normal = _random_normal
from tracejit.random.generators import uniform as _random_uniform
random_uniform = _random_uniform
from tracejit.random.generators import set_seed as _set_random_seed
set_random_seed = _set_random_seed
from tracejit.random.generators import truncated_normal as truncated_normal
from tracejit.strings import as_string as as_string
from tracejit.strings import join as _string_join
string_join = _string_join
enable_v2_behavior = enable_eager_execution
arg_max = argmax
arg_min = argmin
train: SimpleNamespace
contrib: SimpleNamespace
