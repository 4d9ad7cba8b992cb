"""Random numbers that follow from a seed alone: nothing is kept from one draw to the next."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.dim import Size
from ..core.errors import ShapeError, at, user_location
from ..core.op import ops
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor
from ..ops.arrays.index import stacked_positions
from ..ops.arrays.reduce import size_tensor
from ..ops.random import random_bits
from .generators import GOLDEN, KEY, Generator, drawn_classes, signed


class _Unshared:
    """Key and counter that nobody else draws from."""

    __slots__ = ("now",)

    def __init__(self, now: Tensor):
        self.now = now

    def current(self) -> Tensor:
        return self.now

    def move_on(self, blocks: Size) -> None:
        self.now = ops.add(self.now, stacked_positions([0, size_tensor(blocks)]))


class _Stateless(Generator):
    """A generator for one draw, from a seed of two integers, which may be known only at run time."""

    __slots__ = ()

    def __init__(self, seed: Any):
        words = ops.cast(as_tensor(seed), dtype=KEY)
        if words.shape != (2,):
            raise ShapeError(f"a seed is two integers, got {words.spec}{at(user_location())}")
        factors = np.array([signed(GOLDEN), 1], np.int64)
        key = ops.reduce_sum(words * factors, axis=(0,))
        self.state: Any = _Unshared(stacked_positions([key, 0]))


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = None,
    name: str | None = None,
    alg: Any = None,
) -> Tensor:
    """Uniform numbers that follow from `seed`, two integers, alone, of that `shape`; see :meth:`Generator.uniform`.

    `minval`, `maxval`, `dtype` and ValueError are those there; `alg` is accepted.

    Examples
    --------
    >>> import tracejit as tf
    >>> a, b = (tf.random.stateless_uniform([2], seed=[1, 2]) for _ in range(2))
    >>> bool((a == b).numpy().all())
    True
    """
    return _Stateless(seed).uniform(shape, minval, maxval, dtype)


def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = None,
    name: str | None = None,
    alg: Any = None,
) -> Tensor:
    """Normally distributed numbers that follow from `seed`, two integers, alone, of that `shape`.

    `mean`, `stddev`, `dtype` and DtypeError are those of :func:`normal`; `alg` is accepted.

    Examples
    --------
    >>> import tracejit as tf
    >>> a, b = (tf.random.stateless_normal([2], seed=[1, 2]) for _ in range(2))
    >>> bool(tf.reduce_all(a == b))
    True
    """
    return _Stateless(seed).normal(shape, mean, stddev, dtype)


def stateless_categorical(
    logits: Any, num_samples: int, seed: Any, dtype: Any = np.int64, name: str | None = None
) -> Tensor:
    """Classes as :func:`categorical` (`logits`, `num_samples`, `dtype`, shape, DtypeError), by `seed`, two integers.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.random.stateless_categorical([[0.0, -1e9]], 3, seed=[1, 2]))
    tf.Tensor([[0 0 0]], shape=(1, 3), dtype=int64)
    """
    return drawn_classes(_Stateless(seed), logits, num_samples, dtype)


def split(seed: Any, num: int = 2, alg: Any = None) -> Tensor:
    """`num` new seeds, rows of two int32, that follow from `seed`; `alg` is accepted. ShapeError for another seed.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.random.split([1, 2], num=3).shape
    TensorShape([3, 2])
    """
    words = random_bits(_Stateless(seed).state.current(), shape=(int(num), 2))
    return ops.cast(ops.cast(words, dtype=KEY) - 2**31, dtype=np.dtype(np.int32))


def fold_in(seed: Any, data: Any, alg: Any = None) -> Tensor:
    """A new seed, a vector of two int32, that follows from `seed` and `data`, such as a step; `alg` is accepted.

    Examples
    --------
    >>> import tracejit as tf
    >>> seeds = [tf.random.fold_in([1, 2], step).numpy().tolist() for step in (0, 1, 0)]
    >>> seeds[0] == seeds[2], seeds[0] == seeds[1]
    (True, False)
    """
    numbers = ops.cast(as_tensor(seed), dtype=KEY)
    mixed = numbers + ops.cast(as_tensor(data), dtype=KEY) * np.array([signed(GOLDEN * 3), 0], np.int64)
    return ops.reshape(split(mixed, 1), shape=(2,))
