"""Products of matrices, their factors, and systems of equations."""
