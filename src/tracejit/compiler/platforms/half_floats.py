"""Conversions of half-precision numbers for processors that have none, by the names under which LLVM calls them."""

from __future__ import annotations


def conversions(passed: str) -> str:
    """The functions as LLVM text, for a machine that passes such a number as this type: ``half`` or ``i16``."""
    return _CONVERSIONS.replace("PASSED", passed)


_CONVERSIONS = """
define hidden float @__extendhfsf2(PASSED %given) #1 {
  %half = bitcast PASSED %given to i16
  %bits = zext i16 %half to i32
  %rest = and i32 %bits, 32767
  %placed = shl i32 %rest, 13
  %small = bitcast i32 %placed to float
  %scaled = fmul float %small, 0x46F0000000000000
  %number = bitcast float %scaled to i32
  %special = icmp uge i32 %placed, 260046848
  %endless = or i32 %placed, 2139095040
  %magnitude = select i1 %special, i32 %endless, i32 %number
  %sign = and i32 %bits, 32768
  %top = shl i32 %sign, 16
  %all = or i32 %magnitude, %top
  %result = bitcast i32 %all to float
  ret float %result
}

define hidden PASSED @__truncsfhf2(float %number) #1 {
  %bits = bitcast float %number to i32
  %sign = and i32 %bits, -2147483648
  %rest = xor i32 %bits, %sign
  %payload = lshr i32 %rest, 13
  %nan = or i32 %payload, 32256
  %is.nan = icmp ugt i32 %rest, 2139095040
  %special = select i1 %is.nan, i32 %nan, i32 31744
  %magnitude = bitcast i32 %rest to float
  %shifted = fadd float %magnitude, 5.000000e-01
  %low = bitcast float %shifted to i32
  %subnormal = sub i32 %low, 1056964608
  %odd = and i32 %payload, 1
  %biased = add i32 %rest, -939520001
  %rounded = add i32 %biased, %odd
  %normal = lshr i32 %rounded, 13
  %is.small = icmp ult i32 %rest, 947912704
  %finite = select i1 %is.small, i32 %subnormal, i32 %normal
  %is.large = icmp uge i32 %rest, 1199570944
  %half = select i1 %is.large, i32 %special, i32 %finite
  %top = lshr i32 %sign, 16
  %all = or i32 %half, %top
  %masked = and i32 %all, 65535
  %result = trunc i32 %masked to i16
  %returned = bitcast i16 %result to PASSED
  ret PASSED %returned
}
"""
