"""Random numbers from a counter: Philox4x32-10, the same bits from kernels and from machine code.

The state is a tensor of two int64, key and counter. A draw is a pure function of it; who advances the counter
(`blocks_of` says by how much) is no concern of this module.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.dim import Size, product
from ..core.errors import require
from ..core.op import Attrs, Sample, defop, ops, sample
from ..core.spec import TensorSpec, as_dtype
from ..core.tracing.dispatch import as_tensor
from .arrays.shape import sizes_not_negative
from .lowering import Nests

WORD, PAIR = np.dtype("uint32"), np.dtype("uint64")
ROUNDS = 10
CHUNK = 4096  # blocks the kernel draws at once: their words stay in the cache
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)

#: Words of a block that one number takes, by dtype.
WORDS: dict[np.dtype[Any], int] = {np.dtype("uint32"): 1, np.dtype("float32"): 1, np.dtype("float64"): 2}


def blocks_of(shape: Sequence[Size], dtype: np.dtype) -> Size:
    """How many blocks of four words a draw takes: by so much the counter must advance."""
    per_block = 4 // WORDS[dtype]
    return (product(shape) + (per_block - 1)) // per_block


# ---- the generator, on arrays ---------------------------------------------------------------------------


def philox(counter: Sequence[np.ndarray], key: Sequence[int]) -> list[np.ndarray]:
    """The four words of each block, from the four words of its counter and the two of the key."""
    a, b, c, d = (np.asarray(word, PAIR) for word in counter)
    k, l = key
    mask = PAIR.type(0xFFFFFFFF)
    half, m, n = (PAIR.type(v) for v in (32, *MULTIPLIERS))
    for _ in range(ROUNDS):
        p, q = a * m, c * n
        a, b, c, d = (q >> half) ^ b ^ PAIR.type(k), q & mask, (p >> half) ^ d ^ PAIR.type(l), p & mask
        k, l = (k + WEYL[0]) & 0xFFFFFFFF, (l + WEYL[1]) & 0xFFFFFFFF
    return [word.astype(WORD) for word in (a, b, c, d)]


def _words(state: np.ndarray, first: int, blocks: int) -> list[np.ndarray]:
    key, start = (int(v) & 0xFFFFFFFFFFFFFFFF for v in state)
    counter = np.arange(first, first + blocks, dtype=PAIR) + PAIR.type(start)
    zeros = np.zeros(blocks, PAIR)
    words = (counter & PAIR.type(0xFFFFFFFF), counter >> PAIR.type(32), zeros, zeros)
    return philox(words, (key & 0xFFFFFFFF, key >> 32))


def _unit_array(words: Sequence[np.ndarray], dtype: np.dtype) -> list[np.ndarray]:
    """Words as floats in [0, 1): the upper 24 bits of one, or 53 bits of two."""
    if dtype == WORD:
        return list(words)
    if dtype == np.float32:
        return [(w >> 8).astype(dtype) * np.float32(2.0**-24) for w in words]
    pairs = zip(words[::2], words[1::2], strict=True)
    return [((a >> 5) * 2.0**26 + (b >> 6)) * 2.0**-53 for a, b in pairs]


def _kernel(state: np.ndarray, *, shape: tuple[int, ...], dtype: np.dtype = WORD) -> np.ndarray:
    drawn = [_draw(one, shape, dtype) for one in state.reshape(-1, 2)]
    return np.array(drawn, dtype).reshape(*state.shape[:-1], *shape) if state.ndim > 1 else drawn[0]


def _draw(state: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    blocks = blocks_of(shape, dtype)
    table = np.empty((4 // WORDS[dtype], blocks), dtype)
    for first in range(0, blocks, CHUNK):
        part = table[:, first : first + CHUNK]
        part[...] = _unit_array(_words(state, first, part.shape[1]), dtype)
    return table.reshape(-1)[: math.prod(shape)].reshape(shape)


# ---- the same as loops ----------------------------------------------------------------------------------


class _Written:
    """Philox in scalars of a builder."""

    def __init__(self, b: Any, dtype: np.dtype):
        self.b = b
        self.dtype = dtype

    def low(self, x: Any, shift: int = 0) -> Any:
        """32 bits of an int64."""
        b = self.b
        wide = b.compute("bitcast", x, dtype=PAIR)
        return b.compute("cast", b.compute("shr", wide, b.constant(shift, PAIR)), dtype=WORD)

    def block(self, key: Any, counter: Any) -> list[Any]:
        """The four words of the block with this counter."""
        b, c = self.b, self.b.compute
        k, l = self.low(key), self.low(key, 32)
        zero = b.constant(0, WORD)
        words = [self.low(counter), self.low(counter, 32), zero, zero]
        m, n = (b.constant(v, WORD) for v in MULTIPLIERS)
        for step in range(ROUNDS):
            k_now = c("add", k, b.constant(step * WEYL[0] & 0xFFFFFFFF, WORD)) if step else k
            l_now = c("add", l, b.constant(step * WEYL[1] & 0xFFFFFFFF, WORD)) if step else l
            p_high, p_low = c("mulhi", words[0], m), c("mul", words[0], m)
            q_high, q_low = c("mulhi", words[2], n), c("mul", words[2], n)
            words = [
                c("xor", c("xor", q_high, words[1]), k_now),
                q_low,
                c("xor", c("xor", p_high, words[3]), l_now),
                p_low,
            ]
        return words

    def numbers(self, words: list[Any]) -> list[Any]:
        """Words as numbers of the dtype asked for."""
        if self.dtype == WORD:
            return words
        if self.dtype == np.float32:
            return [self.scaled(w, 8, 2.0**-24) for w in words]
        return [
            self.b.compute("add", self.scaled(p, 5, 2.0**-27), self.scaled(q, 6, 2.0**-53))
            for p, q in zip(words[::2], words[1::2], strict=True)
        ]

    def scaled(self, word: Any, shift: int, factor: float) -> Any:
        """The upper bits of a word times a power of two: exact."""
        b = self.b
        bits = b.compute("bitcast", b.compute("shr", word, b.constant(shift, WORD)), dtype=np.dtype("int32"))
        return b.compute("mul", b.compute("cast", bits, dtype=self.dtype), b.constant(factor, self.dtype))


def _nests(b: Any, out: TensorSpec, state: Any, *, shape: tuple[Size, ...], dtype: np.dtype = WORD) -> Any:
    blocks, parts = blocks_of(shape, dtype), 4 // WORDS[dtype]
    lead = out.shape[: len(out.shape) - len(shape)]
    table = b.empty(TensorSpec((*lead, parts, blocks), dtype))
    written = _Written(b, dtype)

    def block(ix: Sequence[Any]) -> None:
        key, start = b.load(state, (*ix[:-1], 0)), b.load(state, (*ix[:-1], 1))
        counter = b.compute("add", start, b.position(ix[-1], np.dtype("int64")))
        for part, number in enumerate(written.numbers(written.block(key, counter))):
            b.store(table, (*ix[:-1], part, ix[-1]), number)

    b.each((*lead, blocks), block)
    whole = tuple([(0, d, 1) for d in lead])
    rows = table.reshaped((*lead, parts * blocks)).sliced((*whole, (0, product(shape), 1)))
    if lead:  # the rows are parts of longer ones: no view of another shape has them
        drawn = b.empty(TensorSpec(rows.shape, dtype))
        b.copy(rows, drawn)
        rows = drawn
    return rows.reshaped(out.shape)


# ---- ops ------------------------------------------------------------------------------------------------


def _canonical(inputs: Sequence[Any], attrs: Attrs) -> tuple[Sequence[Any], Attrs]:
    canonical: dict[str, Any] = {"shape": sizes_not_negative(attrs["shape"])}
    if "dtype" in attrs:
        canonical["dtype"] = as_dtype(attrs["dtype"])
    return (as_tensor(inputs[0]),), canonical


def _drawn(state: TensorSpec, shape: tuple[Size, ...], dtype: np.dtype) -> TensorSpec:
    fits = state.shape[-1:] == (2,) and state.dtype == np.dtype("int64")
    require(fits, f"the state is int64[2], or several of them, got {state}")
    return TensorSpec((*state.shape[:-1], *shape), dtype)


def _seeded(*lead: int, **attrs: Any) -> Sample:
    return sample((*lead, 2), low=0.0, high=9.0, dtypes=("int64",), **attrs)


@defop(
    vjp=(None,),
    kernel=_kernel,
    lower=Nests(_nests),
    canonicalize=_canonical,
    batch=lambda batch, state, *, shape: ops.random_bits(state, shape=shape),
    traits=("expensive",),
    samples=(_seeded(shape=(2, 5)), _seeded(shape=()), _seeded(3, shape=(5,))),
)
def random_bits(state: TensorSpec, *, shape: tuple[Size, ...]) -> TensorSpec:
    """Uniform 32-bit words, a pure function of `state`: int64 key and counter, or several such pairs."""
    return _drawn(state, shape, WORD)


@defop(
    vjp=(None,),
    kernel=_kernel,
    lower=Nests(_nests),
    canonicalize=_canonical,
    batch=lambda batch, state, *, shape, dtype: ops.random_uniform(state, shape=shape, dtype=dtype),
    traits=("expensive",),
    samples=(
        _seeded(shape=(3, 3), dtype=np.dtype("float32")),
        _seeded(shape=(7,), dtype=np.dtype("float64")),
        _seeded(2, 3, shape=(3,), dtype=np.dtype("float32")),
    ),
)
def random_uniform(state: TensorSpec, *, shape: tuple[Size, ...], dtype: np.dtype) -> TensorSpec:
    """Uniform floats in [0, 1), 24 random bits in float32 and 53 in float64: a pure function of `state`."""
    require(dtype in WORDS and dtype.kind == "f", f"draws float32 or float64, got {dtype.name}")
    return _drawn(state, shape, dtype)


def random_normal(state: Any, shape: Any, dtype: Any) -> Any:
    """Standard normal floats by the method of Box and Muller, of which one draw gives two.

    Composed of public ops: the uniform numbers behind it are the same in both modes, the results are within
    the few ULP of ``log``, ``sqrt``, ``sin`` and ``cos``.
    """
    shape = sizes_not_negative(shape)
    n = product(shape)
    half = (n + 1) // 2
    u = random_uniform(state, shape=(2, half), dtype=as_dtype(dtype))
    rows = (ops.slice(u, slices=((row, 1, 1), (0, half, 1))) for row in (0, 1))
    first, second = (ops.reshape(row, shape=(half,)) for row in rows)
    radius = ops.sqrt(-2.0 * ops.log(1.0 - first))  # 1 - u is in (0, 1]
    angle = second * (2.0 * math.pi)
    both = ops.concat(radius * ops.cos(angle), radius * ops.sin(angle), axis=0)
    return ops.reshape(ops.slice(both, slices=((0, n, 1),)), shape=shape)


def normal_blocks(shape: Sequence[Size], dtype: np.dtype) -> Size:
    """How many blocks `random_normal` takes."""
    return blocks_of((2, (product(shape) + 1) // 2), dtype)
