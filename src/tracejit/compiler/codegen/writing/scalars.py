"""Scalar operations as instructions: one value or all lanes of a vector, chosen by the arguments.

NumPy's meaning: NaN passes through min and max, comparisons with NaN are false but for ``ne``, integers wrap
around, division by zero gives 0, shifts past the width give what is left. No fast-math flag but ``contract``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ...ir_text import Value, bits_of, constant, integer, kind_of, vector_type
from ...loopir.ir import Compute, Size_
from .. import math
from . import arithmetic
from .kernel import KernelWriter

Args = list[Value]

_ALL = "f i u b"


def _table(rows: str) -> dict[tuple[str, str], str]:
    """``op kinds instruction`` a line."""
    split = (row.split(maxsplit=2) for row in rows.strip().splitlines())
    return {(op, kind): text for op, kinds, text in split for kind in kinds}


#: (op, dtype kind) to the start of the instruction; ``{c}`` is where ``contract`` goes.
BINARY = _table("""
add f fadd {c}
add iu add
add b or
sub f fsub {c}
sub iu sub
sub b xor
mul f fmul {c}
mul iu mul
mul b and
div f fdiv
and iub and
or iub or
xor iub xor
lt f fcmp olt
le f fcmp ole
gt f fcmp ogt
ge f fcmp oge
eq f fcmp oeq
ne f fcmp une
lt i icmp slt
le i icmp sle
gt i icmp sgt
ge i icmp sge
lt ub icmp ult
le ub icmp ule
gt ub icmp ugt
ge ub icmp uge
eq iub icmp eq
ne iub icmp ne
""")
COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))

#: Intrinsics of one type: (op, dtype kind) to the name.
INTRINSICS = {
    ("sqrt", "f"): "sqrt", ("abs", "f"): "fabs", ("floor", "f"): "floor", ("ceil", "f"): "ceil",
    ("trunc", "f"): "trunc", ("round", "f"): "roundeven", ("min", "i"): "smin", ("max", "i"): "smax",
    ("min", "u"): "umin", ("max", "u"): "umax", ("min", "b"): "umin", ("max", "b"): "umax",
}  # fmt: skip

_SAME = frozenset((op, kind) for op in ("floor", "ceil", "trunc", "round") for kind in "iub") | {
    ("abs", "u"), ("abs", "b"),
}  # fmt: skip


@cache
def _instruction(op: str, kind: str, flags: str) -> str | None:
    text = BINARY.get((op, kind))
    return None if text is None else text.replace("{c}", flags.strip()).strip()


def compute(k: KernelWriter, s: Compute) -> None:
    if s.op == "index":
        k.env[s.out] = index(k, s)
    else:
        k.env[s.out] = apply(k, s.op, [k.operand(a) for a in s.args], s.argtype, s.dtype)


def index(k: KernelWriter, s: Compute) -> Value:
    name = s.args[0]
    assert isinstance(name, str)  # an axis or a loop index
    value = k.env[name]
    if name == k.vector.axis and k.vector.lanes > 1:
        value = k.index_vector(value)
    return convert(k, value, np.dtype(np.int64), s.dtype)


def size(k: KernelWriter, s: Size_) -> None:
    k.env[s.out] = k.size(s.size)


def apply(k: KernelWriter, op: str, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    """The value of ``op(args)``."""
    lanes = 1
    for a in args:
        if a.lanes > lanes:
            lanes = a.lanes
    if lanes > 1:
        args = [k.w.splat(a, lanes) for a in args]
    kind = argtype.kind
    plain = _instruction(op, kind, k.flags)
    if plain is not None:
        a, b = args
        result = "i1" if op in COMPARISONS else a.kind
        return k.w.pure(result, lanes, f"{plain} {vector_type(a.kind, lanes)} {a.text}, {b.text}", a, b)
    name = INTRINSICS.get((op, kind))
    if name is not None:
        return k.w.intrinsic(name, *args)
    if op in math.NAMES and kind == "f":
        return k.call(op, argtype, lanes, *args)
    if (op, kind) in _SAME:
        return args[0]
    return SPECIAL[op](k, args, argtype, dtype)


# ---- the rest -------------------------------------------------------------------------------------------


def splat_of(k: KernelWriter, number: float, dtype: np.dtype, lanes: int) -> Value:
    return k.w.splat(constant(number, dtype), lanes)


def extreme(relation: str) -> Callable[[KernelWriter, Args, np.dtype, np.dtype], Value]:
    """min or max of floats: as in NumPy the second of equals, of float16 the first, and NaN if either is one."""

    def write(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
        a, b = args
        chosen = relation.replace("t", "e") if argtype.itemsize == 2 else relation
        ordered = k.w.select(k.w.compare(chosen, a, b), a, b)
        return k.w.select(k.w.compare("uno", a, a), a, ordered)

    return write


def negate(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    (a,) = args
    if argtype.kind == "f":
        return k.w.unary("fneg", a)
    return k.w.binary("sub", splat_of(k, 0, argtype, a.lanes), a)


def invert(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    (a,) = args
    ones = k.w.splat(Value("true" if a.kind == "i1" else "-1", a.kind), a.lanes)
    return k.w.binary("xor", a, ones)


def absolute(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    (a,) = args
    negative = k.w.compare("slt", a, splat_of(k, 0, argtype, a.lanes))
    return k.w.select(negative, negate(k, args, argtype, dtype), a)


def sign(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    (a,) = args
    one, zero = splat_of(k, 1, argtype, a.lanes), splat_of(k, 0, argtype, a.lanes)
    if argtype.kind != "f":
        above = k.w.select(k.w.compare(f"{'s' if argtype.kind == 'i' else 'u'}gt", a, zero), one, zero)
        if argtype.kind == "u":
            return above
        return k.w.select(k.w.compare("slt", a, zero), splat_of(k, -1, argtype, a.lanes), above)
    below = k.w.select(k.w.compare("olt", a, zero), splat_of(k, -1, argtype, a.lanes), zero)
    signed = k.w.select(k.w.compare("ogt", a, zero), one, below)
    return k.w.select(k.w.compare("uno", a, a), a, signed)


def is_nan(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    return k.w.compare("uno", args[0], args[0])


def choose(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    return k.w.select(*args)


def shift(
    instruction: str, instruction_unsigned: str
) -> Callable[[KernelWriter, Args, np.dtype, np.dtype], Value]:
    """A shift; one by the width or more leaves zeros, or the sign."""

    def write(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
        a, b = args
        plain = instruction if argtype.kind == "i" else instruction_unsigned
        last = splat_of(k, bits_of(a.kind) - 1, argtype, a.lanes)
        inside = k.w.compare("ule", b, last)
        count = k.w.select(inside, b, last)
        moved = k.w.binary(plain, a, count)
        return moved if plain == "ashr" else k.w.select(inside, moved, splat_of(k, 0, argtype, a.lanes))

    return write


def mulhi(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    """The high half of the unsigned product."""
    a, b = args
    bits = bits_of(a.kind)
    x, y = (k.w.convert("zext", v, f"i{2 * bits}") for v in (a, b))
    amount = k.w.splat(integer(bits, x.kind), x.lanes)
    return k.w.convert("trunc", k.w.binary("lshr", k.w.binary("mul", x, y), amount), a.kind)


def called(name: str) -> Callable[[KernelWriter, Args, np.dtype, np.dtype], Value]:
    return lambda k, args, argtype, dtype: k.call(name, argtype, args[0].lanes, *args)


def bitcast(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    (a,) = args
    kind = kind_of(dtype)
    return a if a.kind == kind else k.w.convert("bitcast", a, kind)


def cast(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    return convert(k, args[0], argtype, dtype)


# ---- conversions ----------------------------------------------------------------------------------------


def convert(k: KernelWriter, a: Value, source: np.dtype, target: np.dtype) -> Value:
    """`a` as `target`, as NumPy converts."""
    if source == target:
        return a
    kind = kind_of(target)
    if target.kind == "b":
        return k.w.compare("une" if source.kind == "f" else "ne", a, splat_of(k, 0, source, a.lanes))
    if source.kind == "f":
        return float_to_float(k, a, kind) if target.kind == "f" else float_to_integer(k, a, target)
    if target.kind == "f":
        return k.w.convert("sitofp" if source.kind == "i" else "uitofp", a, kind)
    if a.number is not None:
        return constant(wrapped(a.number, target), target)
    before, after = bits_of(a.kind), bits_of(kind)
    if before == after:
        return a
    return k.w.convert("trunc" if after < before else "sext" if source.kind == "i" else "zext", a, kind)


def wrapped(number: int, target: np.dtype) -> int:
    bits = 8 * target.itemsize
    low = number & ((1 << bits) - 1)
    return low - (1 << bits) if target.kind == "i" and low >> (bits - 1) else low


def float_to_float(k: KernelWriter, a: Value, kind: str) -> Value:
    if bits_of(kind) > bits_of(a.kind):
        if a.kind == "half" and kind == "double":  # in two exact steps: no target has it in one
            a = k.w.convert("fpext", a, "float")
        return k.w.convert("fpext", a, kind)
    if a.kind == "double" and kind == "half":
        a = k.call("narrow_to_odd", np.dtype(np.float64), a.lanes, a)
    return k.w.convert("fptrunc", a, kind)


def float_to_integer(k: KernelWriter, a: Value, target: np.dtype) -> Value:
    """Truncation; what does not fit gives some value, the one the instruction gives."""
    if a.kind == "half":
        a = k.w.convert("fpext", a, "float")
    kind = kind_of(target)
    if target == np.dtype(np.uint64):
        return k.call("to_uint64", np.dtype(np.float32 if a.kind == "float" else np.float64), a.lanes, a)
    through = "i64" if target == np.dtype(np.uint32) or kind == "i64" else "i32"
    whole = k.w.convert("fptosi", a, through)
    whole = k.w.unary("freeze", whole)
    return whole if kind == through else k.w.convert("trunc", whole, kind)


SPECIAL: dict[str, Callable[[KernelWriter, Args, np.dtype, np.dtype], Value]] = {
    "min": extreme("olt"), "max": extreme("ogt"), "neg": negate, "not": invert, "abs": absolute, "sign": sign,
    "isnan": is_nan, "select": choose, "shl": shift("shl", "shl"), "shr": shift("ashr", "lshr"),
    "mulhi": mulhi, "bitcast": bitcast, "cast": cast, **{name: called(name) for name in arithmetic.NAMES},
}  # fmt: skip
