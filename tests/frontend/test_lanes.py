"""Calls that machine code makes give what the way through Python gives, whatever the arguments, and keep nothing."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import ctypes
import gc
import inspect
import os
import pickle
import random
import subprocess
import sys
import threading
import tracemalloc
import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tf
from checks.operators import needs_lane
from tracejit.core.settings import configure, settings
from tracejit.frontend.function import function, lanes
from tracejit.frontend.function.function import Function
from tracejit.frontend.recording import direct_calls
from tracejit.frontend.recording.direct_calls import lane_code
from tracejit.frontend.state.variable import changing
from tracejit.runtime.lane import called, entries, probe, room, words

pytestmark = needs_lane


class Sub(np.ndarray):
    """No array but like one."""


Pair = namedtuple("Pair", "a b")
Empty = namedtuple("Empty", "")


class Typed(NamedTuple):
    first: Any
    second: Any


class Backwards(NamedTuple):
    """One that does not say what it holds in the order it holds it."""

    a: Any
    b: Any

    def __iter__(self) -> Iterator[Any]:
        return reversed((self.a, self.b))


class Loud(Pair):
    """One that hears of each of its kind."""

    made = 0

    def __new__(cls, a: Any, b: Any) -> Loud:
        Loud.made += 1
        return super().__new__(cls, a, b)


@pytest.fixture(autouse=True, scope="module")
def made() -> Iterator[None]:
    """The lane's code, and lanes, which otherwise are made when they are worth it."""
    lane_code(make=True)  # loaded: on disk it may make room for what other processes keep
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(function, "_SOON", 2)
        yield


def in_python(f: Any, *args: Any, **kwargs: Any) -> Any:
    """The same call the Python way."""
    return python(f)(*args, **kwargs)


def python(f: Any) -> Any:
    """The function as Python calls it."""
    return partial(Function.__call__, f)


def took_the_lane(f: Any, *args: Any, **kwargs: Any) -> bool:
    """Is a call made by machine code?"""
    f._calls_to_wait = 1000
    f(*args, **kwargs)
    left, f._calls_to_wait = f._calls_to_wait, 2
    return left == 1000


def ready(f: Any, *args: Any, **kwargs: Any) -> Any:
    """The function, once calls like this take the lane."""
    f._calls_to_wait = 2
    for _ in range(3):
        f(*args, **kwargs)
    assert took_the_lane(f, *args, **kwargs)
    return f


def outcome(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a call gives, or how it fails."""
    try:
        return parts(f(*args, **kwargs))
    except Exception as error:
        return type(error), str(error)


def parts(x: Any) -> Any:
    if isinstance(x, dict):
        return type(x), [(k, parts(y)) for k, y in x.items()]
    if isinstance(x, (tuple, list)):
        return type(x), [parts(y) for y in x]
    if x is None:
        return None
    array = x.array
    return type(x), x.dtype, x.shape, x.spec, array.tobytes(), array.flags.carray, type(array)


x4 = np.arange(4.0)


@pytest.mark.parametrize(
    ("f", "args", "kwargs"),
    [
        (lambda x: x * 2 + 1, (x4,), {}),
        (lambda x: x * 2 + 1, (tf.constant(x4),), {}),
        (lambda x, y: (x + y, x * y), (x4, x4), {}),
        (lambda x, y: [x + y, {"b": x, "a": (y,)}, None], (x4, tf.constant(x4)), {}),
        (lambda d: {k: v * 2 for k, v in d.items()}, ({"b": x4, "a": x4 + 1},), {}),
        (lambda d: d["b"][0] + d["a"]["z"] * d["a"]["c"], ({"b": [x4], "a": {"z": x4, "c": x4 + 1}},), {}),
        (lambda x, n: x * n, (x4, 3), {}),
        (lambda x, n: x * n, (x4, 1 << 40), {}),
        (lambda x, n: x * n, (x4, 0.5), {}),
        (lambda x, how: x if how == "same" else -x, (x4, "same"), {}),
        (lambda x, yes, dtype: tf.cast(x, dtype) if yes else x, (x4, True, np.dtype("f4")), {}),
        (lambda x, y=None, n=2: x * n if y is None else y, (x4,), {}),
        (lambda x, y: x - y, (), {"y": x4, "x": x4 + 1}),
        (lambda x, *, scale=1: x * scale, (x4,), {"scale": 3}),
        (lambda *xs: tf.add_n(list(xs)), tuple(x4 + k for k in range(40)), {}),
        (lambda x: tf.reduce_sum(x), (np.ones((3, 5), np.float32),), {}),
        (lambda x: x > 0, (np.arange(-3, 3),), {}),
        (lambda x: x * 1j, (x4,), {}),
        (lambda x: x, (np.zeros((0, 3)),), {}),
        (lambda x: -x, (np.array(2.0),), {}),
        (lambda x: -x, (np.float64(2.0),), {}),
        (lambda x, y: x * y, (x4, np.float32(2.0)), {}),
        (lambda x, ns: (x[ns[0]], ns), (x4, [np.int64(-1), np.uint8(200), np.int16(-7)]), {}),
        (lambda x, yes: tf.where(yes, x, -x), (x4, np.bool_(False)), {}),
        (lambda x: x * 2, (np.float16(1.5),), {}),
        (lambda: tf.constant([1.0, 2.0]), (), {}),
        (lambda x: (x + 1, tf.reduce_sum(x)), (np.zeros(1 << 14),), {}),  # memory of the pool
        (
            lambda x: tf.tanh(tf.tanh(x @ x) @ x) @ x,
            (np.ones((400, 400)) * 0.01,),
            {},
        ),  # and a large workspace
        (lambda x: None, (x4,), {}),
        (lambda x: (), (x4,), {}),
        (lambda p: p.a + p.b, (Pair(x4, x4),), {}),
        (lambda x: Pair(x, x * 2), (x4,), {}),
        (lambda p: [Typed(p.second.a, Pair(p.first, None)), p], (Typed(x4, Pair(x4 + 1, x4)),), {}),
        (lambda p, q: (p.a, q), (Pair(x4, ()), Empty()), {}),
    ],
)
def test_what_takes_the_lane(f: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> None:
    f = ready(tf.function(f), *args, **kwargs)
    assert outcome(f, *args, **kwargs) == outcome(python(f), *args, **kwargs)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda d: d["a"], (OrderedDict(a=x4),)),
        (lambda p: p.a + p.b, (Loud(x4, x4),)),
        (lambda p: p.a + p.b, (Backwards(x4, x4 + 1),)),
        (lambda x: Loud(x, x), (x4,)),
        (lambda x: x * 2, (np.complex64(1.0),)),
        (lambda x: tf.print("seen", x, output_stream=sys.stderr) or x, (x4,)),
        (lambda x, scale=x4: x * scale, (x4,)),
    ],
)
def test_what_does_not(f: Callable[..., Any], args: tuple) -> None:
    f = tf.function(f)
    for _ in range(4):
        assert outcome(f, *args) == outcome(python(f), *args)
    assert not took_the_lane(f, *args)


def test_numbers_of_numpy_take_the_place_of_arrays_of_their_dtype() -> None:
    f = ready(tf.function(lambda x, n: x * n), x4, np.array(2))
    alike = [np.int64(-3), np.array(5), tf.constant(7, tf.int64), np.int64(2**62)]
    others = [np.longlong(3), np.int32(3), np.float64(3.0), np.bool_(True), np.array([3])]
    for n in (*alike, *others):
        assert took_the_lane(f, x4, n) is any(n is x for x in alike), repr(n)
        assert outcome(f, x4, n) == outcome(python(f), x4, n)
    assert took_the_lane(f, x4, np.int64(1))  # a call that Python made leaves the entry


def test_columns_are_not_looked_at_every_other_time(monkeypatch: pytest.MonkeyPatch) -> None:
    f = ready(tf.function(lambda x: x * 2), x4)
    offer, offered = lanes.Lane.offer, []
    monkeypatch.setattr(lanes.Lane, "offer", lambda *given: (offered.append(given), offer(*given))[1])
    column = np.ones((4, 3))[:, 1]
    for _ in range(60):
        f(column)
    assert len(offered) == 1
    assert took_the_lane(f, x4)


def test_whatever_the_arguments_are_it_is_as_in_python() -> None:
    rng, numbers = random.Random(0), np.random.default_rng(0)

    def body(x, d, t, n=2, *, k=1.0):
        return {"y": x * n + d["b"] * k, "z": [d["a"] + t[0], (t[1][0] * 2.0, None)]}

    f = tf.function(body)
    taken = 0

    def array(n: int) -> Any:
        x = numbers.normal(size=n)
        frozen = x.copy()
        frozen.flags.writeable = False
        odd = [
            x.astype("f4"), x.astype(">f8"), x.astype("c16"), x.view(Sub), np.repeat(x, 2)[::2], x[:, None], frozen,
            np.zeros(n + 1), np.zeros(0), np.array(2.0), 2.0, None, "x", [1.0], object(), x[::-1], x.astype(np.int64),
            np.frombuffer(bytearray(8 * n + 1), "u1")[1:].view("f8"), np.float64(1.0), np.float32(1.0), (x,), True,
            tf.Variable(x), tf.constant(x[::-1]), pickle.loads(pickle.dumps(x)),
        ]  # fmt: skip
        if rng.random() < 0.04:
            return rng.choice(odd)
        return tf.constant(x) if rng.random() < 0.5 else x

    def nest(n: int) -> tuple:
        d: Any = {"b": array(n), "a": array(n)}
        t: Any = (array(n), [array(n)])
        chance = rng.random()
        if chance < 0.03:
            d = rng.choice(
                [dict(reversed(d.items())), OrderedDict(d), {**d, "c": 1.0}, {"b": d["b"]}, None, [*d]]
            )
        elif chance < 0.06:
            t = rng.choice([[*t], (*t, 1), t[:1], Pair(*t), (t[0], (t[1],)), (t[0], t[0]), (t[0], [])])
        args = [array(n), d, t]
        if chance > 0.9:
            args.append(rng.choice([2, 3, 2.0, True, np.int64(2), array(n)]))
        return tuple(args[: len(args) if rng.random() < 0.98 else rng.randrange(4)])

    for _ in range(800):
        args = nest(rng.choice([3, 3, 3, 4]))
        kwargs: dict[str, Any] = {}
        if rng.random() < 0.2:
            kwargs = rng.choice(
                [{"k": 1.0}, {"k": 2.0}, {"k": array(3)}, {"n": 2}, {"none": 1}, {"k": 1.0, "n": 2}]
            )
        f._calls_to_wait = 1 if rng.random() < 0.2 else 1000
        was = f._calls_to_wait
        found = outcome(f, *args, **kwargs)
        taken += f._calls_to_wait == was and isinstance(found[1], list)
        assert found == outcome(python(f), *args, **kwargs), (args, kwargs)
    assert taken > 150, taken


# ---- who is in charge --------------------------------------------------------------------------------------


def test_tapes_and_traces_see_the_calls() -> None:
    x = tf.constant(x4)
    f = ready(tf.function(lambda x: tf.reduce_sum(x**2)), x)
    for _ in range(3):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        np.testing.assert_array_equal(tape.gradient(y, x).array, 2 * x4)
        assert took_the_lane(f, x)
    assert tf.grad(f)(x).array.tolist() == (2 * x4).tolist()
    outer = tf.function(lambda x: f(x) + f(x + 1))
    assert float(outer(x)) == float(f(x)) + float(f(x + 1))
    assert tf.vmap(f)(tf.constant([x4, x4])).shape == (2,)


def test_settings_are_those_of_the_call(process_settings: None) -> None:
    f = ready(tf.function(lambda x: x * 2.0), x4)
    ran: list[int] = []

    def body(x):
        ran.append(1)
        return x * 2.0

    g = ready(tf.function(body), x4)
    with settings(eager=True):
        g(x4)
    assert len(ran) == 2
    for _ in range(3):
        with settings(default_dtype="float64"):
            assert not took_the_lane(f, x4)
            ready(f, x4)  # those of a block are settings like any others, while it lasts
        assert not took_the_lane(f, x4)
    for _ in range(40):
        with settings(default_dtype="float64"):
            ready(f, x4) if f._lane._entries.forgotten < lanes._MOST_SETTINGS else f(x4)
    assert len(f._lane._entries.table.kept) < 100
    f = ready(tf.function(lambda x: x * 2.0), x4)
    context = contextvars.copy_context()

    async def inside() -> bool:
        with settings(check=True):
            await asyncio.sleep(0)
            return took_the_lane(f, x4)

    async def outside() -> bool:
        await asyncio.sleep(0)
        return f(x4).shape == (4,)

    async def both() -> list[bool]:
        return await asyncio.gather(inside(), outside())

    assert context.run(asyncio.run, both()) == [False, True]
    for fast in (False, True):
        configure(fast=fast)
        for _ in range(4):
            f(x4)
        assert took_the_lane(f, x4) is fast
    configure(eager=True)
    g(x4)
    assert len(ran) == 3


@pytest.fixture
def process_settings():
    from tracejit.core import settings as module

    before = module.of_process()
    yield
    module._process = before
    module.settings_changed()


def test_each_thread_has_a_mode_of_its_own() -> None:
    x = tf.constant(x4)
    f = ready(tf.function(lambda x: tf.reduce_sum(x**2)), x)
    inside, done = threading.Event(), threading.Event()
    gradients = []

    def record() -> None:
        with tf.GradientTape() as tape:
            tape.watch(x)
            inside.set()
            done.wait(10)
            y = f(x)
        gradients.append(tape.gradient(y, x))

    thread = threading.Thread(target=record)
    thread.start()
    inside.wait(10)
    assert took_the_lane(f, x)
    done.set()
    thread.join()
    np.testing.assert_array_equal(gradients[0].array, 2 * x4)

    def often(k: int) -> bool:
        y = tf.constant(x4 + k)
        return all(float(f(y)) == float(np.sum((x4 + k) ** 2)) for _ in range(200))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(often, range(32)))


# ---- Variables ---------------------------------------------------------------------------------------------


def test_variables_are_read_and_assigned() -> None:
    v, w = tf.Variable(x4), tf.Variable(x4)

    @tf.function
    def step(rate):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v + w * w)
        a, b = tape.gradient(loss, [v, w])
        v.assign_sub(a * rate)
        w.assign_add(b * rate)
        return loss, v + 0.0

    rate = tf.constant(0.1, tf.float64)
    twin_v, twin_w = x4.copy(), x4.copy()
    for _ in range(20):
        loss, now = step(rate)
        np.testing.assert_allclose(float(loss), np.sum(twin_v**2 + twin_w**2))
        twin_v = twin_v - 2 * twin_v * 0.1
        twin_w = twin_w + 2 * twin_w * 0.1
        np.testing.assert_allclose(v.array, twin_v)
        np.testing.assert_array_equal(now.array, v.array)
        twin_v, twin_w = v.array.copy(), w.array.copy()
    assert took_the_lane(step, rate)
    v.assign(np.ones(4))
    step(rate)
    np.testing.assert_allclose(v.array, 0.8)
    v.assign(np.repeat(np.ones(4), 2)[::2])  # of a layout that Python looks after
    step(rate)
    np.testing.assert_allclose(v.array, 0.8)
    kept = v.value()
    step(rate)
    np.testing.assert_allclose(kept.array, 0.8)


def test_a_variable_as_an_argument() -> None:
    v, w = tf.Variable(x4), tf.Variable(x4 + 1)
    f = ready(tf.function(lambda v: v.assign_add(tf.ones(4, tf.float64)) * 1.0), v)
    np.testing.assert_array_equal(f(w).array, x4 + 2)
    before = v.array
    np.testing.assert_array_equal(f(v).array, before + 1)


def test_a_failing_call_assigns_nothing() -> None:
    v = tf.Variable(0.0)

    @tf.function
    def step(x, k):
        v.assign_add(1.0)
        return tf.gather(x, k)

    good, bad = np.array([1, 2]), np.array([1, 9])
    ready(step, x4, good)
    count = float(v)
    for _ in range(5):
        with pytest.raises(IndexError, match="index is out of range"):
            step(x4, bad)
    assert float(v) == count
    step(x4, good)
    assert float(v) == count + 1


def test_a_variable_that_is_gone() -> None:
    held = {"v": tf.Variable(x4)}
    f = ready(tf.function(lambda x: x + held["v"]), x4)
    held.clear()
    gc.collect()
    with pytest.raises(tf.errors.TracejitError, match="no longer exists"):
        f(x4)


def test_no_update_is_lost() -> None:
    v = tf.Variable(0.0, dtype=tf.float64)
    step = tf.function(lambda: v.assign_add(1.0))
    for _ in range(4):
        step()
    start = float(v)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:

        def compiled(_: int) -> None:
            for _ in range(300):
                step()

        def eager(_: int) -> None:
            for _ in range(100):
                v.assign_add(1.0)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda k: (compiled if k % 2 else eager)(k), range(16)))
    finally:
        sys.setswitchinterval(switch)
    assert float(v) == start + 8 * 300 + 8 * 100


def test_while_another_thread_changes_variables_calls_wait() -> None:
    v = tf.Variable(0.0)
    step = tf.function(lambda: v.assign_add(1.0))
    for _ in range(4):
        step()
    assert took_the_lane(step)
    count = float(v)
    threads = [threading.Thread(target=step) for _ in range(3)]
    with changing:
        for t in threads:
            t.start()
        assert float(v) == count
        step()  # this thread may
        assert float(v) == count + 1
    for t in threads:
        t.join()
    assert float(v) == count + 4


# ---- what calls keep ---------------------------------------------------------------------------------------


def test_nothing_is_kept() -> None:
    """A million calls, of all kinds, that succeed and that go to Python."""
    v = tf.Variable(x4)

    @tf.function
    def step(d, n):
        v.assign_add(d["x"])
        return {"sum": tf.reduce_sum(v), "all": (v * n, [d["y"]], None)}

    x, y = x4.copy(), tf.constant(x4)
    d = {"x": x, "y": y}
    key = "a rather long key of a dict"
    plain = tf.function(lambda x: {key: x * 2})
    pick = tf.function(lambda x, k: tf.gather(x, k))
    wrong = np.array([7])
    for _ in range(4):
        step(d, 2), plain(x), pick(x, np.array([1]))
    assert took_the_lane(step, d, 2) and took_the_lane(plain, x)
    watched = (
        x,
        y,
        d,
        x.dtype,
        v,
        tf.Tensor,
        tuple,
        dict,
        list,
        None,
        key,
        step,
        plain,
        changing,
        np.ndarray,
    )

    def several(count: int) -> None:
        for _ in range(count):
            step(d, 2)
            plain(x)
            plain(y)

    def failing(count: int) -> None:
        for _ in range(count):
            with pytest.raises(IndexError):
                pick(x, wrong)

    several(10), failing(10)
    gc.collect()
    before = [sys.getrefcount(o) for o in watched]
    objects = len(gc.get_objects())
    tracemalloc.start()
    several(100), failing(5)
    start = tracemalloc.get_traced_memory()[0]
    several(5000), failing(50)
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    resident = rss()
    several(330_000)
    gc.collect()
    assert rss() - resident < 4 << 20
    assert grown < 8000
    assert abs(len(gc.get_objects()) - objects) < 200
    grown_by = [sys.getrefcount(o) - count for o, count in zip(watched, before, strict=True)]
    assert max(map(abs, grown_by)) < 200, grown_by  # of a million; the rest belongs to who looks


WAYS: list[Callable[[Any], Any]] = [
    lambda y: y,
    lambda y: y.array,
    lambda y: y.numpy(),
    lambda y: np.asarray(y),
    lambda y: y.array[1:],
    lambda y: y.array.T,
    lambda y: memoryview(y.array),
    lambda y: np.frombuffer(y.array, np.uint8),
    lambda y: tf.Variable(y),
    lambda y: tf.constant(y),
    lambda y: tf.identity(y),
    lambda y: tf.reshape(y, (2, 2)),
    lambda y: y.array.ctypes,
    lambda y: y.array.flat,
    lambda y: np.from_dlpack(y.array),
]


def seen(kept: Any) -> bytes:
    if hasattr(kept, "_arr"):  # of ctypes
        kept = kept._arr
    return bytes(kept) if isinstance(kept, memoryview) else np.array(kept).tobytes()


def test_results_that_somebody_has_do_not_change() -> None:
    """Memory and objects of results are used again, but only of those that nobody has, in whatever form."""
    v = tf.Variable(x4)

    @tf.function
    def f(x):
        v.assign_add(x)
        return {"y": x * 2, "z": [v + 1, x - 1]}

    ready(f, x4)
    rng = random.Random(0)
    kept: list[tuple[Any, bytes]] = []
    serials: set[int] = set()
    for k in range(3000):
        x = x4 + k
        before = v.array.copy()
        result = f(x)
        wanted = [x * 2, before + x + 1, x - 1]
        for y, expected in zip((result["y"], *result["z"]), wanted, strict=True):
            assert y.serial not in serials and y.array.tobytes() == expected.tobytes() and y.shape == (4,)
            serials.add(y.serial)
            if rng.random() < 0.2:
                way = rng.choice(WAYS)(y)
                kept.append((way, seen(way)))
        if rng.random() < 0.1:
            kept.append((v.value(), v.array.tobytes()))
        if rng.random() < 0.05:
            v.assign(
                rng.choice(
                    [y, kept[-1][0] if isinstance(kept[-1][0], tf.Tensor) and kept[-1][0].ndim == 1 else x]
                )
            )
        if rng.random() < 0.02:
            y.array.flags.writeable = False
        if len(kept) > 40:
            del kept[rng.randrange(len(kept))]
        for way, was in kept:
            assert seen(way) == was, way
        if rng.random() < 0.5:
            del result, y


def test_results_are_given_again() -> None:
    f = ready(tf.function(lambda x: x * 2), x4)
    one = id(f(x4))
    assert {id(f(x4)) for _ in range(9)} <= {one, id(f(x4))}
    y = f(x4)
    gone = weakref.ref(y)
    number = y.serial
    del y
    z = f(x4)
    assert gone() is not z and z.serial > number  # what is referred to weakly is not given again
    for _ in range(9):
        z = f(z)  # one is the argument while the other is the result
    np.testing.assert_array_equal(z.array, x4 * 2**10)
    with tf.GradientTape() as tape:
        tape.watch(z)
        w = z * z
    for _ in range(5):
        f(z)
    np.testing.assert_array_equal(tape.gradient(w, z).array, z.array * 2)


def rss() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def test_functions_are_collected() -> None:
    f = ready(tf.function(lambda x: x + 1), x4)
    gone = weakref.ref(f)
    del f
    assert gone() is None
    f = ready(tf.function(lambda x: x + 1), x4)
    f.itself = [f]
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None


def test_a_function_that_is_dropped_while_it_runs() -> None:
    held = [tf.function(lambda x, k: tf.gather(x, k))]
    ready(held[0], x4, np.array([1]))
    assert held.pop()(x4, np.array([2])).array == [2.0]

    def slow(n):
        x = n
        while x < 2e7:
            x = x + 1.0
        return x

    f = [tf.function(slow)]
    start = tf.constant(2e7 - 5, tf.float64)
    ready(f[0], start)
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(f.pop()(start)))
    thread.start()
    gc.collect()
    thread.join()
    assert float(results[0]) == 2e7


def test_large_arguments_may_be_dropped_while_the_call_runs() -> None:
    """Other threads run meanwhile, and take away what the call reads."""
    f = tf.function(lambda d, t: tf.reduce_sum(tf.sin(d["x"])) + tf.reduce_sum(t[0]))
    big = np.ones(200_000)
    wanted = float(in_python(f, {"x": big}, [big]))
    d, t = {"x": big}, [big]
    ready(f, d, t)
    stop = threading.Event()

    def replace() -> None:
        while not stop.is_set():
            d["x"], t[0] = np.ones(200_000), np.ones(200_000)

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        assert {float(f(d, t)) for _ in range(200)} == {wanted}
    finally:
        stop.set()
        thread.join()


def test_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    f = ready(tf.function(lambda x: (x * 2, [x + 1])), x4)
    outputs = int(f._lane._entries.table.kept[-1][0][words.Entry.OUTPUTS])
    second = outputs + 8 * (words.Output.WORDS + words.Output.SHAPE)
    size = ctypes.c_int64.from_address(ctypes.c_int64.from_address(second).value)
    before = sys.getrefcount(x4.dtype)
    size.value = 1 << 45
    for _ in range(100):
        with pytest.raises(MemoryError):
            f(x4)
    size.value = 4
    assert abs(sys.getrefcount(x4.dtype) - before) < 10
    assert outcome(f, x4) == outcome(python(f), x4)


# ---- what a function is ------------------------------------------------------------------------------------


@tf.function
def global_function(x, n=2):
    """Doubled."""
    return x * n


def test_a_function_is_what_it_was() -> None:
    f = ready(global_function, x4)
    assert isinstance(f, Function) and type(f).__name__ == "Function" and callable(f)
    assert pickle.loads(pickle.dumps(f)) is f and copy.copy(f) is f and copy.deepcopy(f) is f
    assert (
        str(inspect.signature(f)) == "(x, n=2)"
        and f.__doc__ == "Doubled."
        and f.__name__ == "global_function"
    )
    assert inspect.unwrap(f) is f.python_function and weakref.ref(f)() is f
    assert hash(f) == hash(f) and f == f and repr(f).startswith("<tracejit.function global_function(x, n=2)")
    f.note = 1
    assert f.note == 1 and "note" in vars(f)
    assert type(f).__doc__ == Function.__doc__
    assert f.__call__(x4).array.tolist() == f(x4).array.tolist() == f(*(x4,)).array.tolist()
    np.testing.assert_array_equal(f(x4, n=2).array, x4 * 2)


def test_many_arguments_that_are_not_for_the_lane() -> None:
    f = tf.function(lambda *xs, **named: tf.add_n([*xs, *named.values()]))
    for n in (1, 15, 16, 17, 60, 200):
        args, kwargs = [x4] * n, {f"k{i}": x4 for i in range(n)}
        for _ in range(4):
            assert outcome(f, *args, **kwargs) == outcome(python(f), *args, **kwargs)


def test_a_subclass_may_have_calls_of_its_own() -> None:
    class Counting(Function):
        calls = 0

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return super().__call__(*args, **kwargs)

    f = Counting(lambda x: x + 1)
    for _ in range(10):
        f(x4)
    assert f.calls == 10


def test_methods() -> None:
    class Model:
        def __init__(self, k: float):
            self.v = tf.Variable(x4 * k)

        @tf.function
        def __call__(self, x):
            return x * self.v

        @tf.function
        def other(self, x, n=1):
            return {"n": x * n + self.v}

    a, b = Model(1.0), Model(2.0)
    for _ in range(5):
        np.testing.assert_array_equal(a(x4).array, x4 * x4)
        np.testing.assert_array_equal(b(x4).array, x4 * x4 * 2)
        np.testing.assert_array_equal(b.other(x4)["n"].array, x4 * 3)
        np.testing.assert_array_equal(b.other(x4, n=2)["n"].array, x4 * 4)
    assert took_the_lane(b.other.function, x4)
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None


def test_many_shapes() -> None:
    f = tf.function(lambda x: x + 1, reduce_retracing=True)
    for n in [*range(1, 30)] * 4:
        np.testing.assert_array_equal(f(np.ones(n)).array, np.full(n, 2.0))
    assert f._lane._entries.count <= entries.MAX_ENTRIES


def test_nests_that_change_while_calls_are_written_down() -> None:
    """Other threads give a nest other contents all the time; what a call gives belongs to what it found."""
    f = tf.function(lambda d: (d["n"] * 1.0, d["x"] * 2.0, d["x"] * d["k"]))
    contents = [
        {"n": np.array(float(n)), "x": np.full(n, float(n)), "k": k} for n in (1, 2, 3) for k in (1, 2)
    ]
    d: dict[str, Any] = dict(contents[0])
    stop = threading.Event()

    def change() -> None:
        rng = random.Random(0)
        while not stop.is_set():
            d.update(rng.choice(contents))

    thread = threading.Thread(target=change)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        for k in range(600):
            f._calls_to_wait = 1 if k % 3 == 0 else 1000
            _, doubled, times = f(d)
            assert doubled.array.tolist() == [2.0 * doubled.shape[0]] * doubled.shape[0]
            assert set(times.array / doubled.array) <= {0.5, 1.0}
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(switch)


def test_loops_that_take_long_go_to_python() -> None:
    @tf.function
    def count(start, stop):
        x = start
        while x < stop:
            x = x + 1.0
        return x

    zero = tf.constant(0.0, tf.float64)
    few, many = tf.constant(3.0, tf.float64), tf.constant(3e7, tf.float64)
    ready(count, zero, few)
    assert float(count(zero, many)) == 3e7
    assert not took_the_lane(count, zero, few)
    assert float(count(zero, few)) == 3.0


@pytest.mark.parametrize("known", [False, True])
def test_where_layouts_are_unknown_calls_go_the_python_way(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cached in (room.with_room, called.api):
        cached.cache_clear()
    monkeypatch.setattr(room, "is_known", lambda: known)
    monkeypatch.setattr(probe, "api", lambda: None)
    try:
        f = tf.function(lambda x: x * 2)
        assert (type(f) is Function) is not known
        for _ in range(5):
            np.testing.assert_array_equal(f(x4).array, x4 * 2)
        assert f._lane._entries is None
    finally:
        monkeypatch.undo()
        for cached in (room.with_room, called.api):
            cached.cache_clear()


_PROCESS = """
import os, sys, threading
import numpy as np
import tracejit as tf
from tracejit.compiler import kernels
kernels.call_lane()
x = np.arange(4.0)
v = tf.Variable(x)
f = tf.function(lambda x: {"y": x * 2 + v})
for _ in range(9): f(x)
class Late:
    def __del__(self):
        f and f(x)
late = Late()
threading.Thread(target=lambda: [f(x) for _ in range(10)]).start()
if hasattr(os, "fork"):
    child = os.fork()
    if not child:
        ok = all(f(x)["y"].array.tolist() == (x * 3).tolist() for _ in range(100))
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
cycle = [f, late]
cycle.append(cycle)
print("done", f._calls_to_wait)
"""


def test_processes_end_well() -> None:
    """With living functions, in cycles, called while the interpreter ends, and in a child made by fork."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _PROCESS], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0 and done.stdout.startswith("done"), done.stderr


def test_the_code_is_not_made_for_a_few_calls(cache_dir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_calls, "_loaded", None)
    monkeypatch.setattr(lanes, "_MANY", 20)
    f = tf.function(lambda x: x * 3)
    for _ in range(20):
        f(x4)
    assert direct_calls._loaded is None and f._lane._waited
    for _ in range(10):
        f(x4)
    assert direct_calls._loaded is not None and took_the_lane(f, x4)


def test_named_tuples_are_let_go() -> None:
    v = tf.Variable(x4)

    @tf.function
    def f(p, k):
        v.assign_add(p.a)
        return Typed(Pair(p.a * 2, None), tf.gather(p.b, k))

    p, good, bad = Pair(x4.copy(), tf.constant(x4)), np.array([1]), np.array([9])
    ready(f, p, good)
    watched = [p, p.a, p.b, Pair, Typed, None, v, good, bad]

    def several(count: int) -> None:
        for _ in range(count):
            result = f(p, good)
            assert type(result) is Typed and type(result.first) is Pair
            try:
                f(p, bad)
            except IndexError:
                pass

    several(20)
    gc.collect()
    before, objects = [sys.getrefcount(o) for o in watched], len(gc.get_objects())
    several(500)
    gc.collect()
    grown = [sys.getrefcount(o) - count for o, count in zip(watched, before, strict=True)]
    assert max(map(abs, grown)) < 20, grown
    assert abs(len(gc.get_objects()) - objects) < 100
