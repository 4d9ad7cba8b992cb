"""Assertions: they pass and fail on the same values eagerly and compiled, with the user's line."""

import numpy as np
import pytest

import tracejit as tf
from tracejit import debugging as d

X = tf.constant([1.0, -2.0, 3.0])
MODES = pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "compiled"])


@MODES
@pytest.mark.parametrize(
    ("assertion", "holds", "fails"),
    [
        (d.assert_equal, ([1, 2], [1, 2]), ([1, 2], [1, 3])),
        (d.assert_none_equal, ([1, 2], [2, 3]), ([1, 2], [0, 2])),
        (d.assert_less, ([1.0, 2.0], 3.0), ([1.0, 3.0], 3.0)),
        (d.assert_less_equal, ([1.0, 3.0], 3.0), ([1.0, 4.0], 3.0)),
        (d.assert_greater, ([[4.0], [5.0]], [3.0, 2.0]), ([[4.0], [3.0]], [3.0, 2.0])),
        (d.assert_greater_equal, ([3.0], 3.0), ([float("nan")], 3.0)),
        (d.assert_positive, ([1, 2],), ([0, 2],)),
        (d.assert_negative, ([-1.0],), ([-0.0],)),
        (d.assert_non_negative, ([-0.0, 2.0],), ([float("nan")],)),
        (d.assert_non_positive, ([0],), ([1],)),
        (d.assert_near, ([1.0], [1.0 + 5e-7]), ([1.0], [1.001])),
        (d.assert_all_finite, ([1.0, -1.0], "m"), ([1.0, float("inf")], "m")),
        (d.assert_positive, (np.zeros((0, 3)),), (np.zeros((1, 3)),)),
    ],
)
def test_values(mode, assertion, holds, fails):
    def run(*arrays):
        assertion(*arrays, *texts)
        return arrays[0]

    texts = [x for x in holds if isinstance(x, str)]
    run = mode(run)
    run(*[tf.constant(x) for x in holds if not isinstance(x, str)])
    with pytest.raises(AssertionError) as error:
        run(*[tf.constant(x) for x in fails if not isinstance(x, str)])
    assert str(error.value).endswith("assertion(*arrays, *texts)")
    assert isinstance(error.value, tf.errors.InvalidArgumentError)


def test_eagerly_the_values_are_shown():
    with pytest.raises(
        AssertionError, match=r"msg. Condition x > 0 did not hold at \(1,\), x = \[1.0 -2.0 3.0\]"
    ):
        d.assert_positive(X, "msg")
    with pytest.raises(AssertionError, match=r"x = \[3\], y = \[2\]"):
        d.assert_equal(X.shape, (2,))


@MODES
def test_an_assertion_with_data(mode):
    @mode
    def f(x):
        tf.Assert(tf.reduce_all(x > 0.0), ["not positive:", x])
        return x

    assert f(tf.constant([1.0])).numpy().tolist() == [1.0]
    with pytest.raises(AssertionError, match="not positive:"):
        f(X)


def test_near_is_about_floats():
    with pytest.raises(TypeError, match=r"assert_near is about floats, got int32.*: write assert_equal"):
        d.assert_near([1], [1])


def test_an_assertion_is_about_one_bool():
    with pytest.raises(TypeError, match=r"about one bool, got bool\[3\]: write tracejit.reduce_all"):
        tf.Assert(X > 0.0, [X])


@MODES
def test_numerics_pass_the_tensor_and_its_gradient_on(mode):
    @mode
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.square(d.check_numerics(x, "x")))
        return tape.gradient(y, x)

    assert f(X).numpy().tolist() == [2.0, -4.0, 6.0]
    with pytest.raises(AssertionError, match="x : Tensor had NaN values"):
        f(tf.constant([float("nan"), float("inf")]))
    with pytest.raises(AssertionError, match="x : Tensor had Inf values"):
        f(tf.constant([float("-inf")]))


@MODES
def test_assertions_in_a_branch_count_where_it_is_taken(mode):
    @mode
    def f(x, flag):
        if flag:
            d.assert_positive(x)
        return x

    assert float(f(tf.constant(-1.0), tf.constant(False))) == -1.0
    with pytest.raises(AssertionError):
        f(tf.constant(-1.0), tf.constant(True))


@MODES
@pytest.mark.parametrize(
    ("check", "kind"),
    [
        (lambda x: d.assert_rank(x, 2, "m"), ValueError),
        (lambda x: d.assert_rank_at_least(x, 2), ValueError),
        (lambda x: d.assert_rank_in(x, [0, 2]), ValueError),
        (d.assert_scalar, ValueError),
        (lambda x: d.assert_type(x, tf.int32), TypeError),
        (d.assert_integer, TypeError),
        (lambda x: d.assert_shapes([(x, ("N", "M"))]), ValueError),
        (lambda x: d.assert_shapes([(x, ("N",)), (tf.ones([2, 4]), ("N", 4))]), ValueError),
        (lambda x: d.assert_shapes([(x, (4,))]), ValueError),
    ],
)
def test_shapes_and_dtypes_that_are_refused(mode, check, kind):
    with pytest.raises(kind, match=r"float32|shape") as error:
        mode(lambda x: check(x))(X)
    assert __file__ in str(error.value)


@MODES
def test_shapes_and_dtypes_that_pass(mode):
    @mode
    def f(x, m):
        d.assert_rank(x, 1)
        d.assert_rank_at_least(m, 1)
        d.assert_rank_in(m, [1, 2])
        d.assert_type(x, tf.float32)
        d.assert_integer(tf.shape(x))
        d.assert_shapes([(x, ("N",)), (m, "N.")])
        d.assert_shapes([(m, (..., 2)), (m, ("*", None, 2)), (x[0], ())])
        return d.assert_scalar(x[0])

    assert float(f(X, tf.ones([3, 2]))) == 1.0
    assert d.is_numeric_tensor(X)
    assert not d.is_numeric_tensor([1.0])


def test_shapes_of_unknown_sizes_become_assumptions_of_the_trace():
    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None, None])])
    def f(x, m):
        d.assert_shapes([(x, ("N",)), (m, ("N", "M"))])
        return x

    f(X, tf.ones([3, 2]))
    f(tf.ones([4]), tf.ones([4, 5]))
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(ValueError, match=r"is not \('N', 'M'\) where N ="):
        f(X, tf.ones([4, 2]))


def test_failures_at_run_time_are_of_the_same_class_as_eagerly():
    def position(x, i):
        return tf.gather(x, i)

    for mode in (position, tf.function(position)):
        with pytest.raises(tf.errors.OutOfRangeError) as error:
            mode(X, tf.constant([7]))
        assert isinstance(error.value, IndexError)
        assert isinstance(error.value, tf.errors.OpError)
