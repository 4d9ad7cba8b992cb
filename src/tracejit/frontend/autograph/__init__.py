"""Python's own control flow in compiled functions: source in, the same function over loop and branch operators out."""
