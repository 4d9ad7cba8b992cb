"""Loop programs as LLVM text: explicit vectors, one function per kernel, one entry. Strings only; LLVM is
not imported.
"""
