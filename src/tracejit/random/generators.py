"""Random numbers with a state: generators, the default one, and the functions that draw from it.

The state is a Variable (key and counter), so that drawing inside of a compiled function, a loop or a tape
works like any other assignment. The numbers come from `ops.random`; this module only moves the counter.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..core.dim import Size
from ..core.dtype import BFLOAT16
from ..core.errors import DtypeError, at, user_location
from ..core.op import ops
from ..core.spec import as_dtype
from ..core.tensor import Tensor
from ..core.tracing.dispatch import as_tensor, interpreting
from ..frontend.control.loop_functions import while_loop
from ..frontend.creation import default_float
from ..frontend.state.variable import Variable, tracer
from ..frontend.state.variable_init import begin_anew
from ..ops.arrays.index import stacked_positions
from ..ops.arrays.reduce import size_tensor
from ..ops.arrays.shape import sizes_not_negative
from ..ops.random import WORD, blocks_of, normal_blocks, random_bits, random_normal, random_uniform

_MASK = 0xFFFFFFFFFFFFFFFF
GOLDEN = 0x9E3779B97F4A7C15  # odd: spreads a global seed over all bits
_SINGLE, _DOUBLE = np.dtype("float32"), np.dtype("float64")
KEY = np.dtype("int64")


def signed(word: int) -> int:
    """64 bits as an int64 holds them."""
    return (word & _MASK) - (1 << 64 if word & (1 << 63) else 0)


class _RandomState(Variable):
    """Key and counter of a generator. Under :func:`tracejit.vmap` each example has a state of its own."""

    __slots__ = ()
    counts_draws = True

    def move_on(self, blocks: Size) -> None:
        """Count what has been drawn."""
        known = isinstance(blocks, int)
        self.assign_add(np.array([0, blocks]) if known else stacked_positions([0, size_tensor(blocks)]))

    def split(self, size: Size) -> Tensor:
        """`size` states with keys drawn from this one, which moves on."""
        words = ops.cast(random_bits(self.current(), shape=(size, 2)), dtype=KEY)
        low, high = (ops.slice(words, slices=((0, size, 1), (k, 1, 1))) for k in (0, 1))
        keys = (high - 2**31) * 2**32 + low
        self.move_on(blocks_of((size, 2), WORD))
        return ops.concat(keys, ops.fill(shape=(size, 1), value=0, dtype=KEY), axis=1)

    def __copy__(self) -> _RandomState:
        return _RandomState(np.array(self.array), trainable=False, name="random_state")

    def __reduce__(self) -> tuple[Any, ...]:
        return _RandomState, (np.array(self.array), False)


class Generator:
    """A source of random numbers: Philox4x32-10 with a 64-bit key, the same numbers in every mode.

    Parameters
    ----------
    seed : int, optional
        The key. Without one it is taken from the operating system.

    Examples
    --------
    >>> import tracejit as tf
    >>> a, b = tf.random.Generator(1), tf.random.Generator(1)
    >>> bool(a.uniform() == b.uniform())
    True
    """

    __slots__ = ("state",)

    def __init__(self, seed: int | None = None):
        first, now = _fresh(seed), tracer()
        with interpreting(None):  # also inside of a trace, whose state it is not
            self.state: _RandomState = _RandomState(first, trainable=False, name="random_state")
        if now is not None:
            begin_anew(now, self.state, first)

    @classmethod
    def from_seed(cls, seed: int, alg: Any = None) -> Generator:
        """A generator with this seed; `alg` is accepted, there is one algorithm.

        Examples
        --------
        >>> import tracejit as tf
        >>> tf.random.Generator.from_seed(1).normal(shape=[2, 3]).shape
        TensorShape([2, 3])
        """
        return cls(seed)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """A generator whose seed the operating system gives."""
        return cls()

    def reset_from_seed(self, seed: int) -> None:
        """Start again, from `seed`."""
        self.reset(seed)

    def split(self, count: int = 1) -> list[Generator]:
        """`count` generators with seeds drawn from this one.

        Examples
        --------
        >>> import tracejit as tf
        >>> one, other = tf.random.Generator.from_seed(1).split(2)
        >>> bool(one.uniform() == other.uniform())
        False
        """
        keys = self._take(blocks_of((count, 2), WORD))
        words = random_bits(keys, shape=(count, 2)).array.astype(np.uint64)
        return [Generator(int(low | (high << np.uint64(32)))) for low, high in words]

    def _checkpointed(self) -> dict[str, Variable]:
        """What a checkpoint holds of it."""
        return {"state": self.state}

    def reset(self, seed: int | None = None) -> None:
        """Start again, from `seed`."""
        self.state.assign(_fresh(seed))

    def _take(self, blocks: Size) -> Tensor:
        """The state to draw from; the counter moves on past the draw."""
        now = self.state.current()
        self.state.move_on(blocks)
        return now

    def uniform(
        self,
        shape: Any = (),
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = None,
        name: str | None = None,
    ) -> Tensor:
        """Uniform numbers in [minval, maxval).

        Parameters
        ----------
        shape : int or sequence of int
        minval, maxval : number
            `maxval` is 1 for floats and must be given for integers. Rounding may give `maxval` itself.
        dtype : dtype-like, optional
            A float or an integer dtype; by default that of Python floats. Short ones are float32, rounded.

        Returns
        -------
        Tensor
            Of `shape` and `dtype`.

        Raises
        ------
        ValueError
            For integers without `maxval`.

        Examples
        --------
        >>> import tracejit as tf
        >>> tf.random.Generator(3).uniform((2, 3)).shape
        TensorShape([2, 3])
        """
        dtype, shape = _supported(dtype, "fViu"), sizes_not_negative(shape)
        if dtype in _narrow():
            return ops.cast(self.uniform(shape, minval, maxval, _SINGLE), dtype=dtype)
        wide = dtype if dtype.kind == "f" else _DOUBLE
        if maxval is None and dtype.kind != "f":
            raise ValueError(f"uniform integers need a maxval{at(user_location())}")
        unit = random_uniform(self._take(blocks_of(shape, wide)), shape=shape, dtype=wide)
        if dtype.kind == "f":
            return minval + unit * ((1 if maxval is None else maxval) - minval)
        span = ops.cast(as_tensor(maxval - minval), dtype=wide)
        return minval + ops.cast(ops.floor(unit * span), dtype=dtype)

    def normal(
        self,
        shape: Any = (),
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = None,
        name: str | None = None,
    ) -> Tensor:
        """Normally distributed numbers of `mean` and `stddev`, of `shape` and `dtype`, by the method of Box and Muller.

        Eager and compiled results agree to a few units in the last place, not bit by bit.

        Examples
        --------
        >>> import tracejit as tf
        >>> tf.random.Generator(3).normal((4,), stddev=0.1).shape
        TensorShape([4])
        """
        dtype, shape = _supported(dtype, "fV"), sizes_not_negative(shape)
        if dtype in _narrow():
            return ops.cast(self.normal(shape, mean, stddev, _SINGLE), dtype=dtype)
        standard = random_normal(self._take(normal_blocks(shape, dtype)), shape, dtype)
        return mean + standard * stddev

    def truncated_normal(
        self,
        shape: Any = (),
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = None,
        name: str | None = None,
    ) -> Tensor:
        """Normally distributed numbers, of `shape` and `dtype`, within two `stddev` of `mean`: others are drawn again.

        Examples
        --------
        >>> import tracejit as tf
        >>> bool(tf.reduce_max(tf.random.Generator(3).truncated_normal((1000,))) <= 2.0)
        True
        """

        if _supported(dtype, "fV") in _narrow():
            return ops.cast(self.truncated_normal(shape, mean, stddev, _SINGLE), dtype=as_dtype(dtype))

        def redrawn(x: Tensor) -> Tensor:
            return ops.where(ops.abs(x) > 2.0, self.normal(x.shape, dtype=x.np_dtype), x)

        start = self.normal(shape, dtype=dtype)
        standard = while_loop(lambda x: ops.reduce_max(ops.abs(x) > 2.0, axis=None), redrawn, start)
        return mean + standard * stddev


def _narrow() -> tuple[np.dtype, ...]:
    """The floats that are drawn as float32 and rounded."""
    return (np.dtype(np.float16), *BFLOAT16)


def _fresh(seed: int | None) -> np.ndarray:
    key = int.from_bytes(os.urandom(8), "little") if seed is None else int(seed)
    return np.array([signed(key), 0], np.int64)


def _supported(dtype: Any, kinds: str) -> np.dtype:
    wanted = default_float() if dtype is None else as_dtype(dtype)
    if wanted.kind not in kinds:
        raise DtypeError(
            f"draws floats{' and integers' if 'i' in kinds else ''}, not {wanted.name}{at(user_location())}"
        )
    return wanted


# ---- the default generator ------------------------------------------------------------------------------

_default = Generator()
_global_seed = 0
_by_seed: dict[int, Generator] = {}


def get_global_generator() -> Generator:
    """The generator behind :func:`uniform` and :func:`normal`.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.random.get_global_generator() is tf.random.get_global_generator()
    True
    """
    return _default


def set_global_generator(generator: Generator) -> None:
    """Let :func:`uniform`, :func:`normal` and the others draw from `generator`.

    Examples
    --------
    >>> import tracejit as tf
    >>> before, own = tf.random.get_global_generator(), tf.random.Generator.from_seed(1)
    >>> tf.random.set_global_generator(own)
    >>> tf.random.get_global_generator() is own
    True
    >>> tf.random.set_global_generator(before)
    """
    global _default
    _default = generator


def set_seed(seed: int) -> None:
    """Make the numbers that follow `seed` repeatable.

    Examples
    --------
    >>> import tracejit as tf
    >>> tf.random.set_seed(7)
    >>> a = tf.random.normal((2,))
    >>> tf.random.set_seed(7)
    >>> bool((a == tf.random.normal((2,))).numpy().all())
    True
    """
    global _global_seed
    _global_seed = int(seed) & _MASK
    _default.reset(_global_seed)
    for own, generator in _by_seed.items():
        generator.reset(own + _global_seed * GOLDEN)


def _source(seed: int | None) -> Generator:
    """The default generator, or the one that calls with this seed share."""
    if seed is None:
        return _default
    if seed not in _by_seed:
        with interpreting(None):  # it outlives the trace that asks first
            _by_seed[seed] = Generator(seed + _global_seed * GOLDEN)
    return _by_seed[seed]


def uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Uniform numbers in [`minval`, `maxval`), of `shape` and `dtype`; see :meth:`Generator.uniform`, ValueError too.

    Calls with a `seed` draw from a generator of their own, which starts with it and with :func:`set_seed`.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.random.uniform((2, 3), minval=5, maxval=7, dtype="int32", seed=1)
    >>> x.shape, bool(tf.reduce_all((x == 5) | (x == 6)))
    (TensorShape([2, 3]), True)
    """
    return _source(seed).uniform(shape, minval, maxval, dtype)


def normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers of `mean` and `stddev`, of that `shape` and `dtype`, see :meth:`Generator.normal`.

    `seed` is as for :func:`uniform`; DtypeError for a dtype that is not float.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.random.normal((2, 3), mean=1.0, seed=1)
    >>> x.shape, x.dtype.name
    (TensorShape([2, 3]), 'float32')
    """
    return _source(seed).normal(shape, mean, stddev, dtype)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normally distributed numbers within two `stddev` of `mean`, of that `shape` and `dtype`, float32 unless told.

    See :meth:`Generator.truncated_normal`; `seed` is as for :func:`uniform`. DtypeError for a dtype that is not float.

    Examples
    --------
    >>> import tracejit as tf
    >>> x = tf.random.truncated_normal((100,), stddev=0.5, seed=1)
    >>> bool(tf.reduce_all(tf.abs(x) <= 1.0))
    True
    """
    return _source(seed).truncated_normal(shape, mean, stddev, dtype)


def shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows of `value` in random order, same dtype; `seed` as for :func:`uniform`. ShapeError for scalars.

    Examples
    --------
    >>> import tracejit as tf
    >>> sorted(tf.random.shuffle([3, 1, 2], seed=1).numpy().tolist())
    [1, 2, 3]
    """
    x = as_tensor(value)
    return ops.gather(x, ops.argsort(uniform(x.shape[:1], dtype=_DOUBLE, seed=seed), axis=0), axis=0)


def categorical(
    logits: Any, num_samples: int, dtype: Any = np.int64, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Classes drawn with the probabilities that the rows of `logits` stand for.

    Parameters
    ----------
    logits : tensor-like of floats, rank 2
        Logarithms of probabilities, up to a number that is added to a row.
    num_samples : int
    dtype : dtype-like
    seed : int, optional
        As for :func:`uniform`.

    Returns
    -------
    Tensor
        ``(rows, num_samples)``, of `dtype`.

    Raises
    ------
    DtypeError
        For logits that are no rows of floats.

    Examples
    --------
    >>> import tracejit as tf
    >>> print(tf.random.categorical([[0.0, -1e9]], 3))
    tf.Tensor([[0 0 0]], shape=(1, 3), dtype=int64)
    """
    return drawn_classes(_source(seed), logits, num_samples, dtype)


def drawn_classes(generator: Generator, logits: Any, num_samples: int, dtype: Any) -> Tensor:
    """By the largest of the logits with noise of Gumbel's distribution."""
    x = as_tensor(logits)
    if len(x.shape) != 2 or x.dtype.kind != "f":
        raise DtypeError(f"logits are rows of floats, got {x.spec}{at(user_location())}")
    rows, classes = x.shape
    unit = generator.uniform((rows, int(num_samples), classes), dtype=_DOUBLE)
    noise = ops.negative(ops.log(ops.negative(ops.log(ops.maximum(unit, np.finfo(_DOUBLE).tiny)))))
    scores = ops.reshape(ops.cast(x, dtype=_DOUBLE), shape=(rows, 1, classes)) + noise
    return ops.cast(ops.argmax(scores, axis=2), dtype=as_dtype(dtype))
