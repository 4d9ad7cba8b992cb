"""Which scalars of straight-line statements are the same numbers."""
