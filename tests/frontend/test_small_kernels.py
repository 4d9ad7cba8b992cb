"""Small kernels give what NumPy's functions give, bit by bit, or nothing."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest

import tracejit as tf
from checks.operators import in_python, lane, needs_lane  # noqa: F401  lane is a fixture
from tracejit.core.op import OPS
from tracejit.frontend import small_kernels
from tracejit.frontend.tape import operator_lane
from tracejit.runtime.lane.operator_words import LARGEST

pytestmark = needs_lane
laid_out = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.3.0", reason="ufuncs of an older NumPy are called as ever"
)
UFUNCS = sorted(name for name, op in OPS.items() if op.ufunc)
SHAPES = [(), (1,), (0,), (2, 0), (1, 1), (3,), (7,), (4, 5), (16, 16), (2, 3, 4), (LARGEST,)]


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers of all sizes, with infinities, NaN and zeros of both signs."""
    x = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 3, size=shape)
    for value in (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 1e-310):
        x = np.where(rng.random(shape) < 0.04, value, x)
    with np.errstate(all="ignore"):
        return np.asarray(x).astype(dtype)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", UFUNCS)
def test_the_same_bits(name: str) -> None:
    op, rng = OPS[name], np.random.default_rng(1)
    taken = 0
    for dtype in ("float64", "float32", "int64", "int32", "bool", "complex128", "complex64", "float16"):
        for shape in SHAPES:
            for other in (shape, ()):
                given = [numbers(rng, s, dtype) for s in (shape, other)][: op.kernel.nin]
                given = given[::-1] if rng.random() < 0.5 else given
                got = op.small(*given)
                if got is None:
                    continue
                taken += 1
                expected = op.kernel(*given, out=...)
                assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
                assert got.tobytes() == expected.tobytes(), (dtype, shape, given)
                assert got.flags.owndata and got.flags.carray and type(got) is np.ndarray
    assert taken > 20


class Sub(np.ndarray):
    """No array but like one."""


@laid_out
def test_what_it_does_not_know() -> None:
    x = np.arange(8.0)
    add, sin = OPS["add"].small, OPS["sin"].small
    read_only = np.arange(8.0)
    read_only.flags.writeable = False
    assert sin(read_only) is not None and add(x, read_only).tolist() == (x + x).tolist()
    pairs = [
        (x, x[:4]), (x, x.astype("float32")), (x, x.astype(">f8")), (x, x.view(Sub)), (x.view(Sub), x), (x, 1.0),
        (1.0, x), (x, x.reshape(2, 4)), (x[::2], x[::2]), (x, None), (x.reshape(2, 4).T, x.reshape(4, 2)),
        (np.zeros(LARGEST + 1), np.zeros(LARGEST + 1)), (x.astype(object), x.astype(object)), (x, np.float64(1)),
        (x, tf.constant(x)), (np.zeros(9, "u1")[1:].view("f8"), x[:1]),
    ]  # fmt: skip
    for a, b in pairs:
        assert add(a, b) is None, (a, b)
    for args in ((), (x,), (x, x, x)):
        assert add(*args) is None
    with pytest.raises(TypeError):
        sin(x, out=x)


PLAIN = [name for name in UFUNCS if small_kernels._is_plain(OPS[name])]


def tried(f: Any) -> Any:
    """What a call gives, with what a tape keeps of it, or how it fails."""
    with tf.GradientTape() as tape:
        try:
            y = f(tape)
        except Exception as error:
            return type(error), str(error)
    kept = [(r.op, len(r.inputs), dict(r.attrs), str(r.location)) for r in tape.records]
    return type(y), y.dtype, y.shape, y.numpy().tobytes(), kept, len(tape.tracked)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PLAIN)
def test_calls_of_ops(name: str) -> None:
    """Of tensors of floats machine code makes them, of all else Python; the results are the same, and what is kept."""
    assert not hasattr(type(OPS[name]).__call__, "__code__")
    op, rng = OPS[name], np.random.default_rng(2)
    variable, calls = tf.Variable([0.5, 0.25]), []
    for k in range(40):
        dtype = ("float32", "float64", "float32", "int32", "complex64", "bool")[rng.integers(6)]
        shape = ((2,), (), (2, 2), (1,), (LARGEST + 1,))[rng.integers(5)]
        x, y = (tf.constant(numbers(rng, s, dtype)) for s in (shape, shape if rng.random() < 0.7 else ()))
        other = (y, y, 2.0, 3, variable, np.ones(2), "a", None)[rng.integers(8)]
        args = ((x, other) if rng.random() < 0.8 else (other, x))[: op.kernel.nin]

        def call(tape: Any, args: tuple = args, x: Any = x, watching: bool = k % 3 != 0) -> Any:
            if watching and x.dtype.kind in "fc":
                tape.watch(x)
            return op(*args)

        calls.append(call)
    assert [tried(c) for c in calls] == in_python(lambda: [tried(c) for c in calls])


def test_what_calls_of_ops_say_that_are_none() -> None:
    x = tf.constant([1.0, 2.0])
    for call in (
        lambda: tf.sin(), lambda: tf.sin(x, x, x), lambda: tf.sin(x, name="s"), lambda: tf.sin(x=x),
        lambda: tf.add(x, y=x),
        lambda: tf.sin(x, axis=0), lambda: tf.add(x, tf.ones(3)), lambda: tf.sin(*[x] * 40), lambda: tf.sin("a"),
    ):  # fmt: skip
        results: list[Any] = []
        for run in (lambda c: c(), in_python):
            try:
                results.append(run(call).numpy().tolist())
            except Exception as error:
                results.append((type(error), str(error)))
        assert results[0] == results[1]


def test_traces_and_settings_go_the_python_way() -> None:
    x = tf.constant([1.0, 2.0])
    np.testing.assert_array_equal(tf.function(lambda y: tf.sqrt(y * y))(x), [1.0, 2.0])
    with tf.settings(check=True):
        np.testing.assert_array_equal(tf.sqrt(x * x), [1.0, 2.0])
    kept = []
    tf.function(lambda y: kept.append(y) or y)(x)
    with pytest.raises(tf.LeakedTensor):
        tf.sin(kept[0])
    with tf.autodiff.ForwardAccumulator(x, tf.ones(2)) as forward:
        y = tf.exp(x)
    np.testing.assert_array_equal(forward.jvp(y), y)
    assert (
        tf.grad(tf.grad(lambda z: tf.reduce_sum(tf.sin(z) ** 2) if z.shape else tf.sin(z)))(
            tf.constant(0.5)
        ).shape
        == ()
    )


def test_ops_give_what_they_gave() -> None:
    rng = np.random.default_rng(3)

    def some() -> list[bytes]:
        found = []
        for n in (0, 1, 5, LARGEST, LARGEST + 3):
            x = tf.constant(rng.normal(size=n).astype("float32"))
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(tf.sin(x) * tf.exp(-x) / (1.0 + tf.tanh(x) ** 2))
            found += [y.numpy().tobytes(), tape.gradient(y, x).numpy().tobytes()]
        return found

    results = []
    for leave in (False, True):
        rng = np.random.default_rng(3)
        if leave:
            operator_lane.leave()
        results.append([some() for _ in range(4)])
    assert results[0] == results[1]


def test_errors_name_the_users_line() -> None:
    with pytest.raises(tf.ShapeError, match=r"(?s)add.*test_small_kernels\.py"):
        tf.add(tf.ones(2), tf.ones(3))
    with np.errstate(all="raise"):
        assert np.isneginf(tf.math.log(tf.constant([0.0])).numpy()).all()


@laid_out
def test_a_ufunc_that_is_not_laid_out_so_is_called_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_kernels, "_TYPES", small_kernels._DATA)
    monkeypatch.setattr(small_kernels, "_DATA", small_kernels._LOOPS)
    assert small_kernels._rows(np.sin) == {}
    monkeypatch.undo()
    monkeypatch.setattr(small_kernels, "_verified", {})
    monkeypatch.setattr(small_kernels, "_does", lambda builtin, ufunc, dtype: dtype != np.float32)
    small_kernels.give(operator_lane._code().function("tracejit_small_kernel"), lambda op: print)
    sin = OPS["sin"].small
    assert sin(np.zeros(2, "f4")) is None and sin(np.zeros(2)) is not None


@laid_out
def test_nothing_is_kept() -> None:
    x, y, sub = np.arange(4.0), np.array(2.0), np.arange(4.0).view(Sub)
    things = [x, y, x.dtype, None, np.dtype(bool), OPS["add"].small, sub]

    def work(n: int) -> None:
        for _ in range(n):
            OPS["add"].small(x, y)
            OPS["less"].small(y, x)
            OPS["sin"].small(x)
            OPS["add"].small(x, sub)

    work(10)
    gc.collect()
    before = [sys.getrefcount(t) for t in things]
    tracemalloc.start()
    work(10)
    start = tracemalloc.get_traced_memory()[0]
    work(5000)
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    assert max(abs(sys.getrefcount(t) - b) for t, b in zip(things, before, strict=True)) < 10
    assert grown < 2000
