"""The counter-based generator: known answers, the same bits in every mode, and plain statistics."""

from __future__ import annotations

import numpy as np
import pytest

from tracejit.compiler import cache
from tracejit.core.spec import TensorSpec
from tracejit.core.tensor import Tensor
from tracejit.core.tracing.trace import trace
from tracejit.ops.random import CHUNK, blocks_of, philox, random_bits, random_normal, random_uniform

STATE = TensorSpec((2,), "int64")
ONES = 0xFFFFFFFF

#: Counter, key and words, as published with Random123 (kat_vectors, philox4x32 with 10 rounds).
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES, ONES, ONES, ONES), (ONES, ONES), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]

#: States whose halves and carries matter: the counter passes 32 bits, the key and the counter are negative.
STATES = [(0, 0), (1, 0), (-1, 0), (5, 0xFFFFFFFF - 2), (0x0123456789ABCDEF, -3)]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_known_answers(counter: tuple, key: tuple, words: tuple):
    assert tuple(int(w) for w in philox([np.uint64(c) for c in counter], key)) == words


def test_the_op_gives_the_words_of_the_generator_in_blocks():
    bits = random_bits(Tensor(np.array([0, 0])), shape=(4,)).numpy()
    assert tuple(map(int, bits)) == KNOWN[0][2]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (130,), (3, 0), (5, 6, 7)])
def test_compiled_code_draws_the_same_bits(state: tuple, shape: tuple):
    def draw(s: Tensor) -> list[Tensor]:
        floats = [random_uniform(s, shape=shape, dtype=d) for d in ("float32", "float64")]
        return [random_bits(s, shape=shape), *floats]

    compiled = cache.compile_graph(trace(draw, [STATE]).graph)
    state = np.array(state)
    for a, b in zip(compiled([state]), draw(Tensor(state)), strict=True):
        np.testing.assert_array_equal(a, b.numpy())


def test_draws_of_following_counters_do_not_overlap():
    first = random_bits(Tensor(np.array([3, 0])), shape=(40,)).numpy()
    after = blocks_of((40,), np.dtype("uint32"))
    second = random_bits(Tensor(np.array([3, after])), shape=(40,)).numpy()
    both = random_bits(Tensor(np.array([3, 0])), shape=(80,)).numpy()
    assert after == 10
    assert set(first).isdisjoint(second)
    assert set(first) | set(second) == set(both)


def test_draws_larger_than_a_chunk_are_one_sequence():
    n = 4 * CHUNK + 9
    long = random_bits(Tensor(np.array([3, 0])), shape=(4 * n,)).numpy().reshape(4, n)
    late = random_bits(Tensor(np.array([3, CHUNK])), shape=(4 * 9,)).numpy().reshape(4, 9)
    np.testing.assert_array_equal(long[:, CHUNK : CHUNK + 9], late)


@pytest.mark.parametrize(("dtype", "bits"), [("float32", 24), ("float64", 53)])
def test_uniform_numbers_are_multiples_of_their_last_bit(dtype: str, bits: int):
    u = random_uniform(Tensor(np.array([9, 9])), shape=(10_000,), dtype=dtype).numpy()
    assert u.dtype == dtype
    assert u.min() >= 0.0 and u.max() < 1.0
    steps = u.astype(float) * 2.0**bits
    assert (steps == np.floor(steps)).all()
    assert (steps % 2).mean() == pytest.approx(0.5, abs=0.03)


def test_moments():
    state = Tensor(np.array([11, 0]))
    u = random_uniform(state, shape=(40_000,), dtype="float64").numpy()
    z = random_normal(state, (40_001,), "float64").numpy()
    assert u.mean() == pytest.approx(0.5, abs=0.01)
    assert u.var() == pytest.approx(1 / 12, abs=0.002)
    assert np.histogram(u, 16, (0, 1))[0] == pytest.approx(2500, abs=250)
    assert z.mean() == pytest.approx(0.0, abs=0.02)
    assert z.std() == pytest.approx(1.0, abs=0.02)
    assert (z**4).mean() == pytest.approx(3.0, abs=0.2)
    assert np.corrcoef(z[:-1], z[1:])[0, 1] == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_numbers_agree_between_modes(dtype: str):
    def draw(s: Tensor) -> list[Tensor]:
        return [random_normal(s, (3, 7), dtype)]

    state = np.array([4, 2])
    (found,) = cache.compile_graph(trace(draw, [STATE]).graph)([state])
    expected = draw(Tensor(state))[0].numpy()
    np.testing.assert_allclose(found, expected, rtol=20 * np.finfo(dtype).eps, atol=20 * np.finfo(dtype).eps)


def test_the_state_is_checked():
    with pytest.raises(ValueError, match=r"the state is int64\[2\], or several of them, got float32\[2\]"):
        trace(lambda s: [random_bits(s, shape=(1,))], [TensorSpec((2,), "float32")])
    with pytest.raises(ValueError, match="draws float32 or float64, got int32"):
        trace(lambda s: [random_uniform(s, shape=(1,), dtype="int32")], [STATE])
