"""Layers that give inputs, or weights, a size of one: over a batch, over an example, or by a singular value."""
