"""What a Tensor can do besides being given to ops: operators, NumPy's protocols, ``x[...]``, ``x.at``, ``repr``."""
