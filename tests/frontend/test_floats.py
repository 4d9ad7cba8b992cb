"""Python floats among arguments: one trace for all their values, unless tracing needs the value."""

from __future__ import annotations

import math
import numbers
import threading

import numpy as np
import pytest

import tracejit as tf


def count(f) -> int:
    return f.experimental_get_tracing_count()


def test_one_trace_for_an_integral():
    integrate = pytest.importorskip("scipy.integrate")
    f = tf.function(lambda x: tf.exp(-x * x) * x)
    value, _ = integrate.quad(f, 0, 1)
    assert value == pytest.approx(0.31606027941427883, rel=1e-6)
    assert count(f) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_they_take_the_dtype_of_what_they_meet(dtype):
    def f(x, a, b):
        scale = (a + 2.0) ** 2 / b
        return x * scale, tf.sin(a), a * 2.0, tf.multiply(a, b), -a, a // b, a % b

    x, compiled = np.array([1.5, 2.5], dtype), tf.function(f)
    for a, b in ((0.1, 0.3), (1 / 3, 7.0), (-0.0, 1e-30)):
        for got, wanted in zip(compiled(x, a, b), f(tf.constant(x), a, b), strict=True):
            wanted = tf.constant(wanted)
            assert got.dtype == wanted.dtype
            np.testing.assert_array_almost_equal_nulp(got.numpy(), wanted.numpy(), 2)
    assert count(compiled) == 1


def test_numpy_on_floats_is_as_wide_as_numpy_has_it():
    f = tf.function(lambda x, a: x * np.sqrt(a))
    x = np.float32([1.0, 2.0])
    for a in (0.3, 0.7):
        assert f(x, a).dtype == (tf.constant(x) * np.sqrt(a)).dtype
        np.testing.assert_allclose(f(x, a), x * np.sqrt(a), rtol=1e-7)


def test_no_digit_is_lost_on_the_way_to_a_dtype():
    x = np.float64([1.0, 2.0])

    def carried(a):
        for _ in range(3):
            a = a * 0.5 + max(a, 2.0)
        return x * a

    programs = [
        lambda a: tf.constant(a, dtype="float64"),
        lambda a: tf.constant([[a, 1.0]], dtype="float64"),
        lambda a: tf.convert_to_tensor(a, "float64"),
        lambda a: tf.pad(x, [[1, 1]], constant_values=a),
        lambda a: x * max(a, 0.01) + min(a, 7, 3.0),
        carried,
    ]
    for f in programs:
        compiled = tf.function(f)
        for a in (0.1, 1e10 + 1.5):
            np.testing.assert_array_equal(compiled(a), f(a))
        assert count(compiled) == 1


def test_rounding_and_integers_made_of_them_are_pythons():
    rounded, whole = tf.function(lambda a: round(a, 2)), tf.function(lambda a: tf.constant(a, dtype="int32"))
    assert [float(rounded(a)) for a in (2.675, 0.125)] == [
        np.float32(2.67),
        np.float32(0.12),
    ]  # 2.68 as float32
    with pytest.raises(tf.errors.DtypeError, match=r"2\.5 has a fraction"):
        whole(2.5)


def test_functions_of_math():
    f = tf.function(lambda x, a: x * math.sin(a))
    for a in (0.3, 0.7):
        np.testing.assert_allclose(f(np.float64([1.0]), a), [math.sin(a)], rtol=1e-12)


def test_conditions_on_them():
    @tf.function
    def f(x, threshold):
        if threshold > 0.5:
            x = -x
        while x < threshold:
            x = x + 1.0
        return x

    assert [float(f(tf.constant(0.0), t)) for t in (0.25, 0.75, 2.5)] == [1.0, 1.0, 3.0]
    assert count(f) == 1


def sizes(x, step):
    return x + tf.reduce_sum(tf.constant(np.arange(0.0, 1.0, step, np.float32)))


def attribute(x, rate):
    return x * tf.constant(np.full(3, rate, np.float32))


def kinds(x, a):
    return x * 2.0 if {0.5: True}.get(a) else x * 3.0


kept: list = []


def keeps(x, a):
    kept.append(a)
    return x * a


def unconverted(x, a):
    return x * 2.0 if a > 0.5 else x * 3.0


@pytest.mark.parametrize("f", [sizes, attribute, kinds, keeps])
def test_where_the_value_is_needed_it_is_part_of_the_trace(f):
    kept.clear()
    compiled = tf.function(f)
    for _ in range(3):
        for a in (0.5, 0.25):
            np.testing.assert_array_equal(compiled(tf.constant(1.0), a), f(tf.constant(1.0), a))
    assert count(compiled) == 2
    assert all(type(a) is float for a in kept)


def test_control_flow_that_stays_pythons():
    f = tf.function(unconverted, autograph=False)
    assert [float(f(tf.constant(1.0), a)) for a in (1.0, 0.0, 1.0)] == [2.0, 3.0, 2.0]
    assert count(f) == 2


def test_what_an_attempt_did_is_taken_back():
    calls: list = []

    @tf.function
    def f(x, a):
        calls.append(1)
        return x * {0.5: 1.0, 0.25: 2.0}[a]

    assert float(f(tf.constant(3.0), 0.25)) == 6.0
    assert calls == [1]


def test_errors_that_are_not_because_of_them():
    f = tf.function(lambda x, a: tf.matmul(x, x) * a)
    with pytest.raises(tf.ShapeError, match="inner sizes differ"):
        f(tf.ones([2, 3]), 0.5)
    f(tf.ones([2, 2]), 0.5)
    f(tf.ones([2, 2]), 0.75)
    assert count(f) == 2  # one of the error


def test_defaults_are_part_of_the_trace():
    f = tf.function(lambda x, rate=0.5: x * rate)
    x = tf.constant(2.0)
    assert [float(y) for y in (f(x), f(x, 0.5), f(x, rate=0.5), f(x))] == [1.0] * 4
    assert count(f) == 1
    assert [float(f(x, rate)) for rate in (0.25, 0.5, 1.0, 0.5)] == [0.5, 1.0, 2.0, 1.0]
    assert count(f) == 2


def test_ints_bools_and_strings_are_part_of_it():
    f = tf.function(lambda x, n: x * n)
    for n in (1, 2, True, 1.0, 2.5):
        assert float(f(tf.constant(2.0), n)) == 2.0 * n
    assert count(f) == 4


def test_nests_and_keywords():
    f = tf.function(lambda x, p, *, s: x * p["a"] + p["b"][0] * s)
    for a, b, s in ((1.0, 2.0, 3.0), (0.5, 0.25, 8.0)):
        for _ in range(2):
            assert float(f(tf.constant(2.0), {"a": a, "b": [b]}, s=s)) == 2 * a + b * s
    assert count(f) == 1


def test_many_calls_take_the_short_way():
    """The calls that are remembered, and those that machine code makes, are for any value, and for floats alone."""
    f = tf.function(lambda x, a: x * a)
    x = tf.constant([1.0, 2.0])
    for k in range(3000):
        assert f(x, float(k)).numpy()[1] == 2.0 * k
    assert f(x, np.float64(2.0)).dtype == tf.float64 == f(x, np.array(2.0)).dtype
    assert f(x, 3.0).dtype == tf.float32 and f(x, 3).dtype == tf.float32
    np.testing.assert_array_equal(f(x, -0.0), [-0.0, -0.0])
    assert np.isnan(f(x, math.nan)).all()


def test_two_floats_and_one_object_twice():
    f = tf.function(lambda x, a, b: x * a - b)
    one = 1.5
    for k in range(200):
        assert float(f(tf.constant(2.0), one, one)) == 1.5
        assert float(f(tf.constant(2.0), float(k), one)) == 2.0 * k - 1.5
        assert float(f(tf.constant(2.0), b=float(k), a=one)) == 3.0 - k


def test_tapes_and_gradients():
    f = tf.function(lambda x, a: a * x * x)
    x = tf.constant(3.0)
    for a in (1.0, 2.0):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, a)
        assert float(tape.gradient(y, x)) == 6.0 * a
        assert float(tf.grad(f)(x, a)) == 6.0 * a
    assert count(f) <= 2  # of numbers, and of the tensors that `grad` makes of them


def test_concrete_functions_are_for_the_value():
    f = tf.function(lambda x, a: x * a)
    concrete = f.get_concrete_function(tf.TensorSpec([]), 2.0)
    assert float(concrete(tf.constant(3.0))) == 6.0
    assert [v.spec for v in concrete.graph.inputs] == [tf.TensorSpec([])]


def test_threads_that_come_at_once():
    f = tf.function(kinds)
    found: dict = {}

    def run(k):
        a = 0.5 if k % 2 else 0.25
        found[k] = [float(f(tf.constant(1.0), a)) for _ in range(50)]

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(set(found[k]) == {2.0 if k % 2 else 3.0} for k in range(4))


def test_saved_and_loaded(tmp_path):
    f = tf.function(lambda x, a: x * a)
    assert float(f(tf.constant(2.0), 0.5)) == 1.0
    tf.saved_model.save(f, tmp_path / "f")
    loaded = tf.saved_model.load(tmp_path / "f")
    assert [float(loaded(tf.constant(2.0), a)) for a in (0.5, 0.25)] == [1.0, 0.5]


@pytest.mark.parametrize(
    "f",
    [
        lambda x, a: x * isinstance(a, float),
        lambda x, a: x * (type(a) is float),
        lambda x, a: x * len(f"{a}"),
        lambda x, a: x * len(str(a)),
        lambda x, a: x * len("%s" % a),
        lambda x, a: x * len(repr(a)),
        lambda x, a: x * int(a),
        lambda x, a: x * round(a),
        lambda x, a: x * {2.5: 3}.get(a, 1),
        lambda x, a: x * a.is_integer(),
        lambda x, a: x * math.sqrt(a),
        lambda x, a: x * np.float32(a),
        lambda x, a: x * sum(range(int(a))),
    ],
)
def test_what_looks_at_a_float_sees_the_float(f):
    compiled = tf.function(f)
    x = tf.constant([1.0, 3.0])
    for a in (7.25, 2.5, 1.5):
        np.testing.assert_array_equal(compiled(x, a), f(x, a))


def test_int_of_what_is_none_is_an_error_as_in_python():
    compiled = tf.function(lambda x, a: x * int(a))
    compiled(tf.constant(1.0), 2.5)
    with pytest.raises(ValueError, match="NaN"):
        compiled(tf.constant(1.0), float("nan"))


class Holder:
    class Pair:
        __match_args__ = ("first", "second")

        def __init__(self, first, second):
            self.first, self.second = first, second


def of_class(x, a):
    match a:
        case int():
            return x * 1.0
        case float():
            return x * 2.0
    return x * 3.0


def of_class_with_guard(x, a):
    match a:
        case float(value) if value > 2.0:
            return x * value
        case _:
            return x


def of_abstract_class(x, a):
    match a:
        case numbers.Integral():
            return x
        case numbers.Real():
            return x * 2.0


def inside_a_mapping(x, a):
    match {"a": a, "b": x}:
        case {"a": int() | float() as value}:
            return x * value
        case {"a": other}:
            return x - other


def inside_a_sequence(x, a):
    match [a, 0.5]:
        case [float(), 0.5]:
            return x * 2.0
        case [_, _]:
            return x


def inside_an_object(x, a):
    match Holder.Pair(a, x):
        case Holder.Pair(float(), second):
            return second * 2.0
        case Holder.Pair(first, second):
            return first + second


@pytest.mark.parametrize(
    "f",
    [
        of_class,
        of_class_with_guard,
        of_abstract_class,
        inside_a_mapping,
        inside_a_sequence,
        inside_an_object,
        lambda x, a: x * 2.0 if a.__class__ is float else x,
    ],
)
def test_patterns_of_classes_see_the_float(f):
    compiled = tf.function(f)
    x = tf.constant([1.0, 3.0])
    for a in (7.25, 1.5, 3):
        np.testing.assert_array_equal(compiled(x, a), f(x, a))


def test_patterns_that_look_at_no_number_keep_one_trace():
    def f(x, a):
        match x:
            case Holder.Pair():
                return a
            case tf.Tensor() as t:
                return t * a

    compiled = tf.function(f)
    for a in (7.25, 1.5, 2.0):
        np.testing.assert_array_equal(compiled(tf.constant([1.0, 3.0]), a), f(tf.constant([1.0, 3.0]), a))
    assert count(compiled) == 1


def test_code_that_is_not_converted_sees_the_float():
    def f(x, a):
        return x * 2.0 if isinstance(a, float) else x

    compiled = tf.function(f, autograph=False)
    for a in (7.25, 1.5):
        np.testing.assert_array_equal(compiled(tf.constant([1.0, 3.0]), a), [2.0, 6.0])
