"""What runs in the processes of `spawn`. Light to import: how long they take to their first result is measured."""

from __future__ import annotations

import os
import sys
import time

from benchmarks import programs


def milliseconds(what: str, peer: str, case: str, function: str) -> float:
    """Return a first call's time, for ``passes`` with a report, or for ``result`` the time at which there is one.

    `function` is that of ``programs`` which makes the peer's candidates.
    """
    if what != "result":
        _load_compiler(peer)
    name = getattr(programs, case)
    call = getattr(programs, function)((name,))[name]
    if what == "passes":
        import tracejit as tj

        tj.configure(debug=2)
    start = time.perf_counter()
    call()
    middle = time.perf_counter()
    if what == "result":
        return 1e3 * middle
    call()
    return 1e3 * (2 * middle - start - time.perf_counter())


def _load_compiler(peer: str) -> None:
    """Compile a small function of another kind, so that loading the compiler is not counted."""
    x = [1.0, 2.0]
    if peer == "tracejit":
        import tracejit as tj

        tj.function(lambda x: x / 3.0 - 2.0)(tj.constant(x))
    elif peer == "JAX":
        import jax

        jax.block_until_ready(jax.jit(lambda x: x / 3.0 - 2.0)(jax.numpy.asarray(x)))
    elif peer == "TF XLA":
        import tensorflow as tf

        tf.function(lambda x: x / 3.0 - 2.0, jit_compile=True)(tf.constant(x)).numpy()
    elif peer == "torch":
        import torch

        (torch.tensor(x) / 3.0 - 2.0).sum()


if __name__ == "__main__":
    print(milliseconds(*sys.argv[1:]), flush=True)
    os._exit(0)  # what a process takes to end is not counted
