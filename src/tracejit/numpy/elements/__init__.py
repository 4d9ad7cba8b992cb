"""NumPy's functions of single elements."""
