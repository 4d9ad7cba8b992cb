"""Ops that arrange elements: shapes, parts, positions, orders; and reductions over axes."""
