"""Nests of loops as LLVM text, as their schedules say."""
