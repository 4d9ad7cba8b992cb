"""Which modules below ``tracejit`` are public, and which are built on those, for tests of the tree and of names."""

from __future__ import annotations

#: Public modules written with ops: what users call on tensors.
PUBLIC = frozenset(
    "aot arrays autodiff autograph bitwise debugging dtypes errors image inspect linalg math nest nn numpy random "
    "raw_ops scipy strings test".split()
)
#: Public modules built on those as any other package would be: with public names alone.
BATTERIES = frozenset(
    "activations callbacks compat constraints data initializers io keras layers losses metrics models optimizers queue "
    "regularizers train".split()
)
#: Graphs and machine code in files and on other machines are a part of the engine, though users see public modules.
OUTSIDE = frozenset({"dask", "saved_model"})
#: The command line: it may use everything, and nothing uses it.
COMMANDS = frozenset({"cli", "__main__"})
