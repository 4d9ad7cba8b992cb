"""``GradientTape``, what it remembers, and why a gradient is None or zero."""
