"""The call lane: machine code that checks arguments gives what the way through Python gives, and keeps nothing."""

from __future__ import annotations

import _thread
import copy
import ctypes
import gc
import inspect
import random
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks.operators import needs_lane
from tracejit.aot import Artifact
from tracejit.runtime.lane import builtin, probe, room
from tracejit.runtime.lane.words import Api, Entry, Output

pytestmark = needs_lane


class Sub(np.ndarray):
    """No array but like one."""


def weighted(x, w):
    return tf.reduce_sum(tf.sin(x) * w)


@pytest.fixture(scope="module")
def small() -> Artifact:
    return tf.export(weighted, ["f64[n]", "f64[n]"], name="weighted")


@pytest.fixture
def fresh(small: Artifact, tmp_path: Path) -> Artifact:
    """The same from a file, not called yet."""
    small.save(tmp_path / "weighted.tja")
    return tf.load(tmp_path / "weighted.tja")


def outcome(f: Callable[..., Any], *args: Any, **keywords: Any) -> tuple:
    """What a call gives, or how it fails."""
    try:
        found = f(*args, **keywords)
    except Exception as error:
        return type(error), str(error)
    found = found if isinstance(found, tuple) else (found,)
    return tuple((type(y), y.dtype, y.shape, y.tobytes()) for y in found)


def in_lane(art: Artifact) -> bool:
    return isinstance(art.__call__, BuiltinFunctionType)


def test_the_second_call_takes_the_lane(fresh: Artifact) -> None:
    x, w = np.linspace(0.0, 1.0, 5), np.ones(5)
    assert not in_lane(fresh)
    first = outcome(fresh, x, w)
    assert in_lane(fresh)
    assert outcome(fresh, x, w) == first == outcome(fresh._called, x, w)


def test_whatever_the_arguments_are_it_is_as_in_python(fresh: Artifact) -> None:
    """Right ones and wrong ones of all kinds, in any order, with and without memory for results."""
    rng = random.Random(0)
    numbers = np.random.default_rng(0)

    def argument(n: int) -> Any:
        x = numbers.normal(size=n)
        frozen = x.copy()
        frozen.flags.writeable = False
        odd = [
            x.astype("f4"), x.astype(">f8"), x.astype("c16"), x.view(Sub), np.repeat(x, 2)[::2], x[:, None], frozen,
            np.zeros(n + 1), np.zeros(0), np.array(2.0), 2.0, None, "x", [1.0], object(), x[::-1], Ellipsis,
            np.frombuffer(bytearray(8 * n + 1), "u1")[1:].view("f8"), x.astype(np.int64), np.float64(1.0), (x,),
        ]  # fmt: skip
        return rng.choice(odd) if rng.random() < 0.15 else x

    taken = 0
    for _ in range(6000):
        n = rng.randrange(1, 7)
        args = [argument(n) for _ in range(2 if rng.random() < 0.97 else rng.randrange(4))]
        keywords: dict[str, Any] = {"nothing": 1} if rng.random() < 0.02 else {}
        if rng.random() < 0.3:
            places = [np.empty(()), np.empty(n), np.empty(n)]
            if rng.random() < 0.3:
                wrong = [
                    None,
                    np.empty(n, "f4"),
                    np.empty(n + 1),
                    np.empty((n, 2))[:, 0],
                    args[0] if args else 0,
                    [],
                ]
                places[rng.randrange(3)] = rng.choice(wrong)
            kind = rng.choice([tuple, tuple, tuple, list])
            keywords["out"] = kind(places if rng.random() < 0.95 else places[:2])
        wanted, found = outcome(fresh._called, *args, **keywords), outcome(fresh, *args, **keywords)
        assert wanted == found, (args, keywords)
        taken += not isinstance(found[0], type)
    assert taken > 3000


def test_memory_for_results_is_filled(fresh: Artifact) -> None:
    x, w = np.arange(3.0), np.ones(3)
    wanted = fresh(x, w)
    for _ in range(2):
        places = np.empty(()), np.empty(3), np.empty(3)
        found = fresh(x, w, out=places)
        assert all(a is b for a, b in zip(found, places, strict=True))
        for a, b in zip(wanted, places, strict=True):
            np.testing.assert_array_equal(a, b)
    frozen = np.empty(3)
    frozen.flags.writeable = False
    both = np.empty(6)
    for places, error, message in [
        ((np.empty(()), x, np.empty(3)), ValueError, "the memory of gx in out= may overlap that of x"),
        ((np.empty(()), both[:3], both[2:5]), ValueError, "the memory of gw in out= may overlap that of gx"),
        ((np.empty(()), frozen, np.empty(3)), ValueError, "C-contiguous writable float64 array"),
        ((np.empty(()), np.empty(3)), ValueError, "out= takes 3 arrays, for value, gx, gw; got 2"),
        ((np.empty(()), [0.0] * 3, None), TypeError, "out= takes an array for gx, got list"),
    ]:
        with pytest.raises(error, match=message):
            fresh(x, w, out=places)


def test_one_result_is_no_tuple() -> None:
    art = tf.export(lambda x: x * x, ["f64"], name="square", outputs=["value"])
    for _ in range(3):
        assert type(art(3.0)) is np.ndarray and art(3.0) == art(np.float64(3.0)) == art(np.array(3.0)) == 9.0
    place = np.empty(())
    assert art(4.0, out=place) is place and place == 16.0
    assert art(5.0, out=(place,)) is place and place == 25.0
    assert in_lane(art) and art(True) == 1.0 and art(3) == 9.0


def test_nothing_is_kept(fresh: Artifact) -> None:
    x, w = np.linspace(0.0, 1.0, 4), np.ones(4)
    places = np.empty(()), np.empty(4), np.empty(4)
    watched = (x, w, x.dtype, np.ndarray, tuple, fresh, fresh.__call__, places, *places)
    fresh(x, w)

    def several(count: int) -> None:
        for _ in range(count):
            fresh(x, w)
            fresh(x, w, out=places)

    several(10)
    before = [sys.getrefcount(o) for o in watched]
    tracemalloc.start()
    several(100)
    start = tracemalloc.get_traced_memory()[0]
    several(20_000)
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    several(500_000)
    assert grown < 2000
    grown_by = [sys.getrefcount(o) - count for o, count in zip(watched, before, strict=True)]
    assert max(map(abs, grown_by)) < 10, grown_by  # of a million; the rest belongs to who looks


def test_an_artifact_that_is_over_is_collected(fresh: Artifact, tmp_path: Path) -> None:
    art = tf.load(tmp_path / "weighted.tja")
    art(np.ones(3), np.ones(3))
    call, gone = art.__call__, weakref.ref(art)
    del art
    assert call(np.zeros(3), np.ones(3))[0] == 0.0  # the builtin keeps what it needs
    del call
    gc.collect()
    assert gone() is None


def test_failures_are_those_of_python() -> None:
    def pick(x, k):
        return tf.reduce_sum(tf.gather(x, k) ** 2)

    art = tf.export(pick, ["f64[n]", "i64[2]"], name="pick")
    x, right, wrong = np.arange(4.0), np.array([1, 1]), np.array([0, 4])
    art(x, right)
    assert in_lane(art)
    before = sys.getrefcount(x)
    for _ in range(50):
        with pytest.raises(IndexError, match="index is out of range"):
            art(x, wrong)
    gc.collect()
    assert sys.getrefcount(x) == before
    assert art(x, right)[0] == 2.0


def test_no_memory_for_a_result(fresh: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = np.ones(3), np.ones(3)
    fresh(x, w)
    entry = fresh._lane._entries.table.kept[-1][0]
    third = int(entry[Entry.OUTPUTS]) + 8 * (2 * Output.WORDS + Output.SHAPE)
    size = ctypes.c_int64.from_address(ctypes.c_int64.from_address(third).value)
    before = sys.getrefcount(x.dtype)
    assert size.value == 3
    size.value = 1 << 45  # the first two are given back
    for _ in range(100):
        with pytest.raises(MemoryError):
            fresh(x, w)
    assert abs(sys.getrefcount(x.dtype) - before) < 10  # of hundreds
    size.value = 3
    assert outcome(fresh, x, w) == outcome(fresh._called, x, w)
    table = (ctypes.c_uint64 * Api.WORDS)(*probe.api())
    table[Api.NEW_ARRAY] = ctypes.cast(ctypes.pythonapi.PyErr_NoMemory, ctypes.c_void_p).value
    monkeypatch.setattr(probe, "api", lambda: table)
    broken = builtin.Lane(fresh._lanes[fresh._code_here.target.arch], fresh._executable, fresh._called)
    broken.admit((x.shape, w.shape))
    with pytest.raises(MemoryError):
        broken.builtin(x, w)


def test_work_memory_and_other_threads(tmp_path: Path) -> None:
    """More workspace than fits on the stack, weights in the code, and calls that let other threads run."""
    rng = np.random.default_rng(0)
    weights = tf.constant(rng.normal(size=(60, 60)), tf.float64)

    def loss(x):
        return tf.reduce_sum(tf.tanh(tf.tanh(x @ weights) @ weights) ** 2)

    art = tf.export(loss, ["f64[n,60]"], name="net")
    inputs = [rng.normal(size=(n, 60)) for n in (1, 3, 7, 60, 100, 136)]
    wanted = [outcome(art._called, x) for x in inputs]
    assert [outcome(art, x) for x in inputs] == wanted
    assert in_lane(art)

    def many(seed: int) -> bool:
        order = np.random.default_rng(seed).integers(0, len(inputs), 60)
        return all(outcome(art, inputs[k]) == wanted[k] for k in order)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(many, range(16)))


def test_an_artifact_is_a_callable_with_a_signature(fresh: Artifact) -> None:
    assert str(inspect.signature(fresh)) == "(x, w, /, *, out=None)"
    assert "codes" in inspect.signature(Artifact).parameters and callable(fresh)
    x = np.ones(3)
    assert copy.copy(fresh)(x, x)[0] == fresh(x, x)[0] == partial(fresh, x)(x)[0]


def test_many_shapes_and_none(fresh: Artifact) -> None:
    for n in [*range(1, 40), *range(1, 40)]:
        x = np.linspace(0.0, 1.0, n)
        assert outcome(fresh, x, x) == outcome(fresh._called, x, x)
    assert fresh._lane._entries.count == builtin.MAX_ENTRIES
    art = tf.export(lambda x: x + 1.0, ["f64[n,2]"], name="plus", outputs=["value"])
    for _ in range(2):
        assert art(np.empty((0, 2))).shape == (0, 2)


def test_large_results_are_left_to_python(fresh: Artifact) -> None:
    for n in range(20):
        x = np.ones((1 << 14) + n)
        assert fresh(x, x)[1].shape == x.shape
    assert fresh._lane._entries.count == 0 and not in_lane(fresh)
    fresh(np.ones(3), np.ones(3))
    assert in_lane(fresh)  # they have taken nobody's room


def test_without_a_lane_calls_go_through_python(fresh: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "api", lambda: None)
    x = np.ones(3)
    for _ in range(2):
        np.testing.assert_array_equal(fresh(x, x)[1], np.full(3, np.cos(1.0)))
    assert not in_lane(fresh)


def test_layouts_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert room.is_known() and all(map(probe._is_laid_out, probe._samples()))
    monkeypatch.setattr(probe.words, "ARRAY_FLAGS", probe.words.ARRAY_FLAGS + 8)
    assert not all(map(probe._is_laid_out, probe._samples()))
    monkeypatch.setattr(sys, "version_info", (3, 99))
    assert not room.is_known()


@pytest.fixture(scope="module")
def counting() -> Artifact:
    def count(start, stop):
        x = start
        while x < stop:
            x = x + 1.0
        return x

    return tf.export(count, ["f64", "f64"], name="count", outputs=["value"])


def test_loops_that_take_long_go_to_python(counting: Artifact, tmp_path: Path) -> None:
    """Machine code that runs for long asks whether to go on, and only Python has an answer."""
    counting.save(tmp_path / "count.tja")
    art = tf.load(tmp_path / "count.tja")
    assert art(0.0, 3.0) == 3.0 and art._executable.polls and in_lane(art)
    entry = art._lane._entries.table.kept[-1][0]
    assert art(0.0, 5.0) == 5.0 and not entry[Entry.LONG]
    assert art(0.0, 1e8) == 1e8 and entry[Entry.LONG]
    assert art(0.0, 7.0) == 7.0
    again = tf.load(tmp_path / "count.tja")
    assert again(0.0, 3.0) == 3.0

    def many(seed: int) -> bool:
        return all(again(0.0, float(k % 50)) == k % 50 for k in range(seed, seed + 500))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(many, range(16)))


def test_a_loop_in_the_lane_is_interrupted(counting: Artifact, tmp_path: Path) -> None:
    counting.save(tmp_path / "count.tja")
    art = tf.load(tmp_path / "count.tja")
    art(0.0, 3.0)
    assert in_lane(art)
    for _ in range(2):
        timer = threading.Timer(0.2, _thread.interrupt_main)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            art(0.0, np.inf)
        timer.join()
    assert art(0.0, 2.0) == 2.0
