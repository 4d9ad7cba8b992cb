"""Ops that hold graphs: loops, branches, calls, functions with rules of their own, equations."""
