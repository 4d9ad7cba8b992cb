"""Scalar operations as instructions: one value or all lanes of a vector, chosen by the arguments.

NumPy's meaning: NaN passes through min and max, comparisons with NaN are false but for ``ne``, integers wrap
around, division by zero gives 0, shifts past the width give what is left. No fast-math flag but ``contract``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ...ir_text import bits_of, kind_of, vector_type
from ...loopir.ir import Compute, Size_
from .. import math
from . import arithmetic
from .kernel import KernelWriter
from .scopes import Value, constant

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
        return k.w.put(result, lanes, f"{plain} {vector_type(a.kind, lanes)} {a.text}, {b.text}", a, b)
    name = INTRINSICS.get((op, kind))
    if name is not None:
        return k.w.intrinsic(name, args[0].kind, lanes, *args)
    if op in math.NAMES and kind == "f":
        return k.call(op, argtype, lanes, *args)
    if (op, kind) in _SAME:
        return args[0]
    return SPECIAL[op](k, args, argtype, dtype)


# ---- the rest -------------------------------------------------------------------------------------------


def select(k: KernelWriter, test: Value, then: Value, orelse: Value) -> Value:
    text = f"select {test.typed}, {then.typed}, {orelse.typed}"
    return k.w.put(then.kind, then.lanes, text, test, then, orelse)


def compare(k: KernelWriter, relation: str, a: Value, b: Value) -> Value:
    return k.w.put("i1", a.lanes, f"{relation} {a.typed}, {b.text}", a, b)


def splat_of(k: KernelWriter, number: float, dtype: np.dtype, lanes: int) -> Value:
    return k.w.splat(constant(number, dtype), lanes)


def extreme(relation: str) -> Callable[[KernelWriter, Args, np.dtype, np.dtype], Value]:
    """min or max of floats: as in NumPy the second of equals, of float16 the first, and NaN if either is one."""

    def write(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
        a, b = args
        chosen = relation.replace("t", "e") if argtype.itemsize == 2 else relation
        ordered = select(k, compare(k, f"fcmp {chosen}", a, b), a, b)
        return select(k, compare(k, "fcmp uno", a, a), a, ordered)

    return write


def negate(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    (a,) = args
    if argtype.kind == "f":
        return k.w.put(a.kind, a.lanes, f"fneg {a.typed}", a)
    zero = splat_of(k, 0, argtype, a.lanes)
    return k.w.put(a.kind, a.lanes, f"sub {zero.typed}, {a.text}", a)


def invert(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    (a,) = args
    ones = k.w.splat(Value("true" if a.kind == "i1" else "-1", a.kind), a.lanes)
    return k.w.put(a.kind, a.lanes, f"xor {a.typed}, {ones.text}", a)


def absolute(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    (a,) = args
    return select(
        k, compare(k, "icmp slt", a, splat_of(k, 0, argtype, a.lanes)), negate(k, args, argtype, dtype), a
    )


def sign(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    (a,) = args
    one, zero = splat_of(k, 1, argtype, a.lanes), splat_of(k, 0, argtype, a.lanes)
    if argtype.kind != "f":
        above = select(k, compare(k, f"icmp {'s' if argtype.kind == 'i' else 'u'}gt", a, zero), one, zero)
        if argtype.kind == "u":
            return above
        return select(k, compare(k, "icmp slt", a, zero), splat_of(k, -1, argtype, a.lanes), above)
    below = select(k, compare(k, "fcmp olt", a, zero), splat_of(k, -1, argtype, a.lanes), zero)
    signed = select(k, compare(k, "fcmp ogt", a, zero), one, below)
    return select(k, compare(k, "fcmp uno", a, a), a, signed)


def is_nan(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    return compare(k, "fcmp uno", args[0], args[0])


def choose(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    return select(k, *args)


def shift(
    instruction: str, instruction_unsigned: str
) -> Callable[[KernelWriter, Args, np.dtype, np.dtype], Value]:
    """A shift; one by the width or more leaves zeros, or the sign."""

    def write(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
        a, b = args
        plain = instruction if argtype.kind == "i" else instruction_unsigned
        last = splat_of(k, bits_of(a.kind) - 1, argtype, a.lanes)
        inside = compare(k, "icmp ule", b, last)
        count = select(k, inside, b, last)
        moved = k.w.put(a.kind, a.lanes, f"{plain} {a.typed}, {count.text}", a, count)
        return moved if plain == "ashr" else select(k, inside, moved, splat_of(k, 0, argtype, a.lanes))

    return write


def mulhi(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    """The high half of the unsigned product."""
    a, b = args
    bits = bits_of(a.kind)
    wide = vector_type(f"i{2 * bits}", a.lanes)
    shape = vector_type(a.kind, a.lanes)
    x, y = (k.w.put(f"i{2 * bits}", a.lanes, f"zext {v.typed} to {wide}", v) for v in (a, b))
    product = k.w.put(x.kind, x.lanes, f"mul {wide} {x.text}, {y.text}", x, y)
    amount = str(bits) if a.lanes == 1 else f"splat (i{2 * bits} {bits})"
    high = k.w.put(x.kind, x.lanes, f"lshr {wide} {product.text}, {amount}", product)
    return k.w.put(a.kind, a.lanes, f"trunc {wide} {high.text} to {shape}", high)


def called(name: str) -> Callable[[KernelWriter, Args, np.dtype, np.dtype], Value]:
    return lambda k, args, argtype, dtype: k.call(name, argtype, args[0].lanes, *args)


def bitcast(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    (a,) = args
    kind = kind_of(dtype)
    return (
        a
        if a.kind == kind
        else k.w.put(kind, a.lanes, f"bitcast {a.typed} to {vector_type(kind, a.lanes)}", a)
    )


def cast(k: KernelWriter, args: Args, argtype: np.dtype, dtype: np.dtype) -> Value:
    return convert(k, args[0], argtype, dtype)


# ---- conversions ----------------------------------------------------------------------------------------


def convert(k: KernelWriter, a: Value, source: np.dtype, target: np.dtype) -> Value:
    """`a` as `target`, as NumPy converts."""
    if source == target:
        return a
    kind = kind_of(target)
    if target.kind == "b":
        zero = splat_of(k, 0, source, a.lanes)
        return compare(k, "fcmp une" if source.kind == "f" else "icmp ne", a, zero)
    if source.kind == "f":
        return float_to_float(k, a, kind) if target.kind == "f" else float_to_integer(k, a, target)
    if target.kind == "f":
        return resize(k, a, kind, "sitofp" if source.kind == "i" else "uitofp")
    if a.number is not None:
        return constant(wrapped(a.number, target), target)
    before, after = bits_of(a.kind), bits_of(kind)
    if before == after:
        return a
    return resize(k, a, kind, "trunc" if after < before else "sext" if source.kind == "i" else "zext")


def wrapped(number: int, target: np.dtype) -> int:
    bits = 8 * target.itemsize
    low = number & ((1 << bits) - 1)
    return low - (1 << bits) if target.kind == "i" and low >> (bits - 1) else low


def resize(k: KernelWriter, a: Value, kind: str, instruction: str) -> Value:
    return k.w.put(kind, a.lanes, f"{instruction} {a.typed} to {vector_type(kind, a.lanes)}", a)


def float_to_float(k: KernelWriter, a: Value, kind: str) -> Value:
    if bits_of(kind) > bits_of(a.kind):
        if a.kind == "half" and kind == "double":  # in two exact steps: no target has it in one
            a = resize(k, a, "float", "fpext")
        return resize(k, a, kind, "fpext")
    if a.kind == "double" and kind == "half":
        a = k.call("narrow_to_odd", np.dtype(np.float64), a.lanes, a)
    return resize(k, a, kind, "fptrunc")


def float_to_integer(k: KernelWriter, a: Value, target: np.dtype) -> Value:
    """Truncation; what does not fit gives some value, the one the instruction gives."""
    if a.kind == "half":
        a = resize(k, a, "float", "fpext")
    kind = kind_of(target)
    if target == np.dtype(np.uint64):
        return k.call("to_uint64", np.dtype(np.float32 if a.kind == "float" else np.float64), a.lanes, a)
    through = "i64" if target == np.dtype(np.uint32) or kind == "i64" else "i32"
    whole = resize(k, a, through, "fptosi")
    whole = k.w.put(through, a.lanes, f"freeze {whole.typed}", whole)
    return whole if kind == through else resize(k, whole, kind, "trunc")


SPECIAL: dict[str, Callable[[KernelWriter, Args, np.dtype, np.dtype], Value]] = {
    "min": extreme("olt"), "max": extreme("ogt"), "neg": negate, "not": invert, "abs": absolute, "sign": sign,
    "isnan": is_nan, "select": choose, "shl": shift("shl", "shl"), "shr": shift("ashr", "lshr"),
    "mulhi": mulhi, "bitcast": bitcast, "cast": cast, **{name: called(name) for name in arithmetic.NAMES},
}  # fmt: skip
