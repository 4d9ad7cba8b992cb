"""Curves: sampled ones, and polynomials."""
