"""What LLVM takes from a library on Cortex-M: 64-bit division, conversions between i64 and floats, rounding.

Each is a module of its own, so that an exported function holds those that it needs and no linker looks for others.
Floats come and go as their bits where the run-time ABI of Arm has them in integer registers.
"""

from __future__ import annotations

_FLAGS = 'attributes #0 = { nounwind noinline "no-builtins" }\n'

_DIVISION = """define hidden {i64, i64} @__aeabi_uldivmod(i64 %n, i64 %d) #0 {
entry:
  br label %loop
loop:
  %k = phi i32 [ 64, %entry ], [ %k.next, %loop ]
  %quotient = phi i64 [ %n, %entry ], [ %q.next, %loop ]
  %rest = phi i64 [ 0, %entry ], [ %r.next, %loop ]
  %top = lshr i64 %quotient, 63
  %over = icmp slt i64 %rest, 0
  %r.two = shl i64 %rest, 1
  %r.more = or i64 %r.two, %top
  %fits = icmp uge i64 %r.more, %d
  %taken = or i1 %over, %fits
  %r.less = sub i64 %r.more, %d
  %r.next = select i1 %taken, i64 %r.less, i64 %r.more
  %q.two = shl i64 %quotient, 1
  %bit = zext i1 %taken to i64
  %q.next = or i64 %q.two, %bit
  %k.next = sub i32 %k, 1
  %last = icmp eq i32 %k.next, 0
  br i1 %last, label %done, label %loop
done:
  %a = insertvalue {i64, i64} undef, i64 %q.next, 0
  %b = insertvalue {i64, i64} %a, i64 %r.next, 1
  ret {i64, i64} %b
}
"""
_SIGNED_DIVISION = """declare hidden {i64, i64} @__aeabi_uldivmod(i64, i64)
define hidden {i64, i64} @__aeabi_ldivmod(i64 %n, i64 %d) #0 {
  %n.sign = ashr i64 %n, 63
  %d.sign = ashr i64 %d, 63
  %n.flipped = xor i64 %n, %n.sign
  %n.size = sub i64 %n.flipped, %n.sign
  %d.flipped = xor i64 %d, %d.sign
  %d.size = sub i64 %d.flipped, %d.sign
  %found = call {i64, i64} @__aeabi_uldivmod(i64 %n.size, i64 %d.size)
  %q = extractvalue {i64, i64} %found, 0
  %r = extractvalue {i64, i64} %found, 1
  %sign = xor i64 %n.sign, %d.sign
  %q.flipped = xor i64 %q, %sign
  %q.signed = sub i64 %q.flipped, %sign
  %r.flipped = xor i64 %r, %n.sign
  %r.signed = sub i64 %r.flipped, %n.sign
  %a = insertvalue {i64, i64} undef, i64 %q.signed, 0
  %b = insertvalue {i64, i64} %a, i64 %r.signed, 1
  ret {i64, i64} %b
}
"""
#: The nearest float of an integer, ties to even: leading bits, exponent, and one more where the rest asks for it.
_TO_FLOAT = """declare i64 @llvm.ctlz.i64(i64, i1)
define hidden arm_aapcscc i{bits} @{name}(i64 %x) #0 {{
  %sign = {sign}
  %flipped = xor i64 %x, %sign
  %size = sub i64 %flipped, %sign
  %zero = icmp eq i64 %size, 0
  br i1 %zero, label %none, label %some
some:
  %lead = call i64 @llvm.ctlz.i64(i64 %size, i1 true)
  %moved = shl i64 %size, %lead
  %mantissa = lshr i64 %moved, {rest}
  %rest = and i64 %moved, {rest_mask}
  %odd = and i64 %mantissa, 1
  %least = sub i64 {half}, %odd
  %up = icmp ugt i64 %rest, %least
  %one = zext i1 %up to i64
  %exponent = sub i64 {bias}, %lead
  %placed = shl i64 %exponent, {fraction}
  %sum = add i64 %placed, %mantissa
  %rounded = add i64 %sum, %one
  %minus = and i64 %sign, {minus}
  %whole = or i64 %rounded, %minus
  {narrowed}
  ret i{bits} {result}
none:
  ret i{bits} 0
}}
"""
#: An integer of a float, towards zero; what does not fit is the nearest that does.
_TO_INTEGER = """define hidden arm_aapcscc i64 @{name}(i{bits} %x) #0 {{
  %wide = {wide}
  %up = lshr i64 %wide, {fraction}
  %biased = and i64 %up, {exponents}
  %exponent = sub i64 %biased, {bias}
  %kept = and i64 %wide, {mask}
  %mantissa = or i64 %kept, {one}
  %negative.bit = lshr i64 %wide, {sign}
  %sign = sub i64 0, %negative.bit
  %small = icmp slt i64 %exponent, 0
  br i1 %small, label %none, label %some
some:
  %large = icmp sge i64 %exponent, {limit}
  br i1 %large, label %most, label %fits
fits:
  %right = sub i64 {fraction}, %exponent
  %is.right = icmp sge i64 %right, 0
  %left = sub i64 %exponent, {fraction}
  %by.right = select i1 %is.right, i64 %right, i64 0
  %by.left = select i1 %is.right, i64 0, i64 %left
  %lowered = lshr i64 %mantissa, %by.right
  %value = shl i64 %lowered, %by.left
  %flipped = xor i64 %value, %sign
  %signed = sub i64 %flipped, %sign
  ret i64 {signed}
most:
  %extreme = xor i64 {most}, %sign
  ret i64 {extreme}
none:
  ret i64 0
}}
"""
#: Rounding of floats that have a fraction; others, infinities and NaN are as they are.
_ROUNDING = """declare float @llvm.copysign.f32(float, float)
declare float @llvm.fabs.f32(float)
define hidden float @{name}(float %x) #0 {{
  %size = call float @llvm.fabs.f32(float %x)
  %fraction = fcmp olt float %size, 8388608.0
  br i1 %fraction, label %round, label %same
round:
  {body}
  %found = call float @llvm.copysign.f32(float %rounded, float %x)
  ret float %found
same:
  ret float %x
}}
"""
_TOWARDS_ZERO = "%whole = fptosi float %x to i32\n  %cut = sitofp i32 %whole to float\n"
_BODIES = {
    "truncf": _TOWARDS_ZERO + "  %rounded = fadd float %cut, 0.0",
    "floorf": _TOWARDS_ZERO
    + "  %above = fcmp ogt float %cut, %x\n  %less = fsub float %cut, 1.0\n"
    + "  %rounded = select i1 %above, float %less, float %cut",
    "ceilf": _TOWARDS_ZERO
    + "  %below = fcmp olt float %cut, %x\n  %more = fadd float %cut, 1.0\n"
    + "  %rounded = select i1 %below, float %more, float %cut",
    # in the ordinary rounding mode, a sum with 2**23 has no fraction
    "roundevenf": "%moved = fadd float %size, 8388608.0\n  %rounded = fsub float %moved, 8388608.0",
}


def _to_float(name: str, bits: int, fraction: int, signed: bool) -> str:
    rest = 63 - fraction
    narrow = bits == 32
    return _TO_FLOAT.format(
        name=name,
        bits=bits,
        sign="ashr i64 %x, 63" if signed else "and i64 %x, 0",
        rest=rest,
        rest_mask=(1 << rest) - 1,
        half=1 << (rest - 1),
        bias=(1 << (bits - fraction - 2)) - 1 + 63 - 1,
        fraction=fraction,
        minus=1 << 31 if narrow else -(1 << 63),
        narrowed="%narrow = trunc i64 %whole to i32" if narrow else "",
        result="%narrow" if narrow else "%whole",
    )


def _to_integer(name: str, bits: int, fraction: int, signed: bool) -> str:
    return _TO_INTEGER.format(
        name=name,
        bits=bits,
        wide="zext i32 %x to i64" if bits == 32 else "add i64 %x, 0",
        fraction=fraction,
        exponents=(1 << (bits - 1 - fraction)) - 1,
        bias=(1 << (bits - fraction - 2)) - 1,
        mask=(1 << fraction) - 1,
        one=1 << fraction,
        sign=bits - 1,
        limit=63 if signed else 64,
        signed="%signed" if signed else "%value",
        most=(1 << 63) - 1 if signed else -1,
        extreme="%extreme" if signed else "-1",
    )


def routines() -> dict[str, str]:
    """The modules, by the symbol that each defines."""
    found = {"__aeabi_uldivmod": _DIVISION, "__aeabi_ldivmod": _SIGNED_DIVISION}
    for letter, bits, fraction in (("f", 32, 23), ("d", 64, 52)):
        for integer, signed in (("l", True), ("ul", False)):
            there, back = f"__aeabi_{integer}2{letter}", f"__aeabi_{letter}2{integer}z"
            found[there] = _to_float(there, bits, fraction, signed)
            found[back] = _to_integer(back, bits, fraction, signed)
    found |= {name: _ROUNDING.format(name=name, body=body) for name, body in _BODIES.items()}
    found |= {
        name: _ROUNDING.format(name=name, body=_BODIES["roundevenf"]) for name in ("rintf", "nearbyintf")
    }
    return {name: text + _FLAGS for name, text in found.items()}
