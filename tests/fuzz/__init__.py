"""Generators of random programs: what a program does eagerly, it must do compiled, or be refused for a reason.

Each generator is a module with ``check(seed) -> Outcome``; the same seed makes the same program on every machine.
"""
