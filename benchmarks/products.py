"""A large matrix product and nothing else, in both widths."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.timing import Candidate

SIZE = 1024
SINGLE, DOUBLE = f"matmul {SIZE}, float32", f"matmul {SIZE}, float64"


def factors(dtype: str) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.standard_normal((SIZE, SIZE)).astype(dtype) for _ in range(2)]


def by_dtype(make: Any) -> dict[str, Candidate]:
    return {SINGLE: make(*factors("float32")), DOUBLE: make(*factors("float64"))}


def tracejit_candidates() -> dict[str, Candidate]:
    import tracejit as tj

    product = tj.function(lambda a, b: a @ b)
    return by_dtype(lambda a, b: lambda: product(a, b))


def numpy_candidates() -> dict[str, Candidate]:
    def make(a: np.ndarray, b: np.ndarray) -> Candidate:
        out = np.empty_like(a)
        return lambda: np.matmul(a, b, out=out)

    return by_dtype(make)


def jax_candidates() -> dict[str, Candidate]:
    from benchmarks.peers import jitted

    return by_dtype(lambda a, b: jitted(lambda a, b: a @ b, a, b))


def torch_candidates() -> dict[str, Candidate]:
    import torch

    return by_dtype(lambda *factors: partial(torch.matmul, *map(torch.from_numpy, factors)))


def tensorflow_graph_candidates() -> dict[str, Candidate]:
    import tensorflow as tf

    product = tf.function(tf.matmul)
    return by_dtype(lambda *factors: partial(product, *map(tf.constant, factors)))
