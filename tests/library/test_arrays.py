"""Tensors cut, repeated, padded and turned: NumPy's values, gradients, unknown sizes where they mean anything."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tf

X = np.arange(24.0).reshape(2, 3, 4) / 7.0


def listed(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


CASES = {
    "split": (lambda x: tf.split(x, 2, axis=2), lambda x: np.split(x, 2, 2)),
    "split sizes": (lambda x: tf.split(x, [1, 2], axis=1), lambda x: np.split(x, [1], 1)),
    "split rest": (lambda x: tf.split(x, [2, -1, 1], axis=-1), lambda x: np.split(x, [2, 3], -1)),
    "unstack": (tf.unstack, list),
    "unstack last": (lambda x: tf.unstack(x, num=4, axis=-1), lambda x: list(np.moveaxis(x, -1, 0))),
    "tile": (lambda x: tf.tile(x, [2, 1, 3]), lambda x: np.tile(x, (2, 1, 3))),
    "repeat": (lambda x: tf.repeat(x, 2, axis=1), lambda x: np.repeat(x, 2, 1)),
    "repeat all": (lambda x: tf.repeat(x, 3), lambda x: np.repeat(x, 3)),
    "pad": (
        lambda x: tf.pad(x, [[0, 1], [2, 0], [1, 1]], constant_values=9.0),
        lambda x: np.pad(x, [(0, 1), (2, 0), (1, 1)], constant_values=9.0),
    ),
    "repeat each": (lambda x: tf.repeat(x, [2, 0, 1], axis=1), lambda x: np.repeat(x, [2, 0, 1], 1)),
    "repeat all alike": (lambda x: tf.repeat(x, [3], axis=0), lambda x: np.repeat(x, 3, 0)),
    "pad reflect": (
        lambda x: tf.pad(x, [[1, 0], [2, 1], [0, 3]], mode="REFLECT"),
        lambda x: np.pad(x, [(1, 0), (2, 1), (0, 3)], mode="reflect"),
    ),
    "pad symmetric": (
        lambda x: tf.pad(x, [[2, 1], [0, 3], [4, 0]], "SYMMETRIC"),
        lambda x: np.pad(x, [(2, 1), (0, 3), (4, 0)], mode="symmetric"),
    ),
    "roll": (lambda x: tf.roll(x, 1, 2), lambda x: np.roll(x, 1, 2)),
    "roll back": (lambda x: tf.roll(x, shift=[-5, 1], axis=[1, 0]), lambda x: np.roll(x, (-5, 1), (1, 0))),
    "roll, shift unknown": (lambda x: tf.roll(x, tf.argmax(x[0, 0]), 1), lambda x: np.roll(x, 3, 1)),
    "reverse": (lambda x: tf.reverse(x, [0, -1]), lambda x: np.flip(x, (0, 2))),
    "meshgrid": (
        lambda x: tf.meshgrid(x[0, 0], x[0, :, 0], x[:, 0, 0]),
        lambda x: np.meshgrid(x[0, 0], x[0, :, 0], x[:, 0, 0]),
    ),
    "meshgrid ij": (
        lambda x: tf.meshgrid(x[0, 0], x[0, :, 0], indexing="ij"),
        lambda x: np.meshgrid(x[0, 0], x[0, :, 0], indexing="ij"),
    ),
    "prod": (lambda x: tf.reduce_prod(x + 0.5, axis=1), lambda x: np.prod(x + 0.5, 1)),
    "prod pair": (
        lambda x: tf.reduce_prod(x - 1.0, axis=(0, 2), keepdims=True),
        lambda x: np.prod(x - 1.0, (0, 2), keepdims=True),
    ),
    "prod all": (lambda x: tf.reduce_prod(x * 0.2 + 0.7), lambda x: np.prod(x * 0.2 + 0.7)),
}


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return (lambda f: f) if request.param == "eager" else tf.function


@pytest.mark.parametrize("name", CASES)
def test_values(name, run):
    ours, numpys = CASES[name]
    found, expected = listed(run(ours)(tf.constant(X))), listed(numpys(X))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_first_and_second_derivatives(name, run):
    ours, _ = CASES[name]

    def loss(x):
        parts = listed(ours(x))
        return sum(tf.reduce_sum(tf.sin(p * 0.5) * (i + 1.0)) for i, p in enumerate(parts))

    first = tf.grad(loss)
    direction, h = np.cos(np.arange(24.0)).reshape(X.shape), 1e-5
    second = tf.grad(lambda x: tf.reduce_sum(first(x) * direction))
    for order, f in ((first, loss), (second, lambda x: tf.reduce_sum(first(x) * direction))):
        slope = float(np.sum(run(order)(tf.constant(X)).numpy() * direction))
        ends = [f(tf.constant(X + s * h * direction)).item() for s in (1, -1)]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-5, abs=1e-6)


def test_products_with_zeros_have_exact_derivatives(run):
    for zeros in ([1], [0, 2], [0, 1, 2, 3], []):
        x = np.array([2.0, 3.0, 5.0, 7.0])
        x[zeros] = 0.0
        others = [np.prod(np.delete(x, i)) for i in range(4)]
        gradient = run(tf.grad(tf.reduce_prod))(tf.constant(x)).numpy()
        assert gradient.tolist() == others
        pairs = [[0.0 if i == j else np.prod(np.delete(x, [i, j])) for j in range(4)] for i in range(4)]
        for i in range(4):
            row = run(tf.grad(lambda v, i=i: tf.grad(tf.reduce_prod)(v)[i]))(tf.constant(x)).numpy()
            assert row.tolist() == pairs[i]


def test_products_of_nothing_integers_and_unknown_sizes():
    assert tf.reduce_prod(np.zeros((0,))).item() == 1.0
    assert tf.reduce_prod(np.zeros((2, 0))).item() == 1.0
    assert tf.reduce_prod(np.zeros((2, 0)), axis=1).numpy().tolist() == [1.0, 1.0]
    found = tf.reduce_prod([2, 3, 4])
    assert found.item() == 24 and found.dtype == tf.int32
    assert np.isnan(tf.reduce_prod([np.nan, 0.0]).item())
    with pytest.raises(TypeError, match="multiplies numbers"):
        tf.reduce_prod([True, False])
    f = tf.function(tf.grad(tf.reduce_prod), input_signature=[tf.TensorSpec([None], tf.float64)])
    for n in (0, 1, 4):
        x = np.arange(n) + 1.0
        np.testing.assert_allclose(f(x).numpy(), [np.prod(np.delete(x, i)) for i in range(n)])
    assert f.experimental_get_tracing_count() == 1


def test_one_hot(run):
    hot = run(lambda i: tf.one_hot(i, 3))(tf.constant([[0, 2], [5, -1]])).numpy()
    assert hot.dtype == np.float32 and hot.tolist() == [[[1, 0, 0], [0, 0, 1]], [[0, 0, 0], [0, 0, 0]]]
    first = run(lambda i: tf.one_hot(i, 3, on_value=5, off_value=-1, axis=0))(tf.constant([0, 2])).numpy()
    assert first.dtype == np.int32 and first.tolist() == [[5, -1], [-1, -1], [-1, 5]]
    assert run(lambda i: tf.one_hot(i, 2, dtype=tf.bool))(tf.constant(1)).numpy().tolist() == [False, True]
    assert tf.one_hot(np.zeros((0,), np.int32), 2).shape == (0, 2)


def test_gather_along_batches(run):
    x, i = X, np.array([[0, 2, -1], [1, 1, 0]])
    for axis in (None, 1, 2, -1):
        found = run(lambda v, k, a=axis: tf.gather(v, k, axis=a, batch_dims=1))(
            tf.constant(x), tf.constant(i)
        )
        expected = np.stack([np.take(e, k, (axis or 1) % 3 - 1) for e, k in zip(x, i, strict=True)])
        assert found.numpy().tolist() == expected.tolist()
    two = run(lambda v, k: tf.gather(v, k, batch_dims=2))(tf.constant(x), tf.constant(i))
    but_one = run(lambda v, k: tf.gather(v, k, batch_dims=-1))(tf.constant(x), tf.constant(i))
    np.testing.assert_array_equal(but_one.numpy(), tf.gather(x, i, batch_dims=i.ndim - 1).numpy())
    assert two.numpy().tolist() == [[x[a, b, i[a, b]] for b in range(3)] for a in range(2)]
    plain = run(lambda v, k: tf.gather(v, k, axis=2))(tf.constant(x), tf.constant(i))
    assert plain.numpy().tolist() == np.take(x, i, 2).tolist()
    gradient = run(tf.grad(lambda v: tf.reduce_sum(tf.gather(v, i, batch_dims=1)[..., 0])))(
        tf.constant(x)
    ).numpy()
    assert gradient[:, :, 0].tolist() == [[1, 0, 2], [1, 2, 0]] and gradient[..., 1:].sum() == 0
    for wrong in (3, -4):
        with pytest.raises(IndexError):
            run(lambda v, k: tf.gather(v, k, batch_dims=1))(tf.constant(x), tf.constant([[0], [wrong]]))
    with pytest.raises(ValueError, match="leading sizes differ"):
        tf.gather(x, np.zeros((3, 1), int), batch_dims=1)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums(axis, reverse, run):
    turned = np.flip(X, axis) if reverse else X
    sums = np.cumsum(turned, axis)
    for exclusive, expected in ((False, sums), (True, sums - turned)):
        expected = np.flip(expected, axis) if reverse else expected
        f = run(lambda v, e=exclusive: tf.cumsum(v, axis, exclusive=e, reverse=reverse))
        np.testing.assert_allclose(f(tf.constant(X)).numpy(), expected, atol=1e-13)
    unknown = tf.function(
        lambda v: tf.cumsum(v, exclusive=True, reverse=reverse),
        input_signature=[tf.TensorSpec([None], tf.int64)],
    )
    for n in (0, 1, 4):
        x = np.arange(n) + 1
        found = unknown(x).numpy()
        assert found.tolist() == [int((x[i + 1 :] if reverse else x[:i]).sum()) for i in range(n)]


def test_unknown_sizes_pass_through():
    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float64)])
    def f(x):
        left, right = tf.split(x, 2, axis=1)
        return tf.concat(
            [tf.tile(left, [2, 1]), tf.reverse(right, [0]), tf.pad(left, [[1, 0], [0, 0]])], axis=0
        )

    for n in (0, 1, 3):
        x = np.arange(2.0 * n).reshape(n, 2)
        expected = [np.tile(x[:, :1], (2, 1)), x[::-1, 1:], np.pad(x[:, :1], [(1, 0), (0, 0)])]
        assert f(x).numpy().tolist() == np.concatenate(expected).tolist()


def test_errors():
    with pytest.raises(ValueError, match="an axis of size 3 has no 2 equal parts"):
        tf.split([1, 2, 3], 2)
    with pytest.raises(ValueError, match=r"parts of sizes \[1, 1\] do not make up an axis of size 3"):
        tf.split([1, 2, 3], [1, 1])
    with pytest.raises(ValueError, match="num is 2, the axis has size 3"):
        tf.unstack([1, 2, 3], num=2)
    with pytest.raises(ValueError, match="1 multiples for"):
        tf.tile(X, [2])
    with pytest.raises(ValueError, match="one pair per axis"):
        tf.pad(X, [[1, 1]])
    with pytest.raises(ValueError, match="modes CONSTANT, REFLECT and SYMMETRIC, got 'EDGE'"):
        tf.pad([1], [[1, 1]], mode="EDGE")
    with pytest.raises(ValueError, match="no 1 elements to mirror"):
        tf.pad([1], [[1, 1]], mode="REFLECT")
    with pytest.raises(ValueError, match="one number, not negative, for each position"):
        tf.repeat([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="2 shifts for 1 axes"):
        tf.roll([1, 2, 3], [1, 2], [0])
    with pytest.raises(ValueError, match=r"where the shape \(None, 2\) is asked for"):
        tf.ensure_shape([1, 2, 3], (None, 2))
    with pytest.raises(ValueError, match="indexing is 'xy' or 'ij'"):
        tf.meshgrid([1], indexing="yx")


def test_sequences_of_one_length():
    pad, rows = tf.keras.preprocessing.sequence.pad_sequences, [[1, 2, 3], [4], []]
    assert pad(rows).tolist() == [[1, 2, 3], [0, 0, 4], [0, 0, 0]]
    assert pad(rows, padding="post", value=-1).tolist() == [[1, 2, 3], [4, -1, -1], [-1, -1, -1]]
    assert pad(rows, maxlen=2).tolist() == [[2, 3], [0, 4], [0, 0]]
    assert pad(rows, maxlen=2, truncating="post", dtype="float32").tolist() == [[1, 2], [0, 4], [0, 0]]
    assert tf.keras.utils.pad_sequences([np.ones((2, 3)), np.ones((1, 3))]).shape == (2, 2, 3)
    with pytest.raises(ValueError, match="padding is 'pre' or 'post', got 'left'"):
        pad(rows, padding="left")
    with pytest.raises(ValueError, match="elements of sequences have different shapes"):
        pad([np.ones((2, 3)), np.ones((2, 4))])
