"""Integers as rows of bits: and, or, exclusive or, inversion and shifts. No gradient flows through any of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.autodiff.batching import Batch
from ...core.dim import same
from ...core.errors import DtypeError, require
from ...core.op import Attrs, defop, ops, sample
from ...core.spec import TensorSpec, as_dtype, dtype_name
from ...core.tensor import Tensor
from ...core.tracing.dispatch import as_tensor
from ...core.tracing.loop_form import INDEX, LoopForm
from ..lowering import Compose, Expand, Scalar
from .arithmetic import ELEMENTWISE, broadcast, matched


def _whole(spec: TensorSpec, kinds: str) -> TensorSpec:
    if spec.dtype.kind not in kinds:
        wanted = "bools or integers" if "b" in kinds else "integers"
        raise DtypeError(
            f"takes {wanted}, got {spec.dtype.name}; compare numbers first, e.g. x != 0, or cast"
        )
    return spec


def bits(*specs: TensorSpec) -> TensorSpec:
    """Shape rule: bools or integers of one dtype that broadcast."""
    return _whole(broadcast(*specs), "biu")


def integers(*specs: TensorSpec) -> TensorSpec:
    """Shape rule: integers of one dtype that broadcast."""
    return _whole(broadcast(*specs), "iu")


_TWO = {"vjp": (None, None), "canonicalize": matched, "traits": ELEMENTWISE}
_INTEGERS = tuple(
    sample(*shapes, low=-100, high=100, dtypes=(dtype, dtype))
    for dtype, shapes in (("int64", ((2, 3), (2, 3))), ("int8", ((2, 1, 3), (4, 1))), ("int32", ((), (3,))))
)
_UNSIGNED = (sample((2, 3), (2, 3), low=0, high=200, dtypes=("uint8", "uint8")),)
_BOOLS = (sample((2, 3), (3,), dtypes=("bool", "bool")),)
_COUNTS = tuple(
    sample((2, 3), (2, 3), low=0, high=high, dtypes=(dtype, dtype))
    for dtype, high in (("int64", 70), ("int8", 9), ("uint32", 33))
)


@defop(**_TWO, kernel=np.bitwise_and, lower=Scalar("and"), samples=(*_INTEGERS, *_UNSIGNED, *_BOOLS))
def bitwise_and(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """Bit by bit, 1 where both have a 1; of bools, both hold."""
    return bits(x, y)


@defop(**_TWO, kernel=np.bitwise_or, lower=Scalar("or"), samples=(*_INTEGERS, *_UNSIGNED, *_BOOLS))
def bitwise_or(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """Bit by bit, 1 where either has a 1; of bools, either holds."""
    return bits(x, y)


@defop(**_TWO, kernel=np.bitwise_xor, lower=Scalar("xor"), samples=(*_INTEGERS, *_UNSIGNED, *_BOOLS))
def bitwise_xor(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """Bit by bit, 1 where the two differ; of bools, exactly one holds."""
    return bits(x, y)


@defop(
    vjp=(None,),
    kernel=np.invert,
    lower=Scalar("not"),
    traits=ELEMENTWISE,
    samples=(
        sample((2, 3), low=-100, high=100, dtypes=("int64",)),
        sample((3,), low=0, high=200, dtypes=("uint8",)),
        sample((), dtypes=("bool",)),
    ),
)
def invert(x: TensorSpec) -> TensorSpec:
    """Every bit turned around: ``-x - 1`` of signed integers; of bools, the opposite."""
    return bits(x)


@defop(**_TWO, kernel=np.left_shift, lower=Scalar("shl"), samples=_COUNTS)
def left_shift(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """The bits of `x` moved up by `y` places; 0 where `y` is negative or as large as the number of bits."""
    return integers(x, y)


@defop(**_TWO, kernel=np.right_shift, lower=Scalar("shr"), samples=_COUNTS)
def right_shift(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """The bits of `x` moved down by `y` places, signed integers keeping their sign.

    Where `y` is negative or as large as the number of bits, what is left: 0, or -1 of negative numbers.
    """
    return integers(x, y)


# ---- divisors and counts --------------------------------------------------------------------------------


def _magnitude(x: Tensor) -> Tensor:
    """The size of integers as unsigned ones, which have room for that of every number."""
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return x if x.np_dtype == unsigned else ops.same_bits(ops.abs(x), dtype=unsigned)


def _signed(x: Tensor, dtype: np.dtype) -> Tensor:
    return x if x.np_dtype == dtype else ops.same_bits(x, dtype=dtype)


def _divisor(x: Tensor, y: Tensor) -> Tensor:
    """Euclid's algorithm, for all pairs until the last of them is done."""

    def step(k: Any, pair: Sequence[Any], xs: Any, held: Any) -> tuple[list[Tensor], tuple[Any, ...]]:
        a, b = pair
        done = ops.equal(b, 0)
        return [ops.where(done, a, b), ops.where(done, b, ops.mod(a, ops.where(done, b + 1, b)))], ()

    def going_on(pair: Sequence[Any], held: Any) -> Tensor:
        left = ops.cast(ops.not_equal(pair[1], 0), dtype=INDEX.dtype)
        return ops.less(0, ops.reduce_sum(left, axis=tuple(range(len(left.shape)))))

    shape = broadcast(x.spec, y.spec).shape
    pair = [ops.broadcast_to(_magnitude(v), shape=shape) for v in (x, y)]
    return LoopForm.written(step, pair, cond=going_on, names=("step", "going_on")).apply().carry[0]


def _multiple(x: Tensor, y: Tensor) -> Tensor:
    divisor = _divisor(x, y)
    none = ops.equal(divisor, 0)
    parts = ops.floordiv(_magnitude(x), ops.where(none, divisor + 1, divisor))
    return _signed(ops.multiply(parts, _magnitude(y)), x.np_dtype)


def _count_bits(x: Tensor) -> Tensor:
    """By adding neighbouring fields of 1, 2 and 4 bits, then all bytes by a product."""
    bits = _magnitude(x)
    pairs, fours, bytes_ = (
        int.from_bytes(bytes([field]) * x.dtype.itemsize, "little") for field in (0x55, 0x33, 0x0F)
    )
    bits = ops.subtract(bits, ops.bitwise_and(ops.right_shift(bits, 1), pairs))
    bits = ops.add(ops.bitwise_and(bits, fours), ops.bitwise_and(ops.right_shift(bits, 2), fours))
    bits = ops.bitwise_and(ops.add(bits, ops.right_shift(bits, 4)), bytes_)
    total = ops.multiply(bits, int.from_bytes(b"\1" * x.dtype.itemsize, "little"))
    return ops.cast(ops.right_shift(total, 8 * (x.dtype.itemsize - 1)), dtype=np.dtype(np.uint8))


_BY_A_LOOP = {**_TWO, "traits": (*ELEMENTWISE, "polls"), "samples": (*_INTEGERS, *_UNSIGNED)}


@defop(**_BY_A_LOOP, kernel=np.gcd, lower=Expand(lambda x, y: [_signed(_divisor(x, y), x.np_dtype)]))
def gcd(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """The greatest number that divides both, of their sizes; of 0 and another number the size of that."""
    return integers(x, y)


@defop(**_BY_A_LOOP, kernel=np.lcm, lower=Expand(lambda x, y: [_multiple(x, y)]))
def lcm(x: TensorSpec, y: TensorSpec) -> TensorSpec:
    """The least number that both divide, of their sizes; 0 where one is 0. It wraps around beyond the dtype."""
    return integers(x, y)


@defop(
    vjp=(None,),
    kernel=np.bitwise_count,
    lower=Compose(_count_bits),
    traits=ELEMENTWISE,
    samples=(
        sample((2, 3), low=-100, high=100, dtypes=("int64",)),
        sample((3,), low=0, high=200, dtypes=("uint8",)),
    ),
)
def bitwise_count(x: TensorSpec) -> TensorSpec:
    """How many bits of the size of a number are 1, as uint8."""
    return TensorSpec(integers(x).shape, np.dtype(np.uint8))


# ---- the same bits as another dtype ---------------------------------------------------------------------


def _canonical_bitcast(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    dtype = as_dtype(inputs[1] if len(inputs) == 2 else attrs["type"])
    if dtype.kind not in "iufcV":
        raise DtypeError(f"the bits of numbers are those of other numbers, not of {dtype_name(dtype)}")
    return (as_tensor(inputs[0]),), {"type": dtype.name}


def _batch_bitcast(batch: Batch, input: Tensor, *, type: str) -> Any:
    return ops.bitcast(input, type=type)


def _bitcast_kernel(input: np.ndarray, *, type: str) -> np.ndarray:
    wide, narrow = input.dtype.itemsize, as_dtype(type).itemsize
    rows = np.ascontiguousarray(input).reshape(input.shape if wide < narrow else (*input.shape, 1))
    bits = rows.view(as_dtype(type))
    return np.asarray(bits if wide > narrow else bits[..., 0])


def _bitcast_pullback(g: Tensor, y: Tensor, input: Tensor, *, type: str) -> Tensor | None:
    """Complex numbers and the floats that they are made of are the same numbers; of others the bits have no slope."""
    floats, numbers = sorted((input.np_dtype, y.np_dtype), key=lambda d: d.kind == "c")
    if input.np_dtype == y.np_dtype:
        return g
    is_part = floats.kind == "f" and numbers.kind == "c" and numbers.itemsize == 2 * floats.itemsize
    return ops.bitcast(g, type=input.dtype.name) if is_part else None


def _with_last_axis(x: Tensor) -> Tensor:
    return ops.reshape(x, shape=(*x.shape, 1))


def _bitcast_by_parts(input: Tensor, *, type: str) -> Tensor:
    """Complex numbers are pairs of floats; parts of numbers are moved within unsigned integers."""
    dtype, shape = as_dtype(type), input.shape
    if input.np_dtype == dtype:
        return input
    if input.dtype.kind == "c":
        halves = [_with_last_axis(part) for part in (ops.real(input), ops.imag(input))]
        floats = ops.concat(*halves, axis=len(shape))
        if input.dtype.itemsize < dtype.itemsize:
            floats = ops.reshape(floats, shape=(*shape[:-1], 2 * shape[-1]))
        parts = _bitcast_by_parts(floats, type=type)
        if len(parts.shape) <= len(floats.shape):
            return parts
        return ops.reshape(parts, shape=(*shape, 2 * parts.shape[-1]))
    if dtype.kind == "c":
        half = dtype.itemsize // 2
        if input.dtype.itemsize < half:
            input = ops.reshape(input, shape=(*shape[:-1], 2, half // input.dtype.itemsize))
        floats = _bitcast_by_parts(input, type=f"float{8 * half}")
        return ops.complex(*(ops.gather(floats, k, axis=len(floats.shape) - 1) for k in (0, 1)))
    return ops.same_bits(_resized(input, dtype.itemsize), dtype=dtype)


def _resized(input: Tensor, size: int) -> Tensor:
    """The bits of numbers in unsigned integers of so many bytes."""
    given = input.dtype.itemsize
    bits = ops.same_bits(input, dtype=np.dtype(f"u{given}"))
    if given == size:
        return bits
    word = np.dtype(f"u{max(given, size)}")
    parts = max(given, size) // min(given, size)
    places = ops.multiply(ops.iota(size=parts, dtype=word), 8 * min(given, size))
    if given > size:
        return ops.cast(ops.right_shift(_with_last_axis(bits), places), dtype=np.dtype(f"u{size}"))
    moved = ops.left_shift(ops.cast(bits, dtype=word), places)
    return ops.reduce_sum(moved, axis=(len(moved.shape) - 1,))


@defop(
    vjp=(_bitcast_pullback,),
    kernel=_bitcast_kernel,
    lower=Compose(_bitcast_by_parts),
    canonicalize=_canonical_bitcast,
    batch=_batch_bitcast,
    traits=("may_fail", "numpy_view"),
    samples=(
        *(sample((2, 2), type=d, dtypes=("int32",)) for d in ("float32", "int8", "int64")),
        sample((3,), type="uint16", dtypes=("float32",)),
        sample((3,), type="float64", dtypes=("complex128",)),
        sample((3, 2), type="complex128", dtypes=("float64",)),
    ),
)
def bitcast(input: TensorSpec, *, type: str) -> TensorSpec:
    """The bits of numbers `input`, taken for numbers of another dtype, `type`.

    Where those are smaller, an axis for the parts of each number is added at the end, the lowest bits first; where they
    are larger, the last axis is that, and goes. Gradients flow only between complex numbers and the floats that they
    are made of, as complex64 and float32. DtypeError for bools and strings; ShapeError where the last axis does
    not make one number.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.bitcast([1.0, -2.0], tf.int32), tf.bitcast([1, 2], tf.int8).shape)
    tf.Tensor([ 1065353216 -1073741824], shape=(2,), dtype=int32) (2, 4)
    """
    if input.dtype.kind not in "iufcV":
        raise DtypeError(f"takes numbers, got {input}")
    dtype = as_dtype(type)
    wide, narrow = input.dtype.itemsize, dtype.itemsize
    if wide < narrow:
        parts = input.shape[-1] if input.shape else 0
        require(
            same(parts, narrow // wide), f"{narrow // wide} of {input} make one number, along its last axis"
        )
        return TensorSpec(input.shape[:-1], dtype)
    return TensorSpec(input.shape if wide == narrow else (*input.shape, wide // narrow), dtype)


@defop(
    vjp=(None,),
    kernel=lambda x, *, dtype: x.view(dtype),
    lower=Scalar("bitcast"),
    traits=(*ELEMENTWISE, "internal"),
    samples=(sample((2, 3), dtype=np.dtype(np.float32), dtypes=("int32",)),),
)
def same_bits(x: TensorSpec, *, dtype: np.dtype) -> TensorSpec:
    """The bits of numbers taken for numbers of another dtype of the same size."""
    require(x.dtype.itemsize == dtype.itemsize, f"the elements of {x} and {dtype} differ in size")
    return x.with_dtype(dtype)


# ---- bfloat16, the upper half of a float32, in graphs that are compiled ----------------------------------------

_WORD, _HALF = np.dtype(np.uint32), np.dtype(np.uint16)


def _upper_half(x: np.ndarray) -> np.ndarray:
    word = x.view(_WORD)
    rounded = (word + (np.uint32(0x7FFF) + ((word >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)
    nan = np.where(np.signbit(x), np.uint32(0xFFC0), np.uint32(0x7FC0))
    return np.where(np.isnan(x), nan, rounded).astype(_HALF)


def _upper_half_by_ops(x: Tensor) -> Tensor:
    word = ops.same_bits(x, dtype=_WORD)
    above = ops.right_shift(word, 16)
    rounded = ops.right_shift(ops.add(word, ops.add(ops.bitwise_and(above, 1), 0x7FFF)), 16)
    nan = ops.bitwise_or(ops.bitwise_and(above, 0x8000), 0x7FC0)
    return ops.cast(ops.where(ops.is_nan(x), nan, rounded), dtype=_HALF)


@defop(
    vjp=(None,),
    kernel=_upper_half,
    lower=Compose(_upper_half_by_ops),
    traits=(*ELEMENTWISE, "internal"),
    samples=(sample((2, 3), dtypes=("float32",)),),
)
def bfloat16_bits(x: TensorSpec) -> TensorSpec:
    """The bits of the bfloat16 nearest to a float32, of two as near the even one; of NaN those of a quiet one."""
    require(x.dtype == np.float32, f"takes float32, got {x}")
    return x.with_dtype(_HALF)


@defop(
    vjp=(None,),
    kernel=lambda x: (x.astype(_WORD) << np.uint32(16)).view(np.float32),
    lower=Compose(
        lambda x: ops.same_bits(ops.left_shift(ops.cast(x, dtype=_WORD), 16), dtype=np.dtype(np.float32))
    ),
    traits=(*ELEMENTWISE, "internal"),
    samples=(sample((2, 3), low=0, high=200, dtypes=("uint16",)),),
)
def of_bfloat16_bits(x: TensorSpec) -> TensorSpec:
    """The float32 that a bfloat16 of these bits is: the lower 16 of integers."""
    return integers(x).with_dtype(np.dtype(np.float32))
