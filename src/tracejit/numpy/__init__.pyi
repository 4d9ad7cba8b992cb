"""NumPy's names for what tracejit has, differentiable and compiled: ``import tracejit.numpy as tnp``. Names only.

Arguments and dtypes are NumPy's: Python floats are float64, integers int64. Functions about shapes, dtypes and
positions, which have no derivative, are NumPy's own, and so are the settings of NumPy's floating-point warnings, which
no function here gives. The names of the Array API 2024.12 are here too. Not here:
``random`` (``tracejit.random``), ``out=`` arguments, an order of complex numbers (``max``, ``sort``, ``<`` …).
Those that change an array (``put``, ``fill_diagonal`` …) return the changed one: ``x = put(x, 0, v, inplace=False)``.

Written by ``python -m stubs`` in `tests`: do not edit.
"""
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from numpy import bartlett as bartlett
from numpy import blackman as blackman
from numpy import broadcast_shapes as broadcast_shapes
from numpy import diag_indices as diag_indices
from numpy import errstate as errstate
from numpy import euler_gamma as euler_gamma
from numpy import get_printoptions as get_printoptions
from numpy import geterr as geterr
from numpy import hamming as hamming
from numpy import hanning as hanning
from numpy import index_exp as index_exp
from numpy import isscalar as isscalar
from numpy import issubdtype as issubdtype
from numpy import iterable as iterable
from numpy import kaiser as kaiser
from numpy import mask_indices as mask_indices
from numpy import mgrid as mgrid
from numpy import ndindex as ndindex
from numpy import ogrid as ogrid
from numpy import printoptions as printoptions
from numpy import promote_types as promote_types
from numpy import s_ as s_
from numpy import set_printoptions as set_printoptions
from numpy import seterr as seterr
from numpy import tril_indices as tril_indices
from numpy import triu_indices as triu_indices
from tracejit.core.tensor import Tensor as _ndarray
ndarray = _ndarray
from tracejit.numpy.applying import apply_along_axis as apply_along_axis
from tracejit.numpy.applying import apply_over_axes as apply_over_axes
from tracejit.numpy.applying import vectorize as vectorize
from tracejit.numpy.array_api import __array_namespace_info__ as __array_namespace_info__
from tracejit.numpy.array_api import _namespace_of as _namespace_of
from tracejit.numpy.array_api import astype as astype
from tracejit.numpy.array_api import can_cast as can_cast
from tracejit.numpy.array_api import finfo as finfo
from tracejit.numpy.array_api import from_dlpack as from_dlpack
from tracejit.numpy.array_api import iinfo as iinfo
from tracejit.numpy.array_api import iscomplexobj as iscomplexobj
from tracejit.numpy.array_api import isdtype as isdtype
from tracejit.numpy.array_api import isrealobj as isrealobj
from tracejit.numpy.array_api import result_type as result_type
from tracejit.numpy.borders import pad as pad
from tracejit.numpy.conversion import asarray as asarray
from tracejit.numpy.conversion import frombuffer as frombuffer
from tracejit.numpy.conversion import fromiter as fromiter
from tracejit.numpy.conversion import fromstring as fromstring
from tracejit.numpy.conversion import load as load
from tracejit.numpy.conversion import save as save
from tracejit.numpy.copying import array as array
from tracejit.numpy.curves.calculus import convolve as convolve
from tracejit.numpy.curves.calculus import correlate as correlate
from tracejit.numpy.curves.calculus import diff as diff
from tracejit.numpy.curves.calculus import ediff1d as ediff1d
from tracejit.numpy.curves.calculus import gradient as gradient
from tracejit.numpy.curves.calculus import interp as interp
from tracejit.numpy.curves.calculus import trapezoid as trapezoid
from tracejit.numpy.curves.calculus import unwrap as unwrap
from tracejit.numpy.curves.polynomials import poly as poly
from tracejit.numpy.curves.polynomials import polyadd as polyadd
from tracejit.numpy.curves.polynomials import polyder as polyder
from tracejit.numpy.curves.polynomials import polydiv as polydiv
from tracejit.numpy.curves.polynomials import polyfit as polyfit
from tracejit.numpy.curves.polynomials import polyint as polyint
from tracejit.numpy.curves.polynomials import polymul as polymul
from tracejit.numpy.curves.polynomials import polysub as polysub
from tracejit.numpy.curves.polynomials import polyval as polyval
from tracejit.numpy.curves.polynomials import roots as roots
from tracejit.numpy.elements.changing import fill_diagonal as fill_diagonal
from tracejit.numpy.elements.changing import place as place
from tracejit.numpy.elements.changing import put as put
from tracejit.numpy.elements.changing import put_along_axis as put_along_axis
from tracejit.numpy.elements.comparing import allclose as allclose
from tracejit.numpy.elements.comparing import array_equal as array_equal
from tracejit.numpy.elements.comparing import array_equiv as array_equiv
from tracejit.numpy.elements.comparing import isclose as isclose
from tracejit.numpy.elements.comparing import iscomplex as iscomplex
from tracejit.numpy.elements.comparing import isneginf as isneginf
from tracejit.numpy.elements.comparing import isposinf as isposinf
from tracejit.numpy.elements.comparing import isreal as isreal
from tracejit.numpy.elements.elementwise import abs as abs
from tracejit.numpy.elements.elementwise import absolute as absolute
from tracejit.numpy.elements.elementwise import acos as acos
from tracejit.numpy.elements.elementwise import acosh as acosh
from tracejit.numpy.elements.elementwise import add as add
from tracejit.numpy.elements.elementwise import arccos as arccos
from tracejit.numpy.elements.elementwise import arccosh as arccosh
from tracejit.numpy.elements.elementwise import arcsin as arcsin
from tracejit.numpy.elements.elementwise import arcsinh as arcsinh
from tracejit.numpy.elements.elementwise import arctan as arctan
from tracejit.numpy.elements.elementwise import arctan2 as arctan2
from tracejit.numpy.elements.elementwise import arctanh as arctanh
from tracejit.numpy.elements.elementwise import argwhere as argwhere
from tracejit.numpy.elements.elementwise import around as around
from tracejit.numpy.elements.elementwise import asin as asin
from tracejit.numpy.elements.elementwise import asinh as asinh
from tracejit.numpy.elements.elementwise import atan as atan
from tracejit.numpy.elements.elementwise import atan2 as atan2
from tracejit.numpy.elements.elementwise import atanh as atanh
from tracejit.numpy.elements.elementwise import bitwise_and as bitwise_and
from tracejit.numpy.elements.elementwise import bitwise_invert as bitwise_invert
from tracejit.numpy.elements.elementwise import bitwise_left_shift as bitwise_left_shift
from tracejit.numpy.elements.elementwise import bitwise_not as bitwise_not
from tracejit.numpy.elements.elementwise import bitwise_or as bitwise_or
from tracejit.numpy.elements.elementwise import bitwise_right_shift as bitwise_right_shift
from tracejit.numpy.elements.elementwise import bitwise_xor as bitwise_xor
from tracejit.numpy.elements.elementwise import ceil as ceil
from tracejit.numpy.elements.elementwise import clip as clip
from tracejit.numpy.elements.elementwise import conj as conj
from tracejit.numpy.elements.elementwise import conjugate as conjugate
from tracejit.numpy.elements.elementwise import cos as cos
from tracejit.numpy.elements.elementwise import cosh as cosh
from tracejit.numpy.elements.elementwise import divide as divide
from tracejit.numpy.elements.elementwise import divmod as divmod
from tracejit.numpy.elements.elementwise import equal as equal
from tracejit.numpy.elements.elementwise import exp as exp
from tracejit.numpy.elements.elementwise import exp2 as exp2
from tracejit.numpy.elements.elementwise import expm1 as expm1
from tracejit.numpy.elements.elementwise import flatnonzero as flatnonzero
from tracejit.numpy.elements.elementwise import floor as floor
from tracejit.numpy.elements.elementwise import floor_divide as floor_divide
from tracejit.numpy.elements.elementwise import greater as greater
from tracejit.numpy.elements.elementwise import greater_equal as greater_equal
from tracejit.numpy.elements.elementwise import hypot as hypot
from tracejit.numpy.elements.elementwise import imag as imag
from tracejit.numpy.elements.elementwise import invert as invert
from tracejit.numpy.elements.elementwise import isfinite as isfinite
from tracejit.numpy.elements.elementwise import isinf as isinf
from tracejit.numpy.elements.elementwise import isnan as isnan
from tracejit.numpy.elements.elementwise import left_shift as left_shift
from tracejit.numpy.elements.elementwise import less as less
from tracejit.numpy.elements.elementwise import less_equal as less_equal
from tracejit.numpy.elements.elementwise import log as log
from tracejit.numpy.elements.elementwise import log10 as log10
from tracejit.numpy.elements.elementwise import log1p as log1p
from tracejit.numpy.elements.elementwise import log2 as log2
from tracejit.numpy.elements.elementwise import logaddexp as logaddexp
from tracejit.numpy.elements.elementwise import logical_and as logical_and
from tracejit.numpy.elements.elementwise import logical_not as logical_not
from tracejit.numpy.elements.elementwise import logical_or as logical_or
from tracejit.numpy.elements.elementwise import logical_xor as logical_xor
from tracejit.numpy.elements.elementwise import maximum as maximum
from tracejit.numpy.elements.elementwise import minimum as minimum
from tracejit.numpy.elements.elementwise import mod as mod
from tracejit.numpy.elements.elementwise import multiply as multiply
from tracejit.numpy.elements.elementwise import negative as negative
from tracejit.numpy.elements.elementwise import nextafter as nextafter
from tracejit.numpy.elements.elementwise import nonzero as nonzero
from tracejit.numpy.elements.elementwise import not_equal as not_equal
from tracejit.numpy.elements.elementwise import positive as positive
from tracejit.numpy.elements.elementwise import pow as pow
from tracejit.numpy.elements.elementwise import power as power
from tracejit.numpy.elements.elementwise import real as real
from tracejit.numpy.elements.elementwise import remainder as remainder
from tracejit.numpy.elements.elementwise import right_shift as right_shift
from tracejit.numpy.elements.elementwise import rint as rint
from tracejit.numpy.elements.elementwise import round as round
from tracejit.numpy.elements.elementwise import sign as sign
from tracejit.numpy.elements.elementwise import sin as sin
from tracejit.numpy.elements.elementwise import sinh as sinh
from tracejit.numpy.elements.elementwise import sqrt as sqrt
from tracejit.numpy.elements.elementwise import square as square
from tracejit.numpy.elements.elementwise import subtract as subtract
from tracejit.numpy.elements.elementwise import tan as tan
from tracejit.numpy.elements.elementwise import tanh as tanh
from tracejit.numpy.elements.elementwise import true_divide as true_divide
from tracejit.numpy.elements.elementwise import trunc as trunc
from tracejit.numpy.elements.elementwise import where as where
from tracejit.numpy.elements.further import angle as angle
from tracejit.numpy.elements.further import bitwise_count as bitwise_count
from tracejit.numpy.elements.further import cbrt as cbrt
from tracejit.numpy.elements.further import copysign as copysign
from tracejit.numpy.elements.further import deg2rad as deg2rad
from tracejit.numpy.elements.further import degrees as degrees
from tracejit.numpy.elements.further import fabs as fabs
from tracejit.numpy.elements.further import fix as fix
from tracejit.numpy.elements.further import float_power as float_power
from tracejit.numpy.elements.further import fmax as fmax
from tracejit.numpy.elements.further import fmin as fmin
from tracejit.numpy.elements.further import fmod as fmod
from tracejit.numpy.elements.further import frexp as frexp
from tracejit.numpy.elements.further import gcd as gcd
from tracejit.numpy.elements.further import heaviside as heaviside
from tracejit.numpy.elements.further import i0 as i0
from tracejit.numpy.elements.further import lcm as lcm
from tracejit.numpy.elements.further import ldexp as ldexp
from tracejit.numpy.elements.further import logaddexp2 as logaddexp2
from tracejit.numpy.elements.further import modf as modf
from tracejit.numpy.elements.further import nan_to_num as nan_to_num
from tracejit.numpy.elements.further import packbits as packbits
from tracejit.numpy.elements.further import rad2deg as rad2deg
from tracejit.numpy.elements.further import radians as radians
from tracejit.numpy.elements.further import real_if_close as real_if_close
from tracejit.numpy.elements.further import reciprocal as reciprocal
from tracejit.numpy.elements.further import signbit as signbit
from tracejit.numpy.elements.further import sinc as sinc
from tracejit.numpy.elements.further import spacing as spacing
from tracejit.numpy.elements.further import unpackbits as unpackbits
from tracejit.numpy.elements.selecting import choose as choose
from tracejit.numpy.elements.selecting import piecewise as piecewise
from tracejit.numpy.elements.selecting import select as select
from tracejit.numpy.elements.taking import compress as compress
from tracejit.numpy.elements.taking import extract as extract
from tracejit.numpy.elements.taking import take as take
from tracejit.numpy.elements.taking import take_along_axis as take_along_axis
from tracejit.numpy import fft as fft
from tracejit.numpy.index_arrays import diag_indices_from as diag_indices_from
from tracejit.numpy.index_arrays import indices as indices
from tracejit.numpy.index_arrays import ix_ as ix_
from tracejit.numpy.index_arrays import meshgrid as meshgrid
from tracejit.numpy.index_arrays import ravel_multi_index as ravel_multi_index
from tracejit.numpy.index_arrays import tril_indices_from as tril_indices_from
from tracejit.numpy.index_arrays import triu_indices_from as triu_indices_from
from tracejit.numpy.index_arrays import unravel_index as unravel_index
from tracejit.numpy.joining import append as append
from tracejit.numpy.joining import array_split as array_split
from tracejit.numpy.joining import block as block
from tracejit.numpy.joining import column_stack as column_stack
from tracejit.numpy.joining import concat as concat
from tracejit.numpy.joining import concatenate as concatenate
from tracejit.numpy.joining import delete as delete
from tracejit.numpy.joining import dsplit as dsplit
from tracejit.numpy.joining import dstack as dstack
from tracejit.numpy.joining import hsplit as hsplit
from tracejit.numpy.joining import hstack as hstack
from tracejit.numpy.joining import insert as insert
from tracejit.numpy.joining import repeat as repeat
from tracejit.numpy.joining import row_stack as row_stack
from tracejit.numpy.joining import split as split
from tracejit.numpy.joining import stack as stack
from tracejit.numpy.joining import tile as tile
from tracejit.numpy.joining import unstack as unstack
from tracejit.numpy.joining import vsplit as vsplit
from tracejit.numpy.joining import vstack as vstack
from tracejit.numpy import linalg as linalg
from tracejit.numpy.linalg import matrix_transpose as matrix_transpose
from tracejit.numpy.making import arange as arange
from tracejit.numpy.making import c_ as c_
from tracejit.numpy.making import copy as copy
from tracejit.numpy.making import empty as empty
from tracejit.numpy.making import empty_like as empty_like
from tracejit.numpy.making import eye as eye
from tracejit.numpy.making import fromfunction as fromfunction
from tracejit.numpy.making import full as full
from tracejit.numpy.making import full_like as full_like
from tracejit.numpy.making import geomspace as geomspace
from tracejit.numpy.making import identity as identity
from tracejit.numpy.making import linspace as linspace
from tracejit.numpy.making import logspace as logspace
from tracejit.numpy.making import ones as ones
from tracejit.numpy.making import ones_like as ones_like
from tracejit.numpy.making import r_ as r_
from tracejit.numpy.making import tri as tri
from tracejit.numpy.making import vander as vander
from tracejit.numpy.making import zeros as zeros
from tracejit.numpy.making import zeros_like as zeros_like
from tracejit.numpy.order.ordering import argpartition as argpartition
from tracejit.numpy.order.ordering import argsort as argsort
from tracejit.numpy.order.ordering import lexsort as lexsort
from tracejit.numpy.order.ordering import partition as partition
from tracejit.numpy.order.ordering import sort as sort
from tracejit.numpy.order.ordering import sort_complex as sort_complex
from tracejit.numpy.order.sets import intersect1d as intersect1d
from tracejit.numpy.order.sets import isin as isin
from tracejit.numpy.order.sets import setdiff1d as setdiff1d
from tracejit.numpy.order.sets import setxor1d as setxor1d
from tracejit.numpy.order.sets import union1d as union1d
from tracejit.numpy.order.sets import unique as unique
from tracejit.numpy.order.sets import unique_all as unique_all
from tracejit.numpy.order.sets import unique_counts as unique_counts
from tracejit.numpy.order.sets import unique_inverse as unique_inverse
from tracejit.numpy.order.sets import unique_values as unique_values
from tracejit.numpy.products import cross as cross
from tracejit.numpy.products import diag as diag
from tracejit.numpy.products import diagflat as diagflat
from tracejit.numpy.products import diagonal as diagonal
from tracejit.numpy.products import dot as dot
from tracejit.numpy.products import einsum as einsum
from tracejit.numpy.products import einsum_path as einsum_path
from tracejit.numpy.products import inner as inner
from tracejit.numpy.products import kron as kron
from tracejit.numpy.products import matmul as matmul
from tracejit.numpy.products import matvec as matvec
from tracejit.numpy.products import outer as outer
from tracejit.numpy.products import tensordot as tensordot
from tracejit.numpy.products import trace as trace
from tracejit.numpy.products import vdot as vdot
from tracejit.numpy.products import vecdot as vecdot
from tracejit.numpy.products import vecmat as vecmat
from tracejit.numpy.reductions import _running_logsumexp as _running_logsumexp
from tracejit.numpy.reductions import _running_max as _running_max
from tracejit.numpy.reductions import _running_min as _running_min
from tracejit.numpy.reductions import all as all
from tracejit.numpy.reductions import amax as amax
from tracejit.numpy.reductions import amin as amin
from tracejit.numpy.reductions import any as any
from tracejit.numpy.reductions import argmax as argmax
from tracejit.numpy.reductions import argmin as argmin
from tracejit.numpy.reductions import count_nonzero as count_nonzero
from tracejit.numpy.reductions import cumprod as cumprod
from tracejit.numpy.reductions import cumsum as cumsum
from tracejit.numpy.reductions import cumulative_prod as cumulative_prod
from tracejit.numpy.reductions import cumulative_sum as cumulative_sum
from tracejit.numpy.reductions import logsumexp as logsumexp
from tracejit.numpy.reductions import max as max
from tracejit.numpy.reductions import mean as mean
from tracejit.numpy.reductions import min as min
from tracejit.numpy.reductions import prod as prod
from tracejit.numpy.reductions import ptp as ptp
from tracejit.numpy.reductions import std as std
from tracejit.numpy.reductions import sum as sum
from tracejit.numpy.reductions import var as var
from tracejit.numpy.shapes import atleast_1d as atleast_1d
from tracejit.numpy.shapes import atleast_2d as atleast_2d
from tracejit.numpy.shapes import atleast_3d as atleast_3d
from tracejit.numpy.shapes import broadcast_arrays as broadcast_arrays
from tracejit.numpy.shapes import broadcast_to as broadcast_to
from tracejit.numpy.shapes import expand_dims as expand_dims
from tracejit.numpy.shapes import flip as flip
from tracejit.numpy.shapes import fliplr as fliplr
from tracejit.numpy.shapes import flipud as flipud
from tracejit.numpy.shapes import moveaxis as moveaxis
from tracejit.numpy.shapes import ndim as ndim
from tracejit.numpy.shapes import permute_dims as permute_dims
from tracejit.numpy.shapes import ravel as ravel
from tracejit.numpy.shapes import reshape as reshape
from tracejit.numpy.shapes import resize as resize
from tracejit.numpy.shapes import roll as roll
from tracejit.numpy.shapes import rollaxis as rollaxis
from tracejit.numpy.shapes import rot90 as rot90
from tracejit.numpy.shapes import shape as shape
from tracejit.numpy.shapes import size as size
from tracejit.numpy.shapes import squeeze as squeeze
from tracejit.numpy.shapes import swapaxes as swapaxes
from tracejit.numpy.shapes import transpose as transpose
from tracejit.numpy.shapes import tril as tril
from tracejit.numpy.shapes import trim_zeros as trim_zeros
from tracejit.numpy.shapes import triu as triu
from tracejit.numpy.statistics.averages import average as average
from tracejit.numpy.statistics.averages import corrcoef as corrcoef
from tracejit.numpy.statistics.averages import cov as cov
from tracejit.numpy.statistics.counting import bincount as bincount
from tracejit.numpy.statistics.counting import digitize as digitize
from tracejit.numpy.statistics.counting import histogram as histogram
from tracejit.numpy.statistics.counting import histogram2d as histogram2d
from tracejit.numpy.statistics.counting import histogram_bin_edges as histogram_bin_edges
from tracejit.numpy.statistics.counting import histogramdd as histogramdd
from tracejit.numpy.statistics.counting import searchsorted as searchsorted
from tracejit.numpy.statistics.passing_nan import nanargmax as nanargmax
from tracejit.numpy.statistics.passing_nan import nanargmin as nanargmin
from tracejit.numpy.statistics.passing_nan import nancumprod as nancumprod
from tracejit.numpy.statistics.passing_nan import nancumsum as nancumsum
from tracejit.numpy.statistics.passing_nan import nanmax as nanmax
from tracejit.numpy.statistics.passing_nan import nanmean as nanmean
from tracejit.numpy.statistics.passing_nan import nanmedian as nanmedian
from tracejit.numpy.statistics.passing_nan import nanmin as nanmin
from tracejit.numpy.statistics.passing_nan import nanpercentile as nanpercentile
from tracejit.numpy.statistics.passing_nan import nanprod as nanprod
from tracejit.numpy.statistics.passing_nan import nanquantile as nanquantile
from tracejit.numpy.statistics.passing_nan import nanstd as nanstd
from tracejit.numpy.statistics.passing_nan import nansum as nansum
from tracejit.numpy.statistics.passing_nan import nanvar as nanvar
from tracejit.numpy.statistics.quantiles import median as median
from tracejit.numpy.statistics.quantiles import percentile as percentile
from tracejit.numpy.statistics.quantiles import quantile as quantile
import numpy as _np
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
