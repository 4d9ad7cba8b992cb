"""Loads and stores: from a linear index to a pointer and a pattern over the lanes, then one instruction.

An index whose lanes are consecutive is one vector access, one that no lane changes is a scalar access, all
others gather and scatter. Lanes that do not exist, or whose guard is false, touch no memory.
"""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

from ....core.dim import Size
from ...ir_text import FALSE, TRUE, Value, integer, iota, kind_of, memory_kind, suffix, vector_type, zeros
from ...loopir.ir import Load, Store
from ...loopir.operands import Buffer, Index
from .kernel import KernelWriter

STEPS = (2, 3, 4)  # distances between lanes up to which one wide access beats many


class Place:
    """An access: `pointer` of the first lane, and how the others follow.

    `stride` is 0 (one element for all lanes), 1, -1, a small step that a wide access strides over, or None: then
    `offsets` are in elements from `pointer`.
    """

    __slots__ = ("pointer", "stride", "offsets")

    def __init__(self, pointer: Value, stride: int | None, offsets: Value | None):
        self.pointer: Value = pointer
        self.stride: int | None = stride
        self.offsets: Value | None = offsets


def offset(k: KernelWriter, index: Index) -> tuple[Value, Size, Value | None]:
    """The first lane's offset, the stride over the vector axis, and the lanes' further offsets."""
    w, axis = k.w, k.vector.axis
    parts, extra = [k.size(index.const)], None
    stride: Size = 0
    for symbol, coefficient in index.terms:
        if symbol in k.dropped:
            continue
        value, factor = k.env[symbol], k.size(coefficient)
        if symbol == axis:
            stride = stride + coefficient
        if value.lanes > 1:
            term = scaled(k, value, factor)
            extra = term if extra is None else k.w.binary("add", extra, term)
        else:
            parts.append(w.mul(value, factor))
    first, *rest = sorted(parts, key=attrgetter("level"))
    for part in rest:
        first = w.add(first, part)
    return first, stride, extra


def scaled(k: KernelWriter, value: Value, factor: Value) -> Value:
    if factor.number == 1:
        return value
    return k.w.binary("mul", value, k.w.splat(factor, value.lanes))


def place(k: KernelWriter, buffer: Buffer, index: Index) -> Place:
    """Where an access of the current lanes goes."""
    first, stride, extra = offset(k, index)
    kind = memory_kind(kind_of(buffer.dtype))
    base = k.pointer(buffer)
    pointer = base if first.number == 0 else k.w.step(base, first, kind)
    steps_over = k.target.has_masks and stride in STEPS
    if extra is None and isinstance(stride, int) and (stride in (0, 1, -1) or steps_over):
        return Place(pointer, stride, None)
    lanes = k.vector.lanes
    if isinstance(stride, int):
        steps = iota("i64", lanes, stride)
    else:
        steps = scaled(k, iota("i64", lanes), k.size(stride))
    if extra is None:
        return Place(pointer, None, steps)
    if isinstance(stride, int) and stride == 0:
        return Place(pointer, None, extra)
    return Place(pointer, None, k.w.binary("add", extra, steps))


# ---- masks ----------------------------------------------------------------------------------------------


def mask_of(k: KernelWriter, guard: Value | None) -> Value | None:
    """Which lanes touch memory; None for all."""
    mask, lanes = k.vector.mask, k.vector.lanes
    if guard is None or guard.text == "true":
        return mask
    guard = k.w.splat(guard, lanes)
    return guard if mask is None else k.w.binary("and", mask, guard)


def reverse(k: KernelWriter, value: Value) -> Value:
    return k.w.lanes_of(value, value.lanes - 1, value.lanes, -1)


def last_lane(k: KernelWriter, kind: str, pointer: Value) -> Value:
    """The lowest address of a run that goes down."""
    return k.w.step(pointer, 1 - k.vector.lanes, kind)


def all_lanes(k: KernelWriter, mask: Value | None) -> Value:
    return mask if mask is not None else k.w.splat(TRUE, k.vector.lanes)


# ---- loads ----------------------------------------------------------------------------------------------


def load(k: KernelWriter, s: Load) -> None:
    guard = None if s.guard is None else k.operand(s.guard)
    other = None if s.other is None else k.operand(s.other)
    k.env[s.out] = read(k, s.buffer, s.index, guard, other)


def read(
    k: KernelWriter, buffer: Buffer, index: Index, guard: Value | None = None, other: Value | None = None
) -> Value:
    """The elements of the current lanes; `other` where `guard` is false."""
    behind = place_in_group(k, buffer, index)
    at = place(k, buffer, index if behind is None else replace(index, const=index.const - behind))
    kind = kind_of(buffer.dtype)
    if other is not None and kind == "i1":
        other = byte(k, other)
    if guard is None or guard.text == "true":
        one = at.stride == 0
        mask = k.vector.mask
        value = read_one(k, buffer, at.pointer) if one else read_lanes(k, buffer, at, mask, None, behind)
    elif at.stride == 0:
        value = read_one_guarded(k, buffer, at.pointer, guard, other)
    else:
        value = read_lanes(k, buffer, at, mask_of(k, guard), other, behind)
    return truth(k, value) if kind == "i1" else value


def place_in_group(k: KernelWriter, buffer: Buffer, index: Index) -> int | None:
    """Where each lane is in its group of as many elements as lanes are apart; None unless all of those may be read.

    The buffer is made of such groups then, as points ``[n, 3]`` are, and the coordinates of all lanes are one load.
    """
    step = next((c for n, c in index.terms if n == k.vector.axis), None)
    if not isinstance(step, int) or step not in STEPS or k.vector.lanes == 1 or not k.target.has_masks:
        return None
    scattered = any(k.env[n].lanes > 1 for n in index.symbols if n not in k.dropped)
    factors = [f for size in (buffer.size, *[c for _, c in index.terms]) for f in _factors(size)]
    apart = scattered or buffer.kind in ("heap", "local") or any(f % step for f in factors)
    return None if apart or not isinstance(index.const, int) else index.const % step


def _factors(size: Size) -> list[int]:
    """Integers whose common divisors divide the size whatever the sizes in it are."""
    return [size] if isinstance(size, int) else [factor for _, factor in size.terms]


def read_one(k: KernelWriter, buffer: Buffer, pointer: Value) -> Value:
    kind = memory_kind(kind_of(buffer.dtype))
    return k.fetch(
        buffer, kind, 1, f"load {kind}, ptr {pointer.text}, align {buffer.dtype.itemsize}", pointer
    )


def read_lanes(
    k: KernelWriter,
    buffer: Buffer,
    at: Place,
    mask: Value | None,
    other: Value | None,
    behind: int | None = None,
) -> Value:
    """The elements of all lanes, each of them `behind` others of a group that `at` is the place of."""
    kind, lanes, align = memory_kind(kind_of(buffer.dtype)), k.vector.lanes, buffer.dtype.itemsize
    shape, name = vector_type(kind, lanes), suffix(kind, lanes)
    rest = zeros(kind, lanes) if other is None else k.w.splat(other, lanes)
    deps = [at.pointer] + [v for v in (mask, other) if v is not None]
    if at.stride is None:
        assert at.offsets is not None
        where = k.w.step(at.pointer, at.offsets, kind)
        operands = where, integer(align, "i32"), all_lanes(k, mask), rest
        gather = k.w.memory_intrinsic(shape, f"@llvm.masked.gather.{name}.v{lanes}p0", *operands)
        return k.fetch(buffer, kind, lanes, gather, where, *deps)
    if at.stride > 1:
        return read_apart(k, buffer, at, mask, other, behind)
    down = at.stride == -1
    pointer = last_lane(k, kind, at.pointer) if down else at.pointer
    if mask is None:
        value = k.fetch(buffer, kind, lanes, f"load {shape}, ptr {pointer.text}, align {align}", *deps)
        return reverse(k, value) if down else value
    mask = reverse(k, mask) if down else mask
    if down and other is not None:
        rest = reverse(k, rest)
    value = k.fetch(buffer, kind, lanes, k.w.masked_load(pointer, align, mask, rest), *deps)
    return reverse(k, value) if down else value


def read_apart(
    k: KernelWriter,
    buffer: Buffer,
    at: Place,
    mask: Value | None,
    other: Value | None,
    behind: int | None,
) -> Value:
    """Lanes a few elements apart: one wide load, of whole groups or of those elements alone, then a shuffle."""
    kind, lanes, step = memory_kind(kind_of(buffer.dtype)), k.vector.lanes, at.stride
    assert step is not None
    if mask is None and behind is not None:
        load = f"load {vector_type(kind, lanes * step)}, ptr {at.pointer.text}, align {buffer.dtype.itemsize}"
        wide = k.fetch(buffer, kind, lanes * step, load, at.pointer)
    else:
        touched, rest = spread_mask(k, mask, step, behind is not None), zeros(kind, lanes * step)
        load = k.w.masked_load(at.pointer, buffer.dtype.itemsize, touched, rest)
        wide = k.fetch(buffer, kind, lanes * step, load, at.pointer, touched)
    value = k.w.lanes_of(wide, behind or 0, lanes, step)
    if other is None or mask is None:
        return value
    return k.w.select(mask, value, k.w.splat(other, lanes))


def spread_mask(k: KernelWriter, mask: Value | None, step: int, whole: bool = False) -> Value:
    """The lanes' mask for an access `step` times as wide, of `whole` groups of elements or the first of each."""
    lanes = k.vector.lanes
    if mask is None:
        bits = (FALSE if p % step else TRUE for p in range(lanes * step))
        return Value(f"<{', '.join(bit.typed for bit in bits)}>", "i1", lanes * step)
    if whole:
        return k.w.shuffle(tuple(p // step for p in range(lanes * step)), mask)
    return spread(k, mask, step, "zeroinitializer", lanes)


def spread(k: KernelWriter, value: Value, step: int, rest: str, filler: int | str) -> Value:
    """A vector `step` times as long, with lane p of `value` at place ``p * step``."""
    lanes, shape = value.lanes, vector_type(value.kind, value.lanes)
    places = ", ".join(f"i32 {filler if p % step else p // step}" for p in range(lanes * step))
    text = f"shufflevector {value.typed}, {shape} {rest}, <{lanes * step} x i32> <{places}>"
    return k.w.pure(value.kind, lanes * step, text, value)


def read_one_guarded(
    k: KernelWriter, buffer: Buffer, pointer: Value, guard: Value, other: Value | None
) -> Value:
    """One element behind a branch: nothing is read when no lane wants it."""
    w, kind = k.w, memory_kind(kind_of(buffer.dtype))
    assert other is not None  # a guarded load has a value for when its guard is false
    test = k.w.any_lane(all_lanes(k, mask_of(k, guard)) if guard.lanes > 1 else guard)
    default = other if other.lanes == 1 else zeros(kind)
    with w.replacing(test, [default], "read") as read:
        read.append(w.load(kind, pointer, buffer.dtype.itemsize))
    (value,) = read
    if guard.lanes == other.lanes == 1:
        return value
    lanes = max(guard.lanes, other.lanes)
    return w.select(w.splat(guard, lanes), w.splat(value, lanes), w.splat(other, lanes))


# ---- stores ---------------------------------------------------------------------------------------------


def store(k: KernelWriter, s: Store) -> None:
    guard = None if s.guard is None else k.operand(s.guard)
    value = k.operand(s.value)
    at = place(k, s.buffer, s.index)
    if at.stride == 0:
        store_one(k, s, at.pointer, value, guard)
        return
    mask = mask_of(k, guard)
    if s.add:
        value = added(k, s.buffer, read_lanes(k, s.buffer, at, mask, None), k.w.splat(value, k.vector.lanes))
    write_lanes(k, s.buffer, at, byte(k, value), mask)


def store_one(k: KernelWriter, s: Store, pointer: Value, value: Value, guard: Value | None) -> None:
    if guard is not None:
        with k.w.when(guard, "write"), k.w.scope():
            store_one(k, s, pointer, value, None)
        return
    kind, align = memory_kind(kind_of(s.buffer.dtype)), s.buffer.dtype.itemsize
    if s.add:
        value = added(k, s.buffer, k.w.load(kind, pointer, align), value)
    k.w.store(byte(k, value), pointer, align)


def write_lanes(k: KernelWriter, buffer: Buffer, at: Place, value: Value, mask: Value | None) -> None:
    w, lanes, align = k.w, k.vector.lanes, buffer.dtype.itemsize
    value = w.splat(value, lanes)
    if at.stride is None:
        assert at.offsets is not None
        operands = (
            value,
            w.step(at.pointer, at.offsets, value.kind),
            integer(align, "i32"),
            all_lanes(k, mask),
        )
        symbol = f"@llvm.masked.scatter.{suffix(value.kind, lanes)}.v{lanes}p0"
        w.stmt(w.memory_intrinsic("void", symbol, *operands))
        return
    if at.stride > 1:
        value, mask = spread(k, value, at.stride, "poison", "poison"), spread_mask(k, mask, at.stride)
    pointer = at.pointer
    if at.stride == -1:
        pointer, value = last_lane(k, value.kind, pointer), reverse(k, value)
        mask = None if mask is None else reverse(k, mask)
    w.store(value, pointer, align, mask)


def added(k: KernelWriter, buffer: Buffer, old: Value, value: Value) -> Value:
    return k.w.binary(f"fadd {k.flags}".strip() if buffer.dtype.kind == "f" else "add", old, value)


def byte(k: KernelWriter, value: Value) -> Value:
    """A bool as memory holds it."""
    if value.kind != "i1":
        return value
    if value.lanes == 1 and value.text in ("true", "false"):
        return integer(int(value.text == "true"), "i8")
    return k.w.convert("zext", value, "i8")


def truth(k: KernelWriter, value: Value) -> Value:
    """A bool as registers hold it."""
    zero = integer(0, "i8") if value.lanes == 1 else zeros("i8", value.lanes)
    return k.w.compare("ne", value, zero)
