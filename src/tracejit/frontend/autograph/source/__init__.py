"""From syntax to syntax: the rewriting of a function's source. Knows no tensors."""
