"""Tensors have no memory; what stands for NumPy's: who holds an array, sees a write to it, or reads a stale part."""
