"""Tensors made by rule: shapes, dtypes, gradients of ends."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf
import tracejit.numpy as tnp


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_numbers_between_ends_that_are_vectors(axis, run):
    found = run(lambda a, b: tf.linspace(a, b, 5, axis=axis))(
        tf.constant([0.0, 5.0]), tf.constant([10.0, 40.0])
    )
    np.testing.assert_allclose(found.numpy(), np.linspace([0.0, 5.0], [10.0, 40.0], 5, axis=axis), rtol=1e-6)
    assert found.dtype == np.float32


def test_the_ends_are_exact_and_gradients_reach_them(run):
    def gradient(a, b):
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            y = tf.linspace(a, b, 4)
        return y, tape.gradient(y, [a, b])

    y, (a, b) = run(gradient)(tf.constant(0.1), tf.constant(0.7))
    assert y.numpy()[0] == np.float32(0.1) and y.numpy()[-1] == np.float32(0.7)
    assert abs(a.item() - 2.0) < 1e-6 and abs(b.item() - 2.0) < 1e-6
    assert tf.linspace(3.0, 9.0, 1).numpy().tolist() == [3.0]
    assert tf.linspace(0, 10, 5).dtype == np.float64, "integers are made float64"
    with pytest.raises(ValueError, match="one number at least, got 0"):
        tf.linspace(0.0, 1.0, 0)


def test_many_identities_and_the_dtypes_of_sizes(run):
    assert run(lambda: tf.eye(2, 3, batch_shape=[2], dtype=tf.int32))().shape == (2, 2, 3)
    assert tf.eye(tf.constant(2)).numpy().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    x = tf.zeros((2, 3))
    assert run(lambda x: tf.shape(x, out_type=tf.int64))(x).dtype == np.int64
    assert run(lambda x: tf.size(input=x, out_type=tf.int64))(x).dtype == np.int64
    assert run(lambda x: tf.shape(input=x))(x).dtype == np.int32
    assert tf.zeros_like(input=x, dtype=tf.int32).dtype == np.int32 and tf.ones_like(input=x).shape == (2, 3)


@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (4, 1), (0, 2)])
def test_identities_of_the_sizes_of_an_argument(shape):
    """Known when the function is called, however many rows and columns there are then."""
    x = np.ones(shape, np.float32)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
    def f(x):
        n, m = x.shape
        of_tensors = tf.eye(tf.shape(x)[0], tf.shape(x)[1], dtype=tf.int32)
        return tf.eye(n), tf.eye(n, m), of_tensors, tnp.eye(n, m, 1), x + tf.eye(n, m, batch_shape=[2])

    expected = (
        np.eye(shape[0]),
        np.eye(*shape),
        np.eye(*shape),
        np.eye(*shape, 1),
        x + np.eye(*shape)[None].repeat(2, 0),
    )
    for found, y in zip(f(x), expected, strict=True):
        assert np.array_equal(found.numpy(), y)
    assert [y.dtype.name for y in f(x)] == ["float32", "float32", "int32", "float64", "float32"]


def test_rows_of_bools(run):
    found = run(lambda n: tf.sequence_mask(n, 3))(tf.constant([0, 2, 5]))
    assert found.numpy().tolist() == [[False] * 3, [True, True, False], [True] * 3]
    assert tf.sequence_mask([1, 3], dtype=tf.float32).numpy().tolist() == [[1, 0, 0], [1, 1, 1]]
    assert tf.sequence_mask(2, 3).numpy().tolist() == [True, True, False]


def test_places_of_a_range_are_rounded_by_themselves():
    assert tf.range(5.0, 0.0, -0.9).numpy().tolist() == [
        np.float32(5) - np.float32(i) * np.float32(0.9) for i in range(6)
    ]
    assert tf.range(1.0, 2.0, 0.3).numpy()[-1] == np.float32(1.9000001)
    assert tf.range(0.0, 1.0, 0.1, dtype=tf.float64).numpy().tolist() == [0.1 * i for i in range(10)]
    assert tf.range(0.0, 0.3, 0.1).shape == (3,) and tf.range(2.5).numpy().tolist() == [0.0, 1.0, 2.0]
    assert tf.range(3.0, 0.0).shape == (0,) and tf.range(0, 5, 2, tf.float64).numpy().tolist() == [
        0.0,
        2.0,
        4.0,
    ]
    with pytest.raises(ValueError, match="must not be zero"):
        tf.range(0.0, 1.0, 0.0)


def test_constants_written_in_a_function_give_shapes():
    f = tf.function(
        lambda x: (
            tf.pad(x, tf.constant([[0, 1], [1, 0]])),
            tf.tile(x, tf.constant([2, 1])),
            tf.split(x, tf.constant([1, 1]))[1],
            tf.one_hot([1], tf.constant(3)),
            tf.range(tf.constant(4)),
            tf.eye(tf.constant(2)),
            tf.linspace(0.0, 1.0, tf.constant(3)),
            tf.boolean_mask(x, tf.constant([True, False])),
            tf.repeat(x, tf.constant([2, 1]), axis=0),
        )
    )
    shapes = [y.shape for y in f(tf.ones((2, 2)))]
    assert shapes == [(3, 3), (4, 2), (1, 2), (1, 3), (4,), (2, 2), (3,), (1, 2), (3, 2)]


@pytest.mark.parametrize("of", (lambda n: tf.range(0, 5, n), lambda n: tf.range(5, 0, n)))
def test_a_step_of_zero_is_refused_eagerly_and_compiled(of):
    for f in (of, tf.function(of), tf.function(of, autograph=False)):
        with pytest.raises(ValueError, match="must not be zero"):
            f(tf.constant(0))


def test_a_range_names_itself_in_errors():
    with pytest.raises(TypeError, match=r"^range\(\) got an unexpected keyword argument 'bad'"):
        tf.range(bad=1)


def test_a_range_may_span_more_than_its_dtype_holds():
    bounds = (1136033460, -2110457150, -1849827689)
    compiled = tf.function(lambda: tf.range(*bounds))
    for r in (tf.range(*bounds), compiled(), tf.range(*map(tf.constant, bounds))):
        assert r.dtype == tf.int32 and r.numpy().tolist() == list(range(*bounds))


@pytest.mark.parametrize(
    ("given", "wanted", "got"),
    [((0, 6), (0, -1, 3), (0, 2, 3)), ((0,), (0, -1), (0, 1)), ((2, 0, 3), (-1, 0), (6, 0)), ((3, 0), (0, -1), (0, 3))],
)
def test_an_open_size_of_no_elements_is_told_by_the_sizes_that_are_not_zero(given, wanted, got):
    for f in (tf.reshape, tf.function(tf.reshape)):
        assert f(tf.zeros(given), wanted).shape == got
    with pytest.raises(ValueError, match="cannot reshape"):
        tf.reshape(tf.zeros((0, 5)), (0, 2, -1))


def test_an_axis_in_a_list_is_that_axis():
    assert tf.expand_dims(tf.ones((2, 3)), [-1]).shape == (2, 3, 1)
    assert tf.function(lambda x: tf.expand_dims(x, [0]))(tf.ones(2)).shape == (1, 2)
    with pytest.raises(tf.DtypeError, match=r"an axis is an integer, not \[0, 1\]"):
        tf.expand_dims(tf.ones(2), [0, 1])
