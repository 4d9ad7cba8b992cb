"""``x[i] = v`` outside of traced functions: NumPy's values and their derivatives, and refusals."""

from __future__ import annotations

import contextlib
import copy
import operator
import pickle
import threading

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp
from tracejit.core.errors import GradientError
from tracejit.ops.tensor import writing
from tracejit.ops.tensor.memory import holders

pytestmark = pytest.mark.skipif(
    not holders.KNOWN, reason="an interpreter that does not count what names hold"
)


def filled(w):
    x = tnp.zeros(4)
    for i in range(4):
        x[i] = w * i + (x[i - 1] ** 2 if i else 0.0)
    return (x**2).sum()


def result_of_an_op(w):
    y = tnp.sin(w * tnp.arange(5.0))
    before = y.sum()
    y[1:3] *= w
    y[0] = 5.0
    y[y < 0.3] = w**2
    y[[4, 3]] += tnp.stack([w, 2.0 * w])
    return (y * tnp.arange(5.0)).sum() * before


def both_used(w):
    """What was computed before an assignment, and a part taken out before, keep what they had."""
    x = tnp.ones((2, 2)) * w
    row, product = x[0], x * x
    x[0, 1] = w**3
    x[0] += product[1]
    x[:, 0] = 2.0
    return (x * product).sum() + row.sum() * x[0, 1]


def attribute(w):
    class Holder:
        pass

    holder = Holder()
    holder.x = tnp.zeros(3) + w
    holder.x[1] = w * w
    items = [tnp.zeros(2), w * tnp.ones(2)]
    items[1][0] = holder.x[1]
    return holder.x.sum() * items[1][0]


PROGRAMS = [filled, result_of_an_op, both_used, attribute]


@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives(f):
    w, step = np.float64(0.7), 1e-6
    slope = (float(f(w + step)) - float(f(w - step))) / (2 * step)
    first, second = tf.grad(f), tf.grad(tf.grad(f))
    assert float(first(w)) == pytest.approx(slope, rel=1e-7)
    bend = (float(first(w + step)) - float(first(w - step))) / (2 * step)
    assert float(second(w)) == pytest.approx(bend, rel=1e-6)
    value, tangent = tf.jvp(f, (w,), (np.float64(1.0),))
    assert (float(value), float(tangent)) == pytest.approx((float(f(w)), slope), rel=1e-7)
    with tf.GradientTape() as tape:
        v = tf.Variable(w)
        y = f(v * 1.0)
    assert float(tape.gradient(y, v)) == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize("f", [filled, result_of_an_op, both_used])
def test_compiled_code_does_the_same(f):
    w = np.float64(0.7)
    assert float(tf.function(f)(w)) == pytest.approx(float(f(w)), rel=1e-14)
    assert float(tf.function(tf.grad(f))(w)) == pytest.approx(float(tf.grad(f)(w)), rel=1e-13)


def test_numpy_is_the_oracle():
    def program(np):
        x = np.zeros((3, 4))
        x[0] = 1.5
        x[1:, ::2] = np.arange(4.0).reshape(2, 2)
        x[..., -1] -= 2.0
        x[[0, 2], [1, 3]] *= 3.0
        x[x > 2.0] = 7.0
        n = np.arange(6)
        n[2:] //= 2
        flags = np.ones(3, dtype=bool)
        flags[1] = False
        return x, n, flags

    for found, wanted in zip(program(tnp), program(np), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def written():
    x = tnp.ones(3)
    x[1] = 2.0
    return x


@pytest.mark.parametrize("shared", [False, True])
def test_a_tensor_written_to_is_a_tensor_like_others(shared):
    x = written()
    if shared:
        x = tnp.asarray(x, copy=False)
    assert isinstance(x, tf.Tensor)
    assert tf.is_tensor(x)
    assert repr(x) == repr(tnp.asarray([1.0, 2.0, 1.0]))
    assert x.numpy().tolist() == np.asarray(x).tolist() == x.tolist() == [1.0, 2.0, 1.0]
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
    assert tf.Variable(x).numpy().tolist() == x.tolist()
    assert float(np.sum(x)) == float(tf.function(tnp.sum)(x)) == float(x[0] + x[1] + x[2]) == 4.0
    assert tf.vmap(lambda e: e * 2)(x).numpy().tolist() == [2.0, 4.0, 2.0]
    assert tf.grad(lambda y: (y * y).sum())(x).numpy().tolist() == [2.0, 4.0, 2.0]
    assert tf.cond(x[0] > 0, lambda: x, lambda: -x).numpy().tolist() == x.tolist()
    assert float(tf.while_loop(lambda s: s.sum() < 20.0, lambda s: s * 2.0, [x])[0].sum()) == 32.0
    assert float(tf.scan(lambda c, e: (c + e, None), tnp.asarray(0.0), x)[0]) == 4.0
    assert np.from_dlpack(x).tolist() == x.tolist()
    assert sum(float(e) for e in x) == 4.0
    assert [*map(float, tf.nest.flatten({"a": x})[0])] == x.tolist()


def test_compiled_calls_and_operators_see_each_value():
    x, double = tnp.zeros(2), tf.function(lambda x: x + x)
    for i in range(50):
        x[1] = float(i)
        assert float(double(x)[1]) == float((x + x)[1]) == 2.0 * i


def test_copies_do_not_change():
    x = written()
    copies = (copy.copy(x), copy.deepcopy(x), x.copy(), tnp.array(x), x[:], x + 0.0)
    x[0] = 5.0
    assert [float(y[0]) for y in copies] == [1.0] * 6
    y = tnp.ones(3).copy()
    y[0] = 2.0
    assert y.tolist() == [2.0, 1.0, 1.0]


def held_by_a_name(x):
    y = x
    x[0] = 1.0
    return y


def held_by_the_caller(x):
    def fill(x):
        x[0] = 1.0

    fill(x)


def held_by_a_list(x):
    both = [x]
    both[0][0] = 1.0


def held_by_a_function(x):
    f = tf.function(lambda y: x + y)
    f(1.0)
    x[0] = 1.0


def held_by_a_variable(x):
    v = tf.Variable(x)
    v.assign(x + 0.0)
    both = (x,)
    x[0] = 1.0
    return v, both


def fill(x):
    x[0] = 1.0


def held_by_a_caller_under_another_name(x):
    """Python may lend arguments, uncounted, and whoever was lent one lends it on under any name."""

    def fill_other(x):
        y = x
        del x
        y[0] = 1.0

    fill_other(x)


def held_by_a_caller_of_callers(x):
    def hand_on(x):
        first(x if x is not None else 0, (x := None))

    def first(x, y):
        x[0 if y is None else 1] += 1.0

    hand_on(x)


def held_by_a_name_while_it_is_the_value(x):
    y = [x]
    x[:] = x
    return y


def held_by_who_makes_an_object(x):
    class Filled:
        def __init__(self, x):
            x[0] = 1.0

    Filled(x)


def held_by_who_runs_a_generator(x):
    def later(x):
        x[0] = 1.0
        yield

    next(later(x))


def held_by_a_comprehension(x):
    return [(fill(y), y) for y in (x + 0.0 for _ in range(2))]


def held_by_who_calls_what_calls_operators(x):
    def fill(x):
        operator.setitem(x, 0, 1.0)

    fill(x)


HELD = [
    *(held_by_a_name, held_by_the_caller, held_by_a_list, held_by_a_function, held_by_a_variable),
    *(
        held_by_a_name_while_it_is_the_value,
        held_by_a_caller_under_another_name,
        held_by_a_caller_of_callers,
        held_by_who_makes_an_object,
    ),
    *(held_by_who_runs_a_generator, held_by_a_comprehension, held_by_who_calls_what_calls_operators),
]


@pytest.mark.parametrize("f", HELD)
@pytest.mark.parametrize("make", [lambda: tnp.zeros(2), lambda: written()[:2]])
def test_what_something_else_holds_is_refused(f, make):
    with pytest.raises(TypeError, match=r"held by something else(.|\n)*x\.copy\(\) first(.|\n)*test_item"):
        f(make())


def test_one_name_is_found_however_it_is_read():
    """However Python reads the name: as one that may be unbound, where lines branch, from a cell, among others."""
    for k in range(3):
        if k == 0:
            x = tnp.zeros(3)
        x[k] = 1.0
    x[0 if k else 1] += 1.0
    x[k] = x[0]
    x[k and 1] *= 3.0
    x[1], k = 4.0, 0
    for x[k] in (5.0, 6.0):
        pass
    assert x.tolist() == [6.0, 4.0, 2.0]
    operator.setitem(x, 0, 7.0)
    y = tnp.zeros(3)

    def inner():
        y[1] = 2.0

    inner()
    y[2] += 3.0
    assert x.tolist() == [7.0, 4.0, 2.0] and y.tolist() == [0.0, 2.0, 3.0]


def test_a_derivative_taken_later_is_not_touched():
    """Either the assignment is refused, or what was recorded keeps what it had."""
    x = tnp.ones(2) * 3.0
    _, pull = tf.vjp(lambda a: a * a, x)
    with contextlib.suppress(TypeError):
        x[0] = 100.0
    (g,) = pull(tnp.ones(2))
    assert g.tolist() == [6.0, 6.0]
    with tf.GradientTape() as tape:
        w = tnp.asarray(3.0)
        tape.watch(w)
        factor = tnp.ones(2) * 2.0
        y = factor * w
    with contextlib.suppress(TypeError):
        factor[0] = 100.0
    assert float(tape.gradient(y, w)) == 4.0


def test_a_function_traced_with_a_tensor_holds_it():
    x = written()
    f = tf.function(lambda y: y + x)
    assert f(0.0).numpy().tolist() == [1.0, 2.0, 1.0]
    with pytest.raises(TypeError, match="held by something else"):
        x[0] = 7.0
    assert f(0.0).numpy().tolist() == [1.0, 2.0, 1.0]


def test_what_nothing_holds_is_refused():
    x = tnp.zeros((2, 2))
    with pytest.raises(TypeError, match=r"would be lost(.|\n)*x\[i, j\] = value"):
        x[0][1] = 1.0


def test_nothing_is_written_where_nobody_can_tell_who_holds_it(monkeypatch):
    monkeypatch.setattr(writing, "KNOWN", False)
    monkeypatch.setattr(holders, "KNOWN", False)
    x = tnp.zeros(2)
    with pytest.raises(TypeError, match=r"a tensor does not change here(.|\n)*x\.at\[index\]\.set"):
        x[0] = 1.0

    def fills(w):
        z = np.zeros(2)
        z[0] = w
        return z.sum()

    with pytest.raises(GradientError):
        tf.grad(fills)(1.0)
    assert float(tf.function(tf.grad(fills))(1.0)) == 1.0


def test_what_does_not_fit_changes_nothing():
    x = tnp.zeros(3)
    with pytest.raises(ValueError, match=r"shape|broadcast|size"):
        x[:2] = [1.0, 2.0, 3.0]
    with pytest.raises(IndexError):
        x[5] = 1.0
    assert x.tolist() == [0.0, 0.0, 0.0]
    x[0] = 1.0
    assert x.tolist() == [1.0, 0.0, 0.0]


def test_memory_that_is_shared_is_written_to_through_either():
    x = tnp.ones(3)
    y = tnp.asarray(x, copy=False)
    product = x * y
    x[0] = 5.0
    y[1] = 7.0
    assert x.tolist() == y.tolist() == [5.0, 7.0, 1.0]
    z = tnp.asarray(y, copy=False)
    z[2] = 9.0
    assert x.tolist() == y.tolist() == z.tolist() == (z + 0.0).tolist() == [5.0, 7.0, 9.0]
    del x, y
    z[0] = 1.0
    assert z.tolist() == [1.0, 7.0, 9.0]
    assert product.tolist() == [1.0, 1.0, 1.0]


def test_what_holds_shared_memory_by_another_name_is_not_touched():
    x = tnp.ones(3)
    y = tnp.asarray(x, copy=False)
    for other in (x, y):
        with pytest.raises(TypeError, match="held by something else"):
            y[0] = 2.0
        assert other.tolist() == [1.0, 1.0, 1.0]
    del other
    f = tf.function(lambda a: a + y)
    assert f(0.0).numpy().tolist() == [1.0, 1.0, 1.0]
    for write in ("x", "y"):
        with pytest.raises(TypeError, match="held by something else"):
            if write == "x":
                x[0] = 2.0
            else:
                y[0] = 2.0
    assert x.tolist() == y.tolist() == [1.0, 1.0, 1.0]


def test_memory_is_not_shared_where_names_hold_values():
    def f(w):
        x = w * tnp.ones(3)
        y = tnp.asarray(x, copy=False)
        x[0] = w
        return (x * y).sum()

    def read(w):
        x = w * tnp.ones(3)
        return (tnp.asarray(x, copy=False) * x).sum()

    w = np.float64(2.0)
    assert float(tf.grad(read)(w)) == 12.0
    for g in (tf.grad(f), tf.grad(lambda w: f(w) * 1.0)):
        with pytest.raises(TypeError, match=r"shares memory(.|\n)*x\.copy\(\)"):
            g(w)
    with pytest.raises(ValueError, match="no tensor has memory"):
        tf.function(f)(w)


def test_threads_that_share_memory_lose_no_count():
    x = tnp.ones(2)

    def share():
        for _ in range(2_000):
            tnp.asarray(x, copy=False)

    threads = [threading.Thread(target=share) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del share, threads, thread
    y = tnp.asarray(x, copy=False)
    x[0] = 2.0
    assert y.tolist() == [2.0, 1.0]
