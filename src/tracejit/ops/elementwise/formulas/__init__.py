"""Formulas of special functions, each written once for NumPy and for compiled code.

A formula is ``rule(of, *operands)``, where `of` is the arithmetic: that of arrays, of numbers, of vectors of compiled
code, or that of power series over one of these, which gives derivatives along a parameter.
"""
