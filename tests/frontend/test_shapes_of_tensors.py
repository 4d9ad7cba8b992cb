"""``x.shape`` is a tuple that also equals lists and answers what programs ask of it, eagerly and while tracing."""

import pickle

import numpy as np
import pytest

import tracejit as tf


def test_it_is_a_tuple_that_equals_lists():
    shape = tf.zeros((2, 3)).shape
    assert isinstance(shape, tuple) and isinstance(shape, tf.TensorShape)
    assert shape == (2, 3) and (2, 3) == shape and shape == [2, 3] and [2, 3] == shape
    assert shape != [3, 2] and not shape != [2, 3] and shape != 2 and shape is not None
    assert hash(shape) == hash((2, 3)) and {(2, 3): "found"}[shape] == "found"


@pytest.mark.parametrize(
    ("given", "text", "code"),
    [
        ([2, 3], "(2, 3)", "TensorShape([2, 3])"),
        ([4], "(4,)", "TensorShape([4])"),
        ([], "()", "TensorShape([])"),
        ([None, 3], "(None, 3)", "TensorShape([None, 3])"),
        (None, "<unknown>", "TensorShape(None)"),
    ],
)
def test_printed_as_a_tuple_and_shown_as_what_makes_it(given, text, code):
    shape = tf.TensorShape(given)
    assert str(shape) == f"{shape}" == text
    assert repr(shape) == f"{shape!r}" == code and repr([shape]) == f"[{code}]"
    assert eval(code, vars(tf)) == shape


def test_tensors_and_variables_say_their_shape():
    assert repr(tf.zeros((2, 3)).shape) == repr(tf.Variable(tf.zeros((2, 3))).shape) == "TensorShape([2, 3])"
    assert repr(tf.zeros((2, 3)).shape[1:]) == "TensorShape([3])"


def test_parts_and_sums_are_shapes():
    shape = tf.zeros((2, 3, 4)).shape
    assert shape[0] == 2 and isinstance(shape[0], int)
    assert shape[1:] == [3, 4] and shape[:-1].as_list() == [2, 3]
    assert shape + [5] == [2, 3, 4, 5] and [1] + shape == [1, 2, 3, 4] and (1,) + shape == [1, 2, 3, 4]
    assert shape.concatenate([None]).as_list() == [2, 3, 4, None]


def test_what_is_asked_of_it():
    shape = tf.Variable(np.zeros((2, 3))).shape
    assert shape.as_list() == [2, 3] and shape.rank == shape.ndims == 2 and shape.dims == [2, 3]
    assert shape.num_elements() == 6 and shape.is_fully_defined()
    assert shape.is_compatible_with([None, 3]) and shape.is_compatible_with(None)
    assert not shape.is_compatible_with([2]) and not shape.is_compatible_with([2, 4])
    assert tf.zeros(()).shape == [] and tf.zeros(()).get_shape().rank == 0


def test_sizes_that_are_not_known():
    shape = tf.TensorShape([None, np.int64(3)])
    assert shape.as_list() == [None, 3] and shape.num_elements() is None and not shape.is_fully_defined()
    assert shape.merge_with([2, None]) == [2, 3] and shape.with_rank(2) == shape
    with pytest.raises(tf.errors.ShapeError, match=r"not compatible"):
        shape.merge_with([2, 4])
    with pytest.raises(ValueError, match="not compatible"):
        shape.assert_has_rank(3)
    with pytest.raises(ValueError, match="not fully defined"):
        shape.assert_is_fully_defined()
    with pytest.raises(ValueError, match="integer"):
        tf.TensorShape(["rows"])


def test_any_rank():
    shape = tf.TensorShape(None)
    assert shape.rank is None and shape.ndims is None and shape.dims is None and not shape.is_fully_defined()
    assert shape == tf.TensorShape(None) and shape != [2] and tf.TensorShape([2]) != shape
    assert shape.is_compatible_with([2]) and shape.merge_with([2]) == [2] and str(shape) == "<unknown>"
    with pytest.raises(ValueError, match="not known"):
        shape.as_list()
    assert tf.TensorSpec(shape, tf.int32) is tf.TensorSpec(None, tf.int32)


@pytest.mark.parametrize("given", [[2, 3], [None, 3], None])
def test_it_survives_pickling(given):
    shape = tf.TensorShape(given)
    copy = pickle.loads(pickle.dumps(shape))
    assert copy == shape and type(copy) is type(shape)


def test_it_is_taken_where_shapes_are():
    shape = tf.zeros((2, 3)).shape
    assert np.zeros(shape).shape == tf.zeros(shape).shape == tf.reshape(tf.range(6), shape).shape == shape
    assert tf.TensorSpec(shape).shape.__class__ is tuple
    table = tf.constant(np.arange(24.0).reshape(3, 4, 2))
    assert table[tf.zeros((2, 3)).shape].numpy().tolist() == [22.0, 23.0]  # an index as any other tuple


def test_while_tracing_unknown_sizes_stand_for_themselves():
    asked = []

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def f(x):
        asked.append((x.shape.rank, x.shape.is_fully_defined(), x.shape[1:].as_list()))
        return tf.reshape(x, [x.shape.num_elements()]) + tf.reduce_sum(tf.ones(x.shape.as_list()[:1]))

    for rows in (2, 4):
        np.testing.assert_array_equal(f(tf.ones((rows, 3))), np.full(3 * rows, 1.0 + rows, "f"))
    assert asked == [(2, False, [3])]


def test_a_comparison_with_a_list_is_that_of_the_call():
    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def f(x):
        return x * 1.0 if x.shape == [2, 3] else x * 2.0

    assert [float(f(tf.ones((rows, 3)))[0, 0]) for rows in (2, 3, 2, 5)] == [1.0, 2.0, 1.0, 2.0]


def test_set_shape_says_what_it_is():
    x = tf.zeros((2, 3))
    assert x.set_shape([None, 3]) is None and x.set_shape(None) is None
    with pytest.raises(ValueError, match=r"is not of shape"):
        x.set_shape([2, 4])

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def f(x):
        x.set_shape([3])
        return x + tf.constant([1.0, 2.0, 3.0])

    np.testing.assert_array_equal(f(tf.zeros(3)), [1, 2, 3])
    with pytest.raises(ValueError, match=r"is not of shape"):
        f(tf.zeros(1))


def test_references_are_keys():
    x, y, v = tf.zeros(2), tf.zeros(2), tf.Variable(1.0)
    assert x.ref() == x.ref() and x.ref() != y.ref() and x.ref() != x.shape
    found = {x.ref(): "x", y.ref(): "y", v.ref(): "v"}
    assert [found[t.ref()] for t in (x, y, v)] == ["x", "y", "v"] and v.ref().deref() is v


def test_where_a_tensor_is():
    for x in (tf.zeros(2), tf.Variable(1.0)):
        assert x.device == "cpu" and "cpu" == x.device and x.device.endswith("CPU:0") and x.device != "gpu"
    assert pickle.loads(pickle.dumps(tf.zeros(2).device)) == "cpu"


def test_sizes_that_show_when_a_function_runs_are_numbers_among_others():
    def f(x):
        n = x.shape[0]
        mean = tf.reduce_sum(x) / n
        some = (
            n / 2,
            n * 1.5,
            2.0**n,
            n**2 * x,
            np.sqrt(n) * x,
            np.ones(2) * n,
            divmod(n, 2),
            abs(2 - n),
            n % 2.5,
        )
        chosen = x if n > 2.5 and n != 4.0 else -x
        return mean, some, chosen, tf.stack([n, 7]), tf.cast(n, tf.float32), tf.where(n == tf.size(x), x, 0.0)

    compiled = tf.function(f, reduce_retracing=True)
    for n in (5, 2, 3, 4, 6):
        x = tf.range(float(n)) + 1.0
        got, want = tf.nest.flatten(compiled(x)), tf.nest.flatten(f(x))
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
            assert not hasattr(b, "dtype") or a.dtype == b.dtype
    assert compiled.experimental_get_tracing_count() < 6
